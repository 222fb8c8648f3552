//! Integration tests live in `tests/`; here is what several of them use.

pub mod child;
pub mod confidence;
pub mod disk;
pub mod flushing;
pub mod machine;
pub mod pages;
