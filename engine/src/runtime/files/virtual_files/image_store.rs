//! The table of all page images that the virtual files hold.
//!
//! A file's page table has 4 bytes for a page, a [`PageRef`]: a page of zeros, a page
//! of the file's base, or an entry here. An entry counts the pages that refer to it; a
//! doublewrite slot and a data page that were written from one image share one entry.
//!
//! Above a budget the oldest images leave memory. Where the base stays as it is, an image
//! that was written over a page of it is kept as its [`difference`](super::difference) to
//! that page; any other goes to a file: see [`spill`](super::spill). An image that somebody
//! else still holds (a doublewrite batch on its way) leaves, too, and its memory is free
//! when they let go.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::content::Base;
use super::difference::Difference;
use super::spill::{Done, Slot, Spiller};
use crate::runtime::files::image::{IMAGE_BYTES, Image, ImagePool};

/// The content of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRef(u32);

impl PageRef {
    /// All zeros.
    pub(super) const ZERO: PageRef = PageRef(0);
    /// As in the file's base.
    pub(super) const BASE: PageRef = PageRef(1);

    fn of(key: u32) -> Self {
        PageRef(key + 2)
    }

    fn key(self) -> Option<u32> {
        self.0.checked_sub(2)
    }
}

struct Entry {
    /// In memory, in the file, or both for a moment.
    image: Option<Image>,
    slot: Option<Slot>,
    /// The page of a base over which it was written last.
    origin: Option<(Arc<Base>, u32)>,
    /// In place of `image` and `slot`: to `origin`.
    difference: Option<Difference>,
    /// Pages that refer to it; 0 is a free entry.
    references: u32,
    /// Counts the entry's uses, so that answers for an earlier one are recognised.
    generation: u32,
}

/// The table of images; see the module's opening.
pub(super) struct ImageStore {
    /// Different from that of every other table of the process.
    id: u32,
    pool: ImagePool,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Entries with an image in memory.
    resident: usize,
    budget: usize,
    /// Whether bases stay as they are.
    base_stays: bool,
    /// Entries that are differences, and their bytes.
    differences: (usize, usize),
    /// Entries by age, oldest first, with the generation that was meant.
    ages: VecDeque<(u32, u32)>,
    spiller: Spiller,
    failure: Option<String>,
    spilled: u64,
}

/// Images that stay in memory whatever differences take: of those that are just being
/// written, the doublewrite slot is there and the data page is not.
const YOUNGEST: usize = 4096;

fn name(key: u32, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(key)
}

impl ImageStore {
    /// An empty table that keeps at most `budget` images in memory.
    pub(super) fn new(budget: usize, spill_directory: PathBuf) -> Self {
        static STORES: AtomicU32 = AtomicU32::new(1);
        ImageStore {
            id: STORES.fetch_add(1, Ordering::Relaxed),
            pool: ImagePool::new(),
            entries: Vec::new(),
            free: Vec::new(),
            resident: 0,
            budget,
            base_stays: false,
            differences: (0, 0),
            ages: VecDeque::new(),
            spiller: Spiller::new(spill_directory),
            failure: None,
            spilled: 0,
        }
    }

    /// Images in memory, and how often one has been spilled so far.
    pub(super) fn counts(&self) -> (usize, u64) {
        (self.resident, self.spilled)
    }

    /// Bases stay as they are from now on.
    pub(super) fn base_stays(&mut self) {
        self.base_stays = true;
    }

    /// Whether somebody relies on bases.
    pub(super) fn relies_on_base(&self) -> bool {
        self.base_stays
    }

    /// Images that are differences, and the bytes of those.
    pub(super) fn differences(&self) -> (usize, u64) {
        (self.differences.0, self.differences.1 as u64)
    }

    /// A page has been written over this page of a base. A doublewrite slot comes before the
    /// data page, so that the last one is what it resembles.
    #[inline]
    pub(super) fn resembles(&mut self, page: PageRef, base: &Arc<Base>, number: u32) {
        if self.base_stays
            && let Some(key) = page.key()
        {
            let entry = &mut self.entries[key as usize];
            // What a difference was made to has to stay.
            if entry.difference.is_none() {
                entry.origin = Some((base.clone(), number));
            }
        }
    }

    /// Why images are not spilled any more, if so.
    pub(super) fn spill_failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// A page with this content.
    pub(super) fn image(&mut self, bytes: &[u8; IMAGE_BYTES]) -> PageRef {
        let image = self.pool.image(bytes);
        self.insert(image)
    }

