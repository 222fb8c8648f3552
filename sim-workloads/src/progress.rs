//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};

/// Announces the steps of a long piece of work.
#[derive(Debug)]
pub struct Progress(Kind);

#[derive(Debug)]
enum Kind {
    Silent,
    Lines(std::sync::atomic::AtomicU64),
    Bar(ProgressBar),
}

impl Progress {
    /// Says nothing: for tests and for callers that want results only.
    pub fn silent() -> Self {
        Progress(Kind::Silent)
    }

    /// A bar if standard error is a terminal, otherwise a line a step.
    pub fn on_standard_error() -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress(Kind::Lines(0.into()));
        }
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({elapsed})")
            .expect("the template is well-formed");
        Progress(Kind::Bar(ProgressBar::new(0).with_style(style)))
    }

    /// So many steps will follow.
    pub fn expect(&self, steps: u64) {
        if let Kind::Bar(bar) = &self.0 {
            bar.set_length(bar.position() + steps);
        }
    }

    /// A step has been done.
    pub fn step(&self, what: &str) {
        match &self.0 {
            Kind::Silent => {}
            Kind::Lines(done) => {
                let number = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                say(format_args!("{number}: {what}"));
            }
            Kind::Bar(bar) => {
                bar.set_message(what.to_string());
                bar.inc(1);
            }
        }
    }

    /// All is done; the bar disappears.
    pub fn finish(&self) {
        if let Kind::Bar(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Writes a line to standard error. One that is closed has nobody left to read it.
pub fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
