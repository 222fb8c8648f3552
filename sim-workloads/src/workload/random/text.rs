//! The strings in columns `c` and `pad`.
//!
//! sysbench fills both with groups of eleven random digits joined by dashes, ten
//! groups in `c` and five in `pad`:
//!
//! ```text
//!   c    CHAR(120)  68487932199-96439406143-...-46573894130 + 1 blank   (119 characters)
//!   pad  CHAR(60)   67847967377-48000963322-...-95828254562 + 1 blank   (59)
//! ```
//!
//! A CHAR column is stored padded with blanks to its full length, so the buffers
//! here hold exactly the stored value and nothing is allocated.

use rand::Rng;

/// Bytes of column `c`.
pub const C_LENGTH: usize = 120;
/// Bytes of column `pad`.
pub const PAD_LENGTH: usize = 60;

/// A value of column `c`, padded with blanks.
pub type CText = [u8; C_LENGTH];
/// A value of column `pad`, padded with blanks.
pub type PadText = [u8; PAD_LENGTH];

const DIGITS: usize = 11;

/// A fresh value for `c`: ten groups.
pub fn random_c<R: Rng + ?Sized>(rng: &mut R) -> CText {
    let mut text = [b' '; C_LENGTH];
    fill_groups(rng, &mut text);
    text
}

/// A fresh value for `pad`: five groups.
pub fn random_pad<R: Rng + ?Sized>(rng: &mut R) -> PadText {
    let mut text = [b' '; PAD_LENGTH];
    fill_groups(rng, &mut text);
    text
}

/// Text of at most `N` bytes, padded with blanks as a CHAR column stores it.
///
/// # Panics
/// If the text is longer than the column (a bug: only constants go in here).
pub const fn padded<const N: usize>(text: &str) -> [u8; N] {
    let bytes = text.as_bytes();
    let mut padded = [b' '; N];
    let mut i = 0;
    while i < bytes.len() {
        padded[i] = bytes[i];
        i += 1;
    }
    padded
}

/// Writes as many groups of eleven digits as fit, dashes between them.
fn fill_groups<R: Rng + ?Sized>(rng: &mut R, text: &mut [u8]) {
    let groups = text.len() / (DIGITS + 1);
    for group in 0..groups {
        let start = group * (DIGITS + 1);
        if group > 0 {
            text[start - 1] = b'-';
        }
        write_digits(rng, &mut text[start..start + DIGITS]);
    }
}

/// Eleven digits from one 64-bit draw: its upper part as a fraction of 10^11. The
/// bias is below 10^11 / 2^64, one part in 10^8.
fn write_digits<R: Rng + ?Sized>(rng: &mut R, digits: &mut [u8]) {
    const RANGE: u128 = 100_000_000_000;
    let mut rest = ((u128::from(rng.next_u64()) * RANGE) >> 64) as u64;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn c_is_ten_groups_and_one_blank() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let c = random_c(&mut rng);
        let text = std::str::from_utf8(&c).unwrap();
        assert_eq!(text.trim_end().len(), 119);
        let groups: Vec<&str> = text.trim_end().split('-').collect();
        assert_eq!(groups.len(), 10);
        assert!(
            groups
                .iter()
                .all(|g| g.len() == 11 && g.bytes().all(|b| b.is_ascii_digit()))
        );
    }

    #[test]
    fn pad_is_five_groups_and_one_blank() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let pad = random_pad(&mut rng);
        let text = std::str::from_utf8(&pad).unwrap();
        assert_eq!(text.trim_end().len(), 59);
        assert_eq!(text.trim_end().split('-').count(), 5);
    }

    #[test]
    fn digits_are_uniform() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut counts = [0u32; 10];
        for _ in 0..1_000 {
            for byte in random_c(&mut rng) {
                if byte.is_ascii_digit() {
                    counts[usize::from(byte - b'0')] += 1;
                }
            }
        }
        // 110,000 digits: mean 11,000, standard deviation 99.5.
        assert!(
            counts.iter().all(|&n| n.abs_diff(11_000) < 400),
            "{counts:?}"
        );
    }

    #[test]
    fn constants_are_padded_with_blanks() {
        assert_eq!(&padded::<4>("ab"), b"ab  ");
    }
}
