//! One record on an index page, seen through its header.
//!
//! A record is addressed by its *origin*, the first byte of its data. Everything
//! that is needed to move around lies at fixed distances to the left of it;
//! lengths and NULL bits grow further to the left, as many as the index needs.
//!
//! ```text
//!                                               origin
//!                                                 v
//!   +---------+---------+------+---------+--------+----------------- - -
//!   | lengths | NULL    | info,| heap no,|  next  | field 0, field 1, ...
//!   | (0..)   | bits    | owned| status  |(signed)|
//!   +---------+---------+------+---------+--------+----------------- - -
//!                         -5     -4 -3     -2 -1    0
//! ```
//!
//! *next* is the distance from this origin to that of the next record in key
//! order; 0 ends the list. *owned* is not 0 for records that a directory slot
//! points to (see [`directory`](super::directory)). *heap no* numbers the records
//! of a page in the order of their allocation; row locks are kept by it.

use super::bytes::{put_u16, u8_at, u16_at, u32_at};
use super::record_format::{RecordExtent, RecordFormat};
use super::roll_pointer::{ROLL_POINTER_LENGTH, RollPointer};
use super::{PageBytes, PageNumber, encoding};

/// Bytes of the fixed part of a record's header (`REC_N_NEW_EXTRA_BYTES`).
pub const FIXED_HEADER_SIZE: usize = 5;

/// Info bit: the first record of the leftmost page of a level above the leaves.
/// Its key counts as lower than every other.
pub const INFO_MIN_REC: u8 = 0x10;
/// Info bit: the record is deleted and waits for purge.
pub const INFO_DELETED: u8 = 0x20;

/// The three low bits of a record's heap word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordStatus {
    /// A record of a leaf page.
    Ordinary = 0,
    /// A record above the leaves: key and child page number.
    NodePointer = 1,
    /// The start of the list.
    Infimum = 2,
    /// The end of the list.
    Supremum = 3,
}

/// A record at its place on a page. It is one pointer and one offset.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    page: &'a PageBytes,
    origin: u16,
}

impl<'a> Record<'a> {
    /// The record with this origin. Nothing is checked here.
    #[inline(always)]
    pub fn new(page: &'a PageBytes, origin: u16) -> Record<'a> {
        Record { page, origin }
    }

    /// The page the record is on.
    #[inline(always)]
    pub fn page(self) -> &'a PageBytes {
        self.page
    }

    /// Offset of the first data byte on the page.
    #[inline(always)]
    pub fn origin(self) -> u16 {
        self.origin
    }

    /// Origin of the next record in key order, or of the next freed record on
    /// the free list; 0 at the end.
    #[inline(always)]
    pub fn next(self) -> u16 {
        next_origin(self.page, self.origin)
    }

    /// [`INFO_MIN_REC`] and [`INFO_DELETED`]; MySQL 8 has two more for columns
    /// added by an instant ALTER, which we never write.
    #[inline(always)]
    pub fn info_bits(self) -> u8 {
        u8_at(self.page, usize::from(self.origin) - 5) & 0xF0
    }

    /// How many records the directory slot of this record stands for; 0 if none
    /// points here.
    #[inline(always)]
    pub fn n_owned(self) -> usize {
        n_owned(self.page, self.origin)
    }

    /// The record's number in the heap: 0 infimum, 1 supremum, 2 and up.
    #[inline(always)]
    pub fn heap_number(self) -> u16 {
        u16_at(self.page, usize::from(self.origin) - 4) >> 3
    }

    /// The status bits; `None` for a value we do not know.
    pub fn status(self) -> Option<RecordStatus> {
        match u16_at(self.page, usize::from(self.origin) - 4) & 7 {
            0 => Some(RecordStatus::Ordinary),
            1 => Some(RecordStatus::NodePointer),
            2 => Some(RecordStatus::Infimum),
            3 => Some(RecordStatus::Supremum),
            _ => None,
        }
    }

    /// Whether this is a record of a level above the leaves.
    #[inline(always)]
    pub fn is_node_pointer(self) -> bool {
        u8_at(self.page, usize::from(self.origin) - 3) & 7 == RecordStatus::NodePointer as u8
    }

    /// Whether this is a record that users put here, not infimum or supremum.
    #[inline(always)]
    pub fn is_user_record(self) -> bool {
        self.heap_number() >= 2
    }

    /// Whether the record is deleted and waits for purge.
    #[inline(always)]
    pub fn is_delete_marked(self) -> bool {
        self.info_bits() & INFO_DELETED != 0
    }

    /// Whether the record's key counts as lower than every other.
    #[inline(always)]
    pub fn is_min_rec(self) -> bool {
        self.info_bits() & INFO_MIN_REC != 0
    }

