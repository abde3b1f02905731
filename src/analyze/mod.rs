//! What the facts mean: incremental folds, driven by a run while it goes and by `chaos report` from the file, with the same result.
//!
//! Pure: no clock, no files. Each fold takes facts in any order that a run can write them and keeps no more than its figures need
//! (stretches without service and pairs, not records). Read by `report` (findings) and `ui` ([`live`]).
//!
//! ```text
//! Stamped -> steps     \
//!         -> stretches  \
//!         -> loads       > finish -> Findings (verdict, reasons, sentences, figures)
//!         -> requests   /
//!         -> ...       /
//! ```

pub mod audit;
pub mod compare;
mod consumers;
mod expect;
pub mod figures;
pub mod findings;
mod first_ack;
mod generator;
mod growth;
mod histograms;
mod known;
pub mod layers;
pub mod live;
mod load;
pub mod meters;
mod names;
mod outage;
mod parts;
mod processes;
mod requesters;
mod requests;
pub mod series;
mod spread;
pub mod storm;
mod summary;
mod unplanned;
mod verdict;
mod window;

pub use expect::expectation_fact;
pub use outage::ABOVE_BASELINE_US;
pub use spread::Spread;

use std::collections::{BTreeMap, BTreeSet};

use crate::analyze::expect::Expected;
use crate::analyze::figures::Measured;
use crate::analyze::findings::{CheckFinding, Findings, GroupFinding, StepFinding, Verdict};
use crate::analyze::outage::{GroupBasis, Hit, OutageReport, Stretches};
use crate::analyze::parts::Part;
use crate::analyze::verdict::{LATENESS_P99_MAX_US, Reasons};
use crate::analyze::window::{StepWindow, step_windows};
use crate::record::error_sums::ErrorLedger;
use crate::record::fact::{Fact, GroupInfo, Phase, RunStarted, Stamped, Totals};
use crate::record::files::{RecoveryRow, millis};
use crate::record::step::{StepLedger, StepRecord};

/// Rows for pairs that a step left alone are written up to so many; beyond it only outages are.
pub const ZERO_ROWS_MAX: usize = 100_000;

/// Steps of the machine's wall clock that are told of; what keeps it in time moves it by less.
const CLOCK_STEP_MAX_US: u64 = 200_000;

/// All folds of a run.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    run: Option<Box<RunStarted>>,
    expected: Vec<Expected>,
    steps: StepLedger,
    parts: parts::Parts,
    stretches: Stretches,
    loads: load::Loads,
    requests: requests::Requests,
    requesters: requesters::Requesters,
    consumers: consumers::Consumers,
    storm: storm::Storm,
    growth: growth::Growth,
    first_acks: first_ack::FirstAcks,
    generator: generator::Generator,
    processes: processes::Processes,
    layers: layers::Layers,
    audit: audit::Audit,
    unplanned: unplanned::Unplanned,
    series: series::Series,
    errors: ErrorLedger,
    group_warnings: BTreeMap<String, BTreeSet<String>>,
    facts_lost: u64,
    relay_refused: u64,
    last_us: i64,
    /// From then on no record was waited for.
    load_ended_us: Option<i64>,
    /// End of the run, and what interrupted it.
    ended: Option<(i64, Option<String>)>,
}

