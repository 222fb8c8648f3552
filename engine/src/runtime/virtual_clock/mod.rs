//! Under construction.
pub mod disk;
