//! The CPU part of a machine profile: sockets, cores, SMT, frequency, what a
//! wake-up, a spin or a cache line costs.
//!
//! A profile is data (a TOML file); every number in it names its source beside it.
//! Here are the fields, their units and the ranges that are accepted.

use serde::{Deserialize, Serialize};

use super::time::{MICROSECOND, NANOSECOND, Time};

/// A value of a profile that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{key} = {value} is not accepted: {accepted}")]
pub struct ProfileError {
    /// The key, with its table: `cpu.sockets`.
    pub key: String,
    /// The value found.
    pub value: String,
    /// The accepted range, in words.
    pub accepted: String,
}

impl ProfileError {
    pub(crate) fn new(key: &str, value: impl ToString, accepted: &str) -> Self {
        ProfileError {
            key: key.into(),
            value: value.to_string(),
            accepted: accepted.into(),
        }
    }
}

/// The processor of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuProfile {
    /// Sockets, 1 to 8.
    pub sockets: u32,
    /// Cores a socket, 1 to 64.
    pub cores_per_socket: u32,
    /// Hardware threads a core, 1 or 2.
    pub threads_per_core: u32,
    /// Rate of each thread of a core when 1, 2, … of them are busy; the first is 1.
    pub smt_rate: Vec<f64>,
    /// Frequency by active cores of the machine: points (active cores, factor),
    /// straight lines between them, constant outside. Factors are at most 1.
    #[serde(default = "flat")]
    pub turbo: Vec<(u32, f64)>,
    /// Time slice while others wait for a CPU, µs.
    pub time_slice_us: f64,
    /// Whether a woken task moves to its waker's socket if a core is idle there
    /// (CFS's `wake_affine`); otherwise it stays on the socket where it last ran.
    #[serde(default)]
    pub wake_affine: bool,
    /// CPU to switch a hardware thread to another task, µs.
    pub context_switch_us: f64,
    /// How long a task stalls when it gets a hardware thread on which another has run since
    /// it did, or on which it has not run: its private caches hold that one's data, µs.
    #[serde(default)]
    pub cold_cache_us: f64,
    /// From a wake-up to the woken task being ready to run, µs.
    pub wake_latency_us: f64,
    /// What a timed sleep takes beyond what was asked for, µs.
    pub timer_slack_us: f64,
    /// CPU of the waker, for each task it wakes, µs.
    pub wake_call_us: f64,
    /// What a signal to all who wait for a latch or an event does.
    #[serde(default)]
    pub broadcast: Broadcast,
    /// CPU of a yield, µs.
    pub yield_call_us: f64,
    /// CPU to go to sleep (reserve a wait cell, system call), µs.
    pub sleep_call_us: f64,
    /// CPU to submit an I/O request; half as much again to take its completion, µs.
    pub io_call_us: f64,
    /// CPU to copy 16 KiB between the page cache and a task's memory, µs. The default:
    /// measured (pwrite and pread of 16 KiB of a cached file less those of 512 bytes, on
    /// a virtual machine with two cores: 1.9 to 3.6).
    #[serde(default = "page_copy")]
    pub page_copy_us: f64,
    /// A modified cache line from another core of the socket, ns.
    pub line_same_socket_ns: f64,
    /// A modified cache line from another socket, ns.
    pub line_cross_socket_ns: f64,
    /// One PAUSE instruction, ns.
    pub pause_ns: f64,
}

/// How a condition variable signals all who wait: InnoDB's events are made of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Broadcast {
    /// The one who signals wakes them all, and pays for it (glibc since 2.25).
    #[default]
    WakeAll,
    /// The one who signals wakes the first; the others are moved to the mutex behind the
    /// condition, and each wakes the next when it runs and leaves that mutex (glibc up to
    /// 2.24, on x86: `FUTEX_CMP_REQUEUE`). The one who signals is soon about its work
    /// again, and those who wait come one by one.
    Requeue,
}

fn flat() -> Vec<(u32, f64)> {
    vec![(1, 1.0)]
}

fn page_copy() -> f64 {
    2.5
}