impl Analysis {
    /// An analysis of nothing yet; what the plan expects comes as facts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in a fact.
    pub fn fold(&mut self, stamped: &Stamped) {
        let histograms = histograms::Histograms::of(&stamped.fact);
        self.series.fold(stamped, &histograms);
        self.generator.fold(stamped, &histograms);
        self.parts.fold(stamped);
        self.loads.fold(stamped, histograms, &self.parts);
        self.steps.fold(stamped);
        self.stretches.fold(stamped);
        self.errors.fold(stamped);
        self.requests.fold(stamped);
        self.requesters.fold(stamped);
        self.consumers.fold(stamped);
        self.storm.fold(stamped, &self.parts);
        self.growth.fold(stamped);
        self.first_acks.fold(stamped);
        self.processes.fold(stamped);
        self.layers.fold(stamped);
        self.audit.fold(stamped);
        self.unplanned.fold(stamped);
        self.expected.extend(Expected::from_fact(&stamped.fact));
        self.last_us = self.last_us.max(stamped.time_us);
        match &stamped.fact {
            Fact::RunStarted(run) => self.run = Some(run.clone()),
            Fact::GroupStarted { group, warnings } => {
                self.group_warnings.entry(group.clone()).or_default().extend(warnings.iter().cloned());
            }
            Fact::FactsLost { count } => self.facts_lost += count,
            Fact::RelayRefused { connections } => self.relay_refused += connections,
            Fact::PhaseStarted { phase: Phase::End } => self.load_ended_us = Some(stamped.time_us),
            Fact::RunEnded { interrupted } => self.ended = Some((stamped.time_us, interrupted.clone())),
            _ => {}
        }
    }

    /// What the run said about itself, once its first fact has come.
    #[must_use]
    pub fn run(&self) -> Option<&RunStarted> {
        self.run.as_deref()
    }

    /// How many outages could be known so far: grows when [`Self::recovery_rows`] may have changed.
    #[must_use]
    pub fn stretches(&self) -> usize {
        self.stretches.stretches.len()
    }

    /// Rows of `recovery.csv` so far; with `zeros` also one for each pair that a step left alone (up to [`ZERO_ROWS_MAX`]).
    #[must_use]
    pub fn recovery_rows(&self, zeros: bool) -> Vec<RecoveryRow> {
        let (windows, basis) = (step_windows(&self.steps), self.basis());
        let hits = self.hits(&windows, &basis);
        outage::rows(&self.stretches, &hits, &windows, &basis, zeros && !self.too_many_zero_rows(&windows))
    }

    /// What all facts so far say together.
    #[must_use]
    pub fn finish(&self) -> Findings {
        let (windows, basis) = (step_windows(&self.steps), self.basis());
        let hits = self.hits(&windows, &basis);
        let outages = outage::report(&self.stretches, &hits, &self.steps, &windows, &basis);
        let groups: Vec<GroupFinding> = self.groups().iter().map(|group| self.group(group)).collect();
        let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
        let mut totals = Totals::default();
        groups.iter().for_each(|group| totals.add(&group.totals));
        let mut findings = Findings {
            verdict: Verdict::Unknown,
            reasons: Vec::new(),
            summary: Vec::new(),
            totals,
            expectations: Vec::new(),
            checks: Vec::new(),
            steps: self.steps.steps().map(|step| self.step(step, &windows, &outages)).collect(),
            outside_steps: outages.outside.clone(),
            warm_up_stalls: outages.warm_up.clone(),
            requesters: self.requesters.findings(),
            consumers: self.consumers.findings(),
            storm: self.storm.findings(),
            growth: self.growth.findings(&self.steps, &names),
            layers: self.layers.findings(layers::Scene {
                steps: &self.steps,
                windows: &windows,
                stretches: &self.stretches,
                hits: &hits,
                basis: &basis,
                end_us: self.end_us(),
            }),
            probes: self.layers.probes(),
            audit: self.audit.finding(&self.steps),
            generator: self.generator.finding(),
            stretches_not_kept: self.stretches.not_kept,
            unplanned: self.unplanned.findings(),
            facts_lost: self.facts_lost,
            relay_refused: self.relay_refused,
            warnings: self.warnings(&windows),
            ended_ms: self.ended.as_ref().map(|(time_us, _)| millis(*time_us)),
            groups,
        };
        let measured = Measured::new(self, &findings, windows, hits);
        findings.expectations = self.expected.iter().map(|expected| expected.check(&measured)).collect();
        findings.summary = summary::sentences(&findings);
        (findings.verdict, findings.reasons, findings.checks) = self.verdict(&findings, &outages);
        findings
    }

