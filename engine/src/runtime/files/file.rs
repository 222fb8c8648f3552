//! An open file: positioned reads and writes, sync, length.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::counters::Activity;
use super::directory::Shared;
use super::error::{FileError, Operation, failed};
use super::image::{IMAGE_BYTES, Image};
use super::kind::FileKind;
use super::real_file::RealFile;
use super::virtual_files::{Source, VirtualHandle, operations};
use crate::runtime::ambient;
use crate::runtime::tasks::now;
use crate::runtime::virtual_clock::Simulation;
use crate::runtime::wait_kind::WaitKind;

/// Direct I/O is done in multiples of this many bytes.
pub(super) const SECTOR: usize = 512;

/// Zeros are written in requests of at most this many bytes (InnoDB 8.4).
const MOST_ZEROS: usize = 1 << 20;

/// What real files are filled with. One for all, since memory fresh from the system has
/// no pages yet: a write from it stops at each, and the file system then clears what it
/// has set aside for the whole request, again and again.
static ZEROS: Zeros = Zeros([0; MOST_ZEROS]);

/// Aligned for direct I/O.
#[repr(align(4096))]
struct Zeros([u8; MOST_ZEROS]);

/// What is done about a file that exists, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Create {
    /// It is created; that it exists is an error.
    New,
    /// It is created, or emptied if it exists.
    OrTruncate,
    /// It is opened; that it does not exist is an error.
    Existing,
}

/// Which way the bytes take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoMode {
    /// Past the page cache (O_DIRECT): offsets and lengths in multiples of 512 bytes.
    Direct,
    /// Into the page cache; [`File::sync`] takes them to the device.
    Buffered,
    /// Into the page cache and on to the medium before the write returns (O_SYNC).
    BufferedSync,
}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Whether it may, must or must not exist.
    pub create: Create,
    /// Which way its bytes take.
    pub io: IoMode,
    /// What it is for.
    pub kind: FileKind,
}

#[derive(Debug)]
enum Handle {
    Real(RealFile),
    Virtual(VirtualHandle),
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    kind: FileKind,
    io: IoMode,
    handle: Handle,
    shared: Arc<Shared>,
}

/// An open file. Clones are the same open file. Dropping it does no I/O and syncs nothing.
///
/// `waiting_for` arguments say what the task's time budget books a wait under.
#[derive(Clone, Debug)]
pub struct File(Arc<Inner>);

impl File {
    pub(super) fn open(
        path: &Path,
        options: OpenOptions,
        shared: &Arc<Shared>,
    ) -> Result<Self, FileError> {
        let OpenOptions { create, io, kind } = options;
        let simulation = ambient::simulation();
        let opened = if simulation.is_null() {
            RealFile::open(path, create, io).map(|(file, refused)| {
                if let Some(reason) = refused {
                    shared.warn(format!(
                        "no direct I/O on {}: {reason}; its pages go through the page cache",
                        path.display()
                    ));
                }
                Handle::Real(file)
            })
        } else {
            // SAFETY: the current task calls; the borrow ends with the statement.
            unsafe {
                let paid = Simulation::pay_io_call(simulation);
                let files = (*simulation).files_mut();
                if paid {
                    files.open(path, create, kind).map(Handle::Virtual)
                } else {
                    Err(operations::interrupted())
                }
            }
        };
        Ok(File(Arc::new(Inner {
            path: path.into(),
            kind,
            io,
            handle: opened.map_err(failed(path, Operation::Open))?,
            shared: shared.clone(),
        })))
    }

