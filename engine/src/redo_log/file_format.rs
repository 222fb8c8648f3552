//! What stands in front of a redo file: four blocks.
//!
//! ```text
//!   0                512              1024             1536             2048
//!   +----------------+----------------+----------------+----------------+----- ...
//!   | format, start  | checkpoint     |                | checkpoint     | blocks
//!   | LSN, creator   | slot 1         |                | slot 2         | of redo
//!   +----------------+----------------+----------------+----------------+----- ...
//! ```
//!
//! Checkpoints go to the two slots in turn, so that a torn write leaves the one before.
//! In 8.0.30 and later a checkpoint is written into the file that has its LSN, in older
//! versions into the first file.
//!
//! The layout is InnoDB's. Records are not (ours are bytes of pages), so the format has a
//! number of its own, and no server takes our files for its own.
//!
//! The first block has two facts by which a later start tells whether files are whole: the
//! file's length, which a server takes from its settings, and the flag *full* (bit 4 of the
//! flags, as in a server's file), which says that redo goes on in the next file. See
//! `log_files`.

use super::block::{BLOCK_SIZE, checksum, stored_checksum, write_checksum};
use crate::page::Lsn;

/// One block of a file's header.
pub type HeaderBlock = [u8; BLOCK_SIZE];

/// The format of our redo files: "inr2".
const FORMAT: u32 = 0x696E_7232;
/// Before: no length, no flags ("innr").
const FORMAT_WITHOUT_LENGTH: u32 = 0x696E_6E72;
/// Formats of MySQL 8.0.3 and later end here (6 is 8.0.30's).
const SERVER_FORMATS_MAX: u32 = 100;

/// Offsets of the checkpoint slots in a file.
pub const CHECKPOINT_SLOTS: [u64; 2] = [BLOCK_SIZE as u64, 3 * BLOCK_SIZE as u64];

const CREATOR: &str = concat!("innosim ", env!("CARGO_PKG_VERSION"));
const CREATOR_OFFSET: usize = 16;
const CREATOR_LENGTH: usize = 32;
const FLAGS_OFFSET: usize = 48;
/// Bit 4, counted from 1 (`LOG_HEADER_FLAG_FILE_FULL`).
const FLAG_FULL: u32 = 1 << 3;
/// Ours alone: a server has zeros there.
const FILE_LENGTH_OFFSET: usize = 56;

/// A file's own block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// Which log the file is of.
    pub log_uuid: u32,
    /// The LSN of its first block.
    pub start_lsn: Lsn,
    /// The file's length in bytes, with this header.
    pub file_length: u64,
    /// Whether redo goes on in the next file: that file has been there.
    pub is_full: bool,
}

/// A header block that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    /// Its bytes were damaged, or it was never written.
    #[error("checksum {stored:#010x}, but the bytes give {computed:#010x}")]
    Checksum {
        /// What it carries.
        stored: u32,
        /// What it should carry.
        computed: u32,
    },
    /// Another program's.
    #[error("format {found:#x}{whose}, expected {FORMAT:#x}", found = .0, whose = whose(*.0))]
    Format(u32),
}

/// Whose a format is, if that is known.
fn whose(format: u32) -> &'static str {
    match format {
        FORMAT_WITHOUT_LENGTH => " (of an earlier version of innosim)",
        1..=SERVER_FORMATS_MAX => " (of a MySQL or MariaDB server)",
        _ => "",
    }
}

