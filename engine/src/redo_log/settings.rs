//! What a redo log is made from.

use super::capacity::{RedoLimits, numbered_file_size, scaled_file_size};
use super::error::RedoLogError;
use super::log_files::{FileLayout, LogIo};
use crate::runtime::files::IoMode;
use crate::runtime::time::{MICROSECOND, MILLISECOND, SECOND, Time};
use crate::sysvar::{Flavor, FlushMethod, Settings};

/// How mini-transactions get their redo into the log buffer: see `log_buffer`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogConcurrency {
    /// One mutex from the reservation to the flush lists (5.1).
    OneMutex,
    /// One mutex for the log buffer, and a second one for the order of the flush lists
    /// (5.5 to 5.7, MariaDB).
    FlushOrderMutex,
    /// An atomic addition, then all at once (8.0, 8.4).
    LinkBuffers,
}

/// Who writes and flushes redo that a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogWriting {
    /// Threads of their own: a writer, a flusher, and two that wake users
    /// (`innodb_log_writer_threads=ON`).
    Threads,
    /// The first user who needs it; the next group is written while a flush is under way
    /// (5.7, MariaDB, and `innodb_log_writer_threads=OFF`).
    Users,
    /// The first user who needs it; one write with its flush at a time (5.1 to 5.6).
    UsersOneAtATime,
}

/// What a user does before it makes redo, when the age is too high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeCheck {
    /// Waits for a checkpoint, looking at it ever less often (8.0, 8.4).
    Poll,
    /// Asks the page cleaner for a sync flush, and waits for it (5.7, MariaDB).
    AskForFlush,
    /// Flushes pages itself (5.1 to 5.6).
    Flush,
}

/// `innodb_flush_log_at_trx_commit`: what a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPolicy {
    /// 0: nothing.
    Nothing,
    /// 1: its redo is flushed.
    Flush,
    /// 2: its redo is written.
    Write,
}

impl CommitPolicy {
    /// The policy of a value of the variable; MariaDB's 3 is 1 here.
    pub const fn from_variable(value: u64) -> Self {
        match value {
            0 => CommitPolicy::Nothing,
            2 => CommitPolicy::Write,
            _ => CommitPolicy::Flush,
        }
    }
}

/// What a redo log is made from; all sizes as the engine works with them (scaled).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedoSettings {
    /// `innodb_log_buffer_size` in bytes; twice that in 5.7, which has two buffers.
    pub log_buffer_size: u64,
    /// How redo gets into the buffer.
    pub concurrency: LogConcurrency,
    /// `innodb_log_recent_written_size` in bytes.
    pub recent_written_size: usize,
    /// `innodb_log_recent_closed_size` in bytes.
    pub recent_closed_size: usize,
    /// What a checkpoint keeps away from the oldest page, because flush lists are not in
    /// order: `innodb_log_recent_closed_size` divided by the scale, or 0 with mutexes.
    pub disorder_allowance: u64,
    /// `innodb_log_write_ahead_size` in bytes.
    pub write_ahead_size: u64,
    /// How redo is spread over files.
    pub layout: FileLayout,
    /// How files are opened and flushed.
    pub io: LogIo,
    /// Where ages have consequences.
    pub limits: RedoLimits,
    /// Who writes.
    pub writing: LogWriting,
    /// What users do when the age is too high.
    pub free_check: FreeCheck,
    /// `innodb_flush_log_at_trx_commit`.
    pub commit: CommitPolicy,
    /// `innodb_flush_log_at_timeout`: period of flushing where commits do not.
    pub flush_period: Time,
    /// `innodb_log_checkpoint_every`: period of checkpoints.
    pub checkpoint_period: Time,
    /// Period of checkpoints of a busy server.
    pub checkpoint_period_busy: Time,
    /// `innodb_flush_sync`: whether the log asks for a sync flush.
    pub flush_sync: bool,
}

/// How long a mini-transaction sleeps that finds no room in a link buffer, or waits for
/// others to copy their redo (InnoDB 8.0).
pub(super) const LINK_WAIT: Time = 20 * MICROSECOND;

/// `innodb_log_recent_written_size` and `innodb_log_recent_closed_size` of 8.0.
const RECENT_WRITTEN: usize = 1 << 20;
const RECENT_CLOSED: usize = 2 << 20;

/// With mutexes only one link is there at a time.
const LINKS_UNDER_MUTEX: usize = 64 << 10;

impl RedoSettings {
    /// A log as MySQL 8.4 has it, of so many bytes of redo files (at least 8 MiB), with
    /// small buffers: 1 MiB for redo, link buffers of 64 and 128 KiB.
    pub fn with_capacity(capacity: u64) -> Self {
        let recent_closed_size = 128 << 10;
        RedoSettings {
            log_buffer_size: 1 << 20,
            concurrency: LogConcurrency::LinkBuffers,
            recent_written_size: 64 << 10,
            recent_closed_size,
            disorder_allowance: recent_closed_size as u64,
            write_ahead_size: 8192,
            layout: FileLayout::Numbered {
                file_size: numbered_file_size(capacity),
            },
            io: LogIo {
                io: IoMode::Buffered,
                sync: true,
                data_only: true,
            },
            limits: RedoLimits::since_8_0_30(capacity, 0),
            writing: LogWriting::Threads,
            free_check: FreeCheck::Poll,
            commit: CommitPolicy::Flush,
            flush_period: SECOND,
            checkpoint_period: SECOND,
            checkpoint_period_busy: 7 * SECOND,
            flush_sync: true,
        }
    }

    /// A log as [`with_capacity`](Self::with_capacity) of the smallest capacity, 8 MiB.
    pub fn small() -> Self {
        Self::with_capacity(8 << 20)
    }

