//! The profile `host`: what the system says of itself takes the place of what the file
//! says.

use super::MachineProfile;

/// The name of the profile.
pub const HOST: &str = "host";

/// Cores a socket and sockets that a processor may have.
const CORES_PER_SOCKET_MAX: u32 = 64;
const SOCKETS_MAX: u32 = 8;

impl MachineProfile {
    /// Replaces CPUs and memory by those of the system. All CPUs count as cores of one
    /// socket, up to 64; more are spread over as many sockets as it takes.
    pub(super) fn describe_this_host(&mut self) {
        if let Ok(cpus) = std::thread::available_parallelism() {
            let cpus = u32::try_from(cpus.get()).unwrap_or(u32::MAX);
            let sockets = cpus.div_ceil(CORES_PER_SOCKET_MAX).min(SOCKETS_MAX);
            self.cpu.sockets = sockets;
            self.cpu.cores_per_socket = (cpus / sockets).clamp(1, CORES_PER_SOCKET_MAX);
        }
        if let Some(bytes) = memory("MemTotal") {
            self.memory_gib = bytes as f64 / f64::from(1 << 30);
        }
    }
}

/// A figure of `/proc/meminfo` in bytes; none where the system has no such file.
pub fn memory(key: &str) -> Option<u64> {
    figure(&std::fs::read_to_string("/proc/meminfo").ok()?, key)
}

/// The figure of a line `key:   123 kB`, in bytes.
pub(crate) fn figure(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        rest.strip_prefix(':')
    })?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_by_their_whole_key() {
        let text = "MemTotal:       24000 kB\nMemFree:  7 kB\nHugePages_Total:       0\n";
        assert_eq!(figure(text, "MemTotal"), Some(24_000 * 1024));
        assert_eq!(figure(text, "Mem"), None);
        assert_eq!(figure(text, "HugePages_Total"), None);
    }

    #[test]
    fn the_profile_has_the_cpus_of_this_host() {
        let host = MachineProfile::load(HOST).unwrap();
        let cpus = std::thread::available_parallelism().unwrap().get() as u32;
        if cpus <= CORES_PER_SOCKET_MAX {
            assert_eq!(host.cpu.logical_cpus(), cpus);
        }
        assert!(host.memory_gib > 0.25);
    }
}
