//! Requests to virtual files: what they take of the processor and of the device.
//!
//! | request           | processor           | device                                      |
//! |-------------------|---------------------|---------------------------------------------|
//! | direct read/write | a system call       | one request, more where the file lies in pieces |
//! | buffered write    | system call, copy   | reads what it covers in part (`page_cache`) |
//! | buffered read     | system call, copy   | reads what is not cached                    |
//! | sync              | a system call       | writes the dirty parts, then FLUSH          |
//!
//! Functions here are called by the current task and suspend it. They borrow the files
//! for moments in between, never across a suspend (see *Aliasing* in
//! [`virtual_clock`](crate::runtime::virtual_clock)).

use std::io;
use std::sync::Arc;

use super::content::Source;
use super::names::VirtualHandle;
use super::page_cache::GRANULE;
use super::{FileId, Piece};
use crate::runtime::files::file::IoMode;
use crate::runtime::time::NEVER;
use crate::runtime::virtual_clock::disk::RequestKind;
use crate::runtime::virtual_clock::{Completion, CompletionQueue, Simulation};
use crate::runtime::wait_kind::WaitKind;

/// What a request does while its task unwinds: nothing.
pub(in crate::runtime::files) fn interrupted() -> io::Error {
    io::Error::new(
        io::ErrorKind::Interrupted,
        "the task is being unwound: destructors do no I/O",
    )
}

/// How an asynchronous request has been taken.
pub(in crate::runtime::files) enum Submitted {
    /// The device has it and will report to the queue.
    InFlight,
    /// It is complete: nothing has to wait for a device.
    Complete,
}

/// Submits the requests of `pieces` and waits for all of them.
///
/// # Safety
/// As for `write`.
unsafe fn transfer(
    simulation: *mut Simulation,
    device: Option<u16>,
    kind: RequestKind,
    pieces: Vec<Piece>,
    waiting_for: WaitKind,
) {
    // SAFETY: as for `write`.
    unsafe {
        if let Some(device) = device {
            for &piece in &pieces {
                let completion = Completion::Task((*simulation).current_task());
                (*simulation).submit_piece(device, kind, piece, completion);
            }
        }
        give_back(simulation, pieces);
        Simulation::await_requests(simulation, waiting_for);
    }
}

/// # Safety
/// `simulation` is alive, and no reference to its files is.
unsafe fn give_back(simulation: *mut Simulation, mut pieces: Vec<Piece>) {
    pieces.clear();
    // SAFETY: by the caller's promise.
    unsafe { (*simulation).files_mut().pieces = pieces };
}

/// An empty list of requests, and of runs.
///
/// # Safety
/// As for `give_back`.
unsafe fn lists(simulation: *mut Simulation) -> (Vec<Piece>, Vec<(u64, u64)>) {
    // SAFETY: as above.
    let files = unsafe { (*simulation).files_mut() };
    let (mut pieces, mut runs) = (
        std::mem::take(&mut files.pieces),
        std::mem::take(&mut files.runs),
    );
    pieces.clear();
    runs.clear();
    (pieces, runs)
}

/// Writes, and waits until that is complete (not: durable).
///
/// # Safety
/// The current task of `simulation` calls, and no reference into the simulation is live.
pub(in crate::runtime::files) unsafe fn write(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    mode: IoMode,
    source: Source<'_>,
    offset: u64,
    waiting_for: WaitKind,
) -> io::Result<()> {
    let id = handle.id;
    // SAFETY: by the caller's promise; borrows of the files end before each suspend.
    unsafe {
        if !Simulation::pay_io_call(simulation) {
            return Err(interrupted());
        }
        if mode == IoMode::Direct {
            let (mut pieces, runs) = lists(simulation);
            let files = (*simulation).files_mut();
            files.runs = runs;
            files.write_through(id, source, offset, &mut pieces)?;
            let device = files.device(id);
            transfer(simulation, device, RequestKind::Write, pieces, waiting_for);
            return Ok(());
        }
        let length = source.length();
        fill_cache(simulation, id, offset, length, true, waiting_for)?;
        Simulation::charge_copy(simulation, length);
        Simulation::settle(simulation);
        (*simulation).files_mut().write_cached(id, source, offset)?;
        if mode == IoMode::BufferedSync {
            sync_range(simulation, handle, Some((offset, length)), waiting_for)?;
        }
        Ok(())
    }
}

