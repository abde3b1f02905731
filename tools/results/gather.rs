//! The runs of a comparison, each with its settings, its findings, and what each producer asked over its life.
//!
//! Read from the runs' facts, so that nothing rests on what a table of the comparison leaves out.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use kafka_chaos::analyze::Analysis;
use kafka_chaos::analyze::findings::{Findings, Verdict};
use kafka_chaos::plan;
use kafka_chaos::plan::model::{Plan, ProducerGroup};
use kafka_chaos::record::fact::{Fact, RunStarted};
use kafka_chaos::record::read::FactReader;
use kafka_chaos::run::compare::{Manifest, RUNS, Role, RunEntry, states};

/// A run.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its folder, by its last name.
    pub(crate) name: String,
    /// What it was.
    pub(crate) started: RunStarted,
    /// Its plan, as it was varied.
    pub(crate) plan: Plan,
    /// What came of it.
    pub(crate) findings: Findings,
    /// Its producers' lives.
    pub(crate) lives: Vec<Life>,
}

/// What one producer asked over its life.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Life {
    /// Its group.
    pub(crate) group: String,
    /// From its construction to its end.
    pub(crate) length: Duration,
    /// Its Metadata requests.
    pub(crate) requests: u64,
    /// Those for age alone.
    pub(crate) by_age: u64,
}

impl Run {
    /// A group's property in milliseconds, the Java producer's default if the plan does not set it.
    pub(crate) fn property_ms(&self, group: &str, key: &str, default_ms: u64) -> anyhow::Result<u64> {
        match self.group(group)?.config.get(key) {
            Some(value) => value.parse().with_context(|| format!("{}: `{key}` of `{group}` is {value}", self.name)),
            None => Ok(default_ms),
        }
    }

    fn group(&self, name: &str) -> anyhow::Result<&ProducerGroup> {
        self.plan.producers.iter().find(|group| group.name == name).with_context(|| format!("{} has no group `{name}`", self.name))
    }

    /// The producers of a group.
    pub(crate) fn lives_of(&self, group: &str) -> impl Iterator<Item = &Life> {
        self.lives.iter().filter(move |life| life.group == group)
    }
}

/// What a comparison says of itself.
///
/// # Errors
/// It cannot be read.
pub(crate) fn manifest(comparison: &Path) -> anyhow::Result<Manifest> {
    Manifest::read(comparison)?.with_context(|| format!("{} is no comparison's folder", comparison.display()))
}

/// All runs of a comparison that are in its figures, in their order: no controls, which repeat the first setting alone.
///
/// # Errors
/// One of them is not there or did not end, or proves nothing: without it, the figures would be no result.
pub(crate) fn runs(comparison: &Path) -> anyhow::Result<Vec<Run>> {
    let manifest = manifest(comparison)?;
    if !states(comparison, &manifest)?.iter().all(|state| state.is_finished()) {
        bail!("not all runs of {0} are there: chaos compare --resume {0}", comparison.display());
    }
    let of_entry = |entry: &RunEntry| {
        let folder = comparison.join(RUNS).join(&entry.folder);
        run(&folder)
            .with_context(|| format!("cannot use the run {}: chaos compare --resume {} --again", folder.display(), comparison.display()))
    };
    in_figures(&manifest).map(of_entry).collect()
}

/// The runs without the controls.
fn in_figures(manifest: &Manifest) -> impl Iterator<Item = &RunEntry> {
    manifest.runs.iter().filter(|run| run.role != Role::Control)
}

fn run(folder: &Path) -> anyhow::Result<Run> {
    let mut analysis = Analysis::new();
    let mut made_us: BTreeMap<(String, u32), i64> = BTreeMap::new();
    let mut lives = Vec::new();
    for stamped in FactReader::open(folder)? {
        let stamped = stamped?;
        match &stamped.fact {
            Fact::FirstAck { group, producer, ack_us, .. } => {
                made_us.insert((group.clone(), producer.0), stamped.time_us - i64::try_from(*ack_us)?);
            }
            Fact::ProducerTotals { group, producer, metadata_requests: Some(requests), .. } => {
                let made_us = made_us.get(&(group.clone(), producer.0)).with_context(|| format!("{group}-{} got nothing", producer.0))?;
                lives.push(Life {
                    group: group.clone(),
                    length: Duration::from_micros(u64::try_from(stamped.time_us - made_us)?),
                    requests: requests.values().sum(),
                    by_age: requests.get("age").copied().unwrap_or(0),
                });
            }
            _ => {}
        }
        analysis.fold(&stamped);
    }
    let findings = analysis.finish();
    if matches!(findings.verdict, Verdict::Interrupted | Verdict::Unknown) {
        bail!("its figures cannot be trusted: {} ({})", findings.verdict.word(), findings.reasons.join("; "));
    }
    if let Some(step) = findings.checks.iter().find(|check| check.is_unconfirmed_step()) {
        bail!("a step was not what the plan wanted: {}", step.reasons.join("; "));
    }
    let started = analysis.run().context("its first fact is missing")?.clone();
    let plan = plan::parse(&started.plan_path, &started.plan_text)?.plan;
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(Run { name, started, plan, findings, lives })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_chaos::plan::vary::{self, Change};
    use kafka_chaos::run::compare::Design;

    fn manifest() -> Manifest {
        let path = "plans/rolling-restart.toml";
        let plan = plan::load(Path::new(path)).unwrap().plan;
        let changes = [Change::Vary("seed=1,2".to_owned())];
        let cells = vary::cells(path, &plan.source.text, &changes).unwrap();
        Manifest::new(Design { plan: &plan, changes: &changes, repeats: 3, seed: None }, &cells)
    }

    #[test]
    fn controls_are_in_no_figure() {
        let manifest = manifest();
        assert_eq!((manifest.runs.len(), in_figures(&manifest).count()), (8, 6));
        assert!(in_figures(&manifest).all(|run| !run.folder.ends_with("control")));
    }

    #[test]
    fn a_comparison_that_is_not_whole_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(runs(folder.path()).unwrap_err().to_string().contains("is no comparison's folder"));
        manifest().write(folder.path()).unwrap();
        assert!(runs(folder.path()).unwrap_err().to_string().starts_with("not all runs of "));
    }
}
