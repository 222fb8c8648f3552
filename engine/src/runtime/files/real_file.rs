//! An ordinary file, with positioned I/O: what a file is under the real clock.
//!
//! Direct I/O is asked for after opening, as InnoDB does: a file system that refuses
//! (some, in memory) leaves an ordinary buffered file and a warning. It needs memory
//! aligned to sectors; a caller's buffer that is not goes through one that is.

use std::fs;
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, OFlags};

use super::file::{Create, IoMode, SECTOR};
use super::image::Image;
use super::memory::AlignedBuffer;

/// Most vectors that one request can have (Linux's UIO_MAXIOV).
const MOST_VECTORS: usize = 1024;

#[derive(Debug)]
pub(super) struct RealFile {
    file: fs::File,
    direct: bool,
}

impl RealFile {
    /// Opens a file. The second value is why direct I/O was refused, if it was.
    pub(super) fn open(
        path: &Path,
        create: Create,
        io: IoMode,
    ) -> io::Result<(Self, Option<io::Error>)> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true);
        match create {
            Create::New => options.create_new(true),
            Create::OrTruncate => options.create(true).truncate(true),
            Create::Existing => &mut options,
        };
        if io == IoMode::BufferedSync {
            options.custom_flags(libc::O_SYNC);
        }
        let file = options.open(path)?;
        let refused = match io {
            IoMode::Direct => set_direct(&file).err(),
            _ => None,
        };
        let direct = io == IoMode::Direct && refused.is_none();
        Ok((RealFile { file, direct }, refused))
    }

    /// Reads; returns how many bytes there were, fewer only at the end of the file.
    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if self.direct && !is_aligned(buffer.as_ptr()) {
            let mut aligned = AlignedBuffer::new(buffer.len())?;
            let found = self.read_fully(&mut aligned, offset)?;
            buffer[..found].copy_from_slice(&aligned[..found]);
            return Ok(found);
        }
        self.read_fully(buffer, offset)
    }

    fn read_fully(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => {
                    done += count;
                    // A direct read that ends within a sector has met the end of the
                    // file, and cannot be continued from there.
                    if self.direct && !done.is_multiple_of(SECTOR) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if self.direct && !is_aligned(bytes.as_ptr()) {
            let mut aligned = AlignedBuffer::new(bytes.len())?;
            aligned.copy_from_slice(bytes);
            return self.file.write_all_at(&aligned, offset);
        }
        self.file.write_all_at(bytes, offset)
    }

    /// Writes images one behind the other.
    pub(super) fn write_images(&self, images: &[Image], offset: u64) -> io::Result<()> {
        if let [image] = images {
            return self.write(&**image, offset);
        }
        let mut offset = offset;
        for images in images.chunks(MOST_VECTORS) {
            let mut vectors: Vec<IoSlice<'_>> =
                images.iter().map(|image| IoSlice::new(&**image)).collect();
            let mut left = vectors.as_mut_slice();
            while !left.is_empty() {
                match rustix::io::pwritev(&self.file, left, offset) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => {
                        IoSlice::advance_slices(&mut left, count);
                        offset += count as u64;
                    }
                    Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    pub(super) fn sync(&self, data_only: bool) -> io::Result<()> {
        if data_only {
            self.file.sync_data()
        } else {
            self.file.sync_all()
        }
    }

    pub(super) fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub(super) fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    /// Makes the file at least so long, its new part backed by space of the device.
    pub(super) fn allocate(&self, length: u64) -> io::Result<()> {
        let before = self.length()?;
        if length > before {
            let added = length - before;
            rustix::fs::fallocate(&self.file, FallocateFlags::empty(), before, added)?;
        }
        Ok(())
    }
}

fn set_direct(file: &fs::File) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(file)?;
    rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT)?;
    Ok(())
}

fn is_aligned(pointer: *const u8) -> bool {
    (pointer as usize).is_multiple_of(SECTOR)
}
