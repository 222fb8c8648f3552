//! Where clients' notes go: straight into the ledger, or through a pipe to a process that
//! outlives them.
//!
//! ```text
//!   virtual clock    client ──► ledger                         the host's memory
//!   real clock       client ──► standard output ──► ledger     of the parent
//!                    (killed)   a line a note
//! ```
//!
//! A line is shorter than what a pipe takes at once (4096 bytes), so it is there as a whole
//! or not at all when the writer is killed.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::ledger::{Event, Ledger};

/// Takes notes. When the call returns, the note outlives a crash.
pub trait Journal: Send + Sync {
    /// A client notes an event.
    fn note(&self, client: u32, event: Event);
}

/// A ledger that clients write into. The lock is the host's and held for a moment only.
#[derive(Debug, Clone, Default)]
pub struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    /// The ledger.
    pub fn lock(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for SharedLedger {
    fn note(&self, client: u32, event: Event) {
        self.lock().note(client, event);
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Line {
    client: u32,
    event: Event,
}

/// Writes notes to a pipe, line by line. Where nobody reads them any more the process ends:
/// it has no other purpose.
#[derive(Debug)]
pub struct PipeJournal<W>(Mutex<W>);

impl<W: Write> PipeJournal<W> {
    /// Writes to this pipe.
    pub fn new(pipe: W) -> Self {
        PipeJournal(Mutex::new(pipe))
    }

    fn write(&self, line: &Line) -> std::io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let mut pipe = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pipe.write_all(&text)?;
        pipe.flush()
    }
}

impl<W: Write + Send> Journal for PipeJournal<W> {
    fn note(&self, client: u32, event: Event) {
        if self.write(&Line { client, event }).is_err() {
            std::process::exit(1);
        }
    }
}

/// Reads notes to the end of a pipe. A last line without an end is no note. Says when the
/// first has come.
///
/// # Errors
/// If the pipe cannot be read, or a line is no note.
pub fn read_notes(
    pipe: impl Read,
    ledger: &SharedLedger,
    first: impl FnOnce(),
) -> anyhow::Result<()> {
    let mut pipe = BufReader::new(pipe);
    let mut text = Vec::new();
    let mut first = Some(first);
    loop {
        text.clear();
        pipe.read_until(b'\n', &mut text)?;
        if text.last() != Some(&b'\n') {
            return Ok(());
        }
        let line: Line = serde_json::from_slice(&text)?;
        ledger.note(line.client, line.event);
        if let Some(first) = first.take() {
            first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ledger::{Change, RowImage, Rows};
    use super::*;

    #[test]
    fn notes_come_through_a_pipe() {
        let row = RowImage {
            k: -5,
            c: u64::MAX,
            pad: 0,
        };
        let pipe = PipeJournal::new(Vec::new());
        pipe.note(3, Event::Changed((1, -7), Change::Insert(row)));
        pipe.note(3, Event::Committing);
        pipe.note(3, Event::Committed);
        pipe.note(4, Event::Changed((1, 8), Change::SetC(1)));
        let mut bytes = pipe.0.into_inner().unwrap();
        let longest = bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
        assert!(longest.unwrap() < 4096);
        bytes.extend_from_slice(b"{\"client\":3,\"ev");
        let ledger = SharedLedger::default();
        ledger.lock().judge(Rows::new());
        let mut came = false;
        read_notes(&bytes[..], &ledger, || came = true).unwrap();
        assert!(came);
        ledger.lock().judge([((1, -7), row)].into());
        let judgement = ledger.lock().take_judgement();
        assert_eq!((judgement.acknowledged, judgement.unfinished), (1, 1));
        assert_eq!(judgement.faults, []);
        read_notes(&b"{}\n"[..], &ledger, || ()).unwrap_err();
    }
}
