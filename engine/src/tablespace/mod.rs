//! Tablespaces: files of pages, and the table of those that are open.
//!
//! ```text
//!   Tablespaces             Tablespace 5                      file
//!   0 -> ibdata1      +---> name, size ------- pages ------>  [0][1][2][3][4] ...
//!   5 -> ------------'      modifications 812                  16 KiB each
//!   6 -> ...                flushed       790  --- flush --->
//! ```
//!
//! A tablespace knows pages, not what is on them: which page is free is the business of
//! `page_allocation`, and pages in memory are the buffer pool's. It reads a page and
//! judges it, grows, and knows whether its writes are durable (see [`unflushed`]).
//!
//! Source: InnoDB 5.6 to 8.4 (`fil_system`).

mod error;
mod space;
mod unflushed;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub use error::TablespaceError;
pub use space::{Tablespace, offset};

use self::unflushed::Unflushed;
use crate::page::space_header::{self, FLAGS_DYNAMIC_CRC32, FLAGS_FULL_CRC32};
use crate::page::{ChecksumFormat, Lsn, PAGE_SIZE, PageBytes, PageId, SpaceId, fil};
use crate::runtime::files::{
    AlignedBuffer, Create, File, FileError, FileKind, FileSystem, IoMode, OpenOptions, Operation,
};
use crate::runtime::{LatchClass, Mutex, RwLock, WaitKind};
use crate::sysvar::FlushMethod;
use crate::sysvar::Settings;

/// Most pages that a tablespace can have: 64 TiB. The last page numbers are marks.
pub const PAGES_MAX: u64 = (u32::MAX - 1) as u64;

/// How files are made durable.
#[derive(Clone, Copy, Debug)]
struct FlushSettings {
    /// Only after the size has changed (`O_DIRECT_NO_FSYNC`).
    growth_only: bool,
    /// fdatasync instead of fsync.
    data_only: bool,
}

/// The tablespaces that are open.
#[derive(Debug)]
pub struct Tablespaces {
    files: FileSystem,
    flush_method: FlushMethod,
    use_fdatasync: bool,
    open: RwLock<BTreeMap<SpaceId, Arc<Tablespace>>>,
    /// Held while a tablespace is opened, created or closed.
    changing: Mutex<()>,
    unflushed: Arc<Unflushed>,
}

impl Tablespaces {
    /// No tablespace yet, on this file system. `use_fdatasync` as the variable of that
    /// name.
    pub fn new(files: FileSystem, flush_method: FlushMethod, use_fdatasync: bool) -> Self {
        Tablespaces {
            files,
            flush_method,
            use_fdatasync,
            open: RwLock::new(LatchClass::FileSystem, BTreeMap::new()),
            changing: Mutex::new(LatchClass::Plain, ()),
            unflushed: Arc::new(Unflushed::new()),
        }
    }

    /// As [`new`](Self::new), with the variables of a run.
    pub fn from_variables(files: FileSystem, settings: &Settings) -> Self {
        let values = settings.scaled();
        Tablespaces::new(
            files,
            values.innodb_flush_method(),
            values.innodb_use_fdatasync(),
        )
    }

    /// The file system that the files are on.
    pub fn files(&self) -> &FileSystem {
        &self.files
    }

    fn open_file(&self, path: &Path, create: Create) -> Result<File, FileError> {
        let io = match self.flush_method.is_direct() {
            true => IoMode::Direct,
            false => IoMode::Buffered,
        };
        let kind = FileKind::Data;
        self.files.open(path, OpenOptions { create, io, kind })
    }

    // ---- opening --------------------------------------------------------------

    /// Creates a tablespace of so many pages of zeros. Its header is not written: that is
    /// `page_allocation`'s first mini-transaction in it.
    ///
    /// # Errors
    /// If the tablespace is open or the file exists, if the flags are not supported, or
    /// the device is full.
    pub fn create(
        &self,
        space: SpaceId,
        name: &str,
        path: &Path,
        flags: u32,
        initial_pages: u32,
    ) -> Result<Arc<Tablespace>, TablespaceError> {
        check_flags(path, flags)?;
        let _changing = self.changing.lock();
        self.check_not_open(space, path)?;
        let file = self.open_file(path, Create::New)?;
        let tablespace = Arc::new(self.tablespace(space, name, file, 0));
        if let Err(error) = tablespace.extend(initial_pages) {
            drop(tablespace);
            // The first error counts: a file that cannot grow is of no use.
            let _ = self.files.remove(path);
            return Err(error);
        }
        self.open.write().insert(space, tablespace.clone());
        Ok(tablespace)
    }

    /// Opens a tablespace and checks its header, page 0.
    ///
    /// # Errors
    /// If the file cannot be read, page 0 is damaged or empty, the format is not
    /// supported, or a tablespace of that id is open.
    pub fn open(&self, name: &str, path: &Path) -> Result<Arc<Tablespace>, TablespaceError> {
        let _changing = self.changing.lock();
        let file = self.open_file(path, Create::Existing)?;
        let size = self.size_of(&file, path)?;
        let space = read_header(&file, path)?;
        self.check_not_open(space, path)?;
        self.register(space, name, file, size)
    }

