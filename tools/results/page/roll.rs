//! The page of `results/rolling-restart/`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::{CONTROLS, Claim, age, claims_table, hold_to, seconds};
use crate::roll::{Comparison, RollRow, by_age};
use crate::stats::Spread;
use crate::table;

const PAGE: &str = "README.md";
/// A request that a broken connection causes is sent, answered and taken in within this, on a busy machine.
const CLIENT_CACHE_MAX_MS: i64 = 1_000;

const HEAD: &str = "\
# A rolling restart under two ages

Does a short `metadata.max.age.ms` help when brokers are killed one after the other? It is not to be expected: a killed broker's connections break,
and that alone makes every client ask. What partitions wait for is the controller, which fences the dead broker after
`broker.session.timeout.ms`. What the runs show, and how small a difference they would have shown, is below. Made by

```console
$ make results
```

from `plans/rolling-restart.toml` with `chaos compare`, the runs of both ages in a shuffled order. All figures that were compared are in
[compare.csv](compare.csv) and [differences.csv](differences.csv), and with pictures in [compare.html](compare.html); [report.html](report.html) is
the report of a single run, the first of [runs.csv](runs.csv) (one file each; open them in a browser).

![The top of that report](report.png)

| age | runs | median outage of a pair | longest outage | records failed or unknown | Metadata requests |
|---|---|---|---|---|---|
";

/// Writes the page.
///
/// # Errors
/// It cannot be written, or a claim does not hold.
pub(crate) fn write(rows: &[RollRow], comparison: &Comparison, about: &str, out: &Path) -> anyhow::Result<()> {
    let claims = claims(rows, comparison);
    let mut text = HEAD.to_owned();
    for (age_ms, rows) in by_age(rows) {
        let failed: u64 = rows.iter().map(|row| row.failed_or_unknown).sum();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {failed} | {} |",
            age(age_ms),
            rows.len(),
            range(&rows, |row| row.outage_median_ms),
            range(&rows, |row| row.outage_max_ms),
            counts(&rows)
        );
    }
    let _ = write!(
        text,
        "\nA *pair* is a producer and a partition in one round; of each its longest outage counts here. `outage.median` below is over all outages \
there were.\n\n## What may be said\n\n"
    );
    for sentence in &comparison.summary {
        let _ = writeln!(text, "- {sentence}");
    }
    let _ = write!(text, "\n## Why\n\n{}", charges(rows));
    let _ = write!(text, "\n## Held against every run\n\n{}\n{about}.\n\n{CONTROLS}\n", claims_table(&claims));
    table::write_text(&out.join(PAGE), &text)?;
    hold_to(&claims)
}

/// How often what was judged: `no-difference-shown: 7, same-in-every-run: 2`.
fn in_words(judgements: &[&str]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    judgements.iter().for_each(|is| *counts.entry(is).or_default() += 1);
    counts.iter().map(|(is, count)| format!("{is}: {count}")).collect::<Vec<_>>().join(", ")
}

/// What of the longest waits is charged to which layer.
fn charges(rows: &[RollRow]) -> String {
    let mut text = "\
The age can shorten only the time until a client's cache shows the new leader. Of the longest wait after each kill, by the layers that it is
charged to:

| age | kills | wait, on average | of it `detected`: the controller has not noticed | `client cache`, the most of any kill |
|---|---|---|---|---|
"
    .to_owned();
    for (age_ms, rows) in by_age(rows) {
        let sum = |value: fn(&RollRow) -> i64| rows.iter().map(|row| value(row)).sum::<i64>();
        let kills = rows.iter().map(|row| row.kills).sum::<usize>();
        let (waited_ms, detected_ms) = (sum(|row| row.waited_ms), sum(|row| row.detected_ms));
        let most_ms = rows.iter().map(|row| row.client_cache_max_ms).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "| {} | {kills} | {} | {} % | {most_ms} ms |",
            age(age_ms),
            seconds_of(rounded(waited_ms, i64::try_from(kills).unwrap_or(i64::MAX))),
            rounded(100 * detected_ms, waited_ms)
        );
    }
    text
}

