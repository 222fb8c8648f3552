//! Point selects on pages in the pool, under the real clock: `point_selects COUNT`.
//!
//! For counting instructions: two counts, and the difference is the selects' alone. See
//! `benches/ambient_dispatch.sh`.

use std::error::Error;

use innosim_engine::engine::{Engine, EngineOptions};
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::sysvar::{Flavor, MachineFacts, Options, resolve};
use innosim_engine::table::{ReadLock, TableDefinition};

const ROWS: i64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let count: i64 = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => return Err("usage: point_selects COUNT".into()),
    };
    let directory = tempfile::tempdir()?;
    let mut options = Options::new();
    options.set("innodb_buffer_pool_size=32M");
    let machine = MachineFacts {
        logical_cpus: 4,
        memory_bytes: 4 << 30,
    };
    let settings = resolve(Flavor::MySql8_4, &options, machine, 1.try_into()?)
        .map_err(|errors| format!("{errors:?}"))?;
    // Nothing runs beside the selects.
    let stepped = EngineOptions {
        stepped: true,
        metric_shards: 1,
    };
    let engine = Engine::create(FileSystem::new(), directory.path(), &settings, stepped)?;
    let text = "0123456789-".repeat(11);
    let mut id = 0;
    let table = engine.bulk_load(TableDefinition::sysbench(1), |take| {
        id += 1;
        if id <= ROWS {
            take(&[
                id.into(),
                (id * 7919 % ROWS).into(),
                (&text[..119]).into(),
                (&text[..59]).into(),
            ]);
        }
        id <= ROWS
    })?;
    let mut session = engine.session(0);
    let mut sum = 0;
    for turn in 0..count {
        // Far apart, so that neither page nor record is the last one's.
        let id = turn * 7919 % ROWS + 1;
        let k = session.point_select(&table, &[id.into()], ReadLock::None, |row| row.integer(1))?;
        sum += k.flatten().ok_or("a row is missing")?;
    }
    println!("{count} point selects, the sum of k is {sum}");
    Ok(())
}
