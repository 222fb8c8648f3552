//! An InnoDB-like storage engine with two clocks.
//!
//! The modules, in the order in which data flows:
//!
//! * [`runtime`] – time, tasks, CPU, latches, events, files, randomness: the only
//!   place that knows whether the clock is real or virtual.
//! * [`sysvar`] – MySQL's system variables, option files and flavors.
//! * [`page`] – InnoDB's 16 KiB pages: header, trailer, checksum, index pages, records.
//! * [`metrics`] – counters, histograms, and the views of them that InnoDB's users know.
//! * [`tablespace`] – files of pages: create, open, extend, read, flush.
//! * [`buffer_pool`] – pages in memory: page hash, LRU list, flush list, free list.
//! * [`redo_log`] – mini-transactions, and the log that makes their changes durable.
//! * [`doublewrite`] – pages on their way to their files, so that none is torn for good.
//! * [`page_cleaner`] – how many pages are written when, and the tasks that do it.
//! * [`page_allocation`] – space header, extents, segments: which page is free, and whose.
//! * [`btree`] – indexes: search, insert, update, delete, split, merge, cursors.
//! * [`lock`] – record, gap and table locks, waits, deadlocks.
//! * [`transaction`] – ids, read views, undo, rollback, purge.
//! * [`table`] – rows and columns, clustered and secondary indexes, the dictionary.
//! * [`engine`] – all of it put together: open, sessions, statements, shutdown.

#[macro_use]
mod named_enum;

pub mod btree;
pub mod buffer_pool;
pub mod doublewrite;
pub mod engine;
pub mod lock;
pub mod metrics;
pub mod page;
pub mod page_allocation;
pub mod page_cleaner;
pub mod redo_log;
pub mod runtime;
pub mod sysvar;
pub mod table;
pub mod tablespace;
pub mod transaction;
