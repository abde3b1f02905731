//! The page of `results/max-age/` and its two curves.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use super::{CONTROLS, Claim, age, claims_table, hold_to, rate, seconds};
use crate::curve::{Point, Series, Words, draw};
use crate::max_age::{GrowthRow, MaxAge, PauseRow, RequestRow, SEEN_SLACK_MS};
use crate::stats::Spread;
use crate::table;

const PAGE: &str = "README.md";
const GROWTH: &str = "growth.svg";
const PAUSE: &str = "pause.svg";
/// The comparisons' own pages.
pub(crate) const GROWTH_COMPARED: &str = "growth.html";
pub(crate) const PAUSE_COMPARED: &str = "pause.html";
const COST: &str = "Metadata requests per second of 1,000 such clients";

/// Writes the page and its pictures.
///
/// # Errors
/// A file cannot be written, or a claim does not hold.
pub(crate) fn write(all: &MaxAge, out: &Path) -> anyhow::Result<()> {
    let (growth, pause) = (growth_series(&all.growth), pause_series(&all.pause));
    let picture = |title, description, y, series: &[Series]| draw(Words { title, description, x: COST, y }, series);
    let seen = "time until a producer sees new partitions: point half of them, stroke the last one";
    let waited = "outage of a producer's partition: point half of them, stroke the longest";
    if let Some(svg) = picture("A topic grows: what seeing it sooner costs", seen, "seconds until it is seen", &growth) {
        table::write_text(&out.join(GROWTH), &svg)?;
    }
    if let Some(svg) = picture("A leader freezes: what waiting less costs", waited, "seconds of outage", &pause) {
        table::write_text(&out.join(PAUSE), &svg)?;
    }
    let claims = claims(all);
    table::write_text(&out.join(PAGE), &text(all, &claims))?;
    hold_to(&claims)
}

