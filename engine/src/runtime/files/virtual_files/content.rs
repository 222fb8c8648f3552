//! The bytes of one virtual file, as its device has been given them.
//!
//! ```text
//!   page table   | zero | base | image 17 | image 4 | base | …    one entry for 16 KiB
//!                          |         |
//!                 host file,         the table of images
//!                 only read
//! ```
//!
//! Every change says what it put out of place, so that a power failure can undo it:
//! see [`volatile`](super::volatile). What a buffered file has in the operating
//! system's page cache, and not on the device yet, is in [`page_cache`](super::page_cache).

use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use super::image_store::{ImageStore, PageRef};
use super::volatile::Old;
use crate::runtime::files::error::{FileError, Operation, failed};
use crate::runtime::files::image::{IMAGE_BYTES, Image};

/// A host file under a virtual one.
pub(super) struct Base {
    /// Open for reading: its bytes stay when its name goes.
    pub(super) file: fs::File,
    /// Its bytes when it was mounted.
    pub(super) length: u64,
    /// Where the host has it.
    pub(super) host_path: PathBuf,
    /// Device and inode of the host: whether a path still leads to this file.
    pub(super) identity: (u64, u64),
}

impl Base {
    /// Copies a part of a page.
    ///
    /// # Errors
    /// If the host cannot read it, or the file has become shorter.
    pub(super) fn read_page(
        &self,
        number: u32,
        offset: usize,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let start = u64::from(number) * IMAGE_BYTES as u64;
        self.read(start + offset as u64, buffer)
    }

    /// Copies bytes; zeros behind the end.
    ///
    /// # Errors
    /// If the host cannot read them, or the file has become shorter.
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let left = self.length.saturating_sub(offset);
        let length = (buffer.len() as u64).min(left) as usize;
        let (bytes, behind) = buffer.split_at_mut(length);
        behind.fill(0);
        let mut found = 0;
        while found < length {
            match self
                .file
                .read_at(&mut bytes[found..], offset + found as u64)
            {
                Ok(0) => {
                    let error = FileError::ShortRead {
                        path: self.host_path.clone(),
                        offset,
                        expected: length as u64,
                        found: found as u64,
                    };
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error));
                }
                Ok(more) => found += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let operation = Operation::Read {
                        offset,
                        length: length as u64,
                    };
                    let kind = error.kind();
                    let error = failed(&self.host_path, operation)(error);
                    return Err(io::Error::new(kind, error));
                }
            }
        }
        Ok(())
    }
}

/// What a write brings.
#[derive(Clone, Copy)]
pub(in crate::runtime::files) enum Source<'a> {
    /// Bytes, which are copied.
    Bytes(&'a [u8]),
    /// Page images, which are shared where they cover a page of the file.
    Images(&'a [Image]),
    /// So many zeros.
    Zeros(u64),
}

impl Source<'_> {
    pub(in crate::runtime::files) fn length(&self) -> u64 {
        match self {
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::Images(images) => (images.len() * IMAGE_BYTES) as u64,
            Source::Zeros(length) => *length,
        }
    }

    /// Copies the part from `position` on.
    pub(super) fn copy(&self, mut position: usize, mut buffer: &mut [u8]) {
        match self {
            Source::Bytes(bytes) => {
                buffer.copy_from_slice(&bytes[position..position + buffer.len()]);
            }
            Source::Images(images) => {
                while !buffer.is_empty() {
                    let within = position % IMAGE_BYTES;
                    let length = buffer.len().min(IMAGE_BYTES - within);
                    let (now, rest) = buffer.split_at_mut(length);
                    now.copy_from_slice(&images[position / IMAGE_BYTES][within..within + length]);
                    position += length;
                    buffer = rest;
                }
            }
            Source::Zeros(_) => buffer.fill(0),
        }
    }

    /// A page with the 16 KiB from `position` on.
    #[inline]
    pub(super) fn page(&self, position: usize, store: &mut ImageStore) -> PageRef {
        match self {
            Source::Images(images) if position.is_multiple_of(IMAGE_BYTES) => {
                store.share(&images[position / IMAGE_BYTES])
            }
            Source::Zeros(_) => PageRef::ZERO,
            _ => store.filled(|bytes| self.copy(position, bytes)),
        }
    }
}

