//! The writes of a device that a power failure may still undo.
//!
//! A file's page table has what was *written*; this list has, in the order of
//! submission, what each write has put out of place, until it is durable:
//!
//! ```text
//!   page table          list (oldest first)
//!   t1 page 7: C        t1 page 7 was A   (that write brought B)
//!   t1 page 9: E        t1 page 9 was D
//!                       t1 page 7 was B   (that write brought C)
//! ```
//!
//! A write is *in flight* until the device reports it complete. If the device's cache
//! is protected it is durable then. If the cache is volatile it is durable when a FLUSH
//! that was submitted after its completion is complete: FLUSHes are numbered, and a
//! completed write keeps the number of the last one submitted before.
//!
//! A device's cache is finite. When more than [`LIMIT`] writes are on the list, the
//! oldest completed ones count as durable: later writes have pushed them out of any
//! cache. Without this, a run that never syncs would keep every old page for ever.

use std::collections::VecDeque;

use super::FileId;
use super::image_store::{ImageStore, PageRef};

/// Writes on the list, of up to 16 KiB each, beyond which the oldest are durable.
pub(super) const LIMIT: usize = 16_384;

/// What a write has put out of place.
#[derive(Debug)]
pub(super) enum Old {
    /// A whole page. The list holds a reference.
    Page(PageRef),
    /// A part of a page.
    Bytes(Box<[u8]>),
    /// Nothing that is still needed.
    Forgotten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    /// Complete; the last FLUSH submitted before had this number.
    Cached(u64),
    Durable,
}

/// A write of a page, or of a part of one.
#[derive(Debug)]
pub(super) struct Write {
    pub(super) file: FileId,
    pub(super) page: u32,
    pub(super) offset: u16,
    pub(super) length: u16,
    pub(super) old: Old,
    /// The first of a request's writes: a request has one fate.
    pub(super) starts_request: bool,
    state: State,
}

impl Write {
    pub(super) fn is_durable(&self) -> bool {
        self.state == State::Durable
    }
}

/// The list of one device.
#[derive(Debug)]
pub(super) struct VolatileWrites {
    protected: bool,
    /// The number of the write at the front.
    first: u64,
    writes: VecDeque<Write>,
    flushes: u64,
}

impl VolatileWrites {
    pub(super) fn new(protected: bool) -> Self {
        VolatileWrites {
            protected,
            first: 0,
            writes: VecDeque::new(),
            flushes: 0,
        }
    }

    /// A write is about to be submitted; returns its number.
    #[inline]
    pub(super) fn push(
        &mut self,
        file: FileId,
        page: u32,
        range: (usize, usize),
        old: Old,
        starts_request: bool,
    ) -> u64 {
        self.writes.push_back(Write {
            file,
            page,
            offset: range.0 as u16,
            length: range.1 as u16,
            old,
            starts_request,
            state: State::InFlight,
        });
        self.first + self.writes.len() as u64 - 1
    }

    /// A request has completed that consisted of these writes.
    pub(super) fn complete(&mut self, first: u64, count: u32, store: &mut ImageStore) {
        let flushes = self.flushes;
        let protected = self.protected;
        let start = (first - self.first) as usize;
        for write in self.writes.range_mut(start..start + count as usize) {
            if protected {
                Self::make_durable(write, store);
            } else {
                write.state = State::Cached(flushes);
            }
        }
        self.trim(store);
    }

    /// A FLUSH is submitted; returns its number.
    pub(super) fn flush_submitted(&mut self) -> u64 {
        self.flushes += 1;
        self.flushes
    }

    /// A FLUSH has completed.
    pub(super) fn flush_completed(&mut self, number: u64, store: &mut ImageStore) {
        for write in &mut self.writes {
            if matches!(write.state, State::Cached(before) if before < number) {
                Self::make_durable(write, store);
            }
        }
        self.trim(store);
    }