    /// The path it was opened under.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// What it is for.
    pub fn kind(&self) -> FileKind {
        self.0.kind
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// [`FileError::ShortRead`] if the file ends before; [`FileError::Misaligned`];
    /// or the system's error.
    pub fn read_at(
        &self,
        buffer: &mut [u8],
        offset: u64,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        let expected = buffer.len() as u64;
        let operation = Operation::Read {
            offset,
            length: expected,
        };
        self.check_alignment(operation, offset, expected)?;
        let start = now();
        let result = match &self.0.handle {
            Handle::Real(file) => match file.read(buffer, offset) {
                Ok(found) if found < buffer.len() => return Err(self.short_read(offset, expected)),
                other => other.map(|_| ()),
            },
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                self.check_end(offset, expected)?;
                // SAFETY: the current task calls, and no reference into the simulation
                // is live.
                unsafe {
                    let mode = self.0.io;
                    operations::read(simulation, handle, mode, offset, buffer, waiting_for)
                }
            }
        };
        result.map_err(failed(&self.0.path, operation))?;
        self.count_wait(Activity::Read, start, expected, waiting_for);
        Ok(())
    }

    /// Writes bytes, and makes the file longer where they end behind its end. When this
    /// returns the bytes are in the device's cache, or in the page cache; they are
    /// durable after [`File::sync`].
    ///
    /// # Errors
    /// [`FileError::Misaligned`] or the system's error. If there is no room, what was in
    /// the file before is untouched.
    pub fn write_at(
        &self,
        bytes: &[u8],
        offset: u64,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        self.write(Source::Bytes(bytes), offset, waiting_for)
    }

    /// Writes a page; otherwise as [`File::write_at`]. Under the virtual clock the file
    /// shares the image from then on.
    pub fn write_image(
        &self,
        image: &Image,
        offset: u64,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        let images = std::slice::from_ref(image);
        self.write(Source::Images(images), offset, waiting_for)
    }

    /// Writes pages one behind the other, as one request; otherwise as
    /// [`File::write_image`]. (Under the real clock one for every 1024 of them, the most
    /// that the system takes.)
    pub fn write_images(
        &self,
        images: &[Image],
        offset: u64,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        self.write(Source::Images(images), offset, waiting_for)
    }

