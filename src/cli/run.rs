//! `chaos run`: a plan from start to end.

use std::path::PathBuf;

use super::{Exit, Globals};

/// Arguments of `chaos run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  chaos run plans/rolling-restart.toml
  chaos run plans/broker-kill.toml --kafka 3.9.2 --out /tmp/kill-on-3.9
  chaos run plans/refresh-rate.toml --quiet --json | jq .verdict

Ctrl-C ends the run in order: what was measured is written, the cluster is removed, the exit code is 130.")]
pub(super) struct Arguments {
    /// The plan (TOML)
    plan: PathBuf,
    /// Folder for the results; must not exist or be empty [default: results/<UTC time>-<plan>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of everything random, instead of the plan's
    #[arg(long)]
    seed: Option<u64>,
    /// Kafka's version, instead of the plan's
    #[arg(long, value_name = "VERSION", env = "CHAOS_KAFKA")]
    kafka: Option<String>,
    /// Leave the cluster up at the end
    #[arg(long)]
    keep: bool,
    /// Use a cluster that an earlier `--keep` left, if one fits the plan
    #[arg(long)]
    reuse: bool,
    /// Let the brokers log each request, and save their logs with the results
    #[arg(long)]
    request_log: bool,
    /// Print run.json on standard output instead of the summary
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// Does it.
///
/// # Errors
/// A bad plan, or an environment in which it cannot run.
pub(super) async fn run(arguments: Arguments, globals: Globals) -> anyhow::Result<Exit> {
    let _ = (arguments, globals);
    Ok(Exit::Success)
}
