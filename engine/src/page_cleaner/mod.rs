//! The page cleaner: how many dirty pages are written when, and the tasks that do it.
//!
//! Nobody waits for a dirty page to be written, until there is no free frame, or no room
//! in the redo log. The cleaner's art is to write early enough that this does not happen,
//! and late enough that a page that is changed a hundred times is written once.
//!
//! ```text
//!   once a second, or when woken               per instance, by whichever cleaner is free
//!
//!   coordinator --- snapshot --> policy         slot 0:  LRU batch   (free frames)
//!        |  <---- pages each ------'                     LIST batch  (old redo)
//!        |------- request ------------------->  slot 1:  LRU batch
//!        |                                               LIST batch
//!        |  <---- all are finished ---------    ...
//! ```
//!
//! * **How many** is decided by a [`FlushPolicy`], a pure function from a
//!   [`FlushSnapshot`] to a [`FlushPlan`]. Servers differ in it; see [`policies`].
//! * **How often**: once a second. A thread that found no free frame wakes the
//!   coordinator early, for the LRU part only. If redo runs short, rounds follow each other
//!   without a pause (*sync flush*). An idle server flushes at a fixed rate.
//! * **Who**: the coordinator and `innodb_page_cleaners - 1` workers take the slots one by
//!   one. The coordinator waits for the last: a slow instance delays all.
//!
//! The redo log is seen through [`RedoState`] only.
//!
//! Source: InnoDB 5.6 to 8.4 (`buf0flu`).

mod coordinator;
mod figures;
pub mod policies;
mod policy;
mod redo_state;
mod settings;
mod slots;

pub use coordinator::PageCleaner;
pub use figures::{CleanerFigures, RoundKind, RoundReport};
pub use policy::{DirtyAges, FlushPlan, FlushPolicy, FlushSnapshot};
pub use redo_state::{RedoAges, RedoState};
pub use settings::{CleanerSettings, PolicySettings};