    fn write(
        &self,
        source: Source<'_>,
        offset: u64,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        let length = source.length();
        let operation = Operation::Write { offset, length };
        self.check_alignment(operation, offset, length)?;
        if length == 0 {
            return Ok(());
        }
        let start = now();
        let result = match &self.0.handle {
            Handle::Real(file) => match source {
                Source::Bytes(bytes) => file.write(bytes, offset),
                Source::Images(images) => file.write_images(images, offset),
                Source::Zeros(_) => file.write(&ZEROS.0[..length as usize], offset),
            },
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                // SAFETY: as in `read_at`.
                unsafe {
                    let mode = self.0.io;
                    operations::write(simulation, handle, mode, source, offset, waiting_for)
                }
            }
        };
        result.map_err(failed(&self.0.path, operation))?;
        self.count_wait(Activity::Write, start, length, waiting_for);
        Ok(())
    }

    /// Makes durable what was written before. `data_only` leaves out metadata that
    /// reading the data does not need (fdatasync). The virtual clock makes no
    /// difference: its metadata is always durable.
    ///
    /// # Errors
    /// The system's.
    pub fn sync(&self, data_only: bool, waiting_for: WaitKind) -> Result<(), FileError> {
        let start = now();
        let result = match &self.0.handle {
            Handle::Real(file) => file.sync(data_only),
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                // SAFETY: as in `read_at`.
                unsafe { operations::sync(simulation, handle, waiting_for) }
            }
        };
        result.map_err(failed(&self.0.path, Operation::Sync))?;
        self.count_wait(Activity::Sync, start, 0, waiting_for);
        Ok(())
    }

    /// The length in bytes.
    ///
    /// # Errors
    /// The system's.
    pub fn length(&self) -> Result<u64, FileError> {
        match &self.0.handle {
            Handle::Real(file) => file
                .length()
                .map_err(failed(&self.0.path, Operation::Length)),
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                // SAFETY: the borrow ends with the statement.
                Ok(unsafe { (*simulation).files_mut() }.length(handle))
            }
        }
    }

    /// Cuts the file off, or adds a hole, which reads as zeros and has no space on the
    /// device yet.
    ///
    /// # Errors
    /// The system's.
    pub fn set_length(&self, length: u64) -> Result<(), FileError> {
        let result = match &self.0.handle {
            Handle::Real(file) => file.set_length(length),
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                // SAFETY: as in `read_at`.
                unsafe { operations::set_length(simulation, handle, length) }
            }
        };
        result.map_err(failed(&self.0.path, Operation::SetLength { length }))
    }

    /// Makes the file at least `length` bytes long by writing zeros, 1 MiB at a time; or
    /// by a hole, if its [`FileSystem`](super::FileSystem) is one of sparse files.
    ///
    /// # Errors
    /// As [`File::write_at`]; the file is then as long as it was.
    pub fn extend(&self, length: u64, waiting_for: WaitKind) -> Result<(), FileError> {
        let before = self.length()?;
        if self.0.shared.sparse && before < length {
            return self.set_length(length);
        }
        let most = MOST_ZEROS as u64;
        let mut at = before;
        while at < length {
            // The first request ends at a multiple, so that the others begin at one.
            let end = ((at / most + 1) * most).min(length);
            if let Err(error) = self.write(Source::Zeros(end - at), at, waiting_for) {
                return Err(self.take_back(before, error));
            }
            at = end;
        }
        Ok(())
    }

    /// Makes the file at least `length` bytes long by reserving space on the device
    /// without writing it; it reads as zeros.
    ///
    /// # Errors
    /// As [`File::extend`].
    pub fn allocate(&self, length: u64) -> Result<(), FileError> {
        let before = self.length()?;
        if length <= before {
            return Ok(());
        }
        match &self.0.handle {
            // Files of the virtual machine have space for all their length.
            Handle::Virtual(_) => self.set_length(length),
            Handle::Real(file) => match file.allocate(length) {
                // Not every file system can reserve: InnoDB writes zeros there, too.
                Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
                    self.extend(length, WaitKind::Other)
                }
                allocated => {
                    let operation = Operation::SetLength { length };
                    let allocated = allocated.map_err(failed(&self.0.path, operation));
                    allocated.map_err(|error| self.take_back(before, error))
                }
            },
        }
    }

    /// Growing has failed: gives back what it got. That this fails as well changes
    /// nothing about the error, or about the bytes that were there.
    fn take_back(&self, length: u64, error: FileError) -> FileError {
        let _ = self.set_length(length);
        error
    }

    // ---- for asynchronous I/O -----------------------------------------------------

    pub(super) fn io(&self) -> IoMode {
        self.0.io
    }

    /// The handle under the virtual clock.
    pub(super) fn virtual_handle(&self) -> Option<&VirtualHandle> {
        match &self.0.handle {
            Handle::Real(_) => None,
            Handle::Virtual(handle) => Some(handle),
        }
    }

    pub(super) fn check_page_alignment(&self, operation: Operation) -> Result<(), FileError> {
        match operation {
            Operation::Read { offset, .. } | Operation::Write { offset, .. }
                if offset.is_multiple_of(IMAGE_BYTES as u64) =>
            {
                Ok(())
            }
            _ => Err(FileError::Misaligned {
                path: self.0.path.clone(),
                operation,
            }),
        }
    }

    /// Counts an operation that has ended.
    pub(super) fn count(&self, activity: Activity, start: u64, bytes: u64) {
        let counters = &self.0.shared.counters;
        counters.count(self.0.kind, activity, now() - start, bytes);
    }

    /// As [`count`](Self::count) for an operation that the current task has waited for.
    /// Under the real clock the whole call counts as a wait: the kernel's small share of
    /// CPU in it cannot be told from the rest.
    fn count_wait(&self, activity: Activity, start: u64, bytes: u64, waiting_for: WaitKind) {
        self.count(activity, start, bytes);
        if let Some(task) = ambient::real_task() {
            task.waited(waiting_for, now() - start);
        }
    }

    /// The error if a range ends behind the file's end.
    pub(super) fn check_end(&self, offset: u64, expected: u64) -> Result<(), FileError> {
        if offset.saturating_add(expected) <= self.length()? {
            Ok(())
        } else {
            Err(self.short_read(offset, expected))
        }
    }

    fn short_read(&self, offset: u64, expected: u64) -> FileError {
        let length = self.length().unwrap_or(offset);
        FileError::ShortRead {
            path: self.0.path.clone(),
            offset,
            expected,
            found: length.saturating_sub(offset).min(expected),
        }
    }

    /// Reads without counting: the handler's part of an asynchronous request.
    pub(super) fn read_uncounted(&self, buffer: &mut [u8], offset: u64) -> Result<(), FileError> {
        let expected = buffer.len() as u64;
        let operation = Operation::Read {
            offset,
            length: expected,
        };
        let result = match &self.0.handle {
            Handle::Real(file) => match file.read(buffer, offset) {
                Ok(found) if found < buffer.len() => return Err(self.short_read(offset, expected)),
                other => other.map(|_| ()),
            },
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                // SAFETY: as in `read_at`.
                unsafe { operations::copy(simulation, handle, offset, buffer) }
            }
        };
        result.map_err(failed(&self.0.path, operation))
    }

    /// Reads and waits, without counting: the work of a handler that reads itself.
    pub(super) fn read_by_handler(&self, buffer: &mut [u8], offset: u64) -> Result<(), FileError> {
        let Handle::Virtual(handle) = &self.0.handle else {
            return self.read_uncounted(buffer, offset);
        };
        let length = buffer.len() as u64;
        self.check_end(offset, length)?;
        let simulation = self.simulation(handle);
        // SAFETY: as in `read_at`.
        let result = unsafe {
            operations::read(
                simulation,
                handle,
                self.0.io,
                offset,
                buffer,
                WaitKind::Other,
            )
        };
        result.map_err(failed(&self.0.path, Operation::Read { offset, length }))
    }

    /// Writes and waits, without counting: the work of a handler that writes itself.
    pub(super) fn write_by_handler(&self, image: &Image, offset: u64) -> Result<(), FileError> {
        let length = IMAGE_BYTES as u64;
        let result = match &self.0.handle {
            Handle::Real(file) => file.write(&**image, offset),
            Handle::Virtual(handle) => {
                let simulation = self.simulation(handle);
                let source = Source::Images(std::slice::from_ref(image));
                // SAFETY: as in `read_at`.
                unsafe {
                    operations::write(
                        simulation,
                        handle,
                        self.0.io,
                        source,
                        offset,
                        WaitKind::Other,
                    )
                }
            }
        };
        result.map_err(failed(&self.0.path, Operation::Write { offset, length }))
    }

    // ---- helpers ------------------------------------------------------------------

    fn check_alignment(
        &self,
        operation: Operation,
        offset: u64,
        length: u64,
    ) -> Result<(), FileError> {
        let sector = SECTOR as u64;
        if self.0.io == IoMode::Direct
            && !(offset.is_multiple_of(sector) && length.is_multiple_of(sector))
        {
            return Err(FileError::Misaligned {
                path: self.0.path.clone(),
                operation,
            });
        }
        Ok(())
    }

    /// The simulation that a virtual file belongs to.
    fn simulation(&self, handle: &VirtualHandle) -> *mut Simulation {
        let simulation = ambient::simulation();
        assert!(
            !simulation.is_null(),
            "{}: a virtual file is used outside of its simulation",
            self.0.path.display()
        );
        // SAFETY: the borrow ends with the statement.
        unsafe { (*simulation).files_mut().check(handle) };
        simulation
    }
}
