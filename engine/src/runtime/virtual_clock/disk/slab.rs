//! A table with reusable slots: the disks' only container for things in flight.
//!
//! An entry keeps its index for as long as it lives, so queues and events name entries by a
//! `u32` in place of a pointer; a freed slot goes on a list and is used again, last freed
//! first. After warm-up nothing is allocated, and no address ever orders anything.

/// The index that names no entry: the end of an index-linked list.
pub(super) const NONE: u32 = u32::MAX;

/// A table of `T` with stable indices.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    entries: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab {
            entries: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Slab<T> {
    /// Store `entry` and say where.
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.entries[index as usize] = entry;
                index
            }
            None => {
                let index = u32::try_from(self.entries.len()).unwrap_or(NONE);
                assert!(index != NONE, "four billion things in flight");
                self.entries.push(entry);
                index
            }
        }
    }

    /// Take an entry out; its index may name another one from now on.
    pub(super) fn remove(&mut self, index: u32) -> T {
        self.free.push(index);
        self.entries[index as usize]
    }

    /// Number of entries that are stored.
    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Drop all entries; keep the memory.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.free.clear();
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, index: u32) -> &T {
        &self.entries[index as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        &mut self.entries[index as usize]
    }
}
