//! `make conformance`: our producer against Kafka's own and librdkafka, on real brokers, on the shipped plans.
//!
//! ```text
//! plan -> variant (all clients in one run) -> measure (chaos run) -> figures -> rows (CSV) -> judge -> page (Markdown)
//! ```
//!
//! Each run is written to `runs.csv` and `figures.csv` when it ends. A run that was measured with the same build is not measured again, so
//! an interrupted measurement goes on where it was; the pages are made anew from the two tables each time. `docs/conformance.md` explains
//! the method. Not part of the program `chaos`.

#[cfg(test)]
mod arguments_tests;
mod build;
#[cfg(test)]
#[path = "../documented.rs"]
mod documented;
mod figures;
mod judge;
mod measure;
mod page;
mod rows;
#[path = "../run.rs"]
mod run;
#[path = "../source.rs"]
mod source;
#[path = "../stats.rs"]
mod stats;
mod stop;
mod variant;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Parser;
use kafka_chaos::clock::Clock;
use kafka_chaos::engine::registry;
use kafka_chaos::plan::model::{EngineKind, ProducerGroup};
use kafka_chaos::plan::units::show_duration;

use crate::measure::{AROUND_THE_LOAD, Bench};
use crate::page::{Found, Note};
use crate::rows::{Cell, Store};
use crate::stop::Stop;
use crate::variant::{CLIENTS, Client, Variant};

/// Four clients, two of them JVMs, share the machine with the brokers. All are as late as each other, and what is compared are outages of half a
/// second and more, and counts: a tenth of that does no harm.
const LATE_MS_MAX: u64 = 50;

/// How often a run is made whose figures cannot be used, before the next is made.
const ATTEMPTS: u32 = 3;

/// Compares the producer of chaos with Kafka's own and librdkafka on real brokers
#[derive(Debug, Parser)]
#[command(name = "conformance")]
struct Arguments {
    /// Plans to run
    #[arg(long, value_name = "FILE", num_args = 1.., default_values_os_t = shipped_plans())]
    plans: Vec<PathBuf>,
    /// Versions of Kafka
    #[arg(long, value_name = "VERSION", num_args = 1.., value_delimiter = ',', default_values_t = ["3.9.2", "4.0.2", "4.3.0"].map(str::to_owned))]
    kafka: Vec<String>,
    /// Clients to compare
    #[arg(long, value_name = "NAME", num_args = 1.., value_delimiter = ',', default_values_t = CLIENTS.map(|client| client.name.to_owned()))]
    clients: Vec<String>,
    /// How often each plan is run on each version
    #[arg(long, default_value_t = 3)]
    repeat: u32,
    /// Runs whose load generator was later than this are tried again, and not used: p99 in the baseline, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = LATE_MS_MAX)]
    late_ms: u64,
    /// Only make the pages anew from the tables
    #[arg(long)]
    only_table: bool,
    /// Only say what would be run, and how long it would take
    #[arg(long)]
    dry_run: bool,
    /// The program to run plans with
    #[arg(long, value_name = "FILE", default_value = "target/release/chaos")]
    chaos: PathBuf,
    /// Folder of the tables and pages
    #[arg(long, value_name = "DIR", default_value = "results/conformance")]
    out: PathBuf,
    /// Folder of the runs themselves
    #[arg(long, value_name = "DIR", default_value = "target/conformance")]
    work: PathBuf,
}

fn shipped_plans() -> Vec<PathBuf> {
    let mut plans: Vec<PathBuf> = fs::read_dir("plans").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    plans.retain(|plan| plan.extension().is_some_and(|extension| extension == "toml"));
    plans.sort();
    plans
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    fs::create_dir_all(&arguments.out).with_context(|| format!("cannot make {}", arguments.out.display()))?;
    let mut store = Store::read(&arguments.out, arguments.late_ms)?;
    if !arguments.only_table {
        measure_missing(&arguments, &mut store)?;
    }
    if !arguments.dry_run {
        write_pages(&arguments.out, &store, &asked(&arguments)?)?;
    }
    Ok(())
}

