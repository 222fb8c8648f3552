//! What a page is for: the two bytes at offset 24.

use super::field::FieldValue;

macro_rules! page_types {
    ($( $(#[$meta:meta])* $name:ident = $value:literal, $label:literal; )*) => {
        /// The types of pages that occur in the files we write or read.
        ///
        /// Numbers and names are those of MySQL 8.4 (`FIL_PAGE_…`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum PageType {
            $( $(#[$meta])* $name = $value, )*
        }

        impl PageType {
            /// Every type, in the order of its number.
            pub const ALL: &[PageType] = &[$(PageType::$name),*];

            /// The type with this number, if it is one we know.
            pub const fn from_number(number: u16) -> Option<PageType> {
                match number {
                    $( $value => Some(PageType::$name), )*
                    _ => None,
                }
            }

            /// InnoDB's name, without the prefix `FIL_PAGE_`.
            pub const fn name(self) -> &'static str {
                match self {
                    $( PageType::$name => $label, )*
                }
            }
        }
    };
}

page_types! {
    /// Allocated and never written; also what a page of zeros says.
    Allocated = 0, "TYPE_ALLOCATED";
    /// Undo records.
    UndoLog = 2, "UNDO_LOG";
    /// Segment inodes.
    Inode = 3, "INODE";
    /// Free list of the change buffer.
    ChangeBufferFreeList = 4, "IBUF_FREE_LIST";
    /// Change buffer bitmap: the second page of every 16384.
    ChangeBufferBitmap = 5, "IBUF_BITMAP";
    /// System pages without a type of their own, such as rollback segment headers.
    System = 6, "TYPE_SYS";
    /// The transaction system header, page 5 of the system tablespace.
    TransactionSystem = 7, "TYPE_TRX_SYS";
    /// Tablespace header, page 0.
    SpaceHeader = 8, "TYPE_FSP_HDR";
    /// Extent descriptors: pages 16384, 32768, ...
    ExtentDescriptors = 9, "TYPE_XDES";
    /// A part of a column stored off the record (MySQL 5.7, MariaDB).
    Blob = 10, "TYPE_BLOB";
    /// Something older software did not name.
    Unknown = 13, "TYPE_UNKNOWN";
    /// Off-page part of an SDI record in MySQL 8; an instant-ALTER root in MariaDB.
    SdiBlob = 18, "SDI_BLOB";
    /// The old doublewrite buffer in MySQL's system tablespace.
    LegacyDoublewrite = 20, "TYPE_LEGACY_DBLWR";
    /// Directory of rollback segments in a MySQL 8 undo tablespace.
    RollbackSegmentArray = 21, "TYPE_RSEG_ARRAY";
    /// Index of a large object (MySQL 8).
    LobIndex = 22, "TYPE_LOB_INDEX";
    /// Data of a large object (MySQL 8).
    LobData = 23, "TYPE_LOB_DATA";
    /// First page of a large object (MySQL 8).
    LobFirst = 24, "TYPE_LOB_FIRST";
    /// A node of the index that holds MySQL 8's serialized dictionary information.
    SdiIndex = 17853, "SDI";
    /// A node of a spatial index.
    SpatialIndex = 17854, "RTREE";
    /// A node of a B+tree.
    Index = 17855, "INDEX";
}

impl PageType {
    /// The number stored in the page.
    pub const fn number(self) -> u16 {
        self as u16
    }
}

impl std::fmt::Display for PageType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The two bytes as they are, for pages whose type we do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageTypeNumber(pub u16);

impl PageTypeNumber {
    /// The type, if it is one we know.
    pub const fn known(self) -> Option<PageType> {
        PageType::from_number(self.0)
    }
}

impl From<PageType> for PageTypeNumber {
    fn from(page_type: PageType) -> Self {
        PageTypeNumber(page_type.number())
    }
}

impl FieldValue for PageTypeNumber {
    const LENGTH: usize = 2;

    fn read(bytes: &[u8]) -> Self {
        PageTypeNumber(u16::read(bytes))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_innodbs_and_round_trip() {
        assert_eq!(PageType::Index.number(), 0x45BF);
        assert_eq!(PageType::SpaceHeader.number(), 8);
        assert_eq!(PageType::from_number(1), None);
        for &page_type in PageType::ALL {
            assert_eq!(PageType::from_number(page_type.number()), Some(page_type));
        }
        assert!(PageType::ALL.is_sorted());
    }
}
