//! What sysbench prints before the first interval.

use std::fmt::Write as _;

/// The settings that the preamble repeats.
#[derive(Debug, Clone, PartialEq)]
pub struct Preamble<'a> {
    /// First line: who runs, as sysbench prints its version.
    pub version_line: &'a str,
    /// Client threads.
    pub threads: u32,
    /// Transactions a second asked for (`--rate`); `None` for a closed loop.
    pub rate: Option<u64>,
    /// Seconds between intermediate lines; `None` for none.
    pub report_interval_s: Option<u64>,
    /// The run's seed.
    pub seed: u64,
}

impl Preamble<'_> {
    /// The text in sysbench 1.0's layout, up to the blank line after "Threads started!".
    pub fn text(&self) -> String {
        let mut out = format!(
            "{}\n\nRunning the test with following options:\nNumber of threads: {}\n",
            self.version_line, self.threads
        );
        // Writing to a string cannot fail.
        if let Some(rate) = self.rate {
            let _ = writeln!(out, "Target transaction rate: {rate}/sec");
        }
        if let Some(seconds) = self.report_interval_s {
            let _ = writeln!(out, "Report intermediate results every {seconds} second(s)");
        }
        let _ = write!(
            out,
            "Initializing random number generator from seed ({}).\n\n\n\
             Initializing worker threads...\n\nThreads started!\n\n",
            self.seed
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_the_options_that_were_given() {
        let mut preamble = Preamble {
            version_line: "innosim 1.2.3 (report as sysbench 1.0)",
            threads: 4,
            rate: Some(100),
            report_interval_s: Some(10),
            seed: 7,
        };
        assert_eq!(
            preamble.text(),
            "\
innosim 1.2.3 (report as sysbench 1.0)

Running the test with following options:
Number of threads: 4
Target transaction rate: 100/sec
Report intermediate results every 10 second(s)
Initializing random number generator from seed (7).


Initializing worker threads...

Threads started!

"
        );
        preamble.rate = None;
        preamble.report_interval_s = None;
        assert!(!preamble.text().contains("every") && !preamble.text().contains("Target"));
    }
}
