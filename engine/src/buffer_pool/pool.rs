//! The pool itself: getting a page, keeping it, letting it go.
//!
//! ```text
//!   fix(page)        look up, else read            page stays in its frame
//!     lock_page        S, SX or X                    its bytes may be read, or changed
//!       note_modified    at the mini-transaction's commit
//!     unlock
//!   unfix            the frame may be used for another page
//! ```
//!
//! A mini-transaction does this for its caller and remembers what it holds; nothing else
//! should call it directly.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use super::control_block::IoState;
use super::error::BufferPoolError;
use super::hooks::PoolHooks;
use super::instance::Instance;
use super::instance_mapping::instance_of;
use super::lru_list::{OLD_RATIO_DIVISOR, old_ratio};
use super::settings::BufferPoolSettings;
use super::statistics::{InstanceStatistics, bump};
use super::young_rule::{YoungDecision, YoungSnapshot};
use crate::metrics::{Counter, Metrics};
use crate::page::{PageBytes, PageId};
use crate::runtime::time::{MILLISECOND, Time};
use crate::runtime::{self, Cost, Event, Held, LatchMode, PageLatch, Replaceable, WaitKind, cpu};
use crate::sysvar::FlushLatch;
use crate::tablespace::Tablespaces;

/// Failed attempts to read a page, after which its user gets the error
/// (`BUF_PAGE_READ_MAX_RETRIES`).
pub const READ_ATTEMPTS_MAX: u32 = 100;

/// How a page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixMode {
    /// Read it if it is not in the pool; its use counts for the LRU list.
    Normal,
    /// Only if it is in the pool ([`BufferPoolError::NotInPool`] if not); its use counts.
    IfInPool,
    /// As normal, but its use does not count: for walks through whole files.
    Scan,
}

/// How often one user of the pool had to wait, and where its counts go. Kept by the
/// user, for the explanation of a single statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Which shard of the metrics is bumped: a number of the task.
    pub shard: usize,
    /// Pages it read itself.
    pub reads: u32,
    /// Pages whose read by somebody else it waited for.
    pub read_waits: u32,
    /// Rounds of the search for a free frame that ended in waiting.
    pub free_frame_rounds: u32,
}

impl Waits {
    /// No waits yet, for the task of this number.
    pub fn new(shard: usize) -> Self {
        Waits {
            shard,
            ..Waits::default()
        }
    }
}

/// A page that is fixed: it stays in its frame until [`BufferPool::unfix`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockHandle {
    pub(super) instance: u32,
    pub(super) frame: u32,
}

impl BlockHandle {
    /// The instance that the frame is of.
    pub fn instance(self) -> usize {
        self.instance as usize
    }

    /// The frame's number within its instance.
    pub fn index(self) -> usize {
        self.frame as usize
    }
}

/// The buffer pool; see the module's opening.
pub struct BufferPool {
    pub(super) instances: Box<[Instance]>,
    pub(super) tablespaces: Arc<Tablespaces>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) hooks: PoolHooks,
    pub(super) flush_latch_mode: LatchMode,
    flush_latch: Replaceable<FlushLatch>,
    pub(super) free_frame_timeout: Time,
    /// Set by a thread that needs a free frame: `buf_flush_event`.
    pub(super) cleaner_wanted: Event,
    /// The pool's clock starts here.
    started: Time,
    bytes: u64,
    old_blocks_time: AtomicU32,
    old_ratio: AtomicUsize,
    this: Weak<BufferPool>,
}

impl BufferPool {
    /// An empty pool. Its memory is only reserved; a frame becomes real when it is used.
    ///
    /// # Errors
    /// If the pool is too small, has too many instances, or there is no memory for it.
    pub fn new(
        settings: &BufferPoolSettings,
        tablespaces: Arc<Tablespaces>,
        metrics: Arc<Metrics>,
        hooks: PoolHooks,
    ) -> Result<Arc<Self>, BufferPoolError> {
        settings.validate()?;
        let instances = (0..settings.instances)
            .map(|_| Instance::new(settings))
            .collect::<Result<_, _>>()?;
        Ok(Arc::new_cyclic(|this| BufferPool {
            instances,
            tablespaces,
            metrics,
            hooks,
            flush_latch_mode: settings.flush_latch_mode,
            flush_latch: Replaceable::new(settings.flush_latch),
            free_frame_timeout: settings.free_frame_timeout,
            cleaner_wanted: Event::new(),
            started: runtime::now(),
            bytes: settings.bytes,
            old_blocks_time: AtomicU32::new(settings.old_blocks_time),
            old_ratio: AtomicUsize::new(old_ratio(settings.old_blocks_pct)),
            this: this.clone(),
        }))
    }

