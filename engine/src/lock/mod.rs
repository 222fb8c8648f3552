//! Locks: what one transaction has, and others must wait for.
//!
//! A latch protects a page for microseconds; a *lock* protects a row until the end of a
//! transaction. Locks are not kept in the rows but in tables of their own:
//!
//! ```text
//!   queue of page (7, 4)                         bits are heap numbers
//!   +-------------------+  +-------------------+  +-------------------+
//!   | trx A, X, record  |->| trx B, X, record  |->| trx C, X, record  |
//!   | 0010010000000000  |  | 0000010000000000  |  | 0000010000000000  |
//!   +-------------------+  | waits             |  | waits             |
//!           |              +-------------------+  +-------------------+
//!           +-> A's other locks, in the order in which it got them
//! ```
//!
//! One object holds all locks that a transaction has on a page in one mode, a bit for
//! each record's heap number. A request conflicts with what stands in the queue before
//! it, granted or waiting: first come, first served. The rules are in [`mode`].
//!
//! Rows that a transaction inserts or changes are locked *implicitly*: their DB_TRX_ID is
//! of an active transaction. Only who wants such a row makes the lock explicit, in the
//! owner's name ([`LockSystem::convert_implicit`]).
//!
//! A lock lies on a place, page and heap number, and must follow the record when a page
//! is split, merged or reorganised, and leave a gap lock behind when the record goes:
//! `movement`.
//!
//! | file | what it is about |
//! |---|---|
//! | [`mode`] | modes, and which of them conflict |
//! | `owner` | a transaction, as the lock system sees it |
//! | `lock_table` | queues and lists: conflicts, granting, releasing |
//! | `requests` | asking |
//! | `movement` | locks that follow their records |
//! | `deadlock` | circles of waiting transactions, and who has to give way |
//! | `tree_hooks` | `movement`, as B-trees ask for it |
//! | `system` | the mutex around all of it, waiting, counting |
//! | `heap_bits`, `locked_pages` | sets of records, and which pages have any |
//! | `slots` | numbered objects that are reused |
//!
//! Source: InnoDB 5.6 to 8.0.20: one `lock_sys->mutex`, first come first served, the
//! search for deadlocks by the thread that is about to wait.

mod deadlock;
mod heap_bits;
mod lock_table;
mod locked_pages;
pub mod mode;
mod movement;
mod owner;
mod requests;
mod slots;
mod system;
mod tree_hooks;

#[cfg(test)]
mod tests;

pub use lock_table::{HeapNumber, INFIMUM, SUPREMUM};
pub use mode::{LockStrength, RecordLockKind, RecordLockMode, TableLockMode};
pub use movement::RecordMove;
pub use owner::{LockOwner, OwnerId, OwnerState};
pub(crate) use slots::Slots;
pub use system::{ActiveOwners, InsertCheck, LockError, LockOutcome, LockSystem};
