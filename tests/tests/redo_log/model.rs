//! Random mini-transactions against a model.
//!
//! Pages are divided into domains. The first page of a domain has a counter, and every
//! mini-transaction of the domain increments it. So the counter says, after a crash, how
//! many of the domain's mini-transactions are there, and everything else must look as if
//! exactly those had been.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};

use innosim_engine::buffer_pool::{BufferPoolSettings, LruBatch};
use innosim_engine::metrics::Metrics;
use innosim_engine::page::{PageType, SpaceId};
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    CommitPolicy, MiniTransactionContext, RecoveryReport, RedoLog, RedoLogError, RedoSettings,
};
use innosim_engine::runtime::files::FileSystem;
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::MICROSECOND;
use innosim_engine::runtime::{self, LatchMode, WaitKind, sleep};

use super::support::{SPACE, page};

pub const DOMAINS: u32 = 6;
pub const PAGES: u32 = 12;
const COUNTER: usize = 60;
const BODY: std::ops::Range<usize> = 38..16376;

#[derive(Clone, Debug)]
enum Step {
    Make(u32),
    Write(u32, usize, Vec<u8>),
}

#[derive(Debug, Default)]
struct Domain {
    /// What each mini-transaction does, in order.
    steps: Vec<Vec<Step>>,
    /// The end LSN of those that returned from their commit.
    ends: BTreeMap<usize, u64>,
    /// So many must survive.
    acknowledged: usize,
}

/// What was done; shared by the runs of a machine.
#[derive(Clone, Debug, Default)]
pub struct Model(Arc<Mutex<Vec<Domain>>>);

/// The first page of a domain.
fn base(domain: u32) -> u32 {
    domain * PAGES
}

/// One mini-transaction's steps.
fn steps(domain: u32, stream: &mut Stream, large: bool) -> Vec<Step> {
    let mut steps = Vec::new();
    for _ in 0..=stream.below(3) {
        let number = base(domain) + 1 + stream.below(u64::from(PAGES) - 1) as u32;
        if stream.below(20) == 0 {
            steps.push(Step::Make(number));
        }
        let length = match (large, stream.below(8)) {
            (true, _) => 500 + stream.below(3000),
            (false, 0) => 300 + stream.below(2000),
            (false, _) => 1 + stream.below(60),
        };
        let offset = 100 + stream.below(16376 - 100 - length);
        let bytes = (0..length).map(|_| stream.next_u64() as u8).collect();
        steps.push(Step::Write(number, offset as usize, bytes));
    }
    steps
}

impl Model {
    pub fn new() -> Self {
        let domains = (0..DOMAINS).map(|_| Domain::default()).collect();
        Model(Arc::new(Mutex::new(domains)))
    }

    /// Makes all pages.
    pub fn make_pages(&self, sandbox: &Sandbox) {
        let mut context = MiniTransactionContext::new(0);
        for domain in 0..DOMAINS {
            let first = (0..PAGES).map(|number| Step::Make(base(domain) + number));
            let end = self.run(sandbox, &mut context, domain, first.collect());
            sandbox.pages.log.flush_up_to(end);
            self.0.lock().unwrap()[domain as usize].acknowledged = 1;
        }
    }

    /// One mini-transaction of a domain.
    fn run(
        &self,
        sandbox: &Sandbox,
        context: &mut MiniTransactionContext,
        domain: u32,
        steps: Vec<Step>,
    ) -> u64 {
        let mut mtr = sandbox.pages.begin(context);
        let counter = mtr.fix(page(base(domain)), LatchMode::X).unwrap();
        // The order of the model is that of the counter's latch.
        let number = {
            let mut domains = self.0.lock().unwrap();
            let domain = &mut domains[domain as usize];
            domain.steps.push(steps.clone());
            domain.steps.len()
        };
        for step in steps {
            match step {
                Step::Make(number) => {
                    let handle = mtr.fix_new(page(number)).unwrap();
                    mtr.writer(handle)
                        .initialise_page(page(number), PageType::UndoLog);
                }
                Step::Write(number, offset, bytes) => {
                    let handle = mtr.fix(page(number), LatchMode::X).unwrap();
                    mtr.writer(handle).write(offset, &bytes);
                    runtime::charge(MICROSECOND);
                }
            }
        }
        mtr.writer(counter)
            .write(COUNTER, &(number as u64).to_be_bytes());
        let end = mtr.commit();
        let mut domains = self.0.lock().unwrap();
        domains[domain as usize].ends.insert(number, end);
        end
    }

