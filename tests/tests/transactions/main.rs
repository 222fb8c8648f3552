//! Transactions over real undo pages: a small table in memory stands in for the table
//! layer, which keeps the newest version of each row; all older ones are in undo.

mod concurrent;
mod crash;
mod model;
mod pages;
mod power;
mod store;

use std::path::Path;
use std::sync::Arc;

use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::sysvar::{Flavor, ReadViewAlgorithm};
use innosim_engine::transaction::undo::create_system_tablespace;
use innosim_engine::transaction::{TransactionRules, TransactionSettings, Transactions};
use innosim_tests::disk::solid_state_disk;

fn virtually<T: 'static>(seed: u64, main: impl FnOnce() -> T + 'static) -> T {
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(CpuProfile::uniform(4), seed)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation.run(main).expect("nobody waits for ever")
}

/// Few rollback segments in small files.
fn settings(flavor: Flavor) -> TransactionSettings {
    let rules = TransactionRules::of_flavor(flavor);
    TransactionSettings {
        rules,
        read_view: match rules.listed_at_begin {
            true => ReadViewAlgorithm::TrxListWalk,
            false => ReadViewAlgorithm::IdVectorCopy,
        },
        rollback_segments: 2,
        undo_tablespaces: if rules.undo_tablespaces { 2 } else { 0 },
        undo_space_pages: 64,
        ..TransactionSettings::default()
    }
}

/// A new instance.
fn create(settings: &TransactionSettings) -> (Sandbox, Arc<Transactions>) {
    create_in(Path::new("/test"), settings)
}

fn create_in(directory: &Path, settings: &TransactionSettings) -> (Sandbox, Arc<Transactions>) {
    let sandbox = Sandbox::new(directory, 2000);
    let mut context = MiniTransactionContext::new(0);
    create_system_tablespace(&sandbox.pages, &mut context, directory, 64).unwrap();
    let transactions = Transactions::create(sandbox.pages.clone(), directory, settings.clone());
    (sandbox, transactions.unwrap())
}
