//! Disks of the tests' virtual machines.

use innosim_engine::runtime::virtual_clock::disk::{
    Admission, CacheProtection, DiskProfile, ServiceTime, SolidStateProfile,
};

/// A solid-state disk whose times vary, so that writes end in another order than they
/// began.
pub fn solid_state_disk() -> DiskProfile {
    DiskProfile::SolidState(SolidStateProfile {
        dies: 8,
        max_request_kib: 128,
        command_us: 1.0,
        bandwidth_mib_s: 3000.0,
        latency_us: 10.0,
        read: ServiceTime::Lognormal {
            mean_us: 70.0,
            cv: 0.3,
        },
        stripe_kib: 16,
        program: ServiceTime::Lognormal {
            mean_us: 300.0,
            cv: 0.5,
        },
        program_kib: 64,
        reads_first: true,
        write_buffer_kib: 1024,
        admission: Admission::Fifo,
        cache: CacheProtection::Protected,
        flush_us: 20.0,
        merge_flushes: true,
        atomic_write_bytes: 4096,
    })
}