fn by<Row, Key: Ord>(rows: &[Row], key: impl Fn(&Row) -> Key) -> BTreeMap<Key, Vec<&Row>> {
    let mut by: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
    rows.iter().for_each(|row| by.entry(key(row)).or_default().push(row));
    by
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds stay far below 2^53")]
fn spread<Row>(rows: &[&Row], value: impl Fn(&Row) -> i64) -> Spread {
    Spread::of(rows.iter().map(|row| value(row) as f64)).unwrap_or(Spread { min: 0.0, median: 0.0, max: 0.0, count: 0 })
}

fn cost<Row>(rows: &[&Row], value: impl Fn(&Row) -> f64) -> f64 {
    Spread::of(rows.iter().map(|row| value(row))).map_or(0.0, |spread| spread.median)
}

fn growth_series(rows: &[GrowthRow]) -> Vec<Series> {
    let point = |(age_ms, rows): (u64, Vec<&GrowthRow>)| Point {
        label: age(age_ms),
        x: cost(&rows, |row| row.requests_per_second_per_1000_clients),
        median: spread(&rows, |row| row.seen_median_ms).median / 1000.0,
        max: spread(&rows, |row| row.seen_max_ms).max / 1000.0,
    };
    vec![Series { name: "seen by half, by all".to_owned(), points: by(rows, |row| row.age_ms).into_iter().map(point).collect() }]
}

fn pause_series(rows: &[PauseRow]) -> Vec<Series> {
    let point = |(age_ms, rows): (u64, Vec<&PauseRow>)| Point {
        label: age(age_ms),
        x: cost(&rows, |row| row.requests_per_second_per_1000_clients),
        median: spread(&rows, |row| row.outage_median_ms).median / 1000.0,
        max: spread(&rows, |row| row.outage_max_ms).max / 1000.0,
    };
    let of_group = |(number, (group, rows)): (usize, (String, Vec<&PauseRow>))| {
        let rows: Vec<PauseRow> = rows.into_iter().cloned().collect();
        let mut points: Vec<Point> = by(&rows, |row| row.age_ms).into_iter().map(point).collect();
        if number > 0 {
            // Groups of one age stand close together: one label is enough for them.
            points.iter_mut().for_each(|point| point.label.clear());
        }
        Series { name: group, points }
    };
    by(rows, |row| row.group.clone()).into_iter().enumerate().map(of_group).collect()
}

fn claims(all: &MaxAge) -> Vec<Claim> {
    let over = |row: &GrowthRow| row.seen_max_ms - i64::try_from(row.age_ms).unwrap_or(i64::MAX);
    let is_seen = |row: &&GrowthRow| row.never == 0 && row.seen_max_ms <= row.bound_ms;
    let latest = all.growth.iter().max_by_key(|row| over(row));
    let undisturbed = || all.requests.iter().filter(|row| !row.is_disturbed);
    let astray: usize = undisturbed().map(|row| row.astray).sum();
    let producers: usize = undisturbed().map(|row| row.producers).sum();
    vec![
        Claim {
            text: format!("a topic's growth is seen by every producer within its age and {SEEN_SLACK_MS} ms (runs)"),
            holds: all.growth.iter().filter(is_seen).count(),
            of: all.growth.len(),
            worst: latest.map_or_else(String::new, |row| {
                let side = if over(row) < 0 { "before" } else { "after" };
                format!("{} ms {side} the age of {} was over", over(row).abs(), age(row.age_ms))
            }),
        },
        pause_claim(
            "a frozen leader costs no partition more than the age and `request.timeout.ms` (runs and groups with a leader frozen for longer)",
            all.pause.iter().filter(|row| row.tries_bound()),
            |row| row.bound_ms,
        ),
        pause_claim(
            "a leader that freezes for a shorter time than that is back after every partition goes on without it (other runs and groups)",
            all.pause.iter().filter(|row| !row.tries_bound()),
            |row| row.frozen_ms,
        ),
        Claim {
            text: "where nothing freezes, requests for age = whole ages in the producer's life, one more or less (producers)".to_owned(),
            holds: producers - astray,
            of: producers,
            worst: if astray == 0 { "none is astray".to_owned() } else { format!("{astray} are astray") },
        },
    ]
}

/// No outage in these rows is longer than that.
fn pause_claim<'r>(text: &str, rows: impl Iterator<Item = &'r PauseRow>, most_ms: fn(&PauseRow) -> i64) -> Claim {
    let rows: Vec<&PauseRow> = rows.collect();
    let worst = rows.iter().min_by_key(|row| most_ms(row) - row.outage_max_ms);
    Claim {
        text: text.to_owned(),
        holds: rows.iter().filter(|row| row.never == 0 && row.outage_max_ms <= most_ms(row)).count(),
        of: rows.len(),
        worst: worst.map_or_else(String::new, |row| {
            let (outage, most) = (seconds_of(row.outage_max_ms), seconds_of(most_ms(row)));
            format!("{outage} of {most} (`{}`, {})", row.group, age(row.age_ms))
        }),
    }
}

#[allow(clippy::cast_precision_loss, reason = "milliseconds stay far below 2^53")]
fn seconds_of(ms: i64) -> String {
    seconds(ms as f64)
}

const HEAD: &str = "\
# What `metadata.max.age.ms` decides, and what it costs

Real runs, each age several times, in a shuffled order. Made by

```console
$ make results
```

from `plans/max-age-growth.toml` and `plans/max-age-pause.toml` with `chaos compare`. The producers of a run start one after the other over one
age, so their refreshes are spread evenly, as in a fleet that has lived for a while. What to choose, and why, is in
[docs/choosing-max-age.md](../../docs/choosing-max-age.md).
";

