//! The virtual machine: the engine's tasks as coroutines on modelled hardware.
//!
//! ```text
//!            run()            one OS thread
//!              |
//!     +--------v---------+    earliest of:
//!     |  what is next?   |<-- the agenda      (timers, wake-ups, polls of a latch)
//!     +--------+---------+    the devices     (parts of disk requests)
//!              |              the processor   (a charge ends, a slice ends)
//!       time moves there
//!              |
//!     resume the task ------> runs engine code at one instant, adds to its debt
//!              ^              of CPU, until it must settle the debt or wait:
//!              |                 settle: the debt becomes a charge in flight
//!              +-----------------wait:   its hardware thread goes to the next task
//! ```
//!
//! Code between two suspends runs at one virtual instant. What it would have cost
//! is added up as *debt* and paid before anybody could notice; the rules for that
//! are in [`charges`]. Latches are in [`latch`], the hardware in [`processor`].
//!
//! **Aliasing.** Tasks and the run loop all reach the one [`Simulation`] through a
//! raw pointer. Methods take `&mut self` and never suspend; whatever suspends is an
//! associated function over the raw pointer that makes such borrows for a moment
//! only. So no two references overlap although control moves between stacks.

mod agenda;
mod charges;
mod devices;
pub mod disk;
mod event;
mod latch;
mod latch_word;
mod occupancy;
mod processor;
mod scheduler;
mod spinning;
mod stack;
mod statistics;
mod task;
mod tournament;
mod wait_queue;

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};

use rand_xoshiro::Xoshiro256PlusPlus;

pub(super) use devices::{Completion, CompletionQueue};
pub(super) use event::VirtualEvent;
pub(super) use latch_word::VirtualLatch;
pub use scheduler::Stalled;
pub use statistics::SimulationStatistics;
pub use task::TaskId;

use self::agenda::Agenda;
use self::devices::Devices;
use self::disk::{DiskCounters, DiskModel, DiskProfile};
use self::processor::Processor;
use self::stack::StackPool;
use self::task::{Task, TaskCoroutine, Wakeup};
use self::wait_queue::WaitQueues;
use super::accounting::TaskRole;
use super::ambient::Entered;
use super::cost::{Cost, CostTable};
use super::files::{Crash, CrashReport, DeviceFacts, FileKind, Placement, VirtualFiles};
use super::profile::{Broadcast, CpuProfile, ProfileError, SpinSettings, micros, nanos};
use super::random::{QuantileTable, Stream};
use super::time::{NANOSECOND, NEVER, Time};

/// When debts of CPU are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Settle {
    /// Before anybody could notice: the rules of the design.
    #[default]
    Lazy,
    /// At every acquire and release: slow, the oracle for the lazy rules.
    Always,
}

