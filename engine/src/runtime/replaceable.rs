//! A value that is read all the time and replaced once in a while.
//!
//! Settings that change while the engine runs are read in the middle of everything, by
//! tasks that may suspend with the reference in hand. A lock around them would cost every
//! reader something, and under the virtual clock virtual time. Here a reader costs a load
//! and a branch, and nothing is freed under its hands: versions are a list that only
//! grows.
//!
//! ```text
//!   get() ──► [ version 1 │ next ]──►[ version 2 │ next ]──►[ version 3 │ - ]  newest
//! ```
//!
//! The price is memory: a version lives as long as the value. So this is for changes that
//! can be counted on one's fingers, such as those at a snapshot.

use std::sync::OnceLock;

/// A value that is replaced now and then; see the module's opening.
#[derive(Debug)]
pub struct Replaceable<T> {
    first: Version<T>,
}

#[derive(Debug)]
struct Version<T> {
    value: T,
    next: OnceLock<Box<Version<T>>>,
}

impl<T> Version<T> {
    fn new(value: T) -> Self {
        Version {
            value,
            next: OnceLock::new(),
        }
    }
}

impl<T> Replaceable<T> {
    /// The first version.
    pub fn new(value: T) -> Self {
        Replaceable {
            first: Version::new(value),
        }
    }

    fn newest(&self) -> &Version<T> {
        let mut version = &self.first;
        while let Some(next) = version.next.get() {
            version = next;
        }
        version
    }

    /// The newest version. Whoever keeps the reference keeps that version, whatever comes
    /// after it.
    #[inline]
    pub fn get(&self) -> &T {
        match self.first.next.get() {
            None => &self.first.value,
            Some(_) => &self.newest().value,
        }
    }

    /// A new version; older ones stay where they are, for those who still look at them.
    pub fn replace(&self, value: T) {
        let mut next = Box::new(Version::new(value));
        while let Err(refused) = self.newest().next.set(next) {
            // Somebody else was faster: behind theirs.
            next = refused;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_keep_what_they_have_got() {
        let value = Replaceable::new(1);
        let old = value.get();
        value.replace(2);
        let between = value.get();
        value.replace(3);
        assert_eq!((*old, *between, *value.get()), (1, 2, 3));
    }

    #[test]
    fn no_version_is_lost_when_several_replace_at_once() {
        struct Counted<'a>(&'a std::sync::atomic::AtomicU32);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let dropped = std::sync::atomic::AtomicU32::new(0);
        let value = Replaceable::new(Counted(&dropped));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50).for_each(|_| value.replace(Counted(&dropped))));
            }
        });
        assert_eq!(dropped.load(std::sync::atomic::Ordering::Relaxed), 0);
        drop(value);
        assert_eq!(dropped.into_inner(), 201);
    }
}
