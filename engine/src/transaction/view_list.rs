//! The list of read views, from the newest to the oldest.
//!
//! Purge must keep what the oldest view needs. Views are opened under the mutex, so the
//! list is in the order of their low limits, and the oldest that is in use is the first
//! one from its end that is not closed.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use super::read_view::{PurgeView, ViewState};
use crate::lock::Slots;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Node {
    newer: u32,
    older: u32,
    view: Arc<ViewState>,
}

impl Default for Node {
    fn default() -> Self {
        Node {
            newer: NONE,
            older: NONE,
            view: Arc::default(),
        }
    }
}

/// The list; its owner holds `trx_sys->mutex`.
#[derive(Debug)]
pub(super) struct ViewList {
    nodes: Slots<Node>,
    newest: u32,
    oldest: u32,
}

impl ViewList {
    pub(super) fn new() -> Self {
        ViewList {
            nodes: Slots::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// A view was opened now.
    pub(super) fn push_newest(&mut self, view: &Arc<ViewState>) -> u32 {
        let number = self.nodes.take();
        let older = self.newest;
        let node = &mut self.nodes[number];
        node.newer = NONE;
        node.older = older;
        if !Arc::ptr_eq(&node.view, view) {
            node.view = view.clone();
        }
        match older {
            NONE => self.oldest = number,
            older => self.nodes[older].newer = number,
        }
        self.newest = number;
        number
    }

    /// A view leaves.
    pub(super) fn remove(&mut self, number: u32) {
        let (newer, older) = (self.nodes[number].newer, self.nodes[number].older);
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older].newer = newer,
        }
        self.nodes.give_back(number);
    }

    /// The oldest view in use, and how many closed ones were passed over.
    pub(super) fn oldest_open(&self) -> (Option<&Arc<ViewState>>, u64) {
        let (mut number, mut passed) = (self.oldest, 0);
        while number != NONE {
            let node = &self.nodes[number];
            if !node.view.closed.load(SeqCst) {
                return (Some(&node.view), passed);
            }
            passed += 1;
            number = node.newer;
        }
        (None, passed)
    }

    /// Views on the list, closed ones included.
    pub(super) fn length(&self) -> usize {
        self.nodes.in_use()
    }
}

impl ViewState {
    pub(super) fn to_purge_view(&self) -> PurgeView {
        PurgeView {
            low_limit_no: self.low_limit_no.load(Relaxed),
            low_limit_id: self.low_limit_id.load(Relaxed),
            up_limit_id: self.up_limit_id.load(Relaxed),
        }
    }
}
