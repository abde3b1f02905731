//! `chaos compare`: one plan with other values, run by run; or runs that are there already.
//!
//! Reads the arguments and shows what came of them. Not here: carrying out (`run::compare`), statistics (`analyze::compare`).

mod changes;
mod dry;
mod error;
mod kafka;
mod told;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use self::changes::Changes;
pub(super) use self::error::ArgumentsError;
use self::kafka::Kafka;
use self::told::{Files, Shown, tell};
use super::{Exit, Globals, Output};
use crate::analyze::compare::model::CellRuns;
use crate::clock::Clock;
use crate::plan;
use crate::plan::vary::{self, Cell};
use crate::run::Stop;
use crate::run::compare::{self, CellOfFolders, CompareError, Design, Manifest, Opened, Series, State};
use crate::ui::colour::Tone;
use crate::ui::{Screen, Style};

/// Arguments of `chaos compare`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  chaos compare plans/refresh-rate.toml --vary 'producers.slow.config.\"metadata.max.age.ms\"=5s,60s' --repeat 7
  chaos compare plans/broker-kill.toml --vary cluster.kafka=3.9.2,4.3.0 --dry-run
  chaos compare plans/partition-expansion.toml --vary 'producers.*.config.\"metadata.max.age.ms\"=2s,60s' --along phases.recovery=12s,70s
  chaos compare --resume results/2026-11-29T21-48-16Z-compare-refresh-rate --again
  chaos compare results/2026-11-29T21-48-16Z-compare-refresh-rate
  chaos compare results/before results/after

