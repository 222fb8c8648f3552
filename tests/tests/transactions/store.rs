//! A table in memory: the newest version of each row, with its system columns.

use std::collections::BTreeMap;
use std::sync::Arc;

use innosim_engine::page::encoding::encode_trx_id;
use innosim_engine::page::record::INFO_DELETED;
use innosim_engine::page::record_compare::KeyField;
use innosim_engine::page::{Column, RecordFormat, RollPointer};
use innosim_engine::redo_log::MiniTransactionContext;
use innosim_engine::runtime::{LatchClass, Mutex};
use innosim_engine::transaction::undo::{
    InsertUndo, RowVersion, UndoRecord, UndoRecordKind, UpdateUndo,
};
use innosim_engine::transaction::{
    ApplyError, PurgeApplier, PurgeView, Transaction, Transactions, UndoApplier,
};

/// The table's id.
pub const TABLE: u64 = 1234;
const VALUE: u16 = 3;
const NOTE: u16 = 4;

/// A row without its key: a number and a text that may be NULL.
pub type Content = (u32, Option<Vec<u8>>);

#[derive(Clone, Debug)]
pub struct Row {
    pub content: Content,
    pub trx_id: u64,
    pub pointer: RollPointer,
    pub deleted: bool,
}

impl Row {
    fn info_bits(&self) -> u8 {
        if self.deleted { INFO_DELETED } else { 0 }
    }
}

pub struct Store {
    format: RecordFormat,
    /// Those that are asked whether purge has passed a row.
    transactions: Mutex<Arc<Transactions>>,
    pub rows: Mutex<BTreeMap<u32, Row>>,
}

impl Store {
    pub fn new(transactions: &Arc<Transactions>) -> Store {
        let columns = [Column::fixed(4), Column::variable(1000).nullable()];
        Store {
            format: RecordFormat::clustered(&[Column::fixed(4)], &columns).unwrap(),
            transactions: Mutex::new(LatchClass::Plain, transactions.clone()),
            rows: Mutex::new(LatchClass::Plain, BTreeMap::new()),
        }
    }

    /// After a restart.
    pub fn use_transactions(&self, transactions: &Arc<Transactions>) {
        *self.transactions.lock() = transactions.clone();
    }

    fn version(&self, key: u32, row: &Row) -> RowVersion {
        let mut version = RowVersion::new();
        let (key, trx_id) = (key.to_be_bytes(), encode_trx_id(row.trx_id));
        let (pointer, value) = (row.pointer.to_bytes(), row.content.0.to_be_bytes());
        let fields = [
            Some(&key[..]),
            Some(&trx_id),
            Some(&pointer),
            Some(&value),
            row.content.1.as_deref(),
        ];
        version.set(&self.format, fields, row.info_bits());
        version
    }

    fn row_of(version: &RowVersion) -> Row {
        let value = version.field(VALUE.into()).unwrap();
        Row {
            content: (
                u32::from_be_bytes(value.try_into().unwrap()),
                version.field(NOTE.into()).map(<[u8]>::to_vec),
            ),
            trx_id: version.trx_id(),
            pointer: version.roll_pointer(),
            deleted: version.is_deleted(),
        }
    }

    /// What a transaction's view sees of a row.
    pub fn read(
        &self,
        transactions: &Transactions,
        transaction: &Transaction,
        context: &mut MiniTransactionContext,
        key: u32,
    ) -> Option<Content> {
        let rows = self.rows.lock();
        let row = rows.get(&key)?;
        let mut version = self.version(key, row);
        let mut buffer = Vec::new();
        let mut mtr = transactions.undo().pages().begin(context);
        let view = transaction.view();
        let found = transactions.visible_version(&mut mtr, view, &mut version, &mut buffer);
        mtr.commit();
        (found.unwrap() && !version.is_deleted()).then(|| Store::row_of(&version).content)
    }

    /// Whether another active transaction has changed a row.
    pub fn is_taken(
        &self,
        transactions: &Transactions,
        transaction: &Transaction,
        key: u32,
    ) -> bool {
        let writer = self.rows.lock().get(&key).map_or(0, |row| row.trx_id);
        writer != transaction.id() && transactions.system().is_active(writer)
    }

