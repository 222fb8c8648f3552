//! The page cleaner over a pool and a doublewrite buffer: stepped, under the virtual clock,
//! and with real threads.

mod failing;
mod loaded;
mod stepped;
mod tasks;
