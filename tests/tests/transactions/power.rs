//! Power cuts under transactions whose rows are on a page: with redo applied and what was
//! running rolled back, all is as if each transaction had happened or not, and those whose
//! users were told have happened.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

use innosim_engine::buffer_pool::{BufferPoolSettings, LruBatch};
use innosim_engine::lock::{LockOutcome, RecordLockMode};
use innosim_engine::metrics::Metrics;
use innosim_engine::page::encoding::{decode_trx_id, encode_trx_id};
use innosim_engine::page::{Field, PageId, PageType, RollPointer, SpaceId};
use innosim_engine::page_allocation::check_space;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{
    CommitPolicy, MiniTransactionContext, Pages, RedoLog, RedoSettings,
};
use innosim_engine::runtime::files::{Crash, FileSystem};
use innosim_engine::runtime::profile::CpuProfile;
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{MICROSECOND, MILLISECOND, NEVER};
use innosim_engine::runtime::virtual_clock::disk::{CacheProtection, DiskProfile};
use innosim_engine::runtime::virtual_clock::{Outcome, Simulation, SimulationOptions};
use innosim_engine::runtime::{LatchMode, WaitKind, sleep, spawn, stream};
use innosim_engine::sysvar::{Flavor, TransactionIsolation};
use innosim_engine::transaction::undo::{
    UndoRecord, UndoRecordKind, UpdateUndo, create_system_tablespace, open_system_tablespace,
    undo_space_id,
};
use innosim_engine::transaction::{
    ApplyError, BeginOptions, PurgeApplier, PurgeView, Transaction, TransactionSettings,
    Transactions, UndoApplier,
};
use innosim_tests::disk::solid_state_disk;

use super::settings;

const DIRECTORY: &str = "/test";
const SPACE: SpaceId = SpaceId(5);
const ROWS_PAGE: u32 = 3;
const TABLE: u64 = 9;
const FRAMES: usize = 400;
/// Each user has a row of its own that counts its transactions, and there are accounts.
const USERS: u32 = 6;
const ACCOUNTS: u32 = 8;
const START: u32 = 1000;
const BEGIN: BeginOptions = BeginOptions::read_write(TransactionIsolation::RepeatableRead);

/// A row: a number, DB_TRX_ID and DB_ROLL_PTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    value: u32,
    trx_id: u64,
    pointer: RollPointer,
}

fn field(row: u32) -> Field<[u8; 16]> {
    Field::new(100 + 20 * row as usize, "ROW")
}

impl Row {
    fn to_bytes(self) -> [u8; 16] {
        // In one field, so that it takes part of 16 bytes: 4, 5 and 7.
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&self.value.to_be_bytes());
        bytes[4..9].copy_from_slice(&encode_trx_id(self.trx_id)[1..]);
        bytes[9..].copy_from_slice(&self.pointer.to_bytes());
        bytes
    }

    fn from_bytes(bytes: [u8; 16]) -> Row {
        let mut trx_id = [0; 6];
        trx_id[1..].copy_from_slice(&bytes[4..9]);
        Row {
            value: u32::from_be_bytes(bytes[..4].try_into().unwrap()),
            trx_id: decode_trx_id(trx_id),
            pointer: RollPointer::from_bytes(bytes[9..].try_into().unwrap()),
        }
    }
}

/// The rows on their page.
struct Table {
    pages: Arc<Pages>,
}

impl Table {
    fn page() -> PageId {
        PageId {
            space: SPACE,
            page: innosim_engine::page::PageNumber(ROWS_PAGE),
        }
    }

    fn create(pages: &Pages) {
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = pages.begin(&mut context);
        let page = mtr.fix_new(Table::page()).unwrap();
        let mut writer = mtr.writer(page);
        writer.initialise_page(Table::page(), PageType::System);
        for row in 0..USERS + ACCOUNTS {
            let value = if row < USERS { 0 } else { START };
            let (trx_id, pointer) = (0, RollPointer::NO_HISTORY);
            let bytes = Row {
                value,
                trx_id,
                pointer,
            }
            .to_bytes();
            writer.set(field(row), bytes);
        }
        drop(writer);
        mtr.commit();
    }

