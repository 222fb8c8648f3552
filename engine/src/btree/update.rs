//! Changing a record without changing its key.
//!
//! ```text
//!   in place       no field changes its length       bytes are overwritten
//!   optimistic     the new record fits its leaf       deleted and inserted again there
//!   pessimistic    it does not, or the leaf would     deleted and inserted, with a split
//!                  be emptier than half               or a merge
//! ```
//!
//! While a record is out of its page, its locks are parked on the infimum.

use super::change::TreeChange;
use super::error::BtreeError;
use super::index::Index;
use super::insert::{REORGANISE_LIMIT, insert_on_page, note_change, reserve};
use super::lock_hooks::{Changer, HeapMove, INFIMUM_HEAP};
use super::search::Position;
use crate::page::record_compare::KeyField;
use crate::page::{PageId, RecordImage, RollPointer};
use crate::page_allocation::ReservePurpose;
use crate::redo_log::{MiniTransaction, PageHandle};
use crate::runtime::{Cost, cpu};

/// A field's new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldChange<'a> {
    /// The field's number in the record.
    pub field: usize,
    /// Its value.
    pub value: KeyField<'a>,
}

/// Who changed a row of a clustered index, and where its version before is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemFields {
    /// DB_TRX_ID.
    pub trx_id: u64,
    /// DB_ROLL_PTR.
    pub roll_pointer: RollPointer,
}

/// Overwrites fields of a record whose leaf is held in X. False, and nothing is done, if
/// one of them would change its length. `system` is for clustered indexes.
pub fn update_in_place(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    changes: &[FieldChange<'_>],
    system: Option<SystemFields>,
    changer: Changer<'_>,
) -> bool {
    let format = &index.format;
    let record = position.record(mtr);
    let same_length = |change: &FieldChange<'_>| {
        debug_assert!(change.field >= format.key_fields(), "a key stays as it is");
        let old = record.field(format, change.field).map(<[u8]>::len);
        old == change.value.map(<[u8]>::len)
    };
    if !changes.iter().all(same_length) {
        return false;
    }
    cpu(Cost::RecordUpdate);
    let mut writer = mtr.writer(position.leaf);
    for change in changes {
        let updated = writer.update_field(format, position.origin, change.field, change.value);
        debug_assert_eq!(updated, Ok(()), "the length was compared");
    }
    if let Some(system) = system {
        let SystemFields {
            trx_id,
            roll_pointer,
        } = system;
        writer.set_system_fields(format, position.origin, trx_id, roll_pointer);
    }
    drop(writer);
    note_change(mtr, index, position.leaf, changer);
    true
}

/// Marks a record as deleted, or takes the mark off. Its leaf is held in X. `system` is
/// for clustered indexes.
pub fn set_delete_mark(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    deleted: bool,
    system: Option<SystemFields>,
    changer: Changer<'_>,
) {
    cpu(Cost::RecordUpdate);
    let mut writer = mtr.writer(position.leaf);
    writer.set_delete_mark(position.origin, deleted);
    if let Some(system) = system {
        let SystemFields {
            trx_id,
            roll_pointer,
        } = system;
        writer.set_system_fields(&index.format, position.origin, trx_id, roll_pointer);
    }
    drop(writer);
    note_change(mtr, index, position.leaf, changer);
}

/// Replaces a record by one with the same key and another length, if its leaf has room
/// and stays at least half full. Returns the new origin. `None`: nothing was done, and the
/// update must be tried pessimistically.
pub fn optimistic_update(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    image: RecordImage<'_>,
    changer: Changer<'_>,
) -> Option<u16> {
    let page = mtr.index_page(position.leaf);
    let old = position.record(mtr).extent(&index.format).size();
    let new = image.size();
    if page.data_size() - old + new < index.merge_size() {
        return None;
    }
    let room = old + page.max_insert_size_after_reorganise(1);
    let fits = room >= new && room >= REORGANISE_LIMIT;
    if !fits && page.record_count() > 1 {
        return None;
    }
    let previous = take_out(mtr, index, position, changer);
    let origin = insert_on_page(mtr, index, position.leaf, previous, image, changer);
    let origin = origin.expect("the room was measured");
    let parked = mtr.page_id(position.leaf);
    restore_locks(mtr, parked, position.leaf, origin, changer);
    note_change(mtr, index, position.leaf, changer);
    Some(origin)
}

/// Replaces a record by one with the same key; splits or merges pages if need be. The
/// position is of a search with
/// [`ModifyTree(Both)`](super::TreeIntention::Both). Returns where the record is, if no
/// merge moved it.
///
/// # Errors
/// If there is no room in the tablespace, or a page cannot be had.
pub fn pessimistic_update(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    image: RecordImage<'_>,
    changer: Changer<'_>,
) -> Result<Option<(PageHandle, u16)>, BtreeError> {
    if let Some(origin) = optimistic_update(mtr, index, position, image, changer) {
        return Ok(Some((position.leaf, origin)));
    }
    let leaf = position.leaf;
    let parked = mtr.page_id(leaf);
    let page = mtr.index_page(leaf);
    let old = position.record(mtr).extent(&index.format).size();
    let fits = page.max_insert_size_after_reorganise(0) + old >= image.size();
    if !fits {
        reserve(mtr, index, position.path.height(), ReservePurpose::Normal)?;
    }
    let mut change = TreeChange {
        index,
        path: position.path,
        changer,
    };
    let previous = take_out(mtr, index, position, changer);
    if let Some(origin) = insert_on_page(mtr, index, leaf, previous, image, changer) {
        restore_locks(mtr, parked, leaf, origin, changer);
        note_change(mtr, index, leaf, changer);
        let merged = change.merge_if_useful(mtr, 0, leaf)?;
        return Ok((!merged).then_some((leaf, origin)));
    }
    let (target, origin) = change.split_and_insert(mtr, 0, leaf, previous, image)?;
    restore_locks(mtr, parked, target, origin, changer);
    note_change(mtr, index, target, changer);
    Ok(Some((target, origin)))
}

/// Takes a record out and parks its locks. Returns the record before it.
fn take_out(
    mtr: &mut MiniTransaction<'_>,
    index: &Index,
    position: &Position,
    changer: Changer<'_>,
) -> u16 {
    cpu(Cost::RecordDelete);
    let page = mtr.index_page(position.leaf);
    let previous = page.previous(position.origin);
    let id = page.page_id();
    if changer.locks.has_locks(id) {
        let park = HeapMove {
            from: page.record(position.origin).heap_number(),
            to: INFIMUM_HEAP,
        };
        changer.locks.records_moved(id, id, &[park]);
    }
    mtr.writer(position.leaf)
        .delete_record(&index.format, position.origin);
    previous
}

/// The locks that were parked on the infimum of `parked` go to the record again.
fn restore_locks(
    mtr: &MiniTransaction<'_>,
    parked: PageId,
    leaf: PageHandle,
    origin: u16,
    changer: Changer<'_>,
) {
    if changer.locks.has_locks(parked) {
        let page = mtr.index_page(leaf);
        let back = HeapMove {
            from: INFIMUM_HEAP,
            to: page.record(origin).heap_number(),
        };
        changer.locks.records_moved(parked, page.page_id(), &[back]);
    }
}
