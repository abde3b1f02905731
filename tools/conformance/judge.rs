//! Whether our client behaves as Java's does, metric by metric: within Java's own spread, outside it, or unknown.
//!
//! All producers of a run meet the same fault, so only values of the same run are compared. Numbers are judged in pairs: by the median of what
//! ours differ from Java's by, and by what 95 % of these pairs differ by at most, so that one odd group of ours is not hidden by the others.
//! What never happened is no number: the share of producers it never happened to is judged on its own. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::rows::{FigureRow, Measured, Metric, RunRow, Store, cell_of};
use crate::stats::Spread;
use crate::variant::{CONTROL, OURS, REFERENCE};

/// Metrics that ours is held against Java's by.
const JUDGED: [Metric; 7] = [
    Metric::MetadataRequests,
    Metric::Failed,
    Metric::Indeterminate,
    Metric::OutageLongest,
    Metric::OutageMean,
    Metric::PartitionsStalled,
    Metric::FirstUseAfterRefresh,
];
/// Metrics that are only shown: the moment of a topic's growth within a client's period of refreshes says nothing of the client.
const SHOWN: [Metric; 1] = [Metric::FirstUse];

/// Fewest pairs on either side that tell anything: two Java producers that agree by chance would blame ours for it.
pub(crate) const PAIRS_MIN: usize = 3;
/// How much further than Java's pairs ours may be apart in their upper 5 %. With 1, identical clients would be outside in more than half of all
/// comparisons: with three producers of ours among nine, one of the two most extreme is ours more often than not.
pub(crate) const FAR_MAX: f64 = 2.0;

/// Shares that are equal may differ by what floating point rounds.
const SHARE_ROUNDING: f64 = 1e-9;

/// What was found of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// As Java.
    Within,
    /// Less than Java's own spread explains, in the median; or it never happens to fewer.
    Below,
    /// More than Java's own spread explains, in the median; or it never happens to more.
    Above,
    /// The median is as Java's, but too many pairs are far apart.
    Scattered,
    /// Not measured on one side, or too seldom.
    Unknown,
    /// Only shown.
    NotJudged,
}

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

/// What one client's producers had to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// Producers that had a number.
    pub(crate) numbers: usize,
    /// Producers that it never happened to.
    pub(crate) nevers: usize,
    /// Producers of which nobody can tell.
    pub(crate) unknown: usize,
}

/// A subject with all that was measured of it.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// What.
    pub(crate) subject: Subject,
    /// By client: over producers and runs, `never` as infinite. A client without any known value is missing.
    pub(crate) clients: BTreeMap<String, Spread>,
    /// By client: how many producers had a value, over all runs.
    pub(crate) said: BTreeMap<String, Said>,
    /// Ours minus Java, over all pairs of numbers of the same run.
    pub(crate) ours: Option<Spread>,
    /// What 95 % of these pairs differ by at most. `None`: there are too few pairs.
    pub(crate) far: Option<f64>,
    /// The second Java group minus the first, likewise.
    pub(crate) control: Option<Spread>,
    /// Java's own spread: what 95 % of pairs of Java producers differ by at most. `None`: there are too few pairs.
    pub(crate) spread: Option<f64>,
    /// What came of it.
    pub(crate) verdict: Verdict,
}

