//! The log buffer: redo that is on its way to the file.
//!
//! ```text
//!              written          ready          reserved (sn)
//!                 |               |               |
//!   --------------+---------------+---------------+---------->  LSN
//!    in the file  | complete, for | being copied  | free
//!                 | the writer    | by several    |
//! ```
//!
//! The buffer is a ring of blocks: the byte of an LSN is at the LSN modulo its size. A
//! mini-transaction *reserves* its range, copies its records there, and says that it is
//! done; what is done without a gap is *ready* to be written. At last it puts its pages
//! into the flush lists and says that, too: up to the *closed* LSN every page that redo
//! is about is in a flush list, which is what a checkpoint needs to know.
//!
//! How many can do this at once is where versions differ:
//!
//! | version | reserve | copy | into the flush lists |
//! |---|---|---|---|
//! | 5.1 | log mutex | same | same |
//! | 5.5 to 5.7, MariaDB | log mutex | same | flush order mutex, taken before the log mutex is released |
//! | 8.0, 8.4 | an atomic addition | at the same time | at the same time, a little out of order |
//!
//! Headers: the "first group" of a block is set by the mini-transaction that enters the
//! block; the writer fills in the rest and the checksum.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::*};

use super::block::{BLOCK_SIZE, HEADER_SIZE, PAYLOAD_SIZE, TRAILER, block_start, lsn_of, sn_of};
use super::link_buffer::LinkBuffer;
use crate::page::Lsn;
use crate::runtime::files::AlignedBuffer;
use crate::runtime::{Cost, cpu_times};

/// Offset of "first group" in a block's header.
const FIRST_GROUP: usize = 6;

/// Redo that stays free between the newest and the oldest in the ring, in bytes: two
/// blocks, since the last written one may have to be written again (InnoDB 8.0).
const SAFETY: u64 = 2 * BLOCK_SIZE as u64;

/// The ring and its marks; see the module's opening.
#[derive(Debug)]
pub(super) struct LogBuffer {
    memory: Memory,
    /// Redo bytes reserved so far.
    sn: AtomicU64,
    /// What is in the file (or nowhere, if there is none).
    written: AtomicU64,
    recent_written: LinkBuffer,
    recent_closed: LinkBuffer,
}

#[derive(Debug)]
struct Memory {
    /// Held for its memory, which is reached through `first`.
    _buffer: AlignedBuffer,
    first: *mut u8,
    size: u64,
}

// SAFETY: the memory is reached through raw pointers only: ranges are written by who
// reserved them, and read by the log writer when they are ready.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn at(&self, lsn: Lsn) -> *mut u8 {
        // SAFETY: the offset is less than the size of the mapping.
        unsafe { self.first.add((lsn % self.size) as usize) }
    }
}

impl LogBuffer {
    /// A buffer of `size` bytes, a multiple of the block size, for redo from `start` on.
    pub(super) fn new(
        size: u64,
        recent_written: usize,
        recent_closed: usize,
        start: Lsn,
    ) -> io::Result<Self> {
        assert!(size.is_multiple_of(BLOCK_SIZE as u64) && size > 4 * SAFETY);
        let mut buffer = AlignedBuffer::new(size as usize)?;
        let first = buffer.as_mut_ptr();
        let this = LogBuffer {
            memory: Memory {
                _buffer: buffer,
                first,
                size,
            },
            sn: AtomicU64::new(sn_of(start)),
            written: AtomicU64::new(start),
            recent_written: LinkBuffer::new(recent_written, start),
            recent_closed: LinkBuffer::new(recent_closed, start),
        };
        this.set_first_group(start);
        Ok(this)
    }

    /// The log goes on in a block that is in the file already: what it has before `end`
    /// is put in front. Nobody else uses the buffer yet.
    pub(super) fn preload(&self, end: Lsn, block: &[u8; BLOCK_SIZE]) {
        let used = end as usize % BLOCK_SIZE;
        debug_assert_eq!(self.written_lsn(), end);
        if used == HEADER_SIZE {
            return;
        }
        // SAFETY: the range is within a block of the ring.
        unsafe {
            std::ptr::copy_nonoverlapping(block.as_ptr(), self.memory.at(block_start(end)), used);
        }
    }

    // ---- marks ----------------------------------------------------------------

    /// End of what has been reserved.
    #[inline]
    pub(super) fn current_lsn(&self) -> Lsn {
        lsn_of(self.sn.load(Acquire))
    }

