//! Machine profiles: which processor, which disks, which file lies where.
//!
//! ```text
//!   nvme-24core.toml                      a built-in name, or a path
//!     description, memory_gib
//!     [cpu]            sockets, cores, SMT, frequency, what a wake-up costs …
//!     [server]         CPU of a statement outside the engine
//!     [costs]          CPU of the engine's own work, where it differs from the default
//!     [disks.NAME]     model = "solid_state" | "rotating_array", its times
//!     [placement]      default = "NAME", redo = "NAME" …
//! ```
//!
//! A profile is data, and each number in it has its source beside it. Experiments vary a
//! machine by changing this data ("redo on a disk of its own" is a second entry of
//! [`MachineProfile::disks`] and one of [`MachineProfile::placement`]), never by a branch
//! in the code that runs on it.

mod host;
mod server;
mod simulation;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

pub(crate) use host::figure;
pub use host::{HOST, memory};
pub use server::{ServerProfile, StatementWeights};

use innosim_engine::runtime::CostTable;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::disk::{DiskProfile, ProfileProblem};

/// The profiles that come with the program: name and text.
const BUILT_IN: [(&str, &str); 7] = [
    (
        "array-16-spindles",
        include_str!("../profiles/array-16-spindles.toml"),
    ),
    (
        "dual-56-nvme",
        include_str!("../profiles/dual-56-nvme.toml"),
    ),
    (HOST, include_str!("../profiles/host.toml")),
    ("laptop-nvme", include_str!("../profiles/laptop-nvme.toml")),
    ("nvme-24core", include_str!("../profiles/nvme-24core.toml")),
    ("nvme-48core", include_str!("../profiles/nvme-48core.toml")),
    (
        "quad-144-ramdisk",
        include_str!("../profiles/quad-144-ramdisk.toml"),
    ),
];

/// What a file of the server is for: placement is by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Tablespaces of tables (`*.ibd`).
    Tables,
    /// The system tablespace (`ibdata1`), with the doublewrite area of 5.x in it.
    System,
    /// Undo tablespaces.
    Undo,
    /// The redo log.
    Redo,
    /// Doublewrite files (8.0.20 and later).
    Doublewrite,
    /// Temporary tablespaces.
    Temporary,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [FileKind; 6] = [
        FileKind::Tables,
        FileKind::System,
        FileKind::Undo,
        FileKind::Redo,
        FileKind::Doublewrite,
        FileKind::Temporary,
    ];

    /// The key in `[placement]`.
    pub const fn name(self) -> &'static str {
        match self {
            FileKind::Tables => "tables",
            FileKind::System => "system",
            FileKind::Undo => "undo",
            FileKind::Redo => "redo",
            FileKind::Doublewrite => "doublewrite",
            FileKind::Temporary => "temporary",
        }
    }
}

/// A machine.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineProfile {
    /// Its name: built-in, or the path of its file.
    pub name: String,
    /// One line for reports.
    pub description: String,
    /// The processor.
    pub cpu: CpuProfile,
    /// Memory in GiB, 0.25 to 65,536: what derived defaults see.
    pub memory_gib: f64,
    /// The disks by name. A disk's place in this order is its number in a simulation.
    pub disks: BTreeMap<String, DiskProfile>,
    /// For every kind of file, the name of the disk it lies on.
    pub placement: BTreeMap<FileKind, String>,
    /// What a statement costs outside the engine.
    pub server: ServerProfile,
    /// What the engine's own work costs.
    pub costs: CostTable,
}

/// A machine that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MachineProfileError {
    /// Neither a built-in name nor a file.
    #[error(
        "machine = {name}: no such profile or file: accepted are {}, or a path to a TOML file",
        built_in_names().join(", ")
    )]
    Unknown {
        /// As given.
        name: String,
    },
    /// A file that cannot be read.
    #[error("{file}: {source}")]
    Unreadable {
        /// Its path.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("{file}: {message}")]
    Malformed {
        /// Its path or built-in name.
        file: String,
        /// With line, key and what would be accepted.
        message: String,
    },
    /// Values out of range: all of them, one a line.
    #[error(
        "{}",
        problems.iter().map(|problem| format!("{file}: {problem}")).collect::<Vec<_>>().join("\n")
    )]
    OutOfRange {
        /// Its path or built-in name.
        file: String,
        /// Key, value and accepted range of each.
        problems: Vec<ProfileProblem>,
    },
}

/// The names of the profiles that come with the program, sorted.
pub fn built_in_names() -> Vec<&'static str> {
    BUILT_IN.iter().map(|&(name, _)| name).collect()
}

/// The text of a built-in profile.
pub fn built_in_text(name: &str) -> Option<&'static str> {
    let mut all = BUILT_IN.iter();
    all.find(|&&(known, _)| known == name)
        .map(|&(_, text)| text)
}

/// The text of a profile, by its built-in name or its path; `None` if it cannot be read.
pub fn profile_text(name_or_path: &str) -> Option<String> {
    match built_in_text(name_or_path) {
        Some(text) => Some(text.to_owned()),
        None => std::fs::read_to_string(name_or_path).ok(),
    }
}

/// A profile as written. Disks are read in a second step, because serde forgets which key
/// was wrong inside a table that is tagged with its model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    description: String,
    memory_gib: f64,
    cpu: CpuProfile,
    server: ServerProfile,
    disks: BTreeMap<String, toml::Table>,
    /// Nanoseconds by the name of the cost.
    #[serde(default)]
    costs: BTreeMap<String, f64>,
    #[serde(default)]
    placement: BTreeMap<String, String>,
}

