//! The record of a batch under `DETECT_ONLY`: which pages are being written, instead of
//! what is on them.
//!
//! ```text
//!    0         4       8        10     11      20         36
//!   +---------+-------+--------+------+-------+----------+----------+-- ... --+
//!   | batch   | crc32 | length | kind | zeros | entry 0  | entry 1  |         |
//!   +---------+-------+--------+------+-------+----------+----------+-- ... --+ 8192
//!                                              space 4, page 4, LSN 8
//! ```
//!
//! Each batch has its own record in the one file `#ib_16384_0.bdblwr`, which it overwrites
//! every time. It costs 8 KiB a batch instead of 16 KiB a page. After a crash the pages in
//! the records are those that may be torn; there is no copy to repair them from.
//!
//! Source: InnoDB 8.0.30 to 8.4. The checksum here is CRC-32C over the entries.

use crate::buffer_pool::FlushKind;
use crate::page::{FieldValue, Lsn, PageId};

/// Bytes of a record.
pub const RECORD_BYTES: usize = 8192;

const HEADER_BYTES: usize = 20;
const ENTRY_BYTES: usize = 16;

/// Pages that a record has room for, and so a batch under `DETECT_ONLY`.
pub const ENTRIES_MAX: usize = (RECORD_BYTES - HEADER_BYTES) / ENTRY_BYTES;

/// A page that was being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) page: PageId,
    pub(super) lsn: Lsn,
}

/// What a record says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Nothing was ever written here.
    Empty,
    /// The write of the record was torn: its batch's data writes had not begun.
    Damaged,
    /// The pages of the last batch.
    Entries(Vec<Entry>),
}

/// Writes a record; at most [`ENTRIES_MAX`] entries.
pub(super) fn encode(
    record: &mut [u8],
    batch: u32,
    kind: FlushKind,
    entries: impl Iterator<Item = Entry>,
) {
    debug_assert_eq!(record.len(), RECORD_BYTES);
    record.fill(0);
    let mut end = HEADER_BYTES;
    for entry in entries {
        record[end..end + 4].copy_from_slice(&entry.page.space.0.to_be_bytes());
        record[end + 4..end + 8].copy_from_slice(&entry.page.page.0.to_be_bytes());
        record[end + 8..end + 16].copy_from_slice(&entry.lsn.to_be_bytes());
        end += ENTRY_BYTES;
    }
    let checksum = crc32c::crc32c(&record[HEADER_BYTES..end]);
    record[0..4].copy_from_slice(&batch.to_be_bytes());
    record[4..8].copy_from_slice(&checksum.to_be_bytes());
    record[8..10].copy_from_slice(&((end - HEADER_BYTES) as u16).to_be_bytes());
    record[10] = kind as u8;
}

/// Reads a record.
pub(super) fn decode(record: &[u8]) -> Record {
    if record.iter().all(|&byte| byte == 0) {
        return Record::Empty;
    }
    let length = usize::from(u16::read(&record[8..10]));
    let Some(data) = record.get(HEADER_BYTES..HEADER_BYTES + length) else {
        return Record::Damaged;
    };
    let is_whole = length > 0 && length.is_multiple_of(ENTRY_BYTES);
    if !is_whole || crc32c::crc32c(data) != u32::read(&record[4..8]) {
        return Record::Damaged;
    }
    let entries = data.chunks_exact(ENTRY_BYTES).map(|entry| Entry {
        page: PageId::new(u32::read(&entry[0..4]), u32::read(&entry[4..8])),
        lsn: u64::read(&entry[8..16]),
    });
    Record::Entries(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: usize) -> Vec<Entry> {
        let entry = |number: usize| Entry {
            page: PageId::new(7, number as u32),
            lsn: 1 << 40 | number as u64,
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn a_record_says_which_pages_were_written() {
        assert_eq!(ENTRIES_MAX, 510);
        let mut record = vec![0xff; RECORD_BYTES];
        for count in [1, 3, 510, 2] {
            encode(&mut record, 9, FlushKind::List, entries(count).into_iter());
            assert_eq!(decode(&record), Record::Entries(entries(count)));
        }
        assert_eq!(record[0..4], [0, 0, 0, 9]);
        assert_eq!(record[8..11], [0, 32, FlushKind::List as u8]);
        assert_eq!(record[20..24], [0, 0, 0, 7]);
        assert!(record[52..].iter().all(|&byte| byte == 0));
    }

    #[test]
    fn damage_is_noticed() {
        let mut record = vec![0; RECORD_BYTES];
        assert_eq!(decode(&record), Record::Empty);
        encode(&mut record, 1, FlushKind::Lru, entries(5).into_iter());
        for (at, value) in [(4, 1), (9, 64), (9, 3), (8, 255), (25, 8)] {
            let mut damaged = record.clone();
            damaged[at] ^= value;
            assert_eq!(decode(&damaged), Record::Damaged, "byte {at}");
        }
    }
}
