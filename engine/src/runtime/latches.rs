//! Latches of the engine: one type each, with a real and a virtual half.
//!
//! [`Mutex`] and [`RwLock`] are `lock_api`'s locks over raw locks of ours, which go
//! to parking_lot's raw locks under the real clock and to the scheduler under the
//! virtual one; guards come for free. An upgradable read of the `RwLock` is InnoDB's
//! SX latch. [`PageLatch`] is the same raw rw-lock without guards: a page latch is
//! released by whoever completes the page's I/O, not by whoever took it.
//!
//! `lock_api` 0.5 lets a raw lock keep state in its guard. Ours keeps the time of
//! acquisition, so that a latch needs no word for it.

use lock_api::{RawMutex as _, RawRwLock as _, RawRwLockUpgrade as _};

use super::ambient;
use super::latch_class::{LatchClass, LatchMode};
use super::tasks::real_now;
use super::time::Time;
use super::virtual_clock::{Simulation, VirtualLatch};
use super::wait_kind::WaitKind;

/// That a latch is held, and since when.
#[derive(Debug)]
pub struct Held {
    since: Time,
}

// ---- the real clock's counts ----------------------------------------------------

/// Takes a real latch, counts it, and times the wait if there is one.
#[inline]
fn take_really(
    class: LatchClass,
    try_lock: impl FnOnce() -> bool,
    lock: impl FnOnce(),
    waiting_for: impl FnOnce() -> WaitKind,
) -> Held {
    if !try_lock() {
        let (kind, start) = (waiting_for(), real_now());
        lock();
        if let Some(task) = ambient::real_task() {
            task.waited_for_latch(class, kind, real_now().saturating_sub(start));
        }
    }
    taken_really(class)
}

/// A real latch has been taken. Every so often its hold is timed.
#[inline]
fn taken_really(class: LatchClass) -> Held {
    match ambient::real_task() {
        Some(task) if task.took(class) => Held { since: real_now() },
        _ => Held { since: 0 },
    }
}

/// A real latch is about to be released.
#[inline]
fn release_really(class: LatchClass, held: &Held) {
    if held.since != 0
        && let Some(task) = ambient::real_task()
    {
        task.held(class, real_now().saturating_sub(held.since));
    }
}

// ---- mutex --------------------------------------------------------------------

/// The raw lock behind [`Mutex`].
#[derive(Debug)]
pub struct RawMutex {
    real: RealMutex,
    class: LatchClass,
    virtual_half: VirtualLatch,
}

struct RealMutex(parking_lot::RawMutex);

impl std::fmt::Debug for RealMutex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_locked() { "locked" } else { "free" })
    }
}

impl RawMutex {
    const fn new(class: LatchClass) -> Self {
        RawMutex {
            real: RealMutex(parking_lot::RawMutex::INIT),
            class,
            virtual_half: VirtualLatch::new(),
        }
    }
}

// SAFETY: under the real clock every call goes to parking_lot's raw mutex. Under the
// virtual clock all tasks share one OS thread, and the virtual latch is given to one
// task at a time. The clock does not change while a latch is held.
unsafe impl lock_api::RawMutex for RawMutex {
    const INIT: Self = RawMutex::new(LatchClass::Plain);
    type Guard = Held;

    #[inline]
    fn lock(&self) -> Held {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            let try_lock = || self.real.0.try_lock().is_some();
            let lock = || {
                self.real.0.lock();
            };
            return take_really(self.class, try_lock, lock, || WaitKind::Latch);
        }
        // SAFETY: the current task calls, and no reference into the simulation is live.
        let since = unsafe {
            let (class, mode) = (self.class, LatchMode::X);
            Simulation::latch(simulation, &self.virtual_half, class, mode, || {
                WaitKind::Latch
            })
        };
        Held { since }
    }

    #[inline]
    fn try_lock(&self) -> Option<Held> {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            return self.real.0.try_lock().map(|_| taken_really(self.class));
        }
        // SAFETY: as in `lock`.
        unsafe {
            Simulation::try_latch(simulation, &self.virtual_half, self.class, LatchMode::X)
                .map(|since| Held { since })
        }
    }

    #[inline]
    unsafe fn unlock(&self, held: Held) {
        let simulation = ambient::simulation();
        // SAFETY: the caller holds the mutex; otherwise as in `lock`.
        unsafe {
            if simulation.is_null() {
                release_really(self.class, &held);
                self.real.0.unlock(lock_api::GuardSend::new());
            } else {
                let (class, mode) = (self.class, LatchMode::X);
                Simulation::unlatch(simulation, &self.virtual_half, class, mode, held.since);
            }
        }
    }

    fn is_locked(&self) -> bool {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            self.real.0.is_locked()
        } else {
            // SAFETY: as in `lock`.
            unsafe { Simulation::is_latched(simulation, &self.virtual_half, LatchMode::S) }
        }
    }
}

