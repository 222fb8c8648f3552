//! Log blocks, and the two ways to count redo: sn and LSN.
//!
//! Redo is stored in blocks of 512 bytes, the sector of a disk, so that a torn write
//! is noticed. Each has a header in front and a checksum behind:
//!
//! ```text
//!   0         4        6          8        12                              508      512
//!   +---------+--------+----------+--------+-------------------------------+--------+
//!   | number  | bytes  | offset   | epoch  |      496 bytes of redo        | CRC32C |
//!   |         | in use | of first |        |                               |        |
//!   |         |        | group    |        |                               |        |
//!   +---------+--------+----------+--------+-------------------------------+--------+
//! ```
//!
//! An **sn** counts bytes of redo. An **LSN** counts bytes of the log, headers and
//! checksums included; it is what pages carry. `lsn = sn / 496 * 512 + sn % 496 + 12`.
//! An LSN never lies in a header or a checksum: the byte after the last one of a block
//! is the first one of the next block, at offset 12.
//!
//! "Offset of first group" is where the first mini-transaction begins that *begins* in
//! this block, 0 if none does. Recovery, which starts at some block, starts parsing
//! there.
//!
//! Source: MySQL 8.0.30 to 8.4. Older versions have the checkpoint's number in the place
//! of the epoch.

use crate::page::Lsn;

/// Bytes of a block.
pub const BLOCK_SIZE: usize = 512;
/// Bytes of a block's header.
pub const HEADER_SIZE: usize = 12;
/// Bytes of a block's trailer.
pub const TRAILER_SIZE: usize = 4;
/// Bytes of redo in a block.
pub const PAYLOAD_SIZE: usize = BLOCK_SIZE - HEADER_SIZE - TRAILER_SIZE;
/// Where the trailer begins.
pub const TRAILER: usize = BLOCK_SIZE - TRAILER_SIZE;

/// The LSN at which the first block of a new log begins.
pub const FIRST_BLOCK_LSN: Lsn = 16 * BLOCK_SIZE as u64;
/// The LSN of the first byte of redo in a new log.
pub const FIRST_LSN: Lsn = FIRST_BLOCK_LSN + HEADER_SIZE as u64;

/// Block numbers have 30 bits.
const NUMBERS: u64 = 1 << 30;

const BLOCK: u64 = BLOCK_SIZE as u64;
const PAYLOAD: u64 = PAYLOAD_SIZE as u64;
const HEADER: u64 = HEADER_SIZE as u64;

/// The LSN of a count of redo bytes.
#[inline]
pub const fn lsn_of(sn: u64) -> Lsn {
    sn / PAYLOAD * BLOCK + sn % PAYLOAD + HEADER
}

/// The count of redo bytes at an LSN. LSNs in a header or trailer, which mark limits of
/// the log rather than redo, are rounded to the redo byte next to them.
#[inline]
pub const fn sn_of(lsn: Lsn) -> u64 {
    let offset = lsn % BLOCK;
    let used = match offset {
        0..HEADER => 0,
        _ if offset >= TRAILER as u64 => PAYLOAD,
        _ => offset - HEADER,
    };
    lsn / BLOCK * PAYLOAD + used
}

/// The beginning of the block that an LSN is in.
#[inline]
pub const fn block_start(lsn: Lsn) -> Lsn {
    lsn / BLOCK * BLOCK
}

/// Whether redo can be at this LSN.
#[inline]
pub const fn is_payload(lsn: Lsn) -> bool {
    let offset = lsn % BLOCK;
    offset >= HEADER && offset < TRAILER as u64
}

/// The number that the block at this LSN carries.
pub const fn block_number(lsn: Lsn) -> u32 {
    (1 + lsn / BLOCK % NUMBERS) as u32
}

/// The epoch that the block at this LSN carries: how often block numbers have wrapped.
pub const fn epoch(lsn: Lsn) -> u32 {
    (lsn / BLOCK / NUMBERS) as u32
}