    fn row(&self, context: &mut MiniTransactionContext, row: u32) -> Row {
        let mut mtr = self.pages.begin(context);
        let page = mtr.fix(Table::page(), LatchMode::S).unwrap();
        let bytes = field(row).get(mtr.page(page));
        mtr.commit();
        Row::from_bytes(bytes)
    }

    /// Adds to a row that the transaction has locked.
    fn add(
        &self,
        transactions: &Transactions,
        transaction: &mut Transaction,
        context: &mut MiniTransactionContext,
        row: u32,
        amount: i32,
    ) {
        self.pages.log.free_check().unwrap();
        let mut mtr = self.pages.begin(context);
        let page = mtr.fix(Table::page(), LatchMode::X).unwrap();
        let old = Row::from_bytes(field(row).get(mtr.page(page)));
        let (key, value) = (row.to_be_bytes(), old.value.to_be_bytes());
        let update = UpdateUndo {
            kind: UndoRecordKind::UpdateExisting,
            table_id: TABLE,
            info_bits: 0,
            trx_id: old.trx_id,
            roll_pointer: old.pointer,
            key: &[Some(&key)],
            changed: &[(3, Some(&value))],
            ordering: &[(3, Some(&value))],
        };
        let pointer = transactions.write_update(transaction, &update).unwrap();
        let new = Row {
            value: old.value.wrapping_add_signed(amount),
            trx_id: transaction.id(),
            pointer,
        };
        mtr.writer(page).set(field(row), new.to_bytes());
        mtr.commit();
    }
}

impl UndoApplier for Table {
    fn undo(
        &self,
        _: &Transaction,
        context: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
    ) -> Result<(), ApplyError> {
        let mut key = record.key;
        let row = u32::from_be_bytes(key.next().flatten().unwrap().try_into()?);
        let mut mtr = self.pages.begin(context);
        let page = mtr.fix(Table::page(), LatchMode::X)?;
        let now = Row::from_bytes(field(row).get(mtr.page(page)));
        if now.pointer == pointer {
            let mut before = record.before.unwrap();
            let value = before.changed.next().and_then(|(_, value)| value).unwrap();
            let old = Row {
                value: u32::from_be_bytes(value.try_into()?),
                trx_id: before.trx_id,
                pointer: before.roll_pointer,
            };
            mtr.writer(page).set(field(row), old.to_bytes());
        }
        mtr.commit();
        Ok(())
    }
}

impl PurgeApplier for Table {
    fn purge(
        &self,
        _: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        _: RollPointer,
        _: &PurgeView,
    ) -> Result<(), ApplyError> {
        assert_eq!(record.table_id, TABLE);
        Ok(())
    }
}

fn lock(transactions: &Transactions, transaction: &mut Transaction, row: u32) -> bool {
    transactions.become_read_write(transaction).unwrap();
    let locks = transactions.locks();
    loop {
        let mode = RecordLockMode::EXCLUSIVE_RECORD;
        let heap = row as u16 + 2;
        // Rows of a transaction that was running at the cut are still its own.
        match locks.lock_record(&mut transaction.locks, Table::page(), heap, mode) {
            Ok(LockOutcome::Granted) => return true,
            Ok(LockOutcome::Wait) if locks.wait(&mut transaction.locks).is_ok() => {}
            _ => return false,
        }
    }
}

/// Transactions whose users were told that they are durable, by user.
type Told = Arc<[AtomicU64; USERS as usize]>;

