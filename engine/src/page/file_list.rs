//! Pointers between pages: file addresses, list nodes and bases, segment headers.
//!
//! Free extents, segments, undo pages and history are doubly linked lists whose
//! nodes lie on different pages. An address is a page number and a byte offset,
//! and points at the *node*, not at the structure around it.
//!
//! ```text
//!   base (16 bytes)                node (12 bytes)            node
//!  +--------+-------+------+      +----------+------+        +----------+------+
//!  | length | first | last |----->| previous | next |------->| previous | next |
//!  +--------+-------+------+      +----------+------+        +----------+------+
//!                      |                                        ^
//!                      +----------------------------------------+
//! ```
//!
//! Here are only the bytes. Who links and unlinks, under which latches, is the
//! business of the allocation and undo modules.

use std::fmt;

use super::field::FieldValue;
use super::{PageNumber, SpaceId};

/// The place of a byte in a file: page and offset; 6 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileAddress {
    /// The page.
    pub page: PageNumber,
    /// Byte offset on the page.
    pub offset: u16,
}

impl FileAddress {
    /// "Nowhere": the end of a list.
    pub const NULL: FileAddress = FileAddress {
        page: PageNumber::NULL,
        offset: 0,
    };

    /// The byte `offset` of page `page`.
    pub const fn new(page: PageNumber, offset: u16) -> FileAddress {
        FileAddress { page, offset }
    }

    /// Whether this is "nowhere".
    pub const fn is_null(self) -> bool {
        self.page.is_null()
    }
}

impl fmt::Display for FileAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_null() {
            true => write!(f, "nowhere"),
            false => write!(f, "page {} offset {}", self.page, self.offset),
        }
    }
}

impl FieldValue for FileAddress {
    const LENGTH: usize = 6;

    fn read(bytes: &[u8]) -> Self {
        FileAddress {
            page: PageNumber::read(&bytes[..4]),
            offset: u16::read(&bytes[4..]),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        self.page.write(&mut bytes[..4]);
        self.offset.write(&mut bytes[4..]);
    }
}

/// A list's node: its neighbours; 12 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListNode {
    /// The node before, or nowhere.
    pub previous: FileAddress,
    /// The node after, or nowhere.
    pub next: FileAddress,
}

impl ListNode {
    /// A node without neighbours.
    pub const ALONE: ListNode = ListNode {
        previous: FileAddress::NULL,
        next: FileAddress::NULL,
    };
}

impl FieldValue for ListNode {
    const LENGTH: usize = 12;

    fn read(bytes: &[u8]) -> Self {
        ListNode {
            previous: FileAddress::read(&bytes[..6]),
            next: FileAddress::read(&bytes[6..]),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        self.previous.write(&mut bytes[..6]);
        self.next.write(&mut bytes[6..]);
    }
}

/// A list's base: its length and its ends; 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListBase {
    /// Number of nodes.
    pub length: u32,
    /// The first node, or nowhere.
    pub first: FileAddress,
    /// The last node, or nowhere.
    pub last: FileAddress,
}

impl ListBase {
    /// An empty list.
    pub const EMPTY: ListBase = ListBase {
        length: 0,
        first: FileAddress::NULL,
        last: FileAddress::NULL,
    };

    /// A list of one node.
    pub const fn of_one(node: FileAddress) -> ListBase {
        ListBase {
            length: 1,
            first: node,
            last: node,
        }
    }
}

impl FieldValue for ListBase {
    const LENGTH: usize = 16;

    fn read(bytes: &[u8]) -> Self {
        ListBase {
            length: u32::read(&bytes[..4]),
            first: FileAddress::read(&bytes[4..10]),
            last: FileAddress::read(&bytes[10..]),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        self.length.write(&mut bytes[..4]);
        self.first.write(&mut bytes[4..10]);
        self.last.write(&mut bytes[10..]);
    }
}

/// Where a segment's inode is: the handle by which a tree or an undo log names
/// the segment that its pages come from; 10 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The tablespace of the inode.
    pub space: SpaceId,
    /// The INODE page.
    pub page: PageNumber,
    /// Byte offset of the inode on that page.
    pub offset: u16,
}

impl SegmentHeader {
    /// All zero: what pages other than a root carry.
    pub const NONE: SegmentHeader = SegmentHeader {
        space: SpaceId(0),
        page: PageNumber(0),
        offset: 0,
    };
}

impl FieldValue for SegmentHeader {
    const LENGTH: usize = 10;

    fn read(bytes: &[u8]) -> Self {
        SegmentHeader {
            space: SpaceId::read(&bytes[..4]),
            page: PageNumber::read(&bytes[4..8]),
            offset: u16::read(&bytes[8..]),
        }
    }

    fn write(self, bytes: &mut [u8]) {
        self.space.write(&mut bytes[..4]);
        self.page.write(&mut bytes[4..8]);
        self.offset.write(&mut bytes[8..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: FieldValue>(value: T) -> Vec<u8> {
        let mut bytes = vec![0; T::LENGTH];
        value.write(&mut bytes);
        bytes
    }

    #[test]
    fn an_empty_list_and_one_of_a_real_file() {
        let nowhere = [0xff, 0xff, 0xff, 0xff, 0, 0];
        assert_eq!(
            bytes(ListBase::EMPTY),
            [&[0; 4][..], &nowhere, &nowhere].concat()
        );
        let node = [0, 0, 0, 0, 0, 0x9e];
        let base = [&[0, 0, 0, 1][..], &node, &node].concat();
        assert_eq!(
            ListBase::read(&base),
            ListBase::of_one(FileAddress::new(PageNumber(0), 158))
        );
        assert_eq!(bytes(ListBase::read(&base)), base);
    }

    #[test]
    fn segment_header_of_a_real_root() {
        let header = SegmentHeader {
            space: SpaceId(7),
            page: PageNumber(2),
            offset: 0x00F2,
        };
        assert_eq!(bytes(header), [0, 0, 0, 7, 0, 0, 0, 2, 0, 0xF2]);
        assert_eq!(SegmentHeader::read(&bytes(header)), header);
        let node = ListNode {
            previous: FileAddress::new(PageNumber(1), 2),
            next: FileAddress::new(PageNumber(3), 4),
        };
        assert_eq!(ListNode::read(&bytes(node)), node);
        assert_eq!(SegmentHeader::read(&[0; 10]), SegmentHeader::NONE);
    }
}
