//! The ledger: what clients were told, and whether what a recovery has left agrees.
//!
//! It lives outside of the machine that crashes. A client notes each change once the
//! statement has returned, when the row is locked until its transaction ends; so the notes
//! about a row stand in the order in which its transactions committed:
//!
//! ```text
//!   row 17     as loaded ─► k + 1 ─► c = … ─► k + 1 ─► deleted, inserted
//!                            by 3     by 8     by 9         by 12
//!                          told      told    commit sent   commit not sent
//!                          └─ must be ───┘   └ may be ┘    └ must not be ┘
//!
//!   accepted: the versions after 8 and after 9, nothing older, nothing newer
//! ```
//!
//! A transaction whose commit was sent and not answered is *in doubt*: it is there on all
//! of its rows, or on none. What a recovery has left is what the next crash begins with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::fault::{Fault, FaultKind};

/// A row by table, counted from 1, and primary key.
pub type RowKey = (u32, i64);

/// All rows of all tables.
pub type Rows = BTreeMap<RowKey, RowImage>;

/// The columns of a row; the texts by their fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowImage {
    /// Column k.
    pub k: i64,
    /// Of column c.
    pub c: u64,
    /// Of column pad.
    pub pad: u64,
}

/// A number that stands for a text, blanks at its end aside: the same in every process of
/// this program. Two texts of one number are not to be expected in 10^9 of them.
pub fn fingerprint(text: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim_ascii_end().hash(&mut hasher);
    hasher.finish()
}

/// What a statement has done to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Added to k.
    AddToK(i64),
    /// Set c.
    SetC(u64),
    /// Deleted the row.
    Delete,
    /// Inserted it.
    Insert(RowImage),
}

impl Change {
    /// The row afterwards. An error where the change could not have been made.
    fn apply(self, row: Option<RowImage>) -> Result<Option<RowImage>, &'static str> {
        match (self, row) {
            (Change::Insert(_), Some(_)) => Err("inserted though it was there"),
            (Change::Insert(new), None) => Ok(Some(new)),
            (_, None) => Err("changed though it was not there"),
            (Change::Delete, Some(_)) => Ok(None),
            (Change::AddToK(by), Some(row)) => Ok(Some(RowImage {
                k: row.k + by,
                ..row
            })),
            (Change::SetC(c), Some(row)) => Ok(Some(RowImage { c, ..row })),
        }
    }
}

/// What a client notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A statement of the open transaction has changed a row.
    Changed(RowKey, Change),
    /// COMMIT is sent.
    Committing,
    /// COMMIT is answered: the transaction is durable.
    Committed,
    /// The transaction is rolled back, or the insert has failed.
    RolledBack,
    /// An INSERT that commits by itself is sent, into this table.
    Inserting(u32, RowImage),
    /// It is answered: the row is durable, and this is its primary key.
    Inserted(i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// COMMIT has not been sent.
    Open,
    /// It has not been answered.
    InDoubt,
    /// It has been answered.
    Acknowledged,
}

#[derive(Debug)]
struct Transaction {
    client: u32,
    state: State,
    rows: Vec<RowKey>,
}

/// What the clients have noted since the last recovery, and what was there then.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Nothing until the first look at the rows.
    base: Option<Rows>,
    /// By number; those that were rolled back have no rows.
    transactions: Vec<Transaction>,
    /// The open transaction of each client.
    open: BTreeMap<u32, usize>,
    /// Changes of rows, each with the number of its transaction.
    changed: BTreeMap<RowKey, Vec<(usize, Change)>>,
    /// Inserts that were sent and not answered, by client.
    inserting: BTreeMap<u32, (u32, RowImage)>,
    acknowledged: u64,
    /// What looks at the rows have told and nobody has taken.
    told: Judgement,
}

/// What a look at the rows has told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What is wrong.
    pub faults: Vec<Fault>,
    /// Transactions whose clients were told.
    pub acknowledged: u64,
    /// Transactions in doubt that are there.
    pub in_doubt_committed: u64,
    /// Transactions in doubt that are not.
    pub in_doubt_lost: u64,
    /// Transactions that had not got as far as COMMIT.
    pub unfinished: u64,
}

