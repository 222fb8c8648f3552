//! Names for things by their content: FNV-1a of 128 bits.
//!
//! G. Fowler, L. Noll and P. Vo's hash is a loop of two operations, the same on every
//! machine and in every version of a library. It does not resist an attacker; here nobody
//! attacks.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;

const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = (1 << 88) + 0x13b;

/// A hash of some content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Of a text.
    pub fn of(text: &str) -> Self {
        Fingerprint(OFFSET_BASIS).with(text.as_bytes())
    }

    /// Of a file.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut file = std::fs::File::open(path)?;
        let mut buffer = vec![0; 1 << 20];
        let mut hash = Fingerprint(OFFSET_BASIS);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hash),
                length => hash = hash.with(&buffer[..length]),
            }
        }
    }

    fn with(self, bytes: &[u8]) -> Self {
        let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
        Fingerprint(bytes.iter().fold(self.0, step))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The authors' test vectors.
    #[test]
    fn known_texts_have_their_known_hashes() {
        let hash = |text| Fingerprint::of(text).to_string();
        assert_eq!(hash(""), "6c62272e07bb014262b821756295c58d");
        assert_eq!(hash("a"), "d228cb696f1a8caf78912b704e4a8964");
        assert_eq!(hash("foobar"), "343e1662793c64bf6f0d3597ba446f18");
    }

    #[test]
    fn a_file_has_the_hash_of_its_text() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        std::fs::write(&path, "foobar").unwrap();
        assert_eq!(
            Fingerprint::of_file(&path).unwrap(),
            Fingerprint::of("foobar")
        );
    }
}
