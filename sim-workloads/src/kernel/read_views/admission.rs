//! `innodb_thread_concurrency`: so many users inside the engine, the others sleep.
//!
//! There is no queue: who wakes looks again, and a late-comer may take the seat. The
//! sleep adapts as in InnoDB: longer when one sleep was not enough, halved when
//! nobody had to sleep, and one microsecond shorter when one was enough.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use innosim_engine::runtime::time::MICROSECOND;
use innosim_engine::runtime::{WaitKind, settle, sleep};

/// The first sleep, and the longest (`innodb_adaptive_max_sleep_delay`), in µs.
const SLEEP_DELAY: u64 = 10_000;
const SLEEP_DELAY_MAX: u64 = 150_000;

/// The seats and the length of the sleep before the next try.
pub(super) struct Admission {
    seats: u32,
    inside: AtomicU32,
    sleepers: AtomicU32,
    sleep_delay_us: AtomicU64,
}

impl Admission {
    /// A door to `seats` seats.
    pub(super) fn new(seats: u32) -> Admission {
        Admission {
            seats,
            inside: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            sleep_delay_us: AtomicU64::new(SLEEP_DELAY),
        }
    }

    /// Takes a seat, or sleeps and tries again.
    pub(super) fn enter(&self) {
        let mut slept = 0;
        loop {
            settle();
            if self.inside.load(Relaxed) < self.seats {
                self.inside.fetch_add(1, Relaxed);
                break;
            }
            if slept == 1 {
                // More than one sleep was needed.
                let longer = self.sleep_delay_us.load(Relaxed) + 1;
                self.sleep_delay_us
                    .store(longer.min(SLEEP_DELAY_MAX), Relaxed);
            }
            self.sleepers.fetch_add(1, Relaxed);
            let delay = self.sleep_delay_us.load(Relaxed) * MICROSECOND;
            sleep(delay, WaitKind::Admission);
            self.sleepers.fetch_sub(1, Relaxed);
            slept += 1;
        }
        let delay = self.sleep_delay_us.load(Relaxed);
        if slept == 1 && delay > 20 {
            self.sleep_delay_us.store(delay - 1, Relaxed);
        } else if slept == 0 && self.sleepers.load(Relaxed) == 0 {
            self.sleep_delay_us.store(delay / 2, Relaxed);
        }
    }

    /// Gives the seat back.
    pub(super) fn leave(&self) {
        settle();
        self.inside.fetch_sub(1, Relaxed);
    }
}