/// A machine that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// A value of the processor's profile.
    #[error(transparent)]
    Processor(#[from] ProfileError),
    /// Values of a disk's profile.
    #[error(transparent)]
    Disk(#[from] disk::ProfileError),
    /// A kind of file is placed on a device that the machine does not have.
    #[error("{} files are placed on device {device}, but there are {devices}", kind.event_name())]
    Placement {
        /// The kind of file.
        kind: FileKind,
        /// The device's place in the list.
        device: u16,
        /// How many devices there are.
        devices: usize,
    },
}

/// What a simulation is made of.
#[derive(Debug, Clone)]
pub struct SimulationOptions {
    /// The processor.
    pub cpu: CpuProfile,
    /// The disks, each with a name.
    pub disks: Vec<(String, DiskProfile)>,
    /// What the engine's work costs.
    pub costs: CostTable,
    /// On which of the disks each kind of file lies.
    pub placement: Placement,
    /// Bytes of file content to keep in memory; what is over goes to an unlinked file.
    /// `None`: all of it stays.
    pub memory_budget: Option<u64>,
    /// Where that file is, of the host's directories.
    pub spill_directory: PathBuf,
    /// Spin settings of the latches.
    pub spin: SpinSettings,
    /// When debts are settled.
    pub settle: Settle,
    /// The seed of all random streams.
    pub seed: u64,
    /// Bytes of stack a task has.
    pub stack_bytes: usize,
}

impl SimulationOptions {
    /// A simulation of this processor with everything else at its default.
    pub fn new(cpu: CpuProfile, seed: u64) -> Self {
        SimulationOptions {
            cpu,
            disks: Vec::new(),
            costs: CostTable::default(),
            placement: Placement::default(),
            memory_budget: None,
            spill_directory: std::env::temp_dir(),
            spin: SpinSettings::default(),
            settle: Settle::Lazy,
            seed,
            stack_bytes: stack::DEFAULT_STACK_BYTES,
        }
    }
}

/// Times of the profile, ready for use.
struct Timing {
    context_switch: Time,
    cold_cache: Time,
    wake_latency: Time,
    timer_slack: Time,
    wake_call: Time,
    broadcast: Broadcast,
    sleep_call: Time,
    yield_call: Time,
    io_call: Time,
    page_copy: Time,
    line_same_socket: Time,
    line_cross_socket: Time,
    /// The longest spin round, and the check that each round makes.
    round_max: Time,
    round_check: Time,
    spin_loops: u32,
    sockets: u64,
}

/// A deterministic virtual machine; see the module's opening.
pub struct Simulation {
    now: Time,
    sequence: u64,
    agenda: Agenda<Wakeup>,
    processor: Processor,
    devices: Devices,
    files: VirtualFiles,
    /// Owned; reached by pointer from their own coroutines. Freed with the simulation.
    tasks: Vec<*mut Task>,
    /// The coroutines of the tasks, null for those that have ended.
    coroutines: Vec<*mut TaskCoroutine>,
    free_tasks: Vec<u32>,
    current: *mut Task,
    current_id: u32,
    /// The task that `run` was called for, and whether it has ended.
    main_task: u32,
    main_ended: bool,
    cut_at: Time,
    /// The number of the present run: latches and events of earlier runs are void.
    run_number: u16,
    /// Set while suspended tasks are unwound: nothing may suspend any more.
    cut: bool,
    queues: WaitQueues,
    timing: Timing,
    costs: CostTable,
    settle: Settle,
    wake_affine: bool,
    stacks: StackPool,
    seed: u64,
    spin_stream: Stream,
    normal: QuantileTable,
    /// Open borrows of `TaskCell`s and regions that must not suspend.
    pub(super) open_borrows: i32,
    statistics: SimulationStatistics,
    draws: Option<Vec<Draw>>,
}

/// One random number drawn: when, from which stream, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// The virtual time of the draw.
    pub at: Time,
    /// The stream's number, a hash of its name.
    pub stream: u64,
    /// The value drawn.
    pub value: u64,
}

/// How a run of the simulation ended.
#[derive(Debug)]
pub enum Outcome<T> {
    /// The main task returned.
    Finished(T),
    /// The power was cut at the instant asked for; no task is left.
    PowerCut,
}

impl<T> Outcome<T> {
    /// The main task's result.
    ///
    /// # Panics
    /// If the power was cut.
    pub fn unwrap(self) -> T {
        match self {
            Outcome::Finished(value) => value,
            Outcome::PowerCut => panic!("the power was cut before the main task ended"),
        }
    }
}

