//! The redo log and mini-transactions, under both clocks.

mod memo;
mod support;
