//! Micro-runs: one kind of statement each, one thread, all pages in the pool.
//!
//! ```text
//!                   real clock                      virtual clock
//!   engine          CPU of the client's thread      how often each cost is charged
//!   no engine       CPU of the driver alone
//! ```
//!
//! The same statements in the same order: the run is stepped, so that flushing, purge and
//! checkpoints happen in the client's thread after every hundred transactions, and redo is
//! written but not synced for commits.

use std::path::Path;
use std::sync::Arc;

use innosim_engine::runtime::cost::Cost;
use innosim_engine::runtime::time::{MICROSECOND, SECOND, Time, from_seconds};
use innosim_engine::runtime::{RealMachine, WaitKind};

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::nothing::Nothing;
use crate::progress::Progress;
use crate::run::database::Database;
use crate::run::machine::Machine;
use crate::run::server_layer::{KINDS, ServerLayer, kind};
use crate::run::{
    Clock, Drive, Length, NobodyWatches, RunArguments, RunFiles, RunPlan, Server, measure,
};
use crate::server::EngineServer;
use crate::workload::{Script, ScriptOptions};

/// Rows of the table: its leaves are larger than the caches of a core, as those of real
/// tables are.
const ROWS: u32 = 200_000;

/// What a transaction of a micro-run consists of.
#[derive(Debug, Clone)]
pub struct MicroRun {
    /// In a few words.
    pub name: &'static str,
    script: &'static str,
    options: ScriptOptions,
}

impl MicroRun {
    fn script(&self) -> Script {
        Script::new(self.script, &self.options, 1).expect("the script and its options are right")
    }

    /// Statements of a transaction by kind, the mean of many.
    fn kinds(&self) -> [f64; KINDS] {
        const EVENTS: u32 = 100;
        let (mut script, mut statements) = (self.script(), Vec::new());
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = [0.0; KINDS];
        for _ in 0..EVENTS {
            script.next_event(0, &mut generator, &mut statements);
            for statement in &statements {
                counts[kind(statement)] += 1.0 / f64::from(EVENTS);
            }
        }
        counts
    }
}

/// All micro-runs.
pub fn micro_runs() -> Vec<MicroRun> {
    let none = ScriptOptions {
        table_size: ROWS,
        point_selects: 0,
        simple_ranges: 0,
        sum_ranges: 0,
        order_ranges: 0,
        distinct_ranges: 0,
        index_updates: 0,
        non_index_updates: 0,
        delete_inserts: 0,
        rand_type: Some(crate::workload::random::RandomType::Uniform),
        ..ScriptOptions::default()
    };
    let all = ScriptOptions {
        table_size: ROWS,
        rand_type: none.rand_type,
        ..ScriptOptions::default()
    };
    let run = |name, script, change: &dyn Fn(&mut ScriptOptions)| {
        let mut options = none.clone();
        change(&mut options);
        MicroRun {
            name,
            script,
            options,
        }
    };
    let whole = |name, script| MicroRun {
        name,
        script,
        options: all.clone(),
    };
    let (reads, writes) = ("oltp_read_only", "oltp_write_only");
    vec![
        whole("a point select", "oltp_point_select"),
        run("10 point selects", reads, &|o| o.point_selects = 10),
        run("40 point selects", reads, &|o| o.point_selects = 40),
        run("10 ranges of 10 rows", reads, &|o| {
            (o.simple_ranges, o.range_size) = (10, 10);
        }),
        run("4 ranges of 100 rows", reads, &|o| o.simple_ranges = 4),
        run("a range of 1000 rows", reads, &|o| {
            (o.simple_ranges, o.range_size) = (1, 1000);
        }),
        run("4 sums of 100 rows", reads, &|o| o.sum_ranges = 4),
        whole("an update of c", "oltp_update_non_index"),
        run("10 updates of c", writes, &|o| o.non_index_updates = 10),
        whole("an update of k", "oltp_update_index"),
        run("10 updates of k", writes, &|o| o.index_updates = 10),
        run("a delete and an insert", writes, &|o| o.delete_inserts = 1),
        run("10 deletes and inserts", writes, &|o| o.delete_inserts = 10),
        whole("an insert", "oltp_insert"),
        whole("oltp_write_only", "oltp_write_only"),
        whole("oltp_read_write", "oltp_read_write"),
    ]
}

