//! Files under both clocks: what they hold, how long they take, what a power cut leaves.

mod asynchronous;
mod both_clocks;
mod errors;
mod host;
mod model;
mod power;
mod timing;

use std::path::Path;

use innosim_engine::runtime::files::{
    Create, File, FileKind, FileSystem, IMAGE_BYTES, Image, IoMode, OpenOptions,
};
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::disk::{
    Admission, CacheProtection, DiskProfile, ServiceTime, SolidStateProfile,
};
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};

const PAGE: u64 = IMAGE_BYTES as u64;

/// A small disk whose every time is a round number.
fn solid_state(cache: CacheProtection, atomic_write_bytes: u32) -> SolidStateProfile {
    SolidStateProfile {
        dies: 4,
        max_request_kib: 128,
        command_us: 1.0,
        // 16 KiB take 16 µs.
        bandwidth_mib_s: 1e6 / 1024.0,
        latency_us: 10.0,
        read: ServiceTime::Deterministic { mean_us: 50.0 },
        stripe_kib: 16,
        program: ServiceTime::Deterministic { mean_us: 200.0 },
        program_kib: 16,
        reads_first: true,
        write_buffer_kib: 4096,
        admission: Admission::Fifo,
        cache,
        flush_us: 100.0,
        merge_flushes: true,
        atomic_write_bytes,
    }
}

fn options_with(disks: &[SolidStateProfile], seed: u64) -> SimulationOptions {
    let disks = disks.iter().enumerate().map(|(number, disk)| {
        let profile = DiskProfile::SolidState(disk.clone());
        (format!("disk {number}"), profile)
    });
    SimulationOptions {
        disks: disks.collect(),
        ..SimulationOptions::new(CpuProfile::uniform(4), seed)
    }
}

fn machine(cache: CacheProtection) -> Box<Simulation> {
    Simulation::new(&options_with(&[solid_state(cache, 512)], 1)).expect("the profile is valid")
}

fn direct(create: Create) -> OpenOptions {
    OpenOptions {
        create,
        io: IoMode::Direct,
        kind: FileKind::Data,
    }
}

fn buffered(create: Create) -> OpenOptions {
    OpenOptions {
        create,
        io: IoMode::Buffered,
        kind: FileKind::Log,
    }
}

fn open(path: impl AsRef<Path>, options: OpenOptions) -> File {
    FileSystem::new().open(path, options).expect("a file opens")
}

/// An image that says which page it is, and which version.
fn page(files: &FileSystem, number: u64, version: u8) -> Image {
    files.image(&page_bytes(number, version))
}

fn page_bytes(number: u64, version: u8) -> [u8; IMAGE_BYTES] {
    let mut bytes = [version; IMAGE_BYTES];
    for sector in bytes.chunks_exact_mut(512) {
        sector[..8].copy_from_slice(&number.to_be_bytes());
    }
    bytes
}
