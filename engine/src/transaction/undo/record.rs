//! Undo records: what a row was before a change, as bytes.
//!
//! ```text
//!   insert    next | type | number | table | key fields                          | start
//!   update    next | type | number | table | info | DB_TRX_ID | DB_ROLL_PTR | key fields
//!                  | changed fields, old values | ordering columns               | start
//! ```
//!
//! "next" and "start" are offsets on the page: of the record behind, and of this one, so
//! that a page's records can be read in both directions. A field is its length,
//! compressed, and its bytes; NULL has the length 2^32 - 1.
//!
//! The old values are all that is needed to build the row's previous version. The
//! *ordering columns*, those of all indexes, are there for purge, which must find the
//! entries of secondary indexes that the change left behind.
//!
//! Source: InnoDB (`trx_undo_page_report_insert`, `trx_undo_page_report_modify`), without
//! what it adds for columns that are stored elsewhere.

use crate::page::compressed_integer::{CompressedInteger, read_u32, read_u64, read_u64_much};
use crate::page::record_compare::KeyField;
use crate::page::roll_pointer::RollPointer;
use crate::page::{PAGE_SIZE, fil, undo_page};
use crate::transaction::TrxId;

/// The "next" offset in front of a record, and the "start" behind it.
pub(super) const LINK_LENGTH: usize = 2;

/// The longest record: it must fit an undo page that has nothing else.
pub const MAX_UNDO_RECORD: usize =
    fil::TRAILER - undo_page::PAGE_HEADER_END - 2 * LINK_LENGTH - REUSE_RESERVE;

/// Bytes at the end of an undo page that stay free, as InnoDB leaves them.
const REUSE_RESERVE: usize = 10;

/// The length that means NULL (`UNIV_SQL_NULL`).
const NULL_LENGTH: u32 = u32::MAX;

/// Bit of the type byte: no ordering column of any index changed, so that purge has
/// nothing to do (`UPD_NODE_NO_ORD_CHANGE`, in the bits above the type).
const NO_ORDER_CHANGE: u8 = 1 << 4;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum UndoRecordKind {
    /// A row was inserted (`TRX_UNDO_INSERT_REC`).
    Insert = 11,
    /// A row was updated (`TRX_UNDO_UPD_EXIST_REC`).
    UpdateExisting = 12,
    /// A delete-marked row was updated to be there again: an insert over the remains of a
    /// deleted row of the same key (`TRX_UNDO_UPD_DEL_REC`).
    UpdateDeleted = 13,
    /// A row was delete-marked (`TRX_UNDO_DEL_MARK_REC`).
    DeleteMark = 14,
}

impl UndoRecordKind {
    fn from_type(byte: u8) -> Option<UndoRecordKind> {
        Some(match byte & 0x0F {
            11 => UndoRecordKind::Insert,
            12 => UndoRecordKind::UpdateExisting,
            13 => UndoRecordKind::UpdateDeleted,
            14 => UndoRecordKind::DeleteMark,
            _ => return None,
        })
    }
}

/// An insert, to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct InsertUndo<'a> {
    /// The table.
    pub table_id: u64,
    /// The row's key in the clustered index.
    pub key: &'a [KeyField<'a>],
}

/// An update or a delete mark, to be recorded.
#[derive(Clone, Copy, Debug)]
pub struct UpdateUndo<'a> {
    /// What is done: anything but an insert.
    pub kind: UndoRecordKind,
    /// The table.
    pub table_id: u64,
    /// The row's info bits before the change.
    pub info_bits: u8,
    /// Its DB_TRX_ID before.
    pub trx_id: TrxId,
    /// Its DB_ROLL_PTR before.
    pub roll_pointer: RollPointer,
    /// Its key in the clustered index.
    pub key: &'a [KeyField<'a>],
    /// The fields that change, by their position in the clustered index, with their old
    /// values. Not the key's, nor DB_TRX_ID and DB_ROLL_PTR.
    pub changed: &'a [(u16, KeyField<'a>)],
    /// Columns of secondary indexes before the change, by their position in the clustered
    /// index: what purge needs. Empty if no column of an index changes, which is also what
    /// keeps purge from looking at the record.
    pub ordering: &'a [(u16, KeyField<'a>)],
}

