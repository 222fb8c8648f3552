//! Which runs a sweep consists of.

use std::num::NonZeroU32;
use std::str::FromStr;

use innosim_engine::sysvar::Excerpt;
use serde_json::{Map, Value};

use crate::run::{Clock, Problems, RunArguments};

/// The most runs of one sweep: more are a mistake rather than a plan.
pub const RUNS_MAX: usize = 100_000;

/// Variables that say where a server's files are: a run takes none of them.
const PLACES: [&str; 2] = ["datadir", "tmpdir"];

/// `--vary NAME=V1,V2,…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vary {
    /// The name under which it appears in results.
    pub name: &'static str,
    /// The values as written, in their order.
    pub values: Vec<String>,
}

impl FromStr for Vary {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((name, values)) = text.split_once('=') else {
            let text = Excerpt(text);
            return Err(format!("--vary {text}: accepted is NAME=V1,V2,…"));
        };
        let name = RunArguments::varying_name(name).map_err(|error| error.to_string())?;
        if PLACES.contains(&name) {
            return Err(format!(
                "--vary {name}: accepted is what a run depends on; where its files are is not, \
                 and each run of a sweep has its own"
            ));
        }
        let values: Vec<String> = values
            .split(',')
            .map(|value| value.trim().to_owned())
            .collect();
        let text = Excerpt(text);
        if values.iter().any(String::is_empty) {
            return Err(format!(
                "--vary {text}: accepted are values between the commas"
            ));
        }
        for (index, value) in values.iter().enumerate() {
            if values[..index].contains(value) {
                return Err(format!("--vary {text}: {value} is there twice"));
            }
        }
        Ok(Vary { name, values })
    }
}

/// One run of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct GridPoint {
    /// What was varied, in the order of the command line; the seed last.
    pub set: Map<String, Value>,
    /// Its options.
    pub arguments: RunArguments,
}

/// The runs of a sweep, in their order: the first name varies slowest, seeds fastest.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The runs.
    pub points: Vec<GridPoint>,
}

impl Grid {
    /// All combinations for so many seeds, beginning with that of `base`.
    ///
    /// # Errors
    /// Everything that is wrong with what varies, and with any of the runs.
    pub fn new(base: &RunArguments, vary: &[String], repeat: NonZeroU32) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let mut varied: Vec<Vary> = Vec::new();
        for text in vary {
            match text.parse::<Vary>() {
                Err(problem) => problems.add(problem),
                Ok(vary) if varied.iter().any(|known| known.name == vary.name) => {
                    problems.add(format_args!("--vary {text}: {} varies already", vary.name));
                }
                Ok(vary) => varied.push(vary),
            }
        }
        if base.datadir.is_some() {
            problems.add("--datadir: accepted is none, for each run of a sweep has its own files");
        }
        let machine_varies = varied.iter().any(|vary| vary.name == "machine");
        if machine_varies && base.clock.as_deref() == Some(Clock::Real.name()) {
            problems.add(
                "--vary machine: accepted is the virtual clock; under the real one all runs are \
                 on this machine",
            );
        }
        if repeat.get() > 1 {
            if varied.iter().any(|vary| vary.name == "seed") {
                problems.add("--repeat: accepted is 1 where the seed varies already");
            } else {
                let first = problems.whole("seed", base.seed.as_deref(), 1, 0..=u64::MAX);
                let seeds = (0..u64::from(repeat.get())).map(|n| first.wrapping_add(n).to_string());
                varied.push(Vary {
                    name: "seed",
                    values: seeds.collect(),
                });
            }
        }
        let runs = varied.iter().map(|vary| vary.values.len());
        let runs = runs.fold(1usize, usize::saturating_mul);
        if runs > RUNS_MAX {
            problems.add(format_args!(
                "--vary: these are {runs} runs; accepted are {RUNS_MAX}"
            ));
        }
        problems.into_result()?;

        let points: Vec<GridPoint> = (0..runs)
            .map(|number| point(base, &varied, number))
            .collect();
        let mut problems = Problems::default();
        for point in &points {
            if let Err(wrong) = point.arguments.plan() {
                problems.merge(wrong);
            }
        }
        problems.into_result()?;
        Ok(Grid { points })
    }
}

/// The combination of a number: a number in a system whose digits have as many values as
/// each name, the last of which is the lowest.
fn point(base: &RunArguments, varied: &[Vary], mut number: usize) -> GridPoint {
    let mut digits = vec![0; varied.len()];
    for (digit, vary) in digits.iter_mut().zip(varied).rev() {
        *digit = number % vary.values.len();
        number /= vary.values.len();
    }
    let mut arguments = base.clone();
    let mut set = Map::new();
    for (digit, vary) in digits.into_iter().zip(varied) {
        let value = &vary.values[digit];
        arguments.vary(vary.name, value);
        set.insert(vary.name.to_owned(), in_json(value));
    }
    GridPoint { set, arguments }
}

