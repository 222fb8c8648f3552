//! What the demo found, as data.

use serde::Serialize;
use serde_json::{Map, Value};

use super::cells::Experiment;
use crate::report::json::RunDocument;

/// One run of the demo, with its results.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemoCell {
    /// What it belongs to.
    pub experiment: Experiment,
    /// On the modelled machine, rather than on this computer.
    pub modelled: bool,
    /// What was varied.
    pub set: Map<String, Value>,
    /// The run.
    pub run: RunDocument,
}

/// All runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemoDocument {
    /// innosim's version.
    pub innosim: String,
    /// The runs.
    pub cells: Vec<DemoCell>,
}

impl DemoDocument {
    pub(super) fn new(cells: Vec<DemoCell>) -> Self {
        DemoDocument {
            innosim: env!("CARGO_PKG_VERSION").to_owned(),
            cells,
        }
    }

    /// The run of an experiment on a machine where this was varied.
    pub(super) fn find(
        &self,
        experiment: Experiment,
        modelled: bool,
        set: &[(&str, Value)],
    ) -> Option<&RunDocument> {
        let wanted = |cell: &&DemoCell| {
            let mut set = set.iter();
            cell.experiment == experiment
                && cell.modelled == modelled
                && set.all(|(name, value)| cell.set.get(*name) == Some(value))
        };
        self.cells.iter().find(wanted).map(|cell| &cell.run)
    }
}