/// What a micro-run showed, a transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// Its name.
    pub name: &'static str,
    /// Statements by kind: BEGIN, point selects, ranges, writes, COMMIT.
    pub kinds: [f64; KINDS],
    /// CPU with the engine, real clock, µs.
    pub with_engine_us: f64,
    /// CPU of the driver alone, real clock, µs.
    pub driver_us: f64,
    /// Largest over smallest CPU of the rounds, less one.
    pub spread: f64,
    /// How often each cost is charged, virtual clock, in the order of [`Cost::ALL`].
    pub charges: Vec<f64>,
    /// CPU that is no charge (system calls, switches), virtual clock, µs.
    pub uncharged_us: f64,
}

impl Observed {
    /// Statements, BEGIN and COMMIT included.
    pub fn statements(&self) -> f64 {
        self.kinds.iter().sum()
    }

    /// What the engine costs, µs.
    pub fn engine_us(&self) -> f64 {
        self.with_engine_us - self.driver_us
    }
}

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Seconds of a micro-run in a round.
    pub seconds: f64,
    /// Rounds; the least CPU of them counts, since what others do on the host only adds.
    pub rounds: usize,
}

/// What one measurement says.
struct Figures {
    transactions: f64,
    cpu_us: f64,
    charges: Vec<u64>,
}

/// Carries all micro-runs out, over a data directory below `directory`.
///
/// # Errors
/// If the files cannot be made, or the engine fails.
pub fn observe(
    directory: &Path,
    effort: Effort,
    progress: &Progress,
) -> anyhow::Result<Vec<Observed>> {
    let runs = micro_runs();
    let data = directory.join("cpu");
    let plan = |clock: &str| -> anyhow::Result<RunPlan> {
        let arguments = RunArguments {
            clock: Some(clock.into()),
            machine: Some("host".into()),
            workload: Some("oltp_read_write".into()),
            table_size: Some(ROWS.to_string()),
            // So that it is stepped; each micro-run has its own end.
            events: Some("1".into()),
            set: [
                "innodb_buffer_pool_size=512M",
                "innodb_buffer_pool_instances=1",
                "innodb_redo_log_capacity=2G",
                "innodb_flush_log_at_trx_commit=0",
                // Nothing is written but by checkpoints that are far away.
                "innodb_max_dirty_pages_pct=99",
                "innodb_max_dirty_pages_pct_lwm=0",
                "innodb_adaptive_flushing=OFF",
                "innodb_idle_flush_pct=0",
            ]
            .map(String::from)
            .to_vec(),
            datadir: Some(data.clone()),
            ..RunArguments::default()
        };
        Ok(arguments.plan()?)
    };
    std::fs::create_dir_all(&data)?;
    let real = plan("real")?;
    EngineServer::prepare(&real, &data, &mut NobodyWatches)?;
    progress.expect((effort.rounds * runs.len() * 2 + runs.len()) as u64);

    let mut engine: Vec<Vec<Figures>> = runs.iter().map(|_| Vec::new()).collect();
    let mut driver: Vec<Vec<Figures>> = runs.iter().map(|_| Vec::new()).collect();
    let length = from_seconds(effort.seconds);
    let with_engine = |plan: &RunPlan, data: &Path| -> anyhow::Result<Vec<Vec<Figures>>> {
        let server = EngineServer::open(plan, data)?;
        let mut all: Vec<Vec<Figures>> = runs.iter().map(|_| Vec::new()).collect();
        // Once for nothing: pages come into the pool.
        for run in &runs {
            one(&server, run, length / 2)?;
        }
        let rounds = match plan.clock {
            Clock::Real => effort.rounds,
            Clock::Virtual => 1,
        };
        for _ in 0..rounds {
            for (run, figures) in runs.iter().zip(&mut all) {
                let found = one(&server, run, length)?;
                told(progress, run, &found);
                figures.push(found);
            }
        }
        server.close()?;
        Ok(all)
    };
    let machine = RealMachine::new(1);
    machine.run(|| -> anyhow::Result<()> {
        engine = with_engine(&real, &data)?;
        let nothing = Nothing::new();
        for _ in 0..effort.rounds {
            for (run, figures) in runs.iter().zip(&mut driver) {
                let found = one(&nothing, run, length / 4)?;
                progress.step(&format!("{}: driver alone", run.name));
                figures.push(found);
            }
        }
        Ok(())
    })?;

    let mut simulated = plan("virtual")?;
    simulated.files = RunFiles::Base(data);
    let counted = virtually(&simulated, &runs, length, progress)?;
    let costs = &simulated.machine.costs;
    let of_one = |figures: &Figures| figures.cpu_us / figures.transactions;
    let least = |figures: &[Figures]| figures.iter().map(of_one).fold(f64::INFINITY, f64::min);
    let most = |figures: &[Figures]| figures.iter().map(of_one).fold(0.0, f64::max);
    let observed = runs.iter().zip(engine.iter().zip(&driver)).zip(&counted);
    let observed = observed.map(|((run, (engine, driver)), counted)| {
        let charged: u128 = Cost::ALL
            .iter()
            .zip(&counted.charges)
            .map(|(&cost, &count)| u128::from(costs.get(cost)) * u128::from(count))
            .sum();
        let charged_us = charged as f64 / MICROSECOND as f64;
        Observed {
            name: run.name,
            kinds: run.kinds(),
            with_engine_us: least(engine),
            driver_us: least(driver),
            spread: most(engine) / least(engine) - 1.0,
            charges: counted
                .charges
                .iter()
                .map(|&count| count as f64 / counted.transactions)
                .collect(),
            uncharged_us: (counted.cpu_us - charged_us).max(0.0) / counted.transactions,
        }
    });
    Ok(observed.collect())
}

