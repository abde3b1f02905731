//! What stands above and below the page of a run: its plan, its verdict, and who made the page.

use maud::{Markup, html};

use super::Content;
use crate::analyze::findings::Verdict;
use crate::record::fact::RunStarted;

/// Heading, verdict, and what was run.
pub(super) fn masthead(content: Content<'_>) -> Markup {
    let Content { run, findings, .. } = content;
    html! {
        h1 { (run.plan) }
        p class={ "verdict " (verdict_class(findings.verdict)) } { (findings.verdict.word()) }
        p class="facts" { (facts(run)) }
    }
}

/// Who made it.
pub(super) fn colophon(run: &RunStarted) -> Markup {
    html! {
        "Made by chaos " (version(run, "chaos")) " from the run's own facts; "
        code { "chaos report" } " makes it again. Pictures: uPlot, MIT licence."
    }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "verdict-pass",
        Verdict::Fail => "verdict-fail",
        Verdict::Hang => "verdict-hang",
        Verdict::Unknown => "verdict-unknown",
        Verdict::Interrupted => "verdict-interrupted",
    }
}

/// `plans/x.toml, seed 7, Kafka 4.3.0, baseline from 2026-11-29 10:00:02 UTC`.
fn facts(run: &RunStarted) -> String {
    format!("{}, seed {}, Kafka {}, baseline from {} UTC", run.plan_path, run.seed, version(run, "kafka"), to_the_second(&run.steady_at))
}

/// `2026-11-29 10:00:02` of a moment in RFC 3339.
pub(crate) fn to_the_second(moment: &str) -> String {
    moment.get(..19).unwrap_or(moment).replace('T', " ")
}

/// Of chaos or Kafka, as the run has told it.
pub(super) fn version<'a>(run: &'a RunStarted, of: &str) -> &'a str {
    run.versions.get(of).map_or("(version unknown)", String::as_str)
}
