//! The list of read views, from the newest to the oldest.
//!
//! Purge must keep what the oldest view needs. Views are opened under the mutex, so the
//! list is in the order of their low limits, and the oldest that is in use is the first
//! one from its end that is not closed.

use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use super::ids::TrxId;
use super::read_view::{PurgeView, ReadView, ViewState};
use crate::lock::Slots;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Node {
    newer: u32,
    older: u32,
    view: Arc<ViewState>,
    /// Those of the view, and its creator's: for purge, which must not look at what the
    /// view's owner changes without the mutex.
    ids: Vec<TrxId>,
}

impl Default for Node {
    fn default() -> Self {
        Node {
            newer: NONE,
            older: NONE,
            view: Arc::default(),
            ids: Vec::new(),
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
    pub(super) fn push_newest(&mut self, view: &ReadView) -> u32 {
        let number = self.nodes.take();
        let older = self.newest;
        let node = &mut self.nodes[number];
        node.newer = NONE;
        node.older = older;
        if !Arc::ptr_eq(&node.view, &view.state) {
            node.view = view.state.clone();
        }
        node.ids.clear();
        node.ids.extend_from_slice(&view.ids);
        if view.creator != 0 {
            let place = node.ids.partition_point(|&id| id < view.creator);
            node.ids.insert(place, view.creator);
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

    /// Puts what the oldest view in use sees into `purge`, if there is one. Returns whether
    /// there is, and how many closed ones were passed over.
    pub(super) fn oldest_open(&self, purge: &mut PurgeView) -> (bool, u64) {
        let (mut number, mut passed) = (self.oldest, 0);
        while number != NONE {
            let node = &self.nodes[number];
            if !node.view.closed.load(SeqCst) {
                purge.low_limit_no = node.view.low_limit_no.load(Relaxed);
                purge.low_limit_id = node.view.low_limit_id.load(Relaxed);
                purge.ids.clone_from(&node.ids);
                return (true, passed);
            }
            passed += 1;
            number = node.newer;
        }
        (false, passed)
    }

    /// Views on the list, closed ones included.
    pub(super) fn length(&self) -> usize {
        self.nodes.in_use()
    }
}