    /// What pictures of the run are drawn from.
    #[must_use]
    pub fn series(&self) -> series::findings::SeriesFinding {
        let (windows, basis) = (step_windows(&self.steps), self.basis());
        let hits = self.hits(&windows, &basis);
        let (loads, stretches) = (&self.loads, &self.stretches);
        self.series.finding(series::Scene { loads, stretches, hits: &hits, windows: &windows, basis: &basis, end_us: self.end_us() })
    }

    /// What went wrong with records and batches, summed.
    #[must_use]
    pub fn errors(&self) -> &ErrorLedger {
        &self.errors
    }

    fn verdict(&self, findings: &Findings, outages: &OutageReport) -> (Verdict, Vec<String>, Vec<CheckFinding>) {
        let mut reasons = Reasons::default();
        reasons.interruption(self.ended.is_some(), self.ended.as_ref().and_then(|(_, by)| by.as_deref()));
        let groups = self.loads.unreadable + self.requesters.unreadable + self.consumers.unreadable;
        let unreadable = groups + self.storm.unreadable + self.generator.unreadable;
        let needs_baseline = !self.steps.is_empty() && self.loads.iter().any(|(_, load)| load.counts(Part::Baseline).due > 0);
        reasons.trust(findings, unreadable, needs_baseline);
        for group in &findings.groups {
            let number = self.stretches.groups.iter().find(|(_, name)| *name == group.name).map(|(number, _)| number);
            let never = number.and_then(|number| outages.never.get(&number)).map_or(0, BTreeSet::len);
            reasons.recovery(group, never, &self.expected);
        }
        reasons.steps(&self.steps);
        findings.expectations.iter().for_each(|expectation| reasons.expectation(expectation));
        reasons.decide()
    }

    fn hits(&self, windows: &[StepWindow], basis: &[GroupBasis]) -> Vec<Hit> {
        outage::assign(&self.stretches, windows, basis, self.end_us())
    }

    /// End of the load, or of the facts. What comes after it, such as an audit that waits for partitions, lengthens no outage.
    fn end_us(&self) -> i64 {
        let ended_us = self.ended.as_ref().map(|(time_us, _)| *time_us);
        self.load_ended_us.or(ended_us).unwrap_or(self.last_us)
    }

    /// By group number of the stretches.
    fn basis(&self) -> Vec<GroupBasis> {
        let basis = |name: &str| {
            let load = self.loads.get(name);
            GroupBasis {
                p99_us: load.and_then(load::GroupLoad::baseline_p99_us).unwrap_or(0),
                due_until_us: load.map_or(i64::MIN, |load| load.due_until_us),
            }
        };
        self.stretches.groups.iter().map(|(_, name)| basis(name)).collect()
    }

    fn too_many_zero_rows(&self, windows: &[StepWindow]) -> bool {
        self.stretches.pairs.len() * windows.len() > ZERO_ROWS_MAX
    }

    /// Groups as the run told them, and any other that facts speak of.
    fn groups(&self) -> Vec<GroupInfo> {
        let mut groups = self.run.as_ref().map_or_else(Vec::new, |run| run.groups.clone());
        for (name, load) in self.loads.iter() {
            if !groups.iter().any(|group| group.name == name) {
                let producers = u32::try_from(load.producers.len()).unwrap_or(u32::MAX);
                groups.push(GroupInfo { name: name.to_owned(), engine: String::new(), producers, share: None });
            }
        }
        groups
    }

