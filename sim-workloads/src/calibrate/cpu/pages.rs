//! Costs of whole pages, each measured by itself: a checksum, a copy, a clear.
//!
//! They are the same work wherever they are charged, so that no run of statements is needed to
//! tell them from the others. The pages are those of an area much larger than the caches, one
//! after the other in a random order, as a page cleaner meets them.

use std::hint::black_box;

use innosim_engine::page::checksum::crc32;
use innosim_engine::page::{PAGE_SIZE, PageBytes};
use innosim_engine::runtime::Cost;
use innosim_engine::runtime::random::Stream;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// Pages of the area: 128 MiB.
const PAGES: usize = 8192;
/// Pages of a batch.
const BATCH: usize = 64;

/// A cost measured by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PageCost {
    /// The name of the cost.
    pub name: &'static str,
    /// The lower quartile of the batches, ns.
    pub nanoseconds: f64,
    /// Their median, ns.
    pub median: f64,
    /// Batches.
    pub batches: usize,
    /// The default, ns.
    pub default: f64,
}

/// CPU time of this thread, ns.
fn cpu_ns() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Measures all of them, so many batches each.
pub fn measure(batches: usize) -> Vec<PageCost> {
    let mut area = vec![[1_u8; PAGE_SIZE]; PAGES];
    let mut other = vec![[2_u8; PAGE_SIZE]; BATCH];
    let mut random = Stream::new(1, "pages");
    let mut each = |cost: Cost, work: &mut dyn FnMut(&mut PageBytes, &mut PageBytes)| {
        let mut times: Vec<f64> = (0..batches)
            .map(|_| {
                let begin = cpu_ns();
                for copy in &mut other {
                    work(&mut area[random.below(PAGES as u64) as usize], copy);
                }
                (cpu_ns() - begin) / BATCH as f64
            })
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let rank = |share| crate::stats::nearest_rank(&times, share).unwrap_or(f64::NAN);
        PageCost {
            name: cost.name(),
            nanoseconds: rank(0.25),
            median: rank(0.5),
            batches,
            default: innosim_engine::runtime::CostTable::default().get(cost) as f64 / 1e3,
        }
    };
    vec![
        each(Cost::PageChecksum, &mut |page, _| {
            black_box(crc32(page));
        }),
        each(Cost::PageCopy, &mut |page, copy| {
            copy.copy_from_slice(page);
            black_box(&copy);
        }),
        each(Cost::PageClear, &mut |page, _| {
            page.fill(0);
            black_box(&page);
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_takes_a_time() {
        let costs = measure(3);
        assert_eq!(costs.len(), 3);
        for cost in costs {
            assert!(
                cost.nanoseconds > 0.0 && cost.nanoseconds.is_finite(),
                "{cost:?}"
            );
            let known = Cost::ALL.iter().any(|known| known.name() == cost.name);
            assert!(known && cost.default > 0.0, "{cost:?}");
        }
    }
}
