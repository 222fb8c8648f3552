//! How much redo there may be, and who stops whom before it is too much.
//!
//! Redo files have a fixed size and are used again. What recovery would need, from the
//! last checkpoint to the newest redo, must fit; the length of that is the *age*. As it
//! grows, more and more is done about it:
//!
//! ```text
//!   age  0 ----------- .73 ------- .79 ------- .81 ------- .84 ----- .89 ----- .93 --> 1
//!                      adaptive    sync flush  checkpoint  users     writer    writer
//!                      flushing    begins      at once     stop      warns     stops
//!                      at full
//! ```
//!
//! (Shares of 1 GiB in 8.4.) Between where users stop and where the writer stops there
//! is room for what they have under way: four pages' worth of redo each.
//!
//! All limits are computed for the server of full size and then divided by the scale.
//!
//! Source: MySQL 8.0.30 to 8.4 (`log_files_capacity`), and 5.1 to 5.7
//! (`log_calc_max_ages`).

use super::block::{BLOCK_SIZE, lsn_of, sn_of};

const BLOCK: u64 = BLOCK_SIZE as u64;
const PAGE: u64 = crate::page::PAGE_SIZE as u64;

/// Bytes in front of the blocks of every redo file.
pub const FILE_HEADER_SIZE: u64 = 4 * BLOCK;

/// Files that the capacity of 8.0.30 and later is divided into.
pub const FILES: u64 = 32;

/// Redo that a user may make between two looks at the room, in pages.
const PAGES_BETWEEN_CHECKS: u64 = 4;
/// Threads of the server itself that make redo.
const BACKGROUND_THREADS: u64 = 10;

/// Where ages have consequences, in bytes of LSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RedoLimits {
    /// What was asked for: disk space of all redo files.
    pub capacity: u64,
    /// The log writer stops.
    pub writer_stop: u64,
    /// The log writer is in the margin that was to stay free: users stop at once.
    pub writer_warning: u64,
    /// Adaptive flushing is at its most urgent (`max_modified_age_async`).
    pub modified_age_async: u64,
    /// Pages are flushed as fast as possible (`max_modified_age_sync`).
    pub modified_age_sync: u64,
    /// A checkpoint is written without waiting for its time.
    pub checkpoint_age_async: u64,
    /// Users stop until there is a checkpoint.
    pub stall_age: u64,
    /// Room for what users and background threads have under way.
    pub concurrency_margin: u64,
}

/// The log is too small for its margins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "redo files of {capacity} bytes are too small: with innodb_thread_concurrency \
     {thread_concurrency} they must have at least {least} bytes"
)]
pub struct RedoTooSmall {
    /// All files together.
    pub capacity: u64,
    /// Threads that may be at work.
    pub thread_concurrency: u64,
    /// The least that is possible.
    pub least: u64,
}

/// Redo that must fit into the files between two checkpoints, in bytes: what a user may
/// make between two looks at the room, which is more than any mini-transaction makes. Where
/// less fits, the redo of a mini-transaction could wait for room that only its own pages
/// could make, and they for the redo.
pub const LEAST_ROOM: u64 = PAGES_BETWEEN_CHECKS * PAGE;

/// The scale has left too little of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} = {} ({capacity} bytes in all) divided by --scale {scale} is {} bytes: accepted \
     are at least {least} bytes, that is --scale={scale_max} at most, or {variable}={} at least",
    capacity / files, capacity / scale, (least * scale).div_ceil(*files)
)]
pub struct ScaledRedoTooSmall {
    /// The variable that gives the size.
    pub variable: &'static str,
    /// All files together, of the server of full size.
    pub capacity: u64,
    /// Over so many files the variable's value is multiplied.
    pub files: u64,
    /// What they are divided by.
    pub scale: u64,
    /// The least that is possible after the division.
    pub least: u64,
    /// The largest scale for this capacity.
    pub scale_max: u64,
}

const fn down(bytes: u64) -> u64 {
    bytes / BLOCK * BLOCK
}

const fn up(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK) * BLOCK
}

/// Size of a file of 8.0.30 and later.
pub const fn numbered_file_size(capacity: u64) -> u64 {
    capacity / FILES / PAGE * PAGE
}

