//! Several futures of one warm state.
//!
//! A steady state costs ninety virtual seconds or more of warm-up, and cells of an
//! experiment that differ in a variable and a seed only can share it: when it is reached,
//! the process is forked, once for each of them.
//!
//! ```text
//!   open ── warm-up ──┤ clients pause ├── fork ── fork ── ...        the parent waits
//!                                          │       │
//!                        future 1  ◄───────┘       └──►  future 2
//!                        seed, variables, clients go on, settle, measure, document
//! ```
//!
//! * **Pause.** Every client ends its transaction and waits at the gate. Background tasks
//!   are wherever they are: their stacks are copied with the process.
//! * **Future.** The machine gets the future's seed and the engine its variables
//!   ([`Engine::change_at_snapshot`](innosim_engine::engine::Engine::change_at_snapshot));
//!   then the clients go on. What the pause has disturbed is given a moment to settle
//!   ([`SnapshotOptions::settle_time`]), and measuring begins.
//! * **Parent.** It stands still at the instant of the snapshot, so each future begins
//!   from the same bits, whichever is forked first and however many run at a time.
//!
//! # The seed
//!
//! From the snapshot on the run's seed is the first number of the stream `snapshot` of the
//! future's seed, so that a future with the seed of the warm-up does not draw the warm-up
//! over again. The streams of that name and seed take the place of those before:
//! `client N` and `server layer N` of every client, and those of the machine
//! ([`reseed`](innosim_engine::runtime::reseed)). What is no stream goes on: the sequences
//! of unique ids that inserts use, the rows.
//!
//! # Threads of this process
//!
//! A child has one thread, the one that runs the simulation. What others there are, and why
//! they are not missed, is in [`fork`](innosim_engine::runtime::fork); of this crate's, the
//! one that waits for signals ([`data_directory`](super::data_directory)) holds its lock
//! only when the process is about to end, and those of progress bars draw, which a child
//! does not.

mod warm_up;

pub use warm_up::STEADY_TIMES;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, bail};
use innosim_engine::engine::SnapshotChange;
use innosim_engine::runtime;
use innosim_engine::runtime::fork::{Child, ChildEnd, Forked, Outbox, fork, wait_for_any};
use innosim_engine::runtime::random::Stream;
use innosim_engine::runtime::time::{SECOND, Time, to_seconds};

use super::data_directory::DataDirectory;
use super::document::document;
use super::execute::{Server, Watch};
use super::host_usage::HostUsage;
use super::machine::Machine;
use super::measure::{Drive, Driving};
use super::plan::{Clock, RunPlan};
use super::pool_memory;
use crate::report::json::RunDocument;

/// A database whose variables can be changed while no client is in a transaction.
pub trait Changing: Server {
    /// Changes variables: names and values as a user writes them.
    ///
    /// # Errors
    /// If one of them cannot be changed so.
    fn change_at_snapshot(&self, variables: &[(String, String)]) -> anyhow::Result<SnapshotChange>;
}

/// One way in which a warm state goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Future {
    /// What errors and progress call it.
    pub label: String,
    /// Variables to change at the snapshot, with their values.
    pub variables: Vec<(String, String)>,
    /// The seed from there on.
    pub seed: u64,
}

/// How futures are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// Processes at a time, beside the one that waits for them; at least 1.
    pub jobs: usize,
    /// Time between the end of the pause and the begin of measuring, at least.
    pub settle_time: Time,
    /// Whether the warm-up goes on until flushing is steady, for three times as long as a
    /// page stays dirty; each future settles for as long as a page stays dirty, then.
    pub until_steady: bool,
    /// Bytes of page images that the process, and each that is forked from it, keeps in
    /// memory; what is more goes to disk. Half of what is available, if nobody says.
    /// Results do not depend on it.
    pub image_memory: Option<u64>,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        SnapshotOptions {
            jobs: 1,
            settle_time: 5 * SECOND,
            until_steady: false,
            image_memory: None,
        }
    }
}

