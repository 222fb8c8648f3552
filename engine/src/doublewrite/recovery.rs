//! After a crash: torn data pages are found and repaired, before redo is applied.
//!
//! ```text
//!   data page        copy          what is done
//!   sound            any           nothing: if the copy is newer, redo will do the rest
//!   torn             sound         the copy is written over it
//!   all zeros        sound         the copy is written over it
//!   torn             torn, none    cannot be repaired: the engine must not start
//! ```
//!
//! Of several copies of a page the one with the largest LSN counts. A torn copy belongs to
//! a batch whose data writes had not begun, so its data page is sound: usually. Tablespaces
//! are opened before, without a look at their headers
//! ([`Tablespaces::open_unchecked`]), for page 0 may be the torn one. A copy of a page of
//! no tablespace is left over from one that was dropped.
//!
//! Records of `DETECT_ONLY` name pages that may be torn. They can only be checked.
//!
//! Looking and repairing are apart ([`examine`], [`Examination::repair`]): an engine that
//! finds that it cannot start leaves all files as they were.
//!
//! Source: InnoDB 8.0.20 to 8.4.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::detect_record::{self, RECORD_BYTES, Record};
use super::error::DoublewriteError;
use super::files::{Content, Found, find};
use crate::page::{ChecksumFormat, Lsn, PAGE_SIZE, PageBytes, PageCorruption, PageId, fil};
use crate::runtime::WaitKind;
use crate::runtime::files::{
    AlignedBuffer, Create, File, FileKind, FileSystem, IoMode, OpenOptions,
};
use crate::tablespace::{Tablespace, Tablespaces, offset};

/// Pages read at once.
const CHUNK_PAGES: usize = 64;

/// A data page that was repaired from its copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoredPage {
    /// The page.
    pub page: PageId,
    /// Its file.
    pub path: PathBuf,
    /// What was wrong with it; none if it was all zeros.
    pub corruption: Option<PageCorruption>,
    /// LSN of the copy.
    pub lsn: Lsn,
}

/// A data page that is damaged and of which there is no sound copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrepairedPage {
    /// The page.
    pub page: PageId,
    /// Its file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub corruption: PageCorruption,
    /// Why there is no copy.
    pub why: &'static str,
}

/// What was found in the doublewrite files, and done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Files read.
    pub files: usize,
    /// Numbers of files of copies that are missing though there are higher ones.
    pub missing_files: Vec<u32>,
    /// Sound copies.
    pub copies: usize,
    /// Of these, older ones of a page with several.
    pub superseded: usize,
    /// Copies that were torn themselves.
    pub torn_copies: usize,
    /// Data pages that were sound.
    pub sound: usize,
    /// Of these, older than their copy: the write had not reached them.
    pub copy_newer: usize,
    /// Data pages that were repaired, in the order of their addresses.
    pub restored: Vec<RestoredPage>,
    /// Copies of pages of tablespaces that are not there.
    pub unknown_tablespace: usize,
    /// Copies of pages behind the end of their file.
    pub beyond_end: usize,
    /// Pages named by records of `DETECT_ONLY`.
    pub detect_entries: usize,
    /// Damaged data pages without a sound copy.
    pub unrepaired: Vec<UnrepairedPage>,
}

impl RecoveryReport {
    /// Whether the engine may start.
    ///
    /// # Errors
    /// [`DoublewriteError::Unrepairable`] if a damaged page is left: redo must not be
    /// applied to it.
    pub fn check(&self) -> Result<(), DoublewriteError> {
        match self.unrepaired.first() {
            None => Ok(()),
            Some(first) => Err(DoublewriteError::Unrepairable {
                page: first.page,
                path: first.path.clone(),
                corruption: first.corruption,
                why: first.why,
                others: self.unrepaired.len() - 1,
            }),
        }
    }
}

/// Where a sound copy is.
struct Copy {
    lsn: Lsn,
    file: usize,
    slot: u64,
}

/// All copies and records.
#[derive(Default)]
struct Collected {
    files: Vec<File>,
    sound: BTreeMap<PageId, Copy>,
    /// Pages that torn copies say they are of; one torn at its head may say anything.
    torn: BTreeSet<PageId>,
    detected: BTreeSet<PageId>,
}

/// Torn pages that were found, and their copies; nothing has been written.
pub struct Examination {
    report: RecoveryReport,
    files: Vec<File>,
    /// Of each page in `report.restored`, in their order: the file and the offset of its
    /// copy.
    places: Vec<(usize, u64)>,
}