/// Reads into the page cache what a buffered request needs and finds missing.
///
/// # Safety
/// As for [`write`].
unsafe fn fill_cache(
    simulation: *mut Simulation,
    id: FileId,
    offset: u64,
    length: u64,
    for_write: bool,
    waiting_for: WaitKind,
) -> io::Result<()> {
    // SAFETY: as for `write`.
    unsafe {
        let (mut pieces, mut runs) = lists(simulation);
        let files = (*simulation).files_mut();
        if for_write {
            files.grow(id, offset + length)?;
            let file = files.file(id);
            let (cache, content) = (&file.cache, &file.content);
            cache.to_read_before_write(offset, length, content, &mut runs);
        } else {
            files.file(id).cache.missing(offset, length, &mut runs);
        }
        if files.device(id).is_some() {
            let granule = GRANULE as u64;
            for &(first, end) in &runs {
                let length = (end - first) * granule;
                files.pieces_of(id, first * granule, length, &mut pieces);
            }
        }
        let device = files.device(id);
        if !pieces.is_empty() {
            transfer(simulation, device, RequestKind::Read, pieces, waiting_for);
        } else {
            give_back(simulation, pieces);
        }
        let files = (*simulation).files_mut();
        for &(first, end) in &runs {
            files.file_mut(id).cache.set_cached(first, end);
        }
        files.runs = runs;
        Ok(())
    }
}

/// Waits until the device has read a range that lies within the file; the bytes are for
/// [`copy`] to take.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn read(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    mode: IoMode,
    offset: u64,
    buffer: &mut [u8],
    waiting_for: WaitKind,
) -> io::Result<()> {
    let (id, length) = (handle.id, buffer.len() as u64);
    // SAFETY: as for `write`.
    unsafe {
        if !Simulation::pay_io_call(simulation) {
            return Err(interrupted());
        }
        if mode == IoMode::Direct {
            let (mut pieces, runs) = lists(simulation);
            let files = (*simulation).files_mut();
            files.runs = runs;
            let device = files.device(id);
            if device.is_some() {
                files.pieces_of(id, offset, length, &mut pieces);
            }
            transfer(simulation, device, RequestKind::Read, pieces, waiting_for);
        } else {
            fill_cache(simulation, id, offset, length, false, waiting_for)?;
            Simulation::charge_copy(simulation, length);
        }
        (*simulation).files_mut().read(id, offset, buffer)
    }
}

/// Makes what was written durable.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn sync(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    waiting_for: WaitKind,
) -> io::Result<()> {
    // SAFETY: as for `write`.
    unsafe {
        if !Simulation::pay_io_call(simulation) {
            return Err(interrupted());
        }
        sync_range(simulation, handle, None, waiting_for)
    }
}

/// Writes back the dirty parts of the file or of a range, waits for the write-backs that
/// began before, and has the device FLUSH.
///
/// # Safety
/// As for [`write`].
unsafe fn sync_range(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    range: Option<(u64, u64)>,
    waiting_for: WaitKind,
) -> io::Result<()> {
    let id = handle.id;
    // SAFETY: as for `write`.
    unsafe {
        let (mut pieces, runs) = lists(simulation);
        let files = (*simulation).files_mut();
        files.runs = runs;
        files.write_back(id, range, &mut pieces)?;
        let device = files.device(id);
        let file = files.file_mut(id);
        let number = file.next_writeback;
        let mine = !pieces.is_empty();
        if mine {
            file.next_writeback += 1;
            file.writebacks.push(number);
        }
        transfer(simulation, device, RequestKind::Write, pieces, waiting_for);
        let file = (*simulation).files_mut().file_mut(id);
        let event = file.written_back.clone();
        if mine {
            file.writebacks.retain(|&other| other != number);
            event.set();
        }
        loop {
            let count = event.reset();
            let file = (*simulation).files_mut().file(id);
            if !file.writebacks.iter().any(|&other| other < number) {
                break;
            }
            if !event.wait(count, NEVER, waiting_for) {
                return Err(interrupted());
            }
        }
        flush(simulation, device, waiting_for);
        Ok(())
    }
}

