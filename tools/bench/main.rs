//! Compares this project's producer with librdkafka and Kafka's own Java producer on one real cluster, and writes `results/bench/`.
//!
//! Each subject is measured in a process of its own, so that CPU time and memory are its alone: this program starts itself again as `native` and
//! as `librdkafka` (a feature), and Kafka's `ProducerPerformance` in a container. Not part of the product; `make bench` is its caller.

mod cluster;
mod java;
#[cfg(feature = "librdkafka")]
mod librdkafka;
mod load;
mod measured;
mod native;
mod paired;
mod stats;
mod subject;

use std::io::Write;

use clap::{Parser, Subcommand};

use crate::load::LoadArgs;
use crate::measured::Measured;
use crate::paired::PairedArgs;

/// Paired measurements of producers; `make bench` runs them all.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All subjects in turn on one cluster; writes producers.csv
    Paired(PairedArgs),
    /// This project's producer alone, as fast as it goes; prints one line of JSON
    Native(LoadArgs),
    /// librdkafka alone, in the same way
    #[cfg(feature = "librdkafka")]
    Librdkafka(LoadArgs),
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::Paired(args) => conduct(async { paired::run(&args, &mut std::io::stdout()).await.map(drop) }),
        Command::Native(load) => print(&native::run(&load)?),
        #[cfg(feature = "librdkafka")]
        Command::Librdkafka(load) => print(&librdkafka::run(&load)?),
    }
}

/// Until the work is done or somebody interrupts it; what it started is removed in any case.
fn conduct(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        tokio::select! {
            done = work => done,
            _ = tokio::signal::ctrl_c() => anyhow::bail!("interrupted"),
        }
    })
}

fn print(measured: &Measured) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{}", serde_json::to_string(measured)?)?;
    Ok(())
}
