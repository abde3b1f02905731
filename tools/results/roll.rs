//! `results/rolling-restart/`: the same roll under two ages, and what the comparison may say of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use kafka_chaos::analyze::findings::Findings;
use kafka_chaos::analyze::layers::findings::SegmentFinding;
use kafka_chaos::record::layer::Layer;
use kafka_chaos::report::compare::html::COMPARE;
use kafka_chaos::report::html::REPORT;
use serde::{Deserialize, Serialize};

use crate::gather::{self, Run};
use crate::{kept, page, table};

const AGE: &str = "metadata.max.age.ms";
/// What the comparison concluded.
const COMPARISON: &str = "compare.json";
/// Its tables, which are kept as they are.
const KEPT: [&str; 2] = ["compare.csv", "differences.csv"];

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RollRow {
    pub(crate) run: String,
    pub(crate) age_ms: u64,
    pub(crate) verdict: &'static str,
    /// Pairs of producer and partition with an outage, over all steps of the roll.
    pub(crate) stalled: u64,
    pub(crate) outage_median_ms: i64,
    pub(crate) outage_max_ms: i64,
    /// Records that failed, or of which it is unknown what became of them.
    pub(crate) failed_or_unknown: u64,
    pub(crate) metadata_requests: u64,
    /// Kills after which a record waited.
    pub(crate) kills: usize,
    /// The longest wait after each, all together.
    pub(crate) waited_ms: i64,
    /// What of that is charged to the controller's noticing.
    pub(crate) detected_ms: i64,
    /// The most of a single such wait that is charged to a client's cache: all that the age is about.
    pub(crate) client_cache_max_ms: i64,
}

/// A wait, and what of it is charged to which layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    all_ms: i64,
    detected_ms: i64,
    client_cache_ms: i64,
}

/// What is read of the comparison's own conclusions.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Comparison {
    pub(crate) summary: Vec<String>,
    pub(crate) figures: Vec<Figure>,
}

/// A figure that was compared.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Figure {
    pub(crate) name: Name,
    /// Other names of the same figure.
    #[serde(default)]
    pub(crate) also: Vec<Name>,
    pub(crate) differences: Vec<Difference>,
}

impl Figure {
    /// Whether it is of this metric, under any of its names.
    pub(crate) fn is_of(&self, metric: &str) -> bool {
        std::iter::once(&self.name).chain(&self.also).any(|name| name.metric == metric)
    }
}

/// Its name.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Name {
    pub(crate) metric: String,
}

/// One cell against the first.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Difference {
    pub(crate) judgement: Judgement,
}

/// What may be said of it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Judgement {
    pub(crate) is: String,
}

/// Makes the page and its tables.
///
/// # Errors
/// The comparison cannot be read, the page cannot be written, or what it claims does not hold.
pub(crate) fn write(compared: &Path, out: &Path) -> anyhow::Result<()> {
    let runs = gather::runs(compared)?;
    let about = page::about(runs.iter())?;
    let rows: Vec<RollRow> = runs.iter().map(row).collect::<anyhow::Result<_>>()?;
    let path = compared.join(COMPARISON);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let comparison: Comparison = serde_json::from_str(&text).with_context(|| format!("{} is no comparison", path.display()))?;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    table::write(&out.join("runs.csv"), &rows)?;
    for name in KEPT {
        fs::copy(compared.join(name), out.join(name)).with_context(|| format!("cannot keep {name} of {}", compared.display()))?;
    }
    kept::write(compared, &out.join(COMPARE))?;
    if let Some(first) = rows.first() {
        kept::report(compared, &first.run, &out.join(REPORT))?;
    }
    page::roll::write(&rows, &comparison, &about, out)
}

fn row(run: &Run) -> anyhow::Result<RollRow> {
    let roll =
        run.findings.steps.iter().find(|step| step.action == "rolling").with_context(|| format!("{}: nothing was rolled", run.name))?;
    let outage = roll.outages.first().with_context(|| format!("{}: nobody sent during the roll", run.name))?;
    let longest = outage.outage_ms.with_context(|| format!("{}: no pairs were in use", run.name))?;
    let waits = waits_after_kills(&run.findings);
    Ok(RollRow {
        run: run.name.clone(),
        age_ms: run.property_ms(&outage.group, AGE, 300_000)?,
        verdict: run.findings.verdict.word(),
        stalled: outage.stalled,
        outage_median_ms: longest.median,
        outage_max_ms: longest.max,
        failed_or_unknown: run.findings.totals.failed + run.findings.totals.indeterminate,
        metadata_requests: run.lives_of(&outage.group).map(|life| life.requests).sum(),
        kills: waits.len(),
        waited_ms: waits.iter().map(|wait| wait.all_ms).sum(),
        detected_ms: waits.iter().map(|wait| wait.detected_ms).sum(),
        client_cache_max_ms: waits.iter().map(|wait| wait.client_cache_ms).max().unwrap_or(0),
    })
}

/// The longest wait after each kill, by what the layers made of it.
fn waits_after_kills(findings: &Findings) -> Vec<Wait> {
    let is_kill = |step: u32| findings.steps.iter().any(|found| found.step == step && found.action == "kill");
    let of_kills = findings.layers.iter().filter(|layers| is_kill(layers.step));
    let segments = of_kills.filter_map(|layers| Some(&layers.waterfall.as_ref()?.segments)).filter(|segments| !segments.is_empty());
    let wait = |segments: &Vec<SegmentFinding>| {
        let charged_ms = |layer: Option<Layer>| {
            segments.iter().filter(|segment| layer.is_none_or(|layer| layer == segment.layer)).map(|segment| segment.for_ms).sum()
        };
        Wait {
            all_ms: charged_ms(None),
            detected_ms: charged_ms(Some(Layer::Detected)),
            client_cache_ms: charged_ms(Some(Layer::ClientCache)),
        }
    };
    segments.map(wait).collect()
}

/// Rows by age.
pub(crate) fn by_age(rows: &[RollRow]) -> BTreeMap<u64, Vec<&RollRow>> {
    let mut by: BTreeMap<u64, Vec<&RollRow>> = BTreeMap::new();
    rows.iter().for_each(|row| by.entry(row.age_ms).or_default().push(row));
    by
}