/// A part of a page within a range of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) page: u32,
    /// First byte within the page, and length.
    pub(super) offset: usize,
    pub(super) length: usize,
    /// First byte within the range.
    pub(super) position: usize,
}

impl Part {
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        self.length == IMAGE_BYTES
    }
}

/// Cuts a range of the file at page boundaries.
pub(super) fn parts(offset: u64, length: u64) -> impl Iterator<Item = Part> {
    let end = offset + length;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at == end {
            return None;
        }
        let within = (at % IMAGE_BYTES as u64) as usize;
        let length = ((end - at) as usize).min(IMAGE_BYTES - within);
        let part = Part {
            page: (at / IMAGE_BYTES as u64) as u32,
            offset: within,
            length,
            position: (at - offset) as usize,
        };
        at += length as u64;
        Some(part)
    })
}

/// Pages that so many bytes need.
pub(super) fn pages(length: u64) -> usize {
    length.div_ceil(IMAGE_BYTES as u64) as usize
}

/// The content of a file on its device.
#[derive(Default)]
pub(super) struct Content {
    pages: Vec<PageRef>,
    pub(super) base: Option<Arc<Base>>,
}

impl Content {
    /// The content of a base.
    pub(super) fn of_base(base: Base) -> Self {
        Content {
            pages: vec![PageRef::BASE; pages(base.length)],
            base: Some(Arc::new(base)),
        }
    }

    pub(super) fn page(&self, number: u32) -> PageRef {
        self.pages[number as usize]
    }

    /// Copies a part of a page.
    ///
    /// # Errors
    /// If the host cannot read back what it was given.
    pub(super) fn read(
        &self,
        number: u32,
        offset: usize,
        buffer: &mut [u8],
        store: &ImageStore,
    ) -> io::Result<()> {
        self.read_as(self.page(number), number, offset, buffer, store)
    }

    /// Copies a part of what the page `number` was when it had this content.
    pub(super) fn read_as(
        &self,
        page: PageRef,
        number: u32,
        offset: usize,
        buffer: &mut [u8],
        store: &ImageStore,
    ) -> io::Result<()> {
        match page {
            PageRef::ZERO => buffer.fill(0),
            PageRef::BASE => read_base(self.base.as_deref(), number, offset, buffer)?,
            image => store.read(image, offset, buffer)?,
        }
        Ok(())
    }

    /// Gives a page another content; returns the one before, with its reference.
    #[inline]
    pub(super) fn replace(&mut self, number: u32, page: PageRef) -> PageRef {
        std::mem::replace(&mut self.pages[number as usize], page)
    }

    /// Changes the bytes of a page.
    pub(super) fn change<R>(
        &mut self,
        number: u32,
        store: &mut ImageStore,
        change: impl FnOnce(&mut [u8; IMAGE_BYTES]) -> R,
    ) -> io::Result<R> {
        let base = self.base.as_deref();
        let page = &mut self.pages[number as usize];
        let is_base = *page == PageRef::BASE;
        let fill = |bytes: &mut [u8; IMAGE_BYTES]| {
            if is_base {
                read_base(base, number, 0, bytes)
            } else {
                bytes.fill(0);
                Ok(())
            }
        };
        store.change(page, fill, change)
    }

    /// Writes a part of a page; returns what was there.
    #[inline]
    pub(super) fn write(
        &mut self,
        part: Part,
        source: Source<'_>,
        store: &mut ImageStore,
    ) -> io::Result<Old> {
        if part.is_whole() {
            let page = source.page(part.position, store);
            if let Some(base) = &self.base {
                store.resembles(page, base, part.page);
            }
            return Ok(Old::Page(self.replace(part.page, page)));
        }
        let range = part.offset..part.offset + part.length;
        self.change(part.page, store, |bytes| {
            let old = Box::from(&bytes[range.clone()]);
            source.copy(part.position, &mut bytes[range]);
            Old::Bytes(old)
        })
    }

