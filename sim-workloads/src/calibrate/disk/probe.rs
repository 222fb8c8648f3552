//! The requests by which a disk is known, as one piece of code for both clocks.
//!
//! ```text
//!   point ──► probe under the real clock     on files of the host        measured
//!         ╰─► probe under the virtual clock  on the fitted machine       predicted
//! ```
//!
//! Since the very same loop makes the requests, whatever it costs itself (a system call, a
//! wake-up, a thread that has to be scheduled) is in both figures. What is left between
//! them is the model's error.

use std::ops::Range;
use std::path::Path;

use innosim_engine::runtime::files::{
    AlignedBuffer, Create, File, FileError, FileKind, FileSystem, IMAGE_BYTES, IoMode, OpenOptions,
};
use innosim_engine::runtime::time::{MICROSECOND, Time, to_seconds};
use innosim_engine::runtime::{
    JoinHandle, TaskRole, WaitKind, now, runtime_statistics, spawn_as, stream,
};
use serde::Serialize;

/// Bytes of the file that pages are read from and written to.
pub const FILE_BYTES: u64 = 512 << 20;

/// Bytes of the file that stands for a redo log; it is written round and round.
const LOG_BYTES: u64 = 32 << 20;

/// What a point does again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Reads at random places, past the page cache.
    Read,
    /// Writes at random places, past the page cache.
    Write,
    /// So many writes, and then a sync, whose time alone counts.
    WritesThenSync(u32),
    /// A write to the end of a log through the page cache, and a sync; both count.
    LogWriteAndSync,
}

/// What is done, by how many at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Point {
    /// What.
    pub action: Action,
    /// Bytes of a request.
    pub bytes: u32,
    /// Tasks, each with one request at a time.
    pub depth: u32,
}

impl Point {
    /// In a few words.
    pub fn label(&self) -> String {
        let size = if self.bytes < 1024 {
            format!("{} B", self.bytes)
        } else {
            format!("{} KiB", self.bytes / 1024)
        };
        match self.action {
            Action::Read => format!("read {size}, depth {}", self.depth),
            Action::Write => format!("write {size}, depth {}", self.depth),
            Action::WritesThenSync(writes) => {
                format!("sync after {writes} writes of {size}, depth {}", self.depth)
            }
            Action::LogWriteAndSync => format!("log write {size} and sync, depth {}", self.depth),
        }
    }
}

/// What a point showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Requests that ended.
    pub count: u64,
    /// Their rate.
    pub per_second: f64,
    /// Mean time of a request, µs, without the slowest hundredth.
    pub mean_us: f64,
    /// Standard deviation over mean, likewise.
    pub cv: f64,
    /// Median, µs.
    pub p50_us: f64,
    /// 95th percentile, µs.
    pub p95_us: f64,
    /// CPU of the requesting thread for a request, µs; with `WritesThenSync` for all of it.
    pub cpu_us: f64,
}

/// The share of the slowest requests that means leave out: on a shared host they are
/// somebody else's.
const SLOWEST: f64 = 0.01;

impl Sample {
    /// From the times of requests, in µs.
    ///
    /// # Panics
    /// If there are none.
    pub fn of(times: &mut [f64], length_s: f64, cpu_us: f64) -> Self {
        times.sort_unstable_by(f64::total_cmp);
        let rank = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let kept = &times[..times.len() - (times.len() as f64 * SLOWEST) as usize];
        let mean = crate::stats::mean(kept).expect("a point has at least one request");
        Sample {
            count: times.len() as u64,
            per_second: times.len() as f64 / length_s,
            mean_us: mean,
            cv: crate::stats::population_standard_deviation(kept) / mean,
            p50_us: rank(0.5),
            p95_us: rank(0.95),
            cpu_us: cpu_us / times.len() as f64,
        }
    }
}

/// Makes the file of pages, with something in every block, so that reads are from the disk.
/// Under the virtual clock a file has its blocks at once.
///
/// # Errors
/// If there is no room.
pub fn make_file(files: &FileSystem, directory: &Path, written: bool) -> anyhow::Result<()> {
    const CHUNK: u64 = 1 << 20;
    let file = open(files, directory, PAGES, Create::OrTruncate)?;
    file.allocate(FILE_BYTES)?;
    if written {
        let mut buffer = AlignedBuffer::new(CHUNK as usize)?;
        let mut random = stream("content");
        buffer.fill_with(|| random.next_u64() as u8);
        for offset in (0..FILE_BYTES).step_by(CHUNK as usize) {
            file.write_at(&buffer, offset, WaitKind::Other)?;
        }
        file.sync(false, WaitKind::Other)?;
    }
    let log = open(files, directory, LOG, Create::OrTruncate)?;
    log.allocate(LOG_BYTES)?;
    log.sync(false, WaitKind::Other)?;
    Ok(())
}

const PAGES: &str = "innosim-calibrate.pages";
const LOG: &str = "innosim-calibrate.log";

