//! The buffer pool: the part of the database that is in memory.
//!
//! The pool is an array of frames of 16 KiB, each with a *control block*. A page that is
//! used is in a frame; a page that is changed is *dirty* until it has been written to its
//! file. Three lists say what will happen to a frame next:
//!
//! ```text
//!                  read or created                       evicted (clean)
//!   free list ------------------------> LRU list ------------------------> free list
//!                                        |    ^                               ^
//!                              modified  v    | written (LIST batch)          |
//!                                      flush list ----------------------------+
//!                                                  written (LRU batch, single page)
//! ```
//!
//! * the **free list** has frames without a page;
//! * the **LRU list** has all pages, the long unused ones at its tail;
//! * the **flush list** has the dirty ones, those that became dirty first at its tail.
//!
//! The pool is split into instances, each with its own lists and mutexes: a page's
//! instance follows from its address.
//!
//! | file | what it is about |
//! |---|---|
//! | `pool` | getting a page and letting it go |
//! | `page_read`, `free_frame` | the way of a page that is not in the pool |
//! | `modification` | dirty pages, and how old the oldest is |
//! | `flush_batch`, `write_page` | the way of a page to its file |
//! | `discard` | pages of a tablespace that goes away |
//! | `hooks` | what the redo log and the doublewrite buffer do for the pool |
//! | `instance`, `control_block` | the structures, and their latches |
//! | `page_hash`, `free_list`, `lru_list`, `flush_list`, `index_list` | the lists |
//! | `young_rule`, `instance_mapping` | two rules, as pure functions |
//! | `check` | what must hold in a pool at rest |
//!
//! Source: InnoDB, as in MySQL 8.0 and 8.4 where nothing else is said: the mutex of an
//! instance split in four, page latches with SX, a flush that holds SX until its write is
//! complete.

mod check;
mod control_block;
mod discard;
mod error;
mod flush_batch;
mod flush_list;
mod free_frame;
mod free_list;
mod hooks;
mod index_list;
mod instance;
mod instance_mapping;
mod lru_list;
mod modification;
mod page_hash;
mod page_read;
mod page_type_counters;
mod pool;
mod settings;
mod statistics;
mod write_page;
mod young_rule;

pub use control_block::OVERHEAD_PER_FRAME_MAX;
pub use error::BufferPoolError;
pub use flush_batch::{LruBatch, LruBatchResult};
pub use hooks::{FlushKind, FlushedPage, PageSink, PoolHooks, WriteAheadLog};
pub use instance_mapping::{AREA_PAGES, INSTANCES_MAX, instance_of};
pub use lru_list::{
    BATCH_LENGTH_MIN, NEW_LENGTH_MIN, OLD_LENGTH_MIN, OLD_RATIO_DIVISOR, OLD_RATIO_MIN,
    OLD_TOLERANCE, SEARCH_DEPTH, old_ratio,
};
pub use page_hash::PAGE_HASH_PARTS;
pub use pool::{BlockHandle, BufferPool, FixMode, READ_ATTEMPTS_MAX, Waits};
pub use settings::{BufferPoolSettings, FRAMES_PER_INSTANCE_MIN};
pub use statistics::InstanceStatistics;
pub use young_rule::{YoungDecision, YoungSnapshot};