/// Bytes that are no undo record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an undo record: {what}")]
pub struct UndoRecordFault {
    /// What is wrong.
    pub what: &'static str,
}

fn put_field(bytes: &mut Vec<u8>, field: KeyField<'_>) {
    match field {
        Some(field) => {
            bytes.extend_from_slice(&CompressedInteger::from_u32(field.len() as u32));
            bytes.extend_from_slice(field);
        }
        None => bytes.extend_from_slice(&CompressedInteger::from_u32(NULL_LENGTH)),
    }
}

fn put_numbered(bytes: &mut Vec<u8>, fields: &[(u16, KeyField<'_>)]) {
    bytes.extend_from_slice(&CompressedInteger::from_u32(fields.len() as u32));
    for &(number, field) in fields {
        bytes.extend_from_slice(&CompressedInteger::from_u32(number.into()));
        put_field(bytes, field);
    }
}

impl InsertUndo<'_> {
    /// Writes the record's bytes, without its links, to an empty buffer.
    pub(super) fn encode(&self, undo_no: u64, bytes: &mut Vec<u8>) {
        bytes.push(UndoRecordKind::Insert as u8);
        bytes.extend_from_slice(&CompressedInteger::from_u64_much(undo_no));
        bytes.extend_from_slice(&CompressedInteger::from_u64_much(self.table_id));
        for &field in self.key {
            put_field(bytes, field);
        }
    }
}

impl UpdateUndo<'_> {
    /// Whether purge has something to do with it.
    pub(super) fn concerns_purge(&self) -> bool {
        self.kind == UndoRecordKind::DeleteMark || !self.ordering.is_empty()
    }

    /// As [`InsertUndo::encode`].
    pub(super) fn encode(&self, undo_no: u64, bytes: &mut Vec<u8>) {
        let order_changes = match self.concerns_purge() {
            true => 0,
            false => NO_ORDER_CHANGE,
        };
        bytes.push(self.kind as u8 | order_changes);
        bytes.extend_from_slice(&CompressedInteger::from_u64_much(undo_no));
        bytes.extend_from_slice(&CompressedInteger::from_u64_much(self.table_id));
        bytes.push(self.info_bits);
        bytes.extend_from_slice(&CompressedInteger::from_u64(self.trx_id));
        bytes.extend_from_slice(&CompressedInteger::from_u64(self.roll_pointer.to_u64()));
        bytes.extend_from_slice(&CompressedInteger::from_u32(self.key.len() as u32));
        for &field in self.key {
            put_field(bytes, field);
        }
        put_numbered(bytes, self.changed);
        put_numbered(bytes, self.ordering);
    }
}

// ---- reading ------------------------------------------------------------------

fn take_field<'a>(input: &mut &'a [u8]) -> Option<KeyField<'a>> {
    let length = read_u32(input)?;
    if length == NULL_LENGTH {
        return Some(None);
    }
    let (field, rest) = input.split_at_checked(length as usize)?;
    *input = rest;
    Some(Some(field))
}

/// Fields one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct UndoFields<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for UndoFields<'a> {
    type Item = KeyField<'a>;

    fn next(&mut self) -> Option<KeyField<'a>> {
        take_field(&mut self.bytes)
    }
}

/// Fields with their positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct NumberedFields<'a> {
    bytes: &'a [u8],
}

