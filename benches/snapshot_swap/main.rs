//! How readers get at the current snapshot, and what a swap of it costs: this project's cell against other ways.
//!
//! Not with criterion: what counts is the work of several threads together. A read's CPU time is its readers' CPU time by their reads, its wall
//! time each reader's own time by its reads; with more readers than cores only the first says what a read costs. Each round measures everything
//! once, and one undisturbed `arc-swap` load as the unit; the table shows medians.
//!
//! `cargo bench --bench snapshot_swap -- --out DIR` also writes `snapshot_swap.csv`; `--test` only sees that all works. Other words filter by name.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, reason = "a benchmark may panic, and prints its result")]

mod cells;
mod measure;
#[path = "../../tools/stats.rs"]
#[allow(dead_code, unused_imports, reason = "shared with the tools, which also show ranges and test it")]
mod stats;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../tools/swap_rows.rs"]
#[allow(dead_code, reason = "shared with the page of results, which also judges the rows")]
mod swap_rows;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cells::{WAYS, Way, alone};
use measure::{Reads, drop_of_the_last_holder, reads_under_swaps, until_all_see};
use stats::Spread;
use swap_rows::{DROP, MOST_SWAPS_PER_SECOND, OURS, READERS, READS, Row, SEEN, UNIT};

/// Partitions in the snapshot.
const PARTITIONS: [i32; 3] = [10, 1_000, 100_000];
const SWAPS_PER_SECOND: [u32; 3] = [0, 10, MOST_SWAPS_PER_SECOND];

/// Snapshots that the writer publishes in turn; they share their topics, as consecutive snapshots of a client do.
const POOL: u64 = 16;

/// How much is done.
struct Plan {
    partitions: &'static [i32],
    rounds: u32,
    length: Duration,
    sights: u32,
}

const FULL: Plan = Plan { partitions: &PARTITIONS, rounds: 5, length: Duration::from_millis(100), sights: 20 };
const TEST: Plan = Plan { partitions: &[10], rounds: 1, length: Duration::from_millis(2), sights: 2 };

/// What is measured.
#[derive(Clone, Copy)]
struct Case {
    way: &'static str,
    partitions: i32,
    readers: usize,
    swaps_per_second: u32,
    round: u32,
}

fn main() {
    let options = Options::read(std::env::args().skip(1));
    let plan = if options.test { &TEST } else { &FULL };
    let ways: Vec<&Way> = WAYS.iter().filter(|way| options.takes(way.name)).collect();
    if ways.is_empty() {
        return;
    }
    let mut rows = Vec::new();
    for round in 1..=plan.rounds {
        for partitions in plan.partitions {
            measure_all(&ways, plan, *partitions, round, &mut rows);
        }
    }
    show(&rows);
    if let Some(folder) = options.out {
        std::fs::create_dir_all(&folder).unwrap();
        let mut writer = csv::Writer::from_path(folder.join(swap_rows::FILE)).unwrap();
        rows.iter().for_each(|row| writer.serialize(row).unwrap());
        writer.flush().unwrap();
    }
}

fn measure_all(ways: &[&Way], plan: &Plan, partitions: i32, round: u32, rows: &mut Vec<Row>) {
    let first = Arc::new(support::cluster::snapshot(partitions, 1));
    let pool: Vec<_> = (2..2 + POOL).map(|version| Arc::new(support::cluster::again(&first, version))).collect();
    let unit = reads_under_swaps(alone(Arc::clone(&first)), &pool, 0, plan.length);
    rows.push(reads_row(Case { way: UNIT, partitions, readers: 1, swaps_per_second: 0, round }, unit));
    for way in ways {
        for readers in READERS {
            for swaps_per_second in SWAPS_PER_SECOND {
                let reads = reads_under_swaps((way.make)(Arc::clone(&first), readers), &pool, swaps_per_second, plan.length);
                rows.push(reads_row(Case { way: way.name, partitions, readers, swaps_per_second, round }, reads));
            }
            for delay_ns in until_all_see((way.make)(Arc::clone(&first), readers), &first, plan.sights) {
                let case = Case { way: way.name, partitions, readers, swaps_per_second: 0, round };
                rows.push(row(SEEN, case, delay_ns as f64));
            }
        }
    }
    let next = Arc::new(support::cluster::snapshot(1, 2));
    let took_ns = drop_of_the_last_holder(support::cluster::snapshot(partitions, 1), next);
    rows.push(row(DROP, Case { way: OURS, partitions, readers: 1, swaps_per_second: 0, round }, took_ns as f64));
}

