//! A run of a comparison in one line: its verdict and the figures that are looked at first. Pure.

use crate::analyze::findings::{Findings, Verdict};
use crate::digits::grouped;
use crate::ui::colour::Tone;

/// The line, and its tone.
pub(super) fn run_line(findings: &Findings) -> (Tone, String) {
    let tone = match findings.verdict {
        Verdict::Pass => Tone::Good,
        Verdict::Fail | Verdict::Hang => Tone::Bad,
        Verdict::Unknown | Verdict::Interrupted => Tone::Warning,
    };
    let mut parts = vec![findings.verdict.word().to_owned()];
    parts.extend(findings.reasons.first().cloned());
    let outages = findings.steps.iter().filter(|step| !step.has_parts).flat_map(|step| &step.outages);
    let longest_ms = outages.filter_map(|outages| Some(outages.outage_ms?.max)).max();
    parts.extend(longest_ms.map(|ms| format!("longest outage {}", seconds(ms))));
    let totals = &findings.totals;
    let not_ok = totals.failed + totals.indeterminate;
    parts.push(format!("{} of {} records failed or unknown", grouped(not_ok), grouped(totals.due)));
    (tone, parts.join("; "))
}

fn seconds(ms: i64) -> String {
    format!("{}.{} s", ms / 1000, ms % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyze::Analysis;
    use crate::record::sample::{Pair, Sample};

    #[test]
    fn a_run_is_told_by_its_verdict_its_longest_outage_and_its_records() {
        let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 2).load("steady", -2, 20).step(1, "kill", "2", 10_000).gap(
            Pair("steady", 0, 0),
            10_000,
            Some(19_000),
        );
        let mut analysis = Analysis::new();
        stream.end(20_000).facts.iter().for_each(|fact| analysis.fold(fact));
        let (tone, line) = run_line(&analysis.finish());
        assert_eq!(tone, Tone::Good);
        assert!(line.starts_with("PASS; longest outage 9.0 s; 0 of "), "{line}");
        let (tone, line) = run_line(&Analysis::new().finish());
        assert_eq!(tone, Tone::Warning);
        assert!(line.starts_with("INTERRUPTED; "), "{line}");
    }
}
