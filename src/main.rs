//! `chaos`: parse the command line, do what it asks, turn the outcome into an exit code. Everything else is the library's.

use std::process::ExitCode;

fn main() -> ExitCode {
    kafka_chaos::cli::main()
}
