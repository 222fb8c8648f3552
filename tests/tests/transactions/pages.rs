//! What becomes of undo pages.

use innosim_engine::metrics::Level;
use innosim_engine::page::{PageId, PageType, fil, rollback_segment, transaction_system};
use innosim_engine::page_allocation::check_space;
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::runtime::LatchMode;
use innosim_engine::sysvar::{Flavor, TransactionIsolation};
use innosim_engine::transaction::BeginOptions;
use innosim_engine::transaction::undo::undo_space_id;

use super::store::Store;
use super::{create, settings, virtually};

const BEGIN: BeginOptions = BeginOptions::read_write(TransactionIsolation::RepeatableRead);

#[test]
fn header_pages_are_where_innodb_has_them() {
    virtually(1, || {
        let (sandbox, transactions) = create(&settings(Flavor::MySql8_4));
        let mut context = MiniTransactionContext::new(0);
        let mut mtr = sandbox.pages.begin(&mut context);
        let system = mtr.fix(PageId::new(0, 5), LatchMode::S).unwrap();
        let page_type = fil::PAGE_TYPE.get(mtr.page(system));
        assert_eq!(page_type.0, PageType::TransactionSystem as u16);
        let slot = transaction_system::rollback_segment_page(0);
        assert!(slot.get(mtr.page(system)).is_null());
        let array = PageId {
            space: undo_space_id(1),
            page: rollback_segment::ROLLBACK_SEGMENT_ARRAY_PAGE,
        };
        let array = mtr.fix(array, LatchMode::S).unwrap();
        assert_eq!(
            rollback_segment::array_slot(0).get(mtr.page(array)),
            transactions.undo().rollback_segments()[0].header().page
        );
        mtr.commit();
        // By turns over the tablespaces.
        let spaces = transactions.undo().rollback_segments().iter();
        let spaces: Vec<_> = spaces.map(|segment| segment.space().0).collect();
        let (first, second) = (0xFFFF_FFEF, 0xFFFF_FFEE);
        assert_eq!(spaces, [first, second, first, second]);
    });
}

#[test]
fn small_logs_share_a_page() {
    virtually(1, || {
        let mut settings = settings(Flavor::MySql8_4);
        settings.rollback_segments = 1;
        let (sandbox, transactions) = create(&settings);
        let store = Store::new(&transactions);
        let mut session = transactions.session(0);
        let used = || {
            let maps = [1, 2].map(|n| check_space(&sandbox.pages, undo_space_id(n)).unwrap());
            maps.map(|map| map.owners.len()).iter().sum::<usize>()
        };
        let before = used();
        for number in 0..20 {
            transactions.begin(&mut session, BEGIN).unwrap();
            store.put(
                &transactions,
                &mut session,
                number % 2,
                Some((number, None)),
            );
            transactions.commit(&mut session).unwrap();
        }
        // An insert and an update log in each of two rollback segments at most.
        assert!(used() <= before + 4);
        let metrics = &sandbox.pages.metrics;
        assert_eq!(metrics.level(Level::UndoSlotsUsed), 0);
        assert!(metrics.level(Level::UndoSlotsCached) >= 2);
        assert_eq!(metrics.level(Level::ActiveTransactions), 0);
    });
}

#[test]
fn a_rollback_gives_the_pages_of_a_large_transaction_back() {
    virtually(1, || {
        let (sandbox, transactions) = create(&settings(Flavor::MySql8_4));
        let store = Store::new(&transactions);
        let mut session = transactions.session(0);
        transactions.begin(&mut session, BEGIN).unwrap();
        store.put(&transactions, &mut session, 1, Some((0, None)));
        transactions.commit(&mut session).unwrap();
        transactions.begin(&mut session, BEGIN).unwrap();
        store.put(
            &transactions,
            &mut session,
            1,
            Some((1, Some(vec![1; 500]))),
        );
        let savepoint = transactions.savepoint(&session);
        let map = || check_space(&sandbox.pages, undo_space_id(2)).unwrap();
        let before = map().owners.len();
        for number in 0..3000 {
            let content = Some((number, Some(vec![2; 500])));
            store.put(&transactions, &mut session, 1, content);
        }
        let during = map().owners.len();
        assert!(during > before + 80, "{before} {during}");
        transactions
            .rollback_to(&mut session, savepoint, &store)
            .unwrap();
        assert_eq!(map().owners.len(), before);
        assert_eq!(map().faults, Vec::<String>::new());
        assert_eq!(store.contents()[&1], (1, Some(vec![1; 500])));
        // And it goes on.
        store.put(&transactions, &mut session, 1, Some((2, None)));
        transactions.rollback(&mut session, &store).unwrap();
        assert_eq!(store.contents()[&1], (0, None));
    });
}

#[test]
fn a_view_keeps_the_history_and_purge_cuts_it_when_it_closes() {
    virtually(1, || {
        let (sandbox, transactions) = create(&settings(Flavor::MySql8_4));
        let store = Store::new(&transactions);
        let (mut reader, mut writer) = (transactions.session(0), transactions.session(1));
        let mut put = |number: u32| {
            transactions.begin(&mut writer, BEGIN).unwrap();
            let content = Some((number, Some(vec![3; 900])));
            store.put(&transactions, &mut writer, number % 3, content);
            store.put(&transactions, &mut writer, 10 + number % 3, None);
            transactions.commit(&mut writer).unwrap();
        };
        for number in 0..3 {
            put(number);
        }
        transactions.begin(&mut reader, BEGIN).unwrap();
        transactions.open_view(&mut reader);
        for number in 3..300 {
            put(number);
        }
        while transactions.purge_step(&store).unwrap().pages > 0 {}
        assert_eq!(transactions.undo().history_length(), 297);
        let mut context = MiniTransactionContext::new(0);
        for key in 0..3 {
            let seen = store.read(&transactions, &reader, &mut context, key);
            assert_eq!(seen.unwrap().0, key);
        }
        let used = || {
            let maps = [1, 2].map(|n| check_space(&sandbox.pages, undo_space_id(n)).unwrap());
            maps.map(|map| map.owners.len()).iter().sum::<usize>()
        };
        let with_view = used();
        transactions.commit(&mut reader).unwrap();
        while transactions.purge_step(&store).unwrap().pages > 0 {}
        assert_eq!(transactions.undo().history_length(), 0);
        assert!(used() + 10 < with_view, "{} {with_view}", used());
    });
}
