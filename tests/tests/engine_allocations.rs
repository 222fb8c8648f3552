//! Statements on pages that are in the pool allocate nothing once their session has
//! warmed up, under both clocks: the whole test binary counts its allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::engine::{Engine, EngineOptions};
use innosim_engine::runtime::RealMachine;
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::virtual_clock::{Simulation, SimulationOptions};
use innosim_engine::sysvar::TransactionIsolation::{ReadCommitted, RepeatableRead};
use innosim_engine::sysvar::{Flavor, MachineFacts, Options, resolve};
use innosim_engine::table::{Assignment, IndexReading, ReadLock, TableDefinition, Value};
use innosim_tests::disk::solid_state_disk;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rounds after which each of the 256 rollback segments has had several transactions.
const UNDO_WARM_UP: usize = 5;

/// Allocations of a statement for each of 300 rows, after so many rounds of the same.
fn allocations(warm_up: usize, mut body: impl FnMut(i64)) -> usize {
    for _ in 0..warm_up {
        (1..=300).for_each(&mut body);
    }
    let before = ALLOCATIONS.load(Relaxed);
    for id in 1..=300 {
        body(id);
    }
    ALLOCATIONS.load(Relaxed) - before
}

fn body(directory: &Path) {
    let mut options = Options::new();
    options.set("innodb_buffer_pool_size=16M");
    let machine = MachineFacts {
        logical_cpus: 4,
        memory_bytes: 4 << 30,
    };
    let settings = resolve(Flavor::MySql8_4, &options, machine, 1.try_into().unwrap()).unwrap();
    let stepped = EngineOptions {
        stepped: true,
        metric_shards: 1,
    };
    let engine = Engine::create(FileSystem::new(), directory, &settings, stepped).unwrap();
    let mut id = 0;
    let table = engine
        .bulk_load(TableDefinition::sysbench(1), |take| {
            id += 1;
            if id <= 300 {
                take(&[id.into(), (7 * id).into(), "c".into(), "pad".into()]);
            }
            id <= 300
        })
        .unwrap();
    let mut session = engine.session(0);
    let mut other = engine.session(1);

    let autocommit = allocations(1, |id| {
        let k = session.point_select(&table, &[id.into()], ReadLock::None, |row| row.integer(1));
        assert_eq!(k.unwrap(), Some(Some(7 * id)));
    });
    assert_eq!(autocommit, 0, "point selects under autocommit");

    let ranges = allocations(1, |id| {
        let (first, last) = ([id.into()], [(id + 99).into()]);
        let rows = session.range_select(&table, &first, &last, ReadLock::None, |row| {
            assert!(row.integer(1).is_some());
        });
        assert!(rows.unwrap() > 0);
    });
    assert_eq!(ranges, 0, "ranges");

    let by_index = allocations(1, |id| {
        let (first, last): ([Value<'_>; 1], [Value<'_>; 1]) = ([id.into()], [(id + 70).into()]);
        let (ends, reading) = ((&first[..], &last[..]), IndexReading::Rows);
        let rows = session.index_range_select(&table, 0, ends, reading, ReadLock::None, |_| ());
        assert!(rows.unwrap() >= 10 || id > 2000);
    });
    assert_eq!(by_index, 0, "ranges of the secondary index");

    let texts = ["a".repeat(120), "b".repeat(120)];
    let mut round = 0;
    let in_place = allocations(UNDO_WARM_UP, |id| {
        round += 1;
        let set = [Assignment::set(2, texts[round % 2].as_str())];
        session.update(&table, &[id.into()], &set).unwrap();
    });
    assert_eq!(in_place, 0, "updates of a column without an index");
    session.begin(RepeatableRead, false).unwrap();
    let indexed = allocations(UNDO_WARM_UP, |id| {
        for change in [1, -1] {
            let add = [Assignment::add(1, change)];
            session.update(&table, &[id.into()], &add).unwrap();
        }
    });
    session.commit().unwrap();
    assert_eq!(indexed, 0, "updates of an indexed column");

    // With a writer that is active, whose versions the readers have to go back behind.
    other.begin(RepeatableRead, false).unwrap();
    for id in 1..=300 {
        let add = [Assignment::add(1, 1)];
        other.update(&table, &[id.into()], &add).unwrap();
    }
    for isolation in [RepeatableRead, ReadCommitted] {
        session.begin(isolation, false).unwrap();
        let versions = allocations(1, |id| {
            let k =
                session.point_select(&table, &[id.into()], ReadLock::None, |row| row.integer(1));
            assert_eq!(k.unwrap(), Some(Some(7 * id)));
        });
        assert_eq!(versions, 0, "older versions under {isolation}");
        session.commit().unwrap();
    }
    other.rollback().unwrap();
    session.close().unwrap();
    other.close().unwrap();
    engine.shutdown().unwrap();
}

#[test]
fn selects_allocate_nothing() {
    let cpu = CpuProfile::uniform(4);
    let options = SimulationOptions {
        disks: vec![("disk".to_owned(), solid_state_disk())],
        ..SimulationOptions::new(cpu, 1)
    };
    let mut simulation = Simulation::new(&options).unwrap();
    simulation.run(|| body(Path::new("data"))).unwrap();
    let directory = tempfile::tempdir().unwrap();
    RealMachine::new(1).run(|| body(&directory.path().join("data")));
}
