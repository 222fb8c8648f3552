//! Recovery: from redo files to pages as they were.
//!
//! ```text
//!   checkpoint                                          end of the log
//!      |                                                      |
//!   ---+[ A ][ B ][  C  ][ D ][   E   ][ F ][ G ][  H (torn)  x
//!      \_________________ complete groups __________/
//!           by page:   page 3: A D G     page 7: B C E     ...
//! ```
//!
//! 1. **Open.** The newest valid checkpoint of all files says where to begin.
//! 2. **Scan.** Blocks are read in chunks of 64 KiB. The log ends at the first block that
//!    has not the number or the checksum that it should have, or is not full.
//! 3. **Parse.** Only complete groups count. A group whose end was lost never happened.
//! 4. **Apply.** Records are put in order by page, and pages are brought up to date in
//!    the order of their addresses. A record is skipped if the page has it: its group
//!    begins before the page's LSN. A page that redo makes anew is not read.
//!
//! The log then goes on at its end, in the same block. Blocks behind the end are cleared
//! first where they look as if they followed it: writes that had reached the medium
//! though one before them had not. Otherwise the next recovery would take them for the
//! continuation of what is written now.
//!
//! That is the only change to redo files, and comes last
//! ([`RedoLog::accept_recovery`]): until then the engine may find that it cannot start,
//! and leaves the files as they were.
//!
//! Torn *pages* are repaired before, from the doublewrite files.
//!
//! Source: MySQL 8.4 (`recv_recovery_from_checkpoint_start`). InnoDB applies in batches
//! that fit into the pool; here the records, not the pages, are held in memory all at
//! once.

mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use self::scan::{
    check_nothing_follows, check_range, clear_what_follows, end_behind_hole, parse, read_block,
    scan,
};
use super::block::{BLOCK_SIZE, block_start};
use super::error::RedoLogError;
use super::log::{Device, RedoLog};
use super::log_files::LogFiles;
use super::record::{FileOperation, RedoRecord, read_group};
use super::settings::RedoSettings;
use super::write::WriterState;
use crate::buffer_pool::{BlockHandle, BufferPool, FixMode, Waits};
use crate::metrics::Metrics;
use crate::page::{Lsn, OperationFault, PageBytes, PageId, SpaceId, check_index_structure, fil};
use crate::runtime::files::FileSystem;
use crate::runtime::{Cost, LatchMode, cpu};
use crate::tablespace::Tablespaces;

const BLOCK: u64 = BLOCK_SIZE as u64;

/// What recovery has found and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Where it began.
    pub checkpoint_lsn: Lsn,
    /// The end of the last complete group; the log goes on there.
    pub end_lsn: Lsn,
    /// Bytes of blocks that were read and are good.
    pub scanned_bytes: u64,
    /// Bytes of redo behind the last complete group, which never happened.
    pub torn_bytes: u64,
    /// Where the block stands that ended the log though good ones follow it; none if the
    /// log simply ends. After a power cut it may be one that was never written.
    pub hole_lsn: Option<Lsn>,
    /// Bytes of the log from its end to that of the last good block behind the hole: redo
    /// that is lost.
    pub lost_bytes: u64,
    /// Complete groups behind the checkpoint.
    pub groups: u64,
    /// Their records.
    pub records: u64,
    /// Pages that they are about.
    pub pages: u64,
    /// Pages that were not up to date.
    pub pages_applied: u64,
    /// Of those, pages that were made anew, without being read.
    pub pages_made: u64,
    /// Records that were applied.
    pub records_applied: u64,
}

impl RecoveryReport {
    /// Whether there was anything to do.
    pub fn was_needed(&self) -> bool {
        self.groups > 0
    }
}

/// A log that has been read, and whose redo is to be applied.
#[derive(Debug)]
pub struct Recovery {
    log: Arc<RedoLog>,
    payload: Vec<u8>,
    groups: Vec<Group>,
    /// The records of each page, in order.
    pages: BTreeMap<PageId, Vec<Place>>,
    report: RecoveryReport,
}