fn told(progress: &Progress, run: &MicroRun, figures: &Figures) {
    let each = figures.cpu_us / figures.transactions;
    progress.step(&format!("{}: {each:.2} us of CPU", run.name));
}

/// The same under the virtual clock, once each.
fn virtually(
    plan: &RunPlan,
    runs: &[MicroRun],
    length: Time,
    progress: &Progress,
) -> anyhow::Result<Vec<Figures>> {
    let RunFiles::Base(directory) = &plan.files else {
        unreachable!("the caller gave it a base");
    };
    let mut machine = Machine::new(plan, directory)?;
    let data = machine.data().to_path_buf();
    let (inside, owned) = (plan.clone(), runs.to_vec());
    let found = machine.run(move || -> anyhow::Result<Vec<Figures>> {
        let server = EngineServer::open(&inside, &data)?;
        for run in &owned {
            one(&server, run, length / 2)?;
        }
        owned.iter().map(|run| one(&server, run, length)).collect()
    })??;
    for (run, figures) in runs.iter().zip(&found) {
        let each = figures.cpu_us / figures.transactions;
        progress.step(&format!("{}: {each:.2} us by the default costs", run.name));
    }
    Ok(found)
}

/// Runs one over an open database.
fn one<D: Database>(database: &Arc<D>, run: &MicroRun, length: Time) -> anyhow::Result<Figures> {
    let script = run.script();
    let no_server_layer = crate::machine::ServerProfile {
        statement_us: 0.0,
        statement_cv: 0.0,
        network_us: 0.0,
        weights: crate::machine::StatementWeights::default(),
    };
    let drive = Drive {
        clients: 1,
        server: ServerLayer::new(&no_server_layer, script.info().protocol, 0.0),
        length: Length {
            warm_up: 0,
            time: Some(length),
            events: None,
        },
        interval: length.max(SECOND),
        stepped: true,
        script,
    };
    let measured = measure(database, &drive, |_| ())?;
    anyhow::ensure!(
        measured.counters.transactions > 0,
        "{}: not one transaction ended",
        run.name
    );
    Ok(Figures {
        transactions: measured.counters.transactions as f64,
        cpu_us: measured.runtime.user_time[WaitKind::Cpu as usize] as f64 / MICROSECOND as f64,
        charges: measured.runtime.charges,
    })
}