    /// Inserts, updates or deletes a row, whichever makes it what is wanted. False if it
    /// was not there already, and shall not be.
    pub fn put(
        &self,
        transactions: &Transactions,
        transaction: &mut Transaction,
        key: u32,
        wanted: Option<Content>,
    ) -> bool {
        transactions.become_read_write(transaction).unwrap();
        let mut rows = self.rows.lock();
        let key_bytes = key.to_be_bytes();
        let key_fields = [Some(&key_bytes[..])];
        let Some(row) = rows.get_mut(&key) else {
            let Some(content) = wanted else {
                return false;
            };
            let insert = InsertUndo {
                table_id: TABLE,
                key: &key_fields,
            };
            let pointer = transactions.write_insert(transaction, &insert).unwrap();
            let row = Row {
                content,
                trx_id: transaction.id(),
                pointer,
                deleted: false,
            };
            rows.insert(key, row);
            return true;
        };
        if wanted.is_none() && row.deleted {
            return false;
        }
        let kind = match (&wanted, row.deleted) {
            (None, _) => UndoRecordKind::DeleteMark,
            (Some(_), false) => UndoRecordKind::UpdateExisting,
            (Some(_), true) => UndoRecordKind::UpdateDeleted,
        };
        let value = row.content.0.to_be_bytes();
        let old: [(u16, KeyField<'_>); 2] =
            [(VALUE, Some(&value)), (NOTE, row.content.1.as_deref())];
        let update = UpdateUndo {
            kind,
            table_id: TABLE,
            info_bits: row.info_bits(),
            trx_id: row.trx_id,
            roll_pointer: row.pointer,
            key: &key_fields,
            changed: if wanted.is_some() { &old } else { &[] },
            ordering: if key.is_multiple_of(2) {
                &old[..1]
            } else {
                &[]
            },
        };
        let pointer = transactions.write_update(transaction, &update).unwrap();
        row.trx_id = transaction.id();
        row.pointer = pointer;
        row.deleted = wanted.is_none();
        if let Some(content) = wanted {
            row.content = content;
        }
        true
    }

    /// The rows that are there.
    pub fn contents(&self) -> BTreeMap<u32, Content> {
        let rows = self.rows.lock();
        let live = rows.iter().filter(|(_, row)| !row.deleted);
        live.map(|(&key, row)| (key, row.content.clone())).collect()
    }

    pub fn deleted_rows(&self) -> usize {
        self.rows.lock().values().filter(|row| row.deleted).count()
    }
}

fn key_of(record: &UndoRecord<'_>) -> u32 {
    let mut key = record.key;
    u32::from_be_bytes(key.next().flatten().unwrap().try_into().unwrap())
}

impl UndoApplier for Store {
    fn undo(
        &self,
        transaction: &Transaction,
        _: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
    ) -> Result<(), ApplyError> {
        assert_eq!(record.table_id, TABLE);
        let key = key_of(record);
        let mut rows = self.rows.lock();
        let Some(row) = rows.get_mut(&key).filter(|row| row.pointer == pointer) else {
            return Ok(());
        };
        assert_eq!(row.trx_id, transaction.id());
        let mut version = self.version(key, row);
        let mut remains = version.step_back(record)?;
        if remains {
            *row = Store::row_of(&version);
            let transactions = self.transactions.lock();
            remains = !(row.deleted && transactions.may_be_purged(row.trx_id));
        }
        if !remains {
            rows.remove(&key);
        }
        Ok(())
    }
}

impl PurgeApplier for Store {
    fn purge(
        &self,
        _: &mut MiniTransactionContext,
        record: &UndoRecord<'_>,
        pointer: RollPointer,
        view: &PurgeView,
    ) -> Result<(), ApplyError> {
        assert!(record.concerns_purge);
        let key = key_of(record);
        let mut rows = self.rows.lock();
        let row = rows.get(&key).filter(|row| row.pointer == pointer);
        if let Some(row) = row
            && row.deleted
        {
            assert!(row.trx_id < view.low_limit_id);
            rows.remove(&key);
        }
        Ok(())
    }
}