impl RedoLimits {
    /// The limits of 8.0.30 and later.
    pub fn since_8_0_30(capacity: u64, thread_concurrency: u64) -> Self {
        let file_size = numbered_file_size(capacity);
        let headers = (FILES - 1) * FILE_HEADER_SIZE;
        // Two files are kept free; 64 KiB for safety at both ends.
        let usable = (u128::from(capacity) * 30 / 32) as u64 - headers - (128 << 10);
        let hard = down(usable - up(file_size / 10));
        let soft = down(hard / 20 * 19 + hard % 20 * 19 / 20);
        let wanted = PAGES_BETWEEN_CHECKS * PAGE * (thread_concurrency + BACKGROUND_THREADS)
            + 4096
            + down(soft / 20);
        let most = sn_of(down(soft / 20 * 11 + soft % 20 * 11 / 20));
        let margin = lsn_of(wanted.min(most));
        let adaptive_min = down(soft - soft / 8);
        let adaptive_max = down(soft - soft / 16);
        let aggressive = down(soft - soft / 32);
        RedoLimits {
            capacity,
            writer_stop: hard,
            writer_warning: soft,
            modified_age_async: down(adaptive_min.saturating_sub(margin)),
            modified_age_sync: adaptive_max.saturating_sub(margin),
            checkpoint_age_async: aggressive.saturating_sub(margin),
            stall_age: down(soft - margin),
            concurrency_margin: margin,
        }
    }

    /// The limits of 5.1 to 5.7 and MariaDB, with `files` files of `file_size` bytes.
    /// MariaDB counts no users and has no point of sync flushing before the last one.
    ///
    /// # Errors
    /// If the files are too small.
    pub fn until_5_7(
        file_size: u64,
        files: u64,
        thread_concurrency: u64,
        is_mariadb: bool,
    ) -> Result<Self, RedoTooSmall> {
        let capacity = file_size * files;
        let group = files * (file_size - FILE_HEADER_SIZE);
        let small = group - group / 10;
        let threads = match is_mariadb {
            true => 0,
            false => thread_concurrency,
        };
        let free = PAGES_BETWEEN_CHECKS * PAGE * (BACKGROUND_THREADS + threads) + 8 * PAGE;
        if free >= small / 2 {
            return Err(RedoTooSmall {
                capacity,
                thread_concurrency: threads,
                least: (2 * free * 10).div_ceil(9) + files * FILE_HEADER_SIZE,
            });
        }
        let margin = small - free;
        let margin = margin - margin / 10;
        let (sync, checkpoint) = match is_mariadb {
            true => (margin, margin),
            false => (margin - margin / 16, margin - margin / 32),
        };
        Ok(RedoLimits {
            capacity,
            // InnoDB overwrites redo that is still needed, and says so. Here the writer
            // stops, one block before.
            writer_stop: down(group) - BLOCK,
            writer_warning: small,
            modified_age_async: margin - margin / 8,
            modified_age_sync: sync,
            checkpoint_age_async: checkpoint,
            stall_age: margin,
            concurrency_margin: free,
        })
    }

    /// The limits of a ring of these files, whose sizes have been rounded.
    #[must_use]
    pub(super) fn within_ring(self, file_size: u64, files: u64) -> Self {
        let ring = files * (file_size - FILE_HEADER_SIZE);
        RedoLimits {
            writer_stop: self.writer_stop.min(ring - BLOCK),
            ..self
        }
    }

