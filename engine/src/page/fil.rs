//! The frame of every page: FIL header, FIL trailer, and how damage is noticed.
//!
//! ```text
//!    0        4       8      12      16         24      26          34      38
//!   +--------+-------+------+-------+----------+-------+-----------+-------+-- ...
//!   |checksum|page no| prev | next  | page LSN | type  | flush LSN | space |  body
//!   +--------+-------+------+-------+----------+-------+-----------+-------+-- ...
//!                                                        16376      16380
//!                                                  ... --+----------+------------+
//!                                              crc32     | checksum | LSN, low 4 |
//!                                              full_crc32| LSN, low | checksum   |
//!                                                  ... --+----------+------------+
//! ```
//!
//! Three kinds of damage are told apart. A *checksum* that does not fit means
//! that bytes changed. A *torn* page has a new front and an old back (or the
//! reverse): power failed inside the 16 KiB write, and the LSN is stored at both
//! ends to show it. A *misplaced* page is intact, but it is another page: the
//! disk wrote it to, or read it from, the wrong place.

use super::checksum::{self, ChecksumFormat};
use super::field::fields;
use super::page_type::{PageType, PageTypeNumber};
use super::{Lsn, PAGE_SIZE, PageBytes, PageId, PageNumber, SpaceId};

/// Bytes of the FIL header; the body starts here (`FIL_PAGE_DATA`).
pub const HEADER_SIZE: usize = 38;
/// Bytes of the FIL trailer.
pub const TRAILER_SIZE: usize = 8;
/// First byte of the trailer, and the end of the body.
pub const TRAILER: usize = PAGE_SIZE - TRAILER_SIZE;

fields! {
    /// The FIL header.
    pub const HEADER_REGIONS;
    /// The checksum (crc32), or the encryption key version, 0 (full_crc32).
    CHECKSUM: u32 = 0, "FIL_PAGE_SPACE_OR_CHKSUM";
    /// The page's own number.
    PAGE_NUMBER: PageNumber = 4, "FIL_PAGE_OFFSET";
    /// Left sibling on index pages. On page 0 MySQL 8 keeps its version number here.
    PREVIOUS: PageNumber = 8, "FIL_PAGE_PREV";
    /// Right sibling on index pages. On page 0 MySQL 8 keeps the space version here.
    NEXT: PageNumber = 12, "FIL_PAGE_NEXT";
    /// End LSN of the last mini-transaction that changed the page.
    PAGE_LSN: u64 = 16, "FIL_PAGE_LSN";
    /// The page's type.
    PAGE_TYPE: PageTypeNumber = 24, "FIL_PAGE_TYPE";
    /// 0 in file-per-table tablespaces.
    FLUSH_LSN: u64 = 26, "FIL_PAGE_FILE_FLUSH_LSN";
    /// The tablespace the page belongs to.
    SPACE_ID: SpaceId = 34, "FIL_PAGE_SPACE_ID";
}

fields! {
    /// The FIL trailer of the crc32 format; full_crc32 has the two words swapped.
    pub const TRAILER_REGIONS;
    /// The checksum again.
    TRAILER_CHECKSUM: u32 = TRAILER, "FIL_PAGE_END_LSN_OLD_CHKSUM";
    /// Low 32 bits of the page LSN.
    TRAILER_LSN: u32 = TRAILER + 4, "FIL_PAGE_END_LSN_LOW";
}

/// What is wrong with a page that was read from a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageCorruption {
    /// The bytes do not fit the stored checksum.
    #[error(
        "{expected}: checksum {header:#010x} in the header and {trailer:#010x} in the trailer, \
         but the bytes give {computed:#010x}"
    )]
    Checksum {
        /// The page that was asked for.
        expected: PageId,
        /// The copy in the header (full_crc32 has none: the trailer's again).
        header: u32,
        /// The copy in the trailer.
        trailer: u32,
        /// What the bytes give.
        computed: u32,
    },
    /// Front and back of the page come from different writes.
    #[error(
        "{expected}: torn, low LSN word {header_lsn:#010x} in the header \
         but {trailer_lsn:#010x} in the trailer"
    )]
    Torn {
        /// The page that was asked for.
        expected: PageId,
        /// Low word of the LSN in the header.
        header_lsn: u32,
        /// The copy in the trailer.
        trailer_lsn: u32,
    },
    /// An intact page, but not the one that was asked for.
    #[error("expected {expected}, found {found}")]
    Misplaced {
        /// The page that was asked for.
        expected: PageId,
        /// The page that says it is here.
        found: PageId,
    },
}

/// The address the page says it has.
pub fn page_id(page: &PageBytes) -> PageId {
    PageId {
        space: SPACE_ID.get(page),
        page: PAGE_NUMBER.get(page),
    }
}

/// The page's type, if it is one we know.
pub fn page_type(page: &PageBytes) -> Option<PageType> {
    PAGE_TYPE.get(page).known()
}

/// Whether every byte is zero: a page that was allocated and never written. It
/// carries no checksum and is valid in both formats.
pub fn is_all_zero(page: &PageBytes) -> bool {
    // Most written pages differ in the first chunk, so stop there.
    page.chunks_exact(256)
        .all(|chunk| chunk.iter().fold(0, |bits, byte| bits | byte) == 0)
}