    /// Up to here redo is complete in the buffer.
    #[inline]
    pub(super) fn ready_lsn(&self) -> Lsn {
        self.recent_written.advance()
    }

    /// Up to here redo is complete and its pages are in the flush lists.
    #[inline]
    pub(super) fn closed_lsn(&self) -> Lsn {
        self.recent_closed.advance()
    }

    /// Up to here redo has left the buffer.
    #[inline]
    pub(super) fn written_lsn(&self) -> Lsn {
        self.written.load(Acquire)
    }

    /// Redo up to here has left the buffer; its place is free. Returns how far that is.
    pub(super) fn set_written(&self, lsn: Lsn) -> Lsn {
        self.written.fetch_max(lsn, AcqRel).max(lsn)
    }

    /// As [`closed_lsn`](Self::closed_lsn), without moving it.
    #[inline]
    pub(super) fn closed_tail(&self) -> Lsn {
        self.recent_closed.tail()
    }

    /// By how much flush lists may be out of order.
    pub(super) fn disorder_max(&self) -> u64 {
        self.recent_closed.capacity()
    }

    /// The end up to which may be reserved without overwriting what is not written.
    fn limit_sn(&self) -> u64 {
        sn_of(self.written_lsn()) + self.memory.size / BLOCK_SIZE as u64 * PAYLOAD_SIZE as u64
            - SAFETY
    }

    /// Whether a range that ends here has room in the ring.
    #[inline]
    pub(super) fn has_room(&self, end_sn: u64) -> bool {
        end_sn <= self.limit_sn()
    }

    /// What has to be written so that a range that ends here has room.
    pub(super) fn written_for_room(&self, end_sn: u64) -> Lsn {
        let sn = end_sn.saturating_sub(self.limit_sn() - sn_of(self.written_lsn()));
        lsn_of(sn)
    }

    /// The largest range that is copied in one go. Larger groups are copied in pieces,
    /// so that they need not fit into the buffer.
    pub(super) fn piece_max(&self) -> usize {
        let ring = self.memory.size / 2;
        let links = self
            .recent_written
            .capacity()
            .min(self.recent_closed.capacity())
            / 2;
        ring.min(links) as usize
    }

    // ---- making redo ----------------------------------------------------------

    /// Reserves a range; returns its start.
    #[inline]
    pub(super) fn reserve(&self, length: usize) -> u64 {
        self.sn.fetch_add(length as u64, AcqRel)
    }

    /// Where the next range will start.
    pub(super) fn next_sn(&self) -> u64 {
        self.sn.load(Acquire)
    }

    /// Whether the list of copied redo has room for a range.
    #[inline]
    pub(super) fn can_note_copied(&self, start: Lsn) -> bool {
        self.recent_written.has_room(start)
    }

    /// Whether the list of closed redo has room for a range.
    #[inline]
    pub(super) fn can_note_closed(&self, start: Lsn) -> bool {
        self.recent_closed.has_room(start)
    }

    /// Copies a part of a reserved range. It has room, and so has its link.
    ///
    /// `group_end` is set for the last part of a group: then the next group begins where
    /// this one ends, which is noted in the header of a block that this group entered.
    pub(super) fn copy(&self, start_sn: u64, bytes: &[u8], group_start: Lsn, is_last: bool) {
        let start = lsn_of(start_sn);
        let end = lsn_of(start_sn + bytes.len() as u64);
        cpu_times(Cost::LogCopy, (end - start).div_ceil(BLOCK_SIZE as u64));
        let mut lsn = start;
        let mut rest = bytes;
        while !rest.is_empty() {
            let offset = lsn as usize % BLOCK_SIZE;
            let (now, later) = rest.split_at(rest.len().min(TRAILER - offset));
            // SAFETY: the range is within a block, so within the ring; it is reserved by
            // the caller, and has room, so nobody else writes or reads it.
            unsafe {
                std::ptr::copy_nonoverlapping(now.as_ptr(), self.memory.at(lsn), now.len());
            }
            lsn += now.len() as u64;
            rest = later;
            if lsn as usize % BLOCK_SIZE == TRAILER {
                lsn = block_start(lsn) + (BLOCK_SIZE + HEADER_SIZE) as u64;
                self.put_first_group(lsn, 0);
            }
        }
        debug_assert_eq!(lsn, end);
        if is_last && block_start(group_start) != block_start(end) {
            self.set_first_group(end);
        }
        self.recent_written.add(start, end);
    }

    // ---- for the writer -------------------------------------------------------

