//! Memory that direct I/O can use: aligned buffers, and the arena of the buffer pool's
//! frames. Both are anonymous maps, so they are zero at first and take no physical
//! memory until touched.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use memmap2::{Advice, MmapMut, MmapOptions};

use super::image::IMAGE_BYTES;

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// A buffer aligned to 4 KiB, at first all zeros.
#[derive(Debug)]
pub struct AlignedBuffer {
    memory: MmapMut,
    length: usize,
}

impl AlignedBuffer {
    /// A buffer of so many bytes.
    ///
    /// # Errors
    /// If the operating system has no memory for it.
    pub fn new(length: usize) -> io::Result<Self> {
        Ok(AlignedBuffer {
            memory: MmapMut::map_anon(length.max(1))?,
            length,
        })
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[..self.length]
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.length]
    }
}

/// Frames of 16 KiB in one mapping, each aligned to 16 KiB: the memory of a buffer pool.
///
/// The arena hands out addresses; who may touch a frame when is the business of the
/// page latches above it.
#[derive(Debug)]
pub struct FrameArena {
    /// Held for its memory, which is reached through `first`.
    _memory: MmapMut,
    first: NonNull<u8>,
    frames: usize,
    huge_pages: bool,
}

// SAFETY: the arena itself is an address and a count; access to the frames is through
// raw pointers, whose users have to agree.
unsafe impl Send for FrameArena {}
// SAFETY: as above.
unsafe impl Sync for FrameArena {}

impl FrameArena {
    /// An arena of so many frames, of zeros. With `huge_pages` the kernel is asked to
    /// back it with 2 MiB pages (transparent huge pages); that it declines is no error,
    /// see [`FrameArena::asked_for_huge_pages`].
    ///
    /// # Errors
    /// If the operating system has no address space for it.
    pub fn new(frames: usize, huge_pages: bool) -> io::Result<Self> {
        let alignment = if huge_pages {
            HUGE_PAGE_BYTES
        } else {
            IMAGE_BYTES
        };
        let bytes = frames
            .checked_mul(IMAGE_BYTES)
            .and_then(|bytes| bytes.checked_add(alignment))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        // Without a claim on memory for all of it: Linux joins the maps of neighbouring
        // instances into one, and would refuse to fork a process with a map that is larger
        // than the host's memory, however little of it has been touched.
        let mut memory = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
        let advised = huge_pages && memory.advise(Advice::HugePage).is_ok();
        let skip = memory.as_ptr().align_offset(alignment);
        let first = NonNull::from(&mut memory[skip..]).cast();
        Ok(FrameArena {
            _memory: memory,
            first,
            frames,
            huge_pages: advised,
        })
    }

    /// The number of frames.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Whether the kernel has accepted the advice to use huge pages.
    pub fn asked_for_huge_pages(&self) -> bool {
        self.huge_pages
    }

    /// The address of a frame, valid as long as the arena.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn frame(&self, index: usize) -> NonNull<[u8; IMAGE_BYTES]> {
        assert!(index < self.frames, "frame {index} of {}", self.frames);
        // SAFETY: the offset lies within the mapping.
        unsafe { self.first.add(index * IMAGE_BYTES).cast() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_aligned_apart_and_zero() {
        for huge_pages in [false, true] {
            let arena = FrameArena::new(5, huge_pages).unwrap();
            for index in 0..5 {
                let frame = arena.frame(index);
                assert_eq!(frame.as_ptr() as usize % IMAGE_BYTES, 0);
                // SAFETY: nobody else uses the frame.
                let bytes = unsafe { &mut *frame.as_ptr() };
                assert!(bytes.iter().all(|&byte| byte == 0));
                bytes.fill(index as u8 + 1);
            }
            // SAFETY: as above.
            let last = unsafe { *arena.frame(4).as_ptr() };
            assert_eq!(last, [5; IMAGE_BYTES]);
        }
        assert!(FrameArena::new(usize::MAX / 2, false).is_err());
    }

    #[test]
    fn a_buffer_has_its_length_and_alignment() {
        let mut buffer = AlignedBuffer::new(1000).unwrap();
        assert_eq!((buffer.len(), buffer.as_ptr() as usize % 4096), (1000, 0));
        buffer.fill(3);
        assert!(AlignedBuffer::new(0).unwrap().is_empty());
    }
}
