//! Integration tests live in `tests/`.

pub mod disk;
