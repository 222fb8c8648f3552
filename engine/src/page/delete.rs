//! Deleting: marking a record, and taking a marked one out.
//!
//! A DELETE only marks the record, because older read views still need it. Purge
//! removes it from the page later, and so does the rollback of an insert:
//!
//! ```text
//!   list   inf ─> 10 ─> 20 ─> 30 ─> sup      remove 20
//!   list   inf ─> 10 ──────> 30 ─> sup
//!   free   20 ─> (freed before) ─> ...       its heap number and bytes wait here
//! ```
//!
//! The owner of its group owns one fewer, or, if the record was the owner, the
//! record before it becomes the owner. A group of three is then balanced. The
//! whole is one operation in the log: five bytes instead of five ranges.

use super::directory;
use super::index_header::{self as header, SLOT_MIN_OWNED};
use super::index_page::IndexPage;
use super::record::{INFO_DELETED, INFO_MIN_REC, n_owned, next_origin, set_n_owned, set_next};
use super::record_format::RecordFormat;
use super::{ChangeLog, PageBytes, PageOperation, PageWriter};

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Marks a record as deleted, or takes the mark off.
    pub fn set_delete_mark(&mut self, origin: u16, deleted: bool) {
        self.set_info_bit(origin, INFO_DELETED, deleted);
    }

    /// Marks a node pointer as lower than every key, or takes the mark off. The
    /// first record of the leftmost page of each level above the leaves has it.
    pub fn set_min_rec_mark(&mut self, origin: u16, is_min_rec: bool) {
        self.set_info_bit(origin, INFO_MIN_REC, is_min_rec);
    }

    fn set_info_bit(&mut self, origin: u16, bit: u8, on: bool) {
        let offset = usize::from(origin) - 5;
        let byte = self.page()[offset];
        self.write(offset, &[if on { byte | bit } else { byte & !bit }]);
    }

    /// Takes a user record out of the page. A page that loses its only record
    /// becomes as good as new, with an empty heap.
    pub fn delete_record(&mut self, format: &RecordFormat, origin: u16) {
        let page = self.index_page();
        debug_assert!(page.record(origin).is_user_record());
        if page.record_count() == 1 {
            let level = page.level();
            return self.clear_index_page(level);
        }
        let size = page.record(origin).extent(format).size() as u16;
        self.flush();
        unlink_record(self.page_mut(), origin, size);
        self.record(PageOperation::UnlinkRecord { origin, size });
    }
}

/// Carries [`PageOperation::UnlinkRecord`] out.
pub(super) fn unlink_record(page: &mut PageBytes, origin: u16, size: u16) {
    let slot = IndexPage::new(page).owner_slot(origin);
    let mut previous = directory::slot_at(page, slot - 1);
    loop {
        let next = next_origin(page, previous);
        if next == origin {
            break;
        }
        previous = next;
    }
    set_next(page, previous, next_origin(page, origin));

    let owner = directory::slot_at(page, slot);
    let owned = n_owned(page, owner) - 1;
    if owner == origin {
        // A group but the last has four records or more, so `previous` is of it.
        directory::put_slot(page, slot, previous);
        set_n_owned(page, origin, 0);
        set_n_owned(page, previous, owned);
    } else {
        set_n_owned(page, owner, owned);
    }

    set_next(page, origin, header::FREE.get(page));
    header::FREE.put(page, origin);
    header::GARBAGE.put(page, header::GARBAGE.get(page) + size);
    header::LAST_INSERT.put(page, 0);
    header::RECORDS.put(page, header::RECORDS.get(page) - 1);
    if owned < SLOT_MIN_OWNED {
        directory::balance_group(page, slot);
    }
}
