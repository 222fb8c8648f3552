//! What the effect of 128 against 16 pages hangs on: the device's arbitration, the
//! experiment's own assumptions, and controls that must remove it.

use innosim_engine::runtime::virtual_clock::disk::Admission;

use super::{PAGES, Published, Results, Runs, Variant, effect, mean, over_both_users};
use crate::kernel::doublewrite_queue::controls::{doublewrite_for_nothing, redo_apart, with_disk};
use crate::kernel::{Table, Value};
use crate::machine::MachineProfile;

/// Sizes of the device's write buffer, KiB.
const BUFFERS: [u32; 3] = [0, 8 << 10, 64 << 10];
const ADMISSIONS: [Admission; 2] = [Admission::Fifo, Admission::RoundRobin];

/// Variants that the three tables run: arbitration without the base, assumptions without
/// the base, and controls.
pub(super) const VARIANTS: u64 = 11 + 3 + 2;

const COLUMNS: [&str; 8] = [
    "tps 16 users, 128 pages",
    "16 pages",
    "effect",
    "tps 64 users, 128 pages",
    "16 pages",
    "effect",
    "write ms 128 / 16",
    "in flight 128 / 16",
];

fn table(title: &str, labels: &[&str], runs: &Runs) -> Table {
    let columns = [labels, &COLUMNS].concat();
    Table::new(format!("{title} ({})", runs.how()), &columns)
}

fn figures(results: &Results) -> Vec<Value> {
    let mut figures = Vec::new();
    for by_pages in results {
        for results in by_pages {
            figures.push(Value::count(mean(results, |result| result.tps)));
        }
        figures.push(effect(by_pages));
    }
    let [large, small] = [0, 1].map(|pages| over_both_users(results, pages));
    figures.push(format!("{:.1} / {:.2}", large.0, small.0).into());
    figures.push(format!("{:.2} / {:.2}", large.1, small.1).into());
    figures
}

/// The published effects, in the columns of the simulated ones.
fn published_figures(published: &Published) -> Vec<Value> {
    let mut figures = Vec::new();
    for users in super::USERS {
        let [large, small] = PAGES.map(|pages| published.tps(pages, users));
        figures.extend([Value::count(large), Value::count(small)]);
        figures.push(Value::Change(small / large - 1.0));
    }
    let pair = |figure: fn(&Published, u64) -> f64| PAGES.map(|pages| figure(published, pages));
    let (time, in_flight) = (pair(Published::write_ms), pair(Published::in_flight));
    figures.push(format!("{:.1} / {:.2}", time[0], time[1]).into());
    figures.push(format!("{:.2} / {:.2}", in_flight[0], in_flight[1]).into());
    figures
}

fn admission_name(admission: Admission) -> &'static str {
    match admission {
        Admission::Fifo => "fifo",
        Admission::RoundRobin => "round_robin",
    }
}

/// The effect by write buffer, admission and priority of reads.
pub(super) fn arbitration(runs: &Runs, base: &Variant, results: &Results) -> anyhow::Result<Table> {
    let labels = ["admission", "reads_first", "write buffer MiB"];
    let mut table = table("The effect by the device's arbitration", &labels, runs);
    let mut published = vec!["published".into(), "".into(), "".into()];
    published.extend(published_figures(&Published::load()?));
    table.push(published);
    for admission in ADMISSIONS {
        for reads_first in [false, true] {
            for buffer in BUFFERS {
                let name = admission_name(admission);
                let machine = with_disk(&base.machine, |disk| {
                    disk.admission = admission;
                    disk.reads_first = reads_first;
                    disk.write_buffer_kib = buffer;
                })?;
                let is_base = machine == base.machine;
                let results = if is_base {
                    results.clone()
                } else {
                    let name = format!("{name}, reads_first {reads_first}, {} MiB", buffer >> 10);
                    let base = base.clone();
                    runs.run(&Variant {
                        name,
                        machine,
                        ..base
                    })?
                };
                let mark = if is_base { " (as profiled)" } else { "" };
                let mut row = vec![
                    format!("{name}{mark}").into(),
                    reads_first.to_string().into(),
                    Value::count(buffer >> 10),
                ];
                row.extend(figures(&results));
                table.push(row);
            }
        }
    }
    Ok(table)
}

/// The effect by what the experiment takes for granted.
pub(super) fn assumptions(
    runs: &Runs,
    base: &Variant,
    results: &Results,
    published: &Published,
) -> anyhow::Result<Table> {
    let mut table = table(
        "The effect by the experiment's assumptions",
        &["variant"],
        runs,
    );
    let mut push = |name: &str, results: &Results| {
        let mut row = vec![name.into()];
        row.extend(figures(results));
        table.push(row);
    };
    push("as profiled", results);
    let variant = |name: &str| Variant {
        name: name.into(),
        ..base.clone()
    };
    let patient = Variant {
        owed_limit: 80_000,
        ..variant("users stop at 80,000 owed pages")
    };
    let dirty = PAGES.map(|pages| published.pages_per_transaction(pages));
    let as_published = Variant {
        pages_per_transaction: dirty,
        ..variant("pages/trx as published for each N: not a prediction")
    };
    let two_sockets = Variant {
        machine: MachineProfile {
            cpu: MachineProfile::load("nvme-48core")?.cpu,
            ..base.machine.clone()
        },
        ..variant("the processors of nvme-48core")
    };
    for variant in [patient, as_published, two_sockets] {
        push(&variant.name, &runs.run(&variant)?);
    }
    Ok(table)
}

/// What must take from the effect: waits that batches cause, and batches.
pub(super) fn controls(runs: &Runs, base: &Variant) -> anyhow::Result<Table> {
    let mut table = table("Controls", &["variant"], runs);
    let machine = &base.machine;
    for (name, machine) in [
        ("redo on a device of its own", redo_apart(machine)?),
        (
            "doublewrite file on an infinitely fast device",
            doublewrite_for_nothing(machine)?,
        ),
    ] {
        let name = name.to_string();
        let results = runs.run(&Variant {
            name: name.clone(),
            machine,
            ..base.clone()
        })?;
        let mut row = vec![name.into()];
        row.extend(figures(&results));
        table.push(row);
    }
    Ok(table)
}