    /// The process is gone, the machine is not: what was in flight completes.
    pub(super) fn complete_all(&mut self, store: &mut ImageStore) {
        for write in &mut self.writes {
            if write.state == State::InFlight {
                if self.protected {
                    Self::make_durable(write, store);
                } else {
                    write.state = State::Cached(self.flushes);
                }
            }
        }
        self.trim(store);
    }

    /// Pages of a file from this one on are gone, or do not matter any more.
    pub(super) fn forget(&mut self, file: FileId, from_page: u64, store: &mut ImageStore) {
        for write in &mut self.writes {
            if write.file == file && u64::from(write.page) >= from_page {
                release(&mut write.old, store);
                if write.state != State::InFlight {
                    write.state = State::Durable;
                }
            }
        }
        self.trim(store);
    }

    /// All writes that are on the list, oldest first, among them durable ones that came
    /// after one that is not. The list is empty then.
    pub(super) fn take(&mut self) -> VecDeque<Write> {
        self.first += self.writes.len() as u64;
        std::mem::take(&mut self.writes)
    }

    /// The writes on the list.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Write> {
        self.writes.iter_mut()
    }

    fn make_durable(write: &mut Write, store: &mut ImageStore) {
        write.state = State::Durable;
        release(&mut write.old, store);
    }

    fn trim(&mut self, store: &mut ImageStore) {
        loop {
            let crowded = self.writes.len() > LIMIT;
            match self.writes.front_mut() {
                Some(front) if front.state == State::Durable => {}
                Some(front) if crowded && front.state != State::InFlight => {
                    Self::make_durable(front, store);
                }
                _ => break,
            }
            self.writes.pop_front();
            self.first += 1;
        }
    }
}

/// Lets go what a write has put out of place.
pub(super) fn release(old: &mut Old, store: &mut ImageStore) {
    if let Old::Page(page) = std::mem::replace(old, Old::Forgotten) {
        store.release(page);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(list: &VolatileWrites) -> Vec<State> {
        list.writes.iter().map(|write| write.state).collect()
    }

    fn push(list: &mut VolatileWrites) -> u64 {
        let range = (0, 512);
        list.push(FileId(0), 0, range, Old::Bytes(Box::new([0; 512])), true)
    }

    #[test]
    fn a_volatile_write_is_durable_after_a_flush_submitted_after_its_completion() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut list = VolatileWrites::new(false);
        let (a, b, c) = (push(&mut list), push(&mut list), push(&mut list));
        list.complete(b, 1, &mut store);
        let flush = list.flush_submitted();
        list.complete(c, 1, &mut store);
        list.flush_completed(flush, &mut store);
        assert_eq!(
            states(&list),
            [State::InFlight, State::Durable, State::Cached(1)]
        );
        list.complete(a, 1, &mut store);
        let flush = list.flush_submitted();
        list.flush_completed(flush, &mut store);
        assert!(list.writes.is_empty());
        assert_eq!(push(&mut list), c + 1);
    }

    #[test]
    fn a_protected_write_is_durable_when_it_is_complete() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut list = VolatileWrites::new(true);
        let (a, b) = (push(&mut list), push(&mut list));
        list.complete(b, 1, &mut store);
        assert_eq!(states(&list), [State::InFlight, State::Durable]);
        list.complete(a, 1, &mut store);
        assert!(list.writes.is_empty());
    }

    #[test]
    fn the_list_lets_go_what_it_put_out_of_place() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut list = VolatileWrites::new(false);
        for page in 0..LIMIT as u32 + 10 {
            let old = store.image(&[1; 16384]);
            let number = list.push(FileId(0), page, (0, 16384), Old::Page(old), true);
            list.complete(number, 1, &mut store);
        }
        assert_eq!((list.writes.len(), store.counts().0), (LIMIT, LIMIT));
        list.forget(FileId(1), 0, &mut store);
        assert_eq!(store.counts().0, LIMIT);
        list.forget(FileId(0), LIMIT as u64, &mut store);
        assert_eq!(store.counts().0, LIMIT - 10);
        list.forget(FileId(0), 0, &mut store);
        assert_eq!((list.writes.len(), store.counts().0), (0, 0));
    }
}
