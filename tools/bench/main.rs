//! Compares this project's producer with librdkafka and Kafka's own Java producer on one real cluster, and writes `results/bench/`.
//!
//! Each subject is measured in a process of its own, so that CPU time and memory are its alone: this program starts itself again as `native` and
//! as `librdkafka` (a feature), and Kafka's `ProducerPerformance` in a container. Not part of the product; `make bench` is its caller.

#[cfg(feature = "librdkafka")]
mod librdkafka;
mod load;
mod measured;
mod native;

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::load::LoadArgs;
use crate::measured::Measured;

/// Paired measurements of producers; `make bench` runs them all.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// This project's producer alone, as fast as it goes; prints one line of JSON
    Native(LoadArgs),
    /// librdkafka alone, in the same way
    #[cfg(feature = "librdkafka")]
    Librdkafka(LoadArgs),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Native(load) => print(&native::run(&load)?),
        #[cfg(feature = "librdkafka")]
        Command::Librdkafka(load) => print(&librdkafka::run(&load)?),
    }
}

fn print(measured: &Measured) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{}", serde_json::to_string(measured)?)?;
    Ok(())
}
