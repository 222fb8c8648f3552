//! A set of heap numbers: the records of a page that a lock object is on.

use super::HeapNumber;

/// A set of heap numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeapBits(Vec<u64>);

impl HeapBits {
    #[inline]
    pub(super) fn contains(&self, heap: HeapNumber) -> bool {
        let (word, bit) = (usize::from(heap) / 64, heap % 64);
        self.0.get(word).is_some_and(|word| word >> bit & 1 == 1)
    }

    pub(super) fn insert(&mut self, heap: HeapNumber) {
        let (word, bit) = (usize::from(heap) / 64, heap % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << bit;
    }

    pub(super) fn remove(&mut self, heap: HeapNumber) {
        let (word, bit) = (usize::from(heap) / 64, heap % 64);
        if let Some(word) = self.0.get_mut(word) {
            *word &= !(1 << bit);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn insert_all(&mut self, other: &HeapBits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    pub(super) fn largest(&self) -> Option<HeapNumber> {
        let word = self.0.iter().rposition(|&word| word != 0)?;
        let bit = 63 - self.0[word].leading_zeros() as usize;
        Some((word * 64 + bit) as HeapNumber)
    }
}
