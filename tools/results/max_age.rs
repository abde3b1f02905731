//! `results/max-age/`: how long a change goes unseen under each `metadata.max.age.ms`, and what the age costs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use crate::gather::{self, Life, Run};
use crate::{kept, page, table};

/// The Java producer's defaults.
const AGE_DEFAULT_MS: u64 = 300_000;
const REQUEST_TIMEOUT_DEFAULT_MS: u64 = 30_000;
const AGE: &str = "metadata.max.age.ms";
/// A refresh that is due is sent, answered and taken in within this.
pub(crate) const SEEN_SLACK_MS: i64 = 250;
/// Requests may be one more or less than whole ages fit into a life: other requests reset the age.
pub(crate) const REQUESTS_SLACK: u64 = 1;

/// A run in which a topic grew: when its producers saw that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct GrowthRow {
    pub(crate) run: String,
    pub(crate) age_ms: u64,
    pub(crate) verdict: &'static str,
    pub(crate) producers: u64,
    /// Producers that never saw it.
    pub(crate) never: u64,
    /// Since the change was seen from outside; negative: a cache was first.
    pub(crate) seen_min_ms: i64,
    pub(crate) seen_median_ms: i64,
    pub(crate) seen_max_ms: i64,
    pub(crate) bound_ms: i64,
    pub(crate) requests_per_second_per_1000_clients: f64,
}

/// A run in which a leader froze: how long one group's pairs of producer and partition waited.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PauseRow {
    pub(crate) run: String,
    pub(crate) age_ms: u64,
    pub(crate) verdict: &'static str,
    pub(crate) group: String,
    pub(crate) pairs: u64,
    pub(crate) stalled: u64,
    pub(crate) never: u64,
    pub(crate) outage_median_ms: i64,
    pub(crate) outage_p99_ms: i64,
    pub(crate) outage_max_ms: i64,
    pub(crate) bound_ms: i64,
    /// How long the leader stayed frozen: beyond that no bound is tried.
    pub(crate) frozen_ms: i64,
    pub(crate) requests_per_second_per_1000_clients: f64,
}

impl PauseRow {
    /// Whether the leader stayed frozen for longer than the bound.
    pub(crate) fn tries_bound(&self) -> bool {
        self.frozen_ms > self.bound_ms
    }
}

/// What the producers of one group asked for age alone in one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct RequestRow {
    pub(crate) plan: String,
    pub(crate) run: String,
    /// Whether a broker was frozen meanwhile: while a request to it is not answered, no other is sent for age, and its end resets the age.
    pub(crate) is_disturbed: bool,
    pub(crate) group: String,
    pub(crate) age_ms: u64,
    pub(crate) producers: usize,
    pub(crate) life_min_ms: u64,
    pub(crate) life_max_ms: u64,
    pub(crate) by_age_min: u64,
    pub(crate) by_age_max: u64,
    /// Producers that asked more or less often than once per whole age of their own lives, by more than one.
    pub(crate) astray: usize,
}

/// All that the page is made from.
#[derive(Debug)]
pub(crate) struct MaxAge {
    pub(crate) growth: Vec<GrowthRow>,
    pub(crate) pause: Vec<PauseRow>,
    pub(crate) requests: Vec<RequestRow>,
    /// Versions and machine, in words.
    pub(crate) about: String,
}

/// Makes the page and its tables.
///
/// # Errors
/// A comparison cannot be read, the page cannot be written, or what it claims does not hold.
pub(crate) fn write(growth: &Path, pause: &Path, out: &Path) -> anyhow::Result<()> {
    let [of_growth, of_pause] = [growth, pause];
    let (growth, pause) = (gather::runs(of_growth)?, gather::runs(of_pause)?);
    let about = page::about(growth.iter().chain(&pause))?;
    let mut all = MaxAge { growth: Vec::new(), pause: Vec::new(), requests: Vec::new(), about };
    for run in &growth {
        all.growth.push(growth_row(run)?);
    }
    for run in &pause {
        all.pause.extend(pause_rows(run)?);
    }
    for run in growth.iter().chain(&pause) {
        all.requests.extend(request_rows(run)?);
    }
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    kept::write(of_growth, &out.join(page::max_age::GROWTH_COMPARED))?;
    kept::write(of_pause, &out.join(page::max_age::PAUSE_COMPARED))?;
    table::write(&out.join("growth.csv"), &all.growth)?;
    table::write(&out.join("pause.csv"), &all.pause)?;
    table::write(&out.join("requests.csv"), &all.requests)?;
    page::max_age::write(&all, out)
}

