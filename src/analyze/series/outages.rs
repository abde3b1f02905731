//! Outages as a map: producers by partitions, for each step; and which pairs were in use at all, since only these can have one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::Scene;
use super::findings::{Figures, OutageColumn, OutageMap, OutageRow, OutageStep};
use crate::analyze::outage::{Hit, Pair, Stretches};
use crate::record::files::millis;

/// Producers and partitions that are shown.
const SIDE_MAX: usize = 100;

/// Outages that are shown of all steps together.
const CELLS_MAX: usize = 20_000;

/// Steps that are shown: nobody chooses among more.
const STEPS_MAX: usize = 400;

type Producer = (usize, u32);
type Partition = (usize, i32);

/// A pair's longest outage at a step, and whether all of them ended.
type Cells = BTreeMap<Pair, (i64, bool)>;

/// What is shown of one side, with places; and how many are not.
struct Side<K> {
    places: BTreeMap<K, usize>,
    left_out: u64,
}

/// The longest outage of each pair at any step, in microseconds.
pub(super) fn longest(all: &Stretches, hits: &[Hit]) -> BTreeMap<Pair, i64> {
    let mut longest = BTreeMap::new();
    for hit in hits {
        let most = longest.entry(all.stretches[hit.stretch].pair).or_insert(0);
        *most = hit.outage_us.max(*most);
    }
    longest
}

/// The map. Where it does not fit, steps, producers and partitions with the longest outages are shown.
pub(super) fn map(scene: Scene<'_>) -> OutageMap {
    let all = scene.stretches;
    let by_step = by_step(all, scene.hits);
    let (rows, columns) = sides(all, &by_step);
    let steps = shown(scene, &by_step, &rows.places, &columns.places);
    let total: usize = by_step.values().map(BTreeMap::len).sum();
    let count: usize = steps.iter().map(|step| step.cells.len()).sum();
    OutageMap {
        rows: rows.places.keys().map(|row| row_of(scene, *row)).collect(),
        rows_left_out: rows.left_out,
        columns: columns.places.keys().map(|column| column_of(all, *column)).collect(),
        columns_left_out: columns.left_out,
        first_due_ms: first_due_ms(all, &rows.places, &columns.places),
        steps_left_out: (by_step.len() - steps.len()) as u64,
        steps,
        left_out: (total - count) as u64,
    }
}

fn row_of(scene: Scene<'_>, (group, producer): Producer) -> OutageRow {
    let due_until_us = scene.basis.get(group).map(|basis| basis.due_until_us).filter(|us| *us > i64::MIN);
    OutageRow { group: scene.stretches.groups.name(group).to_owned(), producer, due_until_ms: due_until_us.map(millis) }
}

fn column_of(all: &Stretches, (topic, partition): Partition) -> OutageColumn {
    OutageColumn { topic: all.topics.name(topic).to_owned(), partition }
}

/// By index of the step's window.
fn by_step(all: &Stretches, hits: &[Hit]) -> BTreeMap<usize, Cells> {
    let mut steps: BTreeMap<usize, Cells> = BTreeMap::new();
    for hit in hits {
        let Some(at) = hit.window else { continue };
        let stretch = &all.stretches[hit.stretch];
        let cell = steps.entry(at).or_default().entry(stretch.pair).or_insert((0, true));
        *cell = (cell.0.max(hit.outage_us), cell.1 && stretch.first_ok_us.is_some());
    }
    steps
}

/// Producers and partitions, weighed by their longest outage.
fn sides(all: &Stretches, steps: &BTreeMap<usize, Cells>) -> (Side<Producer>, Side<Partition>) {
    let (mut rows, mut columns) = (BTreeMap::<Producer, i64>::new(), BTreeMap::<Partition, i64>::new());
    for pair in all.pairs.keys() {
        rows.entry(producer(*pair)).or_default();
        columns.entry(partition(*pair)).or_default();
    }
    for (pair, (outage_us, _)) in steps.values().flatten() {
        let (row, column) = (rows.entry(producer(*pair)).or_default(), columns.entry(partition(*pair)).or_default());
        (*row, *column) = ((*row).max(*outage_us), (*column).max(*outage_us));
    }
    (heaviest(rows), heaviest(columns))
}

/// Of every pair that is shown, row by row.
fn first_due_ms(all: &Stretches, rows: &BTreeMap<Producer, usize>, columns: &BTreeMap<Partition, usize>) -> Vec<Figures<i64>> {
    let mut first_due_ms = vec![vec![None; columns.len()]; rows.len()];
    for (pair, usage) in &all.pairs {
        if let Some((row, column)) = rows.get(&producer(*pair)).zip(columns.get(&partition(*pair))) {
            first_due_ms[*row][*column] = Some(millis(usage.since_us));
        }
    }
    first_due_ms
}

/// The steps with the longest outages, as many as there is room for; in the order of firing.
fn shown(
    scene: Scene<'_>,
    steps: &BTreeMap<usize, Cells>,
    rows: &BTreeMap<Producer, usize>,
    columns: &BTreeMap<Partition, usize>,
) -> Vec<OutageStep> {
    let mut order: Vec<(&usize, &Cells)> = steps.iter().collect();
    order.sort_by_key(|(_, cells)| Reverse(cells.values().map(|(outage_us, _)| *outage_us).max()));
    let mut room = CELLS_MAX;
    let mut shown = Vec::new();
    for (at, cells) in order {
        let place = |(pair, (outage_us, recovered)): (&Pair, &(i64, bool))| {
            Some((*rows.get(&producer(*pair))?, *columns.get(&partition(*pair))?, millis(*outage_us), *recovered))
        };
        let mut cells: Vec<_> = cells.iter().filter_map(place).collect();
        cells.sort_unstable();
        if cells.is_empty() {
            continue;
        }
        if cells.len() > room || shown.len() == STEPS_MAX {
            // A shorter one that fits is left out too: what is told is that the shortest are.
            break;
        }
        room -= cells.len();
        let window = &scene.windows[*at];
        let until_ms = (window.until_us < i64::MAX).then(|| millis(window.until_us));
        shown.push(OutageStep { step: window.step.0, requested_ms: millis(window.requested_us), until_ms, cells });
    }
    shown.sort_by_key(|step| step.step);
    shown
}

/// The heaviest keys in order, with their places.
fn heaviest<K: Copy + Ord>(weights: BTreeMap<K, i64>) -> Side<K> {
    let mut order: Vec<(K, i64)> = weights.into_iter().collect();
    order.sort_by_key(|(_, weight)| Reverse(*weight));
    let left_out = order.len().saturating_sub(SIDE_MAX) as u64;
    let kept: BTreeSet<K> = order.into_iter().take(SIDE_MAX).map(|(key, _)| key).collect();
    Side { places: kept.into_iter().enumerate().map(|(at, key)| (key, at)).collect(), left_out }
}

fn producer(pair: Pair) -> Producer {
    (pair.group, pair.producer)
}

fn partition(pair: Pair) -> Partition {
    (pair.topic, pair.partition)
}
