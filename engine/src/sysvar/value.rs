//! Values, and how MySQL reads one from text.
//!
//! Numbers are read by [`number`](super::number):
//!
//! ```text
//!   16G      16 × 1024³          K, M, G everywhere; T, P, E in 8.0, 8.4 and MariaDB
//!   16GB     the same, for only the first letter is looked at: taken, with a remark
//!   08       8: a leading zero is not octal
//!   1.5G     malformed: no decimals for integers
//!   0x400    malformed: 0 with the suffix x
//!   -1       below every minimum: the minimum, with a remark
//! ```
//!
//! What can be read but lies outside the accepted range is moved to the nearest bound
//! and remarked on, as MySQL does; what cannot be read is an error. In one point this is
//! stricter than a server: an unknown word for a boolean, which MySQL 5.6 on takes for
//! OFF with a warning, is an error too.

use std::fmt;

use serde::{Serialize, Serializer};

use super::excerpt::Excerpt;
use super::flavor::Flavor;
use super::number::{parse_number, parse_real};
use super::registry::{Kind, VariableDefinition};

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer in the variable's unit.
    Integer(u64),
    /// A real number in the variable's unit.
    Real(f64),
    /// ON or OFF.
    Boolean(bool),
    /// One of the variable's names.
    Choice(&'static str),
    /// Free text.
    Text(String),
}

impl Value {
    /// The integer, if it is one.
    pub fn as_integer(&self) -> Option<u64> {
        match self {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }
}

/// As `SHOW VARIABLES` shows it: sizes in bytes, booleans as ON and OFF.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(formatter, "{value}"),
            Value::Real(value) => write!(formatter, "{value}"),
            Value::Boolean(value) => formatter.write_str(if *value { "ON" } else { "OFF" }),
            Value::Choice(name) => formatter.write_str(name),
            Value::Text(text) => formatter.write_str(text),
        }
    }
}

/// Numbers as numbers, everything else as the string that `Display` gives.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Integer(value) => serializer.serialize_u64(*value),
            Value::Real(value) => serializer.serialize_f64(*value),
            other => serializer.collect_str(other),
        }
    }
}

/// A value that was read, and what there is to say about how.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The value; none where an explicit 0 asks for the default rule.
    pub value: Option<Value>,
    /// Remarks, for warnings.
    pub remarks: Vec<Remark>,
}

/// Something about a value that the user should know.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Remark {
    /// The number was outside the accepted range.
    #[error("{} is out of range: set to {used}; accepted: {accepted}", Excerpt(.given))]
    OutOfRange {
        /// As written.
        given: String,
        /// What is used instead.
        used: Value,
        /// The accepted range in words.
        accepted: String,
    },
    /// The number was no multiple of the variable's block size.
    #[error("{} is rounded down to {used}, a multiple of {block_size}", Excerpt(.given))]
    RoundedToBlock {
        /// As written.
        given: String,
        /// What is used instead.
        used: u64,
        /// The block size.
        block_size: u64,
    },
    /// Letters follow the suffix; the server looks at the first letter only.
    #[error("only the first letter of the suffix '{}' counts: read as {used}", Excerpt(.suffix))]
    LongSuffix {
        /// The whole suffix.
        suffix: String,
        /// The number it gives.
        used: u64,
    },
    /// The suffix is newer than the flavor.
    #[error("{flavor} does not know the suffix {suffix}: its server would refuse to start")]
    SuffixNewerThanServer {
        /// The letter.
        suffix: char,
        /// The flavor.
        flavor: Flavor,
    },
}

/// The text is not a value of the variable; says why. The caller adds the place and
/// the accepted range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A number was expected and the text does not begin with one.
    #[error("not a number")]
    NotANumber,
    /// The number is followed by something that is no suffix; its first letter.
    #[error("unknown suffix '{}'", Excerpt(.0.encode_utf8(&mut [0; 4])))]
    UnknownSuffix(char),
    /// Neither ON nor OFF nor one of their spellings.
    #[error("not a boolean")]
    NotABoolean,
    /// None of the variable's names.
    #[error("not one of the names")]
    NotAChoice,
}

