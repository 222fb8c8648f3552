//! Reading what the redo files hold: good blocks, complete groups, and what stands behind
//! the end.
//!
//! ```text
//!   checkpoint's block                    first block that is not good
//!      |                                        |
//!      [good][good][good][good][good][good]     x   [good?] ...
//!      \____ scan: redo without framing __/     |   \_ a hole, or an old round
//!      \____ parse: complete groups __/ torn    end
//! ```

use super::{BLOCK, Group, RecoveryReport};
use crate::page::Lsn;
use crate::redo_log::block::{
    BLOCK_SIZE, BlockHeader, HEADER_SIZE, TRAILER, block_number, block_start, checksum, epoch,
    lsn_of, sn_of, stored_checksum,
};
use crate::redo_log::error::RedoLogError;
use crate::redo_log::file_format::Checkpoint;
use crate::redo_log::log_files::LogFiles;
use crate::redo_log::record::{RecordFault, read_group};
use crate::runtime::{Cost, WaitKind, cpu_times};

/// Bytes read at a time: four pages (InnoDB's `RECV_SCAN_SIZE`).
const SCAN_SIZE: usize = 64 << 10;

/// What the scan of the blocks has found.
pub(super) struct Scan {
    /// Redo from the first group that begins at or behind the checkpoint's block.
    pub(super) payload: Vec<u8>,
    /// The LSN of its first byte, once a group has begun.
    pub(super) payload_start: Option<Lsn>,
    /// The end of good blocks.
    pub(super) end: Lsn,
}

/// Checks that the files hold the checkpoint.
pub(super) fn check_range(files: &LogFiles, checkpoint: &Checkpoint) -> Result<(), RedoLogError> {
    match files.range() {
        Some((first, end)) if !(first..=end).contains(&block_start(checkpoint.lsn)) => {
            Err(RedoLogError::CheckpointOutside {
                directory: files.directory().to_path_buf(),
                lsn: checkpoint.lsn,
                first,
                end,
            })
        }
        _ => Ok(()),
    }
}

/// Whether a block is what should be at this LSN.
pub(super) fn is_good(block: &[u8; BLOCK_SIZE], lsn: Lsn) -> bool {
    let header = BlockHeader::read(block);
    header.number == block_number(lsn)
        && header.epoch == epoch(lsn)
        && (HEADER_SIZE..=BLOCK_SIZE).contains(&usize::from(header.length))
        && usize::from(header.first_group) < TRAILER
        && stored_checksum(block) == checksum(block)
}

/// Reads blocks from the one of `from` on, for as long as they are good.
pub(super) fn scan(files: &LogFiles, from: Lsn) -> Result<Scan, RedoLogError> {
    let first = block_start(from);
    let mut scan = Scan {
        payload: Vec::new(),
        payload_start: None,
        end: first + HEADER_SIZE as u64,
    };
    let last = files.ring_length().map(|length| first + length);
    let mut buffer = vec![0; SCAN_SIZE];
    let mut at = first;
    while last.is_none_or(|last| at < last)
        && let Some(file) = files.file_of(at)
    {
        let length = (SCAN_SIZE as u64).min(file.end - at);
        let chunk = &mut buffer[..length as usize];
        file.file.read_at(chunk, file.offset(at), WaitKind::Other)?;
        cpu_times(Cost::LogBlock, length / BLOCK);
        let (blocks, _) = chunk.as_chunks::<BLOCK_SIZE>();
        for block in blocks {
            if !is_good(block, at) {
                return Ok(scan);
            }
            let header = BlockHeader::read(block);
            let used = usize::from(header.length).min(TRAILER);
            let mut redo_from = HEADER_SIZE;
            if scan.payload_start.is_none() && header.first_group != 0 {
                redo_from = usize::from(header.first_group);
                scan.payload_start = Some(at + u64::from(header.first_group));
            }
            if scan.payload_start.is_some() && redo_from < used {
                scan.payload.extend_from_slice(&block[redo_from..used]);
            }
            if usize::from(header.length) < BLOCK_SIZE {
                scan.end = scan.end.max(at + u64::from(header.length));
                return Ok(scan);
            }
            at += BLOCK;
            scan.end = at + HEADER_SIZE as u64;
        }
    }
    Ok(scan)
}