fn user(transactions: &Transactions, table: &Table, number: u32, told: &Told) {
    let mut stream = stream(&format!("user {number}"));
    let mut transaction = transactions.session(number as usize);
    let mut context = MiniTransactionContext::new(number as usize);
    loop {
        transactions.begin(&mut transaction, BEGIN).unwrap();
        let account = |stream: &mut Stream| USERS + stream.below(ACCOUNTS.into()) as u32;
        let (from, to) = (account(&mut stream), account(&mut stream));
        let mut goes_on = [number, from, to]
            .into_iter()
            .all(|row| lock(transactions, &mut transaction, row));
        if goes_on {
            let transaction = &mut transaction;
            table.add(transactions, transaction, &mut context, number, 1);
            // Now and then a transaction with several undo pages.
            let times = if stream.below(12) == 0 { 300 } else { 1 };
            for _ in 0..times {
                table.add(transactions, transaction, &mut context, from, -1);
                table.add(transactions, transaction, &mut context, to, 1);
            }
            goes_on = stream.below(5) > 0;
        }
        if goes_on {
            let end = transactions.commit(&mut transaction).unwrap();
            let log = &table.pages.log;
            log.commit_wait(end, CommitPolicy::Flush).unwrap();
            let value = table.row(&mut context, number).value;
            told[number as usize].store(value.into(), Release);
        } else {
            transactions.rollback(&mut transaction, table).unwrap();
        }
    }
}

/// Writes pages now and then, so that checkpoints can be made.
fn cleaner(pages: &Pages) {
    let mut stream = stream("cleaner");
    loop {
        let target = pages.log.sync_flush_target();
        let most = target.map_or(stream.below(20) as usize, |_| usize::MAX);
        pages
            .pool
            .flush_list_batch(0, most, target.unwrap_or(NEVER));
        pages.log.pages_were_flushed();
        pages.pool.flush_lru_batch(0, &LruBatch { scan_depth: 8 });
        sleep((200 + stream.below(3000)) * MICROSECOND, WaitKind::Other);
    }
}

fn sandbox(log: Arc<RedoLog>, metrics: Arc<Metrics>) -> Sandbox {
    let pool = BufferPoolSettings::new((FRAMES * 16384) as u64, 1);
    Sandbox::with(Path::new(DIRECTORY), &pool, log, metrics)
}

fn prepare(settings: &TransactionSettings) {
    let directory = Path::new(DIRECTORY);
    let metrics = Arc::new(Metrics::new(1));
    let files = FileSystem::new();
    files.create_directory(directory).unwrap();
    let log = RedoLog::create(files, directory, &RedoSettings::small(), metrics.clone());
    let sandbox = sandbox(log.unwrap(), metrics);
    sandbox.start_log();
    let mut context = MiniTransactionContext::new(0);
    create_system_tablespace(&sandbox.pages, &mut context, directory, 64).unwrap();
    Transactions::create(sandbox.pages.clone(), directory, settings.clone()).unwrap();
    sandbox.create_space(SPACE, 8);
    Table::create(&sandbox.pages);
    sandbox.flush_all();
    sandbox.pages.log.stop().unwrap();
}

/// What recovery finds, over all cuts.
#[derive(Default)]
struct Figures {
    rolled_back: AtomicU64,
    rows_undone: AtomicU64,
}

/// Recovers, checks, and leaves everything ready for use.
fn recover(
    settings: &TransactionSettings,
    told: &Told,
    figures: &Figures,
) -> (Sandbox, Arc<Transactions>, Arc<Table>) {
    let directory = Path::new(DIRECTORY);
    let metrics = Arc::new(Metrics::new(1));
    let redo = RedoSettings::small();
    let files = FileSystem::new();
    let recovery = RedoLog::open_for_recovery(files, directory, &redo, metrics.clone()).unwrap();
    let sandbox = sandbox(recovery.log().clone(), metrics);
    let pages = &sandbox.pages;
    open_system_tablespace(&pages.spaces, directory).unwrap();
    Transactions::open_undo_tablespaces(&pages.spaces, directory, settings).unwrap();
    sandbox.open_space(SPACE);
    recovery.apply(&pages.pool, &pages.spaces).unwrap();
    pages.log.accept_recovery().unwrap();
    sandbox.start_log();
    let cleaning = pages.clone();
    spawn("cleaner", move || cleaner(&cleaning));
    let opened = Transactions::open(pages.clone(), settings.clone());
    let (transactions, recovered) = opened.unwrap();
    figures
        .rows_undone
        .fetch_add(recovered.rows_to_undo, Relaxed);
    let table = Arc::new(Table {
        pages: pages.clone(),
    });
    let count = recovered.finish(&transactions, &*table).unwrap();
    figures.rolled_back.fetch_add(count as u64, Relaxed);
    let mut context = MiniTransactionContext::new(0);
    let mut value = |row| table.row(&mut context, row).value;
    let accounts = USERS..USERS + ACCOUNTS;
    let sum = accounts.map(&mut value).fold(0, u32::wrapping_add);
    assert_eq!(sum, ACCOUNTS * START);
    for user in 0..USERS {
        let (told, value) = (&told[user as usize], u64::from(value(user)));
        let before = told.load(Acquire);
        assert!((before..=before + 1).contains(&value), "{before} {value}");
        // What was recovered counts from now on, also if the power fails before the user is
        // told anything.
        told.store(value, Release);
    }
    for row in 0..USERS + ACCOUNTS {
        let trx_id = table.row(&mut context, row).trx_id;
        assert!(trx_id < transactions.system().ids().next());
    }
    let spaces = match settings.undo_tablespaces {
        0 => vec![SpaceId(0)],
        count => (1..=count).map(undo_space_id).collect(),
    };
    for space in spaces {
        let faults = check_space(pages, space).unwrap().faults;
        assert_eq!(faults, Vec::<String>::new());
    }
    (sandbox, transactions, table)
}

