//! The top of the page: what happened, why the verdict is what it is, and where it was worst.

use maud::{Markup, html};

use super::Content;
use super::steps::link;
use super::table::{more, shortened};
use super::words::words;
use crate::analyze::findings::{ExpectationFinding, Findings, OutageFigures, StepFinding};
use crate::report::text::format::{moment_ms, span_ms};
use crate::report::text::head::all_warnings;
use crate::report::text::steps;

/// Sentences that stand at the top.
const SENTENCES_FIRST: usize = 3;

/// Sentences, reasons or warnings that are shown.
const SHOWN_MAX: usize = 200;

/// The first section.
pub(super) fn summary(content: Content<'_>) -> Markup {
    let findings = content.findings;
    let (first, rest) = findings.summary.split_at(findings.summary.len().min(SENTENCES_FIRST));
    html! {
        @for sentence in first { p class="sentence" { (words(&shortened(sentence))) } }
        @if findings.summary.is_empty() { p class="sentence" { "Nothing was measured." } }
        (list("reasons", &findings.reasons, "reasons"))
        (worst(findings))
        @if !rest.is_empty() {
            details class="more" {
                summary { (rest.len()) " more sentences" }
                @for sentence in rest.iter().take(SHOWN_MAX) { p class="sentence" { (words(&shortened(sentence))) } }
                (more(rest.len().saturating_sub(SHOWN_MAX), "sentences"))
            }
        }
        (warnings(findings))
    }
}

/// Items of a list, as many as there is room for.
pub(crate) fn list(class: &str, items: &[String], what: &str) -> Markup {
    html! {
        @if !items.is_empty() {
            ul class=(class) { @for item in items.iter().take(SHOWN_MAX) { li { (words(&shortened(item))) } } }
            (more(items.len().saturating_sub(SHOWN_MAX), what))
        }
    }
}

fn warnings(findings: &Findings) -> Markup {
    let warnings = all_warnings(findings);
    html! {
        @if !warnings.is_empty() {
            h3 { "Warnings" }
            (list("warnings", &warnings, "warnings"))
        }
    }
}

/// The longest outage of any step, with a link to it.
fn worst(findings: &Findings) -> Markup {
    let Some((step, outage, longest_ms)) = longest(findings) else { return html! {} };
    let never = if outage.never_recovered > 0 { " (some did not end)" } else { "" };
    let name = html! { "step " (step.step) ", " (words(&steps::what(step))) };
    html! {
        p class="worst" {
            "The longest outage at a step: " strong { (span_ms(longest_ms)) } ", of " code { (outage.group) } ", at "
            (link(findings, step.step, &name)) " at " (moment_ms(step.requested_ms)) (never) "."
        }
    }
}

/// Of an outage at several steps, the step whose own it is goes before those that it had begun earlier than.
fn longest(findings: &Findings) -> Option<(&StepFinding, &OutageFigures, i64)> {
    let outages =
        findings.steps.iter().filter(|step| !step.has_parts).flat_map(|step| step.outages.iter().map(move |outage| (step, outage)));
    let lengths = outages.filter_map(|(step, outage)| {
        let longest_ms = outage.outage_ms?.max;
        (longest_ms > 0).then(|| (longest_ms, outage.own_ms.map_or(0, |own| own.max), step, outage))
    });
    let (longest_ms, _, step, outage) = lengths.rev().max_by_key(|(longest_ms, own_ms, ..)| (*longest_ms, *own_ms))?;
    Some((step, outage, longest_ms))
}

/// What the plan expects.
pub(super) fn expectations(findings: &Findings) -> Markup {
    html! {
        @if !findings.expectations.is_empty() {
            div class="scroll" tabindex="0" role="region" aria-label="What the plan expects" {
                table class="figures" id="table-expectations" {
                    caption { "What the plan expects" }
                    thead { tr { th scope="col" class="text" { "expected" } th scope="col" class="text" { "outcome" } th scope="col" class="text" { "measured" } } }
                    tbody { @for expectation in findings.expectations.iter().take(SHOWN_MAX) { (expectation_row(expectation)) } }
                }
            }
            (more(findings.expectations.len().saturating_sub(SHOWN_MAX), "expectations"))
        }
    }
}

fn expectation_row(expectation: &ExpectationFinding) -> Markup {
    let (class, word) = match expectation.met {
        Some(true) => ("met", "met"),
        Some(false) => ("not-met", "not met"),
        None => ("unknown", "unknown"),
    };
    html! {
        tr class=(class) {
            th scope="row" class="text" { (expectation.text) }
            td class={ "text " (class) } { (word) }
            td class="text" { (expectation.value_in_words) }
        }
    }
}
