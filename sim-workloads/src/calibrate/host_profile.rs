//! A machine profile as text, each number with its source beside it.
//!
//! What a call of `calibrate` has measured takes the place of what the profile before it says;
//! the rest stays, and says so.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use innosim_engine::runtime::Cost;
use innosim_engine::runtime::time::NANOSECOND;
use innosim_engine::runtime::virtual_clock::disk::{
    Admission, CacheProtection, DiskProfile, ServiceTime, SolidStateProfile,
};

use super::cpu::fit::CpuFit;
use super::cpu::groups::GROUPS;
use super::disk::fit::DiskFit;
use super::latches::LatchFigures;
use crate::machine::MachineProfile;

/// Everything measured, each part if it was.
#[derive(Debug, Default)]
pub struct Measurements {
    /// CPU costs.
    pub cpu: Option<CpuFit>,
    /// Lines, wake-ups, switches.
    pub latches: Option<LatchFigures>,
    /// The disk.
    pub disk: Option<DiskFit>,
}

impl Measurements {
    /// Puts what was measured into a machine.
    pub fn apply(&self, machine: &mut MachineProfile) {
        if let Some(figures) = &self.latches {
            let cpu = &mut machine.cpu;
            if let Some(line) = figures.line_same_socket_ns {
                cpu.line_same_socket_ns = rounded(line.value);
            }
            cpu.line_cross_socket_ns = match figures.line_cross_socket_ns {
                Some(line) => rounded(line.value),
                None => cpu.line_same_socket_ns,
            };
            cpu.pause_ns = rounded(figures.pause_ns.value).max(0.1);
            cpu.yield_call_us = rounded(figures.yield_call_us.value);
            if let Some(switch) = figures.context_switch_us {
                cpu.context_switch_us = rounded(switch.value);
            }
            cpu.wake_call_us = rounded(figures.wake_call_us.value);
            cpu.wake_latency_us = rounded(figures.wake_latency_us());
            cpu.sleep_call_us = rounded(figures.sleep_call_us());
            cpu.timer_slack_us = rounded(figures.timer_slack_us.value);
        }
        if let Some(fit) = &self.disk {
            machine.cpu.io_call_us = rounded(fit.machine.cpu.io_call_us);
            machine.cpu.page_copy_us = rounded(fit.machine.cpu.page_copy_us);
            for place in machine.disks.values_mut() {
                *place = DiskProfile::SolidState(fit.disk.clone());
            }
        }
        if let Some(fit) = &self.cpu {
            for (group, fitted) in GROUPS.iter().zip(&fit.groups) {
                for &cost in group.costs {
                    let default = innosim_engine::runtime::CostTable::default().get(cost);
                    let value = default as f64 / NANOSECOND as f64 * fitted.multiple;
                    machine
                        .costs
                        .set(cost.name(), rounded(value))
                        .expect("a multiple of a default is within the range of costs");
                }
            }
            for page in &fit.pages {
                machine
                    .costs
                    .set(page.name, rounded(page.nanoseconds))
                    .expect("the time of a page is within the range of costs");
            }
            machine.server.statement_us = rounded(fit.server_statement_us());
            machine.server.weights = fit.weights();
        }
    }
}

/// To three significant digits: more would be noise.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    let text = format!("{:.*}", digits.clamp(0, 9) as usize, value);
    let text: f64 = text.parse().unwrap_or(value);
    if digits < 0 {
        let unit = 10f64.powi(-digits);
        return (value / unit).round() * unit;
    }
    text
}

/// Today, as `2026-12-01`.
pub fn today() -> String {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = elapsed.map_or(0, |time| time.as_secs() / 86_400);
    civil(days as i64)
}

