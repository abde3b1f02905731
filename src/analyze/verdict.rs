//! The verdict: reasons against PASS, each with its weight; the weightiest decides.
//!
//! Distrust comes before accusation: figures of a run that lost facts or sent late prove nothing, so UNKNOWN outranks HANG and FAIL. An
//! expectation that merely could not be measured ranks below FAIL: the rest of such a run is sound.

use crate::analyze::expect::Expected;
use crate::analyze::findings::{Check, CheckFinding, ExpectationFinding, Findings, GeneratorFinding, GroupFinding, Verdict};
use crate::analyze::outage::ABOVE_BASELINE_US;
use crate::analyze::summary::pairs;
use crate::record::fact::StepOutcome;
use crate::record::files::millis;
use crate::record::step::{StepLedger, StepRecord};

/// Lateness that voids a run: p99 in the baseline.
pub(super) const LATENESS_P99_MAX_US: u64 = 20_000;

/// Lateness that voids a run: of any record in the baseline or after it, or of the whole process. A client that stood still for so long
/// through our fault would be told as an outage.
pub(super) const LATENESS_MAX_US: u64 = ABOVE_BASELINE_US.unsigned_abs();

/// Weight of a reason, weightiest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Interrupted,
    Distrust,
    Hang,
    Fail,
    Unmeasured,
}

/// What has been checked so far, each with what speaks against PASS.
#[derive(Debug, Default)]
pub(crate) struct Reasons(Vec<Checked>);

#[derive(Debug)]
struct Checked {
    check: Check,
    name: String,
    for_ms: Option<i64>,
    reasons: Vec<(Weight, String)>,
}

impl Reasons {
    /// The run was stopped, or its facts end before it did.
    pub(crate) fn interruption(&mut self, ended: bool, interrupted: Option<&str>) {
        self.begin(Check::End, "the run came to its end".to_owned());
        match (ended, interrupted) {
            (_, Some(by)) => self.add(Weight::Interrupted, format!("the run was interrupted: {by}")),
            (false, None) => {
                self.add(Weight::Interrupted, "the facts end before the run did: it was killed, or could not write any more".to_owned());
            }
            (true, None) => {}
        }
    }

    /// Whether the figures can be trusted. `needs_baseline`: there are steps, and records were due before them.
    pub(crate) fn trust(&mut self, findings: &Findings, unreadable: u64, needs_baseline: bool) {
        self.begin(Check::Trust, "the figures can be trusted".to_owned());
        if findings.facts_lost > 0 {
            self.add(Weight::Distrust, format!("{} facts were lost: the writer could not keep up", findings.facts_lost));
        }
        if findings.relay_refused > 0 {
            let text = "connections: too many open files (`chaos doctor` shows the limit)";
            self.add(Weight::Distrust, format!("the relay could not take or pass on {} {text}", findings.relay_refused));
        }
        if findings.stretches_not_kept > 0 {
            let text = "producer-partition pairs or stretches without service found no room: give the run fewer of them, or less time";
            self.add(Weight::Distrust, format!("{} {text}", findings.stretches_not_kept));
        }
        if findings.generator.refused_connections > 0 {
            let text = "connections to brokers could not be made: this process may open no more files (`chaos doctor` shows the limit)";
            self.add(Weight::Distrust, format!("{} {text}", findings.generator.refused_connections));
        }
        if unreadable > 0 {
            self.add(Weight::Distrust, format!("{unreadable} histograms cannot be read"));
        }
        if let Some(lateness) = findings.generator.baseline_lateness.filter(|lateness| lateness.p99_us > LATENESS_P99_MAX_US) {
            let (late, limit) = (lateness.p99_us / 1000, LATENESS_P99_MAX_US / 1000);
            let text = format!("the load generator was late: p99 {late} ms in the baseline, the limit is {limit} ms");
            self.add(Weight::Distrust, text);
        }
        self.standstill(&findings.generator);
        findings.unplanned.iter().for_each(|found| self.add(Weight::Distrust, found.words()));
        for group in findings.groups.iter().filter(|group| group.totals.due == 0 || group.totals.sent == 0) {
            self.add(Weight::Distrust, format!("group `{}` never sent", group.name));
        }
        // A bound that was reached is told of where figures depend on it.
        if let Some(audit) = findings.audit.as_ref().filter(|audit| audit.outcomes != audit.sent && audit.refused == 0) {
            let (told, sent) = (audit.outcomes, audit.sent);
            self.add(Weight::Distrust, format!("clients told what became of {told} records, but {sent} were handed to them"));
        }
        let has_baseline = findings.groups.iter().any(|group| group.latency.baseline.response.is_some());
        if needs_baseline && !has_baseline {
            let text = "no record was acknowledged in the baseline: outages cannot be told from ordinary slowness";
            self.add(Weight::Distrust, text.to_owned());
        }
    }

