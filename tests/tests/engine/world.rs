//! An engine with everything around it that the tests need.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::engine::{Engine, EngineOptions, EngineRecoveryReport, Session};
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::sysvar::{Flavor, MachineFacts, Options, Settings, resolve};
use innosim_engine::table::{ReadLock, Row, Table, TableDefinition, Value};
use innosim_tests::disk::solid_state_disk;
use innosim_tests::machine::four_cores;

/// A small server of this flavor, with these variables.
pub fn settings_of(flavor: Flavor, variables: &[&str]) -> Settings {
    let mut options = Options::new();
    options.set("innodb_buffer_pool_size=8M");
    options.set("innodb_log_buffer_size=1M");
    for variable in variables {
        options.set(variable);
    }
    let machine = MachineFacts {
        logical_cpus: 4,
        memory_bytes: 4 << 30,
    };
    resolve(flavor, &options, machine, 1.try_into().unwrap()).unwrap()
}

pub fn settings(variables: &[&str]) -> Settings {
    settings_of(Flavor::MySql8_4, variables)
}

pub const STEPPED: EngineOptions = EngineOptions {
    stepped: true,
    metric_shards: 1,
};

pub const WITH_TASKS: EngineOptions = EngineOptions {
    stepped: false,
    metric_shards: 1,
};

/// A machine of four cores and a disk.
pub fn simulation(seed: u64) -> Box<Simulation> {
    let cpu = four_cores();
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(cpu, seed)
    };
    Simulation::new(&options).expect("the profile is valid")
}

/// Runs a test body under the virtual clock, and then under the real one.
pub fn under_both_clocks(body: fn(&Path)) {
    simulation(1)
        .run(move || body(Path::new("data")))
        .expect("nobody waits for ever");
    let directory = tempfile::tempdir().unwrap();
    RealMachine::new(1).run(|| body(&directory.path().join("data")));
}

pub fn create(directory: &Path, settings: &Settings, options: EngineOptions) -> Arc<Engine> {
    Engine::create(FileSystem::new(), directory, settings, options).unwrap()
}

pub fn open(
    directory: &Path,
    settings: &Settings,
    options: EngineOptions,
) -> (Arc<Engine>, EngineRecoveryReport) {
    Engine::open(FileSystem::new(), directory, settings, options).unwrap()
}

/// sysbench's table with the rows `1..=rows`, where row `id` has k = id * 10.
pub fn sysbench(engine: &Engine, rows: i64) -> Arc<Table> {
    let mut id = 0;
    engine
        .bulk_load(TableDefinition::sysbench(1), |take| {
            id += 1;
            if id <= rows {
                take(&row(id, id * 10));
            }
            id <= rows
        })
        .unwrap()
}

pub fn row(id: i64, k: i64) -> [Value<'static>; 4] {
    [id.into(), k.into(), "some text".into(), "padding".into()]
}

/// k of a row.
pub fn k_of(session: &mut Session, table: &Table, id: i64) -> Option<i64> {
    let read = |row: &Row<'_>| row.integer(1).unwrap();
    session
        .point_select(table, &[id.into()], ReadLock::None, read)
        .unwrap()
}

/// (id, k) of all rows, by primary key.
pub fn all_rows(session: &mut Session, table: &Table) -> Vec<(i64, i64)> {
    let mut rows = Vec::new();
    session
        .range_select(table, &[], &[], ReadLock::None, |row| {
            rows.push((row.integer(0).unwrap(), row.integer(1).unwrap()));
        })
        .unwrap();
    rows
}

/// Shuts an engine down after a look for faults.
pub fn shut_down(engine: &Arc<Engine>) {
    if engine.settings().options.stepped {
        assert_eq!(engine.faults(), Vec::<String>::new());
    }
    engine.shutdown().unwrap();
}
