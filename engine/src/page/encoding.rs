//! Column values as bytes that sort like the values.
//!
//! InnoDB compares keys byte by byte, so numbers are stored big-endian, and
//! signed ones with the sign bit flipped: then −1 (`7f ff ff ff`) is below 0
//! (`80 00 00 00`). Text of fixed length is padded with spaces.
//!
//! ```text
//!   i32       plain big-endian      stored
//!   -3        ff ff ff fd           7f ff ff fd
//!    0        00 00 00 00           80 00 00 00
//!    1        00 00 00 01           80 00 00 01
//! ```

/// Stored length of DB_TRX_ID in bytes.
pub const TRX_ID_LENGTH: usize = 6;

macro_rules! signed_codec {
    ($encode:ident, $decode:ident, $signed:ty, $unsigned:ty, $sql:literal) => {
        #[doc = concat!("The stored form of a signed ", $sql, ".")]
        #[inline]
        pub const fn $encode(value: $signed) -> [u8; size_of::<$signed>()] {
            (value as $unsigned ^ (1 << (<$unsigned>::BITS - 1))).to_be_bytes()
        }

        #[doc = concat!("The signed ", $sql, " that is stored as these bytes.")]
        #[inline]
        pub const fn $decode(bytes: [u8; size_of::<$signed>()]) -> $signed {
            (<$unsigned>::from_be_bytes(bytes) ^ (1 << (<$unsigned>::BITS - 1))) as $signed
        }
    };
}

signed_codec!(encode_i16, decode_i16, i16, u16, "SMALLINT");
signed_codec!(encode_i32, decode_i32, i32, u32, "INT");
signed_codec!(encode_i64, decode_i64, i64, u64, "BIGINT");

/// The stored form of an INT UNSIGNED.
#[inline]
pub const fn encode_u32(value: u32) -> [u8; 4] {
    value.to_be_bytes()
}

/// The INT UNSIGNED that is stored as these bytes.
#[inline]
pub const fn decode_u32(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes)
}

/// The stored form of a BIGINT UNSIGNED.
#[inline]
pub const fn encode_u64(value: u64) -> [u8; 8] {
    value.to_be_bytes()
}

/// The BIGINT UNSIGNED that is stored as these bytes.
#[inline]
pub const fn decode_u64(bytes: [u8; 8]) -> u64 {
    u64::from_be_bytes(bytes)
}

/// The stored form of a transaction id: its low 48 bits.
#[inline]
pub const fn encode_trx_id(trx_id: u64) -> [u8; TRX_ID_LENGTH] {
    let bytes = trx_id.to_be_bytes();
    [bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]]
}

/// The transaction id that is stored as these bytes.
#[inline]
pub const fn decode_trx_id(bytes: [u8; TRX_ID_LENGTH]) -> u64 {
    u64::from_be_bytes([
        0, 0, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
    ])
}

/// A text is longer than the column it is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a text of {length} bytes does not fit CHAR({maximum})")]
pub struct TextTooLong {
    /// Bytes of the text.
    pub length: usize,
    /// Bytes of the column.
    pub maximum: usize,
}

/// Fills `column` with a text of a one-byte character set, padded with spaces:
/// the stored form of CHAR(n), where n is the length of `column`.
///
/// # Errors
/// [`TextTooLong`]; `column` is then unchanged.
pub fn encode_char(text: &[u8], column: &mut [u8]) -> Result<(), TextTooLong> {
    if text.len() > column.len() {
        return Err(TextTooLong {
            length: text.len(),
            maximum: column.len(),
        });
    }
    let (used, padding) = column.split_at_mut(text.len());
    used.copy_from_slice(text);
    padding.fill(b' ');
    Ok(())
}

/// The text of a stored CHAR(n): without the padding, as SQL returns it.
pub fn decode_char(column: &[u8]) -> &[u8] {
    let length = column
        .iter()
        .rposition(|&byte| byte != b' ')
        .map_or(0, |last| last + 1);
    &column[..length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(encode_i32(1), [0x80, 0, 0, 1]);
        assert_eq!(encode_i32(-3), [0x7f, 0xff, 0xff, 0xfd]);
        assert_eq!(encode_i16(i16::MIN), [0, 0]);
        assert_eq!(encode_i64(i64::MAX), [0xff; 8]);
        assert_eq!(encode_trx_id(99), [0, 0, 0, 0, 0, 99]);
        assert_eq!(decode_trx_id([1, 0, 0, 0, 0, 2]), (1 << 40) + 2);
    }

    #[test]
    fn char_is_padded_and_trimmed() {
        let mut column = [0; 5];
        encode_char(b"ab", &mut column).unwrap();
        assert_eq!(&column, b"ab   ");
        assert_eq!(decode_char(&column), b"ab");
        assert_eq!(decode_char(b"   "), b"");
        assert_eq!(decode_char(b"a b "), b"a b");
        let error = encode_char(b"abcdef", &mut column).unwrap_err();
        assert_eq!(
            error,
            TextTooLong {
                length: 6,
                maximum: 5
            }
        );
        assert_eq!(&column, b"ab   ");
    }

    proptest! {
        #[test]
        fn bytes_sort_like_the_numbers(a: i32, b: i32, c: i64, d: i64, e: i16, f: i16) {
            prop_assert_eq!(encode_i32(a).cmp(&encode_i32(b)), a.cmp(&b));
            prop_assert_eq!(encode_i64(c).cmp(&encode_i64(d)), c.cmp(&d));
            prop_assert_eq!(encode_i16(e).cmp(&encode_i16(f)), e.cmp(&f));
            prop_assert_eq!(decode_i32(encode_i32(a)), a);
            prop_assert_eq!(decode_i64(encode_i64(c)), c);
            prop_assert_eq!(decode_i16(encode_i16(e)), e);
        }
    }
}
