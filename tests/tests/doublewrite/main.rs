//! The doublewrite buffer under a buffer pool, over files: under the virtual clock, with
//! power failures, and with real threads.

mod batches;
mod concurrent;
mod failing;
mod power;
mod recovering;
