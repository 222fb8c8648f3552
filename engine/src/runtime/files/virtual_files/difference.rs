//! A page image as its difference to a page of the base.
//!
//! ```text
//!   base page   ....................................................
//!   image       ..xxx.....................xx.................x......
//!   difference  [at 2: xxx] [at 26: xx] [at 45: x]
//! ```
//!
//! Between its loading and a flush a page of a table has had a few of its rows changed: some
//! hundred of its 16,384 bytes. A simulation that writes every page of a database larger than
//! the host's memory keeps the differences in memory, and reads the rest from the base again.
//!
//! A difference is a list of runs of words of 8 bytes, each with its place and its length in
//! words, two bytes each, before it.

use crate::runtime::files::image::IMAGE_BYTES;

const WORD: usize = 8;
const HEADER: usize = 4;
/// What is larger is no difference worth the name.
const MOST: usize = IMAGE_BYTES / 4;

/// Bytes that replace some of a page.
pub(super) struct Difference(Box<[u8]>);

impl Difference {
    /// What has to be replaced in `base` to get `image`; `None` if it is too much.
    pub(super) fn new(base: &[u8; IMAGE_BYTES], image: &[u8; IMAGE_BYTES]) -> Option<Self> {
        let (base, _) = base.as_chunks::<WORD>();
        let (image, _) = image.as_chunks::<WORD>();
        let mut runs = Vec::new();
        let mut at = 0;
        while let Some(skip) = (at..image.len()).position(|word| base[word] != image[word]) {
            let first = at + skip;
            let mut end = first + 1;
            // One equal word between two others is shorter than a header and two words.
            while end < image.len()
                && (base[end] != image[end]
                    || end + 1 < image.len() && base[end + 1] != image[end + 1])
            {
                end += 1;
            }
            if runs.len() + HEADER + (end - first) * WORD > MOST {
                return None;
            }
            runs.extend((first as u16).to_le_bytes());
            runs.extend(((end - first) as u16).to_le_bytes());
            runs.extend(image[first..end].as_flattened());
            at = end;
        }
        Some(Difference(runs.into_boxed_slice()))
    }

    /// Makes of a part of the base page, which begins at `offset`, the same part of the image.
    pub(super) fn apply(&self, offset: usize, part: &mut [u8]) {
        let end = offset + part.len();
        let mut rest = &self.0[..];
        while let Some((header, behind)) = rest.split_first_chunk::<HEADER>() {
            let [a, b, c, d] = *header;
            let start = usize::from(u16::from_le_bytes([a, b])) * WORD;
            let length = usize::from(u16::from_le_bytes([c, d])) * WORD;
            let (bytes, next) = behind.split_at(length);
            let (from, to) = (start.max(offset), (start + length).min(end));
            if from < to {
                part[from - offset..to - offset].copy_from_slice(&bytes[from - start..to - start]);
            }
            rest = next;
        }
    }

    /// Bytes of memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.0.len() + 16
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_pages_have_none_and_others_too_much() {
        let page = [7; IMAGE_BYTES];
        let same = Difference::new(&page, &page).unwrap();
        assert_eq!(same.0.len(), 0);
        assert!(Difference::new(&page, &[8; IMAGE_BYTES]).is_none());
    }

    #[test]
    fn neighbours_make_one_run() {
        let base = [0; IMAGE_BYTES];
        let mut image = base;
        (image[8], image[31], image[IMAGE_BYTES - 1]) = (1, 2, 3);
        let difference = Difference::new(&base, &image).unwrap();
        // Words 1 to 3, of which 2 is equal, and the last one.
        assert_eq!(difference.0.len(), (HEADER + 3 * WORD) + (HEADER + WORD));
    }

    proptest! {
        #[test]
        fn every_part_of_the_image_comes_back(
            changes in prop::collection::vec((0..IMAGE_BYTES, 1_usize..200, any::<u8>()), 0..12),
            parts in prop::collection::vec((0..IMAGE_BYTES, 0..IMAGE_BYTES), 1..8),
        ) {
            let base: [u8; IMAGE_BYTES] = std::array::from_fn(|at| (at / 3) as u8);
            let mut image = base;
            for (at, length, value) in changes {
                let end = (at + length).min(IMAGE_BYTES);
                image[at..end].fill(value);
            }
            let difference = Difference::new(&base, &image).unwrap();
            for (offset, length) in parts {
                let end = (offset + length).min(IMAGE_BYTES);
                let mut part = base[offset..end].to_vec();
                difference.apply(offset, &mut part);
                prop_assert_eq!(&part[..], &image[offset..end]);
            }
        }
    }
}
