//! Numbered objects that are reused: no allocation once there have been enough.

/// Objects by number. One that is given back keeps what it has allocated, and is what
/// the next [`take`](Slots::take) gives out.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    objects: Vec<T>,
    free: Vec<u32>,
}

impl<T: Default> Slots<T> {
    /// No objects.
    pub(crate) const fn new() -> Self {
        Slots {
            objects: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The number of an object that nobody uses; as its last user left it.
    pub(crate) fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.objects.push(T::default());
            // Giving back never allocates.
            self.free.reserve(self.objects.len());
            (self.objects.len() - 1) as u32
        })
    }

    /// Gives an object back.
    pub(crate) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// How many there are, in use or not: their numbers are smaller.
    pub(crate) fn count(&self) -> u32 {
        self.objects.len() as u32
    }

    /// How many are in use.
    pub(crate) fn in_use(&self) -> usize {
        self.objects.len() - self.free.len()
    }
}

impl<T> std::ops::Index<u32> for Slots<T> {
    type Output = T;

    #[inline]
    fn index(&self, number: u32) -> &T {
        &self.objects[number as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slots<T> {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.objects[number as usize]
    }
}
