//! A cell for the data of one task, which must not stay borrowed across a suspend.
//!
//! All tasks of a simulation share one OS thread. A `RefCell` that one task keeps
//! borrowed while it waits would make the next task that touches it panic. Here a
//! borrow is counted, and a debug build asserts at every suspend that none is open.

use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};

use super::ambient;

/// A value that is borrowed exclusively, for moments in which nothing waits.
#[derive(Debug, Default)]
pub struct TaskCell<T> {
    borrowed: Cell<bool>,
    value: UnsafeCell<T>,
}

impl<T> TaskCell<T> {
    /// A cell holding a value.
    pub const fn new(value: T) -> Self {
        TaskCell {
            borrowed: Cell::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Borrows the value.
    ///
    /// # Panics
    /// If it is borrowed already: always a bug, since no borrow outlives a suspend.
    pub fn borrow(&self) -> TaskRef<'_, T> {
        assert!(
            !self.borrowed.replace(true),
            "a TaskCell is already borrowed"
        );
        count_borrow(1);
        TaskRef { cell: self }
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// An open borrow of a [`TaskCell`].
#[derive(Debug)]
pub struct TaskRef<'a, T> {
    cell: &'a TaskCell<T>,
}

impl<T> Deref for TaskRef<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: `borrowed` was false when this borrow was made and stays true
        // until it is dropped, so no other reference to the value exists.
        unsafe { &*self.cell.value.get() }
    }
}

impl<T> DerefMut for TaskRef<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { &mut *self.cell.value.get() }
    }
}

impl<T> Drop for TaskRef<'_, T> {
    fn drop(&mut self) {
        self.cell.borrowed.set(false);
        count_borrow(-1);
    }
}

fn count_borrow(change: i32) {
    if cfg!(debug_assertions) {
        let simulation = ambient::simulation();
        if !simulation.is_null() {
            // SAFETY: the current simulation is alive, and only this field is touched.
            unsafe { (*simulation).open_borrows += change };
        }
    }
}