fn growth_row(run: &Run) -> anyhow::Result<GrowthRow> {
    let growth = run.findings.growth.first().with_context(|| format!("{}: no topic grew", run.name))?;
    let seen = growth.cached_ms.with_context(|| format!("{}: no cache ever showed the growth", run.name))?;
    let age_ms = run.property_ms(&growth.group, AGE, AGE_DEFAULT_MS)?;
    Ok(GrowthRow {
        run: run.name.clone(),
        age_ms,
        verdict: run.findings.verdict.word(),
        producers: growth.producers,
        never: growth.never,
        seen_min_ms: seen.min,
        seen_median_ms: seen.median,
        seen_max_ms: seen.max,
        bound_ms: i64::try_from(age_ms)? + SEEN_SLACK_MS,
        requests_per_second_per_1000_clients: requests_per_second(run.lives_of(&growth.group)),
    })
}

fn pause_rows(run: &Run) -> anyhow::Result<Vec<PauseRow>> {
    let of = |action: &str| run.findings.steps.iter().find(|step| step.action == action);
    let step = of("pause").with_context(|| format!("{}: nothing froze", run.name))?;
    let thawed = of("unpause").with_context(|| format!("{}: what froze stayed so", run.name))?;
    let frozen_ms = thawed.requested_ms - step.requested_ms;
    let row = |outage: &kafka_chaos::analyze::findings::OutageFigures| {
        let spread = outage.outage_ms.with_context(|| format!("{}: `{}` had no pairs in use", run.name, outage.group))?;
        let age_ms = run.property_ms(&outage.group, AGE, AGE_DEFAULT_MS)?;
        let timeout_ms = run.property_ms(&outage.group, "request.timeout.ms", REQUEST_TIMEOUT_DEFAULT_MS)?;
        Ok(PauseRow {
            run: run.name.clone(),
            age_ms,
            verdict: run.findings.verdict.word(),
            group: outage.group.clone(),
            pairs: outage.pairs,
            stalled: outage.stalled,
            never: outage.never_recovered,
            outage_median_ms: spread.median,
            outage_p99_ms: spread.p99,
            outage_max_ms: spread.max,
            bound_ms: i64::try_from(age_ms + timeout_ms)?,
            frozen_ms,
            requests_per_second_per_1000_clients: requests_per_second(run.lives_of(&outage.group)),
        })
    };
    step.outages.iter().map(row).collect()
}

/// One row per group.
fn request_rows(run: &Run) -> anyhow::Result<Vec<RequestRow>> {
    let mut groups: BTreeMap<&str, Vec<&Life>> = BTreeMap::new();
    run.lives.iter().for_each(|life| groups.entry(&life.group).or_default().push(life));
    let row = |(group, lives): (&str, Vec<&Life>)| {
        let age_ms = run.property_ms(group, AGE, AGE_DEFAULT_MS)?;
        let millis = |length: Option<Duration>| u64::try_from(length.unwrap_or_default().as_millis());
        Ok(RequestRow {
            plan: run.started.plan.clone(),
            run: run.name.clone(),
            is_disturbed: run.findings.steps.iter().any(|step| step.action == "pause"),
            group: group.to_owned(),
            age_ms,
            producers: lives.len(),
            life_min_ms: millis(lives.iter().map(|life| life.length).min())?,
            life_max_ms: millis(lives.iter().map(|life| life.length).max())?,
            by_age_min: lives.iter().map(|life| life.by_age).min().unwrap_or(0),
            by_age_max: lives.iter().map(|life| life.by_age).max().unwrap_or(0),
            astray: lives.iter().filter(|life| is_astray(life, age_ms)).count(),
        })
    };
    groups.into_iter().map(row).collect()
}

/// Whether a producer asked for age alone more or less often than its life holds whole ages, by more than one.
fn is_astray(life: &Life, age_ms: u64) -> bool {
    let ages = life.length.as_millis() / u128::from(age_ms.max(1));
    u128::from(life.by_age).abs_diff(ages) > u128::from(REQUESTS_SLACK)
}

/// Metadata requests of any reason, per second of life, of a thousand such clients.
fn requests_per_second<'a>(lives: impl Iterator<Item = &'a Life>) -> f64 {
    let (mut requests, mut seconds) = (0.0, 0.0);
    for life in lives {
        requests += life.requests as f64;
        seconds += life.length.as_secs_f64();
    }
    if seconds > 0.0 { (requests / seconds * 1e6).round() / 1e3 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(seconds: u64, requests: u64, by_age: u64) -> Life {
        Life { group: "g".to_owned(), length: Duration::from_secs(seconds), requests, by_age }
    }

    #[test]
    fn a_producer_is_astray_two_requests_from_its_ages() {
        let astray: Vec<bool> = (0..=6).map(|by_age| is_astray(&life(31, 0, by_age), 10_000)).collect();
        assert_eq!(astray, [true, true, false, false, false, true, true]);
    }

    #[test]
    fn a_rate_is_over_all_lives_together() {
        let rate = requests_per_second([life(10, 3, 2), life(30, 5, 4)].iter());
        assert!((rate - 200.0).abs() < 1e-9, "{rate}");
        assert!(requests_per_second(std::iter::empty()).abs() < 1e-9);
    }
}
