//! Asynchronous page I/O: InnoDB's arrays of slots, and the handlers that take
//! completions out of them.
//!
//! ```text
//!   submit(offset) ──> segment (offset >> 20) % segments ──full?──> the next ones
//!                        256 slots                          all full: wait
//!   segment 0  [rrr.....]  ──> handler 0: next() ──> token, result
//!   segment 1  [rr......]  ──> handler 1
//! ```
//!
//! A region of 64 pages goes to one segment, and so to one handler, which also does the
//! work that a completion brings: checks, latches, counters (InnoDB 8.4).
//!
//! * Under the **virtual clock** this is Linux's native asynchronous I/O: the device has
//!   a request as soon as it is submitted, and the handler only takes completions. The
//!   bytes of a read arrive when the handler takes it.
//! * Under the **real clock**, and with `innodb_use_native_aio=OFF` under both, the handler
//!   itself reads and writes, one request after another (InnoDB's simulated asynchronous
//!   I/O, without merging): as many requests are in flight as there are handlers.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

use super::counters::Activity;
use super::error::{FileError, Operation, failed};
use super::file::File;
use super::image::{IMAGE_BYTES, Image};
use super::virtual_files::{Source, operations};
use crate::runtime::ambient;
use crate::runtime::event::Event;
use crate::runtime::latch_class::LatchClass;
use crate::runtime::latches::Mutex;
use crate::runtime::tasks::now;
use crate::runtime::time::{NEVER, Time};
use crate::runtime::virtual_clock::{CompletionQueue, Simulation};
use crate::runtime::wait_kind::WaitKind;

/// Slots of a segment: requests that can be pending for one handler (InnoDB: 8 times 32).
pub const SLOTS_PER_SEGMENT: usize = 256;

/// Pages of 16 KiB in a region whose requests go to one segment: 2^6.
const REGION_SHIFT: u32 = 14 + 6;

/// What happens to the page.
enum Action {
    Write(Image),
    Read(NonNull<[u8; IMAGE_BYTES]>),
}

struct Request<T> {
    file: File,
    action: Action,
    offset: u64,
    token: T,
    submitted: Time,
    /// What was found wrong at submission, to be reported like any other completion.
    refused: Option<FileError>,
}

// SAFETY: the memory to read into is nobody else's until the request completes, by the
// promise of whoever submitted it.
unsafe impl<T: Send> Send for Request<T> {}

struct Slots<T> {
    requests: Vec<Option<Request<T>>>,
    /// The free slots of each segment.
    free: Vec<Vec<u32>>,
}

impl<T> Slots<T> {
    /// A slot of this segment, or of the first after it that has one.
    fn reserve(&mut self, segment: usize) -> Option<u32> {
        let segments = self.free.len();
        (0..segments).find_map(|step| self.free[(segment + step) % segments].pop())
    }

    fn is_full(&self) -> bool {
        self.free.iter().all(Vec::is_empty)
    }
}

struct Segment {
    /// Handlers do the work: slots whose requests wait for one.
    submitted: ArrayQueue<u32>,
    arrived: Event,
    /// Virtual clock, native: where the device reports.
    completions: Arc<CompletionQueue>,
}

/// A request that is complete.
#[derive(Debug)]
pub struct Completed<T> {
    /// What was submitted with it.
    pub token: T,
    /// Whether it succeeded.
    pub result: Result<(), FileError>,
    /// From submission to now, in picoseconds.
    pub time: Time,
}

/// What a handler finds in its segment.
#[derive(Debug)]
pub enum Next<T> {
    /// A request that is complete.
    Completed(Completed<T>),
    /// None within the time.
    TimedOut,
    /// None, and there will be none: the array is closed, the segment empty.
    Closed,
}

/// Sums over all requests that a handler has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsyncIoStatistics {
    /// Requests.
    pub completed: u64,
    /// From their submission until a handler had them, in picoseconds.
    pub time: Time,
    /// Times a submitter found all slots taken, and waited.
    pub waits: u64,
}

