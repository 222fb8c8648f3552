//! Notes of few transactions, and what rows they accept.

use super::*;

const ROW: RowKey = (1, 17);
const OTHER: RowKey = (2, 5);

fn image(k: i64) -> RowImage {
    RowImage { k, c: 1, pad: 2 }
}

fn rows<const N: usize>(rows: [(RowKey, RowImage); N]) -> Rows {
    rows.into_iter().collect()
}

fn judge(ledger: &mut Ledger, found: Rows) -> Judgement {
    ledger.judge(found);
    ledger.take_judgement()
}

/// Two rows with k = 0, and these notes.
fn ledger<const N: usize>(notes: [(u32, Event); N]) -> Ledger {
    let mut ledger = Ledger::default();
    let start = judge(&mut ledger, rows([(ROW, image(0)), (OTHER, image(0))]));
    assert_eq!(start, Judgement::default());
    for (client, event) in notes {
        ledger.note(client, event);
    }
    ledger
}

fn plus(row: RowKey, by: i64) -> Event {
    Event::Changed(row, Change::AddToK(by))
}

fn kinds(judgement: &Judgement) -> Vec<FaultKind> {
    judgement.faults.iter().map(|fault| fault.kind).collect()
}

#[test]
fn what_was_acknowledged_must_be_there() {
    let notes = [
        (1, plus(ROW, 1)),
        (1, Event::Committing),
        (1, Event::Committed),
    ];
    let good = judge(
        &mut ledger(notes),
        rows([(ROW, image(1)), (OTHER, image(0))]),
    );
    assert_eq!((good.acknowledged, kinds(&good)), (1, vec![]));
    let lost = judge(
        &mut ledger(notes),
        rows([(ROW, image(0)), (OTHER, image(0))]),
    );
    assert_eq!(kinds(&lost), [FaultKind::LostCommit]);
    let neither = judge(
        &mut ledger(notes),
        rows([(ROW, image(5)), (OTHER, image(0))]),
    );
    assert_eq!(kinds(&neither), [FaultKind::HalfDone]);
    let gone = judge(&mut ledger(notes), rows([(OTHER, image(0))]));
    assert_eq!(kinds(&gone), [FaultKind::HalfDone]);
}

#[test]
fn what_was_not_committed_must_not_be_there() {
    let notes = [(1, plus(ROW, 1))];
    let good = judge(
        &mut ledger(notes),
        rows([(ROW, image(0)), (OTHER, image(0))]),
    );
    assert_eq!((good.unfinished, kinds(&good)), (1, vec![]));
    let half_done = judge(
        &mut ledger(notes),
        rows([(ROW, image(1)), (OTHER, image(0))]),
    );
    assert_eq!(kinds(&half_done), [FaultKind::HalfDone]);
    // Rolled back: as if it had not been, whoever changed the row afterwards.
    let notes = [
        (1, plus(ROW, 1)),
        (2, plus(ROW, 10)),
        (1, Event::RolledBack),
        (2, Event::Committing),
        (2, Event::Committed),
    ];
    let good = judge(
        &mut ledger(notes),
        rows([(ROW, image(10)), (OTHER, image(0))]),
    );
    assert_eq!(kinds(&good), []);
}

#[test]
fn what_is_in_doubt_is_there_as_a_whole_or_not_at_all() {
    let notes = [
        (1, plus(ROW, 1)),
        (1, Event::Changed(OTHER, Change::Delete)),
        (1, Event::Changed(OTHER, Change::Insert(image(7)))),
        (1, Event::Committing),
    ];
    let with = |row, other| {
        let found = rows([(ROW, image(row)), (OTHER, image(other))]);
        judge(&mut ledger(notes), found)
    };
    let (all, nothing) = (with(1, 7), with(0, 0));
    assert_eq!((all.in_doubt_committed, kinds(&all)), (1, vec![]));
    assert_eq!((nothing.in_doubt_lost, kinds(&nothing)), (1, vec![]));
    assert_eq!(kinds(&with(1, 0)), [FaultKind::HalfDone]);
    assert_eq!(kinds(&with(0, 7)), [FaultKind::HalfDone]);
    // Between delete and insert.
    let gone = judge(&mut ledger(notes), rows([(ROW, image(1))]));
    assert_eq!(kinds(&gone), [FaultKind::HalfDone]);
}

#[test]
fn versions_of_a_row_are_there_in_their_order() {
    let notes = [
        (1, plus(ROW, 1)),
        (1, Event::Committing),
        (2, plus(ROW, 1)),
        (2, plus(OTHER, 1)),
        (2, Event::Committing),
        (2, Event::Committed),
    ];
    // The second was told, so the first must be there, too.
    let good = judge(
        &mut ledger(notes),
        rows([(ROW, image(2)), (OTHER, image(1))]),
    );
    assert_eq!(kinds(&good), []);
    let lost = judge(
        &mut ledger(notes),
        rows([(ROW, image(1)), (OTHER, image(1))]),
    );
    assert_eq!(kinds(&lost), [FaultKind::LostCommit]);
}

#[test]
fn a_version_that_looks_like_another_tells_nothing() {
    let notes = [
        (1, plus(ROW, 1)),
        (1, plus(OTHER, 1)),
        (1, Event::Committing),
        (2, plus(ROW, -1)),
        (2, Event::Committing),
    ];
    let first = judge(
        &mut ledger(notes),
        rows([(ROW, image(0)), (OTHER, image(1))]),
    );
    assert_eq!(kinds(&first), []);
    let nothing = judge(
        &mut ledger(notes),
        rows([(ROW, image(0)), (OTHER, image(0))]),
    );
    assert_eq!(kinds(&nothing), []);
    let half = judge(
        &mut ledger(notes),
        rows([(ROW, image(1)), (OTHER, image(0))]),
    );
    assert_eq!(kinds(&half), [FaultKind::HalfDone]);
}

#[test]
fn an_insert_that_commits_by_itself_may_have_any_key() {
    let (old, new) = ((ROW, image(0)), ((1, 99), image(3)));
    let sent = [(1, Event::Inserting(1, image(3)))];
    let other = (OTHER, image(0));
    let there = judge(&mut ledger(sent), rows([old, other, new]));
    assert_eq!((there.in_doubt_committed, kinds(&there)), (1, vec![]));
    let not_there = judge(&mut ledger(sent), rows([old, other]));
    assert_eq!((not_there.in_doubt_lost, kinds(&not_there)), (1, vec![]));
    let twice = judge(
        &mut ledger(sent),
        rows([old, other, new, ((1, 100), image(3))]),
    );
    assert_eq!(kinds(&twice), [FaultKind::HalfDone]);
    let told = [sent[0], (1, Event::Inserted(99))];
    let there = judge(&mut ledger(told), rows([old, other, new]));
    assert_eq!((there.acknowledged, kinds(&there)), (1, vec![]));
    let lost = judge(&mut ledger(told), rows([old, other]));
    assert_eq!(kinds(&lost), [FaultKind::LostCommit]);
    let failed = [sent[0], (1, Event::RolledBack)];
    let half_done = judge(&mut ledger(failed), rows([old, other, new]));
    assert_eq!(kinds(&half_done), [FaultKind::HalfDone]);
}

#[test]
fn blanks_at_the_end_do_not_tell_texts_apart() {
    assert_eq!(fingerprint(b"ab  "), fingerprint(b"ab"));
    assert_ne!(fingerprint(b"ab"), fingerprint(b"ba"));
}
