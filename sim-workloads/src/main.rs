//! The `innosim` command.

fn main() {}