    /// The block that begins at this LSN.
    pub(super) fn block(&self, lsn: Lsn) -> *mut [u8; BLOCK_SIZE] {
        debug_assert_eq!(lsn % BLOCK_SIZE as u64, 0);
        self.memory.at(lsn).cast()
    }

    /// Bytes from this LSN on that are one piece of memory.
    pub(super) fn contiguous(&self, lsn: Lsn) -> u64 {
        self.memory.size - lsn % self.memory.size
    }

    /// Bytes of the ring.
    ///
    /// # Safety
    /// They are one piece of memory, and nobody writes them: they are ready, and the
    /// caller is the writer.
    pub(super) unsafe fn bytes(&self, lsn: Lsn, length: u64) -> &[u8] {
        debug_assert!(length <= self.contiguous(lsn));
        // SAFETY: within the ring; otherwise by the caller's promise.
        unsafe { std::slice::from_raw_parts(self.memory.at(lsn), length as usize) }
    }

    /// The pages of a reserved range are in the flush lists.
    pub(super) fn close(&self, start: Lsn, end: Lsn) {
        self.recent_closed.add(start, end);
    }

    /// A group begins at this LSN, the first one in its block.
    fn set_first_group(&self, lsn: Lsn) {
        self.put_first_group(lsn, (lsn as usize % BLOCK_SIZE) as u16);
    }

    fn put_first_group(&self, lsn: Lsn, offset: u16) {
        let header = self.memory.at(block_start(lsn));
        let bytes = offset.to_be_bytes();
        // SAFETY: the header is within the ring. Only the mini-transaction that enters a
        // block touches these two bytes before the block is ready, and its own link, by
        // which the block becomes ready, comes later.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), header.add(FIRST_GROUP), 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::FIRST_LSN;
    use super::*;

    fn buffer() -> LogBuffer {
        LogBuffer::new(16 * 1024, 4096, 8192, FIRST_LSN).unwrap()
    }

    impl LogBuffer {
        fn byte(&self, lsn: Lsn) -> u8 {
            // SAFETY: nobody else uses the buffer.
            unsafe { *self.memory.at(lsn) }
        }

        fn first_group(&self, lsn: Lsn) -> u16 {
            let block = block_start(lsn);
            u16::from_be_bytes([self.byte(block + 6), self.byte(block + 7)])
        }

        fn append(&self, length: usize) -> (Lsn, Lsn) {
            let sn = self.reserve(length);
            let (start, end) = (lsn_of(sn), lsn_of(sn + length as u64));
            self.copy(sn, &vec![length as u8; length], start, true);
            (start, end)
        }
    }

    #[test]
    fn redo_goes_around_headers_and_trailers() {
        let buffer = buffer();
        let (start, end) = buffer.append(600);
        assert_eq!((start, end), (8204, 8704 + 12 + 104));
        for lsn in start..end {
            let expected = if super::super::block::is_payload(lsn) {
                88
            } else {
                0
            };
            if lsn % 512 != 6 && lsn % 512 != 7 {
                assert_eq!(buffer.byte(lsn), expected, "{lsn}");
            }
        }
        assert_eq!(buffer.first_group(start), 12, "the log begins here");
        assert_eq!(buffer.first_group(end), 116, "the next group");
        assert_eq!(buffer.ready_lsn(), end);
        assert_eq!(buffer.closed_lsn(), start);
    }

    #[test]
    fn a_block_inside_a_group_has_no_first_group() {
        let buffer = buffer();
        buffer.append(10);
        let (start, end) = buffer.append(496 * 3);
        assert_eq!(buffer.first_group(start), 12);
        assert_eq!(buffer.first_group(start + 512), 0);
        assert_eq!(buffer.first_group(start + 1024), 0);
        assert_eq!(buffer.first_group(end), 22);
        // A group that fills its block to the end: the next one begins in the next block.
        let (_, end) = buffer.append(486);
        assert_eq!(end % 512, 12);
        assert_eq!(buffer.first_group(end), 12);
    }

    #[test]
    fn room_is_what_has_been_written_and_two_blocks_less() {
        let buffer = buffer();
        let start = buffer.next_sn();
        let capacity = 32 * 496 - 1024;
        assert!(buffer.has_room(start + capacity));
        assert!(!buffer.has_room(start + capacity + 1));
        let wanted = buffer.written_for_room(start + capacity + 700);
        assert_eq!(wanted, lsn_of(start + 700));
        buffer.append(496);
        buffer.append(300);
        buffer.set_written(wanted);
        assert!(buffer.has_room(start + capacity + 700));
    }
}