    /// A page with the content that `fill` writes over old bytes.
    pub(super) fn filled(&mut self, fill: impl FnOnce(&mut [u8; IMAGE_BYTES])) -> PageRef {
        let image = self.pool.filled(fill);
        self.insert(image)
    }

    /// A page that shares this image.
    #[inline]
    pub(super) fn share(&mut self, image: &Image) -> PageRef {
        let mark = image.mark();
        if (mark >> 32) as u32 == self.id
            && let Some(entry) = self.entries.get_mut(mark as u32 as usize)
            && entry.image.as_ref().is_some_and(|held| held.is_same(image))
        {
            entry.references += 1;
            return PageRef::of(mark as u32);
        }
        self.insert(image.clone())
    }

    #[inline]
    fn insert(&mut self, image: Image) -> PageRef {
        let key = match self.free.pop() {
            Some(key) => key,
            None => {
                self.entries.push(Entry {
                    image: None,
                    slot: None,
                    origin: None,
                    difference: None,
                    references: 0,
                    generation: 0,
                });
                (self.entries.len() - 1) as u32
            }
        };
        image.set_mark(u64::from(self.id) << 32 | u64::from(key));
        let entry = &mut self.entries[key as usize];
        entry.image = Some(image);
        entry.references = 1;
        let generation = entry.generation;
        self.became_resident(key, generation);
        PageRef::of(key)
    }

    /// A page has this content no longer.
    #[inline]
    pub(super) fn release(&mut self, page: PageRef) {
        let Some(key) = page.key() else { return };
        let entry = &mut self.entries[key as usize];
        entry.references -= 1;
        if entry.references == 0 {
            entry.generation = entry.generation.wrapping_add(1);
            self.resident -= usize::from(entry.image.take().is_some());
            if let Some(slot) = entry.slot.take() {
                self.spiller.release(slot);
            }
            entry.origin = None;
            if let Some(difference) = entry.difference.take() {
                self.differences.0 -= 1;
                self.differences.1 -= difference.bytes();
            }
            self.free.push(key);
        }
    }

    /// Copies a part of a page that is neither zero nor base.
    ///
    /// # Errors
    /// If a spilled image cannot be read back, or its base not be read.
    pub(super) fn read(&self, page: PageRef, offset: usize, buffer: &mut [u8]) -> io::Result<()> {
        let key = page.key().expect("a page of the table");
        let entry = &self.entries[key as usize];
        if let Some(image) = &entry.image {
            buffer.copy_from_slice(&image[offset..offset + buffer.len()]);
            return Ok(());
        }
        if let (Some(difference), Some((base, number))) = (&entry.difference, &entry.origin) {
            base.read_page(*number, offset, buffer)?;
            difference.apply(offset, buffer);
            return Ok(());
        }
        let slot = entry.slot.expect("an image is in memory or in the file");
        self.spiller.read(slot, offset, buffer)
    }

    /// Changes the bytes of a page. Where the content is shared, or not in memory, the
    /// page gets an image of its own; `fill` makes the content of a page that is zero or
    /// base.
    ///
    /// # Errors
    /// If a spilled image cannot be read back, or `fill` fails.
    pub(super) fn change<R>(
        &mut self,
        page: &mut PageRef,
        fill: impl FnOnce(&mut [u8; IMAGE_BYTES]) -> io::Result<()>,
        change: impl FnOnce(&mut [u8; IMAGE_BYTES]) -> R,
    ) -> io::Result<R> {
        if let Some(key) = page.key() {
            let entry = &mut self.entries[key as usize];
            if entry.references == 1
                && let Some(bytes) = entry.image.as_mut().and_then(Image::get_mut)
            {
                return Ok(change(bytes));
            }
        }
        let mut copy = self.pool.zeroed();
        let bytes = copy.get_mut().expect("a new image has one reference");
        match page.key() {
            Some(_) => self.read(*page, 0, bytes)?,
            None => fill(bytes)?,
        }
        let result = change(bytes);
        let old = std::mem::replace(page, self.insert(copy));
        self.release(old);
        Ok(result)
    }

    // ---- the budget -----------------------------------------------------------

    #[inline]
    fn became_resident(&mut self, key: u32, generation: u32) {
        self.resident += 1;
        if self.budget != usize::MAX {
            self.keep_budget(key, generation);
        }
    }

