//! Files of the virtual machine: real bytes, modelled time, and a memory of what a power
//! failure would undo.
//!
//! ```text
//!   File ---+--> page cache (buffered files only)          lost at a power failure
//!           |        | sync
//!           +--------+--> page table of images             what was written
//!                            |  over the host file mounted below, read-only
//!                            +--> list of volatile writes  what may still be undone
//!                            +--> device                   how long it takes
//! ```
//!
//! The bytes are here; the time is in [`operations`], which takes each request to the
//! device model. A write's bytes are in the page table from the instant of its
//! submission, and its way to durability is followed in [`volatile`]. Creating, removing
//! and renaming files, and changing a length, are durable at once, as a journalling file
//! system makes them before it reports a sync; that the journal itself takes time is
//! left out.
//!
//! **Names** are kept as they are written, without `.` and `..`: `db/t1.ibd` and
//! `/db/t1.ibd` are two files. Directories exist when they were created or mounted; the
//! root and the empty path always do.
//!
//! The state belongs to the [`Simulation`](crate::runtime::virtual_clock::Simulation)
//! and outlives its runs: see [`Crash`] for what a cut leaves.

mod content;
mod crash;
mod difference;
mod host;
mod image_store;
mod journal;
mod names;
pub(super) mod operations;
mod page_cache;
mod space;
mod spill;
mod volatile;
mod write_out;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use self::content::{Content, parts};
use self::image_store::ImageStore;
use self::page_cache::{Dirty, GRANULE, PageCache};
use self::space::{Extents, Space};
use self::volatile::{Old, VolatileWrites, release};
use super::error::system_error;
use super::image::IMAGE_BYTES;
use super::kind::{FileKind, Placement};
use crate::runtime::event::Event;
use crate::runtime::random::Stream;

pub(super) use self::content::Source;
pub use self::crash::{Crash, CrashReport};
pub use self::journal::{finish_write_out, is_write_out_unfinished};
pub(super) use self::names::VirtualHandle;
pub use self::write_out::WriteOutError;

/// The number of a file among those of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::runtime) struct FileId(u32);

/// What the files need to know of a device.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct DeviceFacts {
    /// Whether a completed write survives a power failure.
    pub(in crate::runtime) protected: bool,
    /// Bytes, at aligned addresses, that a power failure leaves all old or all new.
    pub(in crate::runtime) atomic_write_bytes: u32,
    /// Where the model has such a limit.
    pub(in crate::runtime) capacity_bytes: Option<u64>,
}

struct Device {
    writes: VolatileWrites,
    space: Space,
    atomic_write_bytes: u32,
}

/// Where a file lies. Decided when it is first opened, by its kind.
struct Place {
    /// `None` on a machine without devices.
    device: Option<u16>,
    extents: Extents,
}

struct VirtualFile {
    length: u64,
    content: Content,
    cache: PageCache,
    place: Option<Place>,
    /// Handles hold clones: a removed file is gone when this is the only one left.
    alive: Arc<()>,
    /// Write-backs under way, by number, and the number of the next.
    writebacks: Vec<u64>,
    next_writeback: u64,
    written_back: Arc<Event>,
}

impl VirtualFile {
    fn new(content: Content, length: u64) -> Self {
        VirtualFile {
            length,
            content,
            cache: PageCache::default(),
            place: None,
            alive: Arc::new(()),
            writebacks: Vec::new(),
            next_writeback: 0,
            written_back: Arc::new(Event::new()),
        }
    }

    fn extents(&self) -> &Extents {
        &self
            .place
            .as_ref()
            .expect("an open file has a place")
            .extents
    }
}

/// A request to a device, with the numbers of the volatile writes that it consists of.
#[derive(Clone, Copy, Debug)]
pub(in crate::runtime) struct Piece {
    pub(in crate::runtime) address: u64,
    pub(in crate::runtime) length: u32,
    pub(in crate::runtime) first: u64,
    pub(in crate::runtime) count: u32,
}

/// Requests are not merged beyond this.
const PIECE_BYTES: u32 = 1 << 30;