    /// Mini-transactions of a domain until `stop`; every few of them are waited for.
    pub fn work(
        &self,
        sandbox: &Sandbox,
        domain: u32,
        large: bool,
        stop: &AtomicBool,
        most: usize,
    ) {
        let mut stream = runtime::stream(&format!("worker {domain}"));
        let mut context = MiniTransactionContext::new(domain as usize);
        let log = &sandbox.pages.log;
        for _ in 0..most {
            if stop.load(Acquire) {
                return;
            }
            log.free_check().unwrap();
            let steps = steps(domain, &mut stream, large);
            let end = self.run(sandbox, &mut context, domain, steps);
            let age = log.checkpoint_age();
            assert!(age <= log.limits().writer_stop, "age {age}");
            if stream.below(3) == 0 {
                log.commit_wait(end, CommitPolicy::Flush).unwrap();
                assert!(log.flushed_lsn() >= end);
                let mut domains = self.0.lock().unwrap();
                let domain = &mut domains[domain as usize];
                let done = domain.ends.iter().filter(|entry| *entry.1 <= end);
                domain.acknowledged = *done.map(|entry| entry.0).max().unwrap();
            }
            if stream.below(4) == 0 {
                sleep(stream.below(300) * MICROSECOND, WaitKind::Other);
            }
        }
    }

    /// Compares all pages, and forgets what was lost.
    pub fn check(&self, sandbox: &Sandbox, end_lsn: u64) {
        let mut context = MiniTransactionContext::new(0);
        for number in 0..DOMAINS {
            let mut mtr = sandbox.pages.begin(&mut context);
            let handles: Vec<_> = (0..PAGES)
                .map(|offset| mtr.fix(page(base(number) + offset), LatchMode::S).unwrap())
                .collect();
            let counter = mtr.page(handles[0])[COUNTER..COUNTER + 8]
                .try_into()
                .unwrap();
            let count = u64::from_be_bytes(counter) as usize;
            let mut domains = self.0.lock().unwrap();
            let domain = &mut domains[number as usize];
            assert!(count >= domain.acknowledged, "{count} {domain:?}");
            for (&at, &end) in &domain.ends {
                assert_eq!(at <= count, end <= end_lsn, "{at} {count} {end} {end_lsn}");
            }
            let mut pages = vec![[0; 16384]; PAGES as usize];
            let kept = &domain.steps[..count];
            for step in kept.iter().flatten() {
                match step {
                    Step::Make(number) => pages[(number % PAGES) as usize].fill(0),
                    Step::Write(number, offset, bytes) => {
                        let page = &mut pages[(number % PAGES) as usize];
                        page[*offset..offset + bytes.len()].copy_from_slice(bytes);
                    }
                }
            }
            pages[0][COUNTER..COUNTER + 8].copy_from_slice(&(count as u64).to_be_bytes());
            for (handle, expected) in handles.iter().zip(&pages) {
                let found = mtr.page(*handle);
                assert!(found[BODY] == expected[BODY], "{}", mtr.page_id(*handle));
            }
            domain.steps.truncate(count);
            domain.ends.retain(|&at, _| at <= count);
            drop(domains);
            mtr.commit();
        }
    }
}

/// Writes pages as a cleaner would; an eager one writes all it finds.
pub fn clean(sandbox: &Sandbox, stop: &AtomicBool, eager: bool) {
    let pages = &sandbox.pages;
    let mut stream = runtime::stream("cleaner");
    while !stop.load(Acquire) {
        let count = pages.pool.cleaner_wanted().reset();
        match pages.log.sync_flush_target() {
            Some(target) => {
                pages.pool.flush_list_batch(0, usize::MAX, target);
                pages.log.pages_were_flushed();
            }
            None => {
                let most = match eager {
                    true => usize::MAX,
                    false => stream.below(12) as usize,
                };
                pages.pool.flush_list_batch(0, most, u64::MAX);
            }
        }
        pages.pool.flush_lru_batch(0, &LruBatch { scan_depth: 4 });
        let time = (200 + stream.below(2000)) * MICROSECOND;
        pages
            .pool
            .cleaner_wanted()
            .wait(count, time, WaitKind::Other);
    }
}

/// Opens what an earlier run has left.
pub fn recover(
    directory: &Path,
    settings: &RedoSettings,
    frames: usize,
) -> Result<(Sandbox, RecoveryReport), RedoLogError> {
    let metrics = Arc::new(Metrics::new(1));
    let files = FileSystem::new();
    let recovery = RedoLog::open_for_recovery(files, directory, settings, metrics.clone())?;
    let pool = BufferPoolSettings::new((frames * 16384) as u64, 1);
    let sandbox = Sandbox::with(directory, &pool, recovery.log().clone(), metrics);
    sandbox.open_space(SpaceId(SPACE));
    let report = recovery.apply(&sandbox.pages.pool, &sandbox.pages.spaces)?;
    sandbox.pages.log.accept_recovery()?;
    Ok((sandbox, report))
}
