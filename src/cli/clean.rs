//! `chaos clean`: removes clusters that nobody owns any more. What has no label of ours is never touched.

use std::io::Write;

use clap::Args;

use super::Exit;
use crate::cluster::daemon::Daemon;
use crate::cluster::{inventory, janitor, remove};

/// Arguments of `chaos clean`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos clean --dry-run
  chaos clean --all

Without options: clusters whose `chaos` is dead. With --all also those that `--keep` and `chaos cluster up` have left. The cluster of a
`chaos` that runs is never removed; with --all, a kept cluster is, also if a run with --reuse works with it.")]
pub(super) struct CleanArgs {
    /// Kept clusters too, and those whose owner cannot be seen from here
    #[arg(long)]
    all: bool,
    /// Only say what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// [`crate::cluster::ClusterError`] if the engine does not answer or something cannot be removed; what `out` says if it cannot be
/// written to.
pub(super) async fn run(args: &CleanArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let daemon = Daemon::connect().await?;
    let runs = inventory::all(&daemon).await?;
    if runs.is_empty() {
        writeln!(out, "nothing to clean")?;
    }
    let mut failed = Vec::new();
    for (run, objects) in runs {
        let fate = janitor::fate_of(&objects);
        let words = fate.words();
        if !fate.is_swept(args.all) {
            writeln!(out, "{run}: {words}; left alone")?;
        } else if args.dry_run {
            let found = remove::Removed { containers: objects.containers.len(), networks: objects.networks.len() };
            writeln!(out, "{run}: {words}; would remove {}", found.words())?;
        } else {
            match remove::run(&daemon, &run).await {
                Ok(removed) => writeln!(out, "{run}: {words}; removed {}", removed.words())?,
                Err(error) => {
                    writeln!(out, "{run}: {words}; not all of it could be removed")?;
                    failed.push(error);
                }
            }
        }
    }
    // The others are tried all the same; the first error is the one to tell.
    failed.into_iter().next().map_or(Ok(Exit::Success), |error| Err(error.into()))
}