/// A mutex of a latch class.
#[derive(Debug)]
pub struct Mutex<T>(lock_api::Mutex<RawMutex, T>);

/// An open [`Mutex`].
pub type MutexGuard<'a, T> = lock_api::MutexGuard<'a, RawMutex, T>;

impl<T> Mutex<T> {
    /// A free mutex.
    pub const fn new(class: LatchClass, value: T) -> Self {
        Mutex(lock_api::Mutex::from_raw(RawMutex::new(class), value))
    }

    /// Waits until the mutex is free, and takes it.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock()
    }

    /// Takes the mutex if it is free now.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock()
    }

    /// The value; nobody else can reach it.
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

// ---- rw-lock ------------------------------------------------------------------

/// The raw lock behind [`RwLock`] and [`PageLatch`].
pub struct RawRwLock {
    real: parking_lot::RawRwLock,
    class: LatchClass,
    virtual_half: VirtualLatch,
}

impl std::fmt::Debug for RawRwLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "RawRwLock({:?}, locked: {})",
            self.class,
            self.is_locked()
        )
    }
}

impl RawRwLock {
    const fn new(class: LatchClass) -> Self {
        RawRwLock {
            real: parking_lot::RawRwLock::INIT,
            class,
            virtual_half: VirtualLatch::new(),
        }
    }

    #[inline]
    fn acquire(&self, mode: LatchMode, waiting_for: impl FnOnce() -> WaitKind) -> Held {
        if !ambient::simulation().is_null() {
            return self.acquire_virtually(mode, waiting_for);
        }
        self.acquire_really(mode, waiting_for)
    }

    #[inline(always)]
    fn acquire_really(&self, mode: LatchMode, waiting_for: impl FnOnce() -> WaitKind) -> Held {
        let lock = || {
            match mode {
                LatchMode::S => self.real.lock_shared(),
                LatchMode::SX => self.real.lock_upgradable(),
                LatchMode::X => self.real.lock_exclusive(),
            };
        };
        take_really(self.class, || self.try_really(mode), lock, waiting_for)
    }

    /// Apart, as [`release_virtually`](Self::release_virtually).
    #[inline(never)]
    fn acquire_virtually(&self, mode: LatchMode, waiting_for: impl FnOnce() -> WaitKind) -> Held {
        let (simulation, half) = (ambient::simulation(), &self.virtual_half);
        // SAFETY: the current task calls, and no reference into the simulation is live.
        let since = unsafe { Simulation::latch(simulation, half, self.class, mode, waiting_for) };
        Held { since }
    }