/// A whole or decimal number as a number, everything else as it was written: `16K` stays
/// `16K`, and what JSON's readers would round stays as it is, too.
fn in_json(text: &str) -> Value {
    if let Ok(whole) = text.parse::<u64>() {
        return whole.into();
    }
    match text.parse::<f64>() {
        Ok(number) if number.to_string() == text => number.into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONCE: NonZeroU32 = NonZeroU32::MIN;

    fn sets(grid: &Grid) -> Vec<String> {
        let text = |point: &GridPoint| serde_json::to_string(&point.set).unwrap();
        grid.points.iter().map(text).collect()
    }

    fn grid(vary: &[&str], repeat: u32) -> Result<Grid, Problems> {
        let vary: Vec<String> = vary.iter().map(|&text| text.to_owned()).collect();
        let base = RunArguments {
            seed: Some("5".into()),
            ..RunArguments::default()
        };
        Grid::new(&base, &vary, NonZeroU32::new(repeat).unwrap())
    }

    #[test]
    fn all_combinations_in_the_order_of_the_command_line() {
        let grid = grid(
            &[
                "innodb-buffer-pool-size=64M,1G",
                "threads=8,16",
                "workload=oltp_read_only",
            ],
            2,
        )
        .unwrap();
        let expected = |size: &str, threads, seed| {
            format!(
                r#"{{"innodb_buffer_pool_size":"{size}","threads":{threads},"workload":"oltp_read_only","seed":{seed}}}"#
            )
        };
        let mut all = Vec::new();
        for size in ["64M", "1G"] {
            for threads in [8, 16] {
                all.extend([5, 6].map(|seed| expected(size, threads, seed)));
            }
        }
        assert_eq!(sets(&grid), all);
        let last = grid.points[7].arguments.plan().unwrap();
        assert_eq!((last.threads, last.seed), (16, 6));
        assert_eq!(last.settings.scaled().innodb_buffer_pool_size(), 1 << 30);
    }

    #[test]
    fn nothing_varies_in_one_run() {
        let grid = Grid::new(&RunArguments::default(), &[], ONCE).unwrap();
        assert_eq!(sets(&grid), ["{}"]);
    }

    #[test]
    fn everything_wrong_is_told_once() {
        let problems = grid(
            &[
                "threads",
                "treads=1",
                "threads=1,,2",
                "flavor=a,a",
                "tables=1",
                "tables=2",
                "seed=1",
            ],
            2,
        );
        insta::assert_snapshot!(problems.unwrap_err(), @"
        --vary threads: accepted is NAME=V1,V2,…
        --vary treads: accepted are threads, workload, seed, flavor, machine, tables, table_size, rand_type, time, events, warmup_time, scale, and every system variable (did you mean threads?)
        --vary threads=1,,2: accepted are values between the commas
        --vary flavor=a,a: a is there twice
        --vary tables=2: tables varies already
        --repeat: accepted is 1 where the seed varies already
        ");
        let problems = grid(&["threads=1,0", "innodb_io_capacity=100,many"], 1);
        insta::assert_snapshot!(problems.unwrap_err(), @"
        --set: innodb_io_capacity = many: not a number; accepted: an integer of at least 100 pages/s (suffixes K, M, G, T, P, E)
        --threads=0: accepted is a whole number from 1 to 16384
        ");
        let seeds = (0..400)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(",");
        let problems = grid(&[&format!("seed={seeds}"), &format!("time={seeds}")], 1);
        assert_eq!(
            problems.unwrap_err().to_string(),
            "--vary: these are 160000 runs; accepted are 100000"
        );
    }

    #[test]
    fn what_would_have_no_effect_is_refused() {
        for place in ["datadir=/a,/b", "tmpdir=/a,/b"] {
            let problems = grid(&[place], 1).unwrap_err().to_string();
            assert!(
                problems.contains("each run of a sweep has its own"),
                "{problems}"
            );
        }
        let mut base = RunArguments {
            clock: Some("real".into()),
            ..RunArguments::default()
        };
        let vary = ["machine=laptop-nvme,host".to_owned()];
        let problems = Grid::new(&base, &vary, ONCE).unwrap_err().to_string();
        assert!(
            problems.contains("--vary machine: accepted is the virtual clock"),
            "{problems}"
        );
        base.clock = None;
        assert_eq!(Grid::new(&base, &vary, ONCE).unwrap().points.len(), 2);
    }

    #[test]
    fn numbers_are_numbers_and_sizes_are_text() {
        assert_eq!(in_json("16"), 16);
        assert_eq!(in_json("75.5"), 75.5);
        for text in ["16K", "1e3", "nan", "ON", "18446744073709551617"] {
            assert_eq!(in_json(text), text);
        }
    }
}
