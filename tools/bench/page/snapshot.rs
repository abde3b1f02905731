//! The snapshot that all senders read: this project's cell against other ways.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kafka_chaos::digits::grouped;

use crate::bars;
use crate::page::bars::{Bar, Limit};
use crate::page::micro::time;
use crate::page::{Section, rows, table, three_digits};
use crate::stats::Spread;
use crate::swap_rows::{DROP, FILE, MOST_READERS, MOST_SWAPS_PER_SECOND, OURS, READERS, READS, RW_LOCK, Row, SEEN, UNIT};

const PICTURE: &str = "snapshot.svg";
/// Partitions in what is shown, which has the most swaps; the file has all.
const SHOWN_PARTITIONS: i32 = 1_000;

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
        "CPU time per read and wall time per read, {} partitions, {} swaps/s asked for; one undisturbed `arc-swap` load takes {}.\n\n![CPU time \
         per read]({PICTURE})\n\n",
        grouped(SHOWN_PARTITIONS.unsigned_abs().into()),
        grouped(MOST_SWAPS_PER_SECOND.into()),
        median(unit)
    ));
    text.push_str(&reads_table(&measured));
    text.push_str(&format!(
        "`swaps/s`, `swap`: swaps that were made, and the writer's time for one, with {MOST_READERS} readers. `seen`: until the slowest of \
         {MOST_READERS} readers has read the new snapshot, which with more readers than cores is when the scheduler lets it (median / longest). \
         An asterisk: fewer than nine in ten of the swaps asked for were made in each round, so its readers were disturbed less often; for the bars, a case of ours with one is not measured.\n\n"
    ));
    text.push_str(&drop_table(&measured));
    Ok(Section { text, bars: bars(&measured) })
}

fn ways(measured: &[Row]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    measured.iter().filter(|row| row.what == READS && row.way != UNIT && seen.insert(row.way.clone())).map(|row| row.way.clone()).collect()
}

/// Rows of one kind and way, in the case that is shown.
fn shown<'a>(measured: &'a [Row], what: &'a str, way: &'a str, readers: usize) -> impl Iterator<Item = &'a Row> {
    let is_case = move |row: &&Row| row.what == SEEN || row.swaps_per_second == MOST_SWAPS_PER_SECOND;
    measured
        .iter()
        .filter(move |row| row.what == what && row.way == way && row.readers == readers && row.partitions == SHOWN_PARTITIONS)
        .filter(is_case)
}

/// An asterisk for a case that had its swaps in no round.
fn mark(measured: &[Row], way: &str, readers: usize) -> &'static str {
    let has_any_its_swaps = shown(measured, READS, way, readers).map(Row::has_its_swaps).max();
    if has_any_its_swaps == Some(false) { " *" } else { "" }
}

fn median(of_times: Option<Spread>) -> String {
    of_times.map_or_else(|| "unknown".to_owned(), |spread| time(spread.median))
}

fn reads_table(measured: &[Row]) -> String {
    let of_way = |way: &String| {
        let reads = |readers| shown(measured, READS, way, readers);
        let mut cells = vec![format!("`{way}`")];
        for readers in READERS {
            let (cpu, wall) = (Spread::of(reads(readers).filter_map(|row| row.cpu_ns)), Spread::of(reads(readers).map(|row| row.wall_ns)));
            // Markdown takes a plain asterisk for emphasis.
            let mark = mark(measured, way, readers).replace('*', "\\*");
            cells.push(format!("{} / {}{mark}", median(cpu), median(wall)));
        }
        let made = Spread::of(reads(MOST_READERS).filter_map(|row| row.swaps_per_second_made));
        cells.push(made.map_or_else(|| "unknown".to_owned(), |made| three_digits(made.median)));
        cells.push(median(Spread::of(reads(MOST_READERS).filter_map(|row| row.swap_ns))));
        let seen = Spread::of(shown(measured, SEEN, way, MOST_READERS).map(|row| row.wall_ns));
        cells.push(seen.map_or_else(|| "unknown".to_owned(), |seen| format!("{} / {}", time(seen.median), time(seen.max))));
        cells
    };
    let rows: Vec<_> = ways(measured).iter().map(of_way).collect();
    let readers = READERS.map(of_readers);
    let mut columns = vec!["CPU / wall per read"];
    columns.extend(readers.iter().map(String::as_str));
    columns.extend(["swaps/s", "swap", "seen"]);
    table(&columns, &rows)
}

fn of_readers(readers: usize) -> String {
    format!("{readers} reader{}", if readers == 1 { "" } else { "s" })
}

fn drop_table(measured: &[Row]) -> String {
    let sizes: BTreeSet<i32> = measured.iter().filter(|row| row.what == DROP).map(|row| row.partitions).collect();
    let of_size = |partitions: &i32| {
        let drops = measured.iter().filter(|row| row.what == DROP && row.partitions == *partitions).map(|row| row.wall_ns);
        vec![three_digits(f64::from(*partitions)), median(Spread::of(drops))]
    };
    let rows: Vec<_> = sizes.iter().map(of_size).collect();
    table(&["partitions of a snapshot whose last holder is a reader", "its drop takes that reader"], &rows)
}