    fn group(&self, info: &GroupInfo) -> GroupFinding {
        let nothing = load::GroupLoad::default();
        let load = self.loads.get(&info.name).unwrap_or(&nothing);
        let stages = self.first_acks.finding(&info.name);
        GroupFinding {
            name: info.name.clone(),
            engine: info.engine.clone(),
            producers: info.producers,
            totals: load.totals(info.producers),
            warmup_totals: load.counts(Part::Warmup),
            metadata_requests: self.requests.finding(&info.name),
            first_ack_ms: stages.acknowledged,
            first_ack_stages_ms: stages,
            latency: load.latency(),
            outage_threshold_ms: millis(load.baseline_p99_us().unwrap_or(0) + ABOVE_BASELINE_US),
            blocked_metadata_ms: load.blocked_metadata_ms(),
            blocked_memory_ms: load.blocked_memory_ms(),
            process: self.processes.finding(&info.name),
            cached_partitions: load.cached_partitions.get().copied().flatten(),
            warnings: self.group_warnings.get(&info.name).into_iter().flatten().cloned().collect(),
        }
    }

    fn step(&self, step: &StepRecord, windows: &[StepWindow], outages: &OutageReport) -> StepFinding {
        StepFinding {
            step: step.step.0,
            parent: step.parent.map(|parent| parent.0),
            round: step.round,
            action: step.action.clone(),
            target: step.target.clone(),
            nodes: step.nodes.iter().map(|node| node.0).collect(),
            was_controller: step.was_controller,
            requested_ms: millis(step.requested_us),
            acknowledged_ms: step.acknowledged_us.map(millis),
            observed_ms: step.observed_us.map(millis),
            outcome: step.outcome.map(|outcome| outcome.name().to_owned()),
            detail: step.detail.clone(),
            has_parts: self.steps.steps().any(|other| other.parent == Some(step.step)),
            outages: if windows.is_empty() { Vec::new() } else { outages.by_step.get(&step.step).cloned().unwrap_or_default() },
        }
    }

    fn warnings(&self, windows: &[StepWindow]) -> Vec<String> {
        let mut warnings = self.run.as_ref().map_or_else(Vec::new, |run| run.warnings.clone());
        if let Some(step_us) = Some(self.generator.clock_step_max_us).filter(|us| *us > CLOCK_STEP_MAX_US) {
            let by = format!("{}.{} s", step_us / 1_000_000, step_us / 100_000 % 10);
            let text = "figures come from a clock that nobody can set, but times in brokers' own logs do not fit them";
            warnings.push(format!("this machine's clock was set by {by} at once while the run went: {text}"));
        }
        if let Some(late_us) = self.generator.after_p99_us().filter(|us| *us > LATENESS_P99_MAX_US) {
            warnings.push(format!("after the baseline the generator was late (p99 {} ms): the machine was busy", late_us / 1000));
        }
        for (name, load) in self.loads.iter() {
            if load.out_of_range > 0 {
                warnings.push(format!("group `{name}`: {} latencies lie above the histograms' bound of 600 s", load.out_of_range));
            }
            let disagreeing = self.requests.disagreeing(name);
            if disagreeing > 0 && self.facts_lost == 0 {
                warnings.push(format!("group `{name}`: {disagreeing} producers count their Metadata requests otherwise than their events"));
            }
            if !windows.is_empty() && load.due_until_us > 0 && load.baseline_p99_us().is_none() {
                warnings.push(format!("group `{name}` has no baseline: its outages are stretches above 500 ms"));
            }
        }
        if self.layers.not_kept() > 0 {
            warnings.push(format!("{} sightings of layers were too many to keep: waterfalls may lack stages", self.layers.not_kept()));
        }
        if self.layers.not_taken_in() > 0 {
            warnings.push(format!(
                "records of the controller's log that cannot be taken in: {}; what it says may differ from what is told (layers.csv has why)",
                self.layers.not_taken_in()
            ));
        }
        let more_steps = self.parts.left_out();
        if more_steps > 0 {
            warnings.push(format!("figures by step: the last {more_steps} steps are told together"));
        }
        if self.too_many_zero_rows(windows) {
            warnings.push("recovery.csv holds outages only: a row for every pair and step would be too many".to_owned());
        }
        warnings
    }
}

#[cfg(test)]
mod tests;
