//! Where a page is: the tablespace's number and the page's position in its file.

use std::fmt;

use super::field::FieldValue;

/// A log sequence number: a position in the redo log, in bytes.
///
/// A page carries the LSN at the end of the last mini-transaction that changed it.
pub type Lsn = u64;

/// A page's position in its file, counted in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(pub u32);

impl PageNumber {
    /// "No page", InnoDB's `FIL_NULL`.
    pub const NULL: PageNumber = PageNumber(0xFFFF_FFFF);

    /// Whether this is "no page".
    pub const fn is_null(self) -> bool {
        self.0 == Self::NULL.0
    }

    /// The number, or `None` for "no page".
    pub fn some(self) -> Option<PageNumber> {
        (!self.is_null()).then_some(self)
    }
}

impl fmt::Display for PageNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_null() {
            true => f.write_str("none"),
            false => self.0.fmt(f),
        }
    }
}

/// A tablespace's number. 0 is the system tablespace; file-per-table
/// tablespaces have 1 and up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpaceId(pub u32);

impl fmt::Display for SpaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The address of a page among all tablespaces. Ordered by space, then page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId {
    /// The tablespace.
    pub space: SpaceId,
    /// The page within it.
    pub page: PageNumber,
}

impl PageId {
    /// The page `page` of the tablespace `space`.
    pub const fn new(space: u32, page: u32) -> PageId {
        PageId {
            space: SpaceId(space),
            page: PageNumber(page),
        }
    }
}

impl fmt::Display for PageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "space {} page {}", self.space, self.page)
    }
}

impl FieldValue for PageNumber {
    const LENGTH: usize = 4;

    fn read(bytes: &[u8]) -> Self {
        PageNumber(u32::read(bytes))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
    }
}

impl FieldValue for SpaceId {
    const LENGTH: usize = 4;

    fn read(bytes: &[u8]) -> Self {
        SpaceId(u32::read(bytes))
    }

    fn write(self, bytes: &mut [u8]) {
        self.0.write(bytes);
    }
}
