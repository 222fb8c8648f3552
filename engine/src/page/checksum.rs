//! Page checksums: CRC-32C in the two layouts that are in use.
//!
//! ```text
//!                 0    4              26        38                    16376  16380
//!                 +----+--------------+---------+---------------------+------+------+
//! crc32           | C  |##############|         |#####################|  C   | LSN  |
//! full_crc32      |#################################################|# LSN ##|  C   |
//!                 +----+--------------+---------+---------------------+------+------+
//! ```
//!
//! `crc32` (MySQL since 5.7, MariaDB until 10.4) is the XOR of two separate
//! CRCs, over the two `#` parts; it leaves out bytes 26..38, because the flush
//! LSN of the system tablespace used to be patched into them. `full_crc32`
//! (MariaDB 10.4 and later) covers everything before it. We write the first and
//! read both.

use super::{PAGE_SIZE, PageBytes};

/// How a file's pages carry their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChecksumFormat {
    /// Checksum in header and trailer. MySQL's default, and what we write.
    Crc32,
    /// One checksum at the very end. MariaDB's default since 10.5; read only.
    FullCrc32,
}

impl ChecksumFormat {
    /// The format that a tablespace's flags name: MariaDB marks full_crc32 by bit
    /// 4, which is never set in the flags of 16 KiB pages of the classic format.
    pub const fn from_space_flags(flags: u32) -> ChecksumFormat {
        if flags & 0x10 != 0 {
            ChecksumFormat::FullCrc32
        } else {
            ChecksumFormat::Crc32
        }
    }

    /// The checksum this page should carry.
    pub fn compute(self, page: &PageBytes) -> u32 {
        match self {
            ChecksumFormat::Crc32 => crc32(page),
            ChecksumFormat::FullCrc32 => full_crc32(page),
        }
    }
}

/// The checksum of the crc32 format: two CRC-32C values, XORed.
pub fn crc32(page: &PageBytes) -> u32 {
    crc32c::crc32c(&page[4..26]) ^ crc32c::crc32c(&page[38..PAGE_SIZE - 8])
}

/// The checksum of the full_crc32 format.
pub fn full_crc32(page: &PageBytes) -> u32 {
    crc32c::crc32c(&page[..PAGE_SIZE - 4])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xE306_9283);
        let zeros = [0; PAGE_SIZE];
        assert_eq!(crc32(&zeros), 0x1FFD_D4D2);
        assert_eq!(crc32c::crc32c(&zeros), 0x9464_0B85);
        assert_eq!(full_crc32(&zeros), 0xDD9E_4F5A);
    }

    #[test]
    fn the_crc32_format_leaves_out_the_flush_lsn_and_space_id() {
        let mut page = [0; PAGE_SIZE];
        let before = crc32(&page);
        page[26..38].fill(0xAB);
        page[0..4].fill(1);
        page[PAGE_SIZE - 8..].fill(2);
        assert_eq!(crc32(&page), before);
        page[25] = 1;
        assert_ne!(crc32(&page), before);
    }
}