    fn keep_budget(&mut self, key: u32, generation: u32) {
        if self.ages.len() > 2 * self.entries.len() + 1024 {
            let entries = &self.entries;
            self.ages
                .retain(|&(key, generation)| entries[key as usize].generation == generation);
        }
        self.ages.push_back((key, generation));
        while let Some(done) = self.spiller.finished(false) {
            self.take_answer(done);
        }
        let images = self.budget.saturating_sub(self.differences.1 / IMAGE_BYTES);
        let images = images.max(self.budget.min(YOUNGEST));
        while self.failure.is_none()
            && self.resident > images + self.spiller.in_flight()
            && let Some((key, generation)) = self.ages.pop_front()
        {
            if self.became_difference(key, generation) {
                continue;
            }
            let entry = &self.entries[key as usize];
            if entry.generation == generation
                && let Some(image) = &entry.image
                && let Err(error) = self.spiller.start(name(key, generation), image.clone())
            {
                self.failure = Some(error.to_string());
            }
        }
        // The host's memory before the host's time: a helper that cannot keep up holds
        // the loop up when twice the budget is in use.
        while self.failure.is_none()
            && self.resident / 2 > self.budget
            && let Some(done) = self.spiller.finished(true)
        {
            self.take_answer(done);
        }
    }

    /// Keeps an image as its difference to what it was written over, if that is small. A
    /// base that cannot be read is no failure: the image is here.
    fn became_difference(&mut self, key: u32, generation: u32) -> bool {
        let entry = &mut self.entries[key as usize];
        if entry.generation != generation {
            return false;
        }
        let (Some(image), Some((base, number))) = (&entry.image, &entry.origin) else {
            return false;
        };
        let mut page = [0; IMAGE_BYTES];
        let difference = base.read_page(*number, 0, &mut page).ok();
        let Some(difference) = difference.and_then(|()| Difference::new(&page, image)) else {
            return false;
        };
        self.differences.0 += 1;
        self.differences.1 += difference.bytes();
        entry.difference = Some(difference);
        entry.image = None;
        self.resident -= 1;
        true
    }

    fn take_answer(&mut self, done: Done) {
        let key = done.name as u32;
        let entry = &mut self.entries[key as usize];
        if let Err(error) = done.result {
            self.failure = Some(error.to_string());
        } else if entry.generation == (done.name >> 32) as u32 && entry.image.is_some() {
            entry.image = None;
            entry.slot = Some(done.slot);
            self.resident -= 1;
            self.spilled += 1;
        } else {
            self.spiller.release(done.slot);
        }
    }

