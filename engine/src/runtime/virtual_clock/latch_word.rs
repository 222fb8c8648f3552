//! The word of a virtual latch: who holds it, and what a request makes of it.
//!
//! ```text
//!   bit 31  30   29        19 ... 0
//!       X | SX | RESERVED | readers        0 = free
//! ```
//!
//! Compatibility is InnoDB's: S goes with S and with one SX, SX with S only, X with
//! nothing. An X request first *reserves* the word, which keeps new readers out, and
//! has the latch when the readers inside have left.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use crate::runtime::latch_class::LatchMode;

pub(super) const X: u32 = 1 << 31;
pub(super) const SX: u32 = 1 << 30;
/// A task has reserved the word for X and waits for the readers to leave.
pub(super) const RESERVED: u32 = 1 << 29;
pub(super) const READERS: u32 = (1 << 20) - 1;

pub(super) const NO_QUEUE: u32 = 0;
pub(super) const NO_THREAD: u16 = u16::MAX;

/// The virtual half of a latch: 12 bytes in every latch of the engine.
///
/// Only the one OS thread of a simulation touches it; the fields are atomics
/// (relaxed, plain moves on every CPU) so that the type is `Sync` without a promise.
#[derive(Debug)]
pub(in crate::runtime) struct VirtualLatch {
    pub(super) word: AtomicU32,
    pub(super) queue: AtomicU32,
    pub(super) last_thread: AtomicU16,
    /// The run that wrote the other fields: what a power cut left behind is void.
    run: AtomicU16,
}

/// What a spinning waiter waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SpinMode {
    S,
    SX,
    X,
    /// It has reserved the word and waits for the readers to leave.
    Drain,
}

pub(super) const SPIN_MODES: [SpinMode; 4] =
    [SpinMode::S, SpinMode::SX, SpinMode::X, SpinMode::Drain];

pub(super) enum Attempt {
    Taken,
    /// Reserved for X, readers still inside.
    Reserved,
    Busy,
}

impl From<LatchMode> for SpinMode {
    fn from(mode: LatchMode) -> Self {
        match mode {
            LatchMode::S => SpinMode::S,
            LatchMode::SX => SpinMode::SX,
            LatchMode::X => SpinMode::X,
        }
    }
}

impl SpinMode {
    /// Whether a poll of this word would succeed.
    #[inline]
    pub(super) fn eligible(self, word: u32) -> bool {
        match self {
            SpinMode::S => word & (X | RESERVED) == 0,
            SpinMode::SX | SpinMode::X => word & (X | SX | RESERVED) == 0,
            SpinMode::Drain => word & READERS == 0,
        }
    }
}

impl VirtualLatch {
    pub(in crate::runtime) const fn new() -> Self {
        VirtualLatch {
            word: AtomicU32::new(0),
            queue: AtomicU32::new(NO_QUEUE),
            last_thread: AtomicU16::new(NO_THREAD),
            run: AtomicU16::new(0),
        }
    }

    /// Frees the latch if its state is of an earlier run.
    #[inline]
    pub(super) fn belong_to(&self, run: u16) {
        if self.run.load(Relaxed) != run {
            self.word.store(0, Relaxed);
            self.queue.store(NO_QUEUE, Relaxed);
            self.last_thread.store(NO_THREAD, Relaxed);
            self.run.store(run, Relaxed);
        }
    }

    pub(super) fn attempt(&self, mode: SpinMode) -> Attempt {
        let word = self.word.load(Relaxed);
        if !mode.eligible(word) {
            return Attempt::Busy;
        }
        match mode {
            SpinMode::S => {
                debug_assert!(word & READERS < READERS);
                self.word.store(word + 1, Relaxed);
            }
            SpinMode::SX => self.word.store(word | SX, Relaxed),
            SpinMode::X if word & READERS != 0 => {
                self.word.store(word | RESERVED, Relaxed);
                return Attempt::Reserved;
            }
            SpinMode::X => self.word.store(word | X, Relaxed),
            SpinMode::Drain => self.word.store((word & !(RESERVED | SX)) | X, Relaxed),
        }
        Attempt::Taken
    }

    pub(super) fn release(&self, mode: LatchMode) {
        let word = self.word.load(Relaxed);
        let free = match mode {
            LatchMode::S => word.wrapping_sub(1),
            LatchMode::SX => word & !SX,
            LatchMode::X => word & !X,
        };
        debug_assert_ne!(
            free, word,
            "a latch was released that is not held in {mode:?}"
        );
        self.word.store(free, Relaxed);
    }
}
