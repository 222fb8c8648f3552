//! fork(2): a process goes on as two, and a simulation with it.
//!
//! ```text
//!   parent ──── main task ── fork() ─────────────────── reads the pipe ── reaps
//!                              │                              ▲
//!                              └─► child: the same task,      │ Outbox: a message,
//!                                  the same instant, goes on ─┘ and _exit
//! ```
//!
//! All tasks of a simulation are coroutines of one OS thread, so the thread that fork(2)
//! leaves to the child is the whole machine: stacks, agenda, disk, files. Memory is
//! copied page by page, by whoever writes first.
//!
//! What a child must not do is to go on as if it were the parent: return from
//! [`Simulation::run`](super::virtual_clock::Simulation::run), drop what removes the
//! parent's files, print what stood in the parent's buffers. It ends by [`Outbox::send`],
//! which is `_exit`.
//!
//! # Other threads
//!
//! They are not there in the child. So nothing may be missing that they do, and they may
//! not have held a lock that the child needs:
//!
//! * *spill* (the files' helper): joined by [`fork`] before, and started again by whoever
//!   next needs it; see `files::virtual_files::spill`.
//! * every other thread of the process: the child runs engine code only, and takes no lock
//!   but those of the allocator, which glibc makes usable after a fork, and reads the panic
//!   hook. [`fork`] has replaced that, before the first child, by one that in a child does
//!   not print.
//!
//! # Signals
//!
//! A child is killed when the thread that forked it ends, however that ends
//! (`PR_SET_PDEATHSIG`); and the signals that end a process by default end it, whatever the
//! parent does about them: its handlers would wake a thread that the child does not have.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, FromRawFd};
use std::panic;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, Once, PoisonError};

use super::ambient;

/// Signals that the parent may handle and that end a child.
const ENDING: [libc::c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE];

/// Which of the two a process is.
#[derive(Debug)]
pub enum Forked {
    /// The process that was there before.
    Parent(Child),
    /// The new one.
    Child(Outbox),
}

/// A forked process, as its parent sees it. Dropped before it was reaped it is killed.
#[derive(Debug)]
pub struct Child {
    process: libc::pid_t,
    /// Whose child it is: a sibling has a copy of this value, and must not act on it.
    parent: u32,
    pipe: File,
    is_reaped: bool,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildEnd {
    /// It sent what it had, all of it.
    Done,
    /// By itself, with this exit code, which is not that of success.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// The child's end of the pipe.
#[derive(Debug)]
pub struct Outbox {
    pipe: File,
}

/// Whether this process is a child. (The panic hook is the process's, so this is, too.)
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// The message of a child's last panic.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Makes a child's panics go to [`LAST_PANIC`]. By the parent: in the child another thread
/// might hold the hook's lock for ever, since it is not there.
fn keep_panics_of_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let otherwise = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if IS_CHILD.load(Relaxed) {
                *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
            } else {
                otherwise(panic);
            }
        }));
    });
}

/// Forks the process, and with it the simulation that the calling task is of. To be called
/// while no other task can be seen to do anything: nothing has to be quiet, but whatever
/// is under way is under way in both.
///
/// # Errors
/// Outside of a simulation; if the system has no room for a process or a pipe.
pub fn fork() -> io::Result<Forked> {
    let simulation = ambient::simulation();
    if simulation.is_null() {
        let why = "only a simulation can be forked: threads of the real clock stay behind";
        return Err(io::Error::other(why));
    }
    // SAFETY: the current task calls; the borrow ends with the statement, and nothing in
    // it suspends.
    unsafe { (*simulation).files_mut() }.quiesce();
    keep_panics_of_children();
    let (outgoing, incoming) = pipe()?;
    let parent = std::process::id();
    let unblocked = block_signals();
    // SAFETY: see the module's opening for what the child does not have.
    let process = unsafe { libc::fork() };
    if process != 0 {
        let error = io::Error::last_os_error();
        restore_signals(&unblocked);
        if process < 0 {
            return Err(error);
        }
        return Ok(Forked::Parent(Child {
            process,
            parent,
            pipe: incoming,
            is_reaped: false,
        }));
    }
    end_with(parent);
    for signal in ENDING {
        // SAFETY: the default action needs no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    restore_signals(&unblocked);
    IS_CHILD.store(true, Relaxed);
    Ok(Forked::Child(Outbox { pipe: outgoing }))
}

/// A pipe: the end to write to, and the end to read from.
fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for both.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are open, and nobody else has them.
    unsafe { Ok((File::from_raw_fd(ends[1]), File::from_raw_fd(ends[0]))) }
}

/// Blocks all signals; returns those that were blocked before.
fn block_signals() -> libc::sigset_t {
    // SAFETY: plain sets, filled before they are read.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: a set that `block_signals` has filled.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}

/// Makes the child end with the thread that it was forked by.
fn end_with(parent: u32) {
    // SAFETY: changes an attribute of this process, asks for a number, and ends.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() as u32 != parent {
            // It had ended before the line above.
            libc::_exit(1);
        }
    }
}

impl Outbox {
    /// Sends a message and ends the process: no destructor runs, no buffer is flushed.
    /// The parent sees [`ChildEnd::Done`]; or, if it does not read, nobody sees anything.
    pub fn send(mut self, message: &[u8]) -> ! {
        let failed = self.pipe.write_all(message).is_err();
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(i32::from(failed)) }
    }

    /// The message of the last panic of any task, with its place; empty without one.
    pub fn last_panic(&self) -> String {
        let last = LAST_PANIC.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Child {
    /// Takes more of the child's message, waiting for it. Returns how many bytes; 0 at the
    /// end.
    ///
    /// # Errors
    /// As read(2).
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.pipe.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    /// If somebody else has waited for it.
    pub fn reap(mut self) -> io::Result<ChildEnd> {
        self.wait()
    }

    fn wait(&mut self) -> io::Result<ChildEnd> {
        let mut status = 0;
        // SAFETY: `status` lives long enough.
        while unsafe { libc::waitpid(self.process, &mut status, 0) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        self.is_reaped = true;
        Ok(if libc::WIFSIGNALED(status) {
            ChildEnd::Killed(libc::WTERMSIG(status))
        } else {
            match libc::WEXITSTATUS(status) {
                0 => ChildEnd::Done,
                code => ChildEnd::Exited(code),
            }
        })
    }

    /// The pipe, for a look whether there is something to read.
    fn pipe(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_reaped && self.parent == std::process::id() {
            // SAFETY: a process of ours that is not reaped keeps its number.
            unsafe { libc::kill(self.process, libc::SIGKILL) };
            let _ = self.wait();
        }
    }
}

/// Waits until one of several children has something to say, or has ended: its place.
///
/// # Errors
/// As poll(2).
///
/// # Panics
/// Without a child.
pub fn wait_for_any<'a>(children: impl Iterator<Item = &'a Child>) -> io::Result<usize> {
    use std::os::fd::AsRawFd;
    let mut polled: Vec<_> = children
        .map(|child| libc::pollfd {
            fd: child.pipe().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    assert!(!polled.is_empty(), "nobody to wait for");
    loop {
        let count = polled.len() as libc::nfds_t;
        // SAFETY: the list has `count` entries, and outlives the call.
        if unsafe { libc::poll(polled.as_mut_ptr(), count, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        } else if let Some(place) = polled.iter().position(|entry| entry.revents != 0) {
            return Ok(place);
        }
    }
}
