//! Page images: 16 KiB that several owners share and nobody copies.
//!
//! A page on its way out of the buffer pool is copied once, into an image. The
//! doublewrite slot and the data file then hold references to that one image, under
//! the virtual clock for as long as both files have that content:
//!
//! ```text
//!   frame --copy--> image <--- doublewrite slot 17        (file: a table of references)
//!                     ^------- t1.ibd, page 4711
//! ```
//!
//! Images come from a pool of anonymous memory maps, so that they are aligned for
//! direct I/O and cost a pop and a push. The pool grows by 4 MiB at a time and never
//! shrinks; it lives until its last image is gone.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

use memmap2::MmapMut;
use parking_lot::Mutex;

/// Bytes of an image: InnoDB's page size.
pub const IMAGE_BYTES: usize = 16 * 1024;

/// Images a chunk of the pool has.
const CHUNK_IMAGES: usize = 256;

struct Header {
    references: AtomicUsize,
    /// Where a table of images keeps this one: see `ImageStore`.
    mark: AtomicU64,
    bytes: NonNull<[u8; IMAGE_BYTES]>,
    pool: *const Pool,
}

struct Chunk {
    /// Held for the images' bytes, which the headers point to.
    _memory: MmapMut,
    _headers: Box<[Header]>,
}

#[derive(Default)]
struct Free {
    headers: Vec<NonNull<Header>>,
    chunks: Vec<Chunk>,
}

struct Pool {
    free: Mutex<Free>,
}

// SAFETY: the pointers in `Free` lead to headers and bytes that the pool owns, and
// whoever has taken one out of the list is its only user until it is put back.
unsafe impl Send for Pool {}
// SAFETY: as above; the list is behind a mutex.
unsafe impl Sync for Pool {}

/// Where images come from. Clones share one pool.
#[derive(Clone)]
pub struct ImagePool(Arc<Pool>);

impl std::fmt::Debug for ImagePool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let free = self.0.free.lock();
        let all = free.chunks.len() * CHUNK_IMAGES;
        write!(f, "ImagePool({} of {all} free)", free.headers.len())
    }
}

impl Default for ImagePool {
    fn default() -> Self {
        Self::new()
    }
}

impl ImagePool {
    /// An empty pool.
    pub fn new() -> Self {
        ImagePool(Arc::new(Pool {
            free: Mutex::new(Free::default()),
        }))
    }

    /// An image with these bytes.
    ///
    /// # Panics
    /// If the operating system has no memory.
    pub fn image(&self, bytes: &[u8; IMAGE_BYTES]) -> Image {
        self.filled(|image| image.copy_from_slice(bytes))
    }

    /// An image of zeros.
    ///
    /// # Panics
    /// As [`ImagePool::image`].
    pub fn zeroed(&self) -> Image {
        self.filled(|image| image.fill(0))
    }

    /// An image whose bytes `fill` writes. What it does not write has the bytes of an
    /// earlier image, so it has to write all of them.
    pub(super) fn filled(&self, fill: impl FnOnce(&mut [u8; IMAGE_BYTES])) -> Image {
        let mut image = self.take();
        // SAFETY: a fresh image has one reference, this one.
        fill(unsafe { image.bytes_mut() });
        image
    }

    /// An image that still has the bytes of its last use: the caller overwrites them all.
    fn take(&self) -> Image {
        let header = {
            let mut free = self.0.free.lock();
            if free.headers.is_empty() {
                self.grow(&mut free);
            }
            free.headers.pop().expect("a pool that grew has images")
        };
        // SAFETY: the header is owned by the pool, which the reference taken here
        // keeps alive; nobody else uses it since it was on the free list.
        unsafe {
            Arc::increment_strong_count(header.as_ref().pool);
            header.as_ref().references.store(1, Ordering::Relaxed);
            header.as_ref().mark.store(0, Ordering::Relaxed);
        }
        Image(header)
    }

    #[cold]
    fn grow(&self, free: &mut Free) {
        let mut memory = MmapMut::map_anon(CHUNK_IMAGES * IMAGE_BYTES)
            .expect("the operating system has no memory for page images");
        let headers: Box<[Header]> = memory
            .chunks_exact_mut(IMAGE_BYTES)
            .map(|bytes| Header {
                references: AtomicUsize::new(0),
                mark: AtomicU64::new(0),
                bytes: NonNull::from(bytes).cast(),
                pool: Arc::as_ptr(&self.0),
            })
            .collect();
        // The lowest address is handed out first.
        free.headers.extend(headers.iter().rev().map(NonNull::from));
        free.chunks.push(Chunk {
            _memory: memory,
            _headers: headers,
        });
    }
}

