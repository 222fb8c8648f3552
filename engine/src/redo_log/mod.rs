//! The redo log: what makes changes of pages durable before the pages are written.
//!
//! Writing a page of 16 KiB for every changed row, at a random place, would be slow. So
//! a change is first written as *redo*, a few hundred bytes at the end of a log, and the
//! page itself much later, together with what else has changed on it. After a crash the
//! log is read, and changes are repeated that had not reached their pages.
//!
//! ```text
//!   mini-transaction      changes pages in memory, records what it did
//!      | commit
//!      v
//!   log buffer            gets a range of LSNs; pages go to the flush lists
//!      | log writer
//!      v
//!   redo files            in order, in blocks of 512 bytes
//! ```
//!
//! A page carries the LSN of its last change, so recovery knows for every page from where
//! on redo is missing.
//!
//! | file | what it is about |
//! |---|---|
//! | `pages`, `mini_transaction`, `memo` | changing pages |
//! | `record` | changes as bytes |
//! | `block` | blocks of 512 bytes; sn and LSN |
//! | `log_buffer`, `link_buffer` | redo in memory, made by many at once |
//! | `log` | the log itself |
//! | `write`, `durability`, `waiting` | writing, flushing, and who waits for it |
//! | `log_files`, `file_format` | the files |
//! | `capacity`, `free_check` | how much redo there may be, and who waits for less |
//! | `checkpoint`, `checkpoint_source` | what makes it less |
//! | `tasks` | the log's threads |
//! | `recovery` | from redo files to pages as they were |
//! | `sandbox` | all that is below, in small: for tests of what is above |
//!
//! Source: InnoDB as in MySQL 8.4; what earlier versions do differently is said where it
//! is.

pub mod block;
mod capacity;
mod checkpoint;
mod checkpoint_source;
mod durability;
mod error;
mod figures;
mod file_format;
mod free_check;
mod link_buffer;
mod log;
mod log_buffer;
mod log_files;
mod memo;
mod mini_transaction;
mod pages;
mod record;
mod recovery;
pub mod sandbox;
mod settings;
mod tasks;
mod waiting;
mod write;

pub use capacity::{RedoLimits, RedoTooSmall, ScaledRedoTooSmall};
pub use checkpoint_source::{CheckpointSource, PoolSource};
pub use error::RedoLogError;
pub use file_format::{HeaderFault, is_ours};
pub use log::RedoLog;
pub use log_files::{FileLayout, LogIo, SUBDIRECTORY, is_file_name};
pub use memo::{PageHandle, Savepoint};
pub use mini_transaction::{MiniTransaction, PageAccessError};
pub use pages::{MiniTransactionContext, Pages};
pub use record::{
    FileOperation, GroupBuffer, NAME_LENGTH_MAX, RecordFault, RedoRecord, group_length, read_group,
};
pub use recovery::{Recovery, RecoveryReport};
pub use settings::{CommitPolicy, FreeCheck, LogConcurrency, LogWriting, RedoSettings};
