//! InnoDB's integers of variable length, used in undo records and redo.
//!
//! Small numbers take one byte; the leading bits of the first byte say how many
//! follow, as in UTF-8:
//!
//! ```text
//!   0xxxxxxx                                  below 0x80
//!   10xxxxxx xxxxxxxx                         below 0x4000
//!   110xxxxx xxxxxxxx xxxxxxxx                below 0x200000
//!   1110xxxx xxxxxxxx xxxxxxxx xxxxxxxx       below 0x10000000
//!   11110000 and four bytes                   the rest
//! ```
//!
//! A u64 comes in two kinds. "Compressed": the high half compressed, the low half
//! as four plain bytes. "Much compressed", for numbers that are nearly always
//! small: only the low half, compressed; `ff` in front says that a compressed
//! high half comes first.
//!
//! MySQL 8.0.19 and later know shorter forms for u32 near the upper end; we write
//! the classic forms, which every version reads.

/// A number in its byte form, without an allocation. It dereferences to bytes.
#[derive(Clone, Copy, Debug)]
pub struct CompressedInteger {
    bytes: [u8; Self::MAX_LENGTH],
    length: usize,
}

impl CompressedInteger {
    /// The longest form: `ff` and two halves of five bytes.
    pub const MAX_LENGTH: usize = 11;

    const EMPTY: CompressedInteger = CompressedInteger {
        bytes: [0; Self::MAX_LENGTH],
        length: 0,
    };

    /// The compressed form of a u32: 1 to 5 bytes.
    pub fn from_u32(value: u32) -> CompressedInteger {
        let mut this = Self::EMPTY;
        this.push_u32(value);
        this
    }

    /// The compressed form of a u64: 5 to 9 bytes.
    pub fn from_u64(value: u64) -> CompressedInteger {
        let mut this = Self::EMPTY;
        this.push_u32((value >> 32) as u32);
        this.push(&(value as u32).to_be_bytes());
        this
    }

    /// The much compressed form of a u64: 1 to 11 bytes.
    pub fn from_u64_much(value: u64) -> CompressedInteger {
        let mut this = Self::EMPTY;
        let high = (value >> 32) as u32;
        if high != 0 {
            this.push(&[0xFF]);
            this.push_u32(high);
        }
        this.push_u32(value as u32);
        this
    }

    fn push_u32(&mut self, value: u32) {
        match value {
            0..0x80 => self.push(&[value as u8]),
            0x80..0x4000 => self.push(&(value as u16 | 0x8000).to_be_bytes()),
            0x4000..0x20_0000 => self.push(&(value | 0xC0_0000).to_be_bytes()[1..]),
            0x20_0000..0x1000_0000 => self.push(&(value | 0xE000_0000).to_be_bytes()),
            0x1000_0000.. => {
                self.push(&[0xF0]);
                self.push(&value.to_be_bytes());
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

impl std::ops::Deref for CompressedInteger {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Reads a compressed u32 from the front of `input` and moves `input` past it.
/// `None` if the bytes end too early or start no number.
pub fn read_u32(input: &mut &[u8]) -> Option<u32> {
    let first = *input.first()?;
    let (length, mask) = match first {
        0x00..0x80 => (1, 0x7F),
        0x80..0xC0 => (2, 0x3FFF),
        0xC0..0xE0 => (3, 0x1F_FFFF),
        0xE0..0xF0 => (4, 0x0FFF_FFFF),
        0xF0 => (5, 0xFFFF_FFFF),
        _ => return None,
    };
    let (bytes, rest) = input.split_at_checked(length)?;
    *input = rest;
    // The marker byte f0 is shifted out at the top.
    Some(
        bytes
            .iter()
            .fold(0u32, |value, &byte| value << 8 | u32::from(byte))
            & mask,
    )
}

/// Reads a compressed u64; see [`read_u32`].
pub fn read_u64(input: &mut &[u8]) -> Option<u64> {
    let high = read_u32(input)?;
    let (low, rest) = input.split_first_chunk()?;
    *input = rest;
    Some(u64::from(high) << 32 | u64::from(u32::from_be_bytes(*low)))
}

/// Reads a much compressed u64; see [`read_u32`].
pub fn read_u64_much(input: &mut &[u8]) -> Option<u64> {
    let mut high = 0;
    if *input.first()? == 0xFF {
        *input = &input[1..];
        high = read_u32(input)?;
    }
    Some(u64::from(high) << 32 | u64::from(read_u32(input)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_forms() {
        // Table id 456, and a NULL length, as MariaDB 10.11 wrote them.
        assert_eq!(*CompressedInteger::from_u64_much(456), [0x81, 0xC8]);
        assert_eq!(
            *CompressedInteger::from_u32(u32::MAX),
            [0xF0, 0xFF, 0xFF, 0xFF, 0xFF]
        );
        // DB_TRX_ID 20836 and DB_ROLL_PTR a1 00000135 0110 of the same server.
        assert_eq!(*CompressedInteger::from_u64(20836), [0, 0, 0, 0x51, 0x64]);
        assert_eq!(
            *CompressedInteger::from_u64(0x00a1_0000_0135_0110),
            [0xE0, 0xA1, 0, 0, 0x01, 0x35, 0x01, 0x10]
        );
        assert_eq!(*CompressedInteger::from_u32(0x4000), [0xC0, 0x40, 0x00]);
    }

    #[test]
    fn cut_or_wrong_input_is_refused() {
        assert_eq!(read_u32(&mut &[][..]), None);
        assert_eq!(read_u32(&mut &[0xE0, 1, 2][..]), None);
        assert_eq!(read_u32(&mut &[0xF8, 1, 2, 3, 4][..]), None);
        assert_eq!(read_u64(&mut &[0, 1, 2][..]), None);
        assert_eq!(read_u64_much(&mut &[0xFF][..]), None);
    }

    proptest! {
        #[test]
        fn round_trip(value: u64, shift in 0u32..64) {
            let value = value >> shift;
            let word = value as u32;
            let encoded = CompressedInteger::from_u32(word);
            let mut input = &*encoded;
            prop_assert_eq!(read_u32(&mut input), Some(word));
            prop_assert!(input.is_empty());
            let encoded = CompressedInteger::from_u64(value);
            let mut input = &*encoded;
            prop_assert_eq!(read_u64(&mut input), Some(value));
            prop_assert!(input.is_empty());
            let encoded = CompressedInteger::from_u64_much(value);
            let mut input = &*encoded;
            prop_assert_eq!(read_u64_much(&mut input), Some(value));
            prop_assert!(input.is_empty());
        }
    }
}
