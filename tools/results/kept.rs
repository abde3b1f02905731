//! A comparison's own page, kept beside the page of results that is made from it.
//!
//! Made anew from the runs rather than copied: the runs themselves are not kept, so that no link may lead to them.

use std::path::Path;

use anyhow::Context as _;
use kafka_chaos::analyze::compare::{Options, compare};
use kafka_chaos::report::compare::html::{ComparedPlan, Content, page};
use kafka_chaos::run::compare::load;

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