    /// Makes room for so many bytes; what is new is zero.
    pub(super) fn grow(&mut self, length: u64) {
        self.pages.resize(pages(length), PageRef::ZERO);
    }

    /// Cuts off what lies behind so many bytes; the rest of the last page becomes zero.
    pub(super) fn shrink(&mut self, length: u64, store: &mut ImageStore) -> io::Result<()> {
        for page in self.pages.drain(pages(length)..) {
            store.release(page);
        }
        let within = (length % IMAGE_BYTES as u64) as usize;
        if within > 0 {
            let last = (length / IMAGE_BYTES as u64) as u32;
            if self.page(last) != PageRef::ZERO {
                self.change(last, store, |bytes| bytes[within..].fill(0))?;
            }
        }
        Ok(())
    }
}

fn read_base(base: Option<&Base>, number: u32, offset: usize, buffer: &mut [u8]) -> io::Result<()> {
    let base = base.expect("a page of the base");
    base.read_page(number, offset, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::files::image::ImagePool;

    #[test]
    fn a_range_is_cut_at_pages() {
        let part = |page, offset, length, position| Part {
            page,
            offset,
            length,
            position,
        };
        let cut = |offset, length| parts(offset, length).collect::<Vec<_>>();
        assert_eq!(cut(512, 0), []);
        assert_eq!(cut(512, 512), [part(0, 512, 512, 0)]);
        assert_eq!(
            cut(16_384 - 512, 16_384 + 1024),
            [
                part(0, 15_872, 512, 0),
                part(1, 0, 16_384, 512),
                part(2, 0, 512, 16_896)
            ]
        );
    }

    #[test]
    fn images_are_read_across_their_boundaries() {
        let pool = ImagePool::new();
        let images = [pool.image(&[1; IMAGE_BYTES]), pool.image(&[2; IMAGE_BYTES])];
        let mut buffer = [0; 4];
        Source::Images(&images).copy(IMAGE_BYTES - 2, &mut buffer);
        assert_eq!(buffer, [1, 1, 2, 2]);
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let page = Source::Images(&images).page(512, &mut store);
        store.read(page, IMAGE_BYTES - 514, &mut buffer).unwrap();
        assert_eq!(buffer, [1, 1, 2, 2]);
    }

    #[test]
    fn a_write_says_what_it_put_out_of_place() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut content = Content::default();
        content.grow(2 * IMAGE_BYTES as u64);
        let ones = [1; IMAGE_BYTES];
        let whole = parts(IMAGE_BYTES as u64, IMAGE_BYTES as u64)
            .next()
            .unwrap();
        let old = content
            .write(whole, Source::Bytes(&ones), &mut store)
            .unwrap();
        assert!(matches!(old, Old::Page(PageRef::ZERO)));
        let part = parts(IMAGE_BYTES as u64 + 512, 512).next().unwrap();
        let old = content.write(part, Source::Zeros(512), &mut store).unwrap();
        assert!(matches!(old, Old::Bytes(bytes) if *bytes == [1; 512]));
        let mut buffer = [9; 1536];
        content.read(1, 0, &mut buffer, &store).unwrap();
        assert_eq!(buffer[511..513], [1, 0]);
        assert_eq!(buffer[1023..1025], [0, 1]);
        content
            .shrink(IMAGE_BYTES as u64 + 100, &mut store)
            .unwrap();
        content.grow(2 * IMAGE_BYTES as u64);
        content.read(1, 0, &mut buffer, &store).unwrap();
        assert_eq!(buffer[99..101], [1, 0]);
        assert_eq!(buffer[1500], 0);
    }
}
