//! Older versions of rows.

use super::dictionary::Table;
use super::error::TableError;
use super::store::RowStore;
use crate::page::{PAGE_SIZE, PageBytes, Record};
use crate::redo_log::MiniTransactionContext;
use crate::transaction::ReadView;

/// A page that holds one record, an older version of a row: records are read where they
/// lie on a page, so a version gets a page of its own.
pub(super) struct VersionPage(Box<PageBytes>);

impl Default for VersionPage {
    fn default() -> Self {
        VersionPage(Box::new([0; PAGE_SIZE]))
    }
}

impl std::fmt::Debug for VersionPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VersionPage")
    }
}

/// The version of a row that a view sees.
pub(super) enum Visible<'r> {
    /// The record itself.
    Current,
    /// An older one.
    Older(Record<'r>),
    /// None: the row came later.
    Nothing,
}

/// Finds the version of a clustered record that a view sees.
pub(super) fn visible<'r>(
    store: &RowStore,
    view: &ReadView,
    context: &mut MiniTransactionContext,
    table: &Table,
    record: Record<'_>,
    page: &'r mut VersionPage,
) -> Result<Visible<'r>, TableError> {
    if view.sees(record.trx_id(table.layout().clustered())) {
        return Ok(Visible::Current);
    }
    Ok(Visible::Nothing)
}