impl CpuProfile {
    /// A plain machine of one socket with `cores` cores, where nothing but the
    /// charges themselves takes time: for closed-form tests.
    pub fn uniform(cores: u32) -> Self {
        CpuProfile {
            sockets: 1,
            cores_per_socket: cores,
            threads_per_core: 1,
            smt_rate: vec![1.0],
            turbo: flat(),
            time_slice_us: 3_000.0,
            wake_affine: false,
            context_switch_us: 0.0,
            cold_cache_us: 0.0,
            wake_latency_us: 0.0,
            timer_slack_us: 0.0,
            wake_call_us: 0.0,
            broadcast: Broadcast::WakeAll,
            yield_call_us: 0.0,
            sleep_call_us: 0.0,
            io_call_us: 0.0,
            page_copy_us: 0.0,
            line_same_socket_ns: 0.0,
            line_cross_socket_ns: 0.0,
            pause_ns: 5.0,
        }
    }

    /// Logical CPUs: what a server's derived defaults see.
    pub fn logical_cpus(&self) -> u32 {
        self.sockets * self.cores_per_socket * self.threads_per_core
    }

    /// Frequency factor with so many active cores.
    pub fn speed(&self, active: usize) -> f64 {
        let active = active.max(1) as f64;
        let mut before = match self.turbo.first() {
            Some(&first) => first,
            None => return 1.0,
        };
        for &point in &self.turbo {
            if active <= f64::from(point.0) {
                let span = f64::from(point.0) - f64::from(before.0);
                if span <= 0.0 {
                    return point.1;
                }
                let share = (active - f64::from(before.0)) / span;
                return before.1 + share * (point.1 - before.1);
            }
            before = point;
        }
        before.1
    }

    pub(crate) fn slice(&self) -> Time {
        micros(self.time_slice_us)
    }

    /// Checks every field.
    pub fn validate(&self) -> Result<(), ProfileError> {
        let whole = [
            ("cpu.sockets", self.sockets, 1, 8),
            ("cpu.cores_per_socket", self.cores_per_socket, 1, 64),
            ("cpu.threads_per_core", self.threads_per_core, 1, 2),
        ];
        for (key, value, low, high) in whole {
            if !(low..=high).contains(&value) {
                return Err(ProfileError::new(key, value, &format!("{low} to {high}")));
            }
        }
        if self.smt_rate.len() != self.threads_per_core as usize
            || self.smt_rate[0] != 1.0
            || self.smt_rate.iter().any(|rate| !(0.1..=1.0).contains(rate))
        {
            return Err(ProfileError::new(
                "cpu.smt_rate",
                format!("{:?}", self.smt_rate),
                "one rate for each thread of a core, 0.1 to 1, the first 1.0",
            ));
        }
        let rising = self.turbo.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if self.turbo.is_empty()
            || !rising
            || self
                .turbo
                .iter()
                .any(|(_, factor)| !(0.05..=1.0).contains(factor))
        {
            return Err(ProfileError::new(
                "cpu.turbo",
                format!("{:?}", self.turbo),
                "points [active cores, factor] with rising core counts and factors 0.05 to 1",
            ));
        }
        let times = [
            ("cpu.time_slice_us", self.time_slice_us, 1.0, 1e6),
            ("cpu.context_switch_us", self.context_switch_us, 0.0, 1e3),
            ("cpu.cold_cache_us", self.cold_cache_us, 0.0, 1e3),
            ("cpu.wake_latency_us", self.wake_latency_us, 0.0, 1e4),
            ("cpu.timer_slack_us", self.timer_slack_us, 0.0, 1e4),
            ("cpu.wake_call_us", self.wake_call_us, 0.0, 1e3),
            ("cpu.yield_call_us", self.yield_call_us, 0.0, 1e3),
            ("cpu.io_call_us", self.io_call_us, 0.0, 1e3),
            ("cpu.page_copy_us", self.page_copy_us, 0.0, 1e3),
            ("cpu.sleep_call_us", self.sleep_call_us, 0.0, 1e3),
            (
                "cpu.line_same_socket_ns",
                self.line_same_socket_ns,
                0.0,
                1e5,
            ),
            (
                "cpu.line_cross_socket_ns",
                self.line_cross_socket_ns,
                0.0,
                1e5,
            ),
            ("cpu.pause_ns", self.pause_ns, 0.1, 1e4),
        ];
        for (key, value, low, high) in times {
            if !(low..=high).contains(&value) {
                return Err(ProfileError::new(key, value, &format!("{low} to {high}")));
            }
        }
        // A slice that is used up by the switch into it gets nobody anywhere. A stall lasts as
        // long at every rate.
        let slowest = self.smt_rate.iter().copied().fold(1.0, f64::min)
            * self.turbo.iter().map(|point| point.1).fold(1.0, f64::min);
        if (self.time_slice_us - self.cold_cache_us) * slowest <= self.context_switch_us {
            return Err(ProfileError::new(
                "cpu.time_slice_us",
                self.time_slice_us,
                &format!(
                    "longer than a cold cache's stall ({} µs) and a context switch ({} µs) at \
                     the lowest rate ({slowest})",
                    self.cold_cache_us, self.context_switch_us
                ),
            ));
        }
        Ok(())
    }
}