impl Simulation {
    /// A machine that is switched on at time 0 with nothing running.
    ///
    /// # Errors
    /// If a value of the processor's or of a disk's profile is out of range.
    pub fn new(options: &SimulationOptions) -> Result<Box<Self>, MachineError> {
        options.cpu.validate()?;
        let mut disks = Vec::new();
        for (name, profile) in &options.disks {
            let generator = disk_generator(options.seed, name);
            disks.push((name.clone(), profile.build(generator)?));
        }
        let files = files_on(&disks, options)?;
        let cpu = &options.cpu;
        let spin = options.spin;
        let pause = nanos(cpu.pause_ns);
        let timing = Timing {
            context_switch: micros(cpu.context_switch_us),
            cold_cache: micros(cpu.cold_cache_us),
            wake_latency: micros(cpu.wake_latency_us),
            timer_slack: micros(cpu.timer_slack_us),
            wake_call: micros(cpu.wake_call_us),
            broadcast: cpu.broadcast,
            sleep_call: micros(cpu.sleep_call_us),
            yield_call: micros(cpu.yield_call_us).max(NANOSECOND),
            io_call: micros(cpu.io_call_us),
            page_copy: micros(cpu.page_copy_us),
            line_same_socket: nanos(cpu.line_same_socket_ns),
            line_cross_socket: nanos(cpu.line_cross_socket_ns),
            round_max: pause
                .saturating_mul(u64::from(spin.wait_delay))
                .saturating_mul(u64::from(spin.pause_multiplier))
                .min(spinning::SPIN_BUDGET_MAX),
            round_check: pause,
            spin_loops: spin.loops,
            sockets: u64::from(cpu.sockets),
        };
        Ok(Box::new(Simulation {
            now: 0,
            sequence: 0,
            agenda: Agenda::new(),
            processor: Processor::new(cpu),
            devices: Devices::new(disks),
            files,
            tasks: Vec::new(),
            coroutines: Vec::new(),
            free_tasks: Vec::new(),
            current: std::ptr::null_mut(),
            current_id: processor::NO_TASK,
            main_task: processor::NO_TASK,
            main_ended: false,
            cut_at: NEVER,
            run_number: 0,
            cut: false,
            queues: WaitQueues::new(),
            timing,
            costs: options.costs.clone(),
            settle: options.settle,
            wake_affine: cpu.wake_affine,
            stacks: StackPool::new(options.stack_bytes),
            seed: options.seed,
            spin_stream: spin_stream(options.seed),
            normal: QuantileTable::normal(),
            open_borrows: 0,
            statistics: SimulationStatistics::new(),
            draws: None,
        }))
    }

    /// Runs `main` as a task until it returns. Tasks that it leaves behind are
    /// unwound.
    ///
    /// # Errors
    /// [`Stalled`] if every task waits for something that cannot happen.
    ///
    /// # Panics
    /// With the panic of a task that panicked.
    pub fn run<T: 'static>(&mut self, main: impl FnOnce() -> T + 'static) -> Result<T, Stalled> {
        self.run_until(NEVER, main).map(Outcome::unwrap)
    }

    /// Runs `main` as a task until it returns or the power is cut at `cut_at`,
    /// whichever comes first. At a cut all tasks are unwound where they stand.
    pub fn run_until<T: 'static>(
        &mut self,
        cut_at: Time,
        main: impl FnOnce() -> T + 'static,
    ) -> Result<Outcome<T>, Stalled> {
        let result = std::rc::Rc::new(std::cell::Cell::new(None));
        let slot = result.clone();
        let body = move || {
            let value = main();
            crate::runtime::settle();
            slot.set(Some(value));
        };
        self.cut_at = cut_at;
        self.main_ended = false;
        self.run_number = next_run_number();
        self.files.run_begins();
        self.main_task = self.spawn_task("main", TaskRole::Background, Box::new(body));
        let simulation: *mut Simulation = self;
        let _entered = Entered::new(simulation);
        // SAFETY: `simulation` is this exclusively borrowed value; `self` is not
        // used again before the loop has returned.
        let body = AssertUnwindSafe(|| unsafe { Simulation::run_loop(simulation) });
        let ended = panic::catch_unwind(body);
        // SAFETY: the loop has returned, so no task is running; `self` is not used
        // again before this has returned, too.
        let unwound = unsafe { Simulation::unwind_tasks(simulation) };
        let result = result.take();
        self.files
            .run_ended(result.is_none() && matches!(ended, Ok(Ok(()))));
        let (busy, queued) = self.processor.areas(self.now);
        self.statistics.busy = busy;
        self.statistics.queued = queued;
        if let (Ok(_), Some(payload)) = (&ended, unwound) {
            panic::resume_unwind(payload);
        }
        match ended {
            Err(payload) => panic::resume_unwind(payload),
            Ok(Err(stalled)) => Err(stalled),
            Ok(Ok(())) => Ok(match result {
                Some(value) => Outcome::Finished(value),
                None => Outcome::PowerCut,
            }),
        }
    }

    /// The files of the machine, between runs.
    pub fn files(&self) -> &VirtualFiles {
        &self.files
    }

    /// The files of the machine, between runs.
    pub fn files_mut(&mut self) -> &mut VirtualFiles {
        &mut self.files
    }

    /// Decides what a crash has left of the files: after a run that ended with
    /// [`Outcome::PowerCut`], as which of the two the cut was meant; or after any run.
    ///
    /// # Errors
    /// If the host cannot read back file content that it was given to keep.
    pub fn resolve_crash(&mut self, crash: Crash) -> std::io::Result<CrashReport> {
        self.files.resolve_crash(crash)
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What so many of something cost on this machine; they are counted.
    #[inline]
    pub(super) fn cost(&mut self, cost: Cost, times: u64) -> Time {
        self.statistics.charges[cost as usize] += times;
        self.costs.get(cost) * times
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// See [`reseed`](crate::runtime::reseed).
    pub(super) fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        self.spin_stream = spin_stream(seed);
        for device in &mut self.devices.list {
            device.disk.reseed(disk_generator(seed, &device.name));
        }
        self.files.reseed(seed);
    }

    /// What has been counted up to the end of the last run.
    pub fn statistics(&self) -> &SimulationStatistics {
        &self.statistics
    }

    /// What a disk has counted, by its place in the list; `None` if there is no such.
    pub fn disk_counters(&self, device: usize) -> Option<DiskCounters> {
        self.devices
            .list
            .get(device)
            .map(|device| device.disk.counters(self.now))
    }

    /// The name of a disk.
    pub fn disk_name(&self, device: usize) -> Option<&str> {
        self.devices.list.get(device).map(|device| &*device.name)
    }

    /// Keeps every random number from here on, to compare two runs.
    pub fn record_draws(&mut self) {
        self.draws = Some(Vec::new());
    }

    /// The random numbers recorded so far.
    pub fn take_draws(&mut self) -> Vec<Draw> {
        self.draws.take().unwrap_or_default()
    }

    /// # Safety
    /// `simulation` is the current simulation, and no reference to its draw log lives.
    pub(super) unsafe fn log_draw(simulation: *mut Simulation, stream: u64, value: u64) {
        // SAFETY: by the caller's promise; only these two fields are touched.
        unsafe {
            if let Some(draws) = &mut (*simulation).draws {
                let at = (*simulation).now;
                draws.push(Draw { at, stream, value });
            }
        }
    }
}

