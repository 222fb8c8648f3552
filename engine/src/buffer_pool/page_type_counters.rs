//! Reads and writes of pages, counted by the type of the page as in INNODB_METRICS.

use crate::metrics::Counter;
use crate::page::{PageBytes, PageType, fil, index_header};

/// The counter of reads of a page of this content.
pub(super) fn read_counter(page: &PageBytes) -> Counter {
    match fil::page_type(page) {
        Some(PageType::Index) if index_header::LEVEL.get(page) == 0 => Counter::IndexLeafPagesRead,
        Some(PageType::Index) => Counter::IndexNonLeafPagesRead,
        Some(PageType::UndoLog) => Counter::UndoLogPagesRead,
        Some(PageType::Inode) => Counter::InodePagesRead,
        Some(PageType::ChangeBufferBitmap) => Counter::ChangeBufferBitmapPagesRead,
        Some(PageType::System) => Counter::SystemPagesRead,
        Some(PageType::TransactionSystem) => Counter::TransactionSystemPagesRead,
        Some(PageType::SpaceHeader) => Counter::SpaceHeaderPagesRead,
        Some(PageType::ExtentDescriptors) => Counter::ExtentDescriptorPagesRead,
        Some(PageType::RollbackSegmentArray) => Counter::RollbackSegmentArrayPagesRead,
        _ => Counter::OtherPagesRead,
    }
}

/// The counter of writes of a page of this content.
pub(super) fn write_counter(page: &PageBytes) -> Counter {
    match read_counter(page) {
        Counter::IndexLeafPagesRead => Counter::IndexLeafPagesWritten,
        Counter::IndexNonLeafPagesRead => Counter::IndexNonLeafPagesWritten,
        Counter::UndoLogPagesRead => Counter::UndoLogPagesWritten,
        Counter::InodePagesRead => Counter::InodePagesWritten,
        Counter::ChangeBufferBitmapPagesRead => Counter::ChangeBufferBitmapPagesWritten,
        Counter::SystemPagesRead => Counter::SystemPagesWritten,
        Counter::TransactionSystemPagesRead => Counter::TransactionSystemPagesWritten,
        Counter::SpaceHeaderPagesRead => Counter::SpaceHeaderPagesWritten,
        Counter::ExtentDescriptorPagesRead => Counter::ExtentDescriptorPagesWritten,
        Counter::RollbackSegmentArrayPagesRead => Counter::RollbackSegmentArrayPagesWritten,
        _ => Counter::OtherPagesWritten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{NoLog, PAGE_SIZE, PageId, PageWriter};

    #[test]
    fn pages_count_by_type_and_level() {
        let mut page = [0; PAGE_SIZE];
        assert_eq!(read_counter(&page), Counter::OtherPagesRead);
        let mut log = NoLog;
        PageWriter::new(&mut page, &mut log).initialise_page(PageId::new(1, 3), PageType::Index);
        assert_eq!(write_counter(&page), Counter::IndexLeafPagesWritten);
        PageWriter::new(&mut page, &mut log).set(index_header::LEVEL, 2);
        assert_eq!(write_counter(&page), Counter::IndexNonLeafPagesWritten);
    }
}
