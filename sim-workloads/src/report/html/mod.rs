//! Reports as one HTML file that needs nothing else: figures, plots, tables, and what it
//! takes to make them again.
//!
//! ```text
//!   document ──► run, sweep, reproduce ──► page ──┬─► text, tables, bars (SVG)
//!                                                 └─► plots (JSON) ──► report.js ──► uPlot
//! ```
//!
//! * [`run`] – the page of a run: rates and levels over time, where the time goes, what was
//!   set.
//! * [`sweep`] – the page of a sweep: throughput over what varies, with intervals.
//! * [`reproduce`] – the page of reports: published against simulated, and what holds.
//! * [`Origin`] – the call and the machines.
//! * `page` – sections, tables, and the file around them; `escape` – text of others.
//! * `plot` – curves, which the page's script draws with uPlot; `bars` – what uPlot does not
//!   draw; `budget` – the time of a transaction.
//!
//! Style and script are files of their own in `assets`, and uPlot is there as it was
//! published. All of it is compiled in, and goes into every page: a page can be mailed, and
//! is the same in ten years.

mod bars;
mod budget;
mod escape;
mod origin;
mod page;
mod plot;
mod reproduce;
mod run;
mod sweep;

pub use origin::Origin;
pub use reproduce::reproduce;
pub use run::run;
pub use sweep::sweep;

#[cfg(test)]
mod tests;
