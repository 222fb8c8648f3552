//! The pages that an engine starts with, looked at before anything is changed.
//!
//! ```text
//!   page                             if it is damaged
//!   0 of every tablespace            nothing can be allocated
//!   5 of ibdata1                     no transaction can be numbered
//!   3 of undo_001, ...               no history can be found
//!   roots of the tables' trees       no row can be found
//! ```
//!
//! Recovery writes: it repairs torn pages, replaces the doublewrite files, cuts the redo
//! log at its end. An engine that found only then that it cannot start would leave less
//! than there was, for those who want to save what they can. So these pages are read
//! first. A page need not be sound if its copy is about to be written over it, or if redo
//! makes it anew.

use super::error::EngineError;
use crate::doublewrite::Examination;
use crate::page::rollback_segment::ROLLBACK_SEGMENT_ARRAY_PAGE;
use crate::page::space_header::SPACE_HEADER_PAGE;
use crate::page::transaction_system::TRANSACTION_SYSTEM_PAGE;
use crate::page::{PageId, PageNumber, SpaceId};
use crate::redo_log::Recovery;
use crate::table::dictionary_file::{DictionaryContent, TableState};
use crate::tablespace::Tablespaces;
use crate::transaction::TransactionSettings;
use crate::transaction::undo::{SYSTEM_SPACE, undo_space_id};

/// Checks the pages of open tablespaces that the engine starts with.
///
/// # Errors
/// The first page that is damaged and will not be repaired, or newer than the end of the
/// redo log; or a tablespace of another page size or format, or shorter than it should be.
pub(super) fn check(
    spaces: &Tablespaces,
    content: &DictionaryContent,
    settings: &TransactionSettings,
    recovery: &Recovery,
    torn: &Examination,
) -> Result<(), EngineError> {
    let end_lsn = recovery.report().end_lsn;
    let is_replaced = |page| recovery.makes(page) || torn.restores(page);
    let check_space = |space: SpaceId, others: &[PageNumber]| {
        let header = SPACE_HEADER_PAGE;
        if !is_replaced(PageId {
            space,
            page: header,
        }) {
            spaces.check_header(space, end_lsn)?;
        }
        for &page in others {
            if !is_replaced(PageId { space, page }) {
                spaces.check_page(PageId { space, page }, end_lsn)?;
            }
        }
        Ok::<(), EngineError>(())
    };
    check_space(SYSTEM_SPACE, &[TRANSACTION_SYSTEM_PAGE])?;
    for number in 1..=settings.undo_tablespaces {
        check_space(undo_space_id(number), &[ROLLBACK_SEGMENT_ARRAY_PAGE])?;
    }
    for entry in &content.tables {
        if entry.state == TableState::Ready {
            let roots = entry.indexes.iter().map(|index| PageNumber(index.root));
            check_space(SpaceId(entry.space), &roots.collect::<Vec<_>>())?;
        }
    }
    Ok(())
}
