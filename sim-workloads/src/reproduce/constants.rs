//! The constants of a machine: their values, where they come from, and others for them.
//!
//! ```toml
//! smt_rate = [1.0, 0.655]      # fitted: 5.7 RR, 72 -> 144 threads gives 1.31x
//! # fitted: 5.7 RR at 8 to 72 threads, per thread against one thread
//! turbo = [[1, 1.0], [4, 1.0], …]
//! ```
//!
//! A constant's source stands beside it in the profile, or above it. What is told about it
//! elsewhere is read from there, so that it is written once.

use anyhow::Context;
use toml::{Table, Value};

use super::machines::Adjustment;
use super::report::FittedConstant;
use crate::machine::built_in_text;

/// The value at a place of a profile: names, and numbers from 0 in lists, with dots.
pub(super) fn find<'a>(profile: &'a mut Table, key: &str) -> Option<&'a mut Value> {
    let mut parts = key.split('.');
    let mut value = profile.get_mut(parts.next()?)?;
    for part in parts {
        value = match value {
            Value::Table(table) => table.get_mut(part)?,
            Value::Array(list) => list.get_mut(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(value)
}

/// The value of a built-in profile.
///
/// # Errors
/// If there is none.
pub fn value(machine: &str, key: &str) -> anyhow::Result<Value> {
    let text = built_in_text(machine).with_context(|| format!("machine {machine}: unknown"))?;
    let mut profile: Table = text.parse()?;
    let found = find(&mut profile, key);
    let found = found.with_context(|| format!("machine {machine}: it has no {key}"))?;
    Ok(found.clone())
}

/// A value times a factor. Of a list of points, such as frequencies by active cores, it is
/// the drops from 1 that are multiplied.
pub fn scaled(value: &Value, factor: f64) -> Value {
    match value {
        Value::Float(number) => Value::Float(rounded(number * factor)),
        Value::Integer(number) => Value::Integer((*number as f64 * factor).round() as i64),
        Value::Array(points) => Value::Array(points.iter().map(|p| point(p, factor)).collect()),
        other => other.clone(),
    }
}

fn point(point: &Value, factor: f64) -> Value {
    match point.as_array().map(Vec::as_slice) {
        Some([at, Value::Float(share)]) => {
            let share = rounded(1.0 - (1.0 - share) * factor);
            Value::Array(vec![at.clone(), Value::Float(share)])
        }
        _ => point.clone(),
    }
}

/// Without the noise of the last digits, which would be in file names and results.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

/// A fitted constant times a factor.
///
/// # Errors
/// If its profile does not have it.
pub fn adjusted(constant: &FittedConstant, factor: f64) -> anyhow::Result<Adjustment> {
    Ok(Adjustment {
        key: constant.key.to_owned(),
        value: scaled(&value(constant.machine, constant.key)?, factor),
    })
}

/// Where a constant comes from, in the words of the profile: what stands behind it, or
/// else above it.
pub fn source(machine: &str, key: &str) -> Option<String> {
    let text = built_in_text(machine)?;
    let mut table = String::new();
    let mut above: Vec<&str> = Vec::new();
    for line in text.lines() {
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            above.push(comment.trim());
            continue;
        }
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.split(']').next())
        {
            table = format!("{name}.");
        } else if let Some((name, rest)) = line.split_once('=') {
            let full = format!("{table}{}", name.trim());
            let is_it = key
                .strip_prefix(&full)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
            if is_it {
                let beside = rest.split_once('#').map(|(_, comment)| comment.trim());
                // A comment beside a constant may be about a part of it only, where another
                // one is above it.
                return match (above.is_empty(), beside) {
                    (true, beside) => beside.map(str::to_owned),
                    (false, None) => Some(above.join(" ")),
                    (false, Some(beside)) => Some(format!("{}; {beside}", above.join(" "))),
                };
            }
        }
        above.clear();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::REPORTS;
    use super::*;

    #[test]
    fn every_fitted_constant_is_in_its_profile_which_says_so() {
        for report in REPORTS {
            let constants = report.constants();
            assert!(constants.len() <= 6, "{}", report.name());
            for constant in constants {
                let (machine, key) = (constant.machine, constant.key);
                assert!(report.machines().contains(&machine), "{machine}");
                let source = source(machine, key).unwrap_or_else(|| panic!("{machine}: {key}"));
                assert!(source.contains("fitted"), "{machine}: {key}: {source}");
                for factor in [0.75, 1.25] {
                    let adjusted = adjusted(&constant, factor).unwrap();
                    assert_ne!(adjusted.value, value(machine, key).unwrap(), "{key}");
                }
            }
        }
    }

    #[test]
    fn what_a_profile_says_is_fitted_is_in_a_report() {
        for report in REPORTS {
            for machine in report.machines() {
                let text = built_in_text(machine).unwrap();
                let told = text.lines().filter(|line| line.contains("# fitted"));
                let declared = report.constants();
                let declared = declared.iter().filter(|one| one.machine == *machine);
                // Arbitration, which is fitted by choosing, is studied for every report.
                let chosen = text.contains("# fitted: of the devices");
                assert_eq!(
                    told.count() - usize::from(chosen),
                    declared.count(),
                    "{machine}"
                );
            }
        }
    }

    #[test]
    fn a_source_is_beside_its_constant_or_above_it() {
        let of = |key| source("nvme-24core", key).unwrap();
        assert!(of("cpu.cores_per_socket").starts_with("published: Intel"));
        assert!(of("disks.nvme.program.mean_us").contains("fitted to the mean doublewrite write"));
        assert!(of("disks.nvme.program.mean_us").ends_with("cv: estimate"));
        assert!(of("cpu.turbo.2.1").contains("2.1 GHz base"));
        assert_eq!(source("nvme-24core", "cpu.core"), None);
        assert_eq!(source("abacus", "cpu.turbo"), None);
    }

    #[test]
    fn points_are_scaled_by_their_drops() {
        let points: Table = "a = [[1, 1.0], [4, 0.8]]\nb = 3\nc = 0.1".parse().unwrap();
        let scaled = |key: &str, factor| scaled(&points[key], factor).to_string();
        assert_eq!(scaled("a", 1.25), "[[1, 1.0], [4, 0.75]]");
        assert_eq!(scaled("a", 0.75), "[[1, 1.0], [4, 0.85]]");
        assert_eq!(
            (scaled("b", 1.25), scaled("c", 0.75)),
            ("4".into(), "0.075".into())
        );
    }
}