/// Appends a range to a list of requests: to the last one if it ends there. Says whether
/// a new request begins.
fn add_piece(pieces: &mut Vec<Piece>, address: u64, length: u32) -> bool {
    if let Some(last) = pieces.last_mut()
        && last.address + u64::from(last.length) == address
        && last.length + length <= PIECE_BYTES
    {
        last.length += length;
        return false;
    }
    pieces.push(Piece {
        address,
        length,
        first: 0,
        count: 0,
    });
    true
}

/// Notes what a file's changes put out of place, and makes requests of them.
struct Recorder<'a> {
    file: FileId,
    place: &'a Place,
    devices: &'a mut [Device],
    pieces: &'a mut Vec<Piece>,
}

impl Recorder<'_> {
    /// A part of a page has been given to the device.
    fn record(
        &mut self,
        page: u32,
        offset: usize,
        length: usize,
        mut old: Old,
        store: &mut ImageStore,
    ) {
        let Some(device) = self.place.device else {
            // Without a device there is nothing that a write could get stuck in.
            release(&mut old, store);
            return;
        };
        let in_file = u64::from(page) * IMAGE_BYTES as u64 + offset as u64;
        let address = self.place.extents.address(in_file);
        let starts = add_piece(self.pieces, address, length as u32);
        let writes = &mut self.devices[usize::from(device)].writes;
        let number = writes.push(self.file, page, (offset, length), old, starts);
        let piece = self.pieces.last_mut().expect("just added");
        if starts {
            piece.first = number;
        }
        piece.count += 1;
    }
}

/// The stream that decides what a power failure leaves.
fn fates(seed: u64) -> Stream {
    Stream::new(seed, "power failure")
}

/// All files of a simulation; see the module's opening.
pub struct VirtualFiles {
    store: ImageStore,
    files: Vec<Option<VirtualFile>>,
    free: Vec<FileId>,
    /// Removed files that may still be open.
    unlinked: Vec<FileId>,
    names: BTreeMap<PathBuf, FileId>,
    directories: BTreeSet<PathBuf>,
    locks: BTreeMap<PathBuf, Weak<()>>,
    devices: Vec<Device>,
    placement: Placement,
    /// Decides what a power failure leaves.
    fates: Stream,
    /// The power was cut, and nobody has said yet what became of the writes.
    unresolved: bool,
    /// Host files below the virtual ones at the last mount, by their virtual path.
    mounted: BTreeMap<PathBuf, PathBuf>,
    /// Empty lists, to be used again.
    pieces: Vec<Piece>,
    runs: Vec<(u64, u64)>,
}

impl VirtualFiles {
    /// No files yet, on these devices. At most `budget` bytes of page images stay in
    /// memory; the others are spilled to an unlinked file in `spill_directory`.
    pub(in crate::runtime) fn new(
        seed: u64,
        devices: impl IntoIterator<Item = DeviceFacts>,
        placement: Placement,
        budget: Option<u64>,
        spill_directory: PathBuf,
    ) -> Self {
        let budget = budget.map_or(usize::MAX, |bytes| bytes as usize / IMAGE_BYTES);
        let devices = devices.into_iter().map(|facts| Device {
            writes: VolatileWrites::new(facts.protected),
            space: Space::new(facts.capacity_bytes),
            atomic_write_bytes: facts.atomic_write_bytes,
        });
        VirtualFiles {
            store: ImageStore::new(budget, spill_directory),
            files: Vec::new(),
            free: Vec::new(),
            unlinked: Vec::new(),
            names: BTreeMap::new(),
            directories: BTreeSet::new(),
            locks: BTreeMap::new(),
            devices: devices.collect(),
            placement,
            fates: fates(seed),
            unresolved: false,
            mounted: BTreeMap::new(),
            pieces: Vec::new(),
            runs: Vec::new(),
        }
    }

    fn file(&self, id: FileId) -> &VirtualFile {
        self.files[id.0 as usize].as_ref().expect("an open file")
    }

    fn file_mut(&mut self, id: FileId) -> &mut VirtualFile {
        self.files[id.0 as usize].as_mut().expect("an open file")
    }

    /// Where files of a kind lie; `None` on a machine without devices.
    pub(super) fn device_of_kind(&self, kind: FileKind) -> Option<u16> {
        let device = self.placement.device(kind);
        (usize::from(device) < self.devices.len()).then_some(device)
    }