/// An array of slots for asynchronous requests. `T` is whatever the handler needs to
/// know about a request.
pub struct AsyncIo<T> {
    segments: Box<[Segment]>,
    /// Whether handlers read and write themselves under the virtual clock, too.
    simulated: bool,
    slots: Mutex<Slots<T>>,
    not_full: Event,
    closed: AtomicBool,
    completed: AtomicU64,
    time: AtomicU64,
    waits: AtomicU64,
}

impl<T> std::fmt::Debug for AsyncIo<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "AsyncIo({} segments)", self.segments.len())
    }
}

impl<T> AsyncIo<T> {
    /// An array of so many segments (`innodb_read_io_threads`, `innodb_write_io_threads`).
    ///
    /// # Panics
    /// If there are none.
    pub fn new(segments: usize) -> Self {
        assert!(segments > 0, "an array has at least one segment");
        let slots = SLOTS_PER_SEGMENT as u32;
        let of_segment = |segment: usize| {
            let first = segment as u32 * slots;
            (first..first + slots).rev().collect()
        };
        AsyncIo {
            simulated: false,
            segments: (0..segments)
                .map(|_| Segment {
                    submitted: ArrayQueue::new(SLOTS_PER_SEGMENT),
                    arrived: Event::new(),
                    completions: Arc::default(),
                })
                .collect(),
            slots: Mutex::new(
                LatchClass::AsynchronousIo,
                Slots {
                    requests: (0..segments * SLOTS_PER_SEGMENT).map(|_| None).collect(),
                    free: (0..segments).map(of_segment).collect(),
                },
            ),
            not_full: Event::new(),
            closed: AtomicBool::new(false),
            completed: AtomicU64::new(0),
            time: AtomicU64::new(0),
            waits: AtomicU64::new(0),
        }
    }

    /// As [`new`](Self::new), but handlers read and write themselves under both clocks
    /// (`innodb_use_native_aio=OFF`).
    ///
    /// # Panics
    /// As there.
    pub fn simulated(segments: usize) -> Self {
        AsyncIo {
            simulated: true,
            ..AsyncIo::new(segments)
        }
    }