/// The date of so many days after 1970-01-01: H. Hinnant, "chrono-compatible low-level date
/// algorithms".
fn civil(days: i64) -> String {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A number as TOML wants a float.
fn float(value: f64) -> String {
    format!("{value:?}")
}

struct Text(String);

impl Text {
    fn line(&mut self, key: &str, value: impl std::fmt::Display, source: impl std::fmt::Display) {
        let assignment = format!("{key} = {value}");
        let _ = writeln!(self.0, "{assignment:<36} # {source}");
    }

    /// What needs no source: a word, not a number.
    fn word(&mut self, key: &str, value: &str) {
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn table(&mut self, name: &str) {
        let _ = writeln!(self.0, "\n[{name}]");
    }
}

/// The profile: a machine with everything applied, `base` being the name of the profile that
/// the rest is from, and `call` the command with its date.
pub fn text(machine: &MachineProfile, measured: &Measurements, base: &str, call: &str) -> String {
    let kept = format!("chosen: as in the profile {base}, not measured here");
    let of = |is_measured: bool, source: String| if is_measured { source } else { kept.clone() };
    let mut text = Text(format!(
        "# This host, as measured by\n#   {call}\n# Each number names its source; `measured` and \
         `fitted` are by that call.\n\n"
    ));
    text.word("description", "\"this host, calibrated\"");
    text.line(
        "memory_gib",
        float(machine.memory_gib),
        "measured: /proc/meminfo",
    );

    let cpu = &machine.cpu;
    text.table("cpu");
    let system = "measured: what the system says";
    text.line(
        "sockets",
        cpu.sockets,
        "estimate: the system's CPUs count as one socket",
    );
    text.line("cores_per_socket", cpu.cores_per_socket, system);
    text.line(
        "threads_per_core",
        cpu.threads_per_core,
        "estimate: CPUs count as cores",
    );
    text.line("smt_rate", format!("{:?}", cpu.smt_rate), &kept);
    let turbo: Vec<String> = cpu
        .turbo
        .iter()
        .map(|(cores, factor)| format!("[{cores}, {}]", float(*factor)))
        .collect();
    text.line("turbo", format!("[{}]", turbo.join(", ")), &kept);
    text.line("time_slice_us", float(cpu.time_slice_us), &kept);
    text.line("wake_affine", cpu.wake_affine, &kept);
    let latches = measured.latches.as_ref();
    let figure = |name: &str, what: &dyn Fn(&LatchFigures) -> Option<super::latches::Figure>| {
        let figure = latches.and_then(what);
        of(
            figure.is_some(),
            figure.map_or_else(String::new, |figure| {
                format!(
                    "measured: {name}, quartile of {} batches, median {:.3}",
                    figure.batches, figure.median
                )
            }),
        )
    };
    let derived = |name: &str| of(latches.is_some(), format!("measured: {name}"));
    text.line(
        "context_switch_us",
        float(cpu.context_switch_us),
        figure("two threads yield to each other", &|f| f.context_switch_us),
    );
    text.line(
        "wake_latency_us",
        float(cpu.wake_latency_us),
        derived("unpark until the thread runs, less call and switch"),
    );
    text.line(
        "timer_slack_us",
        float(cpu.timer_slack_us),
        figure("a sleep of 1 ms", &|f| Some(f.timer_slack_us)),
    );
    text.line(
        "wake_call_us",
        float(cpu.wake_call_us),
        figure("unpark", &|f| Some(f.wake_call_us)),
    );
    text.line(
        "sleep_call_us",
        float(cpu.sleep_call_us),
        derived("CPU of park until it runs again, less the switch"),
    );
    text.line(
        "yield_call_us",
        float(cpu.yield_call_us),
        figure("sched_yield", &|f| Some(f.yield_call_us)),
    );
    let disk = measured.disk.as_ref();
    text.line(
        "io_call_us",
        float(cpu.io_call_us),
        of(
            disk.is_some(),
            "measured: CPU of a direct read and write, less the switch".into(),
        ),
    );
    text.line(
        "page_copy_us",
        float(cpu.page_copy_us),
        of(
            disk.is_some(),
            "measured: buffered writes of 16 KiB less those of 512 bytes".into(),
        ),
    );
    text.line(
        "line_same_socket_ns",
        float(cpu.line_same_socket_ns),
        figure("ping-pong of two cores", &|f| f.line_same_socket_ns),
    );
    text.line(
        "line_cross_socket_ns",
        float(cpu.line_cross_socket_ns),
        match latches {
            Some(figures) if figures.line_cross_socket_ns.is_none() => {
                "measured: there is one socket, or no two cores of two".to_owned()
            }
            _ => figure("ping-pong of two sockets", &|f| f.line_cross_socket_ns),
        },
    );
    text.line(
        "pause_ns",
        float(cpu.pause_ns),
        figure("PAUSE in a loop", &|f| Some(f.pause_ns)),
    );

    server(&mut text, machine, measured.cpu.as_ref(), &kept);
    costs(&mut text, machine, measured.cpu.as_ref(), base);
    for (name, profile) in &machine.disks {
        if let DiskProfile::SolidState(profile) = profile {
            text.table(&format!("disks.{name}"));
            solid_state(&mut text, profile, disk, &kept);
        }
    }
    text.0
}

fn server(text: &mut Text, machine: &MachineProfile, fit: Option<&CpuFit>, kept: &str) {
    let server = &machine.server;
    text.table("server");
    let (mean, weights) = match fit {
        Some(fit) => (
            format!(
                "measured: the driver {:.3} us, and {:.3} us (+-{:.3}) of the engine that no cost \
                 is charged for",
                fit.driver_statement_us(),
                fit.statement_us,
                fit.statement_standard_error.unwrap_or(0.0)
            ),
            "fitted: the driver alone, by kind of statement".to_owned(),
        ),
        None => (kept.to_owned(), kept.to_owned()),
    };
    text.line("statement_us", float(server.statement_us), mean);
    text.line("statement_cv", float(server.statement_cv), kept);
    text.table("server.weights");
    let w = &server.weights;
    for (key, value) in [
        ("begin", w.begin),
        ("point_select", w.point_select),
        ("range", w.range),
        ("write", w.write),
        ("commit", w.commit),
    ] {
        text.line(key, float(rounded(value)), &weights);
    }
    let protocol = match fit {
        Some(_) => "measured: there is no protocol between driver and engine",
        None => kept,
    };
    text.line("text_protocol", float(w.text_protocol), protocol);
}

fn costs(text: &mut Text, machine: &MachineProfile, fit: Option<&CpuFit>, base: &str) {
    let defaults = innosim_engine::runtime::CostTable::default();
    text.table("costs");
    for &cost in Cost::ALL {
        let value = machine.costs.get(cost);
        let number = float(rounded(value as f64 / NANOSECOND as f64));
        let place = GROUPS.iter().position(|group| group.costs.contains(&cost));
        let page = fit.and_then(|fit| fit.pages.iter().find(|page| page.name == cost.name()));
        if let Some(page) = page {
            text.line(
                cost.name(),
                number,
                format!(
                    "measured: quartile of {} batches, median {:.0}",
                    page.batches, page.median
                ),
            );
            continue;
        }
        match (fit, place) {
            (Some(fit), Some(place)) if fit.groups[place].identified => {
                let group = &fit.groups[place];
                text.line(
                    cost.name(),
                    number,
                    format!(
                        "fitted: {:.2} (+-{:.2}) times the default, with all of \"{}\"",
                        group.multiple,
                        group.standard_error.unwrap_or(0.0),
                        group.name
                    ),
                );
            }
            _ if value != defaults.get(cost) => {
                text.line(
                    cost.name(),
                    number,
                    format!("chosen: as in the profile {base}"),
                );
            }
            // A default needs no line.
            _ => {}
        }
    }
}

fn solid_state(text: &mut Text, disk: &SolidStateProfile, fit: Option<&DiskFit>, kept: &str) {
    let by_fit = match fit {
        Some(fit) => format!(
            "fitted: to {} points, median error {:.1} %",
            fit.points.len(),
            fit.median_error * 100.0
        ),
        None => kept.to_owned(),
    };
    let system = match fit {
        Some(_) => "measured: what sysfs says of the disk",
        None => kept,
    };
    let assumed = match fit {
        Some(_) => "estimate: a page",
        None => kept,
    };
    text.word("model", "\"solid_state\"");
    text.line("dies", disk.dies, &by_fit);
    text.line("max_request_kib", disk.max_request_kib, system);
    text.line("command_us", float(disk.command_us), &by_fit);
    text.line("bandwidth_mib_s", float(disk.bandwidth_mib_s), &by_fit);
    text.line("latency_us", float(disk.latency_us), &by_fit);
    text.line("read", service_time(disk.read), &by_fit);
    text.line("stripe_kib", disk.stripe_kib, assumed);
    text.line("program", service_time(disk.program), &by_fit);
    text.line("program_kib", disk.program_kib, assumed);
    text.line("reads_first", disk.reads_first, kept);
    let buffer = match fit {
        Some(_) => "fitted: with a buffer, or without: what is nearer",
        None => kept,
    };
    text.line("write_buffer_kib", disk.write_buffer_kib, buffer);
    let admission = match disk.admission {
        Admission::Fifo => "\"fifo\"",
        Admission::RoundRobin => "\"round_robin\"",
    };
    text.line(
        "admission",
        admission,
        "published: NVMe and virtio take from queues in turn",
    );
    let cache = match disk.cache {
        CacheProtection::Volatile => "\"volatile\"",
        CacheProtection::Protected => "\"protected\"",
    };
    text.line("cache", cache, system);
    text.line("flush_us", float(disk.flush_us), &by_fit);
    text.line(
        "merge_flushes",
        disk.merge_flushes,
        "published: Linux, blk-flush.c",
    );
    text.line("atomic_write_bytes", disk.atomic_write_bytes, system);
}

fn service_time(time: ServiceTime) -> String {
    let mean = float(rounded(time.mean_us()));
    match time {
        ServiceTime::Deterministic { .. } => {
            format!("{{ distribution = \"deterministic\", mean_us = {mean} }}")
        }
        ServiceTime::Exponential { .. } => {
            format!("{{ distribution = \"exponential\", mean_us = {mean} }}")
        }
        ServiceTime::Lognormal { cv, .. } => {
            let cv = float(rounded(cv));
            format!("{{ distribution = \"lognormal\", mean_us = {mean}, cv = {cv} }}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_kept() {
        for (value, expected) in [
            (0.0, 0.0),
            (1.23456, 1.23),
            (0.012_345, 0.0123),
            (98.765, 98.8),
            (123_456.0, 123_000.0),
            (3056.4, 3060.0),
        ] {
            assert_eq!(rounded(value), expected, "{value}");
        }
    }

    #[test]
    fn dates_are_the_calendar_s() {
        for (days, date) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (20_788, "2026-12-01"),
        ] {
            assert_eq!(civil(days), date);
        }
    }

    #[test]
    fn a_profile_reads_back_as_the_machine_it_was_written_from() {
        let machine = MachineProfile::load("host").unwrap();
        let written = text(
            &machine,
            &Measurements::default(),
            "host",
            "innosim calibrate",
        );
        let read = MachineProfile::parse("host.toml", &written).unwrap_or_else(|error| {
            panic!("{error}\n{written}");
        });
        assert_eq!(read.cpu, machine.cpu);
        assert_eq!(read.disks, machine.disks);
        assert_eq!(read.server, machine.server);
        assert_eq!(read.costs, machine.costs);
    }
}