    /// The pool's own reference, for a page that leaves it for a while.
    pub(super) fn shared(&self) -> Weak<BufferPool> {
        self.this.clone()
    }

    // ---- getting and letting go -----------------------------------------------

    /// Gets a page and keeps it in its frame; reads it if it is not in the pool. The
    /// page's bytes may be looked at only under its latch.
    ///
    /// # Errors
    /// If the page cannot be read, is damaged, or no frame becomes free; or if it is not
    /// in the pool and `mode` says that this is enough.
    #[inline(always)]
    pub fn fix(
        &self,
        page: PageId,
        mode: FixMode,
        waits: &mut Waits,
    ) -> Result<BlockHandle, BufferPoolError> {
        self.metrics
            .shard(waits.shard)
            .increment(Counter::BufferPoolReadRequests);
        let number = instance_of(page, self.instances.len());
        let instance = &self.instances[number];
        let found = instance.hash.get_and_fix(&instance.blocks, page);
        let frame = match found {
            Some(frame) if instance.block(frame).io() != IoState::Read => frame,
            _ => self.fix_slow(number, page, mode, found, waits)?,
        };
        if mode != FixMode::Scan {
            self.touch(instance, frame);
        }
        Ok(BlockHandle {
            instance: number as u32,
            frame,
        })
    }

