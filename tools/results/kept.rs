//! Pages kept beside the page of results that is made from the same runs: a comparison's own, and the report of one of its runs.
//!
//! Made anew from the runs. A comparison's has no links to them, for they are not kept.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use kafka_chaos::analyze::compare::{Options, compare};
use kafka_chaos::report::compare::html::{ComparedPlan, Content, page};
use kafka_chaos::report::replay::Replay;
use kafka_chaos::run::compare::{RUNS, load};

use crate::{gather, table};

/// Writes the page of a comparison.
///
/// # Errors
/// The comparison cannot be read, or the page cannot be written.
pub(crate) fn write(comparison: &Path, path: &Path) -> anyhow::Result<()> {
    let manifest = gather::manifest(comparison)?;
    let loaded = load(comparison, &manifest).with_context(|| format!("cannot read the runs of {}", comparison.display()))?;
    let findings = compare(&loaded.cells, Options::default());
    let plan = ComparedPlan { name: &manifest.plan, path: &manifest.plan_path, seed: manifest.seed };
    let text = page(Content { findings: &findings, plan: Some(plan), runs: None })?;
    table::write_text(path, &text)
}

/// Writes the report of one run of a comparison.
///
/// # Errors
/// The run cannot be read, or its report cannot be written.
pub(crate) fn report(comparison: &Path, run: &str, path: &Path) -> anyhow::Result<()> {
    let made = Replay::read(&comparison.join(RUNS).join(run)).and_then(|run| run.write_page());
    let made = made.with_context(|| format!("cannot make the report of {run} in {}", comparison.display()))?;
    fs::copy(&made, path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
