//! How writes become program units.
//!
//! Data are appended to an open unit in the order in which they reach the buffer; a full
//! unit goes to a die. So 32 log writes of 512 bytes cost one program of 16 KiB, not 32.
//!
//! ```text
//!   parts:   |----a----|-b-|--------c--------|
//!   units:   |-------0-------|-------1-------|   0: segments of a, b, c;  1: one of c
//! ```

use crate::runtime::virtual_clock::disk::slab::{NONE, Slab};

/// A piece of a part inside a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) part: u32,
    pub(super) bytes: u32,
    /// The segment behind it in its unit, or [`NONE`].
    pub(super) next: u32,
}

/// The open unit, and the segments of all units that are not programmed yet.
#[derive(Debug)]
pub(super) struct WriteLog {
    unit_bytes: u32,
    segments: Slab<Segment>,
    first: u32,
    last: u32,
    open_bytes: u32,
}

impl WriteLog {
    pub(super) fn new(unit_bytes: u32) -> Self {
        WriteLog {
            unit_bytes,
            segments: Slab::default(),
            first: NONE,
            last: NONE,
            open_bytes: 0,
        }
    }

    /// Append as many of a part's `bytes` as the open unit takes, and subtract them. Returns
    /// the unit, by its first segment, if that fills it.
    pub(super) fn append(&mut self, part: u32, bytes: &mut u32) -> Option<u32> {
        let taken = (*bytes).min(self.unit_bytes - self.open_bytes);
        let segment = self.segments.insert(Segment {
            part,
            bytes: taken,
            next: NONE,
        });
        if self.first == NONE {
            self.first = segment;
        } else {
            self.segments[self.last].next = segment;
        }
        self.last = segment;
        *bytes -= taken;
        self.open_bytes += taken;
        if self.open_bytes == self.unit_bytes {
            self.close().map(|closed| closed.0)
        } else {
            None
        }
    }

    /// Close the open unit, full or not. Returns its first segment and the number of bytes
    /// that stay empty; nothing if there is nothing in it.
    pub(super) fn close(&mut self) -> Option<(u32, u32)> {
        if self.first == NONE {
            return None;
        }
        let closed = (self.first, self.unit_bytes - self.open_bytes);
        self.first = NONE;
        self.last = NONE;
        self.open_bytes = 0;
        Some(closed)
    }

    /// Take a segment of a programmed unit out.
    pub(super) fn take(&mut self, segment: u32) -> Segment {
        self.segments.remove(segment)
    }

    pub(super) fn clear(&mut self) {
        self.segments.clear();
        self.first = NONE;
        self.last = NONE;
        self.open_bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part and bytes of each segment of a unit.
    fn contents(log: &mut WriteLog, unit: u32) -> Vec<(u32, u32)> {
        let mut segments = Vec::new();
        let mut next = unit;
        while next != NONE {
            let segment = log.take(next);
            segments.push((segment.part, segment.bytes));
            next = segment.next;
        }
        segments
    }

    #[test]
    fn parts_share_units_and_span_them() {
        let mut log = WriteLog::new(100);
        let mut units = Vec::new();
        for (part, mut bytes) in [(0, 60), (1, 10), (2, 130), (3, 40)] {
            while bytes > 0 {
                units.extend(log.append(part, &mut bytes));
            }
        }
        assert_eq!(units.len(), 2);
        assert_eq!(contents(&mut log, units[0]), [(0, 60), (1, 10), (2, 30)]);
        assert_eq!(contents(&mut log, units[1]), [(2, 100)]);
        let (last, padding) = log.close().unwrap();
        assert_eq!(padding, 60);
        assert_eq!(contents(&mut log, last), [(3, 40)]);
        assert_eq!(log.close(), None);
        assert_eq!(log.segments.len(), 0);
    }
}