/// A quotient of what is not negative; of nothing, 0.
fn rounded(sum: i64, count: i64) -> i64 {
    (sum + count / 2) / count.max(1)
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds stay far below 2^53")]
fn seconds_of(ms: i64) -> String {
    seconds(ms as f64)
}

fn claims(rows: &[RollRow], comparison: &Comparison) -> Vec<Claim> {
    let lost: u64 = rows.iter().map(|row| row.failed_or_unknown).sum();
    let of_outage = |metric: &str| {
        let differences = comparison.figures.iter().filter(|figure| figure.is_of(metric)).flat_map(|figure| &figure.differences);
        differences.map(|difference| difference.judgement.is.as_str()).collect::<Vec<_>>()
    };
    let outages: Vec<&str> = ["outage.max", "outage.median"].into_iter().flat_map(of_outage).collect();
    vec![
        Claim {
            text: "no record fails, and of none it is unknown what became of it (runs)".to_owned(),
            holds: rows.iter().filter(|row| row.failed_or_unknown == 0).count(),
            of: rows.len(),
            worst: format!("{lost} failed or unknown"),
        },
        Claim {
            text: "no difference in outage is shown between the ages (figures)".to_owned(),
            holds: outages.iter().filter(|is| matches!(**is, "no-difference-shown" | "same-in-every-run")).count(),
            of: outages.len(),
            worst: in_words(&outages),
        },
        Claim {
            text: format!("of the longest wait after a kill at most {CLIENT_CACHE_MAX_MS} ms are for a client's cache (runs)"),
            holds: rows.iter().filter(|row| row.kills > 0 && row.client_cache_max_ms <= CLIENT_CACHE_MAX_MS).count(),
            of: rows.len(),
            worst: format!("{} ms", rows.iter().map(|row| row.client_cache_max_ms).max().unwrap_or(0)),
        },
    ]
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds stay far below 2^53")]
fn range(rows: &[&RollRow], value: impl Fn(&RollRow) -> i64) -> String {
    let spread = Spread::of(rows.iter().map(|row| value(row) as f64));
    spread.map_or_else(String::new, |spread| format!("{} ({} to {})", seconds(spread.median), seconds(spread.min), seconds(spread.max)))
}

#[allow(clippy::cast_precision_loss, reason = "counts of requests stay far below 2^53")]
fn counts(rows: &[&RollRow]) -> String {
    let spread = Spread::of(rows.iter().map(|row| row.metadata_requests as f64));
    spread.map_or_else(String::new, |spread| format!("{:.0} ({:.0} to {:.0})", spread.median, spread.min, spread.max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(age_ms: u64, outage_max_ms: i64, failed: u64) -> RollRow {
        RollRow {
            run: "001".to_owned(),
            age_ms,
            verdict: "PASS",
            stalled: 900,
            outage_median_ms: 8_800,
            outage_max_ms,
            failed_or_unknown: failed,
            metadata_requests: 900,
            kills: 3,
            waited_ms: 30_000,
            detected_ms: 27_300,
            client_cache_max_ms: 36,
        }
    }

    fn comparison(is: &str) -> Comparison {
        let figure = |metric: &str| format!(r#"{{"name":{{"metric":"{metric}"}},"differences":[{{"judgement":{{"is":"{is}"}}}}]}}"#);
        let text = format!(r#"{{"summary":["No difference."],"figures":[{},{}]}}"#, figure("outage.max"), figure("records.ok"));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_page_says_what_the_comparison_says() {
        let folder = tempfile::tempdir().unwrap();
        write(&[row(5_000, 12_600, 0), row(600_000, 12_400, 0)], &comparison("no-difference-shown"), "chaos 1", folder.path()).unwrap();
        let page = std::fs::read_to_string(folder.path().join(PAGE)).unwrap();
        for line in [
            "| 600 s | 1 | 8.8 s (8.8 s to 8.8 s) | 12.4 s (12.4 s to 12.4 s) | 0 | 900 (900 to 900) |",
            "- No difference.",
            "| 5 s | 3 | 10.0 s | 91 % | 36 ms |",
            "[compare.html](compare.html)",
            "are in no figure of this page",
            "| 1 of 1 | no-difference-shown: 1 |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
    }

    #[test]
    fn an_outage_under_another_name_is_one() {
        let text = r#"{"summary":[],"figures":[{"name":{"metric":"outage.max"},"also":[{"metric":"outage.median"}],"differences":[{"judgement":{"is":"difference"}}]}]}"#;
        let comparison = serde_json::from_str(text).unwrap();
        let claims = claims(&[row(5_000, 12_600, 0)], &comparison);
        assert_eq!((claims[1].holds, claims[1].of), (0, 2));
    }

    #[test]
    fn a_difference_or_a_lost_record_fails() {
        for (lost, is) in [(0, "difference"), (0, "too-few-runs"), (1, "no-difference-shown")] {
            let folder = tempfile::tempdir().unwrap();
            assert!(write(&[row(5_000, 12_600, lost)], &comparison(is), "chaos 1", folder.path()).is_err(), "{lost} {is}");
        }
        let folder = tempfile::tempdir().unwrap();
        let slow = RollRow { client_cache_max_ms: CLIENT_CACHE_MAX_MS + 1, ..row(5_000, 12_600, 0) };
        let error = write(&[slow], &comparison("no-difference-shown"), "chaos 1", folder.path()).unwrap_err().to_string();
        assert!(error.contains("for a client's cache (runs) (0 of 1; 1001 ms)"), "{error}");
    }
}
