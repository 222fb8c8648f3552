//! What a crash leaves.
//!
//! At a power failure each request that was not durable yet is kept, lost or torn, with
//! a third of the chances each, whether it was in flight or only in a volatile cache;
//! in a torn one each unit of `atomic_write_bytes` is old or new with half the chances.
//! Dirty pages of the page cache fare alike, each page as one request: the kernel may
//! have begun to write them back at any moment. The seed decides.
//!
//! ```text
//!   list, newest first        page 7 has C
//!   A was put out by B        C lost -> put back B
//!   B was put out by C        B lost -> put back A      (B kept -> B stays, whatever
//!                                                        became of older writes)
//! ```
//!
//! So every sector ends up with the newest write to it that was kept, or with what was
//! durable.

use std::io;

use rustc_hash::FxHashMap;

use super::content::Content;
use super::image_store::{ImageStore, PageRef};
use super::page_cache::{Dirty, GRANULE};
use super::volatile::{Old, Write};
use super::{FileId, IMAGE_BYTES, VirtualFiles};
use crate::runtime::random::Stream;

const SECTOR: usize = 512;
const SECTORS: usize = IMAGE_BYTES / SECTOR;

/// A bit for each sector of a page.
type Mask = u32;
const ALL: Mask = Mask::MAX;
const _: () = assert!(SECTORS == Mask::BITS as usize);

/// How a run ended that did not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The machine lost its power: the page cache is gone, and what was not durable is
    /// kept, lost or torn.
    PowerLoss,
    /// The process was killed: the kernel goes on. Requests in flight complete, the page
    /// cache stays; a later power failure may still undo both.
    ProcessKill,
}

/// How many requests met which fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashReport {
    /// Whole.
    pub kept: u64,
    /// As if they had not been.
    pub lost: u64,
    /// In part.
    pub torn: u64,
}

/// The fates of one request after the other.
struct Fates<'a> {
    stream: &'a mut Stream,
    unit: u64,
    /// Of the present request: 0 kept, 1 lost, 2 torn.
    fate: Option<u64>,
    /// The last unit of a torn request, and whether it was kept.
    last: Option<(u64, bool)>,
    sectors_kept: u64,
    sectors_lost: u64,
    report: CrashReport,
}

impl<'a> Fates<'a> {
    fn new(stream: &'a mut Stream, unit: u32) -> Self {
        Fates {
            stream,
            unit: unit.into(),
            fate: None,
            last: None,
            sectors_kept: 0,
            sectors_lost: 0,
            report: CrashReport::default(),
        }
    }

    /// The present request is over.
    fn next_request(&mut self) {
        match (self.sectors_kept, self.sectors_lost) {
            (0, 0) => {}
            (_, 0) => self.report.kept += 1,
            (0, _) => self.report.lost += 1,
            _ => self.report.torn += 1,
        }
        self.fate = None;
        self.last = None;
        self.sectors_kept = 0;
        self.sectors_lost = 0;
    }

    /// Which of these sectors of a page at this address are kept.
    fn keep(&mut self, sectors: Mask, address: u64) -> Mask {
        let stream = &mut *self.stream;
        let kept = match *self.fate.get_or_insert_with(|| stream.below(3)) {
            0 => sectors,
            1 => 0,
            _ => self.tear(sectors, address),
        };
        self.sectors_kept += u64::from(kept.count_ones());
        self.sectors_lost += u64::from((sectors & !kept).count_ones());
        kept
    }

    fn tear(&mut self, sectors: Mask, address: u64) -> Mask {
        let mut kept = 0;
        for sector in (0..SECTORS).filter(|sector| sectors & 1 << sector != 0) {
            let unit = (address + (sector * SECTOR) as u64) / self.unit;
            let survives = match self.last {
                Some((last, survives)) if last == unit => survives,
                _ => self.stream.below(2) == 1,
            };
            self.last = Some((unit, survives));
            kept |= Mask::from(survives) << sector;
        }
        kept
    }
}

/// The sectors that a range of a page touches.
fn sectors(offset: usize, length: usize) -> Mask {
    let first = offset / SECTOR;
    let end = (offset + length).div_ceil(SECTOR);
    (first..end).fold(0, |mask, sector| mask | 1 << sector)
}

/// Copies sectors of a page.
fn copy_sectors(mask: Mask, from: &[u8], from_offset: usize, to: &mut [u8; IMAGE_BYTES]) {
    for sector in (0..SECTORS).filter(|sector| mask & 1 << sector != 0) {
        // The ends of a range that is no multiple of a sector.
        let start = (sector * SECTOR).max(from_offset);
        let end = ((sector + 1) * SECTOR).min(from_offset + from.len());
        to[start..end].copy_from_slice(&from[start - from_offset..end - from_offset]);
    }
}

/// Gives some sectors of a page the content of another.
fn put(
    content: &mut Content,
    number: u32,
    mask: Mask,
    page: PageRef,
    store: &mut ImageStore,
) -> io::Result<()> {
    if mask == ALL {
        let old = content.replace(number, page);
        store.release(old);
        return Ok(());
    }
    if mask != 0 {
        let mut bytes = [0; IMAGE_BYTES];
        content.read_as(page, number, 0, &mut bytes, store)?;
        content.change(number, store, |target| {
            copy_sectors(mask, &bytes, 0, target)
        })?;
    }
    store.release(page);
    Ok(())
}

