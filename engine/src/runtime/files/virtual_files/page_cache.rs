//! What the operating system's page cache holds of a buffered file.
//!
//! A buffered write ends here; `sync` takes the dirty parts to the device. The unit is
//! the kernel's page of 4 KiB, here a *granule*, four to a page of the file:
//!
//! ```text
//!   redo file  | 16 KiB page                       | next page …
//!   granules   | clean  | dirty  | dirty  | not    |    dirty: bytes that the device
//!              |        | 512 B  | whole  | cached |    has not got
//! ```
//!
//! * A write that covers a part of a granule whose rest is on the device but not cached
//!   reads that granule first. (InnoDB pads redo writes to
//!   `innodb_log_write_ahead_size` to avoid it.)
//! * Cached granules stay: memory for the page cache has no limit here, and nothing is
//!   written back before a `sync` asks for it. (Linux starts after some 30 s, or when a
//!   tenth of its memory is dirty.)
//! * There is no read-ahead.

use std::collections::BTreeMap;
use std::io;

use super::content::{Content, Part, Source, parts};
use super::image_store::{ImageStore, PageRef};
use crate::runtime::files::image::IMAGE_BYTES;

/// Bytes of a granule.
pub(super) const GRANULE: usize = 4096;
/// Granules of a page.
pub(super) const GRANULES: usize = IMAGE_BYTES / GRANULE;

/// The dirty parts of a page.
pub(super) enum Dirty {
    /// All of it. Holds a reference.
    Whole(PageRef),
    /// Some granules.
    Granules([Option<Box<[u8]>>; GRANULES]),
}

/// The page cache of one file.
#[derive(Default)]
pub(super) struct PageCache {
    /// A bit for each granule: cached.
    cached: Vec<u64>,
    dirty: BTreeMap<u32, Dirty>,
}

impl PageCache {
    fn is_cached(&self, granule: u64) -> bool {
        let word = self.cached.get((granule / 64) as usize);
        word.is_some_and(|word| word & 1 << (granule % 64) != 0)
    }

    /// The granules from `first` to before `end` are cached from now on.
    pub(super) fn set_cached(&mut self, first: u64, end: u64) {
        if end > first {
            let words = (end as usize).div_ceil(64);
            if self.cached.len() < words {
                self.cached.resize(words, 0);
            }
        }
        for granule in first..end {
            self.cached[(granule / 64) as usize] |= 1 << (granule % 64);
        }
    }

    /// Whether some page has dirty parts.
    pub(super) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Whether this page has dirty parts.
    pub(super) fn has_dirty(&self, page: u32) -> bool {
        self.dirty.contains_key(&page)
    }

    /// The runs of granules in a range that are not cached: first, and end.
    pub(super) fn missing(&self, offset: u64, length: u64, runs: &mut Vec<(u64, u64)>) {
        let first = offset / GRANULE as u64;
        let end = (offset + length).div_ceil(GRANULE as u64);
        for granule in first..end {
            if !self.is_cached(granule) {
                match runs.last_mut() {
                    Some(run) if run.1 == granule => run.1 += 1,
                    _ => runs.push((granule, granule + 1)),
                }
            }
        }
    }

    /// The granules that a write has to read first: those that it covers in part, that
    /// are not cached, and that are not known to be zero.
    pub(super) fn to_read_before_write(
        &self,
        offset: u64,
        length: u64,
        content: &Content,
        runs: &mut Vec<(u64, u64)>,
    ) {
        let granule = GRANULE as u64;
        let end = offset + length;
        let edges = [
            (!offset.is_multiple_of(granule)).then_some(offset / granule),
            (!end.is_multiple_of(granule)).then_some(end / granule),
        ];
        for edge in edges.into_iter().flatten() {
            let page = (edge / GRANULES as u64) as u32;
            let known = self.is_cached(edge) || content.page(page) == PageRef::ZERO;
            if !known && runs.last() != Some(&(edge, edge + 1)) {
                runs.push((edge, edge + 1));
            }
        }
    }

