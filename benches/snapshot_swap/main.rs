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

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rustix::time::ClockId;

use cells::{UNIT, WAYS, Way, alone};
use measure::{Reads, nanoseconds, reads_under_swaps, until_all_see};
use stats::Spread;

/// Partitions in the snapshot.
const PARTITIONS: [i32; 3] = [10, 1_000, 100_000];
const READERS: [usize; 4] = [1, 2, 4, 8];
const SWAPS_PER_SECOND: [u32; 3] = [0, 10, 10_000];

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

/// One measurement, as a row of the file.
#[derive(serde::Serialize)]
struct Row {
    what: &'static str,
    way: &'static str,
    partitions: i32,
    readers: usize,
    swaps_per_second: u32,
    round: u32,
    /// `reads`: CPU time per read; others: the figure's own time.
    cpu_ns: Option<f64>,
    wall_ns: f64,
    /// Of that kind: reads, swaps, drops.
    count: u64,
    swaps: u64,
    swap_ns: Option<f64>,
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
        let mut writer = csv::Writer::from_path(folder.join("snapshot_swap.csv")).unwrap();
        rows.iter().for_each(|row| writer.serialize(row).unwrap());
        writer.flush().unwrap();
    }
}

fn measure_all(ways: &[&Way], plan: &Plan, partitions: i32, round: u32, rows: &mut Vec<Row>) {
    let first = Arc::new(support::cluster::snapshot(partitions, 1));
    let pool: Vec<_> = (2..2 + POOL).map(|version| Arc::new(support::cluster::again(&first, version))).collect();
    let unit = reads_under_swaps(alone(Arc::clone(&first)), &pool, 0, plan.length);
    rows.push(Row::reads(Case { way: UNIT, partitions, readers: 1, swaps_per_second: 0, round }, unit));
    for way in ways {
        for readers in READERS {
            for swaps_per_second in SWAPS_PER_SECOND {
                let reads = reads_under_swaps((way.make)(Arc::clone(&first), readers), &pool, swaps_per_second, plan.length);
                rows.push(Row::reads(Case { way: way.name, partitions, readers, swaps_per_second, round }, reads));
            }
            for delay_ns in until_all_see((way.make)(Arc::clone(&first), readers), &first, plan.sights) {
                let case = Case { way: way.name, partitions, readers, swaps_per_second: 0, round };
                rows.push(Row::once("seen_by_all", case, delay_ns));
            }
        }
    }
    drop(pool);
    let begin = nanoseconds(ClockId::Monotonic);
    drop(Arc::into_inner(first));
    let took_ns = nanoseconds(ClockId::Monotonic) - begin;
    rows.push(Row::once("drop", Case { way: "snapshot", partitions, readers: 1, swaps_per_second: 0, round }, took_ns));
}

impl Row {
    fn reads(case: Case, reads: Reads) -> Self {
        let per = |sum: u64, count: u64| sum as f64 / count as f64;
        let swap_ns = (reads.swaps > 0).then(|| per(reads.swap_ns, reads.swaps));
        let (cpu_ns, wall_ns) = (per(reads.cpu_ns, reads.reads), per(reads.wall_ns, reads.reads));
        Self { cpu_ns: Some(cpu_ns), count: reads.reads, swaps: reads.swaps, swap_ns, ..Self::new("reads", case, wall_ns) }
    }

    fn once(what: &'static str, case: Case, took_ns: u64) -> Self {
        Self::new(what, case, took_ns as f64)
    }

    fn new(what: &'static str, case: Case, wall_ns: f64) -> Self {
        let Case { way, partitions, readers, swaps_per_second, round } = case;
        Self { what, way, partitions, readers, swaps_per_second, round, cpu_ns: None, wall_ns, count: 1, swaps: 0, swap_ns: None }
    }
}

/// Medians over the rounds, one line per measurement.
fn show(rows: &[Row]) {
    println!(
        "{:<12} {:<15} {:>10} {:>7} {:>8} {:>10} {:>12} {:>10}",
        "what", "way", "partitions", "readers", "swaps/s", "CPU ns", "wall ns", "swap ns"
    );
    let mut shown = std::collections::BTreeSet::new();
    for row in rows {
        let key = |row: &Row| (row.what, row.way, row.partitions, row.readers, row.swaps_per_second);
        if !shown.insert(key(row)) {
            continue;
        }
        let of = |figure: fn(&Row) -> Option<f64>| {
            Spread::of(rows.iter().filter(|other| key(other) == key(row)).filter_map(figure)).map(|spread| spread.median)
        };
        let text = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"));
        let (cpu, wall, swap) = (text(of(|row| row.cpu_ns)), text(of(|row| Some(row.wall_ns))), text(of(|row| row.swap_ns)));
        println!(
            "{:<12} {:<15} {:>10} {:>7} {:>8} {cpu:>10} {wall:>12} {swap:>10}",
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