    /// The device of an open file.
    fn device(&self, id: FileId) -> Option<u16> {
        self.file(id).place.as_ref().and_then(|place| place.device)
    }

    fn place(&mut self, id: FileId, kind: FileKind) -> io::Result<()> {
        let device = self.device_of_kind(kind);
        let file = self.files[id.0 as usize].as_mut().expect("an open file");
        if file.place.is_some() {
            return Ok(());
        }
        let mut extents = Extents::default();
        if let Some(device) = device {
            let space = &mut self.devices[usize::from(device)].space;
            if !extents.grow(file.length, space) {
                return Err(system_error(libc::ENOSPC));
            }
        }
        file.place = Some(Place { device, extents });
        Ok(())
    }

    /// Makes a file at least so long.
    fn grow(&mut self, id: FileId, length: u64) -> io::Result<()> {
        let file = self.files[id.0 as usize].as_mut().expect("an open file");
        if length <= file.length {
            return Ok(());
        }
        let place = file.place.as_mut().expect("an open file has a place");
        if let Some(device) = place.device {
            let space = &mut self.devices[usize::from(device)].space;
            if !place.extents.grow(length, space) {
                return Err(system_error(libc::ENOSPC));
            }
        }
        file.content.grow(length);
        file.length = length;
        Ok(())
    }

    /// Gives a file a length.
    fn set_length(&mut self, id: FileId, length: u64) -> io::Result<()> {
        let file = self.files[id.0 as usize].as_mut().expect("an open file");
        if length >= file.length {
            return self.grow(id, length);
        }
        // The last page that stays loses its end for good, too.
        let page = length / IMAGE_BYTES as u64;
        for device in &mut self.devices {
            device.writes.forget(id, page, &mut self.store);
        }
        file.cache.shrink(length, &mut self.store)?;
        file.content.shrink(length, &mut self.store)?;
        file.length = length;
        if let Some(place) = &mut file.place
            && let Some(device) = place.device
        {
            let space = &mut self.devices[usize::from(device)].space;
            place.extents.shrink(length, space);
        }
        Ok(())
    }

    /// Writes past the page cache: the bytes are in place, the requests in `pieces`.
    fn write_through(
        &mut self,
        id: FileId,
        source: Source<'_>,
        offset: u64,
        pieces: &mut Vec<Piece>,
    ) -> io::Result<()> {
        let length = source.length();
        self.grow(id, offset + length)?;
        let file = self.files[id.0 as usize].as_mut().expect("an open file");
        let store = &mut self.store;
        let mut recorder = Recorder {
            file: id,
            place: file.place.as_ref().expect("an open file has a place"),
            devices: &mut self.devices,
            pieces,
        };
        for part in parts(offset, length) {
            let old = file.content.write(part, source, store)?;
            recorder.record(part.page, part.offset, part.length, old, store);
            if file.cache.is_dirty() {
                file.cache
                    .write_beside(part, source, &file.content, store)?;
            }
        }
        Ok(())
    }

    /// Writes into the page cache.
    fn write_cached(&mut self, id: FileId, source: Source<'_>, offset: u64) -> io::Result<()> {
        let length = source.length();
        self.grow(id, offset + length)?;
        let file = self.files[id.0 as usize].as_mut().expect("an open file");
        for part in parts(offset, length) {
            file.cache
                .write(part, source, &file.content, &mut self.store)?;
        }
        let granule = GRANULE as u64;
        let end = (offset + length).div_ceil(granule);
        file.cache.set_cached(offset / granule, end);
        Ok(())
    }