/// Runs whatever is not in the tables yet, one run after the other, and writes each down.
fn measure_missing(arguments: &Arguments, store: &mut Store) -> anyhow::Result<()> {
    let clients = clients(&arguments.clients)?;
    let variants = arguments.plans.iter().map(|plan| variant(plan, &clients)).collect::<anyhow::Result<Vec<Variant>>>()?;
    let build = build::name(&arguments.chaos)?;
    let commit = source::commit().unwrap_or_else(|| "unknown".to_owned());
    let named: Vec<(String, &Variant)> = variants.iter().map(|variant| (variant.plan.clone(), variant)).collect();
    let missing: Vec<(Cell, &Variant)> = cells(arguments, &named)
        .into_iter()
        .filter(|(cell, _)| !store.runs.iter().any(|run| run.cell() == *cell && run.build == build))
        .collect();
    let left = |from: usize| missing[from..].iter().map(|(_, variant)| variant.load + AROUND_THE_LOAD).sum::<Duration>();
    say(&format!("{} runs to go, about {}", missing.len(), show_duration(minutes(left(0)))));
    for line in variants.iter().flat_map(|variant| variant.left_out.iter().map(move |line| format!("{}: {line}", variant.plan))) {
        say(&line);
    }
    let clock = Clock::real();
    let bench = Bench { program: &arguments.chaos, work: &arguments.work, clock: &clock, stop: Stop::on_signals()? };
    for (index, (cell, variant)) in missing.iter().enumerate().filter(|_| !arguments.dry_run) {
        let place = format!("{}/{} {} on Kafka {}, run {}", index + 1, missing.len(), cell.plan, cell.kafka, cell.repeat);
        say(&format!("{place}; about {} to go", show_duration(minutes(left(index)))));
        for attempt in 1..=ATTEMPTS {
            let (folder, run) = bench.run(cell, variant)?;
            let row = figures::run_row(cell, &run, variant, (&build, &commit), attempt);
            let unused = row.unused(store.late_ms_max);
            say(&format!("{place}: {}{}", row.verdict, unused.as_ref().map_or(String::new(), |why| format!(", not used: {why}"))));
            store.put(row, figures::figures(cell, &folder, variant)?);
            store.write(&arguments.out)?;
            if unused.is_none() {
                break;
            }
        }
    }
    Ok(())
}

/// Every cell that was asked for.
fn asked(arguments: &Arguments) -> anyhow::Result<Vec<Cell>> {
    let name = |plan: &PathBuf| -> anyhow::Result<String> {
        let text = fs::read_to_string(plan).with_context(|| format!("cannot read {}", plan.display()))?;
        let table: toml::Table = text.parse().with_context(|| format!("{} is no TOML", plan.display()))?;
        let name = table.get("name").and_then(toml::Value::as_str);
        name.map(str::to_owned).with_context(|| format!("{} has no name", plan.display()))
    };
    let names = arguments.plans.iter().map(name).collect::<anyhow::Result<Vec<String>>>()?;
    let named: Vec<(String, ())> = names.into_iter().map(|name| (name, ())).collect();
    Ok(cells(arguments, &named).into_iter().map(|(cell, ())| cell).collect())
}

/// Every cell: versions change slowest, so that an early end leaves whole versions.
fn cells<T: Copy>(arguments: &Arguments, plans: &[(String, T)]) -> Vec<(Cell, T)> {
    let mut cells = Vec::new();
    for kafka in &arguments.kafka {
        for repeat in 1..=arguments.repeat {
            for (plan, of) in plans {
                cells.push((Cell { plan: plan.clone(), kafka: kafka.clone(), repeat }, *of));
            }
        }
    }
    cells
}

fn clients(names: &[String]) -> anyhow::Result<Vec<Client>> {
    let mut chosen = Vec::new();
    for name in names {
        let Some(client) = CLIENTS.iter().find(|client| client.name == name) else {
            bail!("no client is called `{name}`; there are {}", CLIENTS.map(|client| client.name).join(", "));
        };
        let kind = EngineKind::of_name(client.engine).context("the plan language has no such engine")?;
        registry::engine(kind).with_context(|| format!("leave it out with --clients, or build it in: `{name}`"))?;
        chosen.push(*client);
    }
    Ok(chosen)
}

fn variant(plan: &Path, clients: &[Client]) -> anyhow::Result<Variant> {
    let text = fs::read_to_string(plan).with_context(|| format!("cannot read {}", plan.display()))?;
    variant::derive(&text, clients, &refusal).with_context(|| format!("{}: no variant", plan.display()))
}

/// Why the engine of a group will not have it.
fn refusal(group: &ProducerGroup) -> Option<String> {
    let engine = registry::engine(group.engine).map_err(|error| error.to_string());
    engine.and_then(|engine| engine.check(group).map_err(|error| error.to_string())).err()
}

fn write_pages(folder: &Path, store: &Store, asked: &[Cell]) -> anyhow::Result<()> {
    let comparisons = judge::compare(store);
    let counts = judge::counts(store);
    let notes = notes(&folder.join("notes.csv"))?;
    let found = Found { store, asked, comparisons: &comparisons, counts: &counts, notes: &notes };
    for (name, text) in [("README.md", found.summary()), ("details.md", found.details())] {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        say(&format!("{} is written", path.display()));
    }
    Ok(())
}

fn notes(path: &Path) -> anyhow::Result<Vec<Note>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut reader = csv::Reader::from_path(path)?;
    reader.deserialize().collect::<Result<_, _>>().with_context(|| format!("{} is damaged", path.display()))
}

fn minutes(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs().div_ceil(60) * 60)
}

#[allow(clippy::print_stderr, reason = "this is a program, and progress is all that it prints")]
fn say(line: &str) {
    eprintln!("conformance: {line}");
}
