//! Updating in place: fields that keep their length.
//!
//! Most updates do: numbers, CHAR, transaction ids. They overwrite bytes and
//! touch neither list nor directory. An update that changes a length is a delete
//! and an insert, and the caller's business, since it may need another page.

use super::encoding::{TRX_ID_LENGTH, encode_trx_id};
use super::index_header as header;
use super::record_compare::KeyField;
use super::record_format::RecordFormat;
use super::roll_pointer::{ROLL_POINTER_LENGTH, RollPointer};
use super::{ChangeLog, PageNumber, PageWriter};

/// The new value needs another number of bytes, or is NULL where the old one was
/// not (or the reverse). Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field {field} would change its size from {from:?} to {to:?} bytes (None is NULL)")]
pub struct SizeChanged {
    /// Position of the field.
    pub field: usize,
    /// Its length.
    pub from: Option<usize>,
    /// The length of the new value.
    pub to: Option<usize>,
}

impl<L: ChangeLog + ?Sized> PageWriter<'_, L> {
    /// Overwrites a field by a value of the same length.
    ///
    /// # Errors
    /// [`SizeChanged`]
    pub fn update_field(
        &mut self,
        format: &RecordFormat,
        origin: u16,
        field: usize,
        value: KeyField<'_>,
    ) -> Result<(), SizeChanged> {
        let old = format.field_range(self.index_page().record(origin), field);
        let (from, to) = (old.map(|(start, end)| end - start), value.map(<[u8]>::len));
        if from != to {
            return Err(SizeChanged { field, from, to });
        }
        if let (Some((start, _)), Some(value)) = (old, value) {
            self.write(start, value);
        }
        Ok(())
    }

    /// Sets DB_TRX_ID and DB_ROLL_PTR of a clustered leaf record.
    ///
    /// # Panics
    /// If the index is not clustered.
    pub fn set_system_fields(
        &mut self,
        format: &RecordFormat,
        origin: u16,
        trx_id: u64,
        roll_pointer: RollPointer,
    ) {
        let record = self.index_page().record(origin);
        let offset = usize::from(origin) + format.system_fields_offset(record);
        let mut bytes = [0; TRX_ID_LENGTH + ROLL_POINTER_LENGTH];
        bytes[..TRX_ID_LENGTH].copy_from_slice(&encode_trx_id(trx_id));
        bytes[TRX_ID_LENGTH..].copy_from_slice(&roll_pointer.to_bytes());
        self.write(offset, &bytes);
    }

    /// Points a node pointer at another child page.
    pub fn set_child(&mut self, format: &RecordFormat, origin: u16, child: PageNumber) {
        let record = self.index_page().record(origin);
        debug_assert!(record.is_node_pointer());
        let end = usize::from(origin) + record.extent(format).data;
        self.write(end - 4, &child.0.to_be_bytes());
    }

    /// Raises PAGE_MAX_TRX_ID of a secondary leaf page to `trx_id`; a lower one
    /// changes nothing.
    pub fn raise_max_trx_id(&mut self, trx_id: u64) {
        if header::MAX_TRX_ID.get(self.page()) < trx_id {
            self.set(header::MAX_TRX_ID, trx_id);
        }
    }
}
