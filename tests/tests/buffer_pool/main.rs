//! The buffer pool with files, a redo log that is only a number, and a page sink that
//! writes directly: under the virtual clock and with real threads.

mod concurrent;
mod flushing;
mod reading;
mod replacement;
mod world;
