//! The command line: one file per command; the only place that knows clap and anyhow, and that prints.
//!
//! A command returns an [`Exit`], or an error that is printed here, once, with its causes. Not here: what a command does beyond reading
//! its arguments and showing what came of them.

mod clean;
mod cluster;
mod command_config;
mod compare;
mod completions;
mod doctor;
mod exit;
mod junit;
mod man;
mod open_files;
mod output;
pub mod plan;
mod report;
mod run;
mod trace;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::cluster::ClusterError;
use crate::ids::HostPort;
use crate::plan::PlanError;
use crate::plan::vary::VaryError;
use crate::run::RunError;
use crate::run::compare::CompareError;
use crate::ui::colour::{ColourChoice, Painter, Tone};
use compare::ArgumentsError;
pub use exit::Exit;
use exit::UsageError;
use output::Output;

/// Runs the program with the process's own arguments.
#[must_use]
pub fn main() -> ExitCode {
    // clap prints its own errors, with exit code 2, and help, with 0.
    let arguments = Arguments::parse();
    let globals = arguments.globals;
    globals.start_tracing();
    open_files::raise();
    let exit = match execute(arguments.command, globals) {
        Ok(exit) => exit,
        Err(error) => {
            let stderr = std::io::stderr();
            // There is nobody left to tell that nobody reads what went wrong; the exit code says it.
            let _ = write_error(&error, globals.painter_for(&stderr), &mut stderr.lock());
            exit_of(&error)
        }
    };
    exit.into()
}

/// Shows, on real Kafka brokers in containers, what clients lose when the cluster changes under them, for how long, and where the time
/// is spent.
#[derive(Debug, Parser)]
#[command(name = "chaos", version, propagate_version = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  chaos doctor                                what is missing on this machine, and the command that mends it
  chaos plan check plans/rolling-restart.toml all problems of a plan, with line and hint
  chaos run plans/rolling-restart.toml        start a cluster, load it, do the plan's steps, tell what was lost
  chaos compare plans/broker-kill.toml --vary cluster.kafka=3.9.2,4.3.0
                                              what differs between two settings of a plan, run by run
  chaos trace --bootstrap 10.0.0.1:9092       which layer of a live cluster is stuck

Exit codes: 0 pass, 1 fail or hang, 2 bad plan or arguments, 3 environment, 4 unknown, 130 interrupted.";

/// Options of every command.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Globals {
    /// When to use colours (NO_COLOR is honoured with `auto`)
    #[arg(long, global = true, value_enum, default_value = "auto", env = "CHAOS_COLOR")]
    color: ColorArgument,
    /// Tell more on standard error: -v informs, -vv debugs, -vvv traces
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ColorArgument {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a plan: cluster up, load, steps, analysis, cluster down
    Run(run::Arguments),
    /// Run a plan with several settings and tell which figures differ; or compare runs that are there
    Compare(compare::Arguments),
    /// Check, show and list plans
    Plan(plan::PlanArgs),
    /// Print a run's summary again, from its facts
    Report(report::ReportArgs),
    /// Say which layer of a live cluster is stuck, and what to look at next
    Trace(trace::TraceArgs),
    /// Start, list and remove clusters
    Cluster(cluster::ClusterArgs),
    /// Say what this machine lacks for real brokers, and the command that mends it
    Doctor(doctor::DoctorArgs),
    /// Remove clusters that a killed `chaos` has left
    Clean(clean::CleanArgs),
    /// Print the script with which a shell completes commands and options
    Completions(completions::CompletionsArgs),
    /// Print a manual page, or write those of all commands
    Man(man::ManArgs),
}

impl Globals {
    /// Whether colours are used on this output.
    #[must_use]
    pub fn colours_on(self, output: &impl IsTerminal) -> bool {
        let choice = match self.color {
            ColorArgument::Auto => ColourChoice::Auto,
            ColorArgument::Always => ColourChoice::Always,
            ColorArgument::Never => ColourChoice::Never,
        };
        choice.decide(std::env::var("NO_COLOR").ok().as_deref(), output.is_terminal())
    }

    /// Paints for this output.
    #[must_use]
    pub fn painter_for(self, output: &impl IsTerminal) -> Painter {
        Painter { enabled: self.colours_on(output) }
    }

