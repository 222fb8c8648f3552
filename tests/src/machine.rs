//! Processors of the tests' virtual machines.

use innosim_engine::runtime::profile::{Broadcast, CpuProfile};

/// Four cores on which nothing is free: switches, wake-ups, calls and cache lines cost time.
pub fn four_cores() -> CpuProfile {
    CpuProfile {
        time_slice_us: 500.0,
        context_switch_us: 1.0,
        wake_latency_us: 3.0,
        wake_call_us: 1.0,
        broadcast: Broadcast::WakeAll,
        io_call_us: 2.0,
        line_same_socket_ns: 40.0,
        ..CpuProfile::uniform(4)
    }
}