/// A complete group of records.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// In the payload.
    offset: usize,
    start: Lsn,
    end: Lsn,
}

/// One record of a page: where it is.
#[derive(Clone, Copy, Debug)]
struct Place {
    group: u32,
    /// Its place in its group.
    record: u32,
}

impl RedoLog {
    /// Opens the log of an earlier run: finds the checkpoint and reads all redo behind
    /// it. The log is complete then, and can be given to a buffer pool; nothing has been
    /// applied yet, and no file changed.
    ///
    /// # Errors
    /// If files are missing, of another log, damaged in the middle, or have no checkpoint;
    /// or if they hold what is no redo.
    pub fn open_for_recovery(
        system: FileSystem,
        home: &Path,
        settings: &RedoSettings,
        metrics: Arc<Metrics>,
    ) -> Result<Recovery, RedoLogError> {
        let files = LogFiles::open(system, home, settings.layout, settings.io)?;
        let (checkpoint, faults) = files.newest_checkpoint()?;
        let Some(checkpoint) = checkpoint else {
            return Err(RedoLogError::NoCheckpoint {
                directory: files.directory().to_path_buf(),
                reasons: faults,
            });
        };
        check_range(&files, &checkpoint)?;
        let scan = scan(&files, checkpoint.lsn)?;
        if scan.end < checkpoint.lsn {
            return Err(RedoLogError::CutShort {
                directory: files.directory().to_path_buf(),
                checkpoint: checkpoint.lsn,
                end: scan.end,
            });
        }
        if settings.io.sync {
            check_nothing_follows(&files, &scan)?;
        }
        let mut report = RecoveryReport {
            checkpoint_lsn: checkpoint.lsn,
            scanned_bytes: block_start(scan.end + BLOCK - 1) - block_start(checkpoint.lsn),
            ..RecoveryReport::default()
        };
        let groups = parse(&scan, &checkpoint, &mut report)?;
        if let Some(end) = end_behind_hole(&files, scan.end)? {
            report.hole_lsn = Some(block_start(scan.end));
            report.lost_bytes = end.saturating_sub(report.end_lsn);
        }
        let last_block = read_block(&files, block_start(report.end_lsn))?;
        let log = RedoLog::with_files(settings, files, checkpoint, report.end_lsn, metrics)?;
        if let Some(block) = last_block {
            log.buffer.preload(report.end_lsn, &block);
        }
        if let Some(device) = &log.device {
            device.writer.lock().found_end = Some(report.end_lsn);
        }
        let mut recovery = Recovery {
            log,
            payload: scan.payload,
            groups,
            pages: BTreeMap::new(),
            report,
        };
        recovery.pages = recovery.by_page();
        recovery.report.pages = recovery.pages.len() as u64;
        Ok(recovery)
    }

    /// Takes the files over after a recovery: from now on redo is written where it ended.
    /// Before that no file of the log has been changed. Nothing if it was done before, or
    /// for a new log.
    ///
    /// # Errors
    /// If a file cannot be changed.
    pub fn accept_recovery(&self) -> Result<(), RedoLogError> {
        match &self.device {
            Some(device) => self.take_over_files(device, &mut device.writer.lock()),
            None => Ok(()),
        }
    }

    /// Clears away what is behind the end that recovery has found.
    pub(super) fn take_over_files(
        &self,
        device: &Device,
        state: &mut WriterState,
    ) -> Result<(), RedoLogError> {
        if let Some(end) = state.found_end {
            // The last group may have begun in one file and gone on in the next one.
            device.files.go_on_from(block_start(end))?;
            clear_what_follows(&device.files, end)?;
            state.found_end = None;
        }
        Ok(())
    }
}

impl Recovery {
    /// The log, which goes on where it ended.
    pub fn log(&self) -> &Arc<RedoLog> {
        &self.log
    }

