//! Whole runs, from option file to document: what must be the same, and what must not.

mod both_clocks;
mod repeated;
mod seeds;
mod settle;
mod snapshots;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use innosim_workloads::report::json::RunDocument;
use innosim_workloads::run::{NobodyWatches, RunArguments, RunResult, execute};
use innosim_workloads::server::EngineServer;

/// Carries a run out.
fn run(arguments: &RunArguments) -> RunResult {
    let plan = arguments.plan().unwrap_or_else(|wrong| panic!("{wrong}"));
    execute::<EngineServer>(&plan, NobodyWatches).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The document of a run.
fn document(arguments: &RunArguments) -> RunDocument {
    run(arguments).document
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// All files of a directory.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = PathBuf::from(path.file_name().unwrap());
        if path.is_dir() {
            found.extend(
                files(&path)
                    .into_iter()
                    .map(|(file, bytes)| (name.join(file), bytes)),
            );
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}
