//! Where rollback segments are: the system tablespace up to 5.7, undo tablespaces of
//! their own in 8.0.
//!
//! ```text
//!   ibdata1   page 5: transaction system  --> header pages 6, 7, ...    (up to 5.7)
//!   undo_001  page 3: array of segments   --> header pages 4, 5, ...    (8.0)
//! ```
//!
//! The transaction system page exists in every version: the counter of ids is on it.

use std::path::Path;
use std::sync::Arc;

use crate::page::rollback_segment::{self as layout, MAX_ROLLBACK_SEGMENTS};
use crate::page::space_header::FLAGS_DYNAMIC_CRC32;
use crate::page::transaction_system::{self, TRANSACTION_SYSTEM_PAGE};
use crate::page::{PageId, PageNumber, PageType, SpaceId};
use crate::page_allocation::{AllocationDirection, allocate_page, create_segment, create_space};
use crate::redo_log::{MiniTransactionContext, Pages};
use crate::runtime::LatchMode;
use crate::tablespace::Tablespaces;

use super::UndoError;
use super::rollback_segment::RollbackSegment;

/// The system tablespace's file.
pub const SYSTEM_SPACE_NAME: &str = "ibdata1";
/// Its first size, in pages: 12 MiB (`innodb_data_file_path`).
pub const SYSTEM_SPACE_PAGES: u32 = 768;
/// The first size of an undo tablespace, in pages: 16 MiB.
pub const UNDO_SPACE_PAGES: u32 = 1024;

/// Its id.
pub const SYSTEM_SPACE: SpaceId = SpaceId(0);

/// The id of undo tablespace `number` (1 to 127), as MySQL 8 gives it at first.
pub const fn undo_space_id(number: usize) -> SpaceId {
    SpaceId(0xFFFF_FFF0 - number as u32)
}

/// Its file's name.
pub fn undo_file_name(number: usize) -> String {
    format!("undo_{number:03}")
}

/// Whether a file of this name is that of an undo tablespace.
pub fn is_undo_file_name(name: &str) -> bool {
    let number = name.strip_prefix("undo_");
    let number = number.and_then(|number| number.parse().ok());
    number.is_some_and(|number| undo_file_name(number) == name)
}

fn system_page() -> PageId {
    PageId {
        space: SYSTEM_SPACE,
        page: TRANSACTION_SYSTEM_PAGE,
    }
}

/// Creates the system tablespace, with the transaction system page as page 5, in an empty
/// directory.
///
/// # Errors
/// If the file exists or cannot be written.
pub fn create_system_tablespace(
    pages: &Pages,
    context: &mut MiniTransactionContext,
    directory: &Path,
    size: u32,
) -> Result<(), UndoError> {
    let path = directory.join(SYSTEM_SPACE_NAME);
    let flags = FLAGS_DYNAMIC_CRC32;
    pages
        .spaces
        .create(SYSTEM_SPACE, "innodb_system", &path, flags, size)?;
    let mut mtr = pages.begin(context);
    create_space(&mut mtr, SYSTEM_SPACE)?;
    mtr.commit();
    // Pages 3 and 4 are those of the change buffer, of which there is no more.
    let mut mtr = pages.begin(context);
    let unused = create_segment(&mut mtr, SYSTEM_SPACE)?;
    for _ in 0..2 {
        let hint = PageNumber(0);
        let page = allocate_page(&mut mtr, unused, hint, AllocationDirection::Up)?;
        let id = mtr.page_id(page);
        mtr.writer(page).initialise_page(id, PageType::System);
    }
    mtr.commit();
    let mut mtr = pages.begin(context);
    let segment = create_segment(&mut mtr, SYSTEM_SPACE)?;
    let page = allocate_page(&mut mtr, segment, PageNumber(0), AllocationDirection::Up)?;
    let id = mtr.page_id(page);
    let mut writer = mtr.writer(page);
    writer.initialise_page(id, PageType::TransactionSystem);
    writer.set(transaction_system::MAX_TRX_ID, 0);
    writer.set(transaction_system::SEGMENT, segment);
    let slots = transaction_system::rollback_segment_space(0).offset();
    writer.fill(slots, 8 * MAX_ROLLBACK_SEGMENTS, 0xFF);
    drop(writer);
    mtr.commit();
    match id == system_page() {
        true => Ok(()),
        false => Err(UndoError::Damaged {
            page: id,
            what: "the page of the transaction system",
            found: id.page.0.into(),
            accepted: "5: the tablespace was not new",
        }),
    }
}

