//! Stacks of the tasks: pooled, guarded, and named when they overflow.
//!
//! A task's stack is small. Running over its end touches the guard page below it,
//! which would be a bare SIGSEGV; a handler on a stack of its own says which task
//! it was.

use corosensei::stack::DefaultStack;

/// 64 KiB in release builds; unoptimised frames are three to five times as large.
pub(super) const DEFAULT_STACK_BYTES: usize = if cfg!(debug_assertions) {
    256 * 1024
} else {
    64 * 1024
};

/// Stacks that ended tasks have given back.
pub(super) struct StackPool {
    free: Vec<DefaultStack>,
    bytes: usize,
}

impl StackPool {
    pub(super) fn new(bytes: usize) -> Self {
        overflow::install_handler();
        StackPool {
            free: Vec::new(),
            bytes,
        }
    }

    /// A stack for a new task.
    ///
    /// # Panics
    /// If the operating system has no memory for it: there is no smaller machine
    /// to fall back to.
    pub(super) fn take(&mut self) -> DefaultStack {
        self.free.pop().unwrap_or_else(|| {
            DefaultStack::new(self.bytes).expect("no memory for the stack of a task")
        })
    }

    pub(super) fn give_back(&mut self, stack: DefaultStack) {
        self.free.push(stack);
    }
}

mod overflow {
    use std::sync::Once;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::runtime::ambient;
    use crate::runtime::virtual_clock::Simulation;

    static INSTALL: Once = Once::new();
    /// The handler that was there before, to which other faults are passed on.
    static PREVIOUS: AtomicUsize = AtomicUsize::new(0);

    /// Installs the handler once a process. Each thread needs an alternate signal
    /// stack; std gives one to the main thread and to every thread it starts.
    pub(super) fn install_handler() {
        INSTALL.call_once(|| {
            // SAFETY: `sigaction` is given a zeroed, then filled structure and a
            // handler that only calls async-signal-safe functions.
            unsafe {
                let mut action: libc::sigaction = std::mem::zeroed();
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = report;
                action.sa_sigaction = handler as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigemptyset(&mut action.sa_mask);
                let mut previous: libc::sigaction = std::mem::zeroed();
                libc::sigaction(libc::SIGSEGV, &action, &mut previous);
                PREVIOUS.store(previous.sa_sigaction, Ordering::Relaxed);
            }
        });
    }

    extern "C" fn report(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        // SAFETY: the kernel passes a valid siginfo; the current simulation, if any,
        // is alive, and the process ends here, so reading it races with nothing.
        unsafe {
            let address = (*info).si_addr() as usize;
            let simulation = ambient::simulation();
            if !simulation.is_null()
                && let Some(name) = Simulation::overflowed_task(simulation, address)
            {
                for part in ["task ", name, " has overflowed its stack\n"] {
                    libc::write(2, part.as_ptr().cast(), part.len());
                }
                libc::abort();
            }
            let previous = PREVIOUS.load(Ordering::Relaxed);
            if previous != libc::SIG_DFL && previous != libc::SIG_IGN {
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(previous);
                handler(signal, info, context);
            } else {
                libc::signal(libc::SIGSEGV, libc::SIG_DFL);
            }
        }
    }
}

impl super::Simulation {
    /// The name of the running task if `address` lies just below its stack.
    ///
    /// # Safety
    /// `simulation` is alive and this is its thread.
    unsafe fn overflowed_task<'a>(
        simulation: *mut super::Simulation,
        address: usize,
    ) -> Option<&'a str> {
        // SAFETY: by the caller's promise; the process is about to end, so the
        // reference does not outlive the task.
        unsafe {
            let task = (*simulation).current;
            if task.is_null() || (*task).yielder.is_null() {
                return None;
            }
            // The yielder lies near the base of the running task's stack: the guard
            // page is within the stack's length (and two pages) below it.
            let base = (*task).yielder as usize;
            let reach = (*simulation).stacks.bytes + 16 * 4096;
            (address <= base && base - address <= reach).then_some(&*(*task).name)
        }
    }
}