    /// Makes sure that divided by a scale they leave room for a mini-transaction.
    ///
    /// # Errors
    /// If they do not.
    pub(super) fn check_scale(
        &self,
        scale: u64,
        (variable, files): (&'static str, u64),
    ) -> Result<(), ScaledRedoTooSmall> {
        if self.scaled(scale).writer_stop >= LEAST_ROOM {
            return Ok(());
        }
        let share = u128::from(self.capacity) * u128::from(LEAST_ROOM + BLOCK);
        Err(ScaledRedoTooSmall {
            variable,
            capacity: self.capacity,
            files,
            scale,
            least: share.div_ceil(u128::from(self.writer_stop)) as u64,
            scale_max: self.writer_stop / LEAST_ROOM,
        })
    }

    /// The limits divided by a scale.
    #[must_use]
    pub fn scaled(&self, scale: u64) -> Self {
        let by = |bytes: u64| down(bytes / scale);
        RedoLimits {
            capacity: self.capacity / scale,
            writer_stop: by(self.writer_stop),
            writer_warning: by(self.writer_warning),
            modified_age_async: by(self.modified_age_async),
            modified_age_sync: by(self.modified_age_sync),
            checkpoint_age_async: by(self.checkpoint_age_async),
            stall_age: by(self.stall_age),
            concurrency_margin: self.concurrency_margin / scale,
        }
    }
}

/// The size of a file divided by a scale; its header is not divided.
pub fn scaled_file_size(file_size: u64, scale: u64) -> u64 {
    let least = 8 * BLOCK;
    down((file_size - FILE_HEADER_SIZE) / scale).max(least) + FILE_HEADER_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn assert_share(bytes: u64, of: u64, share: f64) {
        let found = bytes as f64 / of as f64;
        assert!((found - share).abs() < 0.0006, "{found} is not {share}");
    }

    #[test]
    fn limits_of_8_4_are_the_published_ones() {
        // Capacity; hard, soft, sync flush, aggressive checkpoint, users stop, urgent; M.
        let published = [
            (
                8 * MIB,
                [0.911, 0.866, 0.686, 0.713, 0.740, 0.631],
                1_055_452,
            ),
            (
                100 * MIB,
                [0.933, 0.886, 0.778, 0.806, 0.834, 0.723],
                5_474_908,
            ),
            (
                1024 * MIB,
                [0.934, 0.887, 0.786, 0.813, 0.841, 0.730],
                49_863_916,
            ),
            (
                8192 * MIB,
                [0.934, 0.888, 0.786, 0.814, 0.842, 0.731],
                394_214_364,
            ),
        ];
        for (capacity, shares, margin) in published {
            let limits = RedoLimits::since_8_0_30(capacity, 0);
            let found = [
                limits.writer_stop,
                limits.writer_warning,
                limits.modified_age_sync,
                limits.checkpoint_age_async,
                limits.stall_age,
                limits.modified_age_async,
            ];
            for (bytes, share) in found.into_iter().zip(shares) {
                assert_share(bytes, capacity, share);
            }
            assert_eq!(limits.concurrency_margin, margin);
        }
        assert_eq!(numbered_file_size(100 * MIB), 3_276_800);
    }

    #[test]
    fn limits_of_5_x_are_the_published_ones() {
        // File size; margin, async, sync, checkpoint async.
        let published = [
            (5 * MIB, [0.742, 0.649, 0.696, 0.719]),
            (48 * MIB, [0.803, 0.703, 0.753, 0.778]),
            (512 * MIB, [0.809, 0.708, 0.759, 0.784]),
            (2048 * MIB, [0.810, 0.709, 0.759, 0.785]),
        ];
        for (file_size, shares) in published {
            let limits = RedoLimits::until_5_7(file_size, 2, 0, false).unwrap();
            let found = [
                limits.stall_age,
                limits.modified_age_async,
                limits.modified_age_sync,
                limits.checkpoint_age_async,
            ];
            for (bytes, share) in found.into_iter().zip(shares) {
                assert_share(bytes, 2 * file_size, share);
            }
            assert!(limits.stall_age < limits.writer_stop);
        }
    }

    #[test]
    fn many_threads_need_larger_files() {
        let error = RedoLimits::until_5_7(5 * MIB, 2, 500, false).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("10485760 bytes are too small"), "{text}");
        assert!(RedoLimits::until_5_7(error.least, 1, 500, false).is_ok());
        assert!(RedoLimits::until_5_7(5 * MIB, 2, 500, true).is_ok());
        // 8.4 caps its margin instead.
        let limits = RedoLimits::since_8_0_30(8 * MIB, 1000);
        assert!(limits.stall_age > 3 * MIB);
    }

    #[test]
    fn the_order_of_limits_survives_scaling() {
        for scale in [1, 4, 64, 1000] {
            for limits in [
                RedoLimits::since_8_0_30(100 * MIB, 64),
                RedoLimits::until_5_7(48 * MIB, 2, 64, false).unwrap(),
            ] {
                let limits = limits.scaled(scale);
                let order = [
                    limits.modified_age_async,
                    limits.modified_age_sync,
                    limits.checkpoint_age_async,
                    limits.stall_age,
                    limits.writer_warning,
                    limits.writer_stop,
                    limits.capacity,
                ];
                assert!(order.is_sorted(), "{order:?}");
                assert!(order[0] > 0);
            }
        }
        assert_eq!(scaled_file_size(3_276_800, 1), 3_276_800);
        assert_eq!(scaled_file_size(3_276_800, 64), 51_152 / 512 * 512 + 2048);
    }

    #[test]
    fn a_scale_that_leaves_no_room_is_refused_with_the_largest_that_does() {
        for limits in [
            RedoLimits::since_8_0_30(100 * MIB, 64),
            RedoLimits::until_5_7(48 * MIB, 2, 64, false).unwrap(),
        ] {
            let error = limits.check_scale(1_000_000, ("v", 1)).unwrap_err();
            assert_eq!(limits.check_scale(error.scale_max, ("v", 1)), Ok(()));
            assert!(limits.check_scale(error.scale_max + 1, ("v", 1)).is_err());
        }
        let error = RedoLimits::since_8_0_30(100 * MIB, 0)
            .check_scale(10_000, ("innodb_redo_log_capacity", 1))
            .unwrap_err();
        let least = RedoLimits::since_8_0_30(error.least * 10_000, 0);
        assert_eq!(least.check_scale(10_000, ("v", 1)), Ok(()));
        let text = error.to_string();
        for part in [
            "innodb_redo_log_capacity = 104857600",
            "--scale 10000 is 10485 bytes",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