fn open(
    files: &FileSystem,
    directory: &Path,
    name: &str,
    create: Create,
) -> Result<File, FileError> {
    let (io, kind) = match name {
        LOG => (IoMode::Buffered, FileKind::Log),
        _ => (IoMode::Direct, FileKind::Data),
    };
    files.open(directory.join(name), OpenOptions { create, io, kind })
}

/// Runs a point for so long, after a fifth of that as warm-up, and for longer until there are
/// a few requests; a task that has made `most` requests stops before. Called by the main task
/// of a machine whose directory has the files of [`make_file`].
///
/// # Errors
/// If a request fails.
pub fn probe(
    files: &FileSystem,
    directory: &Path,
    point: Point,
    length: Time,
    most: usize,
) -> anyhow::Result<Sample> {
    let name = match point.action {
        Action::LogWriteAndSync => LOG,
        _ => PAGES,
    };
    let file = open(files, directory, name, Create::Existing)?;
    let begin = now() + length / 5;
    let end = begin + length;
    let before = runtime_statistics();
    let requester = |number: u32| -> JoinHandle<anyhow::Result<Requests>> {
        let (files, file) = (files.clone(), file.clone());
        spawn_as(TaskRole::User, &format!("requester {number}"), move || {
            request(&files, &file, point, number, begin..end, most)
        })
    };
    let tasks: Vec<_> = (0..point.depth).map(requester).collect();
    let mut times = Vec::new();
    let mut all = 0;
    let mut last = begin;
    for task in tasks {
        let requests = task.join()?;
        all += requests.all;
        last = last.max(requests.last);
        times.extend(requests.times);
    }
    let spent = runtime_statistics().since(&before).user_time[WaitKind::Cpu as usize];
    // Of all requests, the warm-up's too; what a thread costs to start is a trifle.
    let share = times.len() as f64 / all as f64;
    let cpu_us = spent as f64 / MICROSECOND as f64 * share;
    Ok(Sample::of(&mut times, to_seconds(last - begin), cpu_us))
}

/// The fewest requests that a task makes, however long they take.
const FEWEST: usize = 4;

struct Requests {
    /// Times of those that began after the warm-up, µs.
    times: Vec<f64>,
    /// Of all.
    all: u64,
    /// When the last one ended.
    last: Time,
}

fn request(
    files: &FileSystem,
    file: &File,
    point: Point,
    number: u32,
    counted: Range<Time>,
    most: usize,
) -> anyhow::Result<Requests> {
    let length = u64::from(point.bytes);
    let mut random = stream(&format!("places {number}"));
    // Pages are written as the engine writes them: one image, or several one after the other.
    // Under the virtual clock the file then shares them, and nothing is copied.
    let mut bytes = [0; IMAGE_BYTES];
    bytes.fill_with(|| random.next_u64() as u8);
    let image = files.image(&bytes);
    let pages = vec![image; (point.bytes as usize).div_ceil(IMAGE_BYTES)];
    let mut buffer = AlignedBuffer::new(point.bytes as usize)?;
    let mut anywhere = move || random.below(FILE_BYTES / length) * length;
    let mut log_end = LOG_BYTES / u64::from(point.depth) * u64::from(number);
    let mut requests = Requests {
        times: Vec::new(),
        all: 0,
        last: counted.start,
    };
    while now() < counted.end && requests.times.len() < most || requests.times.len() < FEWEST {
        if let Action::WritesThenSync(writes) = point.action {
            for _ in 0..writes {
                file.write_images(&pages, anywhere(), WaitKind::Other)?;
            }
        }
        let start = now();
        match point.action {
            Action::Read => file.read_at(&mut buffer, anywhere(), WaitKind::PageRead)?,
            Action::Write => file.write_images(&pages, anywhere(), WaitKind::Other)?,
            Action::WritesThenSync(_) => file.sync(true, WaitKind::LogSync)?,
            Action::LogWriteAndSync => {
                log_end = (log_end + length) % LOG_BYTES;
                file.write_at(&buffer, log_end, WaitKind::LogWrite)?;
                file.sync(true, WaitKind::LogSync)?;
            }
        }
        let stop = now();
        requests.all += 1;
        requests.last = stop;
        if start >= counted.start {
            let time = (stop - start) as f64 / MICROSECOND as f64;
            requests.times.push(time);
        }
    }
    Ok(requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_leave_out_the_slowest_hundredth() {
        let mut times: Vec<f64> = (0..199).map(|_| 10.0).collect();
        times.push(5000.0);
        times.push(20.0);
        let sample = Sample::of(&mut times, 2.0, 402.0);
        assert_eq!((sample.count, sample.cpu_us), (201, 2.0));
        assert_eq!(sample.per_second, 100.5);
        assert_eq!((sample.mean_us, sample.cv), (10.0, 0.0));
        assert_eq!((sample.p50_us, sample.p95_us), (10.0, 10.0));
    }
}
