//! What a pool is made from.

use crate::page::PAGE_SIZE;
use crate::runtime::LatchMode;
use crate::runtime::time::{SECOND, Time};
use crate::sysvar::FlushLatch;
use crate::sysvar::{Flavor, Settings};

use super::error::BufferPoolError;
use super::instance_mapping::INSTANCES_MAX;

/// Frames that an instance must have at least: below that the midpoint's tolerances
/// and a mini-transaction's pages have no room. (InnoDB's smallest pool has 320 frames
/// and, below 1 GiB, one instance.)
pub const FRAMES_PER_INSTANCE_MIN: usize = 16;

/// What a pool is made from; all sizes as the engine works with them (scaled).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferPoolSettings {
    /// `innodb_buffer_pool_size`, in bytes.
    pub bytes: u64,
    /// `innodb_buffer_pool_instances`.
    pub instances: usize,
    /// Whether the kernel is asked for huge pages (`large_pages`).
    pub huge_pages: bool,
    /// `innodb_old_blocks_pct`.
    pub old_blocks_pct: u64,
    /// `innodb_old_blocks_time`, in milliseconds.
    pub old_blocks_time: u32,
    /// The latch of a page under flush: SX since 5.7, S up to 5.6.
    pub flush_latch_mode: LatchMode,
    /// `innosim_flush_latch`: how long it is held.
    pub flush_latch: FlushLatch,
    /// How long a thread looks for a free frame before it gives up, with an error.
    /// InnoDB waits for ever; 600 s is after how long it takes another wait for a hang
    /// (`innodb_fatal_semaphore_wait_threshold`).
    pub free_frame_timeout: Time,
}

impl BufferPoolSettings {
    /// A pool of the defaults of MySQL 8.4 in all but size.
    pub fn new(bytes: u64, instances: usize) -> Self {
        BufferPoolSettings {
            bytes,
            instances,
            huge_pages: false,
            old_blocks_pct: 37,
            old_blocks_time: 1000,
            flush_latch_mode: LatchMode::SX,
            flush_latch: FlushLatch::Full,
            free_frame_timeout: 600 * SECOND,
        }
    }

    /// The pool that a run's variables ask for.
    pub fn from_variables(settings: &Settings) -> Self {
        let values = settings.scaled();
        BufferPoolSettings {
            old_blocks_pct: values.innodb_old_blocks_pct(),
            // The registry's bound is 32 bits.
            old_blocks_time: values
                .innodb_old_blocks_time()
                .try_into()
                .unwrap_or(u32::MAX),
            flush_latch_mode: match settings.flavor() {
                Flavor::MySql5_1 | Flavor::MySql5_5 | Flavor::MySql5_6 => LatchMode::S,
                _ => LatchMode::SX,
            },
            flush_latch: values.innosim_flush_latch(),
            ..BufferPoolSettings::new(
                values.innodb_buffer_pool_size(),
                values.innodb_buffer_pool_instances() as usize,
            )
        }
    }

    /// Frames of each instance.
    pub fn frames_per_instance(&self) -> usize {
        (self.bytes / self.instances.max(1) as u64) as usize / PAGE_SIZE
    }

    /// Checks that a pool can be made.
    pub(super) fn validate(&self) -> Result<(), BufferPoolError> {
        let frames = self.frames_per_instance();
        // Links and chains count frames in 32 bits, with two numbers for "none".
        let frames_max = (u32::MAX - 2) as usize;
        if !(1..=INSTANCES_MAX).contains(&self.instances)
            || !(FRAMES_PER_INSTANCE_MIN..=frames_max).contains(&frames)
        {
            return Err(BufferPoolError::Size {
                bytes: self.bytes,
                instances: self.instances,
                frames_min: FRAMES_PER_INSTANCE_MIN,
            });
        }
        Ok(())
    }
}
