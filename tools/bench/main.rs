//! Compares this project's producer with librdkafka and Kafka's own Java producer on one real cluster, and writes `results/bench/`.
//!
//! Each subject is measured in a process of its own, so that CPU time and memory are its alone: this program starts itself again as `native` and
//! as `librdkafka` (a feature), and Kafka's `ProducerPerformance` in a container. Not part of the product; `make bench` is its caller.

mod about;
mod bars;
mod cluster;
#[cfg(test)]
#[path = "../documented.rs"]
mod documented;
mod java;
#[cfg(feature = "librdkafka")]
mod librdkafka;
mod load;
mod many;
mod measured;
mod micro;
mod native;
mod page;
mod paired;
#[path = "../run.rs"]
mod run;
#[path = "../source.rs"]
mod source;
#[path = "../stats.rs"]
mod stats;
mod subject;
#[path = "../svg.rs"]
mod svg;
#[path = "../swap_rows.rs"]
mod swap_rows;

use std::io::Write;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::about::About;
use crate::load::LoadArgs;
use crate::many::ManyArgs;
use crate::measured::Measured;
use crate::micro::MicroArgs;
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
    /// Notes where and of what figures are taken; to be run before the others
    About {
        /// The command that takes all figures
        #[arg(long)]
        command: String,
        /// Folder of the results
        #[arg(long, value_name = "DIR", default_value = "results/bench")]
        out: PathBuf,
    },
    /// Gathers the figures that `cargo bench` has left; writes micro.csv
    Micro(MicroArgs),
    /// Many producers in one process, with `chaos run`; writes many.csv
    Many(ManyArgs),
    /// Makes the page from the files
    Page {
        /// Folder of the results
        #[arg(long, value_name = "DIR", default_value = "results/bench")]
        out: PathBuf,
    },
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
        Command::About { command, out } => About::now(&command)?.write(&out),
        Command::Micro(args) => micro::run(&args),
        Command::Many(args) => conduct(async { many::run(&args, &mut std::io::stdout()).await }),
        Command::Page { out } => page::write(&out),
        Command::Paired(args) => conduct(async { paired::run(&args, &mut std::io::stdout()).await }),
        Command::Native(load) => print(&native::run(&load)?),
        #[cfg(feature = "librdkafka")]
        Command::Librdkafka(load) => print(&librdkafka::run(&load)?),
    }
}

/// Until the work is done or somebody interrupts it; what it started is removed in any case.
fn conduct(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            done = work => done,
            _ = interrupt.recv() => anyhow::bail!("interrupted"),
            _ = terminate.recv() => anyhow::bail!("terminated"),
        }
    })
}

fn print(measured: &Measured) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{}", serde_json::to_string(measured)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_line_of_the_documentation_is_taken() {
        let text = include_str!("../../docs/benchmarks.md");
        let of = |command: &str, name: &str| -> Vec<Vec<String>> {
            documented::flags(text, name).into_iter().map(|words| [vec![command.to_owned()], words].concat()).collect()
        };
        let shown = [of("paired", "BENCH_PAIRED_FLAGS"), of("many", "BENCH_MANY_FLAGS"), documented::commands(text, "--example bench -- ")];
        assert!(shown.iter().all(|lines| !lines.is_empty()), "the documentation shows none any more: {shown:?}");
        for words in shown.iter().flatten() {
            let args = Args::try_parse_from(std::iter::once("bench").chain(words.iter().map(String::as_str)));
            if let Command::Paired(args) = args.unwrap_or_else(|error| panic!("{words:?}: {error}")).command {
                args.check().unwrap_or_else(|error| panic!("{words:?}: {error}"));
            }
        }
    }
}