    /// Sends what the program and its libraries trace to standard error, as much as was asked for.
    fn start_tracing(self) {
        let level = match self.verbose {
            0 => return,
            1 => tracing::Level::INFO,
            2 => tracing::Level::DEBUG,
            _ => tracing::Level::TRACE,
        };
        let lines = tracing_subscriber::fmt().with_max_level(level).with_ansi(self.colours_on(&std::io::stderr()));
        // What cannot be written cannot be complained of either.
        lines.with_writer(std::io::stderr).log_internal_errors(false).init();
    }

    /// Whether anything is traced: progress is shown as lines then, since both would draw over each other.
    #[must_use]
    pub fn is_verbose(self) -> bool {
        self.verbose > 0
    }
}

fn execute(command: Command, globals: Globals) -> anyhow::Result<Exit> {
    // A worker per core and little else: the program must not take from what it measures. Name look-ups are the only blocking work.
    let is_trace = matches!(command, Command::Trace(_));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(available_parallelism().map_or(1, usize::from))
        .max_blocking_threads(if is_trace { trace::LOOKUPS_MAX } else { 2 })
        .thread_name("chaos")
        .enable_all()
        .build()?;
    let (mut output, colours) = (Output::stdout(), globals.colours_on(&std::io::stdout()));
    let exit = runtime.block_on(async {
        match command {
            Command::Run(arguments) => run::run(arguments, globals).await,
            Command::Compare(arguments) => compare::run(arguments, globals).await,
            Command::Plan(arguments) => plan::run(arguments, &mut output, colours),
            Command::Report(arguments) => report::run(&arguments, &mut output, &mut std::io::stderr(), colours),
            Command::Trace(arguments) => trace::run(arguments, &mut output, colours).await,
            Command::Cluster(arguments) => cluster::run(arguments, &mut output, colours).await,
            Command::Doctor(arguments) => doctor::run(&arguments, &mut output, colours).await,
            Command::Clean(arguments) => clean::run(&arguments, &mut output).await,
            Command::Completions(arguments) => completions::run(&arguments, Arguments::command(), &mut output),
            Command::Man(arguments) => man::run(&arguments, Arguments::command(), &mut output),
        }
    });
    if is_trace {
        // A look-up of a name that hangs cannot be cancelled, and must not hold the answer up.
        runtime.shutdown_background();
    }
    exit
}

/// A listener's address on the command line.
fn host_port(text: &str) -> Result<HostPort, String> {
    crate::plan::check_host_port(text)
}

/// A version of Kafka on the command line.
fn kafka_version(text: &str) -> Result<String, String> {
    crate::plan::check_kafka_version(text).map(|()| text.to_owned())
}

/// The exit code of an error, by its kind.
fn exit_of(error: &anyhow::Error) -> Exit {
    let is_usage = error.is::<PlanError>()
        || error.is::<VaryError>()
        || error.is::<ArgumentsError>()
        || error.downcast_ref::<CompareError>().is_some_and(CompareError::is_request_fault)
        || error.is::<UsageError>()
        || error.downcast_ref::<RunError>().is_some_and(RunError::is_request_fault)
        || error.downcast_ref::<ClusterError>().is_some_and(ClusterError::is_request_fault);
    if is_usage { Exit::Usage } else { Exit::Environment }
}

fn write_error(error: &anyhow::Error, painter: Painter, out: &mut impl Write) -> std::io::Result<()> {
    if let Some(problems) = error.downcast_ref::<PlanError>() {
        return writeln!(out, "{}", problems.render(painter.enabled));
    }
    let of_comparison = error.downcast_ref::<CompareError>().and_then(|error| match error {
        CompareError::Vary(problems) => Some(problems),
        _ => None,
    });
    if let Some(problems) = error.downcast_ref::<VaryError>().or(of_comparison) {
        return writeln!(out, "{}", problems.render(painter.enabled));
    }
    writeln!(out, "{} {error}", painter.paint(Tone::Bad, "error:"))?;
    let mut told = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        // Typed errors often say their source's words themselves.
        if !told.contains(&cause) {
            writeln!(out, "  because: {cause}")?;
        }
        told = cause;
    }
    Ok(())
}
