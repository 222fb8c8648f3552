//! The page of a run.

mod over_time;
mod tables;

use super::budget;
use super::origin::Origin;
use super::page::{Page, grouped, threads};
use crate::report::json::RunDocument;

/// One run as an HTML page.
pub fn run(run: &RunDocument, origin: &Origin) -> String {
    let mut page = Page::new(&format!(
        "{}, {}, {} on {}",
        run.workload,
        threads(run.threads),
        run.flavor,
        run.machine
    ));
    at_a_glance(&mut page, run);
    if !run.intervals.is_empty() {
        page.section("Over time");
        over_time::plots(&mut page, run);
        page.end_section();
    }
    page.section("Where the time of a mean transaction goes");
    budget::bars(&mut page, &[(threads(run.threads), run.time_budget)]);
    budget::table(&mut page, &run.time_budget);
    page.end_section();
    tables::latches(&mut page, &run.latches);
    tables::files(&mut page, run);
    tables::settings(&mut page, run);
    tables::validity(&mut page, run);
    origin.write(&mut page, &format!("seed {}", run.seed));
    page.end()
}

fn at_a_glance(page: &mut Page, run: &RunDocument) {
    let scale = match run.scale {
        1 => String::new(),
        scale => format!(", sizes divided by {scale}"),
    };
    page.note(&format!(
        "{} tables of {} rows{scale}, {} clock, seed {}, {:.1} s measured.",
        run.tables,
        grouped(run.table_size),
        run.clock,
        run.seed,
        run.time_s
    ));
    let latency = &run.latency_ms;
    let ms = |ms: f64| format!("{ms:.2} ms");
    page.tiles([
        ("transactions/s", grouped(run.tps.round() as u64)),
        ("statements/s", grouped(run.qps.round() as u64)),
        ("mean latency", ms(latency.avg)),
        ("median", ms(latency.p50)),
        ("95th percentile", ms(latency.p95)),
        ("99th percentile", ms(latency.p99)),
        ("longest", ms(latency.max)),
        ("errors", grouped(run.errors)),
    ]);
    for warning in &run.warnings {
        page.warning(warning.strip_prefix("note: ").unwrap_or(warning));
    }
}