/// Reads a value of `definition` as the flavor's server would.
///
/// # Errors
///
/// [`Malformed`] when the text is no value of that kind.
pub fn read_value(
    definition: &VariableDefinition,
    flavor: Flavor,
    text: &str,
) -> Result<Reading, Malformed> {
    match definition.kind {
        Kind::Integer {
            block_size,
            zero_is_automatic,
            ..
        } => read_integer(definition, flavor, text, block_size, zero_is_automatic),
        Kind::Real {
            minimum, maximum, ..
        } => {
            let number = parse_real(text)?;
            let used = number.clamp(minimum, maximum);
            let mut remarks = Vec::new();
            if used != number {
                remarks.push(Remark::OutOfRange {
                    given: text.to_owned(),
                    used: Value::Real(used),
                    accepted: definition.accepted(flavor),
                });
            }
            Ok(Reading {
                value: Some(Value::Real(used)),
                remarks,
            })
        }
        Kind::Boolean => Ok(plain(Value::Boolean(read_boolean(text)?))),
        Kind::Choice { .. } => read_choice(definition, flavor, text).map(plain),
        Kind::Text => Ok(plain(Value::Text(text.to_owned()))),
    }
}

fn plain(value: Value) -> Reading {
    Reading {
        value: Some(value),
        remarks: Vec::new(),
    }
}

fn read_integer(
    definition: &VariableDefinition,
    flavor: Flavor,
    text: &str,
    block_size: u64,
    zero_is_automatic: bool,
) -> Result<Reading, Malformed> {
    let number = parse_number(text)?;
    let mut remarks = Vec::new();
    if let Some(suffix) = &number.suffix {
        let letter = suffix.chars().next().unwrap_or_default();
        let is_new = matches!(letter.to_ascii_uppercase(), 'T' | 'P' | 'E');
        if is_new && !flavor.is_mysql_since(Flavor::MySql8_0) && !flavor.is_mariadb() {
            remarks.push(Remark::SuffixNewerThanServer {
                suffix: letter,
                flavor,
            });
        }
    }
    // Past 2^64 is past every maximum.
    let wanted = number.value.clamp(0, i128::from(u64::MAX)) as u64;
    if zero_is_automatic && number.value == 0 {
        return Ok(Reading {
            value: None,
            remarks,
        });
    }
    if let Some(suffix) = number.suffix.filter(|suffix| suffix.len() > 1) {
        remarks.push(Remark::LongSuffix {
            suffix,
            used: wanted,
        });
    }
    let (minimum, maximum) = definition.in_flavor(flavor).range;
    let in_range = wanted.clamp(minimum, maximum);
    let used = (in_range - in_range % block_size).max(minimum);
    let was_in_range = (i128::from(minimum)..=i128::from(maximum)).contains(&number.value);
    if !was_in_range {
        remarks.push(Remark::OutOfRange {
            given: text.to_owned(),
            used: Value::Integer(used),
            accepted: definition.accepted(flavor),
        });
    } else if used != wanted {
        remarks.push(Remark::RoundedToBlock {
            given: text.to_owned(),
            used,
            block_size,
        });
    }
    Ok(Reading {
        value: Some(Value::Integer(used)),
        remarks,
    })
}

fn read_boolean(text: &str) -> Result<bool, Malformed> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "on" | "true" => Ok(true),
        "0" | "off" | "false" => Ok(false),
        _ => Err(Malformed::NotABoolean),
    }
}

