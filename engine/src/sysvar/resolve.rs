//! From options to settings: who is meant, which value it is, and what to warn of.
//!
//! ```text
//!   entry ─▶ group read by this server? ─▶ name known? ─▶ known to this flavor?
//!         ─▶ value readable? ─▶ in range? ─▶ modelled?
//! ```
//!
//! A "no" is an error only where the text is malformed (or `--set` names a variable
//! that nobody knows); everywhere else it is a warning and the run goes on.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::errors::{Level, Location, OptionError, OptionWarning, Problem, WarningKind};
use super::flavor::Flavor;
use super::modelled::is_modelled;
use super::option_name::{OptionName, Prefix, understand};
use super::options::{OptionEntry, Options};
use super::registry::{self, Kind, Presence};
use super::settings::{Assignment, MachineFacts, Setting, Settings, scaled};
use super::settle::{Assignments, settle};
use super::value::{Value, read_value};

/// Everything there is to say about a set of options: for tools that look into an
/// option file without running it.
#[derive(Clone, Debug, PartialEq)]
pub struct Examination {
    /// The settings, with every erroneous option left out.
    pub settings: Settings,
    /// What would stop a run, by file and line.
    pub errors: Vec<OptionError>,
}

/// Settles every variable of a run.
///
/// # Errors
///
/// All malformed lines and values of all files and of the command line together, by
/// file and line.
pub fn resolve(
    flavor: Flavor,
    options: &Options,
    machine: MachineFacts,
    scale: NonZeroU32,
) -> Result<Settings, Vec<OptionError>> {
    let Examination { settings, errors } = examine(flavor, options, machine, scale);
    if errors.is_empty() {
        Ok(settings)
    } else {
        Err(errors)
    }
}

/// As [`resolve`], but also gives the settings and warnings that remain when the
/// erroneous options are left out.
pub fn examine(
    flavor: Flavor,
    options: &Options,
    machine: MachineFacts,
    scale: NonZeroU32,
) -> Examination {
    let mut reading = Reading {
        flavor,
        position: 0,
        assignments: Assignments::new(),
        winners: BTreeMap::new(),
        errors: options.errors.clone(),
        warnings: Vec::new(),
    };
    for (position, entry) in options.entries.iter().enumerate() {
        reading.position = position;
        reading.take(entry);
    }
    reading.warn_of_what_is_not_modelled();

    let settled = settle(flavor, machine, &reading.assignments);
    let mut assignments = reading.assignments;
    let mut settings = Vec::new();
    for definition in registry::in_name_order() {
        if let Some((unscaled, origin)) = settled.values.get(definition.name) {
            settings.push(Setting {
                definition,
                unscaled: unscaled.clone(),
                scaled: scaled(unscaled, definition.scaling, scale),
                origin: *origin,
                assignments: assignments.remove(definition.name).unwrap_or_default(),
            });
        }
    }

    let mut errors = reading.errors;
    errors.extend(settled.errors);
    errors.sort_by(|left, right| place(left).cmp(&place(right)));
    let mut warnings = reading.warnings;
    warnings.sort_by_key(|(position, _)| *position);
    let mut all_warnings = options.notes.clone();
    all_warnings.extend(warnings.into_iter().map(|(_, warning)| warning));
    all_warnings.extend(settled.warnings);
    let settings = Settings {
        flavor,
        machine,
        scale,
        settings,
        warnings: all_warnings,
    };
    Examination { settings, errors }
}

/// Orders errors by file and line, the command line last.
fn place(error: &OptionError) -> (bool, Option<(&std::path::Path, usize)>) {
    match &error.location {
        Location::File { path, line, .. } => (false, Some((path, *line))),
        Location::CommandLine => (true, None),
    }
}

struct Reading {
    flavor: Flavor,
    /// The entry being read: warnings are told in the order of entries.
    position: usize,
    assignments: Assignments,
    /// The entry that counts for each assigned variable, and whether it is loose.
    winners: BTreeMap<&'static str, (usize, bool)>,
    errors: Vec<OptionError>,
    warnings: Vec<(usize, OptionWarning)>,
}

impl Reading {
    fn warn(&mut self, level: Level, entry: &OptionEntry, kind: WarningKind) {
        let location = Some(entry.location.clone());
        self.warnings.push((
            self.position,
            OptionWarning {
                level,
                location,
                kind,
            },
        ));
    }

    fn fail(&mut self, entry: &OptionEntry, problem: Problem) {
        self.errors.push(OptionError {
            location: entry.location.clone(),
            problem,
        });
    }

    fn take(&mut self, entry: &OptionEntry) {
        if let Location::File { group, .. } = &entry.location
            && !self.flavor.reads_group(group)
        {
            return self.skip_group(entry, group);
        }
        if let Err(problem) = &entry.value {
            return self.fail(entry, problem.clone());
        }
        match understand(&entry.name) {
            Ok(option) => self.take_known(entry, option),
            Err(unknown) if entry.location == Location::CommandLine => {
                self.fail(
                    entry,
                    Problem::UnknownName {
                        name: entry.name.clone(),
                        nearest: unknown.nearest,
                    },
                );
            }
            Err(unknown) => {
                let kind = WarningKind::UnknownName {
                    name: entry.name.clone(),
                    nearest: unknown.nearest,
                };
                self.warn(level(unknown.loose), entry, kind);
            }
        }
    }

