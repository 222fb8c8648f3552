//! Under construction.
pub mod virtual_clock;