    /// What has been found; what has been done is in the report of
    /// [`apply`](Self::apply).
    pub fn report(&self) -> &RecoveryReport {
        &self.report
    }

    /// What was done to files, in order: tablespaces that must be opened, created or
    /// forgotten before [`apply`](Self::apply).
    pub fn file_operations(&self) -> Vec<FileOperation> {
        let mut operations = Vec::new();
        for group in &self.groups {
            self.each_record(group, |record| {
                if let RedoRecord::File(operation) = record {
                    operations.push(operation);
                }
            });
        }
        operations
    }

    fn each_record<'a>(&'a self, group: &Group, mut each: impl FnMut(RedoRecord<'a>)) {
        let mut bytes = &self.payload[group.offset..];
        let result = read_group(&mut bytes, &mut each);
        debug_assert!(result.is_ok(), "it was read before");
    }

    /// Brings all pages up to date, by way of the pool, which has been made with this
    /// log and holds no page yet. They are dirty then, like after any other change. Files
    /// that redo says are longer are extended.
    ///
    /// # Errors
    /// If a tablespace is missing that redo does not say was dropped, or if a page cannot be
    /// read, has changes from behind the end of the log, or cannot take the redo that it
    /// should.
    pub fn apply(
        mut self,
        pool: &Arc<BufferPool>,
        spaces: &Tablespaces,
    ) -> Result<RecoveryReport, RedoLogError> {
        self.check_tablespaces(spaces)?;
        self.extend_files(spaces)?;
        let pages = std::mem::take(&mut self.pages);
        let mut waits = Waits::new(0);
        for (page, places) in &pages {
            if let Some(space) = spaces.get(page.space) {
                self.apply_to_page(*page, places, pool, space.path(), &mut waits)?;
            }
        }
        pool.sort_flush_lists();
        Ok(self.report)
    }

    /// Checks that the tablespaces are open that redo is about, but for those that it says
    /// were dropped.
    ///
    /// # Errors
    /// [`RedoLogError::NoTablespace`].
    pub fn check_tablespaces(&self, spaces: &Tablespaces) -> Result<(), RedoLogError> {
        let operations = self.file_operations().into_iter();
        let dropped: BTreeSet<SpaceId> = operations
            .filter_map(|operation| match operation {
                FileOperation::Delete { space } => Some(space),
                _ => None,
            })
            .collect();
        for (&page, places) in &self.pages {
            if spaces.get(page.space).is_none() && !dropped.contains(&page.space) {
                return Err(RedoLogError::NoTablespace {
                    page,
                    lsn: self.groups[places[0].group as usize].start,
                });
            }
        }
        Ok(())
    }

    /// Whether redo makes this page anew: what is in its file does not matter.
    pub fn makes(&self, page: PageId) -> bool {
        let places = self.pages.get(&page);
        places.is_some_and(|places| self.last_initialisation(places).is_some())
    }

    /// Extends files as redo says.
    fn extend_files(&self, spaces: &Tablespaces) -> Result<(), RedoLogError> {
        for operation in self.file_operations() {
            if let FileOperation::Extend { space, pages }
            | FileOperation::Create { space, pages, .. } = operation
                && let Some(space) = spaces.get(space)
            {
                space.extend(pages)?;
            }
        }
        Ok(())
    }

    /// The records of each page, in order.
    fn by_page(&self) -> BTreeMap<PageId, Vec<Place>> {
        let mut pages: BTreeMap<PageId, Vec<Place>> = BTreeMap::new();
        for (number, group) in self.groups.iter().enumerate() {
            let mut record = 0;
            self.each_record(group, |read| {
                if let Some(page) = read.page() {
                    pages.entry(page).or_default().push(Place {
                        group: number as u32,
                        record,
                    });
                }
                record += 1;
            });
        }
        pages
    }