    /// An InnoDB setting in a group that is no server's is a common slip: the
    /// start script's group, most often (MySQL bug 71739).
    fn skip_group(&mut self, entry: &OptionEntry, group: &str) {
        let lower = group.to_ascii_lowercase();
        let is_some_servers = lower.starts_with("mysqld-")
            || lower.starts_with("mariadb")
            || Flavor::ALL.iter().any(|flavor| flavor.reads_group(group));
        if is_some_servers {
            return;
        }
        if let Ok(option) = understand(&entry.name)
            && option.definition.name.starts_with("innodb_")
        {
            let kind = WarningKind::GroupNotRead {
                name: option.definition.name,
                group: group.to_owned(),
            };
            self.warn(Level::Note, entry, kind);
        }
    }

    fn take_known(&mut self, entry: &OptionEntry, option: OptionName) {
        let definition = option.definition;
        let flavor = self.flavor;
        let alias_is_unknown = option
            .alias
            .is_some_and(|alias| !alias.known_to.contains(&flavor));
        if alias_is_unknown || !definition.is_known_to(flavor) {
            let kind = WarningKind::UnknownToServer {
                name: option
                    .alias
                    .map_or(definition.name, |alias| alias.name)
                    .to_owned(),
                flavor,
                known_to: known_to(&option),
                loose: option.loose,
            };
            return self.warn(level(option.loose), entry, kind);
        }
        if definition.in_flavor(flavor).presence == Presence::Ignored {
            let kind = WarningKind::IgnoredByServer {
                name: definition.name,
                flavor,
            };
            return self.warn(level(option.loose), entry, kind);
        }
        let written = match self.written(entry, &option) {
            Ok(written) => written,
            Err(problem) => return self.fail(entry, problem),
        };
        let reading = match read_value(definition, flavor, &written) {
            Ok(reading) => reading,
            Err(reason) => {
                let problem = Problem::MalformedValue {
                    name: definition.name.to_owned(),
                    value: written,
                    reason,
                    accepted: definition.accepted(flavor),
                };
                return self.fail(entry, problem);
            }
        };
        if option.prefix == Prefix::Maximum {
            let kind = WarningKind::MaximumHasNoEffect {
                name: definition.name,
            };
            return self.warn(level(option.loose), entry, kind);
        }
        for remark in reading.remarks {
            self.warn(
                Level::Warning,
                entry,
                WarningKind::Value {
                    name: definition.name,
                    remark,
                },
            );
        }
        let location = entry.location.clone();
        let assignment = Assignment {
            location,
            written,
            value: reading.value,
        };
        self.assignments
            .entry(definition.name)
            .or_default()
            .push(assignment);
        self.winners
            .insert(definition.name, (self.position, option.loose));
    }

    /// The text of an option's value, which a prefix or its absence may stand for.
    fn written(&self, entry: &OptionEntry, option: &OptionName) -> Result<String, Problem> {
        let value = entry.value.as_ref().map_err(Clone::clone)?;
        let definition = option.definition;
        match (option.prefix, value) {
            (Prefix::None | Prefix::Maximum, Some(value)) => Ok(value.clone()),
            (Prefix::None | Prefix::Maximum, None) => match definition.kind {
                Kind::Boolean => Ok("ON".to_owned()),
                Kind::Choice { names, .. } if names.contains(&"ON") => Ok("ON".to_owned()),
                Kind::Text => Ok(String::new()),
                _ => Err(Problem::MissingValue {
                    name: definition.name.to_owned(),
                    accepted: definition.accepted(self.flavor),
                }),
            },
            (Prefix::Disable | Prefix::Enable, Some(value)) => Err(Problem::UnexpectedValue {
                name: entry.name.clone(),
                value: value.clone(),
            }),
            (Prefix::Disable, None) if definition.kind == Kind::Text => Ok(String::new()),
            (Prefix::Disable, None) => Ok("0".to_owned()),
            (Prefix::Enable, None) => Ok("1".to_owned()),
        }
    }

    /// One warning for each variable that is set and not obeyed, at the assignment
    /// that counts.
    fn warn_of_what_is_not_modelled(&mut self) {
        for (name, (position, loose)) in &self.winners {
            let (definition, _) = registry::find(name).expect("a name of the registry");
            let last = self.assignments[name]
                .last()
                .expect("a winner is an assignment");
            if is_modelled(name)
                || is_what_the_model_does(definition.behaves_as, last.value.as_ref())
            {
                continue;
            }
            let kind = WarningKind::NotModelled {
                name: definition.name,
                behaves_as: definition.behaves_as,
            };
            let location = Some(last.location.clone());
            self.warnings.push((
                *position,
                OptionWarning {
                    level: level(*loose),
                    location,
                    kind,
                },
            ));
        }
    }
}

fn level(loose: bool) -> Level {
    if loose { Level::Note } else { Level::Warning }
}

fn is_what_the_model_does(behaves_as: Option<&str>, value: Option<&Value>) -> bool {
    match (behaves_as, value) {
        (Some(behaves_as), Some(value)) => value.to_string().eq_ignore_ascii_case(behaves_as),
        _ => false,
    }
}

/// Who knows an option that the flavor's server does not, in words.
fn known_to(option: &OptionName) -> String {
    if let Some(alias) = option.alias {
        return format!("elsewhere another name of {}", alias.of);
    }
    if let Some(servers) = option.definition.elsewhere {
        return format!("a variable of {servers}");
    }
    let flavors: Vec<&str> = Flavor::ALL
        .into_iter()
        .filter(|flavor| option.definition.is_known_to(*flavor))
        .map(Flavor::name)
        .collect();
    format!("known to {}", flavors.join(", "))
}
