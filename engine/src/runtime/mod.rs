//! The runtime: time, tasks, CPU, latches, events, files, randomness.
//!
//! This is the only place that knows whether the clock is real or virtual. The
//! engine above it is one piece of blocking code, and everything by which it could
//! notice the world goes through here:
//!
//! | the engine wants        | real clock                    | virtual clock            |
//! |-------------------------|-------------------------------|--------------------------|
//! | [`now`], [`sleep`]      | the host's clock              | the simulation's         |
//! | [`spawn`]               | an OS thread                  | a coroutine              |
//! | [`cpu`], [`charge`], [`settle`] | nothing: the work takes time  | a debt that is paid      |
//! | [`Mutex`], [`RwLock`], [`PageLatch`] | parking_lot      | spin, sleep, barging     |
//! | [`Event`]               | a condition variable          | a list of waiters        |
//! | [`files`]               | ordinary files, direct I/O    | page images and a device |
//!
//! Which of the two it is, is one thread-local pointer ([`ambient`]).
//!
//! Rules for code under the virtual clock, each with a test: nothing suspends while
//! it unwinds; no [`TaskCell`] is borrowed at a suspend; destructors do no I/O and
//! wait for nothing.

#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this module is what those types and methods are replaced by"
)]

mod accounting;
mod ambient;
mod cell;
pub mod cost;
pub mod device;
mod event;
pub mod files;
pub mod fork;
mod latch_class;
mod latches;
pub mod profile;
pub mod random;
mod real_clock;
mod replaceable;
mod tasks;
pub mod time;
pub mod virtual_clock;
mod wait_kind;

pub use accounting::{
    LatchStatistics, RuntimeStatistics, TaskRole, TimeBudget, latch_statistics, runtime_statistics,
};
pub use cell::{TaskCell, TaskRef};
pub use cost::{Cost, CostTable, cpu, cpu_times};
pub use event::{Event, SignalCount};
pub use latch_class::{LatchClass, LatchClassFacts, LatchMode};
pub use latches::{
    Held, Mutex, MutexGuard, PageLatch, RawMutex, RawRwLock, RwLock, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
pub use real_clock::RealMachine;
pub use replaceable::Replaceable;
pub use tasks::{
    JoinHandle, charge, give_way, is_unwinding, is_virtual, now, reseed, settle, sleep, socket,
    spawn, spawn_as, stall, stream, yield_now,
};
pub use wait_kind::WaitKind;
