//! The snapshot that all senders read: this project's cell against other ways.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kafka_chaos::digits::grouped;
use serde::Deserialize;

use crate::page::bars::{Bar, Limit};
use crate::page::micro::time;
use crate::page::{Section, rows, table, three_digits};
use crate::stats::Spread;
use crate::svg;

const FILE: &str = "snapshot_swap.csv";
const PICTURE: &str = "snapshot.svg";
const OURS: &str = "snapshot_cell";
const RW_LOCK: &str = "rwlock_arc";
const UNIT: &str = "arc_swap_alone";
/// What the tables show; the file has all.
const SHOWN: (u32, u32) = (1_000, 10_000);

/// A row of the file: see the benchmark of that name.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    what: String,
    way: String,
    partitions: u32,
    readers: usize,
    swaps_per_second: u32,
    round: u32,
    cpu_ns: Option<f64>,
    wall_ns: f64,
    swap_ns: Option<f64>,
}

/// The section, with its picture beside it.
pub(super) fn section(folder: &Path) -> anyhow::Result<Section> {
    let measured = rows::<Row>(folder, FILE)?.unwrap_or_default();
    let mut text = String::from("## Reading the snapshot while it is swapped\n\n");
    if measured.is_empty() {
        text.push_str("Not measured.\n\n");
        return Ok(Section { text, bars: bars(&measured) });
    }
    fs::write(folder.join(PICTURE), picture(&measured))?;
    let unit = Spread::of(measured.iter().filter(|row| row.way == UNIT).filter_map(|row| row.cpu_ns));
    text.push_str(&format!(
        "CPU time per read and wall time per read, {} partitions, {} swaps/s; one undisturbed `arc-swap` load takes {}.\n\n![CPU time per \
         read]({PICTURE})\n\n",
        grouped(SHOWN.0.into()),
        grouped(SHOWN.1.into()),
        unit.map_or_else(|| "unknown".to_owned(), |unit| time(unit.median))
    ));
    text.push_str(&reads_table(&measured));
    text.push_str(
        "`swap`: the writer's time for one swap with 8 readers. `seen`: until the slowest of 8 readers has read the new snapshot, which \
                   with more readers than cores is when the scheduler lets it (median / longest).\n\n",
    );
    text.push_str(&drop_table(&measured));
    Ok(Section { text, bars: bars(&measured) })
}

fn ways(measured: &[Row]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    measured
        .iter()
        .filter(|row| row.what == "reads" && row.way != UNIT && seen.insert(row.way.clone()))
        .map(|row| row.way.clone())
        .collect()
}

/// Rows of one kind and way, in the case that is shown.
fn shown<'a>(measured: &'a [Row], what: &'a str, way: &'a str, readers: usize) -> impl Iterator<Item = &'a Row> {
    let is_case = move |row: &&Row| row.what == "seen_by_all" || row.swaps_per_second == SHOWN.1;
    measured
        .iter()
        .filter(move |row| row.what == what && row.way == way && row.readers == readers && row.partitions == SHOWN.0)
        .filter(is_case)
}

fn reads_table(measured: &[Row]) -> String {
    let of_way = |way: &String| {
        let mut cells = vec![format!("`{way}`")];
        for readers in [1, 2, 4, 8] {
            let cpu = Spread::of(shown(measured, "reads", way, readers).filter_map(|row| row.cpu_ns));
            let wall = Spread::of(shown(measured, "reads", way, readers).map(|row| row.wall_ns));
            let text = |spread: Option<Spread>| spread.map_or_else(|| "unknown".to_owned(), |spread| time(spread.median));
            cells.push(format!("{} / {}", text(cpu), text(wall)));
        }
        let swap = Spread::of(shown(measured, "reads", way, 8).filter_map(|row| row.swap_ns));
        cells.push(swap.map_or_else(|| "unknown".to_owned(), |swap| time(swap.median)));
        let seen = Spread::of(shown(measured, "seen_by_all", way, 8).map(|row| row.wall_ns));
        cells.push(seen.map_or_else(|| "unknown".to_owned(), |seen| format!("{} / {}", time(seen.median), time(seen.max))));
        cells
    };
    let rows: Vec<_> = ways(measured).iter().map(of_way).collect();
    table(&["CPU / wall per read", "1 reader", "2 readers", "4 readers", "8 readers", "swap", "seen"], &rows)
}

