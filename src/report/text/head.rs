//! The top and the bottom of the page: verdict, sentences, expectations; warnings, files.

use super::format::wrapped;
use super::table::{Table, Titled, WIDTH};
use super::{Page, Place, format};
use crate::analyze::findings::Findings;
use crate::record::fact::RunStarted;
use crate::report::html::REPORT;

pub(super) fn head(page: &mut Page, run: Option<&RunStarted>, findings: &Findings) {
    let style = page.style;
    let name = run.map_or("(unnamed run)", |run| run.plan.as_str());
    page.lines.push(format!("{}  {}", style.heading(name), style.verdict(findings.verdict)));
    for sentence in &findings.summary {
        page.lines.extend(wrapped(sentence, WIDTH));
    }
    for reason in &findings.reasons {
        let lines = wrapped(reason, WIDTH - 4);
        page.lines.extend(lines.iter().enumerate().map(|(at, line)| {
            let mark = if at == 0 { "  - " } else { "    " };
            style.bad(&format!("{mark}{line}"))
        }));
    }
    if let Some(run) = run {
        let kafka = run.versions.get("kafka").map_or_else(String::new, |version| format!(", Kafka {version}"));
        let at = run.steady_at.get(..19).unwrap_or(&run.steady_at).replace('T', " ");
        page.lines.push(style.faint(&format!("{}, seed {}{kafka}, baseline from {at} UTC", run.plan_path, run.seed)));
    }
}

pub(super) fn expectations(page: &mut Page, findings: &Findings) {
    let mut table = Table::new(&["<", "<expected", "<measured"]);
    for expectation in &findings.expectations {
        let met = match expectation.met {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "unknown",
        };
        table.row([met.to_owned(), expectation.text.clone(), expectation.value_in_words.clone()]);
    }
    page.table(&Titled::new("Expectations", table));
}

/// The run's warnings, then those of its groups.
pub(crate) fn all_warnings(findings: &Findings) -> Vec<String> {
    let of_groups = findings.groups.iter().flat_map(|group| group.warnings.iter().map(move |warning| format!("{}: {warning}", group.name)));
    findings.warnings.iter().cloned().chain(of_groups).collect()
}

pub(super) fn warnings(page: &mut Page, findings: &Findings) {
    let warnings = all_warnings(findings);
    let style = page.style;
    let lines = warnings.iter().flat_map(|warning| {
        wrapped(warning, WIDTH - 4).into_iter().enumerate().map(move |(at, line)| {
            let mark = if at == 0 { "  - " } else { "    " };
            style.warning(&format!("{mark}{line}"))
        })
    });
    page.part("Warnings", lines.collect::<Vec<_>>());
}

pub(super) fn files(page: &mut Page, place: Option<Place<'_>>) {
    if let Some(Place { folder, has_page }) = place {
        let report = has_page.then(|| format!("  {} (open it in a browser)", folder.join(REPORT).display()));
        page.part("Files", [format!("  {}", folder.display())].into_iter().chain(report));
    }
}

/// Nothing, a dash.
pub(super) fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// A spread of milliseconds as `min / median / max`.
pub(super) fn three_ms(spread: Option<crate::analyze::Spread>) -> String {
    or_dash(spread.map(|s| {
        let [min, median, max] = [s.min, s.median, s.max].map(format::span_ms);
        if s.min == s.max { max } else { format!("{min} / {median} / {max}") }
    }))
}
