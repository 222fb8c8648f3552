//! What a run costs the host: the one part of its results that repeats differently.

use innosim_engine::runtime::time::to_seconds;
use rustix::time::{ClockId, clock_gettime};

use crate::machine::figure;
use crate::report::json::Host;

/// The clocks of the host when something began.
#[derive(Debug, Clone, Copy)]
pub struct HostUsage {
    wall_s: f64,
    cpu_s: f64,
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    let nanoseconds = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
    to_seconds(nanoseconds * innosim_engine::runtime::time::NANOSECOND)
}

impl HostUsage {
    /// Begins to measure.
    pub fn begin() -> Self {
        HostUsage {
            wall_s: seconds(ClockId::Monotonic),
            cpu_s: seconds(ClockId::ProcessCPUTime),
        }
    }

    /// What was used since then; the largest resident set is that of the whole process,
    /// and 0 where the system does not tell.
    pub fn so_far(&self) -> Host {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Host {
            wall_s: seconds(ClockId::Monotonic) - self.wall_s,
            cpu_s: seconds(ClockId::ProcessCPUTime) - self.cpu_s,
            peak_rss_bytes: figure(&status, "VmHWM").unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_time_and_memory() {
        let usage = HostUsage::begin();
        let mut sum = 0u64;
        while usage.so_far().cpu_s < 0.001 {
            sum = (0..10_000).fold(sum, u64::wrapping_add);
        }
        std::hint::black_box(sum);
        let host = usage.so_far();
        assert!(host.wall_s > 0.0 && host.wall_s < 60.0);
        assert!(host.peak_rss_bytes > 1 << 20);
    }
}
