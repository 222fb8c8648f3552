//! Doubly linked lists whose nodes lie on pages.
//!
//! A list has a base of 16 bytes on some page (length, first, last) and nodes of 12 bytes
//! (previous, next) inside the things that are listed. Adding or removing a node changes
//! up to four places on up to four pages, all in one mini-transaction.
//!
//! ```text
//!   add_last:   base.last ──> new        remove:  previous.next ──> next
//!               last.next ──> new                 next.previous ──> previous
//!               new.previous ──> last             base, if the node was at an end
//! ```
//!
//! Who may change a list is the business of its user: extents under the tablespace's
//! latch, undo logs under that of their rollback segment.

use super::AllocationError;
use crate::page::field::Field;
use crate::page::file_list::{FileAddress, ListBase, ListNode};
use crate::page::{PageId, SpaceId, fil};
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::LatchMode;

/// Where a list's base is: on a page that the mini-transaction holds.
#[derive(Clone, Copy, Debug)]
pub struct ListPlace {
    /// The page, in X if the list is to be changed.
    pub page: PageHandle,
    /// The base on it.
    pub base: Field<ListBase>,
}

impl ListPlace {
    /// A list whose base is at `base` of a page.
    pub const fn new(page: PageHandle, base: Field<ListBase>) -> ListPlace {
        ListPlace { page, base }
    }

    /// The base.
    pub fn get(self, mtr: &MiniTransaction<'_>) -> ListBase {
        self.base.get(mtr.page(self.page))
    }

    /// Number of nodes.
    pub fn len(self, mtr: &MiniTransaction<'_>) -> u32 {
        self.get(mtr).length
    }

    /// Whether there is no node.
    pub fn is_empty(self, mtr: &MiniTransaction<'_>) -> bool {
        self.len(mtr) == 0
    }

    /// The first node.
    pub fn first(self, mtr: &MiniTransaction<'_>) -> Option<FileAddress> {
        let first = self.get(mtr).first;
        (!first.is_null()).then_some(first)
    }

    /// The last node.
    pub fn last(self, mtr: &MiniTransaction<'_>) -> Option<FileAddress> {
        let last = self.get(mtr).last;
        (!last.is_null()).then_some(last)
    }

    fn space(self, mtr: &MiniTransaction<'_>) -> SpaceId {
        mtr.page_id(self.page).space
    }
}

/// The field of a node, if one can be at that address.
///
/// # Errors
/// If the address lies outside the body of a page.
pub fn node_field(
    space: SpaceId,
    address: FileAddress,
) -> Result<(PageId, Field<ListNode>), AllocationError> {
    let page = PageId {
        space,
        page: address.page,
    };
    let offset = usize::from(address.offset);
    if address.is_null() || !(fil::HEADER_SIZE..=fil::TRAILER - 12).contains(&offset) {
        return Err(AllocationError::Damaged {
            page,
            what: "the offset of a list node",
            found: offset as u64,
            accepted: "38 to 16364 on a page that exists",
        });
    }
    Ok((page, Field::new(offset, "FLST_NODE")))
}

/// Reads a node; its page is latched in X and stays with the mini-transaction.
///
/// # Errors
/// If its page cannot be had.
pub fn read_node(
    mtr: &mut MiniTransaction<'_>,
    space: SpaceId,
    address: FileAddress,
) -> Result<ListNode, AllocationError> {
    let (page, field) = node_field(space, address)?;
    let handle = mtr.fix(page, LatchMode::X)?;
    Ok(field.get(mtr.page(handle)))
}

/// Changes a node.
fn change_node(
    mtr: &mut MiniTransaction<'_>,
    space: SpaceId,
    address: FileAddress,
    change: impl FnOnce(&mut ListNode),
) -> Result<(), AllocationError> {
    let (page, field) = node_field(space, address)?;
    let handle = mtr.fix(page, LatchMode::X)?;
    let mut node = field.get(mtr.page(handle));
    change(&mut node);
    mtr.writer(handle).set(field, node);
    Ok(())
}

/// An end of a list.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Adds a node at the end of a list.
///
/// # Errors
/// If a page of a node cannot be had.
pub fn add_last(
    mtr: &mut MiniTransaction<'_>,
    list: ListPlace,
    node: FileAddress,
) -> Result<(), AllocationError> {
    add(mtr, list, node, End::Last)
}

/// Adds a node in front of a list.
///
/// # Errors
/// As [`add_last`].
pub fn add_first(
    mtr: &mut MiniTransaction<'_>,
    list: ListPlace,
    node: FileAddress,
) -> Result<(), AllocationError> {
    add(mtr, list, node, End::First)
}

/// The neighbour first, then the node, then the base: redo has that order.
fn add(
    mtr: &mut MiniTransaction<'_>,
    list: ListPlace,
    node: FileAddress,
    end: End,
) -> Result<(), AllocationError> {
    let space = list.space(mtr);
    let mut base = list.get(mtr);
    let mut new = ListNode {
        previous: FileAddress::NULL,
        next: FileAddress::NULL,
    };
    let neighbour = match end {
        End::First => base.first,
        End::Last => base.last,
    };
    match end {
        End::First => new.next = neighbour,
        End::Last => new.previous = neighbour,
    }
    if !neighbour.is_null() {
        change_node(mtr, space, neighbour, |place| match end {
            End::First => place.previous = node,
            End::Last => place.next = node,
        })?;
    }
    change_node(mtr, space, node, |place| *place = new)?;
    let (this_end, other_end) = match end {
        End::First => (&mut base.first, &mut base.last),
        End::Last => (&mut base.last, &mut base.first),
    };
    *this_end = node;
    if other_end.is_null() {
        *other_end = node;
    }
    base.length += 1;
    mtr.writer(list.page).set(list.base, base);
    Ok(())
}

/// Takes a node out of its list.
///
/// # Errors
/// If a page of a node cannot be had, or the list is empty already.
pub fn remove(
    mtr: &mut MiniTransaction<'_>,
    list: ListPlace,
    node: FileAddress,
) -> Result<(), AllocationError> {
    let space = list.space(mtr);
    let mut base = list.get(mtr);
    if base.length == 0 {
        return Err(AllocationError::Damaged {
            page: mtr.page_id(list.page),
            what: "the length of a list that a node is taken from",
            found: 0,
            accepted: "1 and more",
        });
    }
    let ListNode { previous, next } = read_node(mtr, space, node)?;
    if previous.is_null() {
        base.first = next;
    } else {
        change_node(mtr, space, previous, |place| place.next = next)?;
    }
    if next.is_null() {
        base.last = previous;
    } else {
        change_node(mtr, space, next, |place| place.previous = previous)?;
    }
    base.length -= 1;
    mtr.writer(list.page).set(list.base, base);
    Ok(())
}
