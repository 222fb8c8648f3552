//! Transactions: who sees what, and how changes are taken back.
//!
//! A transaction's changes become visible all at once, when it commits, and only to
//! readers that begin to look after that. InnoDB does it with versions: a change writes
//! the old values to an *undo record*, and the row points to it. A reader that must not
//! see a row as it is follows the pointers back.
//!
//! ```text
//!   clustered record            undo record             undo record
//!   id 7 | trx 40 | ptr -----> | trx 35 | k=2 | ptr --> | trx 17 | k=1 | ...
//!   k = 3                      (before 40's change)     (before 35's change)
//!
//!   a view that does not see 40 but sees 35 reads k = 2
//! ```
//!
//! The same records take back what a transaction did when it is rolled back, and tell
//! *purge* what can be removed when no reader needs it any more.
//!
//! | file | what it is about |
//! |---|---|
//! | `ids`, `numbers` | ids at the first change, numbers at commit |
//! | `active` | the set of active transactions |
//! | `read_view`, [`read_view_algorithm`], `view_list` | what a reader sees, and what it costs to know |
//! | `system` | begin, views, the end: the critical sections of each version |
//! | `session` | a session's transaction |
//! | [`undo`] | undo logs: where old values are |
//! | `transactions` | all of it together: what the table layer calls |
//! | `rollback` | undo records, applied backwards |
//! | `purge`, `purge_fetch`, `purge_truncate` | undo records, followed up and thrown away |
//! | `recovery` | transactions that a crash interrupted |
//! | `admission` | `innodb_thread_concurrency` |
//! | `settings` | what differs between versions |
//!
//! Source: InnoDB of MySQL 5.6, 5.7 and 8.0 to 8.4.

mod active;
mod admission;
mod ids;
mod numbers;
mod purge;
mod purge_fetch;
mod purge_truncate;
mod read_view;
pub mod read_view_algorithm;
mod recovery;
mod rollback;
mod session;
mod settings;
mod system;
mod transactions;
pub mod undo;
mod view_list;

#[cfg(test)]
mod tests;

pub use active::{ActiveTransactions, TransactionState};
pub use admission::{Admission, AdmissionSettings, Seat};
pub use ids::{FIRST_TRX_ID, IdSource, TrxId, TrxNo};
pub use purge::{PurgeApplier, PurgeStep, PurgeTasks};
pub use read_view::{PurgeView, ReadView};
pub use read_view_algorithm::ReadViewAlgorithm;
pub use recovery::Recovered;
pub use rollback::{ApplyError, RollbackError, UndoApplier};
pub use session::{BeginOptions, Phase, ReadOnlyTransaction, Transaction};
pub use settings::{ActivityCheck, TransactionRules, TransactionSettings};
pub use system::TransactionSystem;
pub use transactions::{TransactionError, TransactionSavepoint, Transactions};
