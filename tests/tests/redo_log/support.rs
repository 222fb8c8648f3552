//! Running a test under both clocks, and the logs of several versions.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::buffer_pool::BufferPoolSettings;
use innosim_engine::metrics::Metrics;
use innosim_engine::page::{PageId, SpaceId};
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    FileLayout, FreeCheck, LogConcurrency, LogWriting, RedoLimits, RedoLog, RedoSettings,
};
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_tests::disk::solid_state_disk;
use innosim_tests::machine::four_cores;

/// The tablespace of all tests.
pub const SPACE: u32 = 5;

pub fn page(number: u32) -> PageId {
    PageId::new(SPACE, number)
}

/// A machine of four cores and a disk, whose cache is lost with the power, and which
/// writes a page whole or not at all.
pub fn options(seed: u64) -> SimulationOptions {
    let cpu = four_cores();
    let mut disk = solid_state_disk();
    if let DiskProfile::SolidState(disk) = &mut disk {
        disk.cache = CacheProtection::Volatile;
        disk.atomic_write_bytes = 16384;
    }
    SimulationOptions {
        disks: vec![("disk".to_owned(), disk)],
        ..SimulationOptions::new(cpu, seed)
    }
}

pub fn simulation(seed: u64) -> Box<Simulation> {
    Simulation::new(&options(seed)).expect("the profile is valid")
}

/// Runs a test in a directory under the virtual clock, then under the real one.
pub fn under_both_clocks(body: fn(&Path)) {
    simulation(1)
        .run(move || body(Path::new("/test")))
        .expect("nobody waits for ever");
    let directory = tempfile::tempdir().unwrap();
    body(directory.path());
}

// ---- logs ---------------------------------------------------------------------

const MIB: u64 = 1 << 20;

/// The smallest log as 8.4 has it: 8 MiB, written by threads.
pub fn threads() -> RedoSettings {
    RedoSettings::small()
}

/// The same, written by users.
pub fn users() -> RedoSettings {
    RedoSettings {
        writing: LogWriting::Users,
        ..threads()
    }
}

/// A small log as 5.7 has it.
pub fn as_5_7() -> RedoSettings {
    let (file_size, files) = (MIB, 3);
    RedoSettings {
        concurrency: LogConcurrency::FlushOrderMutex,
        disorder_allowance: 0,
        layout: FileLayout::Ring { file_size, files },
        limits: RedoLimits::until_5_7(file_size, files, 0, false).unwrap(),
        writing: LogWriting::Users,
        free_check: FreeCheck::AskForFlush,
        ..threads()
    }
}

/// A small log as 5.1 has it.
pub fn as_5_1() -> RedoSettings {
    RedoSettings {
        concurrency: LogConcurrency::OneMutex,
        write_ahead_size: 512,
        writing: LogWriting::UsersOneAtATime,
        free_check: FreeCheck::Flush,
        ..as_5_7()
    }
}

/// A log by its name.
pub type NamedLog = (&'static str, fn() -> RedoSettings);

/// All of them, with names.
pub const LOGS: [NamedLog; 4] = [
    ("threads", threads),
    ("users", users),
    ("5.7", as_5_7),
    ("5.1", as_5_1),
];

/// A sandbox with a new log.
pub fn create(directory: &Path, settings: &RedoSettings, frames: usize, pages: u32) -> Sandbox {
    let metrics = Arc::new(Metrics::new(1));
    let files = FileSystem::new();
    files.create_directory(directory).unwrap();
    let log = RedoLog::create(files, directory, settings, metrics.clone()).unwrap();
    let pool = BufferPoolSettings::new((frames * 16384) as u64, 1);
    let sandbox = Sandbox::with(directory, &pool, log, metrics);
    sandbox.create_space(SpaceId(SPACE), pages);
    sandbox
}
