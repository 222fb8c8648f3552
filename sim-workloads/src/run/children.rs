//! Processes that this one has started, which do not outlive it.
//!
//! ```text
//!   signal ──► this process ── the same signal ──► children      they remove their own
//!                    waits until they are gone ◄──────┘          directories
//!                    removes its directories, ends by the signal
//! ```
//!
//! A child gets the signal that ends its parent, so that it can tidy up; one that does not
//! end then is killed. Where the parent itself is killed, the kernel tells the children to
//! end (`PR_SET_PDEATHSIG`).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::data_directory::watch_for_signals;

/// How long children may take to end before they are killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks whether they have.
const LOOK: Duration = Duration::from_millis(10);

#[derive(Debug)]
struct Children {
    running: Vec<u32>,
    /// A signal has come: nobody is to be started, and who has waited waits for the end.
    is_ending: bool,
}

static CHILDREN: Mutex<Children> = Mutex::new(Children {
    running: Vec::new(),
    is_ending: false,
});

fn children() -> MutexGuard<'static, Children> {
    CHILDREN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child that ends when this process does.
#[derive(Debug)]
pub struct StartedChild {
    child: Option<Child>,
    number: u32,
}

impl StartedChild {
    /// Starts it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        watch_for_signals()?;
        let end_with_parent = || Ok(set_parent_process_death_signal(Some(Signal::TERM))?);
        // SAFETY: between fork and exec it makes one system call and touches no memory of
        // others.
        unsafe { command.pre_exec(end_with_parent) };
        // Under the lock, so that a signal finds it once it exists.
        let mut children = children();
        if children.is_ending {
            drop(children);
            wait_for_the_end();
        }
        let child = command.spawn()?;
        let number = child.id();
        children.running.push(number);
        Ok(StartedChild {
            child: Some(child),
            number,
        })
    }

    /// The process.
    ///
    /// # Panics
    /// After [`output`](Self::output), which takes the value.
    pub fn process(&mut self) -> &mut Child {
        self.child.as_mut().expect("only `output` takes it")
    }

    /// Waits for its end, and collects what it writes to the pipes that it has.
    ///
    /// # Errors
    /// As [`Child::wait_with_output`].
    pub fn output(mut self) -> io::Result<Output> {
        let child = self.child.take().expect("only this takes it");
        child.wait_with_output()
    }
}

/// It has been waited for, or nobody will.
impl Drop for StartedChild {
    fn drop(&mut self) {
        let mut children = children();
        children.running.retain(|number| *number != self.number);
        if children.is_ending {
            drop(children);
            wait_for_the_end();
        }
    }
}

/// The process ends by a signal, and nobody is to do anything before.
fn wait_for_the_end() -> ! {
    loop {
        std::thread::park();
    }
}

/// Ends all children by a signal and waits until they are gone. The process ends then.
pub(super) fn end_all(signal: i32) {
    let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
    let begin = Instant::now();
    children().is_ending = true;
    send(signal);
    while !children().running.is_empty() {
        if begin.elapsed() > PATIENCE {
            send(Signal::KILL);
            return;
        }
        std::thread::sleep(LOOK);
    }
}

fn send(signal: Signal) {
    for number in &children().running {
        if let Some(process) = Pid::from_raw(*number as i32) {
            // It may have ended just now.
            let _ = kill_process(process, signal);
        }
    }
}