    /// Copies a part of a page as a reader of the file sees it.
    pub(super) fn read(
        &self,
        part: Part,
        buffer: &mut [u8],
        content: &Content,
        store: &ImageStore,
    ) -> io::Result<()> {
        match self.dirty.get(&part.page) {
            None => content.read(part.page, part.offset, buffer, store),
            Some(&Dirty::Whole(page)) => {
                content.read_as(page, part.page, part.offset, buffer, store)
            }
            Some(Dirty::Granules(granules)) => {
                content.read(part.page, part.offset, buffer, store)?;
                for (number, granule) in granules.iter().enumerate() {
                    if let (Some(bytes), Some((inner, outer))) = (granule, overlap(number, part)) {
                        buffer[outer].copy_from_slice(&bytes[inner]);
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes a part of a page into the cache.
    pub(super) fn write(
        &mut self,
        part: Part,
        source: Source<'_>,
        content: &Content,
        store: &mut ImageStore,
    ) -> io::Result<()> {
        if part.is_whole() {
            let page = source.page(part.position, store);
            if let Some(Dirty::Whole(old)) = self.dirty.insert(part.page, Dirty::Whole(page)) {
                store.release(old);
            }
            return Ok(());
        }
        let none = || Dirty::Granules(Default::default());
        match self.dirty.entry(part.page).or_insert_with(none) {
            Dirty::Whole(page) => {
                let range = part.offset..part.offset + part.length;
                let zero = |bytes: &mut [u8; IMAGE_BYTES]| {
                    bytes.fill(0);
                    Ok(())
                };
                store.change(page, zero, |bytes| {
                    source.copy(part.position, &mut bytes[range]);
                })?;
            }
            Dirty::Granules(granules) => {
                for (number, granule) in granules.iter_mut().enumerate() {
                    let Some((inner, outer)) = overlap(number, part) else {
                        continue;
                    };
                    let bytes = match granule {
                        Some(bytes) => bytes,
                        none => {
                            let mut bytes = vec![0; GRANULE].into_boxed_slice();
                            if inner.len() < GRANULE {
                                content.read(part.page, number * GRANULE, &mut bytes, store)?;
                            }
                            none.insert(bytes)
                        }
                    };
                    source.copy(part.position + outer.start, &mut bytes[inner]);
                }
            }
        }
        Ok(())
    }

    /// A direct write goes past the cache to the device: what the cache has of that part
    /// of the page changes with it.
    pub(super) fn write_beside(
        &mut self,
        part: Part,
        source: Source<'_>,
        content: &Content,
        store: &mut ImageStore,
    ) -> io::Result<()> {
        if !self.dirty.contains_key(&part.page) {
            return Ok(());
        }
        if part.is_whole() {
            self.drop_dirty(part.page, store);
            return Ok(());
        }
        self.write(part, source, content, store)
    }

    fn drop_dirty(&mut self, page: u32, store: &mut ImageStore) {
        if let Some(Dirty::Whole(page)) = self.dirty.remove(&page) {
            store.release(page);
        }
    }

    /// Takes all dirty parts, by page; they count as clean from now on.
    pub(super) fn take_dirty(&mut self) -> BTreeMap<u32, Dirty> {
        std::mem::take(&mut self.dirty)
    }

    /// Takes the dirty parts of the pages that a range touches.
    pub(super) fn take_dirty_in(&mut self, offset: u64, length: u64) -> BTreeMap<u32, Dirty> {
        let mut taken = BTreeMap::new();
        for part in parts(offset, length) {
            if let Some(dirty) = self.dirty.remove(&part.page) {
                taken.insert(part.page, dirty);
            }
        }
        taken
    }

    /// Forgets what lies behind so many bytes.
    pub(super) fn shrink(&mut self, length: u64, store: &mut ImageStore) -> io::Result<()> {
        let pages = super::content::pages(length) as u32;
        for (_, dirty) in self.dirty.split_off(&pages) {
            if let Dirty::Whole(page) = dirty {
                store.release(page);
            }
        }
        let within = (length % IMAGE_BYTES as u64) as usize;
        match self.dirty.get_mut(&pages.saturating_sub(1)) {
            Some(Dirty::Whole(page)) if within > 0 => {
                let zero = |bytes: &mut [u8; IMAGE_BYTES]| {
                    bytes.fill(0);
                    Ok(())
                };
                store.change(page, zero, |bytes| bytes[within..].fill(0))?;
            }
            Some(Dirty::Granules(granules)) if within > 0 => {
                for (number, granule) in granules.iter_mut().enumerate() {
                    let start = within.saturating_sub(number * GRANULE).min(GRANULE);
                    if let Some(bytes) = granule {
                        bytes[start..].fill(0);
                    }
                }
            }
            _ => {}
        }
        let granules = length.div_ceil(GRANULE as u64);
        self.cached.truncate((granules as usize).div_ceil(64));
        if let Some(last) = self.cached.last_mut()
            && !granules.is_multiple_of(64)
        {
            *last &= (1 << (granules % 64)) - 1;
        }
        Ok(())
    }

    /// The machine has lost its memory; returns what was dirty.
    pub(super) fn power_cut(&mut self) -> BTreeMap<u32, Dirty> {
        self.cached.clear();
        self.take_dirty()
    }
}

type Range = std::ops::Range<usize>;

/// What a granule and a part of its page have in common: as a range of the granule, and
/// of the part.
fn overlap(granule: usize, part: Part) -> Option<(Range, Range)> {
    let start = (granule * GRANULE).max(part.offset);
    let end = ((granule + 1) * GRANULE).min(part.offset + part.length);
    (start < end).then(|| {
        (
            start - granule * GRANULE..end - granule * GRANULE,
            start - part.offset..end - part.offset,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(offset: u64, length: u64) -> Part {
        parts(offset, length).next().unwrap()
    }

    #[test]
    fn small_writes_make_granules_dirty_and_show_through() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut content = Content::default();
        content.grow(IMAGE_BYTES as u64);
        let ones = [1; IMAGE_BYTES];
        content
            .write(
                part(0, IMAGE_BYTES as u64),
                Source::Bytes(&ones),
                &mut store,
            )
            .unwrap();
        let mut cache = PageCache::default();
        let twos = [2; 1024];
        let written = part(4096 - 512, 1024);
        cache
            .write(written, Source::Bytes(&twos), &content, &mut store)
            .unwrap();
        let mut buffer = [0; IMAGE_BYTES];
        let all = part(0, IMAGE_BYTES as u64);
        cache.read(all, &mut buffer, &content, &store).unwrap();
        let mut expected = ones;
        expected[4096 - 512..4096 + 512].fill(2);
        assert!(buffer == expected);
        let dirty = cache.take_dirty();
        assert!(matches!(
            &dirty[&0],
            Dirty::Granules([Some(_), Some(_), None, None])
        ));
        cache.read(all, &mut buffer, &content, &store).unwrap();
        assert!(buffer == ones, "the device has not been given it yet");
    }

    #[test]
    fn a_write_reads_first_what_it_covers_in_part_only() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut content = Content::default();
        content.grow(3 * IMAGE_BYTES as u64);
        let ones = [1; IMAGE_BYTES];
        for page in 0..2 {
            let part = part(page * IMAGE_BYTES as u64, IMAGE_BYTES as u64);
            content
                .write(part, Source::Bytes(&ones), &mut store)
                .unwrap();
        }
        let mut cache = PageCache::default();
        let runs = |cache: &PageCache, offset, length| {
            let mut runs = Vec::new();
            cache.to_read_before_write(offset, length, &content, &mut runs);
            runs
        };
        assert_eq!(runs(&cache, 4096, 8192), []);
        assert_eq!(runs(&cache, 4096, 512), [(1, 2)]);
        assert_eq!(runs(&cache, 512, 8192), [(0, 1), (2, 3)]);
        assert_eq!(runs(&cache, 2 * IMAGE_BYTES as u64, 512), [], "zeros");
        cache.set_cached(0, 1);
        assert_eq!(runs(&cache, 512, 8192), [(2, 3)]);
        let mut missing = Vec::new();
        cache.set_cached(70, 71);
        cache.missing(0, 72 * 4096, &mut missing);
        assert_eq!(missing, [(1, 70), (71, 72)]);
    }

    #[test]
    fn shrinking_forgets_what_lies_behind() {
        let mut store = ImageStore::new(usize::MAX, "/tmp".into());
        let mut content = Content::default();
        content.grow(4 * IMAGE_BYTES as u64);
        let mut cache = PageCache::default();
        let ones = [1; IMAGE_BYTES];
        for (page, length) in [(0, 512), (1, 16_384), (2, 16_384)] {
            let part = part(page * IMAGE_BYTES as u64, length);
            cache
                .write(part, Source::Bytes(&ones), &content, &mut store)
                .unwrap();
        }
        cache.set_cached(0, 16);
        cache.shrink(IMAGE_BYTES as u64 + 100, &mut store).unwrap();
        assert_eq!(cache.dirty.len(), 2);
        let mut buffer = [9; 200];
        cache
            .read(part(16_384, 200), &mut buffer, &content, &store)
            .unwrap();
        assert_eq!(buffer[99..101], [1, 0]);
        assert!(cache.is_cached(4) && !cache.is_cached(5));
        cache.shrink(100, &mut store).unwrap();
        cache
            .read(part(0, 200), &mut buffer, &content, &store)
            .unwrap();
        assert_eq!(buffer[99..101], [1, 0]);
        assert_eq!(store.counts().0, 0);
    }
}