/// A page image of 16 KiB, aligned to 4 KiB. A clone is another reference to the same
/// bytes, which do not change while there are two.
pub struct Image(NonNull<Header>);

// SAFETY: an image is an atomically counted reference to bytes that are written only
// through a sole reference.
unsafe impl Send for Image {}
// SAFETY: as above.
unsafe impl Sync for Image {}

impl Image {
    fn header(&self) -> &Header {
        // SAFETY: a reference keeps its header, through the pool, alive.
        unsafe { self.0.as_ref() }
    }

    /// The bytes to write on, if this is the only reference.
    pub fn get_mut(&mut self) -> Option<&mut [u8; IMAGE_BYTES]> {
        if self.header().references.load(Ordering::Acquire) == 1 {
            // SAFETY: the count is 1, and `self` is borrowed exclusively.
            Some(unsafe { self.bytes_mut() })
        } else {
            None
        }
    }

    /// The bytes to write on: of this image if it is the only reference, else of a copy
    /// that takes its place.
    pub fn make_mut(&mut self) -> &mut [u8; IMAGE_BYTES] {
        if self.get_mut().is_none() {
            // SAFETY: the image's reference keeps its pool alive.
            let pool = unsafe {
                Arc::increment_strong_count(self.header().pool);
                ImagePool(Arc::from_raw(self.header().pool))
            };
            *self = pool.image(self);
        }
        // SAFETY: now the only reference.
        unsafe { self.bytes_mut() }
    }

    /// # Safety
    /// No other reference to the image exists.
    unsafe fn bytes_mut(&mut self) -> &mut [u8; IMAGE_BYTES] {
        // SAFETY: by the caller's promise; the pool's memory outlives the image.
        unsafe { self.header().bytes.as_ptr().as_mut().expect("not null") }
    }

    /// Whether both are references to one image.
    pub fn is_same(&self, other: &Image) -> bool {
        self.0 == other.0
    }

    /// The mark that a table of images has left.
    pub(super) fn mark(&self) -> u64 {
        self.header().mark.load(Ordering::Relaxed)
    }

    pub(super) fn set_mark(&self, mark: u64) {
        self.header().mark.store(mark, Ordering::Relaxed);
    }
}

impl Clone for Image {
    fn clone(&self) -> Self {
        // Relaxed: the clone is made from a reference that already sees the bytes.
        self.header().references.fetch_add(1, Ordering::Relaxed);
        Image(self.0)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if self.header().references.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // What others read of the bytes comes before what the next user writes.
        fence(Ordering::Acquire);
        let pool = self.header().pool;
        // SAFETY: the image holds a count of its pool until the second call gives it
        // back; nobody else refers to the header any more.
        unsafe {
            (*pool).free.lock().headers.push(self.0);
            Arc::decrement_strong_count(pool);
        }
    }
}

impl Deref for Image {
    type Target = [u8; IMAGE_BYTES];

    fn deref(&self) -> &Self::Target {
        // SAFETY: while this reference exists nobody writes: `get_mut` needs the count
        // to be 1 and the image to be borrowed exclusively.
        unsafe { self.header().bytes.as_ref() }
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Image(16 KiB)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_shares_the_bytes_until_one_side_writes() {
        let pool = ImagePool::new();
        let mut first = pool.image(&[7; IMAGE_BYTES]);
        assert!(first.get_mut().is_some());
        let second = first.clone();
        assert!(second.is_same(&first) && first.get_mut().is_none());
        first.make_mut()[0] = 8;
        assert!(!second.is_same(&first));
        assert_eq!((first[0], first[1], second[0]), (8, 7, 7));
    }

    #[test]
    fn images_are_aligned_reused_and_outlive_their_pool() {
        let pool = ImagePool::new();
        let images: Vec<_> = (0..CHUNK_IMAGES + 1).map(|_| pool.zeroed()).collect();
        for image in &images {
            assert_eq!(image.as_ptr() as usize % 4096, 0);
        }
        drop(images);
        assert_eq!(format!("{pool:?}"), "ImagePool(512 of 512 free)");
        let image = pool.image(&[1; IMAGE_BYTES]);
        drop(pool);
        assert!(image.iter().all(|&byte| byte == 1));
    }

    #[test]
    fn threads_share_and_return_images() {
        let pool = ImagePool::new();
        std::thread::scope(|scope| {
            for number in 0..4u8 {
                let pool = &pool;
                scope.spawn(move || {
                    for _ in 0..500 {
                        let image = pool.image(&[number; IMAGE_BYTES]);
                        let other = image.clone();
                        drop(image);
                        assert!(other.iter().all(|&byte| byte == number));
                    }
                });
            }
        });
        let free = pool.0.free.lock();
        assert_eq!(free.headers.len(), free.chunks.len() * CHUNK_IMAGES);
    }
}
