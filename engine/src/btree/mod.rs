//! B+trees: an index as a tree of pages.
//!
//! Leaves hold the records in key order and are linked from left to right. The pages above
//! hold *node pointers*: the first key of a child, and its number. The root never moves.
//!
//! ```text
//!                  [ -> , 40 -> ]                       root, level 1
//!                   /         \
//!     [10 20 30] <──> [40 50 60]                        leaves, level 0
//! ```
//!
//! | file | what it is about |
//! |---|---|
//! | [`Index`] (`index`) | where a tree is, its latch, its figures |
//! | `search` | from the root to a leaf |
//! | `change` | which pages a change may touch, latched before it begins |
//! | `insert`, `split_point`, `split` | inserting; where and how a page is split |
//! | `update` | changing a record that keeps its key; delete marks |
//! | `remove`, `merge` | taking records out; merging pages, lowering the tree |
//! | `reorganise` | records that move, and their locks |
//! | `cursor`, `persistent_cursor` | walking over records, and finding the place again |
//! | `operations` | the parts put together, for users without row locks |
//! | `bulk_load` | a tree built from records in order |
//! | `check` | what must hold for a tree |
//! | `lock_hooks` | what the lock system is told |
//!
//! # Latches, and why nobody waits for ever
//!
//! Every task asks for latches in one order:
//!
//! 1. the tree's latch;
//! 2. pages of the tree: higher levels before lower ones, within a level from left to
//!    right;
//! 3. the tablespace's latch;
//! 4. pages of space allocation, and pages that were just allocated, which nobody else
//!    can reach.
//!
//! *Who searches* takes the tree's latch and its path in S, then the leaf, then lets go of
//! all but the leaf. *Who walks* holds a leaf and asks for the one to its right. *Who
//! changes the tree* takes its latch in SX, which one task can have, while others search.
//! It first reads its path, holding one page in S at a time and so asking for none while
//! it holds another; then it takes in X all pages that the change may touch, in the
//! order above (`change`). While it splits or merges it asks for no page of the tree that
//! it does not hold: what was not foreseen is an error, not a wait. Allocation comes after
//! that. So each task waits only for one whose newest latch comes later in the order, and
//! the last one of such a chain does not wait.
//!
//! That a page's left neighbour is latched *before* the page itself is possible because
//! links between pages change only under the tree's latch in SX: what was read while
//! finding out is still so afterwards. For the same reason the pages above the leaves
//! cannot have changed in between; a leaf can, and is searched again.
//!
//! *Flushes* hold pages in SX while they are written, and are no part of that order: who
//! wants X waits for the end of the write. A flusher that must wait for a page's latch
//! sends off first what it has collected (`PageSink::end_of_batch`), and from then on the
//! writes end by themselves: those who complete them take no page latch and no tree's.
//! Before a page is written its redo is made durable; the log is written by tasks that
//! hold no page, and whoever commits while it holds pages waits for nothing but those. So
//! a wait for a flush ends, whatever the flusher waits for afterwards.
//!
//! *Cursors that are restored* ask for a page which may have left the tree meanwhile and
//! come back as another; they hold nothing when they ask.
//!
//! A mini-transaction works on one tree, and searches it only while it holds no page of
//! it. Row locks are waited for outside of it.
//!
//! Source: InnoDB 5.7 to 8.4 (`btr0cur.cc`, `btr0btr.cc`, `btr0pcur.cc`). Up to 5.6 the
//! tree's latch was taken in X to change it: [`Index::change_latch`].

mod bulk_load;
mod change;
mod check;
mod cursor;
mod error;
mod index;
mod insert;
mod lock_hooks;
mod merge;
mod operations;
mod persistent_cursor;
mod remove;
mod reorganise;
mod search;
mod split;
pub mod split_point;
mod update;

pub use bulk_load::{BulkLoadOptions, bulk_load};
pub use check::{TreeReport, check_tree};
pub use cursor::{move_next, seek};
pub use error::BtreeError;
pub use index::{Index, IndexDefinition, LEVELS_MAX, MERGE_THRESHOLD};
pub use insert::{optimistic_insert, pessimistic_insert};
pub use lock_hooks::{
    Changer, HeapMove, INFIMUM_HEAP, LockHooks, LockedRecord, NoLocks, SUPREMUM_HEAP,
};
pub use operations::TreeAccess;
pub use persistent_cursor::{PersistentCursor, Restored, StoredKey};
pub use remove::{optimistic_remove, pessimistic_remove};
pub use search::{BtreeLatch, Position, TreeIntention, search_leaf};
pub use update::{
    FieldChange, SystemFields, optimistic_update, pessimistic_update, set_delete_mark,
    update_in_place,
};