/// Warms up as the plan says and carries out every future of that state: the plan's time of
/// measuring each, in a process of its own. The documents are in the order of the futures;
/// each has its future's seed and variables, and a warning that says what it is. `host` is
/// the child's share alone.
///
/// A data directory of the plan gets the tables that are missing, and is left so: what
/// warm-up and futures change there is forgotten.
///
/// # Errors
/// Under the real clock; if the plan ends by events; if the warm-up fails; or if a future
/// does, by an error, a panic or a signal: the message begins with its label, and the other
/// futures are ended.
pub fn futures<S: Changing>(
    plan: &RunPlan,
    futures: &[Future],
    options: &SnapshotOptions,
    watch: impl Watch + 'static,
) -> anyhow::Result<Vec<RunDocument>> {
    let outbox = Slot::default();
    let (of_child, futures, settings) = (outbox.clone(), futures.to_vec(), *options);
    with_machine::<S, _, _>(plan, options, watch, &outbox, move |warm, watch| {
        collect(warm, &futures, &settings, &of_child, watch)
    })
}

/// One future without a fork: the document that [`futures`] has for it, to the bit, but for
/// `host`. For a single future, and where there is no memory for two processes.
///
/// # Errors
/// As [`futures`].
pub fn future<S: Changing>(
    plan: &RunPlan,
    future: &Future,
    options: &SnapshotOptions,
    watch: impl Watch + 'static,
) -> anyhow::Result<RunDocument> {
    let (settings, of_future) = (*options, future.clone());
    let nobody = Slot::default();
    with_machine::<S, _, _>(plan, options, watch, &nobody, move |warm, _| {
        warm.go_on(&of_future, settings.settle_time)
    })
    .with_context(|| future.label.clone())
}

/// Where a child has its end of the pipe; empty in the parent.
type Slot = Rc<Cell<Option<Outbox>>>;

/// Runs something over the plan's warm state, as the main task of its machine.
fn with_machine<S, T, W>(
    plan: &RunPlan,
    options: &SnapshotOptions,
    mut watch: W,
    outbox: &Slot,
    body: impl FnOnce(WarmState<S>, &mut W) -> anyhow::Result<T> + 'static,
) -> anyhow::Result<T>
where
    S: Changing,
    T: 'static,
    W: Watch + 'static,
{
    check(plan)?;
    pool_memory::require(plan)?;
    let directory = DataDirectory::new(&plan.files)?;
    S::prepare(plan, directory.path(), &mut watch)?;
    let mut machine = match options.image_memory {
        None => Machine::new(plan, directory.path())?,
        Some(bytes) => Machine::with_image_memory(plan, directory.path(), Some(bytes))?,
    };
    let data = machine.data().to_path_buf();
    let plan = plan.clone();
    let until_steady = options.until_steady;
    let main = move || -> anyhow::Result<T> {
        let warm = WarmState::<S>::reach(plan, &data, until_steady, &mut watch)?;
        body(warm, &mut watch)
    };
    let ran = catch_unwind(AssertUnwindSafe(|| machine.run(main)));
    if let Some(outbox) = outbox.take() {
        // A child, of which a task panicked, or all wait for ever. It ends here: what
        // follows is the parent's.
        let why = match ran {
            Err(_) => outbox.last_panic(),
            Ok(Err(stalled)) => stalled.to_string(),
            Ok(Ok(_)) => "the future ended without a document".to_owned(),
        };
        outbox.send(&message(Err(why)));
    }
    ran.unwrap_or_else(|panic| resume_unwind(panic))?
}

/// Refuses plans whose warm state cannot go on in several ways.
fn check(plan: &RunPlan) -> anyhow::Result<()> {
    if plan.clock != Clock::Virtual {
        bail!("a snapshot needs the virtual clock: threads cannot be copied");
    }
    if plan.length.time.is_none() || plan.length.events.is_some() {
        bail!("a snapshot needs a measurement that ends by time (--time), not by events");
    }
    Ok(())
}