/// Reads the doublewrite files of a directory, and repairs the torn pages of the open
/// tablespaces: [`examine`], then [`Examination::repair`].
///
/// # Errors
/// As of these.
pub fn recover(
    files: &FileSystem,
    directory: &Path,
    tablespaces: &Tablespaces,
    checkpoint: Lsn,
) -> Result<RecoveryReport, DoublewriteError> {
    examine(files, directory, tablespaces, checkpoint)?.repair(files, tablespaces)
}

impl Examination {
    /// What was found. Pages that are to be restored have not been yet.
    pub fn report(&self) -> &RecoveryReport {
        &self.report
    }

    /// Whether this page is to be restored.
    pub fn restores(&self, page: PageId) -> bool {
        let mut restored = self.report.restored.iter();
        restored.any(|restored| restored.page == page)
    }

    /// Writes the copies over the torn pages, durably.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn repair(
        self,
        files: &FileSystem,
        tablespaces: &Tablespaces,
    ) -> Result<RecoveryReport, DoublewriteError> {
        let mut copy = page_buffer(1)?;
        for (restored, (file, slot)) in self.report.restored.iter().zip(self.places) {
            let Some(tablespace) = tablespaces.get(restored.page.space) else {
                continue;
            };
            self.files[file].read_at(&mut copy, slot, WaitKind::Other)?;
            let image = files.image(as_page(&copy));
            let at = offset(restored.page.page.0);
            tablespace.file().write_image(&image, at, WaitKind::Other)?;
            tablespace.note_write();
        }
        tablespaces.flush_unflushed()?;
        Ok(self.report)
    }
}

/// Reads the doublewrite files of a directory, and finds the torn pages of the open
/// tablespaces. The directory is the data directory, or `innodb_doublewrite_dir`.
///
/// A copy that ends before `checkpoint` is of a write that was complete and durable when
/// the checkpoint was made: its page has gone on since, and redo could not bring the copy
/// there. Such a copy repairs nothing.
///
/// # Errors
/// If a file cannot be read. Damage that cannot be repaired is in the report: see
/// [`RecoveryReport::check`].
pub fn examine(
    files: &FileSystem,
    directory: &Path,
    tablespaces: &Tablespaces,
    checkpoint: Lsn,
) -> Result<Examination, DoublewriteError> {
    let mut report = RecoveryReport::default();
    let found = find(files, directory)?;
    report.files = found.len();
    report.missing_files = missing(&found);
    let mut collected = Collected::default();
    for file in &found {
        let file_content = file.content;
        let file = open(files, &file.path)?;
        match file_content {
            Content::Copies => collect_copies(file, &mut collected, &mut report)?,
            Content::PageNumbers => collect_records(&file, &mut collected, &mut report)?,
        }
    }
    let mut data_page = page_buffer(1)?;
    let mut places = Vec::new();
    for (&page, place) in &collected.sound {
        let Some(tablespace) = judgeable(tablespaces, page, &mut report) else {
            continue;
        };
        let damage = match read_data_page(&tablespace, page, &mut data_page)? {
            DataPage::Sound(lsn) => {
                report.sound += 1;
                report.copy_newer += usize::from(lsn < place.lsn);
                continue;
            }
            DataPage::Empty if place.lsn < checkpoint => continue,
            DataPage::Damaged(corruption) if place.lsn < checkpoint => {
                report.unrepaired.push(UnrepairedPage {
                    page,
                    path: tablespace.path().into(),
                    corruption,
                    why: "its copy is older than the checkpoint",
                });
                continue;
            }
            DataPage::Empty => None,
            DataPage::Damaged(corruption) => Some(corruption),
        };
        places.push((place.file, place.slot));
        report.restored.push(RestoredPage {
            page,
            path: tablespace.path().into(),
            corruption: damage,
            lsn: place.lsn,
        });
    }
    let without_copy = |pages: BTreeSet<PageId>, why| {
        let sound = &collected.sound;
        let pages = pages.into_iter().filter(|page| !sound.contains_key(page));
        pages.map(move |page| (page, why)).collect::<Vec<_>>()
    };
    let detected = collected.detected;
    let torn = collected.torn.difference(&detected).copied().collect();
    let mut doubtful = without_copy(detected.clone(), "only its number was recorded");
    doubtful.extend(without_copy(torn, "its copy is torn, too"));
    for (page, why) in doubtful {
        let Some(tablespace) = tablespaces.get(page.space) else {
            continue;
        };
        if page.page.0 < tablespace.size()
            && let DataPage::Damaged(corruption) =
                read_data_page(&tablespace, page, &mut data_page)?
        {
            report.unrepaired.push(UnrepairedPage {
                page,
                path: tablespace.path().into(),
                corruption,
                why,
            });
        }
    }
    Ok(Examination {
        report,
        files: collected.files,
        places,
    })
}