    /// The log that a run's variables ask for.
    ///
    /// # Errors
    /// If the files are too small for their margins, or the scale leaves too little of them.
    pub fn from_variables(settings: &Settings) -> Result<Self, RedoLogError> {
        let (values, unscaled) = (settings.scaled(), settings.unscaled());
        let flavor = settings.flavor();
        let scale = u64::from(settings.scale().get());
        let is_numbered = flavor.is_mysql_since(Flavor::MySql8_0);
        let threads = unscaled.innodb_thread_concurrency();
        let (layout, limits) = if is_numbered {
            let capacity = unscaled.innodb_redo_log_capacity();
            let file_size = scaled_file_size(numbered_file_size(capacity), scale);
            let limits = RedoLimits::since_8_0_30(capacity, threads);
            limits.check_scale(scale, ("innodb_redo_log_capacity", 1))?;
            let limits = limits.scaled(scale);
            (FileLayout::Numbered { file_size }, limits)
        } else {
            let file_size = unscaled.innodb_log_file_size();
            let files = unscaled.innodb_log_files_in_group();
            let limits = RedoLimits::until_5_7(file_size, files, threads, flavor.is_mariadb())?;
            limits.check_scale(scale, ("innodb_log_file_size", files))?;
            let file_size = scaled_file_size(file_size, scale);
            let limits = limits.scaled(scale).within_ring(file_size, files);
            (FileLayout::Ring { file_size, files }, limits)
        };
        let concurrency = match flavor {
            Flavor::MySql5_1 => LogConcurrency::OneMutex,
            Flavor::MySql8_0 | Flavor::MySql8_4 => LogConcurrency::LinkBuffers,
            _ => LogConcurrency::FlushOrderMutex,
        };
        let (recent_written_size, recent_closed_size) = match concurrency {
            LogConcurrency::LinkBuffers => (RECENT_WRITTEN, RECENT_CLOSED),
            _ => (LINKS_UNDER_MUTEX, LINKS_UNDER_MUTEX),
        };
        let buffers = match flavor {
            Flavor::MySql5_7 => 2,
            _ => 1,
        };
        let until_5_6 = matches!(
            flavor,
            Flavor::MySql5_1 | Flavor::MySql5_5 | Flavor::MySql5_6
        );
        let method = values.innodb_flush_method();
        let checkpoint_period = values.innodb_log_checkpoint_every() * MILLISECOND;
        Ok(RedoSettings {
            log_buffer_size: values.innodb_log_buffer_size() * buffers,
            concurrency,
            recent_written_size,
            recent_closed_size,
            disorder_allowance: match concurrency {
                LogConcurrency::LinkBuffers => RECENT_CLOSED as u64 / scale,
                _ => 0,
            },
            write_ahead_size: values.innodb_log_write_ahead_size(),
            layout,
            io: LogIo {
                io: match method {
                    FlushMethod::ODsync => IoMode::BufferedSync,
                    _ => IoMode::Buffered,
                },
                sync: !matches!(method, FlushMethod::ODsync | FlushMethod::Nosync),
                data_only: values.innodb_use_fdatasync(),
            },
            limits,
            writing: match is_numbered {
                true if values.innodb_log_writer_threads() => LogWriting::Threads,
                _ if until_5_6 => LogWriting::UsersOneAtATime,
                _ => LogWriting::Users,
            },
            free_check: match is_numbered {
                true => FreeCheck::Poll,
                false if until_5_6 => FreeCheck::Flush,
                false => FreeCheck::AskForFlush,
            },
            commit: CommitPolicy::from_variable(values.innodb_flush_log_at_trx_commit()),
            flush_period: values.innodb_flush_log_at_timeout() * SECOND,
            checkpoint_period,
            // InnoDB 8.0 leaves a busy server alone for this long.
            checkpoint_period_busy: match is_numbered {
                true => checkpoint_period.max(7 * SECOND),
                false => checkpoint_period,
            },
            flush_sync: is_numbered && values.innodb_flush_sync(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::sysvar::{MachineFacts, Options, resolve};

    fn of(flavor: Flavor, scale: u32) -> RedoSettings {
        let machine = MachineFacts {
            logical_cpus: 8,
            memory_bytes: 16 << 30,
        };
        let scale = NonZeroU32::new(scale).unwrap();
        let settings = resolve(flavor, &Options::default(), machine, scale).unwrap();
        RedoSettings::from_variables(&settings).unwrap()
    }

    #[test]
    fn every_flavor_has_its_log() {
        for flavor in Flavor::ALL {
            for scale in [1, 16, 64] {
                let settings = of(flavor, scale);
                assert!(settings.limits.stall_age > 0, "{flavor} {scale}");
                if let FileLayout::Ring { file_size, files } = settings.layout {
                    let ring = (file_size - 2048) * files;
                    assert!(settings.limits.writer_stop < ring, "{flavor} {scale}");
                }
            }
        }
        let newest = of(Flavor::MySql8_4, 1);
        assert_eq!(
            newest.layout,
            FileLayout::Numbered {
                file_size: 3_276_800
            }
        );
        assert_eq!(newest.writing, LogWriting::Threads);
        assert_eq!(newest.disorder_allowance, 2 << 20);
        assert_eq!(of(Flavor::MySql8_4, 64).disorder_allowance, 32 << 10);
        assert_eq!(of(Flavor::MySql5_7, 1).log_buffer_size, 32 << 20);
        assert_eq!(of(Flavor::MySql5_6, 1).writing, LogWriting::UsersOneAtATime);
        assert_eq!(of(Flavor::MariaDb10_11, 1).writing, LogWriting::Users);
    }
}
