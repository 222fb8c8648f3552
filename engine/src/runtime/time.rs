//! Time is an integer number of picoseconds.
//!
//! A 64-bit count of picoseconds lasts 213 days and lets a frequency or an SMT
//! factor scale a nanosecond-long charge without losing work to rounding, which
//! floating-point seconds would do differently on every machine.

/// An instant, or a length of time, in picoseconds. Under the virtual clock the
/// simulation starts at 0; under the real clock an instant is the host's
/// monotonic clock.
pub type Time = u64;

/// One nanosecond.
pub const NANOSECOND: Time = 1_000;
/// One microsecond.
pub const MICROSECOND: Time = 1_000_000;
/// One millisecond.
pub const MILLISECOND: Time = 1_000_000_000;
/// One second.
pub const SECOND: Time = 1_000_000_000_000;
/// A time that never comes.
pub const NEVER: Time = u64::MAX;

/// A length of time from seconds, as profiles and option values give it.
/// Negative and not-a-number become 0; what is too long becomes [`NEVER`].
pub fn from_seconds(seconds: f64) -> Time {
    // `as` saturates, which is the wanted behaviour at both ends.
    (seconds * SECOND as f64) as Time
}

/// Seconds, for reports. Never used in a decision of the simulation.
pub fn to_seconds(time: Time) -> f64 {
    time as f64 / SECOND as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_saturate() {
        assert_eq!(from_seconds(-1.0), 0);
        assert_eq!(from_seconds(f64::NAN), 0);
        assert_eq!(from_seconds(1e30), NEVER);
        assert_eq!(from_seconds(1.5), 1_500_000_000_000);
        assert_eq!(to_seconds(2 * MILLISECOND), 0.002);
    }
}
