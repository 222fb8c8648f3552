//! Errors and warnings about options, each with the place it came from.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::excerpt::Excerpt;
use super::flavor::Flavor;
use super::value::{Malformed, Remark};

/// Where an option was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A line of an option file.
    File {
        /// The file, as it was opened.
        path: Arc<Path>,
        /// The line, from 1; 0 for the file as a whole.
        line: usize,
        /// The group the line stands in, as written; empty before the first group.
        group: Arc<str>,
    },
    /// `--set` on the command line.
    CommandLine,
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::File { path, line: 0, .. } => write!(formatter, "{}", path.display()),
            Location::File { path, line, .. } => write!(formatter, "{}:{line}", path.display()),
            Location::CommandLine => formatter.write_str("--set"),
        }
    }
}

/// Something that stops the run, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {problem}")]
pub struct OptionError {
    /// The place.
    pub location: Location,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with an option or an option file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The option file named by the user cannot be read.
    #[error("cannot read the option file: {0}")]
    UnreadableFile(String),
    /// An included file or directory cannot be read.
    #[error(
        "cannot read '{}', neither beside this file nor from the working directory: {reason}",
        Excerpt(.path)
    )]
    UnreadableInclude {
        /// As written.
        path: String,
        /// The error of the last attempt.
        reason: String,
    },
    /// Includes lead to more files than any sane tree has.
    #[error("more than {0} option files are included: is there a cycle?")]
    TooManyFiles(usize),
    /// An option stands before the first group.
    #[error("option '{}' stands before any [group]", Excerpt(.0))]
    OptionWithoutGroup(String),
    /// A group line lacks its closing bracket.
    #[error("wrong group definition '{}': expected [group]", Excerpt(.0))]
    MalformedGroup(String),
    /// A line that begins with an exclamation mark is neither kind of include.
    #[error(
        "wrong directive '{}': expected !include FILE or !includedir DIRECTORY",
        Excerpt(.0)
    )]
    MalformedDirective(String),
    /// The line is no option: most often a forgotten equals sign.
    #[error("'{}' is no option name: expected NAME, or NAME = VALUE", Excerpt(.0))]
    MalformedName(String),
    /// `--set` was given something else than an assignment.
    #[error("'{}' is no assignment: expected NAME=VALUE", Excerpt(.0))]
    MalformedAssignment(String),
    /// The value cannot be read.
    #[error("{name} = {}: {reason}; accepted: {accepted}", Excerpt(.value))]
    MalformedValue {
        /// The variable.
        name: String,
        /// As written.
        value: String,
        /// Why not.
        reason: Malformed,
        /// The accepted values in words.
        accepted: String,
    },
    /// A variable that needs a value was named without one.
    #[error("{name} needs a value; accepted: {accepted}")]
    MissingValue {
        /// The variable.
        name: String,
        /// The accepted values in words.
        accepted: String,
    },
    /// A prefix that sets the value by itself was given another one.
    #[error(
        "{} = {}: an option with the prefix skip_, disable_ or enable_ takes no value",
        Excerpt(.name), Excerpt(.value)
    )]
    UnexpectedValue {
        /// The option as written.
        name: String,
        /// The value.
        value: String,
    },
    /// The server can do this and innosim cannot.
    #[error(
        "innodb_page_size = {}: accepted: 16384, also written 16K or 16k; innosim has pages of \
         that size only",
        Excerpt(.0)
    )]
    UnsupportedPageSize(String),
    /// `--set` names a variable that nobody knows.
    #[error("unknown variable '{}'{}", Excerpt(.name), suggestion(.nearest))]
    UnknownName {
        /// As written.
        name: String,
        /// The nearest known name.
        nearest: Option<&'static str>,
    },
}

/// How loud a warning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the curious: the user has foreseen it (`loose_`), or it is only information.
    Note,
    /// The run may not mean what the user thinks.
    Warning,
}

