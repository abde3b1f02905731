//! JUnit's XML, for programs that gather tests' results: a suite per run, a case for each thing that the verdict depends on.
//!
//! FAIL and HANG are failures; UNKNOWN and INTERRUPTED are errors: nothing is known to be wrong. There is no standard of this form; this is what
//! Jenkins, GitLab and GitHub's reporters read alike. Times are in seconds; a case that takes no time of its own has none. Made for `chaos run` and
//! `chaos report`, which write it.

mod xml;

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use self::xml::Element;
use super::text::{self, Place};
use crate::analyze::findings::{CheckFinding, Findings, Verdict};
use crate::record::fact::RunStarted;

/// A run to be told.
#[derive(Clone, Copy, Debug)]
pub struct Suite<'a> {
    /// The run; missing if its first fact was.
    pub run: Option<&'a RunStarted>,
    /// What was found.
    pub findings: &'a Findings,
    /// Where its files are.
    pub folder: &'a Path,
}

impl Suite<'_> {
    /// The suite as it will be written: nothing of its run is needed any more.
    #[must_use]
    pub fn told(&self) -> Told {
        Told { kinds: self.findings.checks.iter().map(|check| kind(check.verdict)).collect(), element: suite(self) }
    }
}

/// A suite that has been told.
#[derive(Clone, Debug)]
pub struct Told {
    element: Element,
    /// Of each of its cases.
    kinds: Vec<Option<&'static str>>,
}

/// The document of some runs, with a line end.
#[must_use]
pub fn document(suites: impl IntoIterator<Item = Told>) -> String {
    let suites: Vec<Told> = suites.into_iter().collect();
    let kinds: Vec<_> = suites.iter().flat_map(|suite| suite.kinds.iter().copied()).collect();
    let root = counted(Element::new("testsuites").attribute("name", "chaos"), &kinds);
    xml::document(&suites.into_iter().fold(root, |root, suite| root.child(suite.element)))
}

/// The document of a run that has not come to an end, or to nothing at all: one case, with an error that says why.
#[must_use]
pub fn unfinished(plan: &str, why: &str) -> String {
    let counts = |element: Element| element.attribute("tests", "1").attribute("failures", "0").attribute("errors", "1");
    let error = Element::new("error").attribute("message", why).attribute("type", Verdict::Interrupted.word()).text(why);
    let case = Element::new("testcase").attribute("classname", plan).attribute("name", "the run came to its end").child(error);
    let suite = counts(Element::new("testsuite").attribute("name", plan)).child(case);
    xml::document(&counts(Element::new("testsuites").attribute("name", "chaos")).child(suite))
}

fn suite(suite: &Suite<'_>) -> Element {
    let Suite { run, findings, folder } = *suite;
    let name = run.map_or("(unnamed run)", |run| run.plan.as_str());
    let kinds: Vec<_> = findings.checks.iter().map(|check| kind(check.verdict)).collect();
    let mut element = counted(Element::new("testsuite").attribute("name", name), &kinds);
    if let Some(length_ms) = findings.ended_ms.zip(run).map(|(ended_ms, run)| ended_ms + run.phases_us[0] / 1000) {
        element = element.attribute("time", &seconds(length_ms));
    }
    if let Some(began_at) = run.and_then(began_at) {
        // Strict readers take neither fractions nor a zone; it is UTC.
        element = element.attribute("timestamp", &began_at.strftime("%Y-%m-%dT%H:%M:%S").to_string());
    }
    element = element.child(properties(run, findings, folder));
    element = findings.checks.iter().fold(element, |element, check| element.child(case(name, check)));
    element.child(Element::new("system-out").text(&text::render(run, findings, Some(Place { folder, has_page: false }), false)))
}

/// When the load began, from which the suite's time counts, too.
fn began_at(run: &RunStarted) -> Option<Timestamp> {
    let steady_at: Timestamp = run.steady_at.parse().ok()?;
    steady_at.checked_sub(SignedDuration::from_micros(run.phases_us[0])).ok()
}

fn properties(run: Option<&RunStarted>, findings: &Findings, folder: &Path) -> Element {
    let property = |name: &str, value: &str| Element::new("property").attribute("name", name).attribute("value", value);
    let mut properties = Element::new("properties").child(property("verdict", findings.verdict.word()));
    properties = properties.child(property("results", &folder.display().to_string()));
    let Some(run) = run else { return properties };
    properties = properties.child(property("run_id", &run.run_id)).child(property("plan_path", &run.plan_path));
    properties = properties.child(property("plan_sha256", &run.plan_sha256)).child(property("seed", &run.seed.to_string()));
    run.versions.iter().fold(properties, |properties, (name, version)| properties.child(property(&format!("version.{name}"), version)))
}

fn case(plan: &str, check: &CheckFinding) -> Element {
    let class = format!("{plan}.{}", check.check.name());
    let mut case = Element::new("testcase").attribute("classname", &class).attribute("name", &check.name);
    if let Some(for_ms) = check.for_ms {
        case = case.attribute("time", &seconds(for_ms));
    }
    let Some(kind) = kind(check.verdict) else { return case };
    let message = check.reasons.first().map_or("", String::as_str);
    let told = Element::new(kind).attribute("message", message).attribute("type", check.verdict.word());
    case.child(told.text(&check.reasons.join("\n")))
}

/// The element of a verdict; `None`: it is PASS.
fn kind(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Pass => None,
        Verdict::Fail | Verdict::Hang => Some("failure"),
        Verdict::Unknown | Verdict::Interrupted => Some("error"),
    }
}

fn counted(element: Element, kinds: &[Option<&str>]) -> Element {
    let count = |wanted: &str| kinds.iter().filter(|kind| **kind == Some(wanted)).count().to_string();
    element.attribute("tests", &kinds.len().to_string()).attribute("failures", &count("failure")).attribute("errors", &count("error"))
}

fn seconds(ms: i64) -> String {
    let ms = ms.max(0);
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

#[cfg(test)]
mod tests;