    /// Takes dirty parts of the page cache, of the whole file or of a range, to the
    /// device: the bytes are in place, the requests in `pieces`.
    fn write_back(
        &mut self,
        id: FileId,
        range: Option<(u64, u64)>,
        pieces: &mut Vec<Piece>,
    ) -> io::Result<()> {
        let file = self.files[id.0 as usize].as_mut().expect("an open file");
        let dirty = match range {
            None => file.cache.take_dirty(),
            Some((offset, length)) => file.cache.take_dirty_in(offset, length),
        };
        let store = &mut self.store;
        let mut recorder = Recorder {
            file: id,
            place: file.place.as_ref().expect("an open file has a place"),
            devices: &mut self.devices,
            pieces,
        };
        for (page, dirty) in dirty {
            match dirty {
                Dirty::Whole(image) => {
                    let old = Old::Page(file.content.replace(page, image));
                    recorder.record(page, 0, IMAGE_BYTES, old, store);
                }
                Dirty::Granules(granules) => {
                    for (number, granule) in granules.into_iter().enumerate() {
                        let Some(mut bytes) = granule else {
                            continue;
                        };
                        let offset = number * GRANULE;
                        file.content.change(page, store, |target| {
                            target[offset..offset + GRANULE].swap_with_slice(&mut bytes);
                        })?;
                        recorder.record(page, offset, GRANULE, Old::Bytes(bytes), store);
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies a range that lies within the file.
    fn read(&self, id: FileId, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let file = self.file(id);
        if offset + buffer.len() as u64 > file.length {
            // It has been cut since the request was made.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        for part in parts(offset, buffer.len() as u64) {
            let target = &mut buffer[part.position..part.position + part.length];
            file.cache.read(part, target, &file.content, &self.store)?;
        }
        Ok(())
    }

    /// The requests for a range.
    fn pieces_of(&self, id: FileId, offset: u64, length: u64, pieces: &mut Vec<Piece>) {
        let extents = self.file(id).extents();
        for part in parts(offset, length) {
            let address = extents.address(offset + part.position as u64);
            add_piece(pieces, address, part.length as u32);
        }
    }

    // ---- what the devices report ------------------------------------------------

    /// A request has completed that consisted of these writes.
    pub(in crate::runtime) fn write_completed(&mut self, device: u16, first: u64, count: u32) {
        let writes = &mut self.devices[usize::from(device)].writes;
        writes.complete(first, count, &mut self.store);
    }

    /// A FLUSH is submitted; returns its number.
    pub(in crate::runtime) fn flush_submitted(&mut self, device: u16) -> u64 {
        self.devices[usize::from(device)].writes.flush_submitted()
    }

    /// A FLUSH has completed.
    pub(in crate::runtime) fn flush_completed(&mut self, device: u16, number: u64) {
        let writes = &mut self.devices[usize::from(device)].writes;
        writes.flush_completed(number, &mut self.store);
    }

    /// A run begins.
    pub(in crate::runtime) fn run_begins(&mut self) {
        assert!(
            !self.unresolved,
            "the power was cut: say with `Simulation::resolve_crash` what became of the files"
        );
        self.locks.clear();
        for file in self.files.iter_mut().flatten() {
            file.writebacks.clear();
        }
    }

    /// A run has ended, by a power cut or otherwise.
    pub(in crate::runtime) fn run_ended(&mut self, power_cut: bool) {
        if power_cut {
            self.unresolved = !self.names.is_empty() || !self.unlinked.is_empty();
        } else {
            self.complete_all();
        }
    }

    fn complete_all(&mut self) {
        for device in &mut self.devices {
            device.writes.complete_all(&mut self.store);
        }
    }

    /// What power failures leave is decided by another seed from here on.
    pub(in crate::runtime) fn reseed(&mut self, seed: u64) {
        self.fates = fates(seed);
    }

    // ---- memory -----------------------------------------------------------------

    /// Bytes of page images in memory.
    pub fn resident_bytes(&self) -> u64 {
        (self.store.counts().0 * IMAGE_BYTES) as u64
    }

    /// How often an image has been spilled so far.
    pub fn spilled_images(&self) -> u64 {
        self.store.counts().1
    }

    /// Why images above the budget stay in memory, if they do: the host could not write
    /// them.
    pub fn spill_failure(&self) -> Option<&str> {
        self.store.spill_failure()
    }

    /// Promises that the host's files which are mounted, or will be, stay as they are: pages
    /// above the memory budget are then kept as differences to them.
    /// [`write_out`](Self::write_out) refuses to write over them.
    pub fn base_stays(&mut self) {
        self.store.base_stays();
    }

    /// Page images that are kept as differences, and the bytes of those.
    pub fn differences(&self) -> (usize, u64) {
        self.store.differences()
    }

    /// Ends the helper thread, which starts again when it is needed: to be called before
    /// fork(2).
    pub fn quiesce(&mut self) {
        self.store.quiesce();
    }
}
