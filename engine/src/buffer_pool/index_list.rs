//! A doubly linked list of frames, by number.
//!
//! InnoDB's lists run through its control blocks by pointers. Here the links of a list
//! are an array of the list's own, indexed by frame number, so that the mutex around
//! the list also owns its links: no pointer, no shared mutable field.
//!
//! ```text
//!   frame       0      1      2      3      4
//!   previous [  –  |  –   |  4   |  .   |  1   ]     first = 1, last = 2
//!   next     [  –  |  4   |  .   |  .   |  2   ]     1 <-> 4 <-> 2
//!                (– outside the list: 0 and 3; . end of the list)
//! ```
//!
//! "First" is InnoDB's head: where the youngest pages of the LRU list and the newest
//! modifications of the flush list are.

/// No frame: the end of a list.
const END: u32 = u32::MAX;
/// The `previous` link of a frame that is not in the list.
const OUTSIDE: u32 = u32::MAX - 1;

#[derive(Debug, Clone, Copy)]
struct Links {
    previous: u32,
    next: u32,
}

/// A list of frame numbers; every operation takes constant time. 8 bytes a frame.
#[derive(Debug)]
pub(super) struct IndexList {
    links: Box<[Links]>,
    first: u32,
    last: u32,
    length: usize,
}

fn some(frame: u32) -> Option<u32> {
    (frame != END).then_some(frame)
}

impl IndexList {
    /// An empty list for frames 0 to `frames` - 1.
    pub(super) fn new(frames: usize) -> Self {
        assert!(
            frames < OUTSIDE as usize,
            "frame numbers and two marks fit into 32 bits"
        );
        let outside = Links {
            previous: OUTSIDE,
            next: END,
        };
        IndexList {
            links: vec![outside; frames].into(),
            first: END,
            last: END,
            length: 0,
        }
    }

    /// Frames in the list.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The head.
    pub(super) fn first(&self) -> Option<u32> {
        some(self.first)
    }

    /// The tail.
    pub(super) fn last(&self) -> Option<u32> {
        some(self.last)
    }

    /// The neighbour towards the head of a frame in the list.
    pub(super) fn previous(&self, frame: u32) -> Option<u32> {
        debug_assert!(self.contains(frame));
        some(self.links[frame as usize].previous)
    }

    /// The neighbour towards the tail of a frame in the list.
    pub(super) fn next(&self, frame: u32) -> Option<u32> {
        debug_assert!(self.contains(frame));
        some(self.links[frame as usize].next)
    }

    /// Whether the frame is in the list.
    pub(super) fn contains(&self, frame: u32) -> bool {
        self.links[frame as usize].previous != OUTSIDE
    }

    /// Puts a frame at the head.
    pub(super) fn push_first(&mut self, frame: u32) {
        self.link(END, frame, self.first);
    }

    /// Puts a frame behind one that is in the list.
    pub(super) fn insert_after(&mut self, place: u32, frame: u32) {
        assert!(self.contains(place), "frame {place} is in the list");
        self.link(place, frame, self.links[place as usize].next);
    }

    fn link(&mut self, previous: u32, frame: u32, next: u32) {
        assert!(!self.contains(frame), "frame {frame} is in the list twice");
        self.links[frame as usize] = Links { previous, next };
        match some(previous) {
            Some(previous) => self.links[previous as usize].next = frame,
            None => self.first = frame,
        }
        match some(next) {
            Some(next) => self.links[next as usize].previous = frame,
            None => self.last = frame,
        }
        self.length += 1;
    }

    /// Takes a frame out of the list.
    pub(super) fn remove(&mut self, frame: u32) {
        assert!(self.contains(frame), "frame {frame} is in the list");
        let Links { previous, next } = self.links[frame as usize];
        match some(previous) {
            Some(previous) => self.links[previous as usize].next = next,
            None => self.first = next,
        }
        match some(next) {
            Some(next) => self.links[next as usize].previous = previous,
            None => self.last = previous,
        }
        self.links[frame as usize] = Links {
            previous: OUTSIDE,
            next: END,
        };
        self.length -= 1;
    }

    /// The frames from head to tail.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.first(), |&frame| self.next(frame))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(list: &IndexList, expected: &[u32]) {
        assert_eq!(list.iter().collect::<Vec<_>>(), expected);
        assert_eq!(list.len(), expected.len());
        assert_eq!(list.first(), expected.first().copied());
        assert_eq!(list.last(), expected.last().copied());
        let mut backwards: Vec<_> =
            std::iter::successors(list.last(), |&frame| list.previous(frame)).collect();
        backwards.reverse();
        assert_eq!(backwards, expected);
    }

    proptest! {
        #[test]
        fn behaves_like_a_vector(steps in prop::collection::vec((0u32..8, 0u8..3, 0u32..8), 0..60)) {
            let mut list = IndexList::new(8);
            let mut model: Vec<u32> = Vec::new();
            for (frame, action, place) in steps {
                let at = |model: &[u32], frame| model.iter().position(|&other| other == frame);
                match (at(&model, frame), action) {
                    (Some(position), _) => {
                        list.remove(frame);
                        model.remove(position);
                    }
                    (None, 0) => {
                        list.push_first(frame);
                        model.insert(0, frame);
                    }
                    (None, _) => if let Some(position) = at(&model, place) {
                        list.insert_after(place, frame);
                        model.insert(position + 1, frame);
                    }
                }
                prop_assert_eq!(list.contains(frame), model.contains(&frame));
                check(&list, &model);
            }
        }
    }

    #[test]
    #[should_panic(expected = "twice")]
    fn a_frame_cannot_be_in_a_list_twice() {
        let mut list = IndexList::new(2);
        list.push_first(1);
        list.push_first(1);
    }
}
