//! A pool with everything around it that the tests need: one tablespace, a redo log
//! that is only a number, and a page sink with batches and I/O handlers but without a
//! doublewrite buffer.

use std::collections::VecDeque;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use innosim_engine::buffer_pool::{
    BufferPool, BufferPoolError, BufferPoolSettings, FixMode, FlushKind, FlushedPage, PageSink,
    PoolHooks, Waits, WriteAheadLog,
};
use innosim_engine::metrics::Metrics;
use innosim_engine::page::{PageBytes, space_header};
use innosim_engine::runtime::files::{Create, FileKind, FileSystem, IoMode, OpenOptions};
use innosim_engine::runtime::time::NEVER;
use innosim_engine::runtime::virtual_clock::{Settle, Simulation, SimulationOptions};
use innosim_engine::runtime::{Event, JoinHandle, LatchClass, Mutex, WaitKind, spawn};
use innosim_engine::sysvar::FlushMethod;
use innosim_engine::tablespace::{Tablespaces, offset};
use innosim_tests::disk::solid_state_disk;
use innosim_tests::machine::four_cores;
use innosim_tests::pages::{FILE, LARGE_LOG, version_of};
pub use innosim_tests::pages::{PoolUser, SPACE, TestLog, page, pause};

// ---- clocks -------------------------------------------------------------------

/// A machine of four cores and a disk.
pub fn simulation(seed: u64) -> Box<Simulation> {
    simulation_with(seed, Settle::Lazy)
}

pub fn simulation_with(seed: u64, settle: Settle) -> Box<Simulation> {
    let options = SimulationOptions {
        settle,
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(four_cores(), seed)
    };
    Simulation::new(&options).expect("the profile is valid")
}

/// Runs a test under the virtual clock.
pub fn virtually<T: 'static>(main: impl FnOnce() -> T + 'static) -> T {
    simulation(1).run(main).expect("nobody waits for ever")
}

// ---- page sink ----------------------------------------------------------------

/// Takes pages in batches, as the doublewrite buffer does, and gives them to I/O handlers.
pub struct TestSink {
    tablespaces: Arc<Tablespaces>,
    log: Arc<TestLog>,
    state: Mutex<SinkState>,
    submitted: Event,
    idle: Event,
    /// Pages after which a batch is sent off.
    batch_pages: usize,
    /// While set, handlers keep their hands off what was submitted.
    pub held_back: AtomicBool,
    pub single_pages: AtomicUsize,
}

#[derive(Default)]
struct SinkState {
    /// By instance and kind.
    batches: Vec<[Vec<FlushedPage>; 2]>,
    submitted: VecDeque<FlushedPage>,
    pending: usize,
    stopped: bool,
}

impl TestSink {
    fn new(tablespaces: Arc<Tablespaces>, log: Arc<TestLog>, batch_pages: usize) -> Self {
        TestSink {
            tablespaces,
            log,
            state: Mutex::new(LatchClass::Plain, SinkState::default()),
            submitted: Event::new(),
            idle: Event::new(),
            batch_pages,
            held_back: AtomicBool::new(false),
            single_pages: AtomicUsize::new(0),
        }
    }

    /// An I/O handler: writes what was submitted until the sink is stopped.
    fn handle(&self) {
        loop {
            let (next, count) = {
                let mut state = self.state.lock();
                let next = match self.held_back.load(Acquire) {
                    true => None,
                    false => state.submitted.pop_front(),
                };
                if next.is_none() && state.stopped {
                    return;
                }
                (next, self.submitted.reset())
            };
            match next {
                Some(page) => self.write_page(page),
                None => {
                    self.submitted.wait(count, NEVER, WaitKind::Other);
                }
            }
        }
    }

    fn write_page(&self, page: FlushedPage) {
        assert!(page.lsn() <= self.log.flushed_lsn(), "write-ahead");
        let id = page.page_id();
        let space = self.tablespaces.get(id.space).unwrap();
        let result = space
            .file()
            .write_image(page.image(), offset(id.page.0), WaitKind::Other);
        result.unwrap();
        space.note_write();
        let pool = page.pool().expect("the pool is in use");
        pool.complete_write(page);
        let mut state = self.state.lock();
        state.pending -= 1;
        if state.pending == 0 {
            self.idle.set();
        }
    }

    fn send(&self, kind: FlushKind, instance: usize) {
        let mut state = self.state.lock();
        let state = &mut *state;
        if let Some(batches) = state.batches.get_mut(instance) {
            state.submitted.extend(batches[kind as usize].drain(..));
        }
        self.submitted.set();
    }

    /// Lets handlers go on.
    pub fn release(&self) {
        self.held_back.store(false, Release);
        self.submitted.set();
    }

    /// Pages that were taken over and are not written.
    pub fn pending(&self) -> usize {
        self.state.lock().pending
    }
}

impl PageSink for TestSink {
    fn write(&self, page: FlushedPage) {
        let (kind, instance) = (page.kind(), page.instance());
        let is_full = {
            let mut state = self.state.lock();
            state.pending += 1;
            if state.batches.len() <= instance {
                state.batches.resize_with(instance + 1, Default::default);
            }
            let batch = &mut state.batches[instance][kind as usize];
            batch.push(page);
            batch.len() >= self.batch_pages
        };
        if is_full {
            self.send(kind, instance);
        }
    }

