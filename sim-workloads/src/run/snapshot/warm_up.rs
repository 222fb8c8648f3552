//! A warm-up that goes on until flushing is steady.
//!
//! ```text
//!   |--------- as long as was asked for ---------|-- look --|-- look --|
//!                                     |-- look --| 3 x dirty time <= elapsed?
//! ```
//!
//! A pool in which pages stay dirty for thirty seconds has, after thirty seconds, flushed
//! its first pages; what it flushes then depends on how it was filled. After three times as
//! long little is left of that. How long pages stay dirty is not known before, so it is
//! looked at while clients work: a warm-up that was too short is made longer, not begun
//! anew.
//!
//! The change of a future meets pages that were dirty before. They are flushed in the time
//! that pages stay dirty, and so a future settles for as long, at least.
//!
//! Nothing of that depends on what the futures will be, so each of them finds the state
//! that it would find alone.

use innosim_engine::metrics::Timing;
use innosim_engine::runtime::time::{SECOND, Time};

use super::super::database::Database;
use super::super::measure::Driving;

/// How many times as long as a page stays dirty a warm-up has to be.
pub const STEADY_TIMES: u64 = 3;

/// Time over which it is looked how long pages stay dirty; the last part of a warm-up.
const LOOK: Time = 10 * SECOND;

/// How many times as long as was asked for a warm-up may become.
const LONGEST: u64 = 8;

/// What a warm-up has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WarmUp {
    /// The time that it took.
    pub elapsed: Time,
    /// How long pages stayed dirty at its end; 0 if none was flushed.
    pub dirty: Time,
}

/// Lets clients work for at least so long, and until flushing is steady.
pub(super) fn until_steady<D: Database>(
    driving: &mut Driving<D>,
    database: &D,
    at_least: Time,
) -> WarmUp {
    let look = LOOK.min(at_least);
    driving.run_for(at_least - look);
    let mut elapsed = at_least - look;
    loop {
        let before = database.snapshot();
        driving.run_for(look);
        elapsed += look;
        let looked = database.snapshot().since(&before);
        // Where no page was flushed there is nothing to wait for.
        let dirty = looked.timing(Timing::DirtyToFlush).mean().unwrap_or(0.0);
        let is_steady = STEADY_TIMES as f64 * dirty <= elapsed as f64;
        if is_steady || look == 0 || elapsed >= at_least.saturating_mul(LONGEST) {
            let dirty = dirty as Time;
            return WarmUp { elapsed, dirty };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

    use innosim_engine::runtime::time::MILLISECOND;
    use innosim_engine::runtime::virtual_clock::Simulation;

    use super::super::super::arguments::RunArguments;
    use super::super::super::measure::Drive;
    use super::super::super::sleeping::Sleeping;
    use super::*;

    /// How long the warm-up is where pages stay dirty for so long, in seconds, if two were
    /// asked for.
    fn warm_up_s(dirty: Time) -> f64 {
        let arguments = RunArguments {
            workload: Some("oltp_point_select".into()),
            ..RunArguments::default()
        };
        let plan = arguments.plan().unwrap();
        let options = plan.machine.simulation_options(1, plan.spin());
        let elapsed = Simulation::new(&options).unwrap().run(move || {
            let database = Arc::new(Sleeping {
                dirty_for: dirty,
                ..Sleeping::new(MILLISECOND)
            });
            let mut driving = Driving::new(&database, Drive::new(&plan));
            let warm_up = until_steady(&mut driving, &*database, 2 * SECOND);
            assert!(warm_up.dirty.abs_diff(dirty) < MILLISECOND, "{warm_up:?}");
            let elapsed = warm_up.elapsed;
            let statements = database.statements.load(Relaxed);
            assert!(statements as f64 > elapsed as f64 / SECOND as f64 * 500.0);
            driving.pause().unwrap();
            elapsed
        });
        elapsed.unwrap() as f64 / SECOND as f64
    }

    #[test]
    fn a_warm_up_is_as_long_as_pages_need() {
        assert_eq!(warm_up_s(0), 2.0, "nothing is flushed");
        assert_eq!(warm_up_s(600 * MILLISECOND), 2.0);
        assert_eq!(warm_up_s(SECOND), 4.0);
        assert_eq!(warm_up_s(3 * SECOND), 10.0);
        assert_eq!(warm_up_s(60 * SECOND), 16.0, "it is given up");
    }
}
