//! Wait queues: the tasks that wait for a latch, spinning or asleep.
//!
//! A latch has a queue only while somebody waits for it; queues are reused. The
//! spinning waiters are in no order, since any of them may be the first to look.

use std::sync::atomic::Ordering::Relaxed;

use super::latch_word::{NO_QUEUE, SPIN_MODES, SpinMode, VirtualLatch};
use crate::runtime::latch_class::LatchClass;

pub(super) struct WaitQueue {
    pub(super) latch: *const VirtualLatch,
    class: LatchClass,
    /// Waiters that spin on a hardware thread now, in no order; each task knows its
    /// place. Beside them, how many want which mode.
    pub(super) spinners: Vec<(u32, SpinMode)>,
    pub(super) wanting: [u32; SPIN_MODES.len()],
    pub(super) sleepers: Vec<(u32, SpinMode)>,
    /// Tasks in either list or on their way between the two: the queue stays.
    members: u32,
    pub(super) generation: u32,
    pub(super) poll_scheduled: bool,
}

impl WaitQueue {
    /// Spinning waiters whose poll of this word would succeed.
    pub(super) fn eligible(&self, word: u32) -> u32 {
        let wanting = |mode: SpinMode| self.wanting[mode as usize];
        SPIN_MODES
            .iter()
            .filter(|mode| mode.eligible(word))
            .map(|&mode| wanting(mode))
            .sum()
    }
}

/// The wait queues of the latches that have waiters now; number 0 is "none".
pub(super) struct WaitQueues {
    pub(super) queues: Vec<WaitQueue>,
    free: Vec<u32>,
}

impl WaitQueues {
    pub(super) fn new() -> Self {
        WaitQueues {
            queues: Vec::new(),
            free: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn get(&mut self, number: u32) -> &mut WaitQueue {
        &mut self.queues[number as usize - 1]
    }

    pub(super) fn join(&mut self, latch: &VirtualLatch, class: LatchClass) -> u32 {
        let mut number = latch.queue.load(Relaxed);
        if number == NO_QUEUE {
            number = self.free.pop().unwrap_or_else(|| {
                self.queues.push(WaitQueue {
                    latch: std::ptr::null(),
                    class,
                    spinners: Vec::new(),
                    wanting: [0; SPIN_MODES.len()],
                    sleepers: Vec::new(),
                    members: 0,
                    generation: 0,
                    poll_scheduled: false,
                });
                self.queues.len() as u32
            });
            let queue = self.get(number);
            queue.latch = latch;
            queue.class = class;
            latch.queue.store(number, Relaxed);
        }
        self.get(number).members += 1;
        number
    }

    pub(super) fn leave(&mut self, number: u32, latch: &VirtualLatch) {
        let queue = self.get(number);
        queue.members -= 1;
        if queue.members == 0 {
            debug_assert!(queue.spinners.is_empty() && queue.sleepers.is_empty());
            queue.generation = queue.generation.wrapping_add(1);
            queue.poll_scheduled = false;
            queue.latch = std::ptr::null();
            latch.queue.store(NO_QUEUE, Relaxed);
            self.free.push(number);
        }
    }

    pub(super) fn clear(&mut self) {
        self.queues.clear();
        self.free.clear();
    }
}
