//! Files: real bytes under both clocks.
//!
//! ```text
//!   engine      FileSystem ── open ──> File             AsyncIo
//!               directories, lock      read, write,     segments of slots, taken by
//!                                      sync, extend     the I/O handler tasks
//!   ---------------------------------------------------------------------------------
//!   real clock  std::fs                pread, pwrite    the handler reads and writes
//!   virtual     names                  device model     the device has the request;
//!                                      + page table     the handler takes completions
//! ```
//!
//! Under the real clock a file is an ordinary file, with direct I/O where asked for.
//! Under the virtual clock it is a table of page images over a host file that is only
//! read, and its time comes from the device model; what a power failure would undo is
//! kept apart ([`VirtualFiles`]).
//!
//! **Nothing is global.** Counts, warnings and the pool of page images hang on the
//! [`FileSystem`] handle that opened the files; the virtual files themselves belong to
//! the [`Simulation`](super::virtual_clock::Simulation).
//!
//! **Images.** A page is written from an [`Image`], which the doublewrite slot and the
//! data file share. Other bytes (the redo log) are written from slices and copied.
//!
//! **Errors** ([`FileError`]) name the file and what was being done. A disk that is full
//! is one of them ([`FileError::is_out_of_space`]), under both clocks.

mod async_io;
mod counters;
mod directory;
mod error;
mod file;
mod image;
mod kind;
mod memory;
mod real_file;
mod virtual_files;

pub use async_io::{AsyncIo, AsyncIoStatistics, Completed, Next, SLOTS_PER_SEGMENT};
pub use counters::{FileStatistics, KindStatistics, OperationStatistics};
pub use directory::{DirectoryLock, Entry, FileSystem, HostLock};
pub use error::{FileError, Operation};
pub use file::{Create, File, IoMode, OpenOptions};
pub use image::{IMAGE_BYTES, Image, ImagePool};
pub use kind::{FileKind, Placement};
pub use memory::{AlignedBuffer, FrameArena};
pub use virtual_files::{
    Crash, CrashReport, VirtualFiles, WriteOutError, finish_write_out, is_write_out_unfinished,
};
pub(in crate::runtime) use virtual_files::{DeviceFacts, Piece};
