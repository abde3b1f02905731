//! Outages as a map: producers by partitions, for each step.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::findings::{OutageColumn, OutageMap, OutageRow, OutageStep};
use crate::analyze::outage::{Hit, Pair, Stretches};
use crate::analyze::window::StepWindow;
use crate::record::files::millis;

/// Producers and partitions that are shown.
const SIDE_MAX: usize = 100;

/// Outages that are shown of all steps together.
const CELLS_MAX: usize = 25_000;

type Producer = (usize, u32);
type Partition = (usize, i32);

/// A pair's longest outage at a step, and whether all of them ended.
type Cells = BTreeMap<Pair, (i64, bool)>;

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
pub(super) fn map(all: &Stretches, hits: &[Hit], windows: &[StepWindow]) -> OutageMap {
    let steps = by_step(all, hits);
    let pairs = all.pairs.keys();
    let (mut rows, mut columns) = (BTreeMap::<Producer, i64>::new(), BTreeMap::<Partition, i64>::new());
    for pair in pairs {
        rows.entry(producer(*pair)).or_default();
        columns.entry(partition(*pair)).or_default();
    }
    for (pair, (outage_us, _)) in steps.values().flatten() {
        let (row, column) = (rows.entry(producer(*pair)).or_default(), columns.entry(partition(*pair)).or_default());
        (*row, *column) = ((*row).max(*outage_us), (*column).max(*outage_us));
    }
    let (rows, columns) = (heaviest(rows), heaviest(columns));
    let shown = shown(&steps, &rows, &columns);
    let total: usize = steps.values().map(BTreeMap::len).sum();
    let count: usize = shown.iter().map(|(_, step)| step.cells.len()).sum();
    let mut steps: Vec<OutageStep> = shown.into_iter().map(|(at, step)| OutageStep { step: windows[at].step.0, ..step }).collect();
    steps.sort_by_key(|step| step.step);
    OutageMap {
        rows: rows.keys().map(|(group, producer)| OutageRow { group: all.groups.name(*group).to_owned(), producer: *producer }).collect(),
        columns: columns
            .keys()
            .map(|(topic, partition)| OutageColumn { topic: all.topics.name(*topic).to_owned(), partition: *partition })
            .collect(),
        steps,
        left_out: (total - count) as u64,
    }
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

/// The steps with the longest outages, as many as there is room for; each with its window's index.
fn shown(
    steps: &BTreeMap<usize, Cells>,
    rows: &BTreeMap<Producer, usize>,
    columns: &BTreeMap<Partition, usize>,
) -> Vec<(usize, OutageStep)> {
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
        if cells.len() > room {
            // A shorter one that fits is left out too: what is told is that the shortest are.
            break;
        }
        room -= cells.len();
        shown.push((*at, OutageStep { step: 0, cells }));
    }
    shown
}

/// The heaviest keys in order, with their places.
fn heaviest<K: Copy + Ord>(weights: BTreeMap<K, i64>) -> BTreeMap<K, usize> {
    let mut order: Vec<(K, i64)> = weights.into_iter().collect();
    order.sort_by_key(|(_, weight)| Reverse(*weight));
    let kept: BTreeSet<K> = order.into_iter().take(SIDE_MAX).map(|(key, _)| key).collect();
    kept.into_iter().enumerate().map(|(at, key)| (key, at)).collect()
}

fn producer(pair: Pair) -> Producer {
    (pair.group, pair.producer)
}

fn partition(pair: Pair) -> Partition {
    (pair.topic, pair.partition)
}