    #[inline]
    fn try_acquire(&self, mode: LatchMode) -> Option<Held> {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            return self.try_really(mode).then(|| taken_really(self.class));
        }
        // SAFETY: as in `acquire`.
        unsafe {
            Simulation::try_latch(simulation, &self.virtual_half, self.class, mode)
                .map(|since| Held { since })
        }
    }

    #[inline]
    fn try_really(&self, mode: LatchMode) -> bool {
        match mode {
            LatchMode::S => self.real.try_lock_shared().is_some(),
            LatchMode::SX => self.real.try_lock_upgradable().is_some(),
            LatchMode::X => self.real.try_lock_exclusive().is_some(),
        }
    }

    /// # Safety
    /// The latch is held in SX.
    unsafe fn upgrade_in_place(&self) {
        let simulation = ambient::simulation();
        // SAFETY: the caller holds the latch in SX; otherwise as in `acquire`.
        unsafe {
            if simulation.is_null() {
                self.real.upgrade(lock_api::GuardSend::new());
            } else {
                Simulation::upgrade(simulation, &self.virtual_half, self.class);
            }
        }
    }

    /// # Safety
    /// The latch is held in this mode.
    #[inline]
    unsafe fn release(&self, mode: LatchMode, held: Held) {
        if !ambient::simulation().is_null() {
            // SAFETY: by the caller's promise; otherwise as in `acquire`.
            return unsafe { self.release_virtually(mode, held) };
        }
        // SAFETY: by the caller's promise, and there is no simulation.
        unsafe { self.release_really(mode, &held) }
    }

    /// # Safety
    /// The latch is held in this mode, under the real clock.
    #[inline(always)]
    unsafe fn release_really(&self, mode: LatchMode, held: &Held) {
        release_really(self.class, held);
        let token = lock_api::GuardSend::new();
        // SAFETY: by the caller's promise.
        unsafe {
            match mode {
                LatchMode::S => self.real.unlock_shared(token),
                LatchMode::SX => self.real.unlock_upgradable(token),
                LatchMode::X => self.real.unlock_exclusive(token),
            }
        }
    }

    /// Apart, and with a look of its own, so that what is left of
    /// [`release`](Self::release) is small enough to be inlined.
    ///
    /// # Safety
    /// As there; there is a simulation, and its current task calls.
    #[inline(never)]
    unsafe fn release_virtually(&self, mode: LatchMode, held: Held) {
        let simulation = ambient::simulation();
        let half = &self.virtual_half;
        // SAFETY: by the caller's promise.
        unsafe { Simulation::unlatch(simulation, half, self.class, mode, held.since) }
    }
}

// SAFETY: as for `RawMutex`.
unsafe impl lock_api::RawRwLock for RawRwLock {
    const INIT: Self = RawRwLock::new(LatchClass::Plain);
    type SharedGuard = Held;
    type ExclusiveGuard = Held;

    #[inline]
    fn lock_shared(&self) -> Held {
        self.acquire(LatchMode::S, || WaitKind::Latch)
    }

    #[inline]
    fn try_lock_shared(&self) -> Option<Held> {
        self.try_acquire(LatchMode::S)
    }

    #[inline]
    unsafe fn unlock_shared(&self, held: Held) {
        // SAFETY: by the caller's promise.
        unsafe { self.release(LatchMode::S, held) }
    }

    #[inline]
    fn lock_exclusive(&self) -> Held {
        self.acquire(LatchMode::X, || WaitKind::Latch)
    }

    #[inline]
    fn try_lock_exclusive(&self) -> Option<Held> {
        self.try_acquire(LatchMode::X)
    }

    #[inline]
    unsafe fn unlock_exclusive(&self, held: Held) {
        // SAFETY: by the caller's promise.
        unsafe { self.release(LatchMode::X, held) }
    }

    fn is_locked(&self) -> bool {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            self.real.is_locked()
        } else {
            // SAFETY: as in `acquire`.
            unsafe { Simulation::is_latched(simulation, &self.virtual_half, LatchMode::S) }
        }
    }

    fn is_locked_exclusive(&self) -> bool {
        let simulation = ambient::simulation();
        if simulation.is_null() {
            self.real.is_locked_exclusive()
        } else {
            // SAFETY: as in `acquire`.
            unsafe { Simulation::is_latched(simulation, &self.virtual_half, LatchMode::X) }
        }
    }
}

// SAFETY: as for `RawMutex`; an upgrade keeps the acquisition and ends as X.
unsafe impl lock_api::RawRwLockUpgrade for RawRwLock {
    type UpgradableGuard = Held;

    #[inline]
    fn lock_upgradable(&self) -> Held {
        self.acquire(LatchMode::SX, || WaitKind::Latch)
    }

    #[inline]
    fn try_lock_upgradable(&self) -> Option<Held> {
        self.try_acquire(LatchMode::SX)
    }

    #[inline]
    unsafe fn unlock_upgradable(&self, held: Held) {
        // SAFETY: by the caller's promise.
        unsafe { self.release(LatchMode::SX, held) }
    }

    unsafe fn upgrade(&self, held: Held) -> Held {
        // SAFETY: by the caller's promise.
        unsafe { self.upgrade_in_place() };
        held
    }

    unsafe fn try_upgrade(&self, held: Held) -> Result<Held, Held> {
        // Nobody in the engine gives up an upgrade; waiting is always right.
        // SAFETY: by the caller's promise.
        Ok(unsafe { self.upgrade(held) })
    }
}