    /// Whether one stall of the generator's own may pass for an outage.
    fn standstill(&mut self, generator: &GeneratorFinding) {
        let windows = [generator.baseline_lateness, generator.after_lateness];
        let record_us = windows.iter().flatten().map(|lateness| lateness.max_us).max().unwrap_or(0);
        let late_us = record_us.max(generator.standstill_max_us);
        if late_us > LATENESS_MAX_US {
            let (late, limit) = (late_us / 1000, LATENESS_MAX_US / 1000);
            let text =
                format!("the load generator was late: it stood still for {late} ms, the limit is {limit} ms: outages may be its own");
            self.add(Weight::Distrust, text);
        }
    }

    /// Producers that never came back, and groups that never got anywhere, unless the plan itself says what is right of that very group.
    pub(crate) fn recovery(&mut self, group: &GroupFinding, never: usize, expected: &[Expected]) {
        self.begin(Check::Recovery, format!("no hang in group `{}` but what the plan allows", group.name));
        let got_nothing = group.totals.sent > 0 && group.totals.ok == 0;
        let speaks_of_acks = expected.iter().any(|expected| expected.speaks_of_acks(&group.name));
        let speaks_of_hangs = expected.iter().any(|expected| expected.speaks_of_hangs(&group.name));
        if got_nothing && speaks_of_acks {
            return;
        }
        if never > 0 && !speaks_of_hangs {
            let text = format!("{} of group `{}` had not recovered by the end", pairs(never as u64), group.name);
            self.add(Weight::Hang, text);
        }
        if never == 0 && got_nothing {
            self.add(Weight::Hang, format!("not one record of group `{}` was acknowledged", group.name));
        }
    }

    /// Steps that were not what the plan wanted.
    pub(crate) fn steps(&mut self, steps: &StepLedger) {
        for step in steps.steps() {
            let name = format!("step {} `{} {}`", step.step, step.action, step.target);
            let ended_us = step.observed_us.max(step.acknowledged_us);
            self.begin(Check::Step, name.clone()).for_ms = ended_us.map(|ended_us| millis(ended_us - step.requested_us));
            if let Some(what) = complaint(step) {
                let detail = if step.detail.is_empty() { String::new() } else { format!(" ({})", step.detail) };
                self.add(Weight::Fail, format!("{name} {what}{detail}"));
            }
        }
    }

    /// Expectations that are not met, or that could not be checked.
    pub(crate) fn expectation(&mut self, finding: &ExpectationFinding) {
        let (text, value) = (&finding.text, &finding.value_in_words);
        self.begin(Check::Expect, text.clone());
        match finding.met {
            Some(true) => {}
            Some(false) => self.add(Weight::Fail, format!("expected {text}, but it is {value}")),
            None => {
                let why = finding.unknown.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                self.add(Weight::Unmeasured, format!("expected {text}, but it could not be measured{why}"));
            }
        }
    }

    /// Reasons that are added from now on are this check's.
    fn begin(&mut self, check: Check, name: String) -> &mut Checked {
        self.0.push(Checked { check, name, for_ms: None, reasons: Vec::new() });
        let at = self.0.len() - 1;
        &mut self.0[at]
    }

    fn add(&mut self, weight: Weight, text: String) {
        if let Some(checked) = self.0.last_mut() {
            checked.reasons.push((weight, text));
        }
    }

    /// The verdict, the reasons with the weightiest first, and what was checked in its order.
    pub(crate) fn decide(self) -> (Verdict, Vec<String>, Vec<CheckFinding>) {
        let mut reasons: Vec<(Weight, String)> = self.0.iter().flat_map(|checked| checked.reasons.clone()).collect();
        reasons.sort_by_key(|(weight, _)| *weight);
        let verdict = verdict(reasons.first().map(|(weight, _)| *weight));
        let checks = self.0.into_iter().map(Checked::finding).collect();
        (verdict, reasons.into_iter().map(|(_, text)| text).collect(), checks)
    }
}

impl Checked {
    fn finding(mut self) -> CheckFinding {
        self.reasons.sort_by_key(|(weight, _)| *weight);
        CheckFinding {
            check: self.check,
            name: self.name,
            verdict: verdict(self.reasons.first().map(|(weight, _)| *weight)),
            reasons: self.reasons.into_iter().map(|(_, text)| text).collect(),
            for_ms: self.for_ms,
        }
    }
}

/// The verdict of the weightiest reason.
fn verdict(weightiest: Option<Weight>) -> Verdict {
    match weightiest {
        None => Verdict::Pass,
        Some(Weight::Interrupted) => Verdict::Interrupted,
        Some(Weight::Distrust | Weight::Unmeasured) => Verdict::Unknown,
        Some(Weight::Hang) => Verdict::Hang,
        Some(Weight::Fail) => Verdict::Fail,
    }
}

fn complaint(step: &StepRecord) -> Option<&'static str> {
    match step.outcome {
        Some(StepOutcome::Done) => None,
        Some(StepOutcome::NoOp) => Some("changed nothing"),
        Some(StepOutcome::Failed) => Some("failed"),
        Some(StepOutcome::NotObserved) => Some("was not seen from outside in time"),
        Some(StepOutcome::Cancelled) => Some("was cancelled: the run ended first"),
        None => Some("did not end"),
    }
}