fn bars(measured: &[Row]) -> Vec<Bar> {
    let is_most = |row: &Row| row.readers == MOST_READERS && row.swaps_per_second == MOST_SWAPS_PER_SECOND;
    let cpu = |ours: &Row, unit: &Row| Some(ours.cpu_ns? / unit.cpu_ns?);
    let faster = |ours: &Row, other: &Row| Some(other.wall_ns / ours.wall_ns);
    let swaps = grouped(MOST_SWAPS_PER_SECOND.into());
    vec![
        Bar {
            what: "snapshot: CPU per read, of one undisturbed load, worst case".to_owned(),
            limit: Limit::AtMost(1.3),
            unit: "x",
            measured: worst(measured, |_| true, |row| row.way == UNIT, cpu, f64::max),
        },
        Bar {
            what: format!("snapshot: {MOST_READERS} readers, {swaps} swaps/s, faster than `RwLock<Arc>`, worst case"),
            limit: Limit::AtLeast(10.0),
            unit: "x",
            measured: worst(measured, is_most, |row| row.way == RW_LOCK && is_most(row), faster, f64::min),
        },
    ]
}

/// Of each of our cases the median over the rounds of a ratio to another way's row of the same round and size; of these the worst. Rows of ours
/// that did not have their swaps are left out; `None` if that leaves a case without a ratio. The other way may have had fewer: its readers were
/// disturbed less often then, which is to its credit.
fn worst(
    measured: &[Row],
    is_case: impl Fn(&Row) -> bool,
    is_other: impl Fn(&Row) -> bool,
    ratio: impl Fn(&Row, &Row) -> Option<f64>,
    worse: fn(f64, f64) -> f64,
) -> Option<f64> {
    let mut cases: BTreeMap<(i32, usize, u32), Vec<f64>> = BTreeMap::new();
    let reads = || measured.iter().filter(|row| row.what == READS);
    for row in reads().filter(|row| row.way == OURS && is_case(row)) {
        let same = |other: &&Row| is_other(other) && other.round == row.round && other.partitions == row.partitions;
        let ratios = cases.entry((row.partitions, row.readers, row.swaps_per_second)).or_default();
        if row.has_its_swaps() {
            ratios.extend(reads().filter(same).filter_map(|other| ratio(row, other)));
        }
    }
    let medians: Option<Vec<f64>> = cases.into_values().map(|ratios| Some(Spread::of(ratios)?.median)).collect();
    medians?.into_iter().reduce(worse)
}

fn picture(measured: &[Row]) -> String {
    let panel = |readers: usize| bars::Panel {
        title: format!("CPU time per read, {}, {} swaps/s (logarithmic)", of_readers(readers), grouped(MOST_SWAPS_PER_SECOND.into())),
        bars: ways(measured)
            .into_iter()
            .filter_map(|way| {
                let spread = Spread::of(shown(measured, READS, &way, readers).filter_map(|row| row.cpu_ns))?;
                let text = format!("{}{}", time(spread.median), mark(measured, &way, readers));
                Some(bars::Bar { is_ours: way == OURS, label: way, spread, text })
            })
            .collect(),
        is_logarithmic: true,
    };
    bars::draw("CPU time per read of the current snapshot", &[panel(1), panel(MOST_READERS)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(way: &str, readers: usize, ns: f64, swaps_per_second_made: f64) -> Row {
        Row {
            what: READS.to_owned(),
            way: way.to_owned(),
            partitions: SHOWN_PARTITIONS,
            readers,
            swaps_per_second: MOST_SWAPS_PER_SECOND,
            round: 1,
            cpu_ns: Some(ns),
            wall_ns: ns,
            count: 1_000,
            swaps: 1_000,
            swaps_per_second_made: Some(swaps_per_second_made),
            swap_ns: Some(100.0),
        }
    }

    #[test]
    fn a_case_of_ours_without_its_swaps_is_not_measured() {
        let of_bars = |rows: &[Row]| bars(rows).into_iter().map(|bar| bar.measured).collect::<Vec<_>>();
        let unit = Row { swaps_per_second: 0, ..row(UNIT, 1, 10.0, 0.0) };
        let rows = [unit, row(OURS, 1, 11.0, 9_990.0), row(OURS, 8, 12.0, 9_000.0), row(RW_LOCK, 8, 240.0, 9_500.0)];
        assert_eq!(of_bars(&rows), [Some(1.2), Some(20.0)]);
        for (index, expected) in [(1, [None, Some(20.0)]), (2, [None, None]), (3, [Some(1.2), Some(20.0)])] {
            let mut rows = rows.clone();
            rows[index].swaps_per_second_made = Some(8_999.0);
            assert_eq!(of_bars(&rows), expected, "{}", rows[index].way);
        }
    }

    #[test]
    fn the_page_shows_the_swaps_that_were_made() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = csv::Writer::from_path(folder.path().join(FILE)).unwrap();
        for row in [row(OURS, 1, 11.5, 9_990.0), row(OURS, 8, 12.5, 4_000.0)] {
            writer.serialize(row).unwrap();
        }
        writer.flush().unwrap();
        let text = section(folder.path()).unwrap().text;
        let cells = text.lines().find(|line| line.starts_with("| `snapshot_cell`")).unwrap();
        assert!(
            cells.contains("| 11.5 ns / 11.5 ns | unknown / unknown |") && cells.contains("| 12.5 ns / 12.5 ns \\* | 4,000 |"),
            "{cells}"
        );
        let picture = fs::read_to_string(folder.path().join(PICTURE)).unwrap();
        assert!(picture.contains(">11.5 ns<") && picture.contains(">12.5 ns *<"), "{picture}");
    }
}
