//! The `innosim` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    innosim_workloads::cli::run(std::env::args_os())
}
