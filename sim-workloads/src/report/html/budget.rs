//! Where the time of a mean transaction goes, as stacked bars.

use super::bars::{Lengths, Stack, short, stacks};
use super::page::Page;
use crate::report::json::TimeBudget;

/// The parts, in the order of the document.
const PARTS: [&str; 11] = [
    "computing",
    "run queue",
    "latches",
    "row locks",
    "page reads",
    "free pages",
    "pages under flush",
    "redo writes",
    "redo flushes",
    "admission",
    "other",
];

fn parts(budget: &TimeBudget) -> [f64; PARTS.len()] {
    [
        budget.cpu,
        budget.run_queue,
        budget.latch,
        budget.row_lock,
        budget.page_read,
        budget.free_page,
        budget.flushed_page,
        budget.log_write,
        budget.log_sync,
        budget.admission,
        budget.other,
    ]
}

/// Where one total is so many times another, on one scale the short bar has no parts to be
/// seen.
const SCALE_MAX: f64 = 8.0;

/// Budgets with their labels: on one scale, or as shares where that shows nothing.
pub(super) fn bars(page: &mut Page, budgets: &[(String, TimeBudget)]) {
    let stack = |(label, budget): &(String, TimeBudget)| Stack {
        label: label.clone(),
        parts: parts(budget).to_vec(),
        value: time(budget.total()),
    };
    let all: Vec<Stack> = budgets.iter().map(stack).collect();
    let largest = all.iter().map(Stack::total).fold(0.0, f64::max);
    let smallest = all.iter().map(Stack::total).fold(f64::INFINITY, f64::min);
    let lengths = match largest > SCALE_MAX * smallest {
        true => Lengths::Shares,
        false => Lengths::Comparable,
    };
    if lengths == Lengths::Shares {
        page.note("Each bar is a whole transaction; the figure at its end is how long that takes.");
    }
    page.raw(&stacks(&PARTS, "µs", lengths, &all));
}

/// One budget in figures, the largest part first.
pub(super) fn table(page: &mut Page, budget: &TimeBudget) {
    let total = budget.total();
    let mut rows: Vec<(&str, f64)> = PARTS.into_iter().zip(parts(budget)).collect();
    rows.retain(|(_, part)| *part > 0.0);
    // The sort is stable: equal parts stay in their order.
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let rows = rows.into_iter().map(|(name, part)| {
        let share = part / total * 100.0;
        [name.to_owned(), short(part), format!("{share:.1} %")]
    });
    page.table(["part", "µs a transaction", "share"], rows);
}

/// Microseconds in the unit in which they are read best.
fn time(us: f64) -> String {
    match us {
        us if us >= 1e6 => format!("{} s", short(us / 1e6)),
        us if us >= 1e3 => format!("{} ms", short(us / 1e3)),
        us => format!("{} µs", short(us)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_name() {
        // Each part another power of two: the sum tells them apart.
        let budget: TimeBudget = serde_json::from_value(serde_json::json!({
            "cpu": 1.0, "run_queue": 2.0, "latch": 4.0, "row_lock": 8.0, "page_read": 16.0,
            "free_page": 32.0, "flushed_page": 64.0, "log_write": 128.0, "log_sync": 256.0,
            "admission": 512.0, "other": 1024.0,
        }))
        .unwrap();
        let powers: Vec<f64> = (0..PARTS.len()).map(|n| f64::from(1 << n)).collect();
        assert_eq!(parts(&budget).to_vec(), powers);
    }

    #[test]
    fn times_have_the_unit_that_fits() {
        assert_eq!(time(12.0), "12 µs");
        assert_eq!(time(1_250.0), "1.25 ms");
        assert_eq!(time(2_500_000.0), "2.5 s");
    }
}
