//! What a mini-transaction holds, and when it lets go.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use innosim_engine::buffer_pool::FixMode;
use innosim_engine::metrics::Counter;
use innosim_engine::page::{PageType, SpaceId, fil};
use innosim_engine::redo_log::sandbox::Sandbox;
use innosim_engine::redo_log::{FileOperation, MiniTransactionContext};
use innosim_engine::runtime::time::MILLISECOND;
use innosim_engine::runtime::{LatchClass, LatchMode, PageLatch, WaitKind, sleep, spawn};

use super::support::{SPACE, page, under_both_clocks};

fn sandbox(directory: &Path) -> Sandbox {
    let sandbox = Sandbox::new(directory, 100);
    sandbox.create_space(SpaceId(SPACE), 64);
    sandbox
}

/// Makes pages 0 to 19.
fn with_pages(directory: &Path) -> Sandbox {
    let sandbox = sandbox(directory);
    let mut context = MiniTransactionContext::new(0);
    for number in 0..20 {
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = mtr.fix_new(page(number)).unwrap();
        mtr.writer(handle)
            .initialise_page(page(number), PageType::UndoLog);
        assert!(mtr.commit() > 0);
    }
    sandbox
}

/// The message of the panic that `body` ends in.
fn panic_of(body: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(body)).expect_err("it panics");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => (*payload.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[test]
fn a_commit_stamps_the_pages_and_makes_them_dirty() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let pages = &sandbox.pages;
        sandbox.flush_all();
        let mut context = MiniTransactionContext::new(0);
        let before = pages.log.current_lsn();
        let requests = pages.metrics.total(Counter::LogWriteRequests);

        let mut mtr = pages.begin(&mut context);
        let read = mtr.fix(page(1), LatchMode::S).unwrap();
        let untouched = mtr.fix(page(2), LatchMode::X).unwrap();
        let changed = mtr.fix(page(3), LatchMode::X).unwrap();
        // A writer that changes nothing does not make its page dirty.
        mtr.writer(untouched).write(100, &[0; 4]);
        mtr.writer(changed).write(100, b"some");
        assert!(!mtr.is_modified(untouched) && mtr.is_modified(changed));
        assert_eq!(mtr.page(read)[100..104], [0; 4]);
        let end = mtr.commit();

        assert_eq!(pages.log.current_lsn(), end);
        assert!(end > before && end - before < 30, "{before} {end}");
        assert_eq!(pages.metrics.total(Counter::LogWriteRequests), requests + 1);
        assert_eq!(pages.pool.oldest_modification_lsn(), Some(before));
        assert_eq!(pages.pool.statistics(0).dirty, 1);
        let mut mtr = pages.begin(&mut context);
        let handle = mtr.fix(page(3), LatchMode::S).unwrap();
        assert_eq!(fil::PAGE_LSN.get(mtr.page(handle)), end);
        assert_eq!(mtr.commit(), 0, "nothing was changed");
        assert_eq!(pages.pool.fixed_pages(), 0);

        sandbox.flush_all();
        assert_eq!(pages.pool.oldest_modification_lsn(), None);
        assert_eq!(pages.log.closed_lsn(), end);
    });
}

#[test]
fn a_page_is_answered_from_the_memo() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let first = mtr.fix(page(1), LatchMode::SX).unwrap();
        assert_eq!(mtr.fix(page(1), LatchMode::S).unwrap(), first);
        assert_eq!(mtr.mode(first), LatchMode::SX);
        assert_eq!(mtr.fix(page(1), LatchMode::X).unwrap(), first);
        assert_eq!(mtr.mode(first), LatchMode::X);
        assert_eq!(mtr.fix_new(page(1)).unwrap(), first);
        assert_eq!(mtr.try_fix(page(1), LatchMode::X).unwrap(), Some(first));
        assert_eq!(mtr.held_page(page(1)), Some(first));
        assert_eq!(mtr.held_page(page(2)), None);
        // It was asked for five times.
        for _ in 0..4 {
            mtr.release(first);
            assert_eq!(mtr.page_id(first), page(1));
        }
        mtr.release(first);
        assert_eq!(mtr.held_page(page(1)), None);
        assert_eq!(sandbox.pages.pool.fixed_pages(), 0);
        mtr.commit();
    });
}

#[test]
fn sx_becomes_x_when_the_readers_have_left() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let pages = sandbox.pages.clone();
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = pages.begin(&mut context);
        let handle = mtr.fix(page(1), LatchMode::SX).unwrap();
        let reader = {
            let pages = pages.clone();
            spawn("reader", move || {
                let mut context = MiniTransactionContext::new(1);
                let mut mtr = pages.begin(&mut context);
                let handle = mtr.fix(page(1), LatchMode::S).unwrap();
                sleep(20 * MILLISECOND, WaitKind::Other);
                let byte = mtr.page(handle)[100];
                mtr.commit();
                byte
            })
        };
        sleep(5 * MILLISECOND, WaitKind::Other);
        mtr.fix(page(1), LatchMode::X).unwrap();
        mtr.writer(handle).write(100, &[7]);
        mtr.commit();
        assert_eq!(reader.join(), 0, "it read before the change");
    });
}

