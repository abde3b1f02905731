//! The figures of criterion's benchmarks, gathered from what it leaves into one file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The file of the figures.
pub(crate) const FILE: &str = "micro.csv";
/// How deep criterion's folders may lie: group, function, value, `new`.
const DEPTH_MAX: usize = 5;

/// Where they are.
#[derive(Args, Clone, Debug)]
pub(crate) struct MicroArgs {
    /// Criterion's folder
    #[arg(long, value_name = "DIR", default_value = "target/criterion")]
    criterion: PathBuf,
    /// Folder of the results
    #[arg(long, value_name = "DIR", default_value = "results/bench")]
    out: PathBuf,
}

/// One benchmark. Times are of one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) benchmark: String,
    pub(crate) median_ns: f64,
    /// Bounds of the median, 95 % confidence.
    pub(crate) low_ns: f64,
    pub(crate) high_ns: f64,
    /// What an iteration works on, and how much of it; empty: one thing.
    pub(crate) unit: Option<String>,
    pub(crate) units: Option<u64>,
}

/// Gathers them.
pub(crate) fn run(args: &MicroArgs) -> anyhow::Result<()> {
    let mut folders = Vec::new();
    find(&args.criterion, DEPTH_MAX, &mut folders)
        .with_context(|| format!("cannot list {}: run cargo bench first", args.criterion.display()))?;
    let mut rows = folders.iter().map(|folder| read(folder)).collect::<anyhow::Result<Vec<Row>>>()?;
    ensure!(!rows.is_empty(), "{} holds no figures: run cargo bench first", args.criterion.display());
    rows.sort_by(|left, right| left.benchmark.cmp(&right.benchmark));
    fs::create_dir_all(&args.out)?;
    let mut writer = csv::Writer::from_path(args.out.join(FILE))?;
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()?;
    Ok(())
}

/// Folders named `new` that hold estimates.
fn find(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "new") && path.join("estimates.json").exists() {
            into.push(path);
        } else if path.is_dir() && depth > 0 {
            find(&path, depth - 1, into)?;
        }
    }
    Ok(())
}

fn read(folder: &Path) -> anyhow::Result<Row> {
    let json = |name: &str| -> anyhow::Result<Value> { Ok(serde_json::from_str(&fs::read_to_string(folder.join(name))?)?) };
    let (about, estimates) = (json("benchmark.json")?, json("estimates.json")?);
    let number = |pointer: &str| {
        estimates.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("{}: no {pointer} in estimates.json", folder.display()))
    };
    let throughput = about.get("throughput").and_then(Value::as_object).and_then(|one| one.iter().next());
    Ok(Row {
        benchmark: about.get("full_id").and_then(Value::as_str).context("benchmark.json has no full_id")?.to_owned(),
        median_ns: number("/median/point_estimate")?,
        low_ns: number("/median/confidence_interval/lower_bound")?,
        high_ns: number("/median/confidence_interval/upper_bound")?,
        unit: throughput.map(|(unit, _)| unit.to_lowercase()),
        units: throughput.and_then(|(_, units)| units.as_u64()),
    })
}
