//! Previous versions of a row.
//!
//! ```text
//!   as it is in the page       id 7 | trx 40 | ptr | k 3 | c "x"
//!   undo record of 40          trx 35 | ptr' | changed: k = 2
//!   the version before         id 7 | trx 35 | ptr'| k 2 | c "x"
//! ```
//!
//! An undo record has the old values of what changed; the rest is taken from the version
//! that follows. So a version is built from the one after it, step by step, and each
//! step reads one undo record: the price of an old view on a row that is often changed.

use std::ops::Range;

use crate::page::encoding::{TRX_ID_LENGTH, decode_trx_id, encode_trx_id};
use crate::page::record::{INFO_DELETED, Record};
use crate::page::record_compare::KeyField;
use crate::page::record_format::RecordFormat;
use crate::page::roll_pointer::{ROLL_POINTER_LENGTH, RollPointer};
use crate::transaction::TrxId;

use super::record::UndoRecord;

/// An undo record that does not fit the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an undo record changes field {field} of a row of {fields} fields")]
pub struct VersionError {
    /// The field that it names.
    pub field: usize,
    /// Fields of the row.
    pub fields: usize,
}

/// A version of a row: the fields of its clustered record. Used again and again, it does
/// not allocate once it has grown.
#[derive(Clone, Debug, Default)]
pub struct RowVersion {
    bytes: Vec<u8>,
    fields: Vec<Option<Range<usize>>>,
    trx_id_field: usize,
    info_bits: u8,
}

impl RowVersion {
    /// No row.
    pub fn new() -> RowVersion {
        RowVersion::default()
    }

    /// Becomes the row as it stands on its page.
    ///
    /// # Panics
    /// If the format is not a clustered index's.
    pub fn copy_from(&mut self, format: &RecordFormat, record: Record<'_>) {
        self.trx_id_field = format
            .trx_id_field()
            .expect("only clustered records have versions");
        self.info_bits = record.info_bits();
        self.bytes.clear();
        self.fields.clear();
        let extent = format.extent(record);
        let origin = usize::from(record.origin());
        self.bytes
            .extend_from_slice(&record.page()[origin..origin + extent.data]);
        let offsets = format.offsets(record);
        self.fields
            .extend((0..offsets.count()).map(|field| offsets.range(field)));
    }

    /// Becomes the row with these fields, in stored order, and these info bits.
    ///
    /// # Panics
    /// If the format is not a clustered index's, or a system column is missing.
    pub fn set<'a>(
        &mut self,
        format: &RecordFormat,
        fields: impl IntoIterator<Item = KeyField<'a>>,
        info_bits: u8,
    ) {
        self.trx_id_field = format
            .trx_id_field()
            .expect("only clustered records have versions");
        self.info_bits = info_bits;
        self.bytes.clear();
        self.fields.clear();
        for field in fields {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(field.unwrap_or_default());
            self.fields.push(field.map(|_| start..self.bytes.len()));
        }
        assert!(self.len() > self.trx_id_field + 1, "it has system columns");
    }

    /// Number of fields.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether it is no row.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field, by its position in the clustered index.
    ///
    /// # Panics
    /// If there is no such field.
    #[inline]
    pub fn field(&self, field: usize) -> KeyField<'_> {
        self.fields[field]
            .as_ref()
            .map(|range| &self.bytes[range.clone()])
    }

    /// All fields, in stored order.
    pub fn fields(&self) -> impl Iterator<Item = KeyField<'_>> {
        (0..self.len()).map(|field| self.field(field))
    }

    /// Whether the row was deleted in this version.
    pub fn is_deleted(&self) -> bool {
        self.info_bits & INFO_DELETED != 0
    }

    /// The info bits.
    pub fn info_bits(&self) -> u8 {
        self.info_bits
    }

    fn system_field<const N: usize>(&self, field: usize) -> [u8; N] {
        let bytes = self.field(field).expect("system columns are never NULL");
        bytes.try_into().expect("system columns have one length")
    }

    /// Who made this version.
    pub fn trx_id(&self) -> TrxId {
        decode_trx_id(self.system_field::<TRX_ID_LENGTH>(self.trx_id_field))
    }

    /// Where the undo record of the change is that made it.
    pub fn roll_pointer(&self) -> RollPointer {
        let field = self.trx_id_field + 1;
        RollPointer::from_bytes(self.system_field::<ROLL_POINTER_LENGTH>(field))
    }

    fn overwrite(&mut self, field: usize, bytes: &[u8]) {
        if let Some(range) = self.fields[field].clone() {
            self.bytes[range].copy_from_slice(bytes);
        }
    }

    /// Becomes the version before, by the undo record of the change that made this one.
    /// False if there was none before: it was an insert.
    ///
    /// # Errors
    /// If the undo record is not this row's; the version is then useless.
    pub fn step_back(&mut self, undo: &UndoRecord<'_>) -> Result<bool, VersionError> {
        let Some(before) = undo.before else {
            return Ok(false);
        };
        self.overwrite(self.trx_id_field, &encode_trx_id(before.trx_id));
        let pointer = before.roll_pointer.to_bytes();
        self.overwrite(self.trx_id_field + 1, &pointer);
        self.info_bits = before.info_bits;
        let fields = self.fields.len();
        for (field, value) in before.changed {
            let place = self
                .fields
                .get_mut(field)
                .ok_or(VersionError { field, fields })?;
            *place = match value {
                None => None,
                // What fits stays where it is, so that long chains do not grow.
                Some(value) => match place.take() {
                    Some(range) if range.len() >= value.len() => {
                        let range = range.start..range.start + value.len();
                        self.bytes[range.clone()].copy_from_slice(value);
                        Some(range)
                    }
                    _ => {
                        let start = self.bytes.len();
                        self.bytes.extend_from_slice(value);
                        Some(start..self.bytes.len())
                    }
                },
            };
        }
        Ok(true)
    }
}