    fn write_single(&self, page: FlushedPage) {
        self.single_pages.fetch_add(1, Relaxed);
        self.state.lock().pending += 1;
        self.write_page(page);
    }

    fn end_of_batch(&self, kind: FlushKind, instance: usize) {
        self.send(kind, instance);
    }

    fn wait_for_pending(&self) {
        loop {
            let count = {
                let state = self.state.lock();
                if state.pending == 0 {
                    return;
                }
                self.idle.reset()
            };
            self.idle.wait(count, NEVER, WaitKind::Other);
        }
    }
}

// ---- all of it ----------------------------------------------------------------

/// A pool over one tablespace.
#[derive(Clone)]
pub struct World {
    pub user: PoolUser,
    pub tablespaces: Arc<Tablespaces>,
    pub metrics: Arc<Metrics>,
    pub sink: Arc<TestSink>,
    handlers: Arc<Mutex<Vec<JoinHandle<()>>>>,
    path: PathBuf,
}

impl Deref for World {
    type Target = PoolUser;

    fn deref(&self) -> &PoolUser {
        &self.user
    }
}

impl World {
    /// A pool of so many frames in an instance, over a file of `pages` pages of zeros in
    /// `directory`. Batches of the sink have 8 pages, and 4 handlers write them.
    pub fn new(directory: &Path, frames: usize, instances: usize, pages: u32) -> World {
        let bytes = (frames * instances * 16384) as u64;
        World::with(
            directory,
            &BufferPoolSettings::new(bytes, instances),
            pages,
            8,
        )
    }

    pub fn with(
        directory: &Path,
        settings: &BufferPoolSettings,
        pages: u32,
        batch_pages: usize,
    ) -> World {
        let files = FileSystem::new();
        files.create_directory(directory).unwrap();
        let tablespaces = Arc::new(Tablespaces::new(files, FlushMethod::ODirect, true));
        let path = directory.join(FILE);
        tablespaces
            .create(
                SPACE,
                "test/t1",
                &path,
                space_header::FLAGS_DYNAMIC_CRC32,
                pages,
            )
            .unwrap();
        let metrics = Arc::new(Metrics::new(1));
        let log = TestLog::new(10, LARGE_LOG).flushing_what_is_asked_for();
        let log = Arc::new(log);
        let sink = Arc::new(TestSink::new(tablespaces.clone(), log.clone(), batch_pages));
        let hooks = PoolHooks {
            write_ahead_log: log.clone(),
            page_sink: sink.clone(),
        };
        let pool = BufferPool::new(settings, tablespaces.clone(), metrics.clone(), hooks).unwrap();
        let handlers = (0..4)
            .map(|_| {
                let sink = sink.clone();
                spawn("io_write_thread", move || sink.handle())
            })
            .collect();
        World {
            user: PoolUser { pool, log },
            tablespaces,
            metrics,
            sink,
            handlers: Arc::new(Mutex::new(LatchClass::Plain, handlers)),
            path,
        }
    }

    pub fn is_in_pool(&self, number: u32) -> bool {
        let mut waits = Waits::new(0);
        match self.pool.fix(page(number), FixMode::IfInPool, &mut waits) {
            Ok(handle) => {
                self.pool.unfix(handle);
                true
            }
            Err(BufferPoolError::NotInPool(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads a page past the pool; judges it.
    pub fn version_in_file(&self, number: u32) -> u64 {
        let space = self.tablespaces.get(SPACE).unwrap();
        let mut buffer = innosim_engine::runtime::files::AlignedBuffer::new(16384).unwrap();
        let bytes: &mut PageBytes = (&mut buffer[..]).try_into().unwrap();
        space.read_page(page(number).page, bytes).unwrap();
        version_of(bytes).expect("one version")
    }

    /// Overwrites a part of a page in the file.
    pub fn damage(&self, number: u32, at: u64, bytes: &[u8]) {
        let options = OpenOptions {
            create: Create::Existing,
            io: IoMode::Buffered,
            kind: FileKind::Data,
        };
        let file = self.tablespaces.files().open(&self.path, options).unwrap();
        let place = offset(number) + at;
        file.write_at(bytes, place, WaitKind::Other).unwrap();
        file.sync(false, WaitKind::Other).unwrap();
    }

    /// Writes all dirty pages, stops the handlers, and checks a pool at rest.
    pub fn shut_down(&self) {
        self.shut_down_with(|| ());
    }

    /// As `shut_down`, with a look at the files before they are closed.
    pub fn shut_down_with(&self, look: impl FnOnce()) {
        assert_eq!(self.pool.flush_all(), 0);
        look();
        self.sink.state.lock().stopped = true;
        self.sink.submitted.set();
        for handler in std::mem::take(&mut *self.handlers.lock()) {
            handler.join();
        }
        self.assert_at_rest();
        self.tablespaces.close_all().unwrap();
    }
}