/// The stream of polls of latches.
fn spin_stream(seed: u64) -> Stream {
    Stream::new(seed, "latch spin")
}

/// The stream of a disk's service times.
fn disk_generator(seed: u64, name: &str) -> Xoshiro256PlusPlus {
    Stream::new(seed, &format!("disk {name}")).into_generator()
}

/// The files of a machine with these disks.
fn files_on(
    disks: &[(String, disk::Disk)],
    options: &SimulationOptions,
) -> Result<VirtualFiles, MachineError> {
    for kind in FileKind::ALL {
        let device = options.placement.device(kind);
        if !disks.is_empty() && usize::from(device) >= disks.len() {
            return Err(MachineError::Placement {
                kind,
                device,
                devices: disks.len(),
            });
        }
    }
    let facts = disks.iter().map(|(_, disk)| DeviceFacts {
        protected: disk.cache_protection() == disk::CacheProtection::Protected,
        atomic_write_bytes: disk.atomic_write_bytes(),
        capacity_bytes: disk.capacity_bytes(),
    });
    Ok(VirtualFiles::new(
        options.seed,
        facts,
        options.placement,
        options.memory_budget,
        options.spill_directory.clone(),
    ))
}

/// A number for a run, different from that of every run of this process that could
/// have left a latch behind.
fn next_run_number() -> u16 {
    static RUNS: AtomicU16 = AtomicU16::new(0);
    // 0 marks a latch that was never used.
    (RUNS.fetch_add(1, Ordering::Relaxed) % (u16::MAX - 1)) + 1
}

/// The first place where two draw logs part, as a sentence; `None` if they agree.
pub fn first_difference(left: &[Draw], right: &[Draw]) -> Option<String> {
    for (index, (a, b)) in left.iter().zip(right).enumerate() {
        if a != b {
            return Some(format!("draw {index}: {a:?} against {b:?}"));
        }
    }
    (left.len() != right.len())
        .then(|| format!("{} draws against {}, equal so far", left.len(), right.len()))
}