fn text(all: &MaxAge, claims: &[Claim]) -> String {
    let mut text = HEAD.to_owned();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "\n## A topic grows\n\n![Seconds until new partitions are seen, against Metadata requests per second]({GROWTH})\n\n{}",
        growth_table(&all.growth)
    );
    let _ = write!(
        text,
        "\n## A leader freezes\n\n![Seconds of outage, against Metadata requests per second]({PAUSE})\n\n{}",
        pause_table(&all.pause)
    );
    let _ = write!(text, "\n## Held against every run\n\n{}", claims_table(claims));
    let _ = write!(text, "\n## Requests for age\n\n{}", request_table(&all.requests));
    let _ = write!(
        text,
        "\n{}.\n\n{CONTROLS}\n\nEach run is a row of `growth.csv` or `pause.csv` (one per group), its requests of `requests.csv`. What \
may be said of the differences, for all figures, is on the comparisons' own pages: [{GROWTH_COMPARED}]({GROWTH_COMPARED}) and \
[{PAUSE_COMPARED}]({PAUSE_COMPARED}) (one file each; open them in a browser).\n",
        all.about
    );
    text
}

fn growth_table(rows: &[GrowthRow]) -> String {
    let mut text =
        "| age | runs | producers | seen by half | seen by all | requests/s of 1,000 clients |\n|---|---|---|---|---|---|\n".to_owned();
    for (age_ms, rows) in by(rows, |row| row.age_ms) {
        let (half, all) = (spread(&rows, |row| row.seen_median_ms), spread(&rows, |row| row.seen_max_ms));
        let producers: u64 = rows.iter().map(|row| row.producers).sum();
        let _ = writeln!(
            text,
            "| {} | {} | {producers} | {} ({} to {}) | {} ({} to {}) | {} |",
            age(age_ms),
            rows.len(),
            seconds(half.median),
            seconds(half.min),
            seconds(half.max),
            seconds(all.median),
            seconds(all.min),
            seconds(all.max),
            rate(cost(&rows, |row| row.requests_per_second_per_1000_clients))
        );
    }
    text
}

fn pause_table(rows: &[PauseRow]) -> String {
    let mut text =
        "| producers | age | runs | median outage | longest outage | requests/s of 1,000 clients |\n|---|---|---|---|---|---|\n".to_owned();
    for ((group, age_ms), rows) in by(rows, |row| (row.group.clone(), row.age_ms)) {
        let (half, longest) = (spread(&rows, |row| row.outage_median_ms), spread(&rows, |row| row.outage_max_ms));
        let _ = writeln!(
            text,
            "| {group} | {} | {} | {} ({} to {}) | {} ({} to {}) | {} |",
            age(age_ms),
            rows.len(),
            seconds(half.median),
            seconds(half.min),
            seconds(half.max),
            seconds(longest.median),
            seconds(longest.min),
            seconds(longest.max),
            rate(cost(&rows, |row| row.requests_per_second_per_1000_clients))
        );
    }
    text
}