/// Something the user should know, though the run goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionWarning {
    /// How loud it is.
    pub level: Level,
    /// The place, if it belongs to one.
    pub location: Option<Location>,
    /// What it is about.
    pub kind: WarningKind,
}

impl fmt::Display for OptionWarning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(formatter, "{location}: {}", self.kind),
            None => self.kind.fmt(formatter),
        }
    }
}

/// What a warning is about.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WarningKind {
    /// Nobody knows the name.
    #[error("unknown variable '{}'{}; it is ignored", Excerpt(.name), suggestion(.nearest))]
    UnknownName {
        /// As written.
        name: String,
        /// The nearest known name.
        nearest: Option<&'static str>,
    },
    /// Another server knows the name, this flavor's does not.
    #[error("{name} is unknown to {flavor} ({known_to}){}; it is ignored", refusal(.loose))]
    UnknownToServer {
        /// The variable, or the other name for one.
        name: String,
        /// The flavor.
        flavor: Flavor,
        /// Who knows it.
        known_to: String,
        /// Whether it was given with `loose_`, so that the server would go on.
        loose: bool,
    },
    /// The flavor's server takes the name and does nothing with it.
    #[error("{flavor} accepts {name} and ignores it, and so does innosim")]
    IgnoredByServer {
        /// The variable.
        name: &'static str,
        /// The flavor.
        flavor: Flavor,
    },
    /// The flavor's server obeys the variable, the model does not.
    #[error("{name} is not modelled{}", behaviour(.behaves_as))]
    NotModelled {
        /// The variable.
        name: &'static str,
        /// What the model behaves as.
        behaves_as: Option<&'static str>,
    },
    /// Something about how a value was read.
    #[error("{name}: {remark}")]
    Value {
        /// The variable.
        name: &'static str,
        /// The remark.
        remark: Remark,
    },
    /// A value was changed because of another one.
    #[error("{name} is changed from {from} to {to}: {reason}")]
    Adjusted {
        /// The variable.
        name: &'static str,
        /// The value that was asked for.
        from: String,
        /// The value that is used.
        to: String,
        /// Why.
        reason: &'static str,
    },
    /// A setting has no effect because of another one.
    #[error("{name} has no effect: {reason}")]
    Superseded {
        /// The variable.
        name: &'static str,
        /// Why.
        reason: &'static str,
    },
    /// A dedicated server leaves alone what the user has set.
    #[error("innodb_dedicated_server does not choose {name}: it is set")]
    DedicatedServerLeaves {
        /// The variable that it would have chosen.
        name: &'static str,
    },
    /// The flavor's server would not start with this combination.
    #[error("{flavor} would refuse to start: {reason}")]
    ServerWouldRefuse {
        /// The flavor.
        flavor: Flavor,
        /// Why.
        reason: String,
    },
    /// `maximum_NAME` bounds later changes by sessions, of which a run has none.
    #[error("maximum_{name} bounds later SET statements, of which a run has none; it is ignored")]
    MaximumHasNoEffect {
        /// The variable.
        name: &'static str,
    },
    /// An InnoDB setting stands in a group that no server reads.
    #[error("{name} has no effect: the server does not read the group [{}]", Excerpt(.group))]
    GroupNotRead {
        /// The variable.
        name: &'static str,
        /// The group, as written.
        group: String,
    },
    /// A relative include was found, and where.
    #[error("'{}' is read {found}{}", Excerpt(.path), where_mysql_looks(.found))]
    IncludeFound {
        /// As written.
        path: String,
        /// Where it was found.
        found: IncludeBase,
    },
    /// An include was not followed: files include each other too deeply.
    #[error("'{}' is not read: includes are followed {depth} deep only", Excerpt(.path))]
    IncludeTooDeep {
        /// As written.
        path: String,
        /// The bound.
        depth: usize,
    },
}

/// Against what a relative path in an include was resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeBase {
    /// The directory of the file that includes.
    IncludingFile,
    /// The working directory, where MySQL looks.
    WorkingDirectory,
}

