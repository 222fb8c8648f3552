//! The page directory: a sparse index over the record list.
//!
//! Walking a list of a thousand records to find one would be slow, so every
//! fourth to eighth record has a *slot*: its origin, in an array at the end of the
//! page that is in key order and can be searched by halving. A record with a slot
//! *owns* itself and the records before it, back to the previous slot's record,
//! and its header says how many.
//!
//! ```text
//!   list   inf  a  b  c  d  e  f  g  h  i  sup
//!   owned   1   0  0  0  4  0  0  0  4  0   2
//!           ^            ^           ^      ^
//!   slot    0            1           2      3
//! ```
//!
//! The first slot owns the infimum alone, the last one to eight, every other four
//! to eight. A group that would exceed eight is split into four and five; one that
//! falls below four takes a record from the next group, or is merged with it.
//! The functions here work on bare bytes: they are steps of recorded operations.

use super::PageBytes;
use super::bytes::{put_u16, u16_at};
use super::index_header::SLOT_SIZE;
use super::index_header::{DIRECTORY_END, DIRECTORY_SLOTS, SLOT_MAX_OWNED, SLOT_MIN_OWNED};
use super::record::{n_owned, next_origin, set_n_owned};

#[inline(always)]
fn slot_offset(slot: usize) -> usize {
    DIRECTORY_END - SLOT_SIZE * (slot + 1)
}

#[inline(always)]
pub(super) fn slot_at(page: &PageBytes, slot: usize) -> u16 {
    u16_at(page, slot_offset(slot))
}

#[inline(always)]
pub(super) fn put_slot(page: &mut PageBytes, slot: usize, origin: u16) {
    put_u16(page, slot_offset(slot), origin);
}

/// The record that owns the group of `origin`: itself or one after it.
#[inline(always)]
pub(super) fn owner_of(page: &PageBytes, mut origin: u16) -> u16 {
    while n_owned(page, origin) == 0 {
        origin = next_origin(page, origin);
    }
    origin
}

/// The slot that points to `owner`.
///
/// # Panics
/// If none does: the page is damaged.
#[inline]
pub(super) fn slot_of(page: &PageBytes, owner: u16) -> usize {
    let slots = usize::from(DIRECTORY_SLOTS.get(page));
    let directory = &page[slot_offset(slots - 1)..DIRECTORY_END];
    let wanted = owner.to_be_bytes();
    // The last slot lies first. Eight slots a step, which the compiler turns into
    // vector instructions: a secondary leaf has 250 of them.
    let mut steps = directory.chunks_exact(8 * SLOT_SIZE);
    let mut lower = 0;
    for step in &mut steps {
        let hit = step
            .chunks_exact(SLOT_SIZE)
            .fold(false, |hit, slot| hit | (slot == wanted));
        if hit {
            break;
        }
        lower += 8;
    }
    let position = directory[lower * SLOT_SIZE..]
        .chunks_exact(SLOT_SIZE)
        .position(|slot| slot == wanted)
        .expect("every owner has a slot");
    slots - 1 - (lower + position)
}

/// Makes room for a slot at `slot`, moving it and all after it.
fn insert_slot(page: &mut PageBytes, slot: usize, origin: u16) {
    let slots = usize::from(DIRECTORY_SLOTS.get(page));
    let moved = slot_offset(slots - 1)..slot_offset(slot) + SLOT_SIZE;
    page.copy_within(moved, slot_offset(slots));
    put_slot(page, slot, origin);
    DIRECTORY_SLOTS.put(page, slots as u16 + 1);
}

/// Takes `count` slots out, beginning with `slot`.
pub(super) fn remove_slots(page: &mut PageBytes, slot: usize, count: usize) {
    let slots = usize::from(DIRECTORY_SLOTS.get(page));
    let moved = slot_offset(slots - 1)..slot_offset(slot + count) + SLOT_SIZE;
    page.copy_within(moved, slot_offset(slots - count - 1));
    DIRECTORY_SLOTS.put(page, (slots - count) as u16);
}

/// Splits the group of `owner`, which has grown to nine, into four and five.
#[cold]
#[inline(never)]
pub(super) fn split_group(page: &mut PageBytes, owner: u16) {
    let slot = slot_of(page, owner);
    let owned = n_owned(page, owner);
    debug_assert_eq!(owned, SLOT_MAX_OWNED + 1);
    let lower = owned / 2;
    let mut middle = slot_at(page, slot - 1);
    for _ in 0..lower {
        middle = next_origin(page, middle);
    }
    insert_slot(page, slot, middle);
    set_n_owned(page, middle, lower);
    set_n_owned(page, owner, owned - lower);
}

/// Brings a group that may own fewer than four up again: takes records from the
/// next group as long as that can spare them, else merges the two. The last group
/// may be small.
pub(super) fn balance_group(page: &mut PageBytes, slot: usize) {
    loop {
        let owner = slot_at(page, slot);
        let owned = n_owned(page, owner);
        if owned >= SLOT_MIN_OWNED || slot + 1 == usize::from(DIRECTORY_SLOTS.get(page)) {
            return;
        }
        let upper = slot_at(page, slot + 1);
        let upper_owned = n_owned(page, upper);
        set_n_owned(page, owner, 0);
        if upper_owned > SLOT_MIN_OWNED {
            let next = next_origin(page, owner);
            set_n_owned(page, next, owned + 1);
            put_slot(page, slot, next);
            set_n_owned(page, upper, upper_owned - 1);
        } else {
            set_n_owned(page, upper, owned + upper_owned);
            remove_slots(page, slot, 1);
        }
    }
}
