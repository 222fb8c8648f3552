//! `reproduce --study --json`: how far a report's answers depend on what was fitted, on the
//! disk's arbitration and on the scale.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Validity;

/// `reproduce --study --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudiesDocument {
    /// One entry for each report.
    pub studies: Vec<StudyDocument>,
}

/// The study of one report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyDocument {
    /// innosim's version.
    pub innosim: String,
    /// The report's name.
    pub name: String,
    /// The machine profile.
    pub machine: String,
    /// The report's own scale.
    pub scale: u64,
    /// Seconds of each run's measurement.
    pub measure_s: f64,
    /// The answers as the model is.
    pub as_fitted: StudyRow,
    /// The answers with each fitted constant changed.
    pub constants: Vec<ConstantStudy>,
    /// The answers with each other arbitration of the disks.
    pub arbitration: Vec<StudyRow>,
    /// The answers at each scale, the coarsest first.
    pub scales: Vec<StudyRow>,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// Runs that were carried out now, rather than found in the cache.
    pub runs: u64,
    /// Time on the wall, in seconds.
    pub wall_s: f64,
}

/// A fitted constant of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// The machine profile.
    pub machine: String,
    /// Its key there.
    pub key: String,
    /// Its value, as TOML.
    pub value: String,
    /// Where it comes from, in the profile's words.
    pub source: Option<String>,
    /// The labels of the cells that it was fitted to.
    pub cells: Vec<Map<String, Value>>,
}

/// The answers with one constant changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConstantStudy {
    /// The constant.
    pub constant: Constant,
    /// A quarter less.
    pub less: StudyRow,
    /// A quarter more.
    pub more: StudyRow,
}

/// The answers of one variant of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyRow {
    /// The variant: the value, the arbitration, the scale.
    pub variant: String,
    /// Its answers; those whose runs failed have no figure.
    pub answers: Vec<Answer>,
    /// Of all runs the validity figures that speak most against the scale.
    pub validity: Option<Validity>,
    /// Runs that failed, and why.
    pub failures: Vec<String>,
}

/// What a report is about, as one figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// What it is, with its unit.
    pub text: String,
    /// The report's figure; `null` if it has none.
    pub published: Option<f64>,
    /// Ours; `null` if a run is missing.
    pub figure: Option<f64>,
}

impl StudyDocument {
    /// All variants.
    pub fn rows(&self) -> impl Iterator<Item = &StudyRow> {
        let of_constants = self.constants.iter().flat_map(|one| [&one.less, &one.more]);
        std::iter::once(&self.as_fitted)
            .chain(of_constants)
            .chain(&self.arbitration)
            .chain(&self.scales)
    }
}