fn word(block: &HeaderBlock, at: usize) -> u32 {
    u32::from_be_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

fn long(block: &HeaderBlock, at: usize) -> u64 {
    u64::from(word(block, at)) << 32 | u64::from(word(block, at + 4))
}

fn check(block: &HeaderBlock) -> Result<(), HeaderFault> {
    let (stored, computed) = (stored_checksum(block), checksum(block));
    match stored == computed {
        true => Ok(()),
        false => Err(HeaderFault::Checksum { stored, computed }),
    }
}

/// Whether the first block of a file names innosim as the one that made it.
pub fn is_ours(block: &HeaderBlock) -> bool {
    block[CREATOR_OFFSET..].starts_with(b"innosim ")
}

impl FileHeader {
    /// The block.
    pub fn encode(&self) -> HeaderBlock {
        let mut block = [0; BLOCK_SIZE];
        block[0..4].copy_from_slice(&FORMAT.to_be_bytes());
        block[4..8].copy_from_slice(&self.log_uuid.to_be_bytes());
        block[8..16].copy_from_slice(&self.start_lsn.to_be_bytes());
        let length = CREATOR.len().min(CREATOR_LENGTH - 1);
        block[CREATOR_OFFSET..CREATOR_OFFSET + length]
            .copy_from_slice(&CREATOR.as_bytes()[..length]);
        let flags = if self.is_full { FLAG_FULL } else { 0 };
        block[FLAGS_OFFSET..FLAGS_OFFSET + 4].copy_from_slice(&flags.to_be_bytes());
        block[FILE_LENGTH_OFFSET..FILE_LENGTH_OFFSET + 8]
            .copy_from_slice(&self.file_length.to_be_bytes());
        write_checksum(&mut block);
        block
    }

    /// Reads the block.
    ///
    /// # Errors
    /// [`HeaderFault`].
    pub fn decode(block: &HeaderBlock) -> Result<Self, HeaderFault> {
        check(block)?;
        match word(block, 0) {
            FORMAT => Ok(FileHeader {
                log_uuid: word(block, 4),
                start_lsn: long(block, 8),
                file_length: long(block, FILE_LENGTH_OFFSET),
                is_full: word(block, FLAGS_OFFSET) & FLAG_FULL != 0,
            }),
            other => Err(HeaderFault::Format(other)),
        }
    }
}

/// A checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// How many there were before: decides which slot is next.
    pub number: u64,
    /// Redo before it is not needed.
    pub lsn: Lsn,
}

impl Checkpoint {
    /// The block.
    pub fn encode(&self) -> HeaderBlock {
        let mut block = [0; BLOCK_SIZE];
        block[0..8].copy_from_slice(&self.number.to_be_bytes());
        block[8..16].copy_from_slice(&self.lsn.to_be_bytes());
        write_checksum(&mut block);
        block
    }

    /// Reads the block; a block of zeros is none.
    ///
    /// # Errors
    /// [`HeaderFault`].
    pub fn decode(block: &HeaderBlock) -> Result<Option<Self>, HeaderFault> {
        if block.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        check(block)?;
        Ok(Some(Checkpoint {
            number: long(block, 0),
            lsn: long(block, 8),
        }))
    }

    /// Where it is written in its file.
    pub fn slot(&self) -> u64 {
        CHECKPOINT_SLOTS[(self.number % 2) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_back_and_damage_shows() {
        let header = FileHeader {
            log_uuid: 7,
            start_lsn: 8192,
            file_length: 1 << 33,
            is_full: true,
        };
        let mut block = header.encode();
        assert_eq!(FileHeader::decode(&block), Ok(header));
        let empty = FileHeader {
            is_full: false,
            ..header
        };
        assert_eq!(FileHeader::decode(&empty.encode()), Ok(empty));
        assert_eq!(&block[16..23], b"innosim");
        block[9] ^= 1;
        assert!(matches!(
            FileHeader::decode(&block),
            Err(HeaderFault::Checksum { .. })
        ));
        let mut other = [0; BLOCK_SIZE];
        other[3] = 6;
        write_checksum(&mut other);
        let fault = FileHeader::decode(&other).unwrap_err();
        assert_eq!(fault, HeaderFault::Format(6));
        let text = fault.to_string();
        assert_eq!(
            text,
            "format 0x6 (of a MySQL or MariaDB server), expected 0x696e7232"
        );
        other[..4].copy_from_slice(b"innr");
        write_checksum(&mut other);
        let text = FileHeader::decode(&other).unwrap_err().to_string();
        assert!(text.contains("an earlier version of innosim"), "{text}");
    }

    #[test]
    fn checkpoints_take_turns() {
        let checkpoint = |number| Checkpoint { number, lsn: 8204 };
        assert_eq!(checkpoint(4).slot(), 512);
        assert_eq!(checkpoint(5).slot(), 1536);
        let mut block = checkpoint(5).encode();
        assert_eq!(Checkpoint::decode(&block), Ok(Some(checkpoint(5))));
        assert_eq!(Checkpoint::decode(&[0; BLOCK_SIZE]), Ok(None));
        block[15] ^= 1;
        assert!(Checkpoint::decode(&block).is_err());
    }
}
