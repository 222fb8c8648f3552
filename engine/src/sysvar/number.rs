//! Numbers in option files.
//!
//! An integer is decimal digits and at most one suffix, a power of 1024, of which only
//! the first letter is looked at. There is no hexadecimal, no octal and no decimal
//! point; real-valued variables have the point and no suffix.

use super::value::Malformed;

/// A number as written: its value with the suffix applied, and the suffix.
pub(super) struct Number {
    pub value: i128,
    pub suffix: Option<String>,
}

/// Reads an integer: a sign, decimal digits, and at most one suffix.
pub(super) fn parse_number(text: &str) -> Result<Number, Malformed> {
    let text = text.trim();
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits_end = unsigned
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(digits_end);
    if digits.is_empty() {
        return Err(Malformed::NotANumber);
    }
    let shift = match suffix.chars().next() {
        None => 0,
        Some('k' | 'K') => 10,
        Some('m' | 'M') => 20,
        Some('g' | 'G') => 30,
        Some('t' | 'T') => 40,
        Some('p' | 'P') => 50,
        Some('e' | 'E') => 60,
        Some(letter) => return Err(Malformed::UnknownSuffix(letter)),
    };
    // Digits too many for an i128 are out of range as surely as 2^64, and that is one too
    // many for the highest maximum.
    let magnitude = digits
        .parse::<i128>()
        .unwrap_or(i128::MAX)
        .min(i128::from(u64::MAX) + 1);
    let value = magnitude << shift;
    Ok(Number {
        value: if negative { -value } else { value },
        suffix: (!suffix.is_empty()).then(|| suffix.to_owned()),
    })
}

/// Reads a real number in decimal notation.
pub(super) fn parse_real(text: &str) -> Result<f64, Malformed> {
    let text = text.trim();
    // Rust also reads "inf" and "nan", which no server does.
    let looks_numeric =
        text.starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter));
    match text.parse::<f64>() {
        Ok(number) if looks_numeric && number.is_finite() => Ok(number),
        _ => Err(Malformed::NotANumber),
    }
}

/// A number of bytes with the largest suffix that leaves a whole number: `128M`, `96K`,
/// `1000`. The server reads the result back as the same number.
pub fn size_with_suffix(bytes: u64) -> String {
    for (suffix, shift) in [
        ("E", 60),
        ("P", 50),
        ("T", 40),
        ("G", 30),
        ("M", 20),
        ("K", 10),
    ] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{suffix}", bytes >> shift);
        }
    }
    bytes.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvar::registry::{GIB, MIB};
    use proptest::prelude::*;

    #[test]
    fn sizes_are_shown_with_the_largest_whole_suffix() {
        for (bytes, shown) in [
            (0, "0"),
            (1000, "1000"),
            (128 * MIB, "128M"),
            (1536 * MIB, "1536M"),
            (GIB, "1G"),
        ] {
            assert_eq!(size_with_suffix(bytes), shown);
        }
    }

    proptest! {
        #[test]
        fn shown_sizes_are_read_back(bytes in any::<u64>()) {
            let number = parse_number(&size_with_suffix(bytes)).unwrap();
            prop_assert_eq!(number.value, i128::from(bytes));
        }
    }
}
