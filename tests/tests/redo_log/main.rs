//! The redo log and mini-transactions, under both clocks.

mod capacity;
mod commits;
mod crash;
mod damage;
mod files;
mod memo;
mod model;
mod support;
