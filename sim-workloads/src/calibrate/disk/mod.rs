//! The disk of this host.
//!
//! ```text
//!   points ──► measured on files ──┐
//!                                  ├──► fit ──► parameters, error of each point
//!          ──► run on the model ───┘
//! ```
//!
//! * [`probe`] – the requests, one piece of code for both clocks.
//! * [`measure`] – all points on the host, and one on a model.
//! * [`facts`] – what needs no measurement: limits that the system knows.
//! * [`fit`] – the parameters.

pub mod facts;
pub mod fit;
pub mod measure;
pub mod probe;