    /// Waits for the helper thread and ends it; it starts again when needed.
    pub(super) fn quiesce(&mut self) {
        for done in self.spiller.stop() {
            self.take_answer(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(budget: usize) -> ImageStore {
        ImageStore::new(budget, std::env::temp_dir())
    }

    fn bytes(store: &ImageStore, page: PageRef) -> [u8; IMAGE_BYTES] {
        let mut buffer = [0; IMAGE_BYTES];
        store.read(page, 0, &mut buffer).unwrap();
        buffer
    }

    #[test]
    fn one_image_makes_one_entry_however_often_it_is_written() {
        let mut store = store(usize::MAX);
        let pool = ImagePool::new();
        let image = pool.image(&[1; IMAGE_BYTES]);
        let (slot, page) = (store.share(&image), store.share(&image));
        assert_eq!((slot, store.counts().0), (page, 1));
        store.release(slot);
        assert_eq!(bytes(&store, page), [1; IMAGE_BYTES]);
        store.release(page);
        assert_eq!(store.counts().0, 0);
        // The mark that it left on the image is void now.
        let other = store.image(&[2; IMAGE_BYTES]);
        let again = store.share(&image);
        assert_ne!(other, again);
        assert_eq!(bytes(&store, again), [1; IMAGE_BYTES]);
    }

    #[test]
    fn two_tables_keep_one_image_apart() {
        let (mut first, mut second) = (store(usize::MAX), store(usize::MAX));
        let image = ImagePool::new().image(&[1; IMAGE_BYTES]);
        let a = first.share(&image);
        let b = second.share(&image);
        let c = first.share(&image);
        first.release(a);
        second.release(b);
        assert_eq!(bytes(&first, c), [1; IMAGE_BYTES]);
    }

    #[test]
    fn writing_on_a_shared_page_leaves_the_others_alone() {
        let mut store = store(usize::MAX);
        let image = ImagePool::new().image(&[1; IMAGE_BYTES]);
        let mut page = store.share(&image);
        let other = store.share(&image);
        let never = |_: &mut [u8; IMAGE_BYTES]| -> io::Result<()> { unreachable!() };
        store
            .change(&mut page, never, |bytes| bytes[0] = 9)
            .unwrap();
        assert_eq!(bytes(&store, page)[0], 9);
        assert_eq!((bytes(&store, other)[0], image[0]), (1, 1));
        let before = page;
        store
            .change(&mut page, never, |bytes| bytes[1] = 9)
            .unwrap();
        assert_eq!(page, before, "a sole page is written where it is");
        let mut zero = PageRef::ZERO;
        let fill = |bytes: &mut [u8; IMAGE_BYTES]| {
            bytes.fill(3);
            Ok(())
        };
        store.change(&mut zero, fill, |bytes| bytes[5] = 4).unwrap();
        assert_eq!(bytes(&store, zero)[4..7], [3, 4, 3]);
    }

    #[test]
    fn a_tiny_budget_changes_no_byte_and_is_kept() {
        let mut store = store(4);
        let mut pages: Vec<_> = (0..100u8)
            .map(|n| (n, store.image(&[n; IMAGE_BYTES])))
            .collect();
        assert!(store.counts().0 <= 9, "{:?}", store.counts());
        store.quiesce();
        assert_eq!(store.counts().0, 4);
        assert!(store.counts().1 >= 95);
        for &(n, page) in &pages {
            assert_eq!(bytes(&store, page), [n; IMAGE_BYTES]);
        }
        // After a stop new images go to another file, and old ones are still there.
        pages.extend((100..200u8).map(|n| (n, store.image(&[n; IMAGE_BYTES]))));
        for (n, page) in &mut pages {
            let fill = |_: &mut [u8; IMAGE_BYTES]| -> io::Result<()> { unreachable!() };
            store.change(page, fill, |bytes| bytes[0] = !*n).unwrap();
        }
        store.quiesce();
        for &(n, page) in &pages {
            let content = bytes(&store, page);
            assert_eq!((content[0], content[1]), (!n, n));
            store.release(page);
        }
        assert_eq!(store.counts().0, 0);
        assert_eq!(store.spill_failure(), None);
    }

    /// Three versions of a page over a base: each comes back, no file is written, and what
    /// has nothing in common with the base is spilled.
    #[test]
    fn images_over_a_base_are_kept_as_differences() {
        use std::io::Write as _;

        let mut file = tempfile::NamedTempFile::new().unwrap();
        let base: Vec<u8> = (0..3 * IMAGE_BYTES).map(|at| (at / 7) as u8).collect();
        file.write_all(&base).unwrap();
        let base = Arc::new(Base {
            file: file.reopen().unwrap(),
            length: base.len() as u64,
            host_path: file.path().into(),
            identity: (0, 0),
        });
        let mut page_2 = [0; IMAGE_BYTES];
        base.read_page(2, 0, &mut page_2).unwrap();

        let mut store = store(1);
        store.base_stays();
        let mut written = Vec::new();
        for version in 0..3_u8 {
            let mut image = page_2;
            image[100..140].fill(version);
            image[IMAGE_BYTES - 4..].fill(version);
            let page = store.image(&image);
            store.resembles(page, &base, 2);
            written.push((page, image));
        }
        let other = [0xAB; IMAGE_BYTES];
        let unlike = store.image(&other);
        store.resembles(unlike, &base, 0);
        let last = store.image(&[1; IMAGE_BYTES]);
        store.quiesce();
        assert_eq!((store.counts(), store.differences().0), ((1, 1), 3));
        assert!(store.differences().1 < 3 * 128);
        for &(page, image) in &written {
            assert_eq!(bytes(&store, page), image);
            let mut part = [0; 50];
            store.read(page, 120, &mut part).unwrap();
            assert_eq!(part, image[120..170]);
        }
        assert_eq!(bytes(&store, unlike), other);

        // Changed, it is an image of its own again.
        let (page, image) = &mut written[0];
        let never = |_: &mut [u8; IMAGE_BYTES]| -> io::Result<()> { unreachable!() };
        store.change(page, never, |bytes| bytes[0] = 77).unwrap();
        image[0] = 77;
        assert_eq!(bytes(&store, *page), *image);
        for (page, _) in written {
            store.release(page);
        }
        assert_eq!(store.differences(), (0, 0));
        assert_eq!(bytes(&store, last)[0], 1);
    }

    #[test]
    fn a_directory_that_does_not_exist_stops_the_spilling_not_the_program() {
        let mut store = ImageStore::new(1, "/nowhere/at/all".into());
        let pages: Vec<_> = (0..10u8).map(|n| store.image(&[n; IMAGE_BYTES])).collect();
        assert!(store.spill_failure().is_some());
        assert_eq!(bytes(&store, pages[3]), [3; IMAGE_BYTES]);
    }
}