impl MachineProfile {
    /// The built-in profile of this name, or the profile in the file at this path.
    ///
    /// # Errors
    /// See [`MachineProfileError`]; each names file, key, value and what is accepted.
    pub fn load(name_or_path: &str) -> Result<Self, MachineProfileError> {
        if let Some(&(name, text)) = BUILT_IN.iter().find(|&&(name, _)| name == name_or_path) {
            let mut machine = Self::parse(name, text)?;
            if name == HOST {
                machine.describe_this_host();
            }
            return Ok(machine);
        }
        let file = name_or_path.to_string();
        if !Path::new(name_or_path).exists() {
            return Err(MachineProfileError::Unknown { name: file });
        }
        match std::fs::read_to_string(name_or_path) {
            Ok(text) => Self::parse(name_or_path, &text),
            Err(source) => Err(MachineProfileError::Unreadable { file, source }),
        }
    }

    /// Reads a profile; `name` appears in errors and reports.
    ///
    /// # Errors
    /// As [`MachineProfile::load`].
    pub fn parse(name: &str, text: &str) -> Result<Self, MachineProfileError> {
        let malformed = |message: String| MachineProfileError::Malformed {
            file: name.into(),
            message,
        };
        // On one line, which names the file: toml's own words are several.
        let placed = |error: toml::de::Error| {
            let begin = error.span().map_or(0, |span| span.start).min(text.len());
            let line = text[..begin].matches('\n').count() + 1;
            malformed(format!("line {line}: {}", error.message().trim()))
        };
        let written: Written = toml::from_str(text).map_err(placed)?;
        let mut disks = BTreeMap::new();
        for (disk, table) in written.disks {
            let profile = read_disk(table).map_err(|error| {
                malformed(format!("disks.{disk}: {}", error.trim().replace('\n', " ")))
            })?;
            disks.insert(disk, profile);
        }
        let mut problems = Vec::new();
        let placement = place(&disks, &written.placement, &mut problems);
        let mut costs = CostTable::default();
        for (name, nanoseconds) in &written.costs {
            if let Err(error) = costs.set(name, *nanoseconds) {
                problems.push(problem(&error.key, error.value, error.accepted));
            }
        }
        let machine = MachineProfile {
            name: name.into(),
            description: written.description,
            cpu: written.cpu,
            memory_gib: written.memory_gib,
            disks,
            placement,
            server: written.server,
            costs,
        };
        machine.check(&mut problems);
        if problems.is_empty() {
            Ok(machine)
        } else {
            Err(MachineProfileError::OutOfRange {
                file: name.into(),
                problems,
            })
        }
    }

    fn check(&self, problems: &mut Vec<ProfileProblem>) {
        let memory = ("memory_gib", self.memory_gib, 0.25, 65_536.0);
        let numbers = std::iter::once(memory).chain(self.server.numbers());
        for (key, value, low, high) in numbers {
            if !(low..=high).contains(&value) {
                problems.push(problem(key, value, format!("{low} to {high}")));
            }
        }
        if let Err(error) = self.cpu.validate() {
            problems.push(problem(&error.key, error.value, error.accepted));
        }
        for (name, disk) in &self.disks {
            if let Err(error) = disk.validate() {
                problems.extend(error.problems.into_iter().map(|problem| ProfileProblem {
                    key: format!("disks.{name}.{}", problem.key),
                    ..problem
                }));
            }
        }
    }
}

fn problem(key: &str, value: impl ToString, accepted: impl ToString) -> ProfileProblem {
    ProfileProblem {
        key: key.into(),
        value: value.to_string(),
        accepted: accepted.to_string(),
    }
}

fn read_disk(mut table: toml::Table) -> Result<DiskProfile, String> {
    let text = |error: toml::de::Error| error.to_string();
    let model = table.remove("model");
    match model.as_ref().and_then(toml::Value::as_str) {
        Some("solid_state") => table.try_into().map(DiskProfile::SolidState).map_err(text),
        Some("rotating_array") => table
            .try_into()
            .map(DiskProfile::RotatingArray)
            .map_err(text),
        _ => {
            let value = model.map_or("nothing".into(), |value| value.to_string());
            let accepted = "accepted is \"solid_state\" or \"rotating_array\"";
            Err(format!("model = {value}: {accepted}"))
        }
    }
}

/// The disk of every kind of file: its own entry, or `default`, or the only disk.
fn place(
    disks: &BTreeMap<String, DiskProfile>,
    written: &BTreeMap<String, String>,
    problems: &mut Vec<ProfileProblem>,
) -> BTreeMap<FileKind, String> {
    let names: Vec<&str> = disks.keys().map(String::as_str).collect();
    if names.is_empty() {
        problems.push(problem("disks", "nothing", "at least one disk"));
        return BTreeMap::new();
    }
    for (key, disk) in written {
        let key_is_known = key == "default" || FileKind::ALL.iter().any(|kind| kind.name() == key);
        if !key_is_known {
            let kinds = FileKind::ALL.map(FileKind::name).join(", ");
            let accepted = format!("the keys default, {kinds}");
            problems.push(problem(&format!("placement.{key}"), disk, accepted));
        }
        if !disks.contains_key(disk) {
            let accepted = format!("one of the disks {}", names.join(", "));
            problems.push(problem(&format!("placement.{key}"), disk, accepted));
        }
    }
    let only = (names.len() == 1).then(|| names[0].to_string());
    let default = written.get("default").cloned().or(only);
    let mut placement = BTreeMap::new();
    for kind in FileKind::ALL {
        match written.get(kind.name()).or(default.as_ref()) {
            Some(disk) => {
                placement.insert(kind, disk.clone());
            }
            None => problems.push(problem(
                "placement.default",
                "nothing",
                format!("a disk for {}: one of {}", kind.name(), names.join(", ")),
            )),
        }
    }
    placement
}

#[cfg(test)]
mod tests;
