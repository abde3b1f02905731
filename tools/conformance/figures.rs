//! What a run's folder holds, brought to a row and figures per client: each from the file that `docs/results.md` describes.
//!
//! Not here: what figures say of a client (`judge`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use crate::rows::{Cell, FigureRow, Measured, Metric, RunRow, Values};
use crate::variant::{Variant, VariantGroup};

/// The parts of `run.json` that are used.
#[derive(Debug, Deserialize)]
pub(crate) struct RunFile {
    pub(crate) verdict: String,
    reasons: Vec<String>,
    started_at: String,
    facts_lost: u64,
    versions: BTreeMap<String, String>,
    machine: BTreeMap<String, String>,
    groups: Vec<Group>,
    generator: Generator,
}

#[derive(Debug, Deserialize)]
struct Group {
    name: String,
    totals: Totals,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Totals {
    sent: u64,
    failed: u64,
    indeterminate: u64,
}

#[derive(Debug, Deserialize)]
struct Generator {
    baseline_lateness: Option<Lateness>,
}

#[derive(Debug, Deserialize)]
struct Lateness {
    p99_us: u64,
}

/// Kinds of facts that are used; all others are skipped.
#[derive(Debug, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
enum Fact {
    ProducerTotals {
        group: String,
        producer: usize,
        totals: Totals,
        metadata_requests: Option<BTreeMap<String, u64>>,
    },
    MetadataRequest {
        group: String,
        producer: usize,
        outcome: String,
    },
    PartitionFirstUsed {
        group: String,
        producer: usize,
        topic: String,
        partition: u32,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Line {
    time_us: i64,
    #[serde(flatten)]
    fact: Fact,
}

#[derive(Clone, Debug, Deserialize)]
struct Step {
    step: u32,
    action: String,
    target: String,
    resolved_node: String,
    acknowledged_ms: Option<i64>,
    observed_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Outage {
    step: Option<u32>,
    group: String,
    producer: usize,
    topic: String,
    /// -1: its records failed before they had one.
    partition: i32,
    first_due_unserved_ms: Option<i64>,
    outage_ms: i64,
    /// `false`: no ok came until the end of the run, and the outage has no length.
    recovered: bool,
}

#[derive(Debug, Deserialize)]
struct Requests {
    client: String,
    request: String,
    count: u64,
}

/// Reads `run.json`.
///
/// # Errors
/// If it is not there or not what it should be.
pub(crate) fn run_file(folder: &Path) -> anyhow::Result<RunFile> {
    let path = folder.join("run.json");
    let text = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
}

/// The row of a run.
pub(crate) fn run_row(cell: &Cell, run: &RunFile, variant: &Variant, (build, commit): (&str, &str), attempts: u32) -> RunRow {
    let of = |map: &BTreeMap<String, String>, key: &str| map.get(key).cloned().unwrap_or_else(|| "unknown".to_owned());
    let not_clients = ["chaos", "kafka", "image", "kernel", "docker"];
    let foreign = run.versions.iter().filter(|(name, _)| !not_clients.contains(&name.as_str()));
    let clients: Vec<String> = foreign.map(|(name, version)| format!("{name} {version}")).collect();
    let machine = format!(
        "{} cores, {}, kernel {}, docker {}",
        of(&run.machine, "cores"),
        of(&run.machine, "cpu"),
        of(&run.versions, "kernel"),
        of(&run.versions, "docker"),
    );
    RunRow {
        plan: cell.plan.clone(),
        kafka: cell.kafka.clone(),
        repeat: cell.repeat,
        started_at: run.started_at.clone(),
        verdict: run.verdict.clone(),
        reasons: run.reasons.join("; "),
        distrust: distrust(run, variant).join("; "),
        late_ms: run.generator.baseline_lateness.as_ref().map(|late| late.p99_us.div_ceil(1000)),
        attempts,
        left_out: variant.left_out.join("; "),
        takes_nodes_down: variant.takes_nodes_down,
        build: build.to_owned(),
        commit: commit.to_owned(),
        clients: clients.join(", "),
        machine,
    }
}

/// Why the figures cannot be trusted, even if the generator was not late. Not the verdict: an expectation that is not met is a finding.
fn distrust(run: &RunFile, variant: &Variant) -> Vec<String> {
    let mut reasons = Vec::new();
    if run.facts_lost > 0 {
        reasons.push(format!("{} facts were lost", run.facts_lost));
    }
    if variant.has_due_times && run.generator.baseline_lateness.is_none() {
        reasons.push("nobody knows how late the load generator was".to_owned());
    }
    reasons.extend(run.groups.iter().filter(|group| group.totals.sent == 0).map(|group| format!("`{}` never sent", group.name)));
    reasons
}

/// All figures of a run.
///
/// # Errors
/// If a file of it is not there or not what it should be.
pub(crate) fn figures(cell: &Cell, folder: &Path, variant: &Variant) -> anyhow::Result<Vec<FigureRow>> {
    let steps: Vec<Step> = table(&folder.join("steps.csv"))?;
    let outages: Vec<Outage> = table(&folder.join("recovery.csv"))?;
    let requests: Vec<Requests> = table(&folder.join("requests.csv"))?;
    let told = Told::read(&folder.join("facts.jsonl"), Growth::of(&steps, variant))?;
    let outages = own_outages(outages);
    let mut rows = Vec::new();
    for group in &variant.groups {
        let mut add = |metric, step: &str, values: Vec<Measured>| {
            rows.push(FigureRow {
                plan: cell.plan.clone(),
                kafka: cell.kafka.clone(),
                repeat: cell.repeat,
                client: group.client.to_owned(),
                group: group.of.clone(),
                metric,
                step: step.to_owned(),
                values: Values(values),
            });
        };
        add(Metric::MetadataRequests, "", by_brokers(&requests, group));
        told.add(group, &mut add);
        for step in &steps {
            add_outages(&outages, step, group, &mut add);
        }
    }
    Ok(rows)
}

fn producers(group: &VariantGroup) -> std::ops::Range<usize> {
    0..group.count
}

/// A client that no broker has heard of has asked for nothing.
fn by_brokers(requests: &[Requests], group: &VariantGroup) -> Vec<Measured> {
    let count = |producer| {
        let client = format!("{}-{producer}", group.name);
        let rows = requests.iter().filter(|row| row.client == client && row.request == "METADATA");
        Measured::Number(rows.map(|row| row.count).sum::<u64>() as f64)
    };
    producers(group).map(count).collect()
}

/// What producers have told of themselves.
#[derive(Debug, Default)]
struct Told {
    totals: BTreeMap<(String, usize), (Totals, Option<u64>)>,
    /// Requests that no answer came to; only of clients that tell single requests.
    cut_off: BTreeMap<(String, usize), u64>,
    tells_requests: BTreeSet<String>,
    /// When each Metadata request was answered, in the order of facts.
    answered_us: BTreeMap<(String, usize), Vec<i64>>,
    /// When a new partition was first used.
    first_use_us: BTreeMap<(String, usize), i64>,
    growth: Option<Growth>,
}

/// A step that has added partitions.
#[derive(Debug)]
struct Growth {
    step: String,
    topic: String,
    /// Its first new partition.
    from: u32,
    /// When it was there: seen from outside, or else acknowledged.
    since_us: i64,
}

impl Growth {
    fn of(steps: &[Step], variant: &Variant) -> Option<Self> {
        let (topic, from) = variant.growth.clone()?;
        let step = steps.iter().find(|step| step.action == "add-partitions")?;
        Some(Self { step: label(step), topic, from, since_us: step.observed_ms.or(step.acknowledged_ms)? * 1000 })
    }
}

impl Told {
    fn read(path: &Path, growth: Option<Growth>) -> anyhow::Result<Self> {
        let mut told = Self { growth, ..Self::default() };
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        for line in BufReader::new(file).lines() {
            let line: Line = serde_json::from_str(&line?).with_context(|| format!("{} is damaged", path.display()))?;
            told.fold(line);
        }
        Ok(told)
    }

    fn fold(&mut self, line: Line) {
        match line.fact {
            Fact::ProducerTotals { group, producer, totals, metadata_requests } => {
                self.totals.insert((group, producer), (totals, metadata_requests.map(|counts| counts.values().sum())));
            }
            Fact::MetadataRequest { group, producer, outcome } => {
                self.tells_requests.insert(group.clone());
                let is_cut_off = ["disconnected", "timed_out", "unanswered"].contains(&outcome.as_str());
                if !is_cut_off {
                    self.answered_us.entry((group.clone(), producer)).or_default().push(line.time_us);
                }
                *self.cut_off.entry((group, producer)).or_default() += u64::from(is_cut_off);
            }
            Fact::PartitionFirstUsed { group, producer, topic, partition } => {
                let is_new = |growth: &Growth| growth.topic == topic && growth.from <= partition;
                if !self.growth.as_ref().is_some_and(is_new) {
                    return;
                }
                let first = self.first_use_us.entry((group, producer)).or_insert(line.time_us);
                *first = line.time_us.min(*first);
            }
            Fact::Other => {}
        }
    }

    fn add(&self, group: &VariantGroup, add: &mut impl FnMut(Metric, &str, Vec<Measured>)) {
        let each = |value: &dyn Fn(&(String, usize)) -> Option<f64>| -> Vec<Measured> {
            let measured = |producer| value(&(group.name.clone(), producer)).map_or(Measured::Unknown, Measured::Number);
            producers(group).map(measured).collect()
        };
        add(Metric::MetadataRequestsOwn, "", each(&|key| Some(self.totals.get(key)?.1? as f64)));
        let cut_off = |key: &(String, usize)| self.cut_off.get(key).map(|count| *count as f64);
        let tells = self.tells_requests.contains(&group.name);
        add(Metric::MetadataRequestsCutOff, "", each(&|key| if tells { cut_off(key).or(Some(0.0)) } else { None }));
        add(Metric::Failed, "", each(&|key| Some(self.totals.get(key)?.0.failed as f64)));
        add(Metric::Indeterminate, "", each(&|key| Some(self.totals.get(key)?.0.indeterminate as f64)));
        if let Some(growth) = &self.growth {
            let first = |producer| self.first_use(growth, &(group.name.clone(), producer), tells);
            let (uses, after): (Vec<_>, Vec<_>) = producers(group).map(first).unzip();
            add(Metric::FirstUse, &growth.step, uses);
            add(Metric::FirstUseAfterRefresh, &growth.step, after);
        }
    }

    /// A producer's first use of a new partition, from the growth and from the first Metadata answer after it (or, if it was quicker than
    /// the look from outside, from the last one before the use).
    fn first_use(&self, growth: &Growth, key: &(String, usize), tells_requests: bool) -> (Measured, Measured) {
        let Some(use_us) = self.first_use_us.get(key) else {
            return (Measured::Never, if tells_requests { Measured::Never } else { Measured::Unknown });
        };
        let mut before = self.answered_us.get(key).map_or(&[][..], Vec::as_slice).iter().filter(|ended_us| *ended_us <= use_us);
        let refresh_us = before.clone().find(|ended_us| **ended_us >= growth.since_us).or_else(|| before.next_back());
        let ms = |from_us: i64| Measured::Number(((use_us - from_us) as f64 / 1000.0).round());
        (ms(growth.since_us), refresh_us.map_or(Measured::Unknown, |refresh_us| ms(*refresh_us)))
    }
}

/// Each outage once: at the first step that it overlaps. It is in the rows of later steps too, but they have not begun it.
fn own_outages(mut outages: Vec<Outage>) -> Vec<Outage> {
    outages.retain(|outage| outage.step.is_some());
    outages.sort();
    let mut seen = BTreeSet::new();
    outages.retain(|outage| {
        let Some(first_due_ms) = outage.first_due_unserved_ms else { return true };
        seen.insert((outage.group.clone(), outage.producer, outage.topic.clone(), outage.partition, first_due_ms))
    });
    outages
}

/// The outages of one producer at one step: of each partition in use the longest, `None`: it did not end.
type Pairs<'a> = BTreeMap<(&'a str, i32), Option<i64>>;

/// A producer without a row at the step has no value there: its partitions were all stalled since an earlier one, or it was idle.
fn add_outages(outages: &[Outage], step: &Step, group: &VariantGroup, add: &mut impl FnMut(Metric, &str, Vec<Measured>)) {
    let mut by_producer: BTreeMap<usize, Pairs<'_>> = BTreeMap::new();
    for outage in outages.iter().filter(|outage| outage.step == Some(step.step) && outage.group == group.name) {
        let pairs = by_producer.entry(outage.producer).or_default();
        let longest = pairs.entry((outage.topic.as_str(), outage.partition)).or_insert(Some(0));
        *longest = longest.filter(|_| outage.recovered).map(|longest_ms| longest_ms.max(outage.outage_ms));
    }
    if by_producer.is_empty() {
        return;
    }
    let mut each = |metric, of: fn(&Pairs<'_>) -> Measured| {
        let values = producers(group).map(|producer| by_producer.get(&producer).map_or(Measured::Unknown, of));
        add(metric, &label(step), values.collect());
    };
    each(Metric::OutageLongest, longest);
    each(Metric::OutageMean, mean);
    each(Metric::PartitionsStalled, stalled);
}

fn longest(pairs: &Pairs<'_>) -> Measured {
    let longest_ms = pairs.values().copied().try_fold(0, |longest_ms, outage_ms| Some(outage_ms?.max(longest_ms)));
    longest_ms.map_or(Measured::Never, |longest_ms| Measured::Number(longest_ms as f64))
}

/// Partitions without an outage are left out: how many stall is a metric of its own.
fn mean(pairs: &Pairs<'_>) -> Measured {
    let Some(all) = pairs.values().copied().collect::<Option<Vec<i64>>>() else { return Measured::Never };
    let stalled: Vec<i64> = all.into_iter().filter(|outage_ms| *outage_ms > 0).collect();
    Measured::Number((stalled.iter().sum::<i64>() as f64 / stalled.len().max(1) as f64).round())
}

fn stalled(pairs: &Pairs<'_>) -> Measured {
    let stalled = pairs.values().filter(|outage_ms| **outage_ms != Some(0)).count();
    Measured::Number((stalled as f64 * 100.0 / pairs.len() as f64).round())
}

fn label(step: &Step) -> String {
    let what = if step.resolved_node.is_empty() { &step.target } else { &step.resolved_node };
    format!("{} {} {what}", step.step, step.action)
}

fn table<T: serde::de::DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("cannot read {}", path.display()))?;
    reader.deserialize().collect::<Result<_, _>>().with_context(|| format!("{} is damaged", path.display()))
}

#[cfg(test)]
mod tests;
