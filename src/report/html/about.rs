//! What was run, and on what.

use maud::{Markup, html};

use super::Content;
use crate::digits::bytes;

/// Characters of the plan that are shown.
const PLAN_MAX: usize = 100_000;

/// The section.
pub(super) fn section(content: Content<'_>) -> Markup {
    let run = content.run;
    let machine = run.machine.iter().map(|(name, value)| (name.as_str(), machine_value(name, value)));
    let versions = run.versions.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let end = run.plan_text.char_indices().nth(PLAN_MAX).map(|(end, _)| end);
    let ended = content.findings.ended_ms.map_or_else(
        || "the run was cut off".to_owned(),
        |ms| {
            let (side, ms) = (if ms < 0 { "before" } else { "after" }, ms.unsigned_abs());
            format!("{}.{:03} s {side} the start of steady", ms / 1_000, ms % 1_000)
        },
    );
    html! {
        dl class="about" {
            dt { "run" } dd { (run.run_id) }
            dt { "plan" } dd { (run.plan_path) }
            dt { "SHA-256 of the plan" } dd { code { (run.plan_sha256) } }
            dt { "seed" } dd { (run.seed) }
            dt { "start of steady (time 0)" } dd { (run.steady_at) }
            dt { "end" } dd { (ended) }
            @for (name, value) in versions { dt { (name) } dd { (value) } }
            @for (name, value) in machine { dt { "machine: " (name) } dd { (value) } }
        }
        h3 { "The plan" }
        pre class="plan" { code { (run.plan_text[..end.unwrap_or(run.plan_text.len())]) } }
        @if end.is_some() { p class="note" { "The rest of the plan is in run.json." } }
    }
}

fn machine_value(name: &str, value: &str) -> String {
    match value.parse() {
        Ok(count) if name == "memory_bytes" => bytes(count),
        _ => value.to_owned(),
    }
}
