//! A transaction allocates nothing once everything has grown: begin, view, locks, undo,
//! older versions, commit. The whole test binary counts its allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::lock::{LockOutcome, LockStrength, RecordLockKind, RecordLockMode};
use innosim_engine::page::encoding::encode_trx_id;
use innosim_engine::page::{Column, PageId, RecordFormat, RollPointer};
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::sysvar::TransactionIsolation::{ReadCommitted, RepeatableRead};
use innosim_engine::sysvar::{Flavor, ReadViewAlgorithm};
use innosim_engine::transaction::undo::{
    RowVersion, UndoRecordKind, UpdateUndo, create_system_tablespace,
};
use innosim_engine::transaction::{
    BeginOptions, TransactionRules, TransactionSettings, Transactions,
};

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

fn allocations_of(flavor: Flavor) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(directory.path(), 400);
    let mut context = MiniTransactionContext::new(0);
    create_system_tablespace(&sandbox.pages, &mut context, directory.path(), 64).unwrap();
    let rules = TransactionRules::of_flavor(flavor);
    let settings = TransactionSettings {
        rules,
        read_view: match rules.listed_at_begin {
            true => ReadViewAlgorithm::TrxListWalk,
            false => ReadViewAlgorithm::IdVectorCopy,
        },
        rollback_segments: 2,
        undo_tablespaces: if rules.undo_tablespaces { 2 } else { 0 },
        undo_space_pages: 64,
        ..TransactionSettings::default()
    };
    let pages = sandbox.pages.clone();
    let transactions = Transactions::create(pages, directory.path(), settings).unwrap();
    let columns = [Column::fixed(4)];
    let format = RecordFormat::clustered(&[Column::fixed(4)], &columns).unwrap();
    let (mut writer, mut reader) = (transactions.session(0), transactions.session(1));
    let (mut old_id, mut old_pointer) = (0, RollPointer::NO_HISTORY);
    let (mut version, mut buffer) = (RowVersion::new(), Vec::new());
    let mut round = |number: u32| {
        let isolation = if number.is_multiple_of(2) {
            ReadCommitted
        } else {
            RepeatableRead
        };
        let begin = BeginOptions::read_write(isolation);
        transactions
            .begin(&mut reader, BeginOptions::select(isolation))
            .unwrap();
        transactions.open_view(&mut reader);
        transactions.begin(&mut writer, begin).unwrap();
        transactions.open_view(&mut writer);
        transactions.become_read_write(&mut writer).unwrap();
        let locks = transactions.locks();
        let owner = &mut writer.locks;
        let outcome = locks.lock_table_intention(owner, 7, true).unwrap();
        assert_eq!(outcome, LockOutcome::Granted);
        let page = PageId::new(5, 3 + number % 5);
        let active = transactions.system();
        locks.convert_implicit(owner, page, 9, old_id, active);
        for heap in [9, 70, 300] {
            let mode = RecordLockMode::EXCLUSIVE_RECORD;
            let _ = locks.lock_record(owner, page, heap, mode).unwrap();
            let gap = RecordLockMode::new(LockStrength::Shared, RecordLockKind::Gap);
            let _ = locks.lock_record(owner, page, heap, gap).unwrap();
        }
        let _ = locks.check_insert(owner, page, 70).unwrap();
        locks.inherit_to_inserted(page, 71, 70);
        let (key, value) = (5_u32.to_be_bytes(), number.to_be_bytes());
        let changed = [(3, Some(&value[..]))];
        let update = UpdateUndo {
            kind: UndoRecordKind::UpdateExisting,
            table_id: 7,
            info_bits: 0,
            trx_id: old_id,
            roll_pointer: old_pointer,
            key: &[Some(&key)],
            changed: &changed,
            ordering: &[],
        };
        old_pointer = transactions.write_update(&mut writer, &update).unwrap();
        old_id = writer.id();
        let (trx_id, pointer) = (encode_trx_id(old_id), old_pointer.to_bytes());
        let fields = [Some(&key[..]), Some(&trx_id), Some(&pointer), Some(&value)];
        version.set(&format, fields, 0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let view = reader.view();
        let found = transactions.visible_version(&mut mtr, view, &mut version, &mut buffer);
        mtr.commit();
        assert!(found.unwrap());
        transactions.end_statement(&mut writer);
        transactions.commit(&mut writer).unwrap();
        transactions.end_statement(&mut reader);
        transactions.commit(&mut reader).unwrap();
    };
    // Each of 256 shards of the id map has to grow once, and lists to their full length.
    for number in 0..1200 {
        round(number);
    }
    let before = ALLOCATIONS.load(Relaxed);
    for number in 0..300 {
        round(number);
    }
    ALLOCATIONS.load(Relaxed) - before
}

/// One test, so that no other one allocates meanwhile.
#[test]
fn a_transaction_allocates_nothing() {
    // Undo of these updates stays, since nobody purges it: pages are added now and then.
    for flavor in [Flavor::MySql5_6, Flavor::MySql5_7, Flavor::MySql8_4] {
        assert_eq!(allocations_of(flavor), 0, "{flavor:?}");
    }
}
