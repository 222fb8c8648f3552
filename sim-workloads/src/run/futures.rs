//! Futures of one warm state as they are typed, and as they are told.
//!
//! ```text
//!   innosim futures OPTIONS --future seed=2,innodb_doublewrite_pages=16 …
//!                                 │ read and checked before anything is done
//!                                 ▼
//!                              Future ── snapshot ──►  {"future": 0, "warm_up_s": 90, "run": {…}}
//! ```
//!
//! A line of JSON is written when its future has ended, so that whoever reads them can keep
//! each, whatever becomes of the others.

use serde::{Deserialize, Serialize};

use innosim_engine::engine::can_change_at_snapshot;
use innosim_engine::sysvar::Excerpt;

use super::plan::{Problems, RunPlan};
use super::snapshot::Future;
use crate::report::json::RunDocument;

/// One future's line of the output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FutureLine {
    /// Its place among those that were asked for, from 0.
    pub future: usize,
    /// The warm-up that all of them share, in seconds.
    pub warm_up_s: f64,
    /// What was measured.
    pub run: RunDocument,
}

/// Futures from their texts, `NAME=VALUE,…`: variables that can be changed while clients
/// pause, and `seed`, which is that of the plan if nobody says otherwise.
///
/// # Errors
/// Everything that is wrong with any of them.
pub fn read(texts: &[String], plan: &RunPlan) -> Result<Vec<Future>, Problems> {
    let mut problems = Problems::default();
    let futures = texts
        .iter()
        .map(|text| one(text, plan, &mut problems))
        .collect();
    problems.into_result()?;
    Ok(futures)
}

fn one(text: &str, plan: &RunPlan, problems: &mut Problems) -> Future {
    let mut future = Future {
        label: text.to_owned(),
        variables: Vec::new(),
        seed: plan.seed,
    };
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.split_once('=') {
            None => problems.refuse("future", part, "NAME=VALUE,…"),
            Some((name, value)) if name.trim() == "seed" => {
                let seed = Some(value);
                future.seed = problems.whole("future seed", seed, plan.seed, 0..=u64::MAX);
            }
            Some((name, value)) => {
                let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
                future.variables.push((name, value));
            }
        }
    }
    match plan.settings.change(&future.variables) {
        Err(error) => problems.add(format_args!("--future={}: {error}", Excerpt(text))),
        Ok(changed) => {
            let names = changed
                .changed
                .iter()
                .map(|changed| changed.definition.name);
            for name in names.filter(|name| !can_change_at_snapshot(name)) {
                problems.add(format_args!(
                    "--future={}: {name} cannot be changed in a warm state: the engine reads it \
                     when it starts",
                    Excerpt(text)
                ));
            }
        }
    }
    future
}

/// The text that [`read`] understands as this seed and these variables, `name=value` each.
pub fn text(seed: u64, variables: &[String]) -> String {
    let mut parts = vec![format!("seed={seed}")];
    parts.extend(variables.iter().cloned());
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::super::arguments::RunArguments;
    use super::*;

    fn plan() -> RunPlan {
        let arguments = RunArguments {
            seed: Some("7".into()),
            ..RunArguments::default()
        };
        arguments.plan().unwrap()
    }

    #[test]
    fn a_text_is_read_as_it_was_written() {
        let variables = [
            "innodb_io_capacity=500".to_owned(),
            "innosim_flush_latch=after_copy".to_owned(),
        ];
        let texts = [text(2, &variables), String::new(), " seed = 3 ,".to_owned()];
        let futures = read(&texts, &plan()).unwrap();
        assert_eq!(futures[0].seed, 2);
        let (name, value) = &futures[0].variables[1];
        assert_eq!((&**name, &**value), ("innosim_flush_latch", "after_copy"));
        assert_eq!((futures[1].seed, futures[1].variables.len()), (7, 0));
        assert_eq!(futures[2].seed, 3);
        assert_eq!(futures[0].label, texts[0]);
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let texts = [
            "seed=x",
            "innodb_io_capactiy=5",
            "innodb_buffer_pool_size=1G",
            "pages",
        ];
        let wrong = read(&texts.map(str::to_owned), &plan()).unwrap_err();
        let text = wrong.to_string();
        for part in [
            "--future seed=x: accepted is a whole number",
            "innodb_io_capacity",
            "--future=innodb_buffer_pool_size=1G: innodb_buffer_pool_size cannot be changed",
            "--future=pages: accepted is NAME=VALUE",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
