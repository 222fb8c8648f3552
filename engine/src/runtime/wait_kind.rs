//! What a task spends its time on: the rows of the time budget.

named_enum! {
    /// A use of time, as the time budget per transaction lists them.
    pub enum WaitKind;
    /// The key of the kind in the JSON report.
    fn name;

    /// Charges running on a hardware thread, slowed by siblings and frequency.
    Cpu = "cpu";
    /// Ready, but all hardware threads are taken.
    RunQueue = "run_queue";
    /// Spinning on or sleeping for a latch.
    Latch = "latch";
    /// Waiting for another transaction's row lock.
    RowLock = "row_lock";
    /// Waiting for a page to be read.
    PageRead = "page_read";
    /// Waiting for a free frame.
    FreePage = "free_page";
    /// Waiting for a page whose write is under way.
    FlushedPage = "flushed_page";
    /// Waiting for redo to be written, or for room in the log buffer or the log.
    LogWrite = "log_write";
    /// Waiting for redo to be flushed.
    LogSync = "log_sync";
    /// Waiting for admission (`innodb_thread_concurrency`).
    Admission = "admission";
    /// Anything else: sleep, network, other files.
    Other = "other";
}