/// The tablespace of a copy's page, if the page is in it.
fn judgeable(
    tablespaces: &Tablespaces,
    page: PageId,
    report: &mut RecoveryReport,
) -> Option<std::sync::Arc<Tablespace>> {
    let Some(tablespace) = tablespaces.get(page.space) else {
        report.unknown_tablespace += 1;
        return None;
    };
    if page.page.0 >= tablespace.size() {
        report.beyond_end += 1;
        return None;
    }
    Some(tablespace)
}

fn missing(found: &[Found]) -> Vec<u32> {
    let numbers: BTreeSet<u32> = found
        .iter()
        .filter(|file| file.content == Content::Copies)
        .map(|file| file.number)
        .collect();
    // Numbers of a server are below 256; a stray larger one is no reason to count there.
    let end = numbers.last().copied().unwrap_or(0).min(256);
    (0..end)
        .filter(|number| !numbers.contains(number))
        .collect()
}

fn open(files: &FileSystem, path: &Path) -> Result<File, DoublewriteError> {
    let options = OpenOptions {
        create: Create::Existing,
        io: IoMode::Buffered,
        kind: FileKind::Doublewrite,
    };
    Ok(files.open(path, options)?)
}

fn page_buffer(pages: usize) -> Result<AlignedBuffer, DoublewriteError> {
    let bytes = pages * PAGE_SIZE;
    AlignedBuffer::new(bytes).map_err(|source| DoublewriteError::Memory { bytes, source })
}

fn as_page(bytes: &[u8]) -> &PageBytes {
    bytes.try_into().expect("a page long")
}

fn collect_copies(
    file: File,
    collected: &mut Collected,
    report: &mut RecoveryReport,
) -> Result<(), DoublewriteError> {
    let slots = (file.length()? / PAGE_SIZE as u64) as usize;
    let mut buffer = page_buffer(CHUNK_PAGES)?;
    let file_number = collected.files.len();
    for first in (0..slots).step_by(CHUNK_PAGES) {
        let count = CHUNK_PAGES.min(slots - first);
        let chunk = &mut buffer[..count * PAGE_SIZE];
        file.read_at(chunk, (first * PAGE_SIZE) as u64, WaitKind::Other)?;
        for (index, copy) in chunk.chunks_exact(PAGE_SIZE).enumerate() {
            let copy = as_page(copy);
            if fil::is_all_zero(copy) {
                continue;
            }
            let page = fil::page_id(copy);
            if fil::verify(copy, page, ChecksumFormat::Crc32).is_err() {
                report.torn_copies += 1;
                collected.torn.insert(page);
                continue;
            }
            report.copies += 1;
            let lsn = fil::PAGE_LSN.get(copy);
            let slot = ((first + index) * PAGE_SIZE) as u64;
            let other = collected.sound.get(&page).map(|copy| copy.lsn);
            report.superseded += usize::from(other.is_some());
            if other.is_none_or(|other| other < lsn) {
                let file = file_number;
                collected.sound.insert(page, Copy { lsn, file, slot });
            }
        }
    }
    collected.files.push(file);
    Ok(())
}

fn collect_records(
    file: &File,
    collected: &mut Collected,
    report: &mut RecoveryReport,
) -> Result<(), DoublewriteError> {
    let bytes = file.length()? as usize / RECORD_BYTES * RECORD_BYTES;
    let mut buffer =
        AlignedBuffer::new(bytes).map_err(|source| DoublewriteError::Memory { bytes, source })?;
    file.read_at(&mut buffer, 0, WaitKind::Other)?;
    for record in buffer.chunks_exact(RECORD_BYTES) {
        if let Record::Entries(entries) = detect_record::decode(record) {
            report.detect_entries += entries.len();
            collected
                .detected
                .extend(entries.into_iter().map(|entry| entry.page));
        }
    }
    Ok(())
}

enum DataPage {
    Sound(Lsn),
    Empty,
    Damaged(PageCorruption),
}

/// Reads a data page, whatever is in its place, and judges it.
fn read_data_page(
    tablespace: &Tablespace,
    page: PageId,
    buffer: &mut AlignedBuffer,
) -> Result<DataPage, DoublewriteError> {
    let at = offset(page.page.0);
    tablespace.file().read_at(buffer, at, WaitKind::Other)?;
    let bytes = as_page(buffer);
    if fil::is_all_zero(bytes) {
        return Ok(DataPage::Empty);
    }
    Ok(match fil::verify(bytes, page, ChecksumFormat::Crc32) {
        Ok(()) => DataPage::Sound(fil::PAGE_LSN.get(bytes)),
        Err(corruption) => DataPage::Damaged(corruption),
    })
}