/// The end of the last good block that follows the end of the log, if there is one. Only
/// this file can have such blocks, as with [`clear_what_follows`].
pub(super) fn end_behind_hole(files: &LogFiles, log_end: Lsn) -> Result<Option<Lsn>, RedoLogError> {
    let mut at = block_start(log_end) + BLOCK;
    let stop = files
        .file_of(block_start(log_end))
        .map_or(at, |file| file.end);
    let mut buffer = vec![0; SCAN_SIZE];
    let mut end = None;
    while at < stop
        && let Some(file) = files.file_of(at)
    {
        let length = (SCAN_SIZE as u64).min(file.end - at);
        let chunk = &mut buffer[..length as usize];
        file.file.read_at(chunk, file.offset(at), WaitKind::Other)?;
        let (blocks, _) = chunk.as_chunks::<BLOCK_SIZE>();
        for block in blocks {
            // Cheap for zeros: they have another number.
            if is_good(block, at) {
                let length = u64::from(BlockHeader::read(block).length);
                end = Some(at + length.min(TRAILER as u64));
            }
            at += BLOCK;
        }
    }
    Ok(end)
}

/// A file that follows was begun after all of this one had been flushed.
pub(super) fn check_nothing_follows(files: &LogFiles, scan: &Scan) -> Result<(), RedoLogError> {
    let at = block_start(scan.end);
    if let (Some(file), Some((_, end))) = (files.file_of(at), files.range())
        && file.end < end
    {
        return Err(RedoLogError::Damaged {
            path: file.file.path().to_path_buf(),
            lsn: at,
            offset: file.offset(at),
        });
    }
    Ok(())
}

/// Finds the complete groups.
pub(super) fn parse(
    scan: &Scan,
    checkpoint: &Checkpoint,
    report: &mut RecoveryReport,
) -> Result<Vec<Group>, RedoLogError> {
    let mut groups = Vec::new();
    let start = scan.payload_start.unwrap_or(checkpoint.lsn);
    let start_sn = sn_of(start);
    let mut rest = &scan.payload[..];
    let mut at = start_sn;
    while !rest.is_empty() {
        let mut records = 0;
        let before = rest.len();
        let lsn = lsn_of(at);
        match read_group(&mut rest, |_| records += 1) {
            Ok(()) => {}
            Err(RecordFault::Incomplete) => break,
            Err(fault) => return Err(RedoLogError::Record { lsn, fault }),
        }
        let offset = (at - start_sn) as usize;
        at += (before - rest.len()) as u64;
        // What begins before the checkpoint is in its pages.
        if lsn >= checkpoint.lsn {
            report.records += records;
            groups.push(Group {
                offset,
                start: lsn,
                end: lsn_of(at),
            });
        }
    }
    report.groups = groups.len() as u64;
    report.torn_bytes = rest.len() as u64;
    report.end_lsn = lsn_of(at).max(checkpoint.lsn);
    Ok(groups)
}

/// Clears blocks behind the end of the log that look as if they followed it.
pub(super) fn clear_what_follows(files: &LogFiles, end: Lsn) -> Result<(), RedoLogError> {
    let mut at = block_start(end) + BLOCK;
    let mut buffer = vec![0; SCAN_SIZE];
    // With a ring only the rest of this file can have such blocks: the next one was not
    // written before this one had been flushed.
    let stop = match files.range() {
        Some((_, end)) => end,
        None => files.file_of(block_start(end)).map_or(at, |file| file.end),
    };
    while at < stop
        && let Some(file) = files.file_of(at)
    {
        let length = (SCAN_SIZE as u64).min(file.end - at);
        let offset = file.offset(at);
        let chunk = &mut buffer[..length as usize];
        file.file.read_at(chunk, offset, WaitKind::Other)?;
        let mut is_changed = false;
        let (blocks, _) = chunk.as_chunks_mut::<BLOCK_SIZE>();
        for (number, block) in blocks.iter_mut().enumerate() {
            if BlockHeader::read(block).number == block_number(at + number as u64 * BLOCK) {
                block.fill(0);
                is_changed = true;
            }
        }
        if is_changed {
            file.file.write_at(chunk, offset, WaitKind::Other)?;
            file.file.sync(true, WaitKind::Other)?;
        }
        at += length;
    }
    Ok(())
}

/// The block at this LSN, if it is in the files and good.
pub(super) fn read_block(
    files: &LogFiles,
    lsn: Lsn,
) -> Result<Option<[u8; BLOCK_SIZE]>, RedoLogError> {
    let Some(file) = files.file_of(lsn) else {
        return Ok(None);
    };
    let mut block = [0; BLOCK_SIZE];
    file.file
        .read_at(&mut block, file.offset(lsn), WaitKind::Other)?;
    Ok(is_good(&block, lsn).then_some(block))
}