/// Opens the system tablespace of an instance that exists, without a look at its content:
/// before redo is applied to it.
///
/// # Errors
/// If the file is not there.
pub fn open_system_tablespace(spaces: &Tablespaces, directory: &Path) -> Result<(), UndoError> {
    let path = directory.join(SYSTEM_SPACE_NAME);
    spaces.open_unchecked(SYSTEM_SPACE, "innodb_system", &path)?;
    Ok(())
}

/// Writes the counter of ids down.
///
/// # Errors
/// If the page cannot be had.
pub fn store_max_trx_id(
    pages: &Pages,
    context: &mut MiniTransactionContext,
    value: u64,
) -> Result<(), UndoError> {
    let mut mtr = pages.begin(context);
    let page = mtr.fix(system_page(), LatchMode::X)?;
    // Of two that come here at once the higher one counts.
    if transaction_system::MAX_TRX_ID.get(mtr.page(page)) < value {
        mtr.writer(page).set(transaction_system::MAX_TRX_ID, value);
    }
    mtr.commit();
    Ok(())
}

/// The counter, as it was written down last.
///
/// # Errors
/// If the page cannot be had.
pub fn load_max_trx_id(
    pages: &Pages,
    context: &mut MiniTransactionContext,
) -> Result<u64, UndoError> {
    let mut mtr = pages.begin(context);
    let page = mtr.fix(system_page(), LatchMode::S)?;
    let value = transaction_system::MAX_TRX_ID.get(mtr.page(page));
    mtr.commit();
    Ok(value)
}

/// Creates so many rollback segments in the system tablespace.
pub(super) fn create_in_system_space(
    pages: &Pages,
    context: &mut MiniTransactionContext,
    count: usize,
) -> Result<Vec<Arc<RollbackSegment>>, UndoError> {
    let mut segments = Vec::new();
    for slot in 0..count.min(MAX_ROLLBACK_SEGMENTS) {
        let mut mtr = pages.begin(context);
        let page = mtr.fix(system_page(), LatchMode::X)?;
        let header = RollbackSegment::create_header(&mut mtr, SYSTEM_SPACE)?;
        let mut writer = mtr.writer(page);
        writer.set(
            transaction_system::rollback_segment_space(slot),
            SYSTEM_SPACE,
        );
        writer.set(transaction_system::rollback_segment_page(slot), header);
        drop(writer);
        mtr.commit();
        let segment = RollbackSegment::new(segments.len(), SYSTEM_SPACE, header, slot as u8);
        segments.push(Arc::new(segment));
    }
    Ok(segments)
}

/// The rollback segments that the transaction system page lists.
pub(super) fn load_from_system_space(
    pages: &Pages,
    context: &mut MiniTransactionContext,
) -> Result<Vec<Arc<RollbackSegment>>, UndoError> {
    let mut mtr = pages.begin(context);
    let page = mtr.fix(system_page(), LatchMode::S)?;
    let bytes = mtr.page(page);
    let mut segments = Vec::new();
    for slot in 0..MAX_ROLLBACK_SEGMENTS {
        let header = transaction_system::rollback_segment_page(slot).get(bytes);
        if !header.is_null() {
            let space = transaction_system::rollback_segment_space(slot).get(bytes);
            let segment = RollbackSegment::new(segments.len(), space, header, slot as u8);
            segments.push(Arc::new(segment));
        }
    }
    mtr.commit();
    Ok(segments)
}