/// An engine at the end of the warm-up, with its clients waiting.
struct WarmState<S: Changing> {
    /// With the warm-up that it has had.
    plan: RunPlan,
    server: Arc<S>,
    driving: Driving<S>,
    /// How long pages stay dirty, where that was looked at.
    dirty: Time,
}

impl<S: Changing> WarmState<S> {
    fn reach(
        mut plan: RunPlan,
        data: &Path,
        until_steady: bool,
        watch: &mut impl Watch,
    ) -> anyhow::Result<Self> {
        let server = S::open(&plan, data)?;
        watch.starts();
        let mut driving = Driving::new(&server, Drive::new(&plan));
        let mut dirty = 0;
        if until_steady {
            let reached = warm_up::until_steady(&mut driving, &*server, plan.length.warm_up);
            (plan.length.warm_up, dirty) = (reached.elapsed, reached.dirty);
        } else {
            driving.run_for(plan.length.warm_up);
        }
        driving.pause()?;
        watch.warm(plan.length.warm_up);
        Ok(WarmState {
            plan,
            server,
            driving,
            dirty,
        })
    }

    /// Becomes the future, and measures it.
    fn go_on(self, future: &Future, settle_time: Time) -> anyhow::Result<RunDocument> {
        let usage = HostUsage::begin();
        let WarmState {
            mut plan,
            server,
            mut driving,
            dirty,
        } = self;
        let settle_time = settle_time.max(dirty);
        runtime::reseed(seed_after(future.seed));
        let change = server.change_at_snapshot(&future.variables)?;
        driving.resume_reseeded();
        if settle_time > 0 {
            driving.run_for(settle_time);
        }
        let measurement = driving.measure(|_| ())?;
        plan.warnings.push(what_it_is(&plan, &change, settle_time));
        plan.warnings.extend(change.warnings);
        plan.settings = change.settings;
        plan.seed = future.seed;
        let warnings = server.take_warnings();
        Ok(document(&plan, &measurement, warnings, &usage))
    }
}

/// The seed of a run from a snapshot on.
fn seed_after(seed: u64) -> u64 {
    Stream::new(seed, "snapshot").next_u64()
}

/// The note in a future's document.
fn what_it_is(plan: &RunPlan, change: &SnapshotChange, settle_time: Time) -> String {
    let changes = change.changed.iter();
    let changes: Vec<_> = changes
        .map(|changed| {
            let name = changed.definition.name;
            format!("{name} from {} to {}", changed.from, changed.to)
        })
        .collect();
    let changes = match &changes[..] {
        [] => "no variable".to_owned(),
        changes => changes.join(", "),
    };
    format!(
        "note: one of several futures of a warm state that was reached in {} s with seed {}; \
         changed at the snapshot: {changes}; {} s to settle",
        to_seconds(plan.length.warm_up),
        plan.seed,
        to_seconds(settle_time),
    )
}

/// A future that is being carried out.
struct Running {
    place: usize,
    child: Child,
    message: Vec<u8>,
}

/// Forks the futures and collects their documents, in the parent; in a child, becomes its
/// future and does not return.
fn collect<S: Changing>(
    warm: WarmState<S>,
    futures: &[Future],
    options: &SnapshotOptions,
    outbox: &Slot,
    watch: &mut impl Watch,
) -> anyhow::Result<Vec<RunDocument>> {
    let mut documents: Vec<Option<RunDocument>> = futures.iter().map(|_| None).collect();
    let mut running: Vec<Running> = Vec::new();
    let mut waiting = futures.iter().enumerate();
    let mut buffer = vec![0; 64 << 10];
    loop {
        while running.len() < options.jobs.max(1)
            && let Some((place, future)) = waiting.next()
        {
            match fork().with_context(|| future.label.clone())? {
                Forked::Parent(child) => running.push(Running {
                    place,
                    child,
                    message: Vec::new(),
                }),
                Forked::Child(own) => {
                    outbox.set(Some(own));
                    let result = warm.go_on(future, options.settle_time);
                    let result = result.map_err(|error| format!("{error:#}"));
                    let own = outbox.take().expect("put there above");
                    own.send(&message(result));
                }
            }
        }
        if running.is_empty() {
            break;
        }
        // All pipes are read at once: a child whose document does not fit into its pipe
        // must not wait for another one to end.
        let ready = wait_for_any(running.iter().map(|running| &running.child))?;
        let count = running[ready].child.read(&mut buffer)?;
        running[ready].message.extend_from_slice(&buffer[..count]);
        if count == 0 {
            let ended = running.remove(ready);
            let label = &futures[ended.place].label;
            let end = ended.child.reap()?;
            let document = understand(end, &ended.message).with_context(|| label.clone())?;
            watch.future_ended(ended.place, label, &document);
            documents[ended.place] = Some(document);
        }
    }
    Ok(documents.into_iter().flatten().collect())
}