impl Ledger {
    /// A client's note.
    pub fn note(&mut self, client: u32, event: Event) {
        match event {
            Event::Changed(row, change) => {
                let number = self.transaction_of(client);
                self.add(number, row, change);
            }
            Event::Committing => {
                let number = self.transaction_of(client);
                self.transactions[number].state = State::InDoubt;
            }
            Event::Committed => {
                if let Some(number) = self.open.remove(&client) {
                    self.transactions[number].state = State::Acknowledged;
                    self.acknowledged += 1;
                }
            }
            Event::RolledBack => {
                self.inserting.remove(&client);
                if let Some(number) = self.open.remove(&client) {
                    for row in std::mem::take(&mut self.transactions[number].rows) {
                        if let Some(changes) = self.changed.get_mut(&row) {
                            changes.retain(|(by, _)| *by != number);
                        }
                    }
                    self.transactions[number].state = State::Open;
                }
            }
            Event::Inserting(table, row) => {
                self.inserting.insert(client, (table, row));
            }
            Event::Inserted(id) => {
                if let Some((table, row)) = self.inserting.remove(&client) {
                    let number = self.begin(client, State::Acknowledged);
                    self.add(number, (table, id), Change::Insert(row));
                    self.acknowledged += 1;
                }
            }
        }
    }

    fn begin(&mut self, client: u32, state: State) -> usize {
        self.transactions.push(Transaction {
            client,
            state,
            rows: Vec::new(),
        });
        self.transactions.len() - 1
    }

    fn transaction_of(&mut self, client: u32) -> usize {
        if let Some(&number) = self.open.get(&client) {
            return number;
        }
        let number = self.begin(client, State::Open);
        self.open.insert(client, number);
        number
    }

    fn add(&mut self, number: usize, row: RowKey, change: Change) {
        self.transactions[number].rows.push(row);
        self.changed.entry(row).or_default().push((number, change));
    }

    /// Transactions whose clients have been told since the last look at the rows.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Compares the rows that a recovery has left with the notes; the first time there is
    /// nothing to compare. Then they are what notes are compared with from now on.
    pub fn judge(&mut self, found: Rows) {
        let mut judgement = std::mem::take(&mut self.told);
        if let Some(base) = self.base.take() {
            Judge::new(self, &base, &found, &mut judgement).judge();
        }
        *self = Ledger {
            base: Some(found),
            told: judgement,
            ..Ledger::default()
        };
    }

    /// What [`judge`](Self::judge) has told since this was last called. The power may fail
    /// in between.
    pub fn take_judgement(&mut self) -> Judgement {
        std::mem::take(&mut self.told)
    }
}

/// One look at the rows.
struct Judge<'a> {
    ledger: &'a Ledger,
    base: &'a Rows,
    found: &'a Rows,
    judgement: &'a mut Judgement,
    /// For each transaction: is it there, on a row; is it not there, on a row.
    there: Vec<Option<RowKey>>,
    not_there: Vec<Option<RowKey>>,
}

impl<'a> Judge<'a> {
    fn new(
        ledger: &'a Ledger,
        base: &'a Rows,
        found: &'a Rows,
        judgement: &'a mut Judgement,
    ) -> Self {
        let transactions = ledger.transactions.len();
        Judge {
            ledger,
            base,
            found,
            judgement,
            there: vec![None; transactions],
            not_there: vec![None; transactions],
        }
    }

    fn fault(&mut self, kind: FaultKind, text: String) {
        self.judgement.faults.push(Fault { kind, text });
    }

    fn judge(mut self) {
        let mut inserting: Vec<_> = self.ledger.inserting.iter().collect();
        let in_doubt = inserting.len();
        let keys: BTreeSet<RowKey> = self.base.keys().chain(self.found.keys()).copied().collect();
        for key in keys {
            let (before, now) = (self.base.get(&key), self.found.get(&key));
            if before == now || self.ledger.changed.contains_key(&key) {
                continue;
            }
            let insert = inserting.iter().position(|(_, (table, row))| {
                before.is_none() && *table == key.0 && Some(row) == now
            });
            match insert {
                Some(index) => drop(inserting.remove(index)),
                None => self.fault(
                    FaultKind::HalfDone,
                    format!(
                        "{}: was {}, and nobody has changed it; it is {}",
                        Name(key),
                        Image(before.copied()),
                        Image(now.copied())
                    ),
                ),
            }
        }
        for (&key, changes) in &self.ledger.changed {
            self.row(key, changes);
        }
        self.judgement.in_doubt_lost += inserting.len() as u64;
        self.judgement.in_doubt_committed += (in_doubt - inserting.len()) as u64;
        self.transactions();
    }