    /// The page has to be read, or is being read.
    #[cold]
    fn fix_slow(
        &self,
        number: usize,
        page: PageId,
        mode: FixMode,
        mut found: Option<u32>,
        waits: &mut Waits,
    ) -> Result<u32, BufferPoolError> {
        let instance = &self.instances[number];
        let mut attempts = 0;
        loop {
            if let Some(frame) = found {
                if self.wait_for_read(instance, frame, waits) {
                    return Ok(frame);
                }
                // Somebody else could not read it: try, to have the error at first hand.
            } else if mode == FixMode::IfInPool {
                return Err(BufferPoolError::NotInPool(page));
            } else {
                attempts += 1;
                match self.read_page(number, page, attempts, waits) {
                    Ok(Some(frame)) => return Ok(frame),
                    // Somebody else has entered it.
                    Ok(None) => {}
                    // Not counted to the number exactly: the last attempt may have been
                    // one in which somebody else was faster, and that one failed, too.
                    Err(error @ BufferPoolError::Read { .. }) if attempts >= READ_ATTEMPTS_MAX => {
                        return Err(error);
                    }
                    Err(BufferPoolError::Read { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            found = instance.hash.find_and_fix(&instance.blocks, page);
        }
    }

    /// Waits until a page that was found and fixed is read. If it could not be read it is
    /// unfixed: false.
    pub(super) fn wait_for_read(&self, instance: &Instance, frame: u32, waits: &mut Waits) -> bool {
        let block = instance.block(frame);
        if block.io() == IoState::Read {
            waits.read_waits += 1;
            let held = block.latch.lock(LatchMode::S, || WaitKind::PageRead);
            // SAFETY: taken in the line above.
            unsafe { block.latch.unlock(LatchMode::S, held) };
        }
        if !block.read_failed() {
            return true;
        }
        if block.unfix() {
            instance.free_failed(frame);
        }
        false
    }

    /// Lets a page go: the caller's handle is void. Its latch is released before.
    #[inline]
    pub fn unfix(&self, handle: BlockHandle) {
        let instance = &self.instances[handle.instance()];
        let last_of_failed = instance.block(handle.frame).unfix();
        debug_assert!(!last_of_failed, "a page that was handed out had been read");
    }

    /// The latch of a fixed page.
    #[inline]
    pub fn latch(&self, handle: BlockHandle) -> &PageLatch {
        &self.instances[handle.instance()].block(handle.frame).latch
    }

    /// Latches a fixed page. Waiting for a read counts as [`WaitKind::PageRead`], and a
    /// writer's waiting for the end of a flush as [`WaitKind::FlushedPage`].
    #[inline(always)]
    pub fn lock_page(&self, handle: BlockHandle, mode: LatchMode) -> Held {
        let block = self.instances[handle.instance()].block(handle.frame);
        block.latch.lock(mode, || match (block.io(), mode) {
            (IoState::None, _) => WaitKind::Latch,
            (IoState::Read, _) => WaitKind::PageRead,
            // A flush lets readers in: it is somebody else who keeps this one out.
            (_, LatchMode::S) => WaitKind::Latch,
            _ => WaitKind::FlushedPage,
        })
    }

    /// Latches a fixed page if that needs no waiting.
    #[inline]
    pub fn try_lock_page(&self, handle: BlockHandle, mode: LatchMode) -> Option<Held> {
        self.latch(handle).try_lock(mode)
    }

    /// The address of a fixed page's bytes. They may be read under the page's latch in
    /// any mode, and changed under X.
    #[inline]
    pub fn frame(&self, handle: BlockHandle) -> *mut PageBytes {
        self.instances[handle.instance()].bytes(handle.frame)
    }

    /// The address of a fixed page.
    pub fn page_id(&self, handle: BlockHandle) -> PageId {
        let block = self.instances[handle.instance()].block(handle.frame);
        block.page_id().expect("a fixed frame holds a page")
    }

    // ---- the LRU list ---------------------------------------------------------

    /// The pool's clock: milliseconds since it was made, from 1 on.
    fn milliseconds(&self) -> u32 {
        // 32 bits last 49 days; differences survive the wrap.
        ((runtime::now() - self.started) / MILLISECOND) as u32 + 1
    }

    /// The page was used: notes the first use, and applies the young rule.
    #[inline(always)]
    pub(super) fn touch(&self, instance: &Instance, frame: u32) {
        let first_use = instance.block(frame).access_time();
        if first_use == 0 {
            self.note_first_use(instance, frame);
        }
        if instance.evictions() != 0 {
            self.apply_young_rule(instance, frame, first_use);
        }
    }

    #[inline(never)]
    fn note_first_use(&self, instance: &Instance, frame: u32) {
        cpu(Cost::PageFirstUse);
        instance.block(frame).set_access_time(self.milliseconds());
    }

    /// By itself: a pool that holds the whole data never comes here.
    #[inline(never)]
    fn apply_young_rule(&self, instance: &Instance, frame: u32, first_use: u32) {
        let block = instance.block(frame);
        let page = YoungSnapshot {
            evictions: instance.evictions(),
            stamp: block.freed_page_clock(),
            is_old: block.is_old(),
            first_use,
            frames: instance.blocks.len(),
            old_ratio: self.old_ratio.load(Relaxed),
            old_blocks_time: self.old_blocks_time.load(Relaxed),
        };
        match page.decide(|| self.milliseconds()) {
            YoungDecision::Stay => {}
            YoungDecision::StayOld => bump(&instance.counts.not_made_young),
            YoungDecision::MoveToHead => self.make_young(instance, frame),
        }
    }

    #[cold]
    fn make_young(&self, instance: &Instance, frame: u32) {
        let mut lru = instance.lru();
        cpu(Cost::LruMove);
        if lru.make_young(&instance.blocks, frame, instance.evictions()) {
            bump(&instance.counts.made_young);
        }
        instance.note_lru_lengths(&lru);
    }

    /// Sets `innodb_old_blocks_pct`.
    pub fn set_old_blocks_pct(&self, percent: u64) {
        let ratio = old_ratio(percent);
        debug_assert!(ratio <= OLD_RATIO_DIVISOR);
        self.old_ratio.store(ratio, Relaxed);
        for instance in &self.instances {
            let mut lru = instance.lru();
            lru.set_old_ratio(&instance.blocks, ratio);
            instance.note_lru_lengths(&lru);
        }
    }

    /// `innosim_flush_latch`: how long the latch of a page under flush is held. Writes that
    /// are under way end as they have begun.
    pub fn set_flush_latch(&self, flush_latch: FlushLatch) {
        self.flush_latch.replace(flush_latch);
    }

    pub(super) fn flush_latch(&self) -> FlushLatch {
        *self.flush_latch.get()
    }

    /// Sets `innodb_old_blocks_time`, in milliseconds.
    pub fn set_old_blocks_time(&self, milliseconds: u32) {
        self.old_blocks_time.store(milliseconds, Relaxed);
    }

    // ---- figures --------------------------------------------------------------

    /// Bytes of the pool.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of instances.
    pub fn instance_count(&self) -> usize {
        self.instances.len()
    }

    /// The instance of a page.
    pub fn instance_of(&self, page: PageId) -> usize {
        instance_of(page, self.instances.len())
    }

    /// Lengths and counts of an instance.
    pub fn statistics(&self, instance: usize) -> InstanceStatistics {
        self.instances[instance].statistics()
    }

    /// Set by threads that found no free frame: the page cleaner waits for it, with a
    /// timeout, and resets it.
    pub fn cleaner_wanted(&self) -> &Event {
        &self.cleaner_wanted
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BufferPool")
            .field("bytes", &self.bytes)
            .field("instances", &self.instances.len())
            .finish_non_exhaustive()
    }
}