Ctrl-C ends the run in progress in order, removes the cluster and tells what is there; --resume goes on. Exit codes: 0 compared, whatever
came of it; 2 wrong arguments; 3 environment; 4 no run can be used; 130 interrupted.")]
pub(super) struct Arguments {
    /// A plan (TOML); or folders: of a comparison, to be told again, or of runs, to be compared as they are
    #[arg(value_name = "PLAN|DIR", required_unless_present_any = ["resume", "cells"])]
    targets: Vec<PathBuf>,
    #[command(flatten)]
    changes: Changes,
    /// How often each combination is run, controls not counted [default: 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=REPEATS_MAX))]
    repeat: Option<u32>,
    /// Seed of the order of runs [default: the plan's]
    #[arg(long)]
    seed: Option<u64>,
    /// Folder for runs and results; a comparison that was begun there with the same arguments goes on [default: results/<UTC time>-compare-<plan>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    kafka: Kafka,
    /// Go on with the comparison in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["targets", "vary", "along", "repeat", "seed", "out", "cells"])]
    resume: Option<PathBuf>,
    /// With --resume: make finished runs that cannot be used anew, too; what they left is set aside
    #[arg(long)]
    again: bool,
    /// Folders of runs that are repeats of one setting; once for each setting, the baseline first
    #[arg(long = "cell", value_name = "NAME=DIR,DIR", conflicts_with_all = ["targets", "vary", "along", "repeat", "seed", "dry_run"])]
    cells: Vec<CellOfFolders>,
    /// Print cells, order and expected time, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Print compare.json on standard output instead of the table
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

/// How often a cell is run if nobody says.
const REPEATS: u32 = 6;
/// How often a cell may be run.
const REPEATS_MAX: i64 = 1_000;

/// Does it.
///
/// # Errors
/// Wrong arguments, a bad plan, or an environment in which it cannot be carried out.
pub(super) async fn run(arguments: Arguments, globals: Globals) -> anyhow::Result<Exit> {
    let of_cells_there = || arguments.cells.first().and_then(|cell| cell.folders.first());
    if arguments.kafka.is_written()
        && let Some(folder) = arguments.resume.as_ref().or_else(of_cells_there)
    {
        return Err(ArgumentsError::NeedsPlan { option: "--kafka", folder: folder.display().to_string() }.into());
    }
    if arguments.again && arguments.resume.is_none() {
        // Not clap's `requires`: what conflicts with `--resume` would lift it.
        return Err(ArgumentsError::NeedsResume { option: "--again" }.into());
    }
    if let Some(folder) = &arguments.resume {
        return resume(folder, &arguments, globals).await;
    }
    match &arguments.targets[..] {
        [plan] if !plan.is_dir() => of_plan(plan, &arguments, globals).await,
        [] => of_cells(&arguments.cells, &arguments, globals),
        folders => of_folders(folders, &arguments, globals),
    }
}

/// A plan with other values.
async fn of_plan(path: &Path, arguments: &Arguments, globals: Globals) -> anyhow::Result<Exit> {
    let base = plan::load(path)?.plan;
    let changes = arguments.kafka.with(&arguments.changes.0)?;
    let cells = vary::cells(&base.source.path, &base.source.text, &changes)?;
    let design = Design { plan: &base, changes: &changes, repeats: arguments.repeat.unwrap_or(REPEATS), seed: arguments.seed };
    let manifest = Manifest::new(design, &cells);
    if arguments.dry_run {
        let begun = arguments.out.as_deref().map(|out| compare::begun(out, &manifest)).transpose()?;
        return dry_run(&manifest, &cells, &begun.unwrap_or_default(), false);
    }
    let clock = Clock::real();
    let opened = Opened::make(arguments.out.as_deref(), manifest, clock.wall_time_of(clock.now()))?;
    carry_out(opened, &cells, &clock, arguments, globals).await
}

/// A comparison that was begun.
async fn resume(folder: &Path, arguments: &Arguments, globals: Globals) -> anyhow::Result<Exit> {
    if arguments.dry_run {
        // Neither takes the folder nor makes anything in it: another process may be at work there.
        let manifest = Manifest::read(folder)?.ok_or_else(|| CompareError::NoComparison { folder: folder.to_owned() })?;
        return dry_run(&manifest, &manifest.cells_of(folder)?, &compare::states(folder, &manifest)?, arguments.again);
    }
    let opened = Opened::resume(folder)?;
    let cells = opened.cells()?;
    carry_out(opened, &cells, &Clock::real(), arguments, globals).await
}

fn dry_run(manifest: &Manifest, cells: &[Cell], states: &[State], again: bool) -> anyhow::Result<Exit> {
    write!(Output::stdout(), "{}", dry::text(manifest, cells, states, again))?;
    Ok(Exit::Success)
}

async fn carry_out(opened: Opened, cells: &[Cell], clock: &Clock, arguments: &Arguments, globals: Globals) -> anyhow::Result<Exit> {
    let stderr = std::io::stderr();
    let style = Style::suiting(arguments.quiet, stderr.is_terminal() && !globals.is_verbose());
    let screen = Screen::new(style, globals.colours_on(&stderr), clock.clone());
    let stop = Stop::default();
    stop.listen_to_signals()?;
    begin(&opened, arguments.again, &screen)?;
    let Opened { path, manifest, .. } = &opened;
    let series = Series { folder: path, manifest, cells, again: arguments.again, screen: &screen, clock, stop: &stop };
    let carried = series.carry_out().await;
    if let Err(error) = carried {
        // Whether anything is left the error says.
        let _ = opened.remove_if_empty();
        return Err(error.into());
    }
    screen.stage("reading the runs");
    let loaded = compare::load(&opened.path, &opened.manifest)?;
    screen.clear();
    let exit = if loaded.finished > 0 {
        told(&loaded.cells, arguments, globals, Some(&opened.manifest), Files::Beside(&opened.path))?
    } else {
        Exit::Unknown
    };
    if stop.cause().is_none() {
        if let Some(text) = advice(&opened.path, &opened.manifest)? {
            writeln!(std::io::stderr(), "{}", globals.painter_for(&stderr).paint(Tone::Warning, &text))?;
        }
        return Ok(exit);
    }
    let (all, path) = (opened.manifest.runs.len(), opened.path.clone());
    let next = if opened.remove_if_empty() { String::new() } else { format!("; go on with: chaos compare --resume {}", path.display()) };
    let text = format!("stopped after {} of {all} runs{next}", loaded.finished);
    // The exit code says it to those who do not read.
    let _ = writeln!(std::io::stderr(), "{}", globals.painter_for(&stderr).paint(Tone::Warning, &text));
    Ok(Exit::Interrupted)
}

/// Says where the comparison is, and what of it is there.
fn begin(opened: &Opened, again: bool, screen: &Screen) -> anyhow::Result<()> {
    let Opened { path, manifest, is_resumed, .. } = opened;
    if !is_resumed {
        screen.note(Tone::Plain, &format!("the comparison is in {}, its order by seed {}", path.display(), manifest.seed));
        return Ok(());
    }
    let states = compare::states(path, manifest)?;
    let finished = states.iter().filter(|state| state.is_finished()).count();
    let unusable = match states.iter().filter(|state| matches!(state, State::Unusable(_))).count() {
        0 => String::new(),
        runs if again => format!("; {runs} of them cannot be used and are made anew"),
        runs => format!("; {runs} of them cannot be used: --again makes them anew"),
    };
    let aside = match compare::count_set_aside(path) {
        0 => String::new(),
        runs => format!("; so far {runs} were set aside"),
    };
    screen.note(
        Tone::Plain,
        &format!(
            "going on in {}, its order by seed {}: {finished} of {} runs are finished{unusable}{aside}",
            path.display(),
            manifest.seed,
            manifest.runs.len()
        ),
    );
    let version = env!("CARGO_PKG_VERSION");
    if manifest.chaos != version {
        let text = format!("version {} of chaos began it, and this is {version}: figures of the two may not be comparable", manifest.chaos);
        screen.note(Tone::Warning, &text);
    }
    Ok(())
}

/// What to do about runs of a comparison that cannot be used; `None`: there are none.
fn advice(folder: &Path, manifest: &Manifest) -> Result<Option<String>, CompareError> {
    let unusable = compare::states(folder, manifest)?.into_iter().filter(|state| matches!(state, State::Unusable(_))).count();
    let text = format!(
        "{unusable} of {} runs cannot be used; make them anew with: chaos compare --resume {} --again",
        manifest.runs.len(),
        folder.display()
    );
    Ok((unusable > 0).then_some(text))
}

/// Runs that are there already; or a comparison that is.
fn of_folders(folders: &[PathBuf], arguments: &Arguments, globals: Globals) -> anyhow::Result<Exit> {
    let options = [
        ("--vary", !arguments.changes.0.is_empty()),
        ("--repeat", arguments.repeat.is_some()),
        ("--seed", arguments.seed.is_some()),
        ("--dry-run", arguments.dry_run),
        ("--kafka", arguments.kafka.is_written()),
    ];
    if let (Some((option, _)), Some(folder)) = (options.iter().find(|(_, given)| *given), folders.first()) {
        return Err(ArgumentsError::NeedsPlan { option, folder: folder.display().to_string() }.into());
    }
    if let [folder] = folders
        && let Some(manifest) = Manifest::read(folder)?
    {
        let loaded = compare::load(folder, &manifest)?;
        let missing = manifest.runs.len() - loaded.finished;
        if missing > 0 {
            let text = format!(
                "{missing} of {} runs are missing; make them with: chaos compare --resume {}",
                manifest.runs.len(),
                folder.display()
            );
            writeln!(std::io::stderr(), "{}", globals.painter_for(&std::io::stderr()).paint(Tone::Warning, &text))?;
        }
        if let Some(text) = advice(folder, &manifest)? {
            writeln!(std::io::stderr(), "{}", globals.painter_for(&std::io::stderr()).paint(Tone::Warning, &text))?;
        }
        let again = if loaded.finished > 0 && !arguments.json { Files::Again(folder) } else { Files::None };
        return tell_folders(&loaded.cells, arguments, globals, Some(&manifest), again);
    }
    tell_folders(&compare::of_folders(folders)?, arguments, globals, None, Files::None)
}

/// Runs that are there already, in cells as they are told.
fn of_cells(cells: &[CellOfFolders], arguments: &Arguments, globals: Globals) -> anyhow::Result<Exit> {
    tell_folders(&compare::of_cells(cells)?, arguments, globals, None, Files::None)
}

/// Writes into `--out`; where none is given, as `files` says.
fn tell_folders(
    cells: &[CellRuns],
    arguments: &Arguments,
    globals: Globals,
    manifest: Option<&Manifest>,
    files: Files<'_>,
) -> anyhow::Result<Exit> {
    let folder = arguments.out.as_deref().map(compare::empty_folder).transpose()?;
    told(cells, arguments, globals, manifest, folder.as_deref().map_or(files, Files::Apart))
}

fn told(
    cells: &[CellRuns],
    arguments: &Arguments,
    globals: Globals,
    manifest: Option<&Manifest>,
    files: Files<'_>,
) -> anyhow::Result<Exit> {
    let shown = Shown { json: arguments.json, colours: globals.colours_on(&std::io::stdout()), manifest, files };
    tell(cells, shown, &mut Output::stdout(), &mut std::io::stderr())
}