/// Everything there is to compare in usable runs, in the order of subjects.
pub(crate) fn compare(store: &Store) -> Vec<Comparison> {
    let usable: BTreeSet<_> = store.used().map(RunRow::cell).collect();
    let mut subjects: BTreeMap<Subject, Vec<&FigureRow>> = BTreeMap::new();
    let is_compared = |metric| JUDGED.contains(metric) || SHOWN.contains(metric);
    for row in store.figures.iter().filter(|row| is_compared(&row.metric) && usable.contains(&cell_of(row))) {
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
    let mut said: BTreeMap<String, Said> = BTreeMap::new();
    let mut by_run: BTreeMap<u32, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for row in rows {
        let shown = row.values.0.iter().filter_map(|value| if *value == Measured::Never { Some(f64::INFINITY) } else { number(value) });
        by_client.entry(row.client.clone()).or_default().extend(shown);
        row.values.0.iter().for_each(|value| said.entry(row.client.clone()).or_default().count(*value));
        let numbers = row.values.0.iter().filter_map(number);
        by_run.entry(row.repeat).or_default().entry(row.client.as_str()).or_default().extend(numbers);
    }
    let (mut ours, mut pairs, mut control) = (Vec::new(), Vec::new(), Vec::new());
    for clients in by_run.values() {
        let of = |client: &str| clients.get(client).map_or(&[][..], Vec::as_slice);
        let java = [of(REFERENCE), of(CONTROL)].concat();
        ours.extend(differences(of(OURS), &java));
        control.extend(differences(of(CONTROL), of(REFERENCE)));
        for (place, value) in java.iter().enumerate() {
            pairs.extend(java[place + 1..].iter().map(|other| (value - other).abs()));
        }
    }
    let clients = by_client.into_iter().filter_map(|(client, values)| Some((client, Spread::of(values)?))).collect();
    let far = most_of(ours.iter().map(|difference| difference.abs()).collect());
    let spread = most_of(pairs).map(|spread| spread.max(least_spread(subject.metric)));
    let (ours, control) = (Spread::of(ours), Spread::of(control));
    let verdict = if JUDGED.contains(&subject.metric) { verdict(&said, ours, far, spread) } else { Verdict::NotJudged };
    Comparison { subject, clients, said, ours, far, control, spread, verdict }
}

/// What no client can be blamed for: one more or one less of a periodic event fits into the same time.
fn least_spread(metric: Metric) -> f64 {
    if metric == Metric::MetadataRequests { 1.0 } else { 0.0 }
}

fn verdict(said: &BTreeMap<String, Said>, ours: Option<Spread>, far: Option<f64>, spread: Option<f64>) -> Verdict {
    let of = |client: &str| said.get(client).copied().unwrap_or_default();
    let nevers = of_nevers(of(OURS), of(REFERENCE), of(CONTROL));
    if nevers != Verdict::Within {
        return nevers;
    }
    if [OURS, REFERENCE, CONTROL].map(of).iter().all(|said| said.numbers == 0 && said.nevers > 0) {
        return Verdict::Within;
    }
    of_numbers(ours, far, spread)
}

/// Only what compares as it should is within: a value that is no number compares with nothing.
fn of_numbers(ours: Option<Spread>, far: Option<f64>, spread: Option<f64>) -> Verdict {
    let (Some(ours), Some(far), Some(spread)) = (ours, far, spread) else { return Verdict::Unknown };
    if ![ours.median, far, spread].into_iter().all(f64::is_finite) {
        return Verdict::Unknown;
    }
    if ours.median < -spread {
        Verdict::Below
    } else if ours.median > spread {
        Verdict::Above
    } else if far > spread * FAR_MAX {
        Verdict::Scattered
    } else {
        Verdict::Within
    }
}

/// The share of nevers of ours and of all of Java's may differ by what those of the two Java groups differ by.
fn of_nevers(ours: Said, java: Said, control: Said) -> Verdict {
    if ours.nevers + java.nevers + control.nevers == 0 {
        return Verdict::Within;
    }
    if ours.known() * (java.known() + control.known()) < PAIRS_MIN {
        return Verdict::Unknown;
    }
    let (Some(own), Some(both)) = (ours.share(), java.and(control).share()) else { return Verdict::Unknown };
    let (Some(one), Some(other)) = (java.share(), control.share()) else { return Verdict::Unknown };
    let spread = (one - other).abs() + SHARE_ROUNDING;
    if own < both - spread {
        Verdict::Below
    } else if own > both + spread {
        Verdict::Above
    } else {
        Verdict::Within
    }
}

impl Said {
    fn count(&mut self, value: Measured) {
        match value {
            Measured::Number(_) => self.numbers += 1,
            Measured::Never => self.nevers += 1,
            Measured::Unknown => self.unknown += 1,
        }
    }

    /// Both together.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { numbers: self.numbers + other.numbers, nevers: self.nevers + other.nevers, unknown: self.unknown + other.unknown }
    }

    /// Producers that had a value.
    pub(crate) fn known(self) -> usize {
        self.numbers + self.nevers
    }

    /// The share of nevers; `None` without values.
    fn share(self) -> Option<f64> {
        (self.known() > 0).then(|| self.nevers as f64 / self.known() as f64)
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
    values.iter().flat_map(|value| from.iter().map(move |other| value - other)).collect()
}

fn number(value: &Measured) -> Option<f64> {
    match value {
        Measured::Number(number) => Some(*number),
        Measured::Never | Measured::Unknown => None,
    }
}

/// Both counts of a producer's Metadata requests in one run.
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
    /// The plan's group.
    pub(crate) group: String,
    /// Its place in the group, from 0.
    pub(crate) producer: usize,
    /// By the brokers' logs.
    pub(crate) brokers: f64,
    /// By the client itself; `None`: it does not count.
    pub(crate) own: Option<f64>,
    /// Of its own, those without an answer; `None`: it does not say.
    pub(crate) cut_off: Option<f64>,
    /// Whether they agree; `None`: that cannot be said.
    pub(crate) agree: Option<bool>,
}

/// Each producer's counts in each usable run: one by one, for what one has too many may be what another has too few.
///
/// They agree if they are equal, or, where nodes were taken away: brokers <= own <= brokers + cut off.
pub(crate) fn counts(store: &Store) -> Vec<Counts> {
    store.used().flat_map(|run| counts_of(store, run)).collect()
}

fn counts_of(store: &Store, run: &RunRow) -> Vec<Counts> {
    let rows: Vec<&FigureRow> = store.figures.iter().filter(|row| cell_of(row) == run.cell()).collect();
    let mut all = Vec::new();
    for row in rows.iter().filter(|row| row.metric == Metric::MetadataRequests) {
        let of = |metric, producer: usize| {
            let same = rows.iter().find(|other| other.metric == metric && other.client == row.client && other.group == row.group)?;
            number(same.values.0.get(producer)?)
        };
        for (producer, brokers) in row.values.0.iter().enumerate() {
            let Some(brokers) = number(brokers) else { continue };
            let (own, cut_off) = (of(Metric::MetadataRequestsOwn, producer), of(Metric::MetadataRequestsCutOff, producer));
            let agree = match (own, cut_off) {
                (Some(own), _) if !run.takes_nodes_down || own < brokers => Some(own == brokers),
                (Some(own), Some(cut_off)) => Some(own <= brokers + cut_off),
                _ => None,
            };
            let (plan, kafka, client, group) = (run.plan.clone(), run.kafka.clone(), row.client.clone(), row.group.clone());
            all.push(Counts { plan, kafka, repeat: run.repeat, client, group, producer, brokers, own, cut_off, agree });
        }
    }
    all
}

#[cfg(test)]
mod tests;
