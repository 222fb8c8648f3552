//! Searches, walks and changes within a page allocate nothing once the task is warm: the
//! whole test binary counts its allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use innosim_engine::btree::{
    BtreeLatch, BulkLoadOptions, Changer, FieldChange, Index, IndexDefinition, PersistentCursor,
    SystemFields, TreeAccess, bulk_load, move_next, search_leaf, seek, set_delete_mark,
    update_in_place,
};
use innosim_engine::page::{Column, RecordBuffer, RecordFormat, RollPointer, SearchMode, SpaceId};
use innosim_engine::page_allocation::create_space;
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::redo_log::sandbox::Sandbox;

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

const SPACE: SpaceId = SpaceId(1);
const ROWS: u32 = 20_000;

fn build(format: &RecordFormat, number: u32, record: &mut RecordBuffer) {
    let key = number.to_be_bytes();
    let roll = RollPointer::NO_HISTORY.to_bytes();
    let fields = [Some(&key[..]), Some(&[0; 6]), Some(&roll), Some(&[7; 100])];
    format.build(&fields, record).unwrap();
}

#[test]
fn warm_work_allocates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::new(directory.path(), 1000);
    sandbox.create_space(SPACE, 4);
    let pages = &sandbox.pages;
    let mut context = MiniTransactionContext::new(0);
    let format = RecordFormat::clustered(&[Column::fixed(4)], &[Column::variable(200)]).unwrap();
    let mut mtr = pages.begin(&mut context);
    create_space(&mut mtr, SPACE).unwrap();
    let definition = IndexDefinition {
        id: 1,
        name: "t.PRIMARY".to_owned(),
        unique_fields: 1,
        format,
    };
    let index = Index::create(&mut mtr, SPACE, definition).unwrap();
    mtr.commit();
    let mut number = 0;
    let options = BulkLoadOptions::default();
    bulk_load(pages, &mut context, &index, options, |record| {
        number += 2;
        build(&index.format, number, record);
        Ok(number <= 2 * ROWS)
    })
    .unwrap();

    let changer = Changer::without_locks(9);
    let mut record = RecordBuffer::new();
    let mut cursor = PersistentCursor::new();
    let mut work = |rounds: std::ops::Range<u32>| {
        for round in rounds {
            let number = round * 7919 % ROWS * 2 + 2;
            let key = number.to_be_bytes();
            let key = [Some(&key[..])];
            // A point and a range of a hundred.
            let mut mtr = pages.begin(&mut context);
            let found = seek(&mut mtr, &index, &key, false, BtreeLatch::SearchLeaf);
            let mut position = found.unwrap().unwrap();
            cursor.store(&mut mtr, &index, &position);
            for _ in 0..100 {
                move_next(&mut mtr, &index, &mut position).unwrap();
            }
            mtr.commit();
            // Back to the point, and a change of a row.
            let mut mtr = pages.begin(&mut context);
            cursor
                .restore(&mut mtr, &index, BtreeLatch::SearchLeaf)
                .unwrap();
            mtr.commit();
            let mut mtr = pages.begin(&mut context);
            let (mode, latch) = (SearchMode::LessOrEqual, BtreeLatch::ModifyLeaf);
            let position = search_leaf(&mut mtr, &index, &key, mode, latch).unwrap();
            let change = FieldChange {
                field: 3,
                value: Some(&[round as u8; 100]),
            };
            let system = Some(SystemFields {
                trx_id: round.into(),
                roll_pointer: RollPointer::NO_HISTORY,
            });
            assert!(update_in_place(
                &mut mtr,
                &index,
                &position,
                &[change],
                system,
                changer
            ));
            set_delete_mark(&mut mtr, &index, &position, true, system, changer);
            set_delete_mark(&mut mtr, &index, &position, false, system, changer);
            mtr.commit();
            // A new row, and out with it.
            build(&index.format, number + 1, &mut record);
            let key = (number + 1).to_be_bytes();
            let key = [Some(&key[..])];
            let mut tree = TreeAccess {
                pages,
                context: &mut context,
                index: &index,
                changer,
            };
            assert!(tree.insert(&key, record.image()).unwrap());
            assert!(tree.remove(&key).unwrap());
        }
    };
    work(0..500);
    let before = ALLOCATIONS.load(Relaxed);
    work(500..2500);
    assert_eq!(ALLOCATIONS.load(Relaxed) - before, 0);
}