/// Has a device FLUSH.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn flush(
    simulation: *mut Simulation,
    device: Option<u16>,
    waiting_for: WaitKind,
) {
    // SAFETY: as for `write`.
    unsafe {
        let Some(device) = device else { return };
        let completion = Completion::Task((*simulation).current_task());
        let piece = Piece {
            address: 0,
            length: 0,
            first: 0,
            count: 0,
        };
        if (*simulation).may_suspend() {
            (*simulation).submit_piece(device, RequestKind::Flush, piece, completion);
            Simulation::await_requests(simulation, waiting_for);
        }
    }
}

/// Gives a file a length. What is added is a hole: no device is asked.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn set_length(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    length: u64,
) -> io::Result<()> {
    // SAFETY: as for `write`.
    unsafe {
        if !Simulation::pay_io_call(simulation) {
            return Err(interrupted());
        }
        (*simulation).files_mut().set_length(handle.id, length)
    }
}

/// Submits an asynchronous write of part of one page and goes on.
///
/// Buffered files have no asynchronous I/O in Linux: the call does the work and then
/// reports it complete.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn submit_write(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    mode: IoMode,
    source: Source<'_>,
    offset: u64,
    report: (&Arc<CompletionQueue>, u64),
) -> io::Result<Submitted> {
    // SAFETY: as for `write`.
    unsafe {
        if mode != IoMode::Direct {
            write(simulation, handle, mode, source, offset, WaitKind::Other)?;
            return Ok(Submitted::Complete);
        }
        if !Simulation::pay_io_call(simulation) {
            return Err(interrupted());
        }
        let (mut pieces, runs) = lists(simulation);
        let files = (*simulation).files_mut();
        files.runs = runs;
        files.write_through(handle.id, source, offset, &mut pieces)?;
        let device = files.device(handle.id);
        submit(simulation, device, RequestKind::Write, pieces, report)
    }
}

/// Submits an asynchronous read of part of one page and goes on; the bytes are for
/// [`copy`] to take when it is complete.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn submit_read(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    mode: IoMode,
    offset: u64,
    length: u64,
    report: (&Arc<CompletionQueue>, u64),
) -> io::Result<Submitted> {
    // SAFETY: as for `write`.
    unsafe {
        if !Simulation::pay_io_call(simulation) {
            return Err(interrupted());
        }
        if mode != IoMode::Direct {
            let other = WaitKind::Other;
            fill_cache(simulation, handle.id, offset, length, false, other)?;
            Simulation::charge_copy(simulation, length);
            return Ok(Submitted::Complete);
        }
        let (mut pieces, runs) = lists(simulation);
        let files = (*simulation).files_mut();
        files.runs = runs;
        let device = files.device(handle.id);
        if device.is_some() {
            files.pieces_of(handle.id, offset, length, &mut pieces);
        }
        submit(simulation, device, RequestKind::Read, pieces, report)
    }
}

/// # Safety
/// As for [`write`].
unsafe fn submit(
    simulation: *mut Simulation,
    device: Option<u16>,
    kind: RequestKind,
    pieces: Vec<Piece>,
    (queue, token): (&Arc<CompletionQueue>, u64),
) -> io::Result<Submitted> {
    // SAFETY: as for `write`.
    unsafe {
        let mut submitted = Submitted::Complete;
        if let Some(device) = device {
            debug_assert_eq!(pieces.len(), 1, "a page lies in one piece");
            for &piece in &pieces {
                let completion = Completion::Queue(queue.clone(), token);
                (*simulation).submit_piece(device, kind, piece, completion);
                submitted = Submitted::InFlight;
            }
        }
        give_back(simulation, pieces);
        Ok(submitted)
    }
}

/// Copies bytes of a file as they are now.
///
/// # Safety
/// As for [`write`].
pub(in crate::runtime::files) unsafe fn copy(
    simulation: *mut Simulation,
    handle: &VirtualHandle,
    offset: u64,
    buffer: &mut [u8],
) -> io::Result<()> {
    // SAFETY: as for `write`.
    unsafe { (*simulation).files_mut().read(handle.id, offset, buffer) }
}