/// Creates undo tablespace `number` with so many rollback segments. Returns their header
/// pages.
pub(super) fn create_undo_tablespace(
    pages: &Pages,
    context: &mut MiniTransactionContext,
    directory: &Path,
    number: usize,
    (size, count): (u32, usize),
) -> Result<Vec<PageNumber>, UndoError> {
    let space = undo_space_id(number);
    let path = directory.join(undo_file_name(number));
    let name = format!("innodb_undo_{number:03}");
    pages
        .spaces
        .create(space, &name, &path, FLAGS_DYNAMIC_CRC32, size)?;
    let mut mtr = pages.begin(context);
    create_space(&mut mtr, space)?;
    mtr.commit();
    let mut mtr = pages.begin(context);
    let segment = create_segment(&mut mtr, space)?;
    let page = allocate_page(&mut mtr, segment, PageNumber(0), AllocationDirection::Up)?;
    let array = mtr.page_id(page);
    let mut writer = mtr.writer(page);
    writer.initialise_page(array, PageType::RollbackSegmentArray);
    writer.set(
        layout::ARRAY_VERSION,
        layout::ROLLBACK_SEGMENT_ARRAY_VERSION,
    );
    writer.set(layout::ARRAY_SIZE, count as u32);
    writer.set(layout::ARRAY_SEGMENT, segment);
    let slots = layout::array_slot(0).offset();
    writer.fill(slots, 4 * MAX_ROLLBACK_SEGMENTS, 0xFF);
    drop(writer);
    mtr.commit();
    if array.page != layout::ROLLBACK_SEGMENT_ARRAY_PAGE {
        return Err(UndoError::Damaged {
            page: array,
            what: "the page of the rollback segment array",
            found: array.page.0.into(),
            accepted: "3: the tablespace was not new",
        });
    }
    let mut headers = Vec::new();
    for slot in 0..count.min(MAX_ROLLBACK_SEGMENTS) {
        let mut mtr = pages.begin(context);
        let page = mtr.fix(array, LatchMode::X)?;
        let header = RollbackSegment::create_header(&mut mtr, space)?;
        mtr.writer(page).set(layout::array_slot(slot), header);
        mtr.commit();
        headers.push(header);
    }
    Ok(headers)
}

/// The header pages that an undo tablespace lists; it is open.
pub(super) fn load_undo_tablespace(
    pages: &Pages,
    context: &mut MiniTransactionContext,
    number: usize,
) -> Result<Vec<PageNumber>, UndoError> {
    let id = PageId {
        space: undo_space_id(number),
        page: layout::ROLLBACK_SEGMENT_ARRAY_PAGE,
    };
    let mut mtr = pages.begin(context);
    let page = mtr.fix(id, LatchMode::S)?;
    let bytes = mtr.page(page);
    let version = layout::ARRAY_VERSION.get(bytes);
    let headers = (0..MAX_ROLLBACK_SEGMENTS)
        .map(|slot| layout::array_slot(slot).get(bytes))
        .filter(|header| !header.is_null())
        .collect();
    mtr.commit();
    match version == layout::ROLLBACK_SEGMENT_ARRAY_VERSION {
        true => Ok(headers),
        false => Err(UndoError::Damaged {
            page: id,
            what: "RSEG_ARRAY_VERSION",
            found: version.into(),
            accepted: "0x52534548 (\"RSEH\")",
        }),
    }
}

/// Puts the segments of several undo tablespaces in the order in which they are assigned:
/// by turns over the tablespaces.
pub(super) fn by_turns(headers: &[Vec<PageNumber>]) -> Vec<Arc<RollbackSegment>> {
    let longest = headers.iter().map(Vec::len).max().unwrap_or(0);
    let mut segments: Vec<Arc<RollbackSegment>> = Vec::new();
    for slot in 0..longest {
        for (index, headers) in headers.iter().enumerate() {
            if let Some(&header) = headers.get(slot) {
                let number = index + 1;
                let space = undo_space_id(number);
                let segment = RollbackSegment::new(segments.len(), space, header, number as u8);
                segments.push(Arc::new(segment));
            }
        }
    }
    segments
}
