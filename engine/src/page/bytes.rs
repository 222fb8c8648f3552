//! Big-endian integers at any place of a page.
//!
//! Each read is one bounds check and one load; a wild offset (a damaged page
//! that still had a right checksum) panics here and never reads elsewhere.

use super::PageBytes;

#[inline(always)]
pub(super) fn u8_at(page: &PageBytes, offset: usize) -> u8 {
    page[offset]
}

#[inline(always)]
pub(super) fn u16_at(page: &PageBytes, offset: usize) -> u16 {
    u16::from_be_bytes(array_at(page, offset))
}

#[inline(always)]
pub(super) fn u32_at(page: &PageBytes, offset: usize) -> u32 {
    u32::from_be_bytes(array_at(page, offset))
}

#[inline(always)]
pub(super) fn put_u16(page: &mut PageBytes, offset: usize, value: u16) {
    page[offset..offset + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline(always)]
fn array_at<const N: usize>(page: &PageBytes, offset: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&page[offset..offset + N]);
    array
}