    /// Opens a tablespace without a look at its content. For recovery: a crash may have
    /// left a header torn or unwritten, and the doublewrite buffer or redo restores it.
    ///
    /// # Errors
    /// If the file cannot be opened, or a tablespace of that id is open.
    pub fn open_unchecked(
        &self,
        space: SpaceId,
        name: &str,
        path: &Path,
    ) -> Result<Arc<Tablespace>, TablespaceError> {
        let _changing = self.changing.lock();
        self.check_not_open(space, path)?;
        let file = self.open_file(path, Create::Existing)?;
        let size = self.size_of(&file, path)?;
        self.register(space, name, file, size)
    }

    /// Checks page 0 of a tablespace that was opened without a look at it, against the file's
    /// length and the end of the redo log, too.
    ///
    /// # Errors
    /// As [`open`](Self::open); or if it is the page of another tablespace, or none of this
    /// number is open, the file is shorter than the page says, or the page newer than redo.
    pub fn check_header(&self, space: SpaceId, end_lsn: Lsn) -> Result<(), TablespaceError> {
        let Some(tablespace) = self.get(space) else {
            return Err(TablespaceError::NotOpen { space });
        };
        let path = tablespace.path();
        if tablespace.size() == 0 {
            return Err(TablespaceError::NoHeader { path: path.into() });
        }
        let found = read_header(tablespace.file(), path)?;
        if found != space {
            return Err(TablespaceError::WrongSpace {
                path: path.into(),
                expected: space,
                found,
            });
        }
        let header = PageId {
            space,
            page: space_header::SPACE_HEADER_PAGE,
        };
        let pages = self.read_and_check(header, end_lsn, |page| space_header::SIZE.get(page))?;
        match pages <= tablespace.size() {
            true => Ok(()),
            false => Err(TablespaceError::CutShort {
                path: path.into(),
                length: tablespace.file().length()?,
                pages,
            }),
        }
    }

    /// Checks that a page is sound, and not newer than the end of the redo log.
    ///
    /// # Errors
    /// As [`Tablespace::read_page`] and [`Tablespace::check_lsn`]; or if its tablespace is
    /// not open.
    pub fn check_page(&self, page: PageId, end_lsn: Lsn) -> Result<(), TablespaceError> {
        self.read_and_check(page, end_lsn, |_| ())
    }

    fn read_and_check<T>(
        &self,
        page: PageId,
        end_lsn: Lsn,
        look: impl FnOnce(&PageBytes) -> T,
    ) -> Result<T, TablespaceError> {
        let Some(tablespace) = self.get(page.space) else {
            return Err(TablespaceError::NotOpen { space: page.space });
        };
        let mut buffer = page_buffer(tablespace.path(), offset(page.page.0))?;
        let frame = (&mut buffer[..]).try_into();
        let frame: &mut PageBytes = frame.expect("the buffer is a page long");
        tablespace.read_page(page.page, frame)?;
        tablespace.check_lsn(page.page, frame, end_lsn)?;
        Ok(look(frame))
    }

    fn register(
        &self,
        space: SpaceId,
        name: &str,
        file: File,
        size: u32,
    ) -> Result<Arc<Tablespace>, TablespaceError> {
        let tablespace = Arc::new(self.tablespace(space, name, file, size));
        self.open.write().insert(space, tablespace.clone());
        Ok(tablespace)
    }

    fn tablespace(&self, space: SpaceId, name: &str, file: File, size: u32) -> Tablespace {
        let settings = FlushSettings {
            growth_only: self.flush_method == FlushMethod::ODirectNoFsync,
            data_only: self.use_fdatasync,
        };
        Tablespace::new(space, name, file, size, self.unflushed.clone(), settings)
    }

    /// Whole pages of a file; a crash while it grew may have left a part of one.
    fn size_of(&self, file: &File, path: &Path) -> Result<u32, TablespaceError> {
        let pages = file.length()? / PAGE_SIZE as u64;
        if pages > PAGES_MAX {
            return Err(TablespaceError::TooLarge {
                path: path.into(),
                pages,
            });
        }
        Ok(pages as u32)
    }

    fn check_not_open(&self, space: SpaceId, path: &Path) -> Result<(), TablespaceError> {
        match self.get(space) {
            None => Ok(()),
            Some(tablespace) => Err(TablespaceError::AlreadyOpen {
                space,
                path: path.into(),
                open: tablespace.path().into(),
            }),
        }
    }

    /// Closes a tablespace. Its pages have left the buffer pool, and its writes are
    /// flushed, or are not wanted any more. False if it was not open.
    pub fn close(&self, space: SpaceId) -> bool {
        let _changing = self.changing.lock();
        let closed = self.open.write().remove(&space).is_some();
        self.unflushed.remove(space);
        closed
    }