impl fmt::Display for IncludeBase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            IncludeBase::IncludingFile => "from the directory of the including file",
            IncludeBase::WorkingDirectory => "from the working directory",
        })
    }
}

fn where_mysql_looks(found: &IncludeBase) -> &'static str {
    match found {
        IncludeBase::IncludingFile => "; MySQL would look in its working directory",
        IncludeBase::WorkingDirectory => "",
    }
}

fn suggestion(nearest: &Option<&'static str>) -> String {
    nearest.map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}

fn refusal(loose: &bool) -> &'static str {
    if *loose {
        ""
    } else {
        ": its server would refuse to start"
    }
}

fn behaviour(behaves_as: &Option<&'static str>) -> String {
    behaves_as.map_or(": the run does not depend on it".to_owned(), |value| {
        format!(": the model behaves as {value}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_place_value_and_way_out() {
        let location = Location::File {
            path: Path::new("conf/my.cnf").into(),
            line: 10,
            group: "mysqld".into(),
        };
        let error = OptionError {
            location: location.clone(),
            problem: Problem::MalformedValue {
                name: "innodb_io_capacity".to_owned(),
                value: "20000;".to_owned(),
                reason: Malformed::UnknownSuffix(';'),
                accepted: "an integer".to_owned(),
            },
        };
        assert_eq!(
            error.to_string(),
            "conf/my.cnf:10: innodb_io_capacity = 20000;: unknown suffix ';'; accepted: an integer"
        );
        let warning = OptionWarning {
            level: Level::Warning,
            location: Some(location),
            kind: WarningKind::UnknownName {
                name: "innodb_io_capactiy".to_owned(),
                nearest: Some("innodb_io_capacity"),
            },
        };
        assert_eq!(
            warning.to_string(),
            "conf/my.cnf:10: unknown variable 'innodb_io_capactiy' \
             (did you mean innodb_io_capacity?); it is ignored"
        );
        let unknown = OptionError {
            location: Location::CommandLine,
            problem: Problem::UnknownName {
                name: "x".to_owned(),
                nearest: None,
            },
        };
        assert_eq!(unknown.to_string(), "--set: unknown variable 'x'");
    }

    #[test]
    fn a_page_size_that_is_refused_is_told_as_written_with_what_is_accepted() {
        let message = Problem::UnsupportedPageSize("7".to_owned()).to_string();
        assert!(message.contains("= 7: accepted: 16384"), "{message}");
    }

    #[test]
    fn what_was_written_is_quoted_briefly_and_without_control_characters() {
        let text = "x\u{1b}[2J".to_owned() + &"y".repeat(300_000);
        let own = || text.clone();
        let problems = [
            Problem::OptionWithoutGroup(own()),
            Problem::MalformedGroup(own()),
            Problem::MalformedDirective(own()),
            Problem::MalformedName(own()),
            Problem::MalformedAssignment(own()),
            Problem::MalformedValue {
                name: "innodb_io_capacity".to_owned(),
                value: own(),
                reason: Malformed::UnknownSuffix('\u{1b}'),
                accepted: "an integer".to_owned(),
            },
            Problem::UnexpectedValue {
                name: own(),
                value: own(),
            },
            Problem::UnknownName {
                name: own(),
                nearest: None,
            },
        ];
        let warnings = [
            WarningKind::UnknownName {
                name: own(),
                nearest: None,
            },
            WarningKind::GroupNotRead {
                name: "innodb_io_capacity",
                group: own(),
            },
            WarningKind::Value {
                name: "innodb_io_capacity",
                remark: Remark::RoundedToBlock {
                    given: own(),
                    used: 1,
                    block_size: 1,
                },
            },
        ];
        let problems = problems.iter().map(Problem::to_string);
        for message in problems.chain(warnings.iter().map(WarningKind::to_string)) {
            assert!(message.chars().count() < 300, "{message}");
            assert!(!message.contains(char::is_control), "{message:?}");
            assert!(message.contains("\\u{1b}[2Jyyy"), "{message}");
            assert!(message.contains('…'), "{message}");
        }
    }
}