impl<'a> Iterator for NumberedFields<'a> {
    type Item = (usize, KeyField<'a>);

    fn next(&mut self) -> Option<(usize, KeyField<'a>)> {
        let number = read_u32(&mut self.bytes)?;
        Some((number as usize, take_field(&mut self.bytes)?))
    }
}

/// What was there before an update.
#[derive(Clone, Copy, Debug)]
pub struct Before<'a> {
    /// The row's info bits.
    pub info_bits: u8,
    /// Its DB_TRX_ID.
    pub trx_id: TrxId,
    /// Its DB_ROLL_PTR.
    pub roll_pointer: RollPointer,
    /// Fields that changed, with their old values.
    pub changed: NumberedFields<'a>,
    /// Columns of secondary indexes.
    pub ordering: NumberedFields<'a>,
}

/// An undo record, read.
#[derive(Clone, Copy, Debug)]
pub struct UndoRecord<'a> {
    /// What was done.
    pub kind: UndoRecordKind,
    /// Its number within its transaction.
    pub undo_no: u64,
    /// The table.
    pub table_id: u64,
    /// The row's key in the clustered index.
    pub key: UndoFields<'a>,
    /// What was there before; `None` for an insert.
    pub before: Option<Before<'a>>,
    /// Whether purge has something to do with it.
    pub concerns_purge: bool,
}

impl<'a> UndoRecord<'a> {
    /// Reads a record's bytes, without its links.
    ///
    /// # Errors
    /// If they are no undo record.
    pub fn parse(bytes: &'a [u8]) -> Result<UndoRecord<'a>, UndoRecordFault> {
        let fault = |what| UndoRecordFault { what };
        let mut input = bytes;
        let (&first, rest) = input.split_first().ok_or(fault("it has no bytes"))?;
        input = rest;
        let kind = UndoRecordKind::from_type(first).ok_or(fault("its type is unknown"))?;
        let truncated = fault("it ends too early");
        let undo_no = read_u64_much(&mut input).ok_or(truncated)?;
        let table_id = read_u64_much(&mut input).ok_or(truncated)?;
        if kind == UndoRecordKind::Insert {
            let key = UndoFields { bytes: input };
            while !input.is_empty() {
                take_field(&mut input).ok_or(truncated)?;
            }
            return Ok(UndoRecord {
                kind,
                undo_no,
                table_id,
                key,
                before: None,
                concerns_purge: false,
            });
        }
        let (&info_bits, rest) = input.split_first().ok_or(truncated)?;
        input = rest;
        let trx_id = read_u64(&mut input).ok_or(truncated)?;
        let pointer = read_u64(&mut input).ok_or(truncated)?;
        if pointer >> 56 != 0 {
            return Err(fault("its roll pointer has more than 56 bits"));
        }
        let fields = read_u32(&mut input).ok_or(truncated)?;
        let key = take_list(&mut input, fields, take_field).ok_or(truncated)?;
        let mut lists = [NumberedFields::default(); 2];
        for list in &mut lists {
            let fields = read_u32(&mut input).ok_or(truncated)?;
            let one = |input: &mut &'a [u8]| {
                read_u32(input)?;
                take_field(input)
            };
            list.bytes = take_list(&mut input, fields, one).ok_or(truncated)?;
        }
        if !input.is_empty() {
            return Err(fault("something follows it"));
        }
        let [changed, ordering] = lists;
        Ok(UndoRecord {
            kind,
            undo_no,
            table_id,
            key: UndoFields { bytes: key },
            before: Some(Before {
                info_bits,
                trx_id,
                roll_pointer: RollPointer::from_u64(pointer),
                changed,
                ordering,
            }),
            concerns_purge: first & NO_ORDER_CHANGE == 0,
        })
    }
}

/// The bytes of so many fields.
fn take_list<'a>(
    input: &mut &'a [u8],
    fields: u32,
    one: impl Fn(&mut &'a [u8]) -> Option<KeyField<'a>>,
) -> Option<&'a [u8]> {
    let start = *input;
    for _ in 0..fields {
        one(input)?;
    }
    Some(&start[..start.len() - input.len()])
}

