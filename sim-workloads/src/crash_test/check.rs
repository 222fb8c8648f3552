//! After a crash: recovery, and a look at everything.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use innosim_engine::engine::{EngineOptions, EngineRecoveryReport};
use innosim_engine::runtime::time::Time;
use innosim_engine::runtime::{now, spawn};
use innosim_engine::table::{ReadLock, Row};

use super::client::Client;
use super::fault::{Fault, FaultKind};
use super::journal::{Journal, SharedLedger};
use super::ledger::{RowImage, Rows, fingerprint};
use crate::run::RunPlan;
use crate::run::database::{Database, StatementError};
use crate::server::EngineServer;

/// Columns of sysbench's tables, by position.
const ID: usize = 0;
const K: usize = 1;
const C: usize = 2;
const PAD: usize = 3;

/// How the engine that was checked ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// By a shutdown.
    Shutdown,
    /// By a shutdown, after everything is purged and checked once more.
    PurgeAndShutdown,
    /// As if it had been killed.
    Killed,
}

/// What a check has told.
#[derive(Debug)]
pub(super) struct Checked {
    pub report: EngineRecoveryReport,
    /// What is wrong with the pages.
    pub faults: Vec<Fault>,
    /// How long recovery took.
    pub recovery_time: Time,
}

/// Opens the database without background tasks, so that it is at rest, and compares
/// everything: rows with the ledger, pages, lists, trees, and indexes with each other.
pub(super) fn check(
    plan: &RunPlan,
    data: &Path,
    ledger: &SharedLedger,
    end: End,
) -> anyhow::Result<Checked> {
    let start = now();
    let options = EngineOptions {
        stepped: true,
        metric_shards: 1,
    };
    let (server, report) = EngineServer::open_with(plan, data, options).context("recovery")?;
    let recovery_time = now() - start;
    let found = rows(&server, plan.tables).context("reading the tables after recovery")?;
    ledger.lock().judge(found);
    let engine = server.engine();
    let mut faults = engine.faults();
    if end == End::PurgeAndShutdown {
        engine.purge_all().context("purge after recovery")?;
        faults.extend(engine.faults());
    }
    if end != End::Killed {
        engine.shutdown().context("shutdown after recovery")?;
    }
    let faults = faults.into_iter().map(|text| Fault {
        kind: FaultKind::Structure,
        text,
    });
    Ok(Checked {
        report,
        faults: faults.collect(),
        recovery_time,
    })
}

/// All rows of all tables.
fn rows(server: &EngineServer, tables: u32) -> anyhow::Result<Rows> {
    let mut session = server.engine().session(0);
    let mut rows = Rows::new();
    for number in 1..=tables {
        let take = |row: &Row<'_>| {
            let text = |column| fingerprint(row.bytes(column).unwrap_or_default());
            let integer = |column| row.integer(column).unwrap_or_default();
            let image = RowImage {
                k: integer(K),
                c: text(C),
                pad: text(PAD),
            };
            rows.insert((number, integer(ID)), image);
        };
        let table = server.table(number);
        session.range_select(table, &[], &[], ReadLock::None, take)?;
    }
    session.close()?;
    Ok(rows)
}

/// Opens the database as a server does, and sets clients to work on it, which think for
/// `pace` between two transactions, on average. `failed` is told of a client that cannot go
/// on.
pub(super) fn set_to_work(
    plan: &RunPlan,
    data: &Path,
    seeds: impl Fn(u32) -> u64,
    pace: Time,
    journal: &Arc<dyn Journal>,
    failed: impl Fn(Fault) + Clone + Send + 'static,
) -> anyhow::Result<Arc<EngineServer>> {
    let options = EngineServer::options(false);
    let (server, _) = EngineServer::open_with(plan, data, options).context("recovery")?;
    for number in 0..plan.threads {
        let (server, script) = (server.clone(), plan.script.clone());
        let (seed, journal, failed) = (seeds(number), journal.clone(), failed.clone());
        spawn(&format!("client {number}"), move || {
            let connection = server.connect(number);
            let error = Client::new(number, connection, &script, seed, journal).run(pace);
            if let StatementError::Aftermath(_) = error {
                // Another client tells.
                return;
            }
            let error = anyhow::Error::from(error).context(format!("client {number}"));
            failed(Fault::of_error(&error));
        });
    }
    Ok(server)
}
