//! `innosim validate`: the same runs under both clocks on one host.
//!
//! ```text
//!   grid ──► real clock, repeats interleaved ──► mean, spread ──┐
//!        ╰─► virtual clock, calibrated profile ──► predicted ───┴──► errors, two bars
//! ```
//!
//! The real clock measures this host; a profile that [`calibrate`](crate::calibrate) has made
//! of the same host says what the virtual clock should show. No number of the profile was
//! fitted to a run of the grid, and none depends on what the grid varies.
//!
//! * [`grid`] – the cells.
//! * [`execute`] – the data, the runs in their order, what is kept.
//! * [`judge`] – errors, spreads, bars.
//! * [`text`] – what is printed.

pub mod execute;
pub mod grid;
pub mod judge;
pub mod text;