fn reads_row(case: Case, reads: Reads) -> Row {
    let per = |sum: u64, count: u64| sum as f64 / count as f64;
    Row {
        cpu_ns: Some(per(reads.cpu_ns, reads.reads)),
        count: reads.reads,
        swaps: reads.swaps,
        swaps_per_second_made: Some(per(reads.swaps, reads.length_ns) * 1e9),
        swap_ns: (reads.swaps > 0).then(|| per(reads.swap_ns, reads.swaps)),
        ..row(READS, case, per(reads.wall_ns, reads.reads))
    }
}

fn row(what: &str, case: Case, wall_ns: f64) -> Row {
    let Case { way, partitions, readers, swaps_per_second, round } = case;
    Row {
        what: what.to_owned(),
        way: way.to_owned(),
        partitions,
        readers,
        swaps_per_second,
        round,
        cpu_ns: None,
        wall_ns,
        count: 1,
        swaps: 0,
        swaps_per_second_made: None,
        swap_ns: None,
    }
}

/// Medians over the rounds, one line per measurement.
fn show(rows: &[Row]) {
    println!(
        "{:<12} {:<15} {:>10} {:>7} {:>8} {:>8} {:>10} {:>12} {:>10}",
        "what", "way", "partitions", "readers", "swaps/s", "made", "CPU ns", "wall ns", "swap ns"
    );
    let key = |row: &Row| (row.what.clone(), row.way.clone(), row.partitions, row.readers, row.swaps_per_second);
    let mut shown = std::collections::BTreeSet::new();
    for row in rows {
        if !shown.insert(key(row)) {
            continue;
        }
        let of = |figure: fn(&Row) -> Option<f64>| {
            Spread::of(rows.iter().filter(|other| key(other) == key(row)).filter_map(figure)).map(|spread| spread.median)
        };
        let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        let (cpu, wall, swap) = (text(of(|row| row.cpu_ns)), text(of(|row| Some(row.wall_ns))), text(of(|row| row.swap_ns)));
        let made = of(|row| row.swaps_per_second_made).map_or_else(|| "-".to_owned(), |made| format!("{made:.0}"));
        println!(
            "{:<12} {:<15} {:>10} {:>7} {:>8} {made:>8} {cpu:>10} {wall:>12} {swap:>10}",
            row.what, row.way, row.partitions, row.readers, row.swaps_per_second
        );
    }
}

/// What `cargo bench -- ...` asks for. Cargo hands all benchmarks the same words, so those of criterion are passed over.
#[derive(Default)]
struct Options {
    test: bool,
    out: Option<PathBuf>,
    filters: Vec<String>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Self {
        // As criterion does: without `--bench`, which `cargo bench` gives, it is a test.
        let mut options = Self { test: true, ..Self::default() };
        let mut is_test_asked = false;
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => options.test = false,
                "--test" => is_test_asked = true,
                "--out" => options.out = Some(PathBuf::from(words.next().expect("--out DIR"))),
                other if other.starts_with('-') => eprintln!("snapshot_swap: {other} has no meaning here"),
                _ => options.filters.push(word),
            }
        }
        options.test |= is_test_asked;
        options
    }

    fn takes(&self, way: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| format!("snapshot_swap/{way}").contains(filter.as_str()))
    }
}
