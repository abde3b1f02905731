//! `chaos run`: a plan from start to end.

mod dry_run;

use std::io::{IsTerminal, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Component, Path, PathBuf};

use super::{Exit, Globals, Output, UsageError, junit};
use crate::clock::Clock;
use crate::plan;
use crate::report::junit::{document, unfinished};
use crate::run::Stop;
use crate::run::{Ended, Request};
use crate::ui::colour::Tone;
use crate::ui::{Screen, Style};

/// Arguments of `chaos run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  chaos run plans/rolling-restart.toml
  chaos run plans/broker-kill.toml --kafka 3.9.2 --out /tmp/kill-on-3.9
  chaos run plans/refresh-rate.toml --quiet --json | jq .verdict
  chaos run --dry-run plans/metadata-storm.toml
  chaos run --metrics plans/rolling-restart.toml
  chaos run plans/broker-kill.toml --junit target/chaos.xml

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
    #[arg(long, value_name = "VERSION", env = "CHAOS_KAFKA", value_parser = super::kafka_version)]
    kafka: Option<String>,
    /// Leave the cluster up at the end
    #[arg(long)]
    keep: bool,
    /// Use a cluster that an earlier `--keep` left, if one fits the plan
    #[arg(long)]
    reuse: bool,
    /// Let the brokers log each request, save their logs, and count requests by client (requests.csv)
    #[arg(long)]
    request_log: bool,
    /// Serve live figures to Prometheus while the run goes, at http://ADDR/metrics [default of ADDR: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, require_equals = true, default_missing_value = "9464", value_parser = metrics_address)]
    metrics: Option<SocketAddr>,
    /// Only tell what the run would do, and need; start nothing, write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write the verdict's checks as JUnit XML to this file, for programs that gather tests' results
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run")]
    junit: Option<PathBuf>,
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
    let file = arguments.junit.as_deref();
    check_places(file, arguments.out.as_deref())?;
    // Before anything can end the run: what an earlier one has left in the file must not stand for this one.
    let name = arguments.plan.display().to_string();
    file.map_or(Ok(()), |file| junit::begin(file, &name))?;
    let mut checked = plan::load(&arguments.plan).inspect_err(|error| {
        // Should that fail too: the error itself says more.
        let _ = file.map(|file| junit::write(file, &unfinished(&name, &error.to_string())));
    })?;
    if let Some(seed) = arguments.seed {
        checked.plan.seed = seed;
    }
    if let Some(kafka) = arguments.kafka {
        checked.plan.cluster.kafka = kafka;
    }
    let mut warnings = checked.warnings.lines();
    if arguments.dry_run {
        warnings.extend(crate::run::remarks(&checked.plan)?);
        let (mut out, colours) = (Output::stdout(), globals.colours_on(&std::io::stdout()));
        return dry_run::run(&checked.plan, &warnings, arguments.json, &mut out, colours);
    }
    let clock = Clock::real();
    let stderr = std::io::stderr();
    let style = Style::suiting(arguments.quiet, stderr.is_terminal() && !globals.is_verbose());
    let screen = Screen::new(style, globals.colours_on(&stderr), clock.clone());
    let stop = Stop::default();
    stop.listen_to_signals()?;
    let request = Request {
        plan: checked.plan,
        warnings,
        out: arguments.out,
        keep: arguments.keep,
        reuse: arguments.reuse,
        lent: None,
        request_log: arguments.request_log,
        metrics: arguments.metrics,
    };
    let ended = match crate::run::run(&request, &screen, &clock, &stop).await {
        Ok(ended) => ended,
        Err(error) => {
            // Should that fail too: the error itself says more.
            let _ = file.map(|file| junit::write(file, &unfinished(&request.plan.name, &error.to_string())));
            return Err(error.into());
        }
    };
    // What came of the run is told in any case.
    let exit = show(&ended, arguments.json, globals)?;
    file.map_or(Ok(()), |file| junit::write(file, &document([ended.taken.suite().told()])))?;
    Ok(exit)
}

/// A run takes its folder only if it is empty, and the file is there from the start.
fn check_places(junit: Option<&Path>, out: Option<&Path>) -> anyhow::Result<()> {
    let (Some(junit), Some(out)) = (junit, out) else { return Ok(()) };
    if place(junit)?.starts_with(place(out)?) {
        let message = format!("--junit {} lies in the folder of --out, which must be empty: name a file beside it", junit.display());
        return Err(UsageError(message).into());
    }
    Ok(())
}

/// A path from the root, without `..`; of folders that are links, as it is written.
fn place(path: &Path) -> std::io::Result<PathBuf> {
    let mut place = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        if part == Component::ParentDir {
            place.pop();
        } else {
            place.push(part);
        }
    }
    Ok(place)
}

/// An address to serve metrics at: a port of this machine's own, or an address with a port.
fn metrics_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.parse().ok().map(|port: u16| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    let hint = "write --metrics=PORT, or --metrics=IP:PORT such as 127.0.0.1:9464 or [::1]:9464";
    port.or_else(|| text.parse().ok()).ok_or_else(|| hint.to_owned())
}

/// Prints what came of it, and tells it as an exit code.
fn show(ended: &Ended, json: bool, globals: Globals) -> anyhow::Result<Exit> {
    let mut out = Output::stdout();
    if json {
        write!(out, "{}", ended.taken.json()?)?;
    } else {
        write!(out, "{}", ended.taken.summary(globals.colours_on(&std::io::stdout())))?;
    }
    if let Some(error) = &ended.left_behind {
        let mut stderr = std::io::stderr();
        // The exit code says it to those who do not read.
        let _ = writeln!(stderr, "{} {error}", globals.painter_for(&stderr).paint(Tone::Bad, "error:"));
        return Ok(Exit::Environment);
    }
    Ok(if ended.interrupted.is_some() { Exit::Interrupted } else { Exit::from(ended.taken.findings.verdict) })
}