    /// A row that was changed.
    fn row(&mut self, key: RowKey, changes: &[(usize, Change)]) {
        let found = self.found.get(&key).copied();
        // Versions, each with the transaction that made it; the first was there before.
        let mut versions = vec![(None, self.base.get(&key).copied())];
        let mut version = versions[0].1;
        let mut first_accepted = 0;
        for (index, &(number, change)) in changes.iter().enumerate() {
            let state = self.ledger.transactions[number].state;
            if state == State::Open {
                continue;
            }
            version = match change.apply(version) {
                Ok(version) => version,
                Err(what) => {
                    let name = Name(key);
                    let text = format!("{name}: {change:?} by transaction {number}: {what}");
                    return self.fault(FaultKind::HalfDone, text);
                }
            };
            if changes.get(index + 1).is_none_or(|next| next.0 != number) {
                versions.push((Some(number), version));
                if state == State::Acknowledged {
                    first_accepted = versions.len() - 1;
                }
            }
        }
        let same = |(_, version): &(Option<usize>, Option<RowImage>)| *version == found;
        let accepted = &versions[first_accepted..];
        let Some(least) = accepted.iter().position(same) else {
            let older = versions[..first_accepted].iter().rposition(same);
            let (_, expected) = versions[first_accepted];
            let (name, now, expected) = (Name(key), Image(found), Image(expected));
            return match older {
                Some(older) => {
                    let lost = first_accepted - older;
                    let text = format!(
                        "{name}: the last {lost} of its {first_accepted} acknowledged versions \
                         are lost: it is {now}, expected {expected}"
                    );
                    self.fault(FaultKind::LostCommit, text)
                }
                None => {
                    let text = format!(
                        "{name}: it is {now}, which no transaction that sent COMMIT has made; \
                         expected {expected} or a later version"
                    );
                    self.fault(FaultKind::HalfDone, text)
                }
            };
        };
        let most = accepted.iter().rposition(same).unwrap_or(least);
        for (index, (by, _)) in accepted.iter().enumerate().skip(1) {
            let Some(number) = *by else { continue };
            // Between the two, several versions are the same, and nothing is known.
            if index <= least {
                self.there[number].get_or_insert(key);
            } else if index > most {
                self.not_there[number].get_or_insert(key);
            }
        }
    }

    /// What the rows tell of each transaction together.
    fn transactions(&mut self) {
        self.judgement.acknowledged += self.ledger.acknowledged;
        for (number, transaction) in self.ledger.transactions.iter().enumerate() {
            if transaction.state == State::Open {
                self.judgement.unfinished += u64::from(!transaction.rows.is_empty());
            }
            if transaction.state != State::InDoubt {
                continue;
            }
            match (self.there[number], self.not_there[number]) {
                (Some(there), Some(not_there)) => {
                    let (client, there, not_there) =
                        (transaction.client, Name(there), Name(not_there));
                    let text = format!(
                        "a transaction of client {client} is there on {there}, and not on \
                         {not_there}"
                    );
                    self.fault(FaultKind::HalfDone, text);
                }
                (Some(_), None) => self.judgement.in_doubt_committed += 1,
                _ => self.judgement.in_doubt_lost += 1,
            }
        }
    }
}

/// A row in a sentence.
struct Name(RowKey);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, id) = self.0;
        write!(f, "sbtest{table}, row {id}")
    }
}

/// Its columns.
struct Image(Option<RowImage>);

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("not there"),
            Some(RowImage { k, c, pad }) => write!(f, "(k {k}, c #{c:016x}, pad #{pad:016x})"),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
