//! Whether our client behaves as Java's does, metric by metric: within Java's own spread, outside it, or unknown.
//!
//! All producers of a run meet the same fault, so only values of the same run are compared. *Java's own spread* is what 95 % of all pairs of
//! Java producers of the same run differ by at most. Ours is within it if the median of what our producers differ from Java's by, over all
//! pairs of the same run, is not greater. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::{FigureRow, Measured, Metric, Store};
use crate::variant::{CONTROL, OURS, REFERENCE};

/// Metrics that ours is held against Java's by.
const JUDGED: [Metric; 6] = [
    Metric::MetadataRequests,
    Metric::Failed,
    Metric::Indeterminate,
    Metric::OutageLongest,
    Metric::OutageMean,
    Metric::FirstUseAfterRefresh,
];
/// Metrics that are only shown: the moment of a topic's growth within a client's period of refreshes says nothing of the client.
const SHOWN: [Metric; 1] = [Metric::FirstUse];

/// What was found of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// As Java.
    Within,
    /// Less than Java's least.
    Below,
    /// More than Java's greatest.
    Above,
    /// Not measured on one side.
    Unknown,
    /// Only shown.
    NotJudged,
}

/// Median and range of some values; `never` counts as infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    /// The middle one; of an even number the mean of the two.
    pub(crate) median: f64,
    /// The least.
    pub(crate) min: f64,
    /// The greatest.
    pub(crate) max: f64,
    /// How many.
    pub(crate) count: usize,
}

impl Range {
    /// Of these values; `None` without any.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { median: median(&sorted), min, max, count: sorted.len() })
    }
}

fn median(sorted: &[f64]) -> f64 {
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    // Two infinite ones have no mean.
    if low == high { low } else { f64::midpoint(low, high) }
}

/// Fewest pairs of Java producers that tell Java's spread: two that agree by chance would blame ours for it.
const PAIRS_MIN: usize = 3;

/// What is compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    /// The plan's name.
    pub(crate) plan: String,
    /// Kafka's version.
    pub(crate) kafka: String,
    /// The plan's group.
    pub(crate) group: String,
    /// The metric.
    pub(crate) metric: Metric,
    /// The step; empty: the whole run.
    pub(crate) step: String,
}

/// A subject with all that was measured of it.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// What.
    pub(crate) subject: Subject,
    /// By client: over producers and runs. A client without any known value is missing.
    pub(crate) clients: BTreeMap<String, Range>,
    /// Ours minus Java, over all pairs of producers of the same run.
    pub(crate) ours: Option<Range>,
    /// The second Java group minus the first, likewise.
    pub(crate) control: Option<Range>,
    /// Java's own spread: what 95 % of pairs of Java producers differ by at most. `None`: there are too few pairs.
    pub(crate) spread: Option<f64>,
    /// What came of it.
    pub(crate) verdict: Verdict,
}

/// Everything there is to compare in usable runs, in the order of subjects.
pub(crate) fn compare(store: &Store) -> Vec<Comparison> {
    let usable: BTreeSet<_> = store.used().map(crate::rows::RunRow::cell).collect();
    let mut subjects: BTreeMap<Subject, Vec<&FigureRow>> = BTreeMap::new();
    let is_compared = |metric| JUDGED.contains(metric) || SHOWN.contains(metric);
    for row in store.figures.iter().filter(|row| is_compared(&row.metric) && usable.contains(&crate::rows::cell_of(row))) {
        let subject = Subject {
            plan: row.plan.clone(),
            kafka: row.kafka.clone(),
            group: row.group.clone(),
            metric: row.metric,
            step: row.step.clone(),
        };
        subjects.entry(subject).or_default().push(row);
    }
    subjects.into_iter().map(|(subject, rows)| comparison(subject, &rows)).collect()
}

fn comparison(subject: Subject, rows: &[&FigureRow]) -> Comparison {
    let mut by_client: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut by_run: BTreeMap<u32, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for row in rows {
        let known: Vec<f64> = row.values.0.iter().filter_map(number).collect();
        by_client.entry(row.client.clone()).or_default().extend(&known);
        by_run.entry(row.repeat).or_default().entry(row.client.as_str()).or_default().extend(known);
    }
    let (mut ours, mut pairs, mut control) = (Vec::new(), Vec::new(), Vec::new());
    for clients in by_run.values() {
        let of = |client: &str| clients.get(client).map_or(&[][..], Vec::as_slice);
        let java = [of(REFERENCE), of(CONTROL)].concat();
        ours.extend(differences(of(OURS), &java));
        control.extend(differences(of(CONTROL), of(REFERENCE)));
        for (place, value) in java.iter().enumerate() {
            pairs.extend(java[place + 1..].iter().map(|other| difference(*value, *other).abs()));
        }
    }
    let clients = by_client.into_iter().filter_map(|(client, values)| Some((client, Range::of(&values)?))).collect();
    let ours = Range::of(&ours);
    let spread = most_of(pairs).map(|spread| spread.max(least_spread(subject.metric)));
    let verdict = if JUDGED.contains(&subject.metric) { verdict(ours, spread) } else { Verdict::NotJudged };
    Comparison { subject, clients, ours, control: Range::of(&control), spread, verdict }
}