fn request_table(rows: &[RequestRow]) -> String {
    let mut text = "| plan | age | producers | life | requests for age |\n|---|---|---|---|---|\n".to_owned();
    for ((plan, age_ms), rows) in by(rows, |row| (row.plan.clone(), row.age_ms)) {
        let producers: usize = rows.iter().map(|row| row.producers).sum();
        let least = |value: fn(&RequestRow) -> u64| rows.iter().map(|row| value(row)).min().unwrap_or(0);
        let most = |value: fn(&RequestRow) -> u64| rows.iter().map(|row| value(row)).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "| {plan} | {} | {producers} | {} to {} s | {} to {} |",
            age(age_ms),
            least(|row| row.life_min_ms) / 1000,
            most(|row| row.life_max_ms) / 1000,
            least(|row| row.by_age_min),
            most(|row| row.by_age_max)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(age_ms: u64, seen_max_ms: i64) -> GrowthRow {
        GrowthRow {
            run: "001".to_owned(),
            age_ms,
            verdict: "PASS",
            producers: 30,
            never: 0,
            seen_min_ms: 40,
            seen_median_ms: seen_max_ms / 2,
            seen_max_ms,
            bound_ms: i64::try_from(age_ms).unwrap() + SEEN_SLACK_MS,
            requests_per_second_per_1000_clients: 1e6 / age_ms as f64,
        }
    }

    fn pause(group: &str, age_ms: u64, outage_max_ms: i64) -> PauseRow {
        PauseRow {
            run: "002".to_owned(),
            age_ms,
            verdict: "PASS",
            group: group.to_owned(),
            pairs: 60,
            stalled: 60,
            never: 0,
            outage_median_ms: 9_100,
            outage_p99_ms: outage_max_ms,
            outage_max_ms,
            bound_ms: i64::try_from(age_ms).unwrap() + 30_000,
            frozen_ms: 40_000,
            requests_per_second_per_1000_clients: 500.0,
        }
    }

    fn requests(is_disturbed: bool, astray: usize) -> RequestRow {
        RequestRow {
            plan: "max-age-growth".to_owned(),
            is_disturbed,
            run: "001".to_owned(),
            group: "clients".to_owned(),
            age_ms: 2000,
            producers: 30,
            life_min_ms: 11_000,
            life_max_ms: 13_000,
            by_age_min: 5,
            by_age_max: 6,
            astray,
        }
    }

    fn all(growth: Vec<GrowthRow>, astray: usize) -> MaxAge {
        let pause = vec![pause("idempotent", 2_000, 30_100), pause("plain", 2_000, 12_000), pause("plain", 10_000, 39_000)];
        MaxAge { growth, pause, requests: vec![requests(false, astray), requests(true, 9)], about: "chaos 1, Kafka 2".to_owned() }
    }

    #[test]
    fn the_page_has_its_tables_and_pictures_and_is_held_to_its_claims() {
        let folder = tempfile::tempdir().unwrap();
        write(&all(vec![growth(2000, 2_100), growth(10_000, 9_900), growth(2000, 1_900)], 0), folder.path()).unwrap();
        let page = std::fs::read_to_string(folder.path().join(PAGE)).unwrap();
        for line in [
            "| 2 s | 2 | 60 | 1.0 s (0.95 s to 1.1 s) | 2.0 s (1.9 s to 2.1 s) | 500 |",
            "| idempotent | 2 s | 1 | 9.1 s (9.1 s to 9.1 s) | 30.1 s (30.1 s to 30.1 s) | 500 |",
            "| max-age-growth | 2 s | 60 | 11 to 13 s | 5 to 6 |",
            "(runs) | 3 of 3 | 100 ms after the age of 2 s was over |",
            "(producers) | 30 of 30 | none is astray |",
            "[growth.html](growth.html) and [pause.html](pause.html)",
            "are in no figure of this page",
            "frozen for longer) | 2 of 2 | 30.1 s of 32.0 s (`idempotent`, 2 s) |",
            "(other runs and groups) | 1 of 1 | 39.0 s of 40.0 s (`plain`, 10 s) |",
        ] {
            assert!(page.contains(line), "{line}\n{page}");
        }
        assert!(std::fs::read_to_string(folder.path().join(GROWTH)).unwrap().contains(">10 s</text>"));
        assert!(std::fs::read_to_string(folder.path().join(PAUSE)).unwrap().contains(">plain</text>"));
    }

    #[test]
    fn a_single_run_or_producer_astray_is_told_and_fails() {
        let stuck = |age_ms: u64, outage_max_ms: i64| {
            let mut all = all(vec![growth(2000, 2_250)], 0);
            all.pause.push(pause("plain", age_ms, outage_max_ms));
            all
        };
        for broken in [
            all(vec![growth(2000, 2_251)], 0),
            all(vec![growth(2000, 2_250)], 1),
            all(Vec::new(), 0),
            stuck(5_000, 35_001),
            stuck(10_000, 40_001),
        ] {
            let folder = tempfile::tempdir().unwrap();
            assert!(write(&broken, folder.path()).unwrap_err().to_string().starts_with("what the page claims does not hold: "));
            assert!(folder.path().join(PAGE).exists());
        }
    }
}