/// A reader-writer latch of a class; an upgradable read is InnoDB's SX.
#[derive(Debug)]
pub struct RwLock<T>(lock_api::RwLock<RawRwLock, T>);

/// An [`RwLock`] open for reading.
pub type RwLockReadGuard<'a, T> = lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// An [`RwLock`] open for reading, and closed to other writers.
pub type RwLockUpgradableReadGuard<'a, T> = lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;
/// An [`RwLock`] open for writing.
pub type RwLockWriteGuard<'a, T> = lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

impl<T> RwLock<T> {
    /// A free latch.
    pub const fn new(class: LatchClass, value: T) -> Self {
        RwLock(lock_api::RwLock::from_raw(RawRwLock::new(class), value))
    }

    /// Takes the latch in S.
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.0.read()
    }

    /// As [`read`](Self::read), but under the virtual clock nothing happens, and `None` is
    /// returned: for a path so short that it should ask only once which clock this is.
    /// Whoever gets `None` takes the latch with `read`.
    #[inline]
    pub fn read_if_real(&self) -> Option<RealReadGuard<'_, T>> {
        if !ambient::simulation().is_null() {
            return None;
        }
        // SAFETY: what is taken here the guard releases.
        let raw = unsafe { self.0.raw() };
        Some(RealReadGuard {
            held: raw.acquire_really(LatchMode::S, || WaitKind::Latch),
            raw,
            // SAFETY: the latch is held in S as long as the guard lives.
            value: unsafe { &*self.0.data_ptr() },
        })
    }

    /// Takes the latch in SX.
    #[inline]
    pub fn upgradable_read(&self) -> RwLockUpgradableReadGuard<'_, T> {
        self.0.upgradable_read()
    }

    /// Takes the latch in X.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.0.write()
    }
}

/// An [`RwLock`] open for reading under the real clock; see [`RwLock::read_if_real`].
pub struct RealReadGuard<'a, T> {
    raw: &'a RawRwLock,
    held: Held,
    value: &'a T,
}

impl<T> std::ops::Deref for RealReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Drop for RealReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the latch is held in S, and was taken under the real clock.
        unsafe { self.raw.release_really(LatchMode::S, &self.held) }
    }
}

// ---- page latch ---------------------------------------------------------------

/// The latch of a page in the buffer pool: S, SX and X without guards.
///
/// The mini-transaction remembers what it holds; the I/O that completes releases
/// what the reader or the flusher took.
#[derive(Debug)]
pub struct PageLatch(RawRwLock);

impl PageLatch {
    /// A free latch.
    pub const fn new() -> Self {
        PageLatch::of_class(LatchClass::Page)
    }

    /// A free latch of another class: what a mini-transaction holds beside pages, such as
    /// a tablespace's latch, is taken and released without guards, too.
    pub const fn of_class(class: LatchClass) -> Self {
        PageLatch(RawRwLock::new(class))
    }

    /// Takes the latch. If that needs waiting, `waiting_for` says what the wait is
    /// for: a page that is being read, one that is being written, or just the latch.
    #[inline]
    pub fn lock(&self, mode: LatchMode, waiting_for: impl FnOnce() -> WaitKind) -> Held {
        self.0.acquire(mode, waiting_for)
    }

    /// Takes the latch if that needs no waiting.
    #[inline]
    pub fn try_lock(&self, mode: LatchMode) -> Option<Held> {
        self.0.try_acquire(mode)
    }

    /// Releases the latch.
    ///
    /// # Safety
    /// The latch is held in this mode, and `held` is of that acquisition.
    #[inline]
    pub unsafe fn unlock(&self, mode: LatchMode, held: Held) {
        // SAFETY: by the caller's promise.
        unsafe { self.0.release(mode, held) }
    }

    /// Makes SX an X, when the readers have left; the acquisition stays the same.
    ///
    /// # Safety
    /// The latch is held in SX.
    pub unsafe fn upgrade(&self) {
        // SAFETY: by the caller's promise.
        unsafe { self.0.upgrade_in_place() }
    }

    /// Whether somebody holds the latch in any mode.
    pub fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

impl Default for PageLatch {
    fn default() -> Self {
        Self::new()
    }
}