    fn apply_to_page(
        &mut self,
        page: PageId,
        places: &[Place],
        pool: &BufferPool,
        path: &Path,
        waits: &mut Waits,
    ) -> Result<(), RedoLogError> {
        let made_at = self.last_initialisation(places);
        let block = match made_at {
            Some(_) => pool.fix_new(page, waits)?,
            None => pool.fix(page, FixMode::Normal, waits)?,
        };
        let held = pool.lock_page(block, LatchMode::X);
        // SAFETY: the page is latched in X.
        let bytes = unsafe { &mut *pool.frame(block) };
        let places = &places[made_at.unwrap_or(0)..];
        let result = self.apply_records(page, places, made_at.is_some(), path, bytes);
        if let Ok(Some((start, end))) = result {
            fil::set_page_lsn(bytes, end);
            pool.note_modified(block, start, end);
            self.report.pages_applied += 1;
            self.report.pages_made += u64::from(made_at.is_some());
        }
        release(pool, block, held);
        result.map(|_| ())
    }

    /// The place of the last record that makes the page anew: nothing before it matters.
    fn last_initialisation(&self, places: &[Place]) -> Option<usize> {
        places.iter().rposition(|place| {
            let mut initialises = false;
            let mut number = 0;
            self.each_record(&self.groups[place.group as usize], |record| {
                if number == place.record
                    && let RedoRecord::Operation { operation, .. } = record
                {
                    initialises = operation.initialises_page();
                }
                number += 1;
            });
            initialises
        })
    }

    /// Applies what the page does not have; returns the range of LSNs that was applied.
    fn apply_records(
        &mut self,
        page: PageId,
        places: &[Place],
        is_made: bool,
        path: &Path,
        bytes: &mut PageBytes,
    ) -> Result<Option<(Lsn, Lsn)>, RedoLogError> {
        // A page that is made anew has all of its records applied.
        let page_lsn = match is_made {
            true => 0,
            false => fil::PAGE_LSN.get(bytes),
        };
        // What redo has made is sound as long as each record is.
        let mut is_examined = is_made;
        let mut range: Option<(Lsn, Lsn)> = None;
        let mut applied = 0;
        let mut rest = places;
        while let Some(first) = rest.first() {
            let in_group = rest.partition_point(|place| place.group == first.group);
            let (these, later) = rest.split_at(in_group);
            rest = later;
            let group = self.groups[first.group as usize];
            if group.start < page_lsn {
                continue;
            }
            let mut wanted = these.iter().map(|place| place.record).peekable();
            let mut number = 0;
            // Redo that makes no page anew is about one that was written before.
            let mut result = match is_examined || page_lsn > 0 || !fil::is_all_zero(bytes) {
                true => Ok(()),
                false => Err(OperationFault {
                    what: "the page holds nothing but zeros; its FIL_PAGE_TYPE is",
                    value: 0,
                }),
            };
            self.each_record(&group, |record| {
                if wanted.next_if_eq(&number).is_some() && result.is_ok() {
                    cpu(Cost::RedoApply);
                    if record.interprets_page() && !is_examined {
                        result = check_index_structure(bytes);
                        is_examined = true;
                    }
                    if result.is_ok() {
                        result = record.apply(bytes);
                    }
                    applied += 1;
                }
                number += 1;
            });
            if let Err(fault) = result {
                return Err(RedoLogError::CannotApply {
                    path: path.to_path_buf(),
                    page,
                    page_lsn,
                    lsn: group.start,
                    fault,
                });
            }
            let start = range.map_or(group.start, |range| range.0);
            range = Some((start, group.end));
        }
        self.report.records_applied += applied;
        Ok(range)
    }
}

fn release(pool: &BufferPool, block: BlockHandle, held: crate::runtime::Held) {
    // SAFETY: latched in X by `apply_to_page`.
    unsafe { pool.latch(block).unlock(LatchMode::X, held) };
    pool.unfix(block);
}