fn drop_table(measured: &[Row]) -> String {
    let sizes: BTreeSet<u32> = measured.iter().filter(|row| row.what == "drop").map(|row| row.partitions).collect();
    let of_size = |partitions: &u32| {
        let drops = measured.iter().filter(|row| row.what == "drop" && row.partitions == *partitions).map(|row| row.wall_ns);
        vec![three_digits(f64::from(*partitions)), Spread::of(drops).map_or_else(|| "unknown".to_owned(), |drop| time(drop.median))]
    };
    let rows: Vec<_> = sizes.iter().map(of_size).collect();
    table(&["partitions of a snapshot whose last holder is a reader", "its drop takes that reader"], &rows)
}

fn bars(measured: &[Row]) -> Vec<Bar> {
    let cpu =
        worst(measured, |row| (row.way == OURS).then_some((UNIT, row.cpu_ns?)), |unit, row| unit.cpu_ns.map(|unit| row / unit), f64::max);
    let faster = worst(
        measured,
        |row| (row.way == OURS && row.readers == 8 && row.swaps_per_second == 10_000).then_some((RW_LOCK, row.wall_ns)),
        |other, row| (other.readers == 8 && other.swaps_per_second == 10_000).then_some(other.wall_ns / row),
        f64::min,
    );
    vec![
        Bar {
            what: "snapshot: CPU per read, of one undisturbed load, worst case".to_owned(),
            limit: Limit::AtMost(1.3),
            unit: "x",
            measured: cpu,
        },
        Bar {
            what: "snapshot: 8 readers, 10,000 swaps/s, faster than `RwLock<Arc>`, worst case".to_owned(),
            limit: Limit::AtLeast(10.0),
            unit: "x",
            measured: faster,
        },
    ]
}

/// Of each case the median over the rounds of a ratio to another way's row of the same round and size; of these the worst.
fn worst(
    measured: &[Row],
    ours: impl Fn(&Row) -> Option<(&'static str, f64)>,
    ratio: impl Fn(&Row, f64) -> Option<f64>,
    worse: fn(f64, f64) -> f64,
) -> Option<f64> {
    let mut cases: std::collections::BTreeMap<(u32, usize, u32), Vec<f64>> = std::collections::BTreeMap::new();
    for row in measured.iter().filter(|row| row.what == "reads") {
        let Some((other, figure)) = ours(row) else { continue };
        let same = |candidate: &&Row| {
            candidate.what == "reads" && candidate.way == other && candidate.round == row.round && candidate.partitions == row.partitions
        };
        let ratios = measured.iter().filter(same).filter_map(|candidate| ratio(candidate, figure));
        cases.entry((row.partitions, row.readers, row.swaps_per_second)).or_default().extend(ratios);
    }
    cases.into_values().filter_map(|ratios| Spread::of(ratios).map(|spread| spread.median)).reduce(worse)
}

fn picture(measured: &[Row]) -> String {
    let panel = |readers: usize| svg::Panel {
        title: format!(
            "CPU time per read, {readers} reader{}, {} swaps/s (logarithmic)",
            if readers == 1 { "" } else { "s" },
            grouped(SHOWN.1.into())
        ),
        bars: ways(measured)
            .into_iter()
            .filter_map(|way| {
                let spread = Spread::of(shown(measured, "reads", &way, readers).filter_map(|row| row.cpu_ns))?;
                Some(svg::Bar { is_ours: way == OURS, label: way, spread, text: time(spread.median) })
            })
            .collect(),
        is_logarithmic: true,
    };
    svg::draw("CPU time per read of the current snapshot", &[panel(1), panel(8)])
}