/// Makes `page` an empty page of a type: zeros, and a FIL header without
/// siblings. The LSN stays 0 until the page is stamped.
///
/// This is a step of the recorded operation; others use
/// `PageWriter::initialise_page`.
pub(super) fn initialise(page: &mut PageBytes, id: PageId, page_type: PageType) {
    page.fill(0);
    PAGE_NUMBER.put(page, id.page);
    PREVIOUS.put(page, PageNumber::NULL);
    NEXT.put(page, PageNumber::NULL);
    PAGE_TYPE.put(page, page_type.into());
    SPACE_ID.put(page, id.space);
}

/// Sets the page LSN. The mini-transaction does this at its commit, for every
/// page that it changed; redo does not record it, because redo defines it.
pub fn set_page_lsn(page: &mut PageBytes, lsn: Lsn) {
    PAGE_LSN.put(page, lsn);
}

/// Prepares a page for the file: LSN, its copy in the trailer, then the checksum
/// over both, in the crc32 format.
///
/// The order matters: the checksum covers the LSN in the header.
pub fn stamp_for_write(page: &mut PageBytes, lsn: Lsn) {
    PAGE_LSN.put(page, lsn);
    // The trailer holds the low word: whether both ends are of one write shows there.
    TRAILER_LSN.put(page, lsn as u32);
    let computed = checksum::crc32(page);
    CHECKSUM.put(page, computed);
    TRAILER_CHECKSUM.put(page, computed);
}

/// Judges a page that was read from the place of `expected`.
///
/// # Errors
/// [`PageCorruption`], the first of checksum, torn, misplaced. Most torn pages
/// fail the checksum and are reported so. A page of zeros is good.
pub fn verify(
    page: &PageBytes,
    expected: PageId,
    format: ChecksumFormat,
) -> Result<(), PageCorruption> {
    if is_all_zero(page) {
        return Ok(());
    }
    let computed = format.compute(page);
    let (header, trailer, trailer_lsn) = match format {
        ChecksumFormat::Crc32 => (
            CHECKSUM.get(page),
            TRAILER_CHECKSUM.get(page),
            TRAILER_LSN.get(page),
        ),
        ChecksumFormat::FullCrc32 => {
            let stored = TRAILER_LSN.get(page);
            (stored, stored, TRAILER_CHECKSUM.get(page))
        }
    };
    if header != computed || trailer != computed {
        return Err(PageCorruption::Checksum {
            expected,
            header,
            trailer,
            computed,
        });
    }
    let header_lsn = PAGE_LSN.get(page) as u32;
    if header_lsn != trailer_lsn {
        return Err(PageCorruption::Torn {
            expected,
            header_lsn,
            trailer_lsn,
        });
    }
    let found = page_id(page);
    if found != expected {
        return Err(PageCorruption::Misplaced { expected, found });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamped() -> PageBytes {
        let mut page = [0; PAGE_SIZE];
        initialise(&mut page, PageId::new(7, 3), PageType::Index);
        page[5000] = 0x55;
        stamp_for_write(&mut page, 0x0000_0001_8000_0002);
        page
    }

    #[test]
    fn a_stamped_page_verifies() {
        let page = stamped();
        assert_eq!(
            verify(&page, PageId::new(7, 3), ChecksumFormat::Crc32),
            Ok(())
        );
        assert_eq!(TRAILER_LSN.get(&page), 0x8000_0002);
        assert_eq!(page_type(&page), Some(PageType::Index));
    }

    #[test]
    fn each_kind_of_damage_is_named() {
        let expected = PageId::new(7, 3);
        let check = |page: &PageBytes| verify(page, expected, ChecksumFormat::Crc32);

        let mut page = stamped();
        page[5000] ^= 1;
        assert!(matches!(check(&page), Err(PageCorruption::Checksum { .. })));

        // Only the trailer's copy of the checksum is wrong.
        let mut page = stamped();
        page[TRAILER] ^= 1;
        assert!(matches!(check(&page), Err(PageCorruption::Checksum { .. })));

        // The checksum does not cover the trailer's LSN.
        let mut page = stamped();
        page[PAGE_SIZE - 1] = 9;
        assert_eq!(
            check(&page),
            Err(PageCorruption::Torn {
                expected,
                header_lsn: 0x8000_0002,
                trailer_lsn: 0x8000_0009
            })
        );

        let page = stamped();
        assert_eq!(
            verify(&page, PageId::new(7, 4), ChecksumFormat::Crc32)
                .unwrap_err()
                .to_string(),
            "expected space 7 page 4, found space 7 page 3"
        );
    }

    #[test]
    fn zeros_are_good_in_both_formats() {
        let page = [0; PAGE_SIZE];
        for format in [ChecksumFormat::Crc32, ChecksumFormat::FullCrc32] {
            assert_eq!(verify(&page, PageId::new(1, 9), format), Ok(()));
        }
        let mut page = page;
        page[PAGE_SIZE - 1] = 1;
        assert!(!is_all_zero(&page));
    }
}