    /// Whether a request is carried out by the handler that takes it.
    fn is_for_handlers(&self) -> bool {
        self.simulated || ambient::simulation().is_null()
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Requests that have a slot, by segment (InnoDB's "Pending normal aio").
    pub fn pending(&self) -> Vec<usize> {
        let slots = self.slots.lock();
        let pending = |free: &Vec<u32>| SLOTS_PER_SEGMENT - free.len();
        slots.free.iter().map(pending).collect()
    }

    /// What has been counted so far.
    pub fn statistics(&self) -> AsyncIoStatistics {
        AsyncIoStatistics {
            completed: self.completed.load(Ordering::Relaxed),
            time: self.time.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
        }
    }

    /// Submits a write of a page. Waits only while all slots are taken. What goes wrong
    /// is reported with the completion.
    ///
    /// # Errors
    /// If the offset is no multiple of 16 KiB.
    ///
    /// # Panics
    /// After [`AsyncIo::close`].
    pub fn submit_write_image(
        &self,
        file: &File,
        image: Image,
        offset: u64,
        token: T,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        self.submit(file, Action::Write(image), offset, token, waiting_for)
    }

    /// Submits a read of a page into `destination`; otherwise as
    /// [`AsyncIo::submit_write_image`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// As there.
    ///
    /// # Safety
    /// The 16 KiB at `destination` can be written to, and nobody else touches them, until
    /// [`AsyncIo::next`] has returned this request's token, or this array is dropped (no
    /// handler is in `next` then), or the power is cut.
    pub unsafe fn submit_read(
        &self,
        file: &File,
        destination: NonNull<[u8; IMAGE_BYTES]>,
        offset: u64,
        token: T,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        self.submit(file, Action::Read(destination), offset, token, waiting_for)
    }

    fn submit(
        &self,
        file: &File,
        action: Action,
        offset: u64,
        token: T,
        waiting_for: WaitKind,
    ) -> Result<(), FileError> {
        assert!(!self.is_closed(), "a request after the array was closed");
        let length = IMAGE_BYTES as u64;
        let (operation, activity, image) = match &action {
            Action::Write(image) => (
                Operation::Write { offset, length },
                Activity::Write,
                Some(image.clone()),
            ),
            Action::Read(_) => (Operation::Read { offset, length }, Activity::Read, None),
        };
        file.check_page_alignment(operation)?;
        let interrupted = || failed(file.path(), operation)(operations::interrupted());
        let request = Request {
            file: file.clone(),
            action,
            offset,
            token,
            submitted: now(),
            refused: None,
        };
        let Some(slot) = self.reserve(request, waiting_for) else {
            return Err(interrupted());
        };
        // InnoDB's instrument covers the submission, not the wait for a slot.
        let start = now();
        let segment = &self.segments[slot as usize / SLOTS_PER_SEGMENT];
        if self.is_for_handlers() {
            let pushed = segment.submitted.push(slot);
            debug_assert!(pushed.is_ok(), "a segment has as many slots as places");
            segment.arrived.set();
        } else if !self.submit_virtually(file, operation, image, slot) {
            self.take(slot, true);
            return Err(interrupted());
        }
        file.count(activity, start, length);
        Ok(())
    }

    /// Puts a request into a slot; `None` if the task is being unwound.
    fn reserve(&self, request: Request<T>, waiting_for: WaitKind) -> Option<u32> {
        let segment = (request.offset >> REGION_SHIFT) as usize % self.segments.len();
        loop {
            let mut slots = self.slots.lock();
            if let Some(slot) = slots.reserve(segment) {
                slots.requests[slot as usize] = Some(request);
                return Some(slot);
            }
            drop(slots);
            let count = self.not_full.reset();
            if self.slots.lock().is_full() {
                self.waits.fetch_add(1, Ordering::Relaxed);
                if !self.not_full.wait(count, NEVER, waiting_for) {
                    return None;
                }
            }
        }
    }

    /// Takes a slot's request out, and frees the slot if nothing is left to do.
    fn take(&self, slot: u32, free: bool) -> Request<T> {
        let mut slots = self.slots.lock();
        let request = slots.requests[slot as usize].take();
        let was_full = free && self.free(&mut slots, slot);
        drop(slots);
        if was_full {
            self.not_full.set();
        }
        request.expect("a submitted slot has a request")
    }

    /// Frees a slot; says whether all were taken.
    fn free(&self, slots: &mut Slots<T>, slot: u32) -> bool {
        let was_full = slots.is_full();
        slots.free[slot as usize / SLOTS_PER_SEGMENT].push(slot);
        was_full
    }

    /// Gives a slot's request to the device; false if the task is being unwound.
    fn submit_virtually(
        &self,
        file: &File,
        operation: Operation,
        image: Option<Image>,
        slot: u32,
    ) -> bool {
        let simulation = ambient::simulation();
        let queue = &self.segments[slot as usize / SLOTS_PER_SEGMENT].completions;
        let report = (queue, u64::from(slot));
        let handle = file
            .virtual_handle()
            .expect("a file of the virtual clock under the virtual clock");
        // SAFETY: the current task calls, and no reference into the simulation is live.
        let submitted = unsafe {
            match (&image, operation) {
                (Some(image), Operation::Write { offset, .. }) => {
                    let source = Source::Images(std::slice::from_ref(image));
                    operations::submit_write(simulation, handle, file.io(), source, offset, report)
                        .map_err(failed(file.path(), operation))
                }
                (_, Operation::Read { offset, length }) => {
                    file.check_end(offset, length).and_then(|()| {
                        operations::submit_read(
                            simulation,
                            handle,
                            file.io(),
                            offset,
                            length,
                            report,
                        )
                        .map_err(failed(file.path(), operation))
                    })
                }
                _ => unreachable!("a request reads or writes"),
            }
        };
        match submitted {
            Ok(operations::Submitted::InFlight) => return true,
            Ok(operations::Submitted::Complete) => {}
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::Interrupted) => {
                return false;
            }
            Err(error) => {
                if let Some(request) = &mut self.slots.lock().requests[slot as usize] {
                    request.refused = Some(error);
                }
            }
        }
        // SAFETY: as above.
        unsafe { Simulation::complete_now(simulation, queue, slot.into()) };
        true
    }

    /// A request of a segment that is complete, for the I/O handler; waits for one, at
    /// most `timeout` picoseconds ([`NEVER`]: as long as it takes). In a closed array
    /// what is pending is waited for whatever the time.
    ///
    /// # Panics
    /// If there is no such segment.
    pub fn next(&self, segment: usize, timeout: Time) -> Next<T> {
        let segment = &self.segments[segment];
        let for_handlers = self.is_for_handlers();
        let slot = if for_handlers {
            match self.next_submitted(segment, timeout) {
                Ok(slot) => slot,
                Err(end) => return end,
            }
        } else {
            let queue = &segment.completions;
            let other = WaitKind::Other;
            // SAFETY: as in `submit_virtually`.
            let completed = unsafe {
                Simulation::next_completion(ambient::simulation(), queue, timeout, other)
            };
            match completed {
                Some(token) => token as u32,
                None if self.is_closed() => return Next::Closed,
                None => return Next::TimedOut,
            }
        };
        // A handler's request is done here, and keeps its slot meanwhile.
        let request = self.take(slot, !for_handlers);
        let (file, offset) = (&request.file, request.offset);
        let result = match (request.refused, &request.action) {
            (Some(error), _) => Err(error),
            (None, Action::Write(image)) if for_handlers => file.write_by_handler(image, offset),
            // The device has done it.
            (None, Action::Write(_)) => Ok(()),
            (None, Action::Read(destination)) => {
                // SAFETY: by the promise made to `submit_read`, the memory is ours until
                // this returns.
                let buffer = unsafe { &mut *destination.as_ptr() };
                match for_handlers {
                    true => file.read_by_handler(buffer, offset),
                    false => file.read_uncounted(buffer, offset),
                }
            }
        };
        if for_handlers && self.free(&mut self.slots.lock(), slot) {
            self.not_full.set();
        }
        let time = now() - request.submitted;
        self.completed.fetch_add(1, Ordering::Relaxed);
        self.time.fetch_add(time, Ordering::Relaxed);
        Next::Completed(Completed {
            token: request.token,
            result,
            time,
        })
    }

    /// A slot with work for a handler to do, or why there is none.
    fn next_submitted(&self, segment: &Segment, timeout: Time) -> Result<u32, Next<T>> {
        let deadline = now().saturating_add(timeout);
        loop {
            let count = segment.arrived.reset();
            // Looked at before the queue: nothing is submitted after the closing.
            let closed = self.is_closed();
            if let Some(slot) = segment.submitted.pop() {
                if closed || !segment.submitted.is_empty() {
                    // Another handler may need the signal that this one has reset.
                    segment.arrived.set();
                }
                return Ok(slot);
            }
            if closed {
                segment.arrived.set();
                return Err(Next::Closed);
            }
            let left = if timeout == NEVER {
                NEVER
            } else {
                deadline.saturating_sub(now())
            };
            if !segment.arrived.wait(count, left, WaitKind::Other) {
                return segment.submitted.pop().ok_or(Next::TimedOut);
            }
        }
    }

    /// Nothing more will be submitted: handlers get what is pending, and then
    /// [`Next::Closed`].
    pub fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let for_handlers = self.is_for_handlers();
        for segment in &self.segments {
            if for_handlers {
                segment.arrived.set();
            } else {
                // SAFETY: as in `submit_virtually`.
                unsafe { Simulation::close_queue(ambient::simulation(), &segment.completions) };
            }
        }
    }

    /// Whether the array has been closed.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}
