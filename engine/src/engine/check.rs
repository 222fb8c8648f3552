//! Everything that must hold in an engine at rest: trees, lists, pools, and that tables
//! and their indexes say the same.

use std::collections::BTreeSet;

use std::fmt::Write;

use super::Engine;
use super::error::EngineError;
use crate::btree::{BtreeLatch, check_tree, move_next, search_leaf};
use crate::page::SearchMode;
use crate::page_allocation::check_space;
use crate::redo_log::MiniTransactionContext;
use crate::table::{FieldBuffer, Table};

impl Engine {
    /// Looks for everything that is wrong: in the buffer pool's lists, in the allocation
    /// of every tablespace, in every tree; and entries of secondary indexes without a row,
    /// or rows without an entry. A sentence each; none if all is well. A page that cannot
    /// be read is a fault, and the check goes on.
    ///
    /// Only for an engine at rest: no session is at work, and its tasks have nothing to do
    /// (or it is stepped). Reads all pages.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for space in self.pages.spaces.iter() {
            match check_space(&self.pages, space.id()) {
                Ok(map) => {
                    let of_space = map.faults.iter();
                    faults.extend(of_space.map(|fault| format!("{}: {fault}", space.name())));
                }
                Err(error) => faults.push(format!("{}: {error}", space.name())),
            }
        }
        for table in self.dictionary().tables() {
            let mut is_sound = true;
            for index in table.indexes() {
                match check_tree(&self.pages, index) {
                    Ok(report) => {
                        is_sound &= report.faults.is_empty();
                        let of_tree = report.faults.iter();
                        faults
                            .extend(of_tree.map(|fault| format!("index {}: {fault}", index.name)));
                    }
                    Err(error) => {
                        is_sound = false;
                        faults.push(format!("index {}: {error}", index.name));
                    }
                }
            }
            // A walk over a broken tree may not end.
            if is_sound && let Err(error) = self.compare_indexes(&table, &mut faults) {
                faults.push(format!("table {}: {error}", table.clustered().name));
            }
        }
        faults.extend(self.pages.pool.faults());
        let fixed = self.pages.pool.fixed_pages();
        if fixed > 0 {
            faults.push(format!("{fixed} uses of pages were not given back"));
        }
        let not_purged = self.rows.transactions.purge_failures();
        if not_purged > 0 {
            faults.push(format!("{not_purged} undo records could not be purged"));
        }
        if let Some(trouble) = self.doublewrite.trouble() {
            faults.push(format!("pages cannot be written: {}", trouble.message));
        }
        if let Some(reason) = self.pages.log.failure() {
            faults.push(format!("redo cannot be written: {reason}"));
        }
        faults
    }

    /// Compares the rows of a table with the entries of its secondary indexes: each row
    /// that is not delete-marked has one entry, not marked; each entry that is not marked
    /// belongs to a row.
    fn compare_indexes(&self, table: &Table, faults: &mut Vec<String>) -> Result<(), EngineError> {
        let mut context = MiniTransactionContext::new(0);
        let clustered = &**table.clustered();
        for (index, of_index) in table.secondary_with_layouts() {
            let mut expected = BTreeSet::new();
            for (of_tree, is_clustered) in [(clustered, true), (index, false)] {
                let mut mtr = self.pages.begin(&mut context);
                let (mode, latch) = (SearchMode::GreaterOrEqual, BtreeLatch::SearchLeaf);
                let mut position = search_leaf(&mut mtr, of_tree, &[], mode, latch)?;
                let mut more =
                    position.is_at_record() || move_next(&mut mtr, of_tree, &mut position)?;
                while more {
                    let record = position.record(&mtr);
                    if !record.is_delete_marked() {
                        let fields = of_tree.format.columns().len();
                        let fields: Vec<_> = match is_clustered {
                            true => {
                                let row = |field| record.field(&of_tree.format, field);
                                of_index.entry(row).to_vec()
                            }
                            false => (0..fields)
                                .map(|field| record.field(&of_tree.format, field))
                                .collect(),
                        };
                        let mut entry = FieldBuffer::new();
                        entry.copy(&fields);
                        if is_clustered {
                            expected.insert(entry);
                        } else if !expected.remove(&entry) {
                            faults.push(format!(
                                "index {}: the entry {} belongs to no row",
                                index.name,
                                in_words(&entry)
                            ));
                        }
                    }
                    more = move_next(&mut mtr, of_tree, &mut position)?;
                }
                mtr.commit();
            }
            for entry in expected {
                faults.push(format!(
                    "index {}: a row has no entry {}",
                    index.name,
                    in_words(&entry)
                ));
            }
        }
        Ok(())
    }
}

/// The fields of an entry as they are stored, in hexadecimal digits.
fn in_words(entry: &FieldBuffer) -> String {
    let mut text = String::from("(");
    for (number, field) in entry.iter().enumerate() {
        if number > 0 {
            text.push_str(", ");
        }
        match field {
            None => text.push_str("NULL"),
            Some(bytes) => {
                text.push_str("0x");
                for byte in bytes {
                    write!(text, "{byte:02x}").expect("a string takes all");
                }
            }
        }
    }
    text.push(')');
    text
}