const _: () = assert!(MAX_UNDO_RECORD < PAGE_SIZE);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Owned = Option<Vec<u8>>;

    fn field() -> impl Strategy<Value = Owned> {
        prop::option::of(prop::collection::vec(any::<u8>(), 0..200))
    }

    fn numbered() -> impl Strategy<Value = Vec<(u16, Owned)>> {
        prop::collection::vec((0..64_u16, field()), 0..5)
    }

    fn borrow(fields: &[(u16, Owned)]) -> Vec<(u16, KeyField<'_>)> {
        fields
            .iter()
            .map(|(number, field)| (*number, field.as_deref()))
            .collect()
    }

    #[test]
    fn an_insert_is_as_short_as_innodbs() {
        let mut bytes = Vec::new();
        let insert = InsertUndo {
            table_id: 456,
            key: &[Some(&[0x80, 0, 0, 1])],
        };
        insert.encode(0, &mut bytes);
        assert_eq!(bytes, [11, 0, 0x81, 0xC8, 4, 0x80, 0, 0, 1]);
        let record = UndoRecord::parse(&bytes).unwrap();
        assert_eq!((record.undo_no, record.table_id), (0, 456));
        assert_eq!(record.key.collect::<Vec<_>>(), insert.key);
        assert!(record.before.is_none());
        assert!(UndoRecord::parse(&bytes[..7]).is_err());
        assert!(UndoRecord::parse(&[]).is_err());
        assert!(UndoRecord::parse(&[9, 0, 0]).is_err());
    }

    proptest! {
        #[test]
        fn updates_round_trip(
            key in prop::collection::vec(field(), 1..4),
            changed in numbered(),
            ordering in numbered(),
            trx_id in 0..1_u64 << 48,
            pointer in 0..1_u64 << 56,
            undo_no: u64,
            table_id: u64,
            kind in prop_oneof![
                Just(UndoRecordKind::UpdateExisting),
                Just(UndoRecordKind::UpdateDeleted),
                Just(UndoRecordKind::DeleteMark)
            ],
            cut in 0..1000_usize,
        ) {
            let key: Vec<KeyField<'_>> = key.iter().map(|field| field.as_deref()).collect();
            let (changed, ordering) = (borrow(&changed), borrow(&ordering));
            let update = UpdateUndo {
                kind, table_id, info_bits: 0x20, trx_id,
                roll_pointer: RollPointer::from_u64(pointer),
                key: &key, changed: &changed, ordering: &ordering,
            };
            let mut bytes = Vec::new();
            update.encode(undo_no, &mut bytes);
            let record = UndoRecord::parse(&bytes).unwrap();
            prop_assert_eq!((record.kind, record.undo_no, record.table_id), (kind, undo_no, table_id));
            prop_assert_eq!(&record.key.collect::<Vec<_>>(), &key);
            let before = record.before.unwrap();
            prop_assert_eq!((before.info_bits, before.trx_id), (0x20, trx_id));
            prop_assert_eq!(before.roll_pointer.to_u64(), pointer);
            let list = |fields: NumberedFields<'_>| -> Vec<(u16, Option<Vec<u8>>)> {
                fields.map(|(n, field)| (n as u16, field.map(<[u8]>::to_vec))).collect()
            };
            let owned = |fields: &[(u16, KeyField<'_>)]| -> Vec<(u16, Option<Vec<u8>>)> {
                fields.iter().map(|&(n, field)| (n, field.map(<[u8]>::to_vec))).collect()
            };
            prop_assert_eq!(list(before.changed), owned(&changed));
            prop_assert_eq!(list(before.ordering), owned(&ordering));
            prop_assert_eq!(record.concerns_purge, update.concerns_purge());
            if cut < bytes.len() {
                prop_assert!(UndoRecord::parse(&bytes[..cut]).is_err());
            }
        }
    }
}
