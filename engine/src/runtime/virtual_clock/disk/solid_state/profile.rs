//! Parameters of a solid-state disk.

use serde::{Deserialize, Serialize};

use crate::runtime::virtual_clock::disk::profile::{CacheProtection, Checker, ProfileError};
use crate::runtime::virtual_clock::disk::service_time::ServiceTime;

/// In which order the device takes commands and write data from its submission queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Admission {
    /// By age, whoever submitted: a small write waits for all that was queued before it.
    Fifo,
    /// One part (at most `max_request_kib`) from each submission queue in turn, as NVMe's
    /// default arbitration does: a small write waits for one part of each busy queue.
    RoundRobin,
}

/// A solid-state disk. All keys must be given: a default would be a constant without a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolidStateProfile {
    /// Number of dies (independent flash channels), 1 to 1024.
    pub dies: u32,
    /// Largest command; longer requests are split, as an operating system does
    /// (`max_sectors_kb`). KiB, 4 to 4096.
    pub max_request_kib: u32,
    /// Time for which the controller, which is serial, is busy with one command: the inverse
    /// of the device's largest rate of commands. Microseconds, 0 to 10,000.
    pub command_us: f64,
    /// Transfer rate of the link, for each direction on its own (PCIe and SAS are full
    /// duplex). MiB/s, 1 to 1,000,000.
    pub bandwidth_mib_s: f64,
    /// Fixed time added to each request that nobody queues for: host driver, firmware
    /// pipeline, interrupt. Microseconds, 0 to 100,000.
    pub latency_us: f64,
    /// Time a die takes to read one stripe unit, or a part of it.
    pub read: ServiceTime,
    /// Bytes that lie on one die before the next die's begin, for reads. KiB, 4 to 1024.
    pub stripe_kib: u32,
    /// Time a die takes to program one unit of `program_kib`.
    pub program: ServiceTime,
    /// Bytes that one program operation writes. KiB, 4 to 1024.
    pub program_kib: u32,
    /// Whether a waiting read goes ahead of waiting programs on its die. An operation that
    /// runs is never interrupted.
    pub reads_first: bool,
    /// Write buffer. A write is complete when it is in the buffer. 0: no buffer, a write is
    /// complete when it is programmed. KiB, 0 or `max_request_kib + program_kib` to 16 GiB.
    pub write_buffer_kib: u32,
    /// Order in which submission queues are served.
    pub admission: Admission,
    /// Whether the buffer survives a power failure.
    pub cache: CacheProtection,
    /// Duration of a FLUSH, not counting what it may have to wait for. Flushes are served one
    /// after another. Microseconds, 0 to 1,000,000.
    pub flush_us: f64,
    /// Whether flushes that wait while one is served are served together afterwards, as
    /// Linux's block layer does (`blk-flush.c`).
    pub merge_flushes: bool,
    /// Bytes that a power failure leaves all old or all new. 512 to 1 MiB, a power of two.
    pub atomic_write_bytes: u32,
}

impl SolidStateProfile {
    /// Check every value.
    ///
    /// # Errors
    /// Lists all values that are out of range.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let mut check = Checker::default();
        check.integer("dies", self.dies.into(), 1, 1024);
        check.integer("max_request_kib", self.max_request_kib.into(), 4, 4096);
        check.number("command_us", self.command_us, 0.0, 1e4);
        check.number("bandwidth_mib_s", self.bandwidth_mib_s, 1.0, 1e6);
        check.number("latency_us", self.latency_us, 0.0, 1e5);
        self.read.check("read", &mut check);
        check.integer("stripe_kib", self.stripe_kib.into(), 4, 1024);
        self.program.check("program", &mut check);
        check.integer("program_kib", self.program_kib.into(), 4, 1024);
        let least = u64::from(self.max_request_kib) + u64::from(self.program_kib);
        let buffer = u64::from(self.write_buffer_kib);
        check.require(
            "write_buffer_kib",
            buffer,
            buffer == 0 || (least..=16 << 20).contains(&buffer),
            format!("0, or max_request_kib + program_kib = {least} to 16777216"),
        );
        check.number("flush_us", self.flush_us, 0.0, 1e6);
        check.require(
            "atomic_write_bytes",
            self.atomic_write_bytes,
            self.atomic_write_bytes.is_power_of_two()
                && (512..=1 << 20).contains(&self.atomic_write_bytes),
            "a power of two from 512 to 1048576",
        );
        check.finish()
    }
}