/// The header of a block, as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockHeader {
    /// Number of the block.
    pub number: u32,
    /// Bytes in use, header included; 512 if the block is full.
    pub length: u16,
    /// Where the first group that begins in this block begins; 0 if none does.
    pub first_group: u16,
    /// How often numbers have wrapped.
    pub epoch: u32,
}

impl BlockHeader {
    /// The header of the block that begins at `lsn`.
    pub const fn at(lsn: Lsn, length: u16, first_group: u16) -> Self {
        BlockHeader {
            number: block_number(lsn),
            length,
            first_group,
            epoch: epoch(lsn),
        }
    }

    /// Reads a header.
    pub fn read(block: &[u8; BLOCK_SIZE]) -> Self {
        let word = |at: usize| {
            u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
        };
        let half = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
        BlockHeader {
            number: word(0),
            length: half(4),
            first_group: half(6),
            epoch: word(8),
        }
    }

    /// Writes the header in front of a block.
    pub fn write(&self, block: &mut [u8; BLOCK_SIZE]) {
        block[0..4].copy_from_slice(&self.number.to_be_bytes());
        block[4..6].copy_from_slice(&self.length.to_be_bytes());
        block[6..8].copy_from_slice(&self.first_group.to_be_bytes());
        block[8..12].copy_from_slice(&self.epoch.to_be_bytes());
    }
}

/// The checksum that a block should carry.
pub fn checksum(block: &[u8; BLOCK_SIZE]) -> u32 {
    crc32c::crc32c(&block[..TRAILER])
}

/// The checksum that a block carries.
pub fn stored_checksum(block: &[u8; BLOCK_SIZE]) -> u32 {
    u32::from_be_bytes([block[508], block[509], block[510], block[511]])
}

/// Writes the checksum behind a block that is otherwise complete.
pub fn write_checksum(block: &mut [u8; BLOCK_SIZE]) {
    let checksum = checksum(block);
    block[TRAILER..].copy_from_slice(&checksum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_new_log_begins_behind_the_header_of_block_16() {
        assert_eq!(FIRST_LSN, 8204);
        assert_eq!(sn_of(FIRST_LSN), 16 * 496);
        assert_eq!(lsn_of(16 * 496), 8204);
        assert_eq!(block_number(FIRST_LSN), 17);
        assert_eq!(epoch(FIRST_LSN), 0);
    }

    #[test]
    fn the_byte_after_a_block_is_in_the_next_one() {
        assert_eq!(lsn_of(495), 507);
        assert_eq!(lsn_of(496), 512 + 12);
        assert_eq!((sn_of(508), sn_of(512), sn_of(524)), (496, 496, 496));
    }

    #[test]
    fn numbers_wrap_and_the_epoch_counts_it() {
        let last = ((1u64 << 30) - 1) * 512;
        assert_eq!((block_number(last), epoch(last)), (1 << 30, 0));
        assert_eq!((block_number(last + 512), epoch(last + 512)), (1, 1));
    }

    #[test]
    fn a_header_comes_back_and_a_flipped_bit_shows() {
        let mut block = [7; BLOCK_SIZE];
        let header = BlockHeader::at(81920, 300, 45);
        header.write(&mut block);
        write_checksum(&mut block);
        assert_eq!(BlockHeader::read(&block), header);
        assert_eq!(checksum(&block), stored_checksum(&block));
        block[200] ^= 1;
        assert_ne!(checksum(&block), stored_checksum(&block));
    }

    proptest! {
        #[test]
        fn sn_and_lsn_are_inverse(sn in 0..u64::MAX / 2, step in 0u64..5000) {
            let lsn = lsn_of(sn);
            prop_assert_eq!(sn_of(lsn), sn);
            prop_assert!(is_payload(lsn));
            prop_assert_eq!(lsn - block_start(lsn) < 512, true);
            // Later redo has a higher LSN, and no less is between them.
            prop_assert!(lsn_of(sn + step) >= lsn + step);
        }
    }
}
