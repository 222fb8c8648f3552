//! The engine as its users see it: rows, transactions, crashes, under both clocks.

mod basics;
mod changes;
mod creation;
mod errors;
mod isolation;
mod model;
mod recovery;
mod refused;
mod world;