#[test]
fn what_was_not_changed_can_be_given_up() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let pages = &sandbox.pages;
        let mut context = MiniTransactionContext::new(0);
        let latch = Arc::new(PageLatch::of_class(LatchClass::IndexTree));
        let mut mtr = pages.begin(&mut context);
        mtr.hold(&latch, LatchMode::S);
        let root = mtr.fix(page(1), LatchMode::S).unwrap();
        let savepoint = mtr.savepoint();
        mtr.fix(page(2), LatchMode::S).unwrap();
        let leaf = mtr.fix(page(3), LatchMode::X).unwrap();
        // Held before the mark: stays.
        mtr.fix(page(1), LatchMode::S).unwrap();
        mtr.release_since(savepoint);
        assert_eq!(pages.pool.fixed_pages(), 1);
        assert_eq!(mtr.page_id(root), page(1));
        assert_eq!(mtr.latch_mode(&latch), Some(LatchMode::S));
        mtr.release_latch(&latch);
        assert_eq!(mtr.latch_mode(&latch), None);
        assert!(!latch.is_locked());

        let again = mtr.fix(page(3), LatchMode::X).unwrap();
        assert_ne!(again, leaf, "an old handle is void");
        let void = panic_of(|| {
            mtr.page(leaf);
        });
        assert!(void.contains("after its page was released"), "{void}");
        mtr.writer(again).write(100, &[1]);
        let kept = panic_of(|| mtr.release(again));
        assert!(kept.contains("space 5 page 3 was changed"), "{kept}");
        assert!(mtr.commit() > 0);
        assert_eq!(pages.pool.fixed_pages(), 0);
    });
}

#[test]
fn stronger_than_s_is_a_fault_of_the_caller() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let read = mtr.fix(page(1), LatchMode::S).unwrap();
        let text = panic_of(|| drop(mtr.fix(page(1), LatchMode::X)));
        assert_eq!(text, "space 5 page 1 is held in S and wanted in X");
        let text = panic_of(|| drop(mtr.writer(read)));
        assert!(
            text.contains("held in S, so it cannot be changed"),
            "{text}"
        );
        mtr.commit();
    });
}

#[test]
fn a_mini_transaction_that_changed_something_must_be_committed() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        mtr.fix(page(1), LatchMode::X).unwrap();
        drop(mtr);
        assert_eq!(sandbox.pages.pool.fixed_pages(), 0);
        let text = panic_of(|| {
            let mut mtr = sandbox.pages.begin(&mut context);
            let handle = mtr.fix(page(4), LatchMode::X).unwrap();
            mtr.writer(handle).write(50, &[1]);
        });
        assert!(text.contains("changed space 5 page 4"), "{text}");
    });
}

#[test]
fn a_page_that_somebody_has_is_not_waited_for() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let (mut one, mut two) = (
            MiniTransactionContext::new(0),
            MiniTransactionContext::new(1),
        );
        let mut holder = sandbox.pages.begin(&mut one);
        holder.fix(page(1), LatchMode::X).unwrap();
        let mut mtr = sandbox.pages.begin(&mut two);
        assert_eq!(mtr.try_fix(page(1), LatchMode::S).unwrap(), None);
        assert!(mtr.try_fix(page(2), LatchMode::S).unwrap().is_some());
        let absent = mtr.fix_with(page(60), LatchMode::S, FixMode::IfInPool);
        assert!(absent.is_err());
        mtr.commit();
        holder.commit();
        assert_eq!(sandbox.pages.pool.fixed_pages(), 0);
    });
}

#[test]
fn without_a_log_pages_become_dirty_all_the_same() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let pages = &sandbox.pages;
        sandbox.flush_all();
        let before = pages.log.current_lsn();
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = pages.begin(&mut context);
        mtr.set_no_log();
        let handle = mtr.fix(page(1), LatchMode::X).unwrap();
        mtr.writer(handle).write(100, &[1]);
        assert_eq!(mtr.commit(), 0);
        assert_eq!(pages.log.current_lsn(), before);
        assert_eq!(pages.pool.statistics(0).dirty, 1);
        assert!(pages.pool.oldest_modification_lsn() <= Some(before));
        sandbox.flush_all();
    });
}

#[test]
fn a_group_larger_than_the_buffer_is_copied_in_pieces() {
    under_both_clocks(|directory| {
        let sandbox = with_pages(directory);
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let handle = mtr.fix(page(1), LatchMode::X).unwrap();
        // 1.6 MB, into a buffer of 1 MiB and links of 64 KiB.
        for round in 1..=100 {
            mtr.writer(handle).write(200, &[round; 16_000]);
        }
        mtr.log_file_operation(&FileOperation::Extend {
            space: SpaceId(SPACE),
            pages: 64,
        });
        let end = mtr.commit();
        assert_eq!(sandbox.pages.log.ready_lsn(), end);
        assert_eq!(sandbox.pages.log.closed_lsn(), end);
        sandbox.flush_all();
    });
}
