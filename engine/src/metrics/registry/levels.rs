//! What goes up and down.

use super::definition::{InnodbMetric, MetricDefinition, MetricType, Origin, Subsystem};

figures! {
    /// How many there are now. Raised and lowered where one comes and goes, by
    /// whichever thread sees it.
    pub enum Level;

    /// Transactions begun and not ended
    ActiveTransactions: metric Transaction Counter off "trx_active_transactions";
    /// Transactions that are rolling back
    ActiveRollbacks: metric Transaction Counter off "trx_rollback_active";
    /// Undo slots of rollback segments in use
    UndoSlotsUsed: metric Transaction Counter off "trx_undo_slots_used";
    /// Undo logs kept for the next transaction
    UndoSlotsCached: metric Transaction Counter off "trx_undo_slots_cached";
    /// Threads that wait for a row lock
    RowLockCurrentWaits: status "Innodb_row_lock_current_waits",
        metric Lock StatusCounter on "lock_row_lock_current_waits";
    /// Threads that wait for any lock
    LockThreadsWaiting: metric Lock Value on "lock_threads_waiting";
    /// Record lock objects
    RecordLocks: metric Lock Counter off "lock_rec_locks";
    /// Table locks
    TableLocks: metric Lock Counter off "lock_table_locks";
}
