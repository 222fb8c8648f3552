//! The declared fields of a page of any type, and a dump of them.
//!
//! Layouts are tables of regions (see [`field`](super::field)). This file says
//! which tables make up which page, so that a program can show a page without
//! knowing its type, and a test can prove that no two fields overlap.

use std::fmt::{self, Write};

use super::extent_descriptor::{self, DESCRIPTOR_SIZE, DESCRIPTORS_PER_PAGE, DESCRIPTORS_START};
use super::segment_inode::{self, INODE_SIZE, INODES_PER_PAGE, INODES_START};
use super::{PageBytes, PageType, Region};
use super::{fil, index_header, rollback_segment, space_header, transaction_system, undo_page};

/// A structure on a page: where it starts and its fields.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// What it is.
    pub name: &'static str,
    /// Where the first one starts; the fields' offsets count from here.
    pub base: usize,
    /// Its fields.
    pub regions: &'static [Region],
    /// How many there are, one after the other.
    pub count: usize,
    /// Bytes from one to the next.
    pub stride: usize,
}

const fn once(name: &'static str, regions: &'static [Region]) -> Structure {
    Structure {
        name,
        base: 0,
        regions,
        count: 1,
        stride: 0,
    }
}

const EXTENT_DESCRIPTORS: Structure = Structure {
    name: "extent descriptor",
    base: DESCRIPTORS_START,
    regions: extent_descriptor::REGIONS,
    count: DESCRIPTORS_PER_PAGE,
    stride: DESCRIPTOR_SIZE,
};

const INODES: Structure = Structure {
    name: "segment inode",
    base: INODES_START,
    regions: segment_inode::REGIONS,
    count: INODES_PER_PAGE,
    stride: INODE_SIZE,
};

const UNDO_LOG: Structure = Structure {
    name: "undo log header",
    base: undo_page::SEGMENT_HEADER_END,
    regions: undo_page::LOG_REGIONS,
    count: 1,
    stride: 0,
};

/// The structures of a page of a type, from its start to its end. Undo pages are
/// shown as first pages of a segment; pages of an unknown type have a frame only.
pub fn regions(page_type: Option<PageType>) -> Vec<Structure> {
    let body: &[Structure] = match page_type {
        Some(PageType::Index | PageType::SdiIndex) => &[
            once("index header", index_header::HEADER_REGIONS),
            once("system records", index_header::SYSTEM_RECORD_REGIONS),
        ],
        Some(PageType::SpaceHeader | PageType::ExtentDescriptors) => &[
            once("tablespace header", space_header::REGIONS),
            EXTENT_DESCRIPTORS,
        ],
        Some(PageType::Inode) => &[once("inode page", segment_inode::PAGE_REGIONS), INODES],
        Some(PageType::UndoLog) => &[
            once("undo page header", undo_page::PAGE_REGIONS),
            once("undo segment header", undo_page::SEGMENT_REGIONS),
            UNDO_LOG,
        ],
        Some(PageType::System) => &[once("rollback segment", rollback_segment::REGIONS)],
        Some(PageType::TransactionSystem) => &[
            once("transaction system", transaction_system::REGIONS),
            once(
                "doublewrite buffer",
                transaction_system::DOUBLEWRITE_REGIONS,
            ),
        ],
        Some(PageType::RollbackSegmentArray) => &[once(
            "rollback segment array",
            rollback_segment::ARRAY_REGIONS,
        )],
        _ => &[],
    };
    let header = [once("FIL header", fil::HEADER_REGIONS)];
    let trailer = [once("FIL trailer", fil::TRAILER_REGIONS)];
    [&header, body, &trailer].concat()
}

/// Writes the fields of a page, one a line: offset, name, value. Repeated
/// structures that are all zero (unused inodes, extents past the free limit) are
/// left out.
///
/// # Errors
/// Those of `out`.
pub fn dump(page: &PageBytes, out: &mut impl Write) -> fmt::Result {
    for structure in regions(fil::page_type(page)) {
        for index in 0..structure.count {
            let base = structure.base + index * structure.stride;
            let bytes = |region: &Region| &page[base + region.offset..base + region.end()];
            let is_zero = structure
                .regions
                .iter()
                .all(|r| bytes(r).iter().all(|&byte| byte == 0));
            if structure.count > 1 && is_zero {
                continue;
            }
            match structure.count {
                1 => writeln!(out, "{}", structure.name)?,
                _ => writeln!(out, "{} {index}", structure.name)?,
            }
            for region in structure.regions {
                write!(out, "  {:5}  {:28} ", base + region.offset, region.name)?;
                write_value(out, bytes(region))?;
            }
        }
    }
    Ok(())
}

/// A number as such, anything longer as hexadecimal digits.
fn write_value(out: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    if bytes.len() <= 8 {
        let value = bytes
            .iter()
            .fold(0u64, |value, &byte| value << 8 | u64::from(byte));
        return writeln!(out, "{value} (0x{value:x})");
    }
    for byte in bytes {
        write!(out, "{byte:02x}")?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{PAGE_SIZE, PageId};

    #[test]
    fn fields_neither_overlap_nor_leave_the_page() {
        for page_type in PageType::ALL {
            let mut end = 0;
            for structure in regions(Some(*page_type)) {
                for index in 0..structure.count {
                    for region in structure.regions {
                        let start = structure.base + index * structure.stride + region.offset;
                        assert!(start >= end, "{page_type}: {} at {start}", region.name);
                        end = start + region.length;
                    }
                }
            }
            assert_eq!(end, PAGE_SIZE, "the trailer ends the page");
        }
    }

    #[test]
    fn headers_have_no_gaps() {
        for table in [
            fil::HEADER_REGIONS,
            index_header::HEADER_REGIONS,
            index_header::SYSTEM_RECORD_REGIONS,
            space_header::REGIONS,
            extent_descriptor::REGIONS,
            segment_inode::REGIONS,
            undo_page::PAGE_REGIONS,
            undo_page::SEGMENT_REGIONS,
            undo_page::LOG_REGIONS,
        ] {
            for pair in table.windows(2) {
                assert_eq!(pair[0].end(), pair[1].offset, "{} and after", pair[0].name);
            }
        }
        assert_eq!(
            space_header::REGIONS.last().unwrap().end(),
            DESCRIPTORS_START
        );
    }

    #[test]
    fn a_dump_names_fields_and_values() {
        let mut page = [0; PAGE_SIZE];
        fil::initialise(&mut page, PageId::new(7, 2), PageType::Inode);
        page[INODES_START + INODE_SIZE + 7] = 5;
        let mut text = String::new();
        dump(&page, &mut text).unwrap();
        assert!(
            text.contains("   34  FIL_PAGE_SPACE_ID            7 (0x7)\n"),
            "{text}"
        );
        assert!(text.contains("segment inode 1\n    242  FSEG_ID                      5 (0x5)\n"));
        assert!(!text.contains("segment inode 0"));
    }
}