fn read_choice(
    definition: &VariableDefinition,
    flavor: Flavor,
    text: &str,
) -> Result<Value, Malformed> {
    let Kind::Choice {
        names,
        synonyms,
        numbered,
    } = definition.kind
    else {
        unreachable!("called for choices only");
    };
    let text = text.trim();
    let known = &names[..definition.in_flavor(flavor).known_choices];
    let meant = synonyms
        .iter()
        .find(|(synonym, _)| synonym.eq_ignore_ascii_case(text))
        .map_or(text, |(_, meant)| *meant);
    if let Some(name) = known.iter().find(|name| name.eq_ignore_ascii_case(meant)) {
        return Ok(Value::Choice(name));
    }
    meant
        .parse::<usize>()
        .ok()
        .filter(|number| *number < numbered)
        .and_then(|number| known.get(number))
        .map(|name| Value::Choice(name))
        .ok_or(Malformed::NotAChoice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sysvar::registry::{self, GIB, MIB};
    use proptest::prelude::*;

    fn read(name: &str, flavor: Flavor, text: &str) -> Result<Reading, Malformed> {
        read_value(registry::find(name).unwrap().0, flavor, text)
    }

    fn integer(name: &str, text: &str) -> (Option<u64>, usize) {
        let reading = read(name, Flavor::MySql8_4, text).unwrap();
        (
            reading.value.and_then(|value| value.as_integer()),
            reading.remarks.len(),
        )
    }

    #[test]
    fn suffixes_are_powers_of_1024_and_case_does_not_matter() {
        assert_eq!(
            integer("innodb_buffer_pool_size", "16G"),
            (Some(16 * GIB), 0)
        );
        assert_eq!(
            integer("innodb_buffer_pool_size", "16g"),
            (Some(16 * GIB), 0)
        );
        assert_eq!(
            integer("innodb_buffer_pool_size", "2T"),
            (Some(2048 * GIB), 0)
        );
        assert_eq!(integer("innodb_io_capacity", "1K"), (Some(1024), 0));
        assert_eq!(integer("innodb_read_io_threads", "08"), (Some(8), 0));
    }

    #[test]
    fn only_the_first_letter_of_a_suffix_counts() {
        let reading = read("innodb_page_size", Flavor::MySql8_4, "4KB").unwrap();
        assert_eq!(reading.value, Some(Value::Integer(4096)));
        assert_eq!(
            reading.remarks,
            [Remark::LongSuffix {
                suffix: "KB".into(),
                used: 4096
            }]
        );
    }

    #[test]
    fn suffixes_newer_than_the_server_are_remarked_on() {
        let reading = read("innodb_buffer_pool_size", Flavor::MySql5_7, "1T").unwrap();
        assert_eq!(
            reading.remarks,
            [Remark::SuffixNewerThanServer {
                suffix: 'T',
                flavor: Flavor::MySql5_7
            }]
        );
        assert!(
            read("innodb_buffer_pool_size", Flavor::MariaDb10_11, "1T")
                .unwrap()
                .remarks
                .is_empty()
        );
    }

    #[test]
    fn numbers_out_of_range_go_to_the_nearest_bound() {
        for (name, text, used) in [
            ("innodb_io_capacity", "50", 100),
            ("innodb_lru_scan_depth", "-1", 100),
            ("innodb_flush_log_at_trx_commit", "3", 2),
            ("innodb_purge_threads", "64", 32),
            ("innodb_doublewrite_pages", "600", 512),
            ("innodb_buffer_pool_instances", "128", 64),
            (
                "innodb_redo_log_capacity",
                "99999999999999999999999999999999999999999999",
                512 * GIB,
            ),
            ("innodb_redo_log_capacity", "17E", 512 * GIB),
        ] {
            let reading = read(name, Flavor::MySql8_4, text).unwrap();
            assert_eq!(reading.value, Some(Value::Integer(used)), "{name}={text}");
            assert!(
                matches!(reading.remarks[..], [Remark::OutOfRange { .. }]),
                "{name}={text}"
            );
        }
        assert_eq!(
            integer("max_allowed_packet", "1073741824"),
            (Some(GIB), 0),
            "the maximum is in range"
        );
    }

    #[test]
    fn a_number_past_2_to_the_64_is_remarked_on_whatever_the_maximum_is() {
        for definition in registry::all() {
            let Kind::Integer { .. } = definition.kind else {
                continue;
            };
            for text in ["18446744073709551616", "16E", "99999999999999999999999999"] {
                for flavor in Flavor::ALL {
                    let reading = read_value(definition, flavor, text).unwrap();
                    assert!(
                        reading
                            .remarks
                            .iter()
                            .any(|remark| matches!(remark, Remark::OutOfRange { .. })),
                        "{}={text}",
                        definition.name
                    );
                }
            }
        }
    }

    #[test]
    fn sizes_are_rounded_down_to_blocks() {
        let reading = read("innodb_redo_log_capacity", Flavor::MySql8_4, "104857601").unwrap();
        assert_eq!(reading.value, Some(Value::Integer(100 * MIB)));
        assert!(matches!(
            reading.remarks[..],
            [Remark::RoundedToBlock {
                block_size: MIB,
                ..
            }]
        ));
    }

    #[test]
    fn zero_asks_for_the_default_rule_where_the_server_says_so() {
        assert_eq!(integer("innodb_buffer_pool_instances", "0"), (None, 0));
        assert_eq!(integer("innodb_doublewrite_pages", "0"), (None, 0));
        assert_eq!(integer("innodb_thread_concurrency", "0"), (Some(0), 0));
    }

    #[test]
    fn what_is_not_a_number_says_why() {
        let read = |text| read("innodb_io_capacity", Flavor::MySql8_4, text);
        assert_eq!(read("20000;"), Err(Malformed::UnknownSuffix(';')));
        assert_eq!(read("1.5G"), Err(Malformed::UnknownSuffix('.')));
        assert_eq!(read("0x400"), Err(Malformed::UnknownSuffix('x')));
        assert_eq!(read("fast"), Err(Malformed::NotANumber));
        assert_eq!(read(""), Err(Malformed::NotANumber));
        assert_eq!(read("-"), Err(Malformed::NotANumber));
    }

    #[test]
    fn reals_have_decimals_and_bounds() {
        let read = |text| read("innodb_max_dirty_pages_pct", Flavor::MySql8_4, text);
        assert_eq!(read("75.5").unwrap().value, Some(Value::Real(75.5)));
        assert_eq!(read("100").unwrap().value, Some(Value::Real(99.999)));
        assert_eq!(read("100").unwrap().remarks.len(), 1);
        for text in ["nan", "inf", "-inf", "", "1e999", "12x"] {
            assert_eq!(read(text), Err(Malformed::NotANumber), "{text}");
        }
    }

    #[test]
    fn booleans_and_choices_ignore_case() {
        for (text, value) in [("Off", false), ("TRUE", true), ("1", true), ("0", false)] {
            let reading = read("innodb_flush_sync", Flavor::MySql8_4, text).unwrap();
            assert_eq!(reading.value, Some(Value::Boolean(value)));
        }
        assert_eq!(
            read("innodb_flush_sync", Flavor::MySql8_4, "maybe"),
            Err(Malformed::NotABoolean)
        );
        let method = |flavor, text| {
            read("innodb_flush_method", flavor, text)
                .map(|reading| reading.value.unwrap().to_string())
        };
        assert_eq!(method(Flavor::MySql8_4, "o_direct").unwrap(), "O_DIRECT");
        assert_eq!(method(Flavor::MySql8_4, "4").unwrap(), "O_DIRECT");
        assert_eq!(method(Flavor::MySql5_5, "fdatasync").unwrap(), "fsync");
        assert_eq!(
            method(Flavor::MySql5_5, "O_DIRECT_NO_FSYNC"),
            Err(Malformed::NotAChoice)
        );
        assert_eq!(method(Flavor::MySql8_4, "6"), Err(Malformed::NotAChoice));
    }

    #[test]
    fn doublewrite_was_a_boolean_before_8_0() {
        let read =
            |flavor, text| read("innodb_doublewrite", flavor, text).map(|reading| reading.value);
        let on = Ok(Some(Value::Choice("ON")));
        assert_eq!(read(Flavor::MySql5_1, "1"), on);
        assert_eq!(read(Flavor::MySql5_7, "true"), on);
        assert_eq!(read(Flavor::MySql8_4, "detect_and_recover"), on);
        assert_eq!(
            read(Flavor::MySql8_4, "DETECT_ONLY"),
            Ok(Some(Value::Choice("DETECT_ONLY")))
        );
        assert_eq!(
            read(Flavor::MySql5_7, "DETECT_ONLY"),
            Err(Malformed::NotAChoice)
        );
        assert_eq!(
            read(Flavor::MySql8_4, "2"),
            Err(Malformed::NotAChoice),
            "only OFF and ON have numbers"
        );
    }

    proptest! {
        /// Whatever the text: a value in the accepted range, or an error, never a panic.
        #[test]
        fn integers_stay_in_range(
            text in "[-+]?[0-9]{0,24}[kKmMgGtTpPeExB.;]{0,2}",
            flavor in 0..7usize,
        ) {
            let flavor = Flavor::ALL[flavor];
            let definition = registry::find("innodb_log_file_size").unwrap().0;
            if let Ok(reading) = read_value(definition, flavor, &text) {
                let (minimum, maximum) = definition.in_flavor(flavor).range;
                let value = reading.value.and_then(|value| value.as_integer()).unwrap();
                prop_assert!((minimum..=maximum).contains(&value));
                prop_assert_eq!(value % MIB, 0);
            }
        }

    }
}