    /// The bytes of a field; `None` if it is NULL. Node pointers have the key
    /// fields only.
    #[inline]
    pub fn field(self, format: &RecordFormat, index: usize) -> Option<&'a [u8]> {
        format.field(self, index)
    }

    /// How many bytes lie left and right of the origin.
    #[inline]
    pub fn extent(self, format: &RecordFormat) -> RecordExtent {
        format.extent(self)
    }

    /// The whole record, to copy it elsewhere.
    #[inline]
    pub fn image(self, format: &RecordFormat) -> RecordImage<'a> {
        let extent = format.extent(self);
        let origin = usize::from(self.origin);
        RecordImage {
            bytes: &self.page[origin - extent.extra..origin + extent.data],
            extra: extent.extra,
        }
    }

    /// The child page of a node pointer.
    #[inline]
    pub fn child(self, format: &RecordFormat) -> PageNumber {
        debug_assert!(self.is_node_pointer());
        PageNumber(u32_at(
            self.page,
            usize::from(self.origin) + format.extent(self).data - 4,
        ))
    }

    /// DB_TRX_ID of a clustered leaf record: who changed it last.
    ///
    /// # Panics
    /// If the index is not clustered.
    #[inline]
    pub fn trx_id(self, format: &RecordFormat) -> u64 {
        let offset = usize::from(self.origin) + format.system_fields_offset(self);
        let mut bytes = [0; encoding::TRX_ID_LENGTH];
        bytes.copy_from_slice(&self.page[offset..offset + encoding::TRX_ID_LENGTH]);
        encoding::decode_trx_id(bytes)
    }

    /// DB_ROLL_PTR of a clustered leaf record: where its older version is.
    ///
    /// # Panics
    /// If the index is not clustered.
    #[inline]
    pub fn roll_pointer(self, format: &RecordFormat) -> RollPointer {
        let offset =
            usize::from(self.origin) + format.system_fields_offset(self) + encoding::TRX_ID_LENGTH;
        let mut bytes = [0; ROLL_POINTER_LENGTH];
        bytes.copy_from_slice(&self.page[offset..offset + ROLL_POINTER_LENGTH]);
        RollPointer::from_bytes(bytes)
    }
}

/// A whole record outside a page, or seen as bytes: header and data.
///
/// Heap number, next and owned mean nothing in an image; status and info bits do.
#[derive(Clone, Copy, Debug)]
pub struct RecordImage<'a> {
    /// Header and data.
    pub(super) bytes: &'a [u8],
    /// Length of the header.
    pub(super) extra: usize,
}

impl<'a> RecordImage<'a> {
    /// Bytes the record takes in a page's heap.
    #[inline(always)]
    pub fn size(self) -> usize {
        self.bytes.len()
    }

    /// Bytes left of the origin.
    #[inline(always)]
    pub fn extra_size(self) -> usize {
        self.extra
    }

    /// The fields, back to back.
    pub fn data(self) -> &'a [u8] {
        &self.bytes[self.extra..]
    }

    /// Status bits as they stand in the heap word.
    #[inline(always)]
    pub(super) fn status_bits(self) -> u8 {
        self.bytes[self.extra - 3] & 7
    }

    /// Copies the record to `start` of a page, as number `heap_number` of its
    /// heap, owning nothing. The next pointer is left to the caller.
    #[inline(always)]
    pub(super) fn put(self, page: &mut PageBytes, start: usize, heap_number: u16) -> u16 {
        page[start..start + self.bytes.len()].copy_from_slice(self.bytes);
        let origin = start + self.extra;
        page[origin - 5] &= 0xF0;
        put_u16(
            page,
            origin - 4,
            heap_number << 3 | u16::from(self.status_bits()),
        );
        origin as u16
    }
}

#[inline(always)]
pub(super) fn next_origin(page: &PageBytes, origin: u16) -> u16 {
    match u16_at(page, usize::from(origin) - 2) {
        0 => 0,
        distance => origin.wrapping_add(distance),
    }
}

/// Points `origin` at `next`; 0 ends the list.
#[inline(always)]
pub(super) fn set_next(page: &mut PageBytes, origin: u16, next: u16) {
    let distance = if next == 0 {
        0
    } else {
        next.wrapping_sub(origin)
    };
    put_u16(page, usize::from(origin) - 2, distance);
}

#[inline(always)]
pub(super) fn n_owned(page: &PageBytes, origin: u16) -> usize {
    usize::from(u8_at(page, usize::from(origin) - 5) & 0x0F)
}

#[inline(always)]
pub(super) fn set_n_owned(page: &mut PageBytes, origin: u16, n_owned: usize) {
    let byte = &mut page[usize::from(origin) - 5];
    *byte = *byte & 0xF0 | n_owned as u8;
}