fn options(seed: u64) -> SimulationOptions {
    let mut disk = solid_state_disk();
    if let DiskProfile::SolidState(disk) = &mut disk {
        disk.cache = CacheProtection::Volatile;
        disk.atomic_write_bytes = 16384;
    }
    SimulationOptions {
        disks: vec![("disk".to_owned(), disk)],
        ..SimulationOptions::new(CpuProfile::uniform(4), seed)
    }
}

fn cuts(flavor: Flavor, seed: u64) -> Arc<Figures> {
    let mut simulation = Simulation::new(&options(seed)).unwrap();
    let mut stream = Stream::new(seed, "cuts");
    let mut settings = settings(flavor);
    settings.purge_threads = 2;
    settings.purge_batch_size = 30;
    settings.purge_truncate_frequency = 3;
    let for_start = settings.clone();
    simulation.run(move || prepare(&for_start)).unwrap();
    let told: Told = Arc::new([const { AtomicU64::new(0) }; USERS as usize]);
    let figures = Arc::new(Figures::default());
    for _ in 0..5 {
        let length = match stream.below(4) {
            // Perhaps in the middle of recovery.
            0 => stream.below(10_000) * MICROSECOND,
            _ => (10 + stream.below(100)) * MILLISECOND,
        };
        let at = simulation.now() + length;
        let (settings, told, figures) = (settings.clone(), told.clone(), figures.clone());
        let outcome = simulation.run_until(at, move || {
            let (_sandbox, transactions, table) = recover(&settings, &told, &figures);
            let _purge = transactions.start_purge(table.clone());
            for number in 0..USERS {
                let (transactions, table) = (transactions.clone(), table.clone());
                let told = told.clone();
                spawn("user", move || user(&transactions, &table, number, &told));
            }
            sleep(NEVER, WaitKind::Other);
        });
        assert!(matches!(outcome.unwrap(), Outcome::PowerCut));
        simulation.resolve_crash(Crash::PowerLoss).unwrap();
    }
    let (told, result) = (told.clone(), figures.clone());
    let last = simulation.run(move || {
        let (_sandbox, transactions, table) = recover(&settings, &told, &figures);
        while transactions.purge_step(&*table).unwrap().pages > 0 {}
        assert_eq!(transactions.undo().history_length(), 0);
        assert!(told.iter().any(|told| told.load(Relaxed) > 20));
    });
    last.unwrap();
    result
}

#[test]
fn every_transaction_happened_or_did_not() {
    for flavor in [Flavor::MySql8_4, Flavor::MySql5_7] {
        let (mut rolled_back, mut rows) = (0, 0);
        for seed in 1..=10 {
            let figures = cuts(flavor, seed);
            rolled_back += figures.rolled_back.load(Relaxed);
            rows += figures.rows_undone.load(Relaxed);
        }
        assert!(rolled_back > 20, "{rolled_back} transactions rolled back");
        assert!(rows > 500, "{rows} rows restored");
    }
}
