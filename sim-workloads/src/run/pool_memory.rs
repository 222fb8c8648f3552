//! Whether the host has memory for the buffer pool, before work begins that would be lost.
//!
//! ```text
//!   real clock      the pool has to fit into the host's memory
//!   virtual clock   a frame takes memory when a page is first in it, so that a pool may
//!                   be larger than the host; what the engine notes of each frame it
//!                   notes at once, and that has to fit
//! ```
//!
//! Under both clocks the kernel is asked for the frames, and they are given back: it
//! refuses what is out of all proportion (`vm.overcommit_memory`).

use std::io;

use innosim_engine::buffer_pool::BufferPoolSettings;
use innosim_engine::runtime::files::{FrameArena, IMAGE_BYTES};
use innosim_engine::sysvar::size_with_suffix;

use super::plan::{Clock, RunPlan};
use crate::machine::memory;

/// What the engine notes of a frame: its control block, and its places in the lists and
/// in the page hash. Measured: 163, from the resident sets of runs with pools of 1 GiB and
/// 9 GiB.
const NOTES_PER_FRAME: u64 = 170;

/// The pool does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "innodb_buffer_pool_size = {}: {why}; this machine has {} MiB of memory, of which {} MiB are \
     free",
    size_with_suffix(*.bytes), total >> 20, free >> 20
)]
pub struct TooLittleMemory {
    /// The size that the engine works with, which is that of the option over the scale.
    pub bytes: u64,
    /// What does not fit.
    pub why: String,
    /// Bytes of memory.
    pub total: u64,
    /// Bytes that are free, or could be.
    pub free: u64,
}

/// Makes sure that the buffer pool of a plan can be made.
///
/// # Errors
/// [`TooLittleMemory`] if it cannot.
pub fn require(plan: &RunPlan) -> Result<(), TooLittleMemory> {
    let settings = BufferPoolSettings::from_variables(&plan.settings);
    let host = |key| memory(key).unwrap_or(u64::MAX);
    let (total, free) = (host("MemTotal"), host("MemAvailable"));
    let why = refusal(&settings, plan.clock, total, free).or_else(|| {
        let refused = try_frames(&settings).err()?;
        Some(format!("the system refuses the memory ({refused})"))
    });
    match why {
        None => Ok(()),
        Some(why) => Err(TooLittleMemory {
            bytes: settings.bytes,
            why,
            total,
            free,
        }),
    }
}

/// Why the pool cannot be on a host with so much memory, if so.
fn refusal(settings: &BufferPoolSettings, clock: Clock, total: u64, free: u64) -> Option<String> {
    let notes = settings.bytes / IMAGE_BYTES as u64 * NOTES_PER_FRAME;
    if clock == Clock::Real && settings.bytes > total {
        return Some("under the real clock it has to fit into memory".into());
    }
    (notes > free).then(|| {
        let notes = notes >> 20;
        format!("the engine needs {notes} MiB to keep account of its frames")
    })
}

/// Asks for the frames of all instances, and gives them back.
fn try_frames(settings: &BufferPoolSettings) -> io::Result<()> {
    let mut arenas = Vec::new();
    for _ in 0..settings.instances {
        let frames = settings.frames_per_instance();
        arenas.push(FrameArena::new(frames, settings.huge_pages)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::arguments::RunArguments;
    use super::*;

    fn plan(size: &str, clock: &str) -> RunPlan {
        let arguments = RunArguments {
            set: vec![format!("innodb_buffer_pool_size={size}")],
            clock: Some(clock.into()),
            ..RunArguments::default()
        };
        arguments.plan().unwrap()
    }

    #[test]
    fn a_pool_that_no_host_has_memory_for_is_refused_with_what_there_is() {
        for clock in ["virtual", "real"] {
            require(&plan("64M", clock)).unwrap();
            let error = require(&plan("4096T", clock)).unwrap_err();
            let message = error.to_string();
            let begin = "innodb_buffer_pool_size = 4P: ";
            assert!(message.starts_with(begin), "{message}");
            let total = memory("MemTotal").unwrap() >> 20;
            let has = format!("this machine has {total} MiB of memory");
            assert!(message.contains(&has), "{message}");
        }
    }

    #[test]
    fn a_modelled_pool_may_be_larger_than_the_host() {
        let settings = BufferPoolSettings::new(64 << 30, 8);
        let (total, free) = (16 << 30, 8 << 30);
        assert_eq!(refusal(&settings, Clock::Virtual, total, free), None);
        assert!(refusal(&settings, Clock::Real, total, free).is_some());
        assert!(refusal(&settings, Clock::Virtual, total, 512 << 20).is_some());
    }
}