impl VirtualFiles {
    /// Decides what a crash has left; see [`Crash`].
    ///
    /// # Errors
    /// If the host cannot read back a spilled image.
    pub(in crate::runtime) fn resolve_crash(&mut self, crash: Crash) -> io::Result<CrashReport> {
        self.unresolved = false;
        if crash == Crash::ProcessKill {
            self.complete_all();
            return Ok(CrashReport::default());
        }
        let mut sum = CrashReport::default();
        for device in 0..self.devices.len() {
            let report = self.undo_writes(device)?;
            sum = sum.plus(report);
        }
        let report = self.lose_page_cache()?;
        Ok(sum.plus(report))
    }

    fn undo_writes(&mut self, device: usize) -> io::Result<CrashReport> {
        let unit = self.devices[device].atomic_write_bytes;
        let writes = self.devices[device].writes.take();
        let mut fates = Fates::new(&mut self.fates, unit);
        let mut kept = Vec::with_capacity(writes.len());
        for write in &writes {
            if write.starts_request {
                fates.next_request();
            }
            let mask = sectors(write.offset.into(), write.length.into());
            kept.push(if write.is_durable() {
                mask
            } else if matches!(write.old, Old::Forgotten) {
                // The page is gone: nothing is kept or put back.
                0
            } else {
                let file = self.files[write.file.0 as usize].as_ref();
                let extents = file.expect("a file with writes").extents();
                fates.keep(
                    mask,
                    extents.address(u64::from(write.page) * IMAGE_BYTES as u64),
                )
            });
        }
        fates.next_request();
        let report = fates.report;

        // Sectors that a newer write, which was kept, has decided.
        let mut decided: FxHashMap<(FileId, u32), Mask> = FxHashMap::default();
        for (write, kept) in writes.into_iter().zip(kept).rev() {
            let decided = decided.entry((write.file, write.page)).or_default();
            let mask = sectors(write.offset.into(), write.length.into());
            let lost = mask & !kept & !*decided;
            *decided |= kept;
            self.put_back(write, lost)?;
        }
        Ok(report)
    }

    fn put_back(&mut self, write: Write, lost: Mask) -> io::Result<()> {
        let Some(file) = &mut self.files[write.file.0 as usize] else {
            return Ok(());
        };
        match write.old {
            Old::Page(page) => put(&mut file.content, write.page, lost, page, &mut self.store),
            Old::Bytes(bytes) if lost != 0 => {
                let offset = write.offset.into();
                file.content.change(write.page, &mut self.store, |page| {
                    copy_sectors(lost, &bytes, offset, page);
                })
            }
            Old::Bytes(_) | Old::Forgotten => Ok(()),
        }
    }

    fn lose_page_cache(&mut self) -> io::Result<CrashReport> {
        let mut sum = CrashReport::default();
        for file in self.files.iter_mut().flatten() {
            let device = file.place.as_ref().and_then(|place| place.device);
            let unit = device.map_or(SECTOR as u32, |device| {
                self.devices[usize::from(device)].atomic_write_bytes
            });
            let mut fates = Fates::new(&mut self.fates, unit);
            for (page, dirty) in file.cache.power_cut() {
                fates.next_request();
                // Pages are aligned on the device as they are in the file.
                let address = u64::from(page) * IMAGE_BYTES as u64;
                match dirty {
                    Dirty::Whole(image) => {
                        let kept = fates.keep(ALL, address);
                        put(&mut file.content, page, kept, image, &mut self.store)?;
                    }
                    Dirty::Granules(granules) => {
                        for (number, granule) in granules.iter().enumerate() {
                            let Some(bytes) = granule else { continue };
                            let offset = number * GRANULE;
                            let kept = fates.keep(sectors(offset, GRANULE), address);
                            if kept != 0 {
                                file.content.change(page, &mut self.store, |target| {
                                    copy_sectors(kept, bytes, offset, target);
                                })?;
                            }
                        }
                    }
                }
            }
            fates.next_request();
            sum = sum.plus(fates.report);
        }
        Ok(sum)
    }
}

impl CrashReport {
    fn plus(self, other: CrashReport) -> CrashReport {
        CrashReport {
            kept: self.kept + other.kept,
            lost: self.lost + other.lost,
            torn: self.torn + other.torn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_the_sectors_that_it_touches() {
        assert_eq!(sectors(0, IMAGE_BYTES), ALL);
        assert_eq!(sectors(512, 1024), 0b110);
        assert_eq!(sectors(500, 100), 0b11);
    }

    #[test]
    fn tearing_keeps_units_whole() {
        let mut stream = Stream::new(1, "test");
        for unit in [512u32, 4096, 8192] {
            let mut fates = Fates::new(&mut stream, unit);
            fates.fate = Some(2);
            let mut masks: Vec<Mask> = (0..64).map(|n| fates.keep(ALL, n << 20)).collect();
            for mask in &masks {
                let sectors = unit as usize / SECTOR;
                for first in (0..SECTORS).step_by(sectors) {
                    let unit = (ALL >> (SECTORS - sectors)) << first;
                    assert!(mask & unit == 0 || mask & unit == unit, "{mask:b}");
                }
            }
            masks.sort_unstable();
            masks.dedup();
            // Two units a page give 4 outcomes, 32 sectors nearly always another one.
            assert!(masks.len() >= 4, "{unit}: {} outcomes", masks.len());
        }
    }
}
