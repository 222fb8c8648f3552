//! How long runs will take, before they have begun.
//!
//! What a transaction costs to simulate depends on the host more than on the report; with
//! the number of transactions, which the published figures tell, it gives the minutes.
//! Once runs have ended, what they took tells better.

use std::time::Duration;

use super::groups::Job;

/// CPU that a transaction costs to simulate, in seconds, on cores that nobody else uses: 0.35
/// ms with the eighteen statements of isolation-levels (measured: 62 minutes for 7.7 million
/// on a virtual machine of two cores, before the linker saw the whole program, which takes a
/// quarter off), and less with the four of doublewrite-pages.
const TRANSACTION_S: f64 = 0.3e-3;

/// The work in words: transactions, and minutes with so many processes at a time.
pub fn of(jobs: &[Job], processes: usize) -> String {
    let runs: usize = jobs.iter().map(|job| job.wanted.len()).sum();
    let transactions: f64 = jobs.iter().flat_map(|job| &job.weights).sum();
    format!(
        "{runs} runs, about {:.1} million transactions to simulate: about {} with {processes} at \
         a time, if a transaction costs {:.1} ms of a core",
        transactions / 1e6,
        in_words(time(jobs, processes)),
        TRANSACTION_S * 1e3,
    )
}

/// The time that so many transactions take with so many processes, in words.
pub fn for_transactions(transactions: f64, processes: usize) -> String {
    let seconds = transactions * TRANSACTION_S / processes.max(1) as f64;
    format!(
        "about {} with {processes} at a time",
        in_words(Duration::from_secs_f64(seconds))
    )
}

/// The time that jobs take with so many processes at a time.
fn time(jobs: &[Job], processes: usize) -> Duration {
    // A group's warm-up, which the first of its weights has with its own run, is computed
    // by one process, while all of the group's wait.
    let of_job = |job: &Job| {
        let all: f64 = job.weights.iter().sum();
        let least = job.weights.iter().copied().fold(f64::INFINITY, f64::min);
        let warm_up = match job.processes {
            0 | 1 => 0.0,
            _ => job.weights.first().map_or(0.0, |first| first - least),
        };
        // Of the processes that there may be, a job keeps so many.
        warm_up * job.processes as f64 + (all - warm_up)
    };
    let all: f64 = jobs.iter().map(of_job).sum();
    Duration::from_secs_f64(all / processes.max(1) as f64 * TRANSACTION_S)
}

/// A time for people.
pub fn in_words(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::Wanted;
    use super::super::processes::Call;
    use super::*;
    use crate::run::RunArguments;

    fn job(weights: &[f64], processes: usize) -> Job {
        let wanted = Wanted {
            cell: 0,
            seed: 1,
            key: String::new(),
        };
        Job {
            wanted: vec![wanted; weights.len()],
            labels: Vec::new(),
            call: Call::Run(RunArguments::default()),
            weights: weights.to_vec(),
            processes,
            memory: 0,
        }
    }

    #[test]
    fn a_warm_up_is_computed_by_one_process() {
        let seconds = |jobs: &[Job]| time(jobs, 2).as_secs_f64();
        let single = job(&[1e6], 1);
        assert!((seconds(&[single.clone(), single]) - 300.0).abs() < 1e-9);
        // A million to warm up, four to measure: 300 s, and 600 s with two at a time.
        let group = job(&[2e6, 1e6, 1e6, 1e6], 2);
        assert!((seconds(&[group]) - 900.0).abs() < 1e-9);
    }

    #[test]
    fn the_work_is_told_in_words() {
        assert_eq!(
            of(&[job(&[2e6, 1e6, 1e6, 1e6], 2)], 2),
            "4 runs, about 5.0 million transactions to simulate: about 15 min with 2 at a time, if \
             a transaction costs 0.3 ms of a core"
        );
        assert_eq!(in_words(Duration::from_secs(89)), "89 s");
    }
}