/// First byte of a message: what follows is a document.
const DOCUMENT: u8 = b'+';

/// First byte of a message: what follows is why there is none.
const FAILURE: u8 = b'-';

/// What a child tells its parent.
fn message(result: Result<RunDocument, String>) -> Vec<u8> {
    let (kind, body) = match result {
        Ok(document) => match serde_json::to_vec(&document) {
            Ok(json) => (DOCUMENT, json),
            Err(error) => (FAILURE, error.to_string().into_bytes()),
        },
        Err(why) => (FAILURE, why.into_bytes()),
    };
    let mut message = vec![kind];
    message.extend(body);
    message
}

/// What a child that has ended has told.
fn understand(end: ChildEnd, message: &[u8]) -> anyhow::Result<RunDocument> {
    match (end, message.split_first()) {
        (ChildEnd::Done, Some((&DOCUMENT, json))) => {
            serde_json::from_slice(json).context("what the process sent is no document")
        }
        (ChildEnd::Done, Some((_, why))) => bail!("{}", String::from_utf8_lossy(why)),
        (ChildEnd::Done, None) => bail!("its process ended without a word"),
        (ChildEnd::Exited(code), _) => bail!("its process ended with exit code {code}"),
        (ChildEnd::Killed(signal), _) => bail!(
            "its process was ended by signal {signal}{}",
            match signal {
                9 => ": somebody killed it, or the system ran out of memory",
                _ => "",
            }
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use innosim_engine::runtime::time::{MILLISECOND, NEVER};
    use innosim_engine::runtime::{WaitKind, sleep, spawn};

    use super::super::arguments::RunArguments;
    use super::super::sleeping::Sleeping;
    use super::*;
    use crate::report::IntervalLine;

    /// What happens to a future is the name of its variable.
    impl Changing for Sleeping {
        fn change_at_snapshot(
            &self,
            variables: &[(String, String)],
        ) -> anyhow::Result<SnapshotChange> {
            for (name, value) in variables {
                match name.as_str() {
                    "error" => bail!("no variable {value}"),
                    "abort" => std::process::abort(),
                    "panic" => panic!("{value}"),
                    "task panics" => {
                        let value = value.clone();
                        spawn("unlucky", move || panic!("{value}"));
                        sleep(MILLISECOND, WaitKind::Other);
                    }
                    // The clients wait, and now everybody does.
                    _ => sleep(NEVER, WaitKind::Other),
                }
            }
            let changed = plan(1).settings.change(&[])?;
            Ok(SnapshotChange {
                settings: changed.settings,
                changed: changed.changed,
                warnings: changed.warnings,
            })
        }
    }

    fn plan(seed: u64) -> RunPlan {
        let arguments = RunArguments {
            workload: Some("oltp_point_select".into()),
            threads: Some("3".into()),
            time: Some("0.5".into()),
            warmup_time: Some("0.2".into()),
            seed: Some(seed.to_string()),
            ..RunArguments::default()
        };
        arguments.plan().unwrap()
    }

    fn of(label: &str, variables: &[(&str, &str)]) -> Future {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Future {
            label: label.to_owned(),
            variables: variables.iter().map(own).collect(),
            seed: 3,
        }
    }

    /// Keeps what it is told, across the fork or not.
    #[derive(Clone, Default)]
    struct Diary(Arc<Mutex<Vec<String>>>);

    impl Watch for Diary {
        fn loaded(&mut self, _table: &str, _rows: u64, _of: u64) {}
        fn starts(&mut self) {
            self.0.lock().unwrap().push("starts".into());
        }
        fn interval(&mut self, _line: &IntervalLine) {
            self.0.lock().unwrap().push("interval".into());
        }
        fn future_ended(&mut self, _place: usize, label: &str, document: &RunDocument) {
            assert_eq!(document.seed, 3);
            self.0.lock().unwrap().push(label.into());
        }
    }

    const NO_TIME: SnapshotOptions = SnapshotOptions {
        jobs: 1,
        settle_time: 0,
        until_steady: false,
        image_memory: None,
    };

    #[test]
    fn the_parent_hears_of_every_future_and_counts_nothing_of_the_warm_up() {
        let diary = Diary::default();
        let list = [of("one", &[]), of("other", &[])];
        let documents = futures::<Sleeping>(&plan(1), &list, &NO_TIME, diary.clone()).unwrap();
        assert_eq!(*diary.0.lock().unwrap(), ["starts", "one", "other"]);
        for document in documents {
            // Three clients whose statements take a millisecond and a little.
            assert!((1200..=1500).contains(&document.transactions));
            assert!(document.warnings.contains(&"all was a dream".to_owned()));
            let says = "in 0.2 s with seed 1; changed at the snapshot: no variable; 0 s to settle";
            let mut warnings = document.warnings.iter();
            assert!(warnings.any(|warning| warning.ends_with(says)));
        }
    }

    #[test]
    fn a_future_that_dies_is_told_by_name_with_its_last_words() {
        for (fate, expected) in [
            ("error", "unlucky: no variable bad luck"),
            ("abort", "unlucky: its process was ended by signal 6"),
            ("panic", "bad luck"),
            ("task panics", "bad luck"),
            ("stall", "unlucky: the simulation stalled at "),
        ] {
            let list = [of("lucky", &[]), of("unlucky", &[(fate, "bad luck")])];
            let died = futures::<Sleeping>(&plan(1), &list, &NO_TIME, Diary::default());
            let message = format!("{:#}", died.unwrap_err());
            assert!(message.starts_with("unlucky: "), "{fate}: {message}");
            assert!(message.contains(expected), "{fate}: {message}");
        }
    }

    #[test]
    fn a_warm_up_that_fails_has_no_futures() {
        let diary = Diary::default();
        let failed = futures::<Sleeping>(&plan(13), &[of("one", &[])], &NO_TIME, diary.clone());
        assert_eq!(format!("{:#}", failed.unwrap_err()), "the disk is full");
        assert_eq!(*diary.0.lock().unwrap(), ["starts"]);
    }

    #[test]
    fn a_child_that_has_no_document_to_give_is_an_error_with_its_reason() {
        let told = |end, message: &[u8]| understand(end, message).unwrap_err().to_string();
        let failed = message(Err("the disk is full".into()));
        assert_eq!(told(ChildEnd::Done, &failed), "the disk is full");
        assert_eq!(
            told(ChildEnd::Done, b""),
            "its process ended without a word"
        );
        let half = b"+{\"innosim\": ";
        assert_eq!(
            told(ChildEnd::Exited(1), half),
            "its process ended with exit code 1"
        );
        assert_eq!(
            told(ChildEnd::Killed(11), half),
            "its process was ended by signal 11"
        );
        assert!(told(ChildEnd::Killed(9), half).ends_with("ran out of memory"));
        assert_eq!(
            told(ChildEnd::Done, half),
            "what the process sent is no document"
        );
    }

    #[test]
    fn the_seed_after_a_snapshot_is_not_that_before() {
        let seeds: std::collections::BTreeSet<u64> =
            (0..100).chain((0..100).map(seed_after)).collect();
        assert_eq!(seeds.len(), 200);
    }
}
