//! A restart in the middle: ids go on, and what was running is rolled back.

use innosim_engine::sysvar::{Flavor, TransactionIsolation};
use innosim_engine::transaction::{BeginOptions, Transactions};

use super::store::Store;
use super::{create, settings, virtually};

const BEGIN: BeginOptions = BeginOptions::read_write(TransactionIsolation::RepeatableRead);

fn restart(flavor: Flavor) {
    virtually(1, move || {
        let settings = settings(flavor);
        let (_sandbox, transactions) = create(&settings);
        let store = Store::new(&transactions);
        let mut session = transactions.session(0);
        // Enough to have the counter written down, and a history to find again.
        let mut last_id = 0;
        for number in 0..600 {
            transactions.begin(&mut session, BEGIN).unwrap();
            store.put(
                &transactions,
                &mut session,
                number % 10,
                Some((number, None)),
            );
            last_id = session.id();
            transactions.commit(&mut session).unwrap();
        }
        let history = transactions.undo().history_length();
        assert!(history > 500);
        // One that has undo of both kinds and several pages.
        let mut open = transactions.session(1);
        transactions.begin(&mut open, BEGIN).unwrap();
        for number in 0..300 {
            let content = Some((number, Some(vec![7; 200])));
            store.put(&transactions, &mut open, 5 + number % 10, content);
        }
        let before = store.contents();
        let open_id = open.id();
        let records = open.undo_records();

        let pages = transactions.undo().pages().clone();
        let (again, recovered) = Transactions::open(pages, settings.clone()).unwrap();
        assert_eq!(again.undo().history_length(), history);
        assert_eq!((recovered.len(), recovered.rows_to_undo), (1, records));
        assert!(again.system().ids().next() > open_id.max(last_id));
        assert!(again.system().is_active(open_id), "its rows are locked");
        assert_eq!(store.contents(), before);
        store.use_transactions(&again);
        assert_eq!(recovered.finish(&again, &store).unwrap(), 1);
        assert!(!again.system().is_active(open_id));
        let contents = store.contents();
        assert_eq!(contents.len(), 10);
        assert!(
            contents
                .values()
                .all(|(number, note)| *number >= 590 && note.is_none())
        );
        // A second restart finds nothing to do.
        let pages = again.undo().pages().clone();
        let (_, recovered) = Transactions::open(pages, settings).unwrap();
        assert!(recovered.is_empty());
    });
}

#[test]
fn a_restart_with_undo_tablespaces() {
    restart(Flavor::MySql8_4);
}

#[test]
fn a_restart_with_undo_in_the_system_tablespace() {
    restart(Flavor::MySql5_7);
}
