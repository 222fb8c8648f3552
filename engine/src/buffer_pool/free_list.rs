//! The free list: frames that hold no page.
//!
//! Last in, first out, as in InnoDB: a frame just freed is the next one used, while it
//! may still be in the processor's cache.

/// The frames without a page; 4 bytes a frame.
#[derive(Debug)]
pub(super) struct FreeList {
    frames: Vec<u32>,
}

impl FreeList {
    /// All of the frames 0 to `frames` - 1, the first of them at the head.
    pub(super) fn full(frames: usize) -> Self {
        FreeList {
            frames: (0..frames as u32).rev().collect(),
        }
    }

    /// Takes the frame at the head.
    pub(super) fn pop(&mut self) -> Option<u32> {
        self.frames.pop()
    }

    /// Puts a frame at the head.
    pub(super) fn push(&mut self, frame: u32) {
        debug_assert!(
            self.frames.len() < self.frames.capacity(),
            "a frame is free twice"
        );
        self.frames.push(frame);
    }

    /// Frames in the list.
    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    /// The frames, in no order that matters: for checks.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.frames.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frame_freed_last_is_used_first() {
        let mut list = FreeList::full(3);
        assert_eq!((list.pop(), list.pop()), (Some(0), Some(1)));
        list.push(0);
        list.push(1);
        assert_eq!(list.len(), 3);
        assert_eq!(list.pop(), Some(1));
        assert_eq!(list.pop(), Some(0));
        assert_eq!(list.pop(), Some(2));
        assert_eq!(list.pop(), None);
    }
}