    /// Flushes and closes all tablespaces.
    ///
    /// # Errors
    /// The first flush that failed; all are closed nevertheless.
    pub fn close_all(&self) -> Result<(), TablespaceError> {
        let result = self.flush_unflushed();
        let _changing = self.changing.lock();
        let closed = std::mem::take(&mut *self.open.write());
        for &space in closed.keys() {
            self.unflushed.remove(space);
        }
        result
    }

    // ---- use ------------------------------------------------------------------

    /// An open tablespace.
    pub fn get(&self, space: SpaceId) -> Option<Arc<Tablespace>> {
        self.open.read().get(&space).cloned()
    }

    /// All open tablespaces, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = Arc<Tablespace>> + use<> {
        let open: Vec<_> = self.open.read().values().cloned().collect();
        open.into_iter()
    }

    /// The number of open tablespaces.
    pub fn len(&self) -> usize {
        self.open.read().len()
    }

    /// Whether none is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes all writes durable that were noted in any tablespace: at the end of flush
    /// batches.
    ///
    /// # Errors
    /// The first flush that failed; the others are made nevertheless.
    pub fn flush_unflushed(&self) -> Result<(), TablespaceError> {
        match self.unflushed.waits_for_checkpoint() {
            true => Ok(()),
            false => self.flush_all_unflushed(),
        }
    }

    fn flush_all_unflushed(&self) -> Result<(), TablespaceError> {
        let mut result = Ok(());
        let mut last = None;
        while let Some(space) = self.unflushed.next_after(last) {
            if let Some(tablespace) = self.get(space) {
                result = result.and(tablespace.flush_now());
            }
            last = Some(space);
        }
        result
    }

    /// From now on files are flushed before a checkpoint only: for loading, where nothing
    /// has to be durable before the checkpoint that ends it.
    pub fn flush_at_checkpoints_only(&self) {
        self.unflushed.wait_for_checkpoint();
    }

    /// As [`flush_unflushed`](Self::flush_unflushed), before a checkpoint: the flush
    /// method `nosync` leaves this one out.
    ///
    /// # Errors
    /// As there.
    pub fn flush_for_checkpoint(&self) -> Result<(), TablespaceError> {
        match self.flush_method {
            FlushMethod::Nosync => Ok(()),
            _ => self.flush_all_unflushed(),
        }
    }
}

fn check_flags(path: &Path, flags: u32) -> Result<(), TablespaceError> {
    if flags == FLAGS_DYNAMIC_CRC32 {
        return Ok(());
    }
    let what = if flags == FLAGS_FULL_CRC32 {
        "a MariaDB file in the full_crc32 format, which can be inspected, not opened"
    } else if flags & !(1 << 14) == FLAGS_DYNAMIC_CRC32 {
        "a MySQL 8 file with serialized dictionary information (SDI)"
    } else {
        "another page size, row format, compression or encryption"
    };
    Err(TablespaceError::Flags {
        path: path.into(),
        flags,
        what,
    })
}

/// A buffer for a page that is read from here.
fn page_buffer(path: &Path, offset: u64) -> Result<AlignedBuffer, FileError> {
    let operation = Operation::Read {
        offset,
        length: PAGE_SIZE as u64,
    };
    AlignedBuffer::new(PAGE_SIZE).map_err(|source| FileError::Failed {
        path: path.into(),
        operation,
        source,
    })
}

/// Checks page 0 of a file; returns the tablespace's number.
fn read_header(file: &File, path: &Path) -> Result<SpaceId, TablespaceError> {
    let mut buffer = page_buffer(path, 0)?;
    file.read_at(&mut buffer, 0, WaitKind::Other)?;
    let page: &PageBytes = buffer[..].try_into().expect("the buffer is a page long");
    let flags = space_header::FLAGS.get(page);
    if fil::is_all_zero(page) {
        return Err(TablespaceError::NoHeader { path: path.into() });
    }
    // The flags first: a file of another format fails the checksum, too, but that is
    // not what its owner should hear. A damaged page hardly has the flags of one.
    if flags != FLAGS_DYNAMIC_CRC32 {
        let format = ChecksumFormat::from_space_flags(flags);
        if format.compute(page) == stored_checksum(page, format) {
            check_flags(path, flags)?;
        }
    }
    let expected = fil::SPACE_ID.get(page);
    let id = PageId {
        space: expected,
        page: space_header::SPACE_HEADER_PAGE,
    };
    fil::verify(page, id, ChecksumFormat::Crc32).map_err(|corruption| {
        TablespaceError::Corrupted {
            path: path.into(),
            corruption,
        }
    })?;
    check_flags(path, flags)?;
    let found = space_header::SPACE_ID.get(page);
    if found != expected {
        return Err(TablespaceError::WrongSpace {
            path: path.into(),
            expected,
            found,
        });
    }
    Ok(expected)
}

fn stored_checksum(page: &PageBytes, format: ChecksumFormat) -> u32 {
    match format {
        ChecksumFormat::Crc32 => fil::CHECKSUM.get(page),
        ChecksumFormat::FullCrc32 => fil::TRAILER_LSN.get(page),
    }
}