/// The spin settings of the latches (InnoDB's `innodb_sync_spin_loops`,
/// `innodb_spin_wait_delay`, `innodb_spin_wait_pause_multiplier`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpinSettings {
    /// Rounds before a waiter goes to sleep.
    pub loops: u32,
    /// A round waits a random number of delay units between 0 and this.
    pub wait_delay: u32,
    /// PAUSE instructions a delay unit.
    pub pause_multiplier: u32,
}

impl Default for SpinSettings {
    fn default() -> Self {
        SpinSettings {
            loops: 30,
            wait_delay: 6,
            pause_multiplier: 50,
        }
    }
}

/// Microseconds of a profile as a time.
pub(crate) fn micros(value: f64) -> Time {
    (value * MICROSECOND as f64).round() as Time
}

/// Nanoseconds of a profile as a time.
pub(crate) fn nanos(value: f64) -> Time {
    (value * NANOSECOND as f64).round() as Time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequency_is_interpolated_between_points() {
        let profile = CpuProfile {
            turbo: vec![(1, 1.0), (5, 0.8), (9, 0.6)],
            ..CpuProfile::uniform(16)
        };
        assert_eq!(profile.speed(0), 1.0);
        assert_eq!(profile.speed(1), 1.0);
        assert!((profile.speed(3) - 0.9).abs() < 1e-12);
        assert!((profile.speed(7) - 0.7).abs() < 1e-12);
        assert_eq!(profile.speed(16), 0.6);
    }

    #[test]
    fn errors_name_key_value_and_range() {
        let profile = CpuProfile {
            sockets: 9,
            ..CpuProfile::uniform(1)
        };
        let error = profile.validate().unwrap_err();
        assert_eq!(error.to_string(), "cpu.sockets = 9 is not accepted: 1 to 8");
        let profile = CpuProfile {
            pause_ns: f64::NAN,
            ..CpuProfile::uniform(1)
        };
        assert!(profile.validate().is_err());
        assert!(CpuProfile::uniform(64).validate().is_ok());
    }

    #[test]
    fn a_slice_must_leave_time_after_the_switch_into_it() {
        let profile = |time_slice_us| CpuProfile {
            threads_per_core: 2,
            smt_rate: vec![1.0, 0.5],
            turbo: vec![(1, 1.0), (8, 0.5)],
            context_switch_us: 2.0,
            cold_cache_us: 1.5,
            time_slice_us,
            ..CpuProfile::uniform(8)
        };
        assert_eq!(
            profile(9.5).validate().unwrap_err().to_string(),
            "cpu.time_slice_us = 9.5 is not accepted: \
             longer than a cold cache's stall (1.5 µs) and a context switch (2 µs) at \
             the lowest rate (0.25)"
        );
        assert!(profile(9.6).validate().is_ok());
    }
}
