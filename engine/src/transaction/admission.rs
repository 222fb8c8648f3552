//! Admission: `innodb_thread_concurrency`.
//!
//! With many more threads than cores, everything is held up by preempted holders of
//! latches; so a server can limit how many threads are inside the engine at once. Who
//! finds no seat sleeps and tries again; there is no queue, and late-comers may overtake.
//!
//! ```text
//!   enter --> seat free? ---yes--> inside, with 5000 tickets: one for each row operation
//!               ^  | no                  |
//!               |  v                     v  tickets used up, or the statement ends
//!             sleep 10 ms              leave
//! ```
//!
//! The sleep adapts: it grows while threads sleep more than once, and halves when
//! somebody enters and nobody waits. A thread that waits for a row lock gives up its
//! seat, and comes back by force.
//!
//! Source: the fact sheet's section 6.6 (`srv_conc_enter_innodb_with_atomics`).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

use crate::runtime::time::MICROSECOND;
use crate::runtime::{Cost, WaitKind, cpu, settle, sleep};
use crate::sysvar::Settings;

/// Below this delay, in microseconds, a single sleep does not shorten it.
const SHORTEST_ADAPTED: u64 = 20;

/// The limit, and how it is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionSettings {
    /// `innodb_thread_concurrency`; 0 for no limit.
    pub thread_concurrency: usize,
    /// `innodb_concurrency_tickets`.
    pub tickets: u64,
    /// `innodb_thread_sleep_delay`, in microseconds.
    pub sleep_delay: u64,
    /// `innodb_adaptive_max_sleep_delay`, in microseconds; 0: the delay does not adapt.
    pub max_sleep_delay: u64,
}

impl AdmissionSettings {
    /// The settings that a run's variables ask for.
    pub fn from_variables(settings: &Settings) -> AdmissionSettings {
        let values = settings.scaled();
        AdmissionSettings {
            thread_concurrency: values.innodb_thread_concurrency() as usize,
            tickets: values.innodb_concurrency_tickets(),
            sleep_delay: values.innodb_thread_sleep_delay(),
            max_sleep_delay: values.innodb_adaptive_max_sleep_delay(),
        }
    }
}

/// A session's seat.
#[derive(Debug, Default)]
pub struct Seat {
    is_inside: bool,
    tickets: u64,
}

impl Seat {
    /// Whether the session is inside.
    pub fn is_inside(&self) -> bool {
        self.is_inside
    }
}

/// The entrance.
#[derive(Debug)]
pub struct Admission {
    settings: AdmissionSettings,
    inside: AtomicUsize,
    waiting: AtomicUsize,
    sleep_delay: AtomicU64,
    /// The limit holds no more.
    is_open: AtomicBool,
}

impl Admission {
    /// Nobody is inside.
    pub fn new(settings: AdmissionSettings) -> Self {
        Admission {
            settings,
            inside: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            sleep_delay: AtomicU64::new(settings.sleep_delay),
            is_open: AtomicBool::new(false),
        }
    }

    /// Before a row operation: uses a ticket, or gets a seat first.
    #[inline]
    pub fn enter(&self, seat: &mut Seat) {
        if self.settings.thread_concurrency == 0 {
            return;
        }
        if seat.is_inside && seat.tickets > 0 {
            seat.tickets -= 1;
            return;
        }
        self.enter_slow(seat);
    }

    fn enter_slow(&self, seat: &mut Seat) {
        if seat.is_inside {
            // The tickets are used up: to the end of the queue that is none.
            self.leave(seat);
        }
        let limit = self.settings.thread_concurrency;
        let longest = self.settings.max_sleep_delay;
        let mut sleeps = 0;
        loop {
            cpu(Cost::Admission);
            // What has been done so far has taken its time before others see the seat.
            settle();
            let is_open = self.is_open.load(Acquire);
            if is_open || self.inside.load(Relaxed) < limit {
                if self.inside.fetch_add(1, AcqRel) < limit || is_open {
                    break;
                }
                self.inside.fetch_sub(1, AcqRel);
            }
            if sleeps == 0 {
                self.waiting.fetch_add(1, Relaxed);
            }
            let mut delay = self.sleep_delay.load(Relaxed);
            if longest > 0 && delay > longest {
                delay = longest;
                self.sleep_delay.store(delay, Relaxed);
            }
            // A sleep of nothing takes a microsecond, too.
            sleep(delay.max(1) * MICROSECOND, WaitKind::Admission);
            sleeps += 1;
            if longest > 0 && sleeps > 1 {
                self.sleep_delay.fetch_add(1, Relaxed);
            }
        }
        if sleeps > 0 {
            self.waiting.fetch_sub(1, Relaxed);
        }
        if longest > 0 {
            let delay = self.sleep_delay.load(Relaxed);
            let mut adapted = delay;
            if delay > SHORTEST_ADAPTED && sleeps == 1 {
                adapted -= 1;
            }
            if self.waiting.load(Relaxed) == 0 {
                adapted /= 2;
            }
            if adapted != delay {
                self.sleep_delay.store(adapted, Relaxed);
            }
        }
        seat.is_inside = true;
        seat.tickets = self.settings.tickets.saturating_sub(1);
    }

    /// After a wait for a lock: in by force, over the limit if need be, for one operation.
    pub fn enter_by_force(&self, seat: &mut Seat) {
        if self.settings.thread_concurrency == 0 || seat.is_inside {
            return;
        }
        cpu(Cost::Admission);
        settle();
        self.inside.fetch_add(1, AcqRel);
        seat.is_inside = true;
        seat.tickets = 1;
    }

    /// After a row operation: leaves if no ticket is left.
    #[inline]
    pub fn leave_if_used_up(&self, seat: &mut Seat) {
        if seat.is_inside && seat.tickets == 0 {
            self.leave(seat);
        }
    }

    /// Leaves: at the end of a statement or transaction, and before a wait for a lock.
    pub fn leave(&self, seat: &mut Seat) {
        if seat.is_inside {
            cpu(Cost::Admission);
            settle();
            self.inside.fetch_sub(1, AcqRel);
            seat.is_inside = false;
            seat.tickets = 0;
        }
    }

    /// Does something that must not be done on a seat, such as a wait for a row lock: leaves,
    /// and comes back by force if there was a seat to give up.
    pub fn outside<T>(&self, seat: &mut Seat, wait: impl FnOnce() -> T) -> T {
        let had_seat = seat.is_inside;
        self.leave(seat);
        let result = wait();
        if had_seat {
            self.enter_by_force(seat);
        }
        result
    }

    /// Lets everybody in from now on: the engine has failed, and who is inside may never
    /// leave. Who sleeps in front notices at the end of the sleep.
    pub fn end_waits(&self) {
        self.is_open.store(true, Release);
    }

    /// Threads inside ("queries inside InnoDB").
    pub fn inside(&self) -> usize {
        self.inside.load(Relaxed)
    }

    /// Threads that sleep in front ("queries in queue").
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// The delay now, in microseconds.
    pub fn sleep_delay(&self) -> u64 {
        self.sleep_delay.load(Relaxed)
    }
}