/// What no client can be blamed for: one more or one less of a periodic event fits into the same time.
fn least_spread(metric: Metric) -> f64 {
    if metric == Metric::MetadataRequests { 1.0 } else { 0.0 }
}

fn verdict(ours: Option<Range>, spread: Option<f64>) -> Verdict {
    match (ours, spread) {
        (Some(ours), Some(spread)) if ours.median < -spread => Verdict::Below,
        (Some(ours), Some(spread)) if ours.median > spread => Verdict::Above,
        (Some(_), Some(_)) => Verdict::Within,
        _ => Verdict::Unknown,
    }
}

/// What 95 % of the values are not above, by nearest rank: of fewer than twenty, the greatest; `None`: there are too few.
fn most_of(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let rank = (values.len() * 95).div_ceil(100);
    if values.len() < PAIRS_MIN { None } else { values.get(rank - 1).copied() }
}

/// Each value minus each of the others.
fn differences(values: &[f64], from: &[f64]) -> Vec<f64> {
    values.iter().flat_map(|value| from.iter().map(|other| difference(*value, *other))).collect()
}

fn number(value: &Measured) -> Option<f64> {
    match value {
        Measured::Number(number) => Some(*number),
        Measured::Never => Some(f64::INFINITY),
        Measured::Unknown => None,
    }
}

/// Never minus never is no difference.
fn difference(value: f64, from: f64) -> f64 {
    if value == from { 0.0 } else { value - from }
}

/// Both counts of a client's Metadata requests in one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    /// The plan's name.
    pub(crate) plan: String,
    /// Kafka's version.
    pub(crate) kafka: String,
    /// Which repetition.
    pub(crate) repeat: u32,
    /// The client.
    pub(crate) client: String,
    /// By the brokers' logs.
    pub(crate) brokers: f64,
    /// By the client itself; `None`: it does not count.
    pub(crate) own: Option<f64>,
    /// Of its own, those without an answer; `None`: it does not say.
    pub(crate) cut_off: Option<f64>,
    /// Whether they agree; `None`: that cannot be said.
    pub(crate) agree: Option<bool>,
}

/// Each client's counts in each usable run, all groups together.
///
/// They agree if they are equal, or, where nodes were taken away: brokers <= own <= brokers + cut off.
pub(crate) fn counts(store: &Store) -> Vec<Counts> {
    let mut all = Vec::new();
    for run in store.used() {
        let rows: Vec<&FigureRow> = store.figures.iter().filter(|row| crate::rows::cell_of(row) == run.cell()).collect();
        let clients: BTreeSet<&str> = rows.iter().map(|row| row.client.as_str()).collect();
        for client in clients {
            let sum = |metric| sum(rows.iter().filter(|row| row.client == client && row.metric == metric));
            let Some(brokers) = sum(Metric::MetadataRequests) else { continue };
            let (own, cut_off) = (sum(Metric::MetadataRequestsOwn), sum(Metric::MetadataRequestsCutOff));
            let agree = match (own, cut_off) {
                (Some(own), _) if !run.takes_nodes_down || own < brokers => Some(own == brokers),
                (Some(own), Some(cut_off)) => Some(own <= brokers + cut_off),
                _ => None,
            };
            let (plan, kafka) = (run.plan.clone(), run.kafka.clone());
            all.push(Counts { plan, kafka, repeat: run.repeat, client: client.to_owned(), brokers, own, cut_off, agree });
        }
    }
    all
}

/// The sum over all values; `None` if one is unknown, or there is none.
fn sum<'a>(rows: impl Iterator<Item = &'a &'a FigureRow>) -> Option<f64> {
    let values: Vec<Option<f64>> = rows.flat_map(|row| row.values.0.iter().map(number)).collect();
    if values.is_empty() { None } else { values.into_iter().sum() }
}

#[cfg(test)]
mod tests;
