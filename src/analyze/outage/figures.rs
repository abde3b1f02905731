//! From hits to figures per step and group, and to the rows of `recovery.csv`.

use std::collections::{BTreeMap, BTreeSet};

use super::{GroupBasis, Hit, Pair, PairUse, Stretches};
use crate::analyze::findings::OutageFigures;
use crate::analyze::spread::Spread;
use crate::analyze::window::StepWindow;
use crate::ids::{PartitionIndex, ProducerIndex, StepNumber, TopicName};
use crate::record::files::{RecoveryRow, millis};
use crate::record::step::StepLedger;

/// All outages of a run in figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutageReport {
    pub(crate) by_step: BTreeMap<StepNumber, Vec<OutageFigures>>,
    /// In the baseline or after it, at no step.
    pub(crate) outside: Vec<OutageFigures>,
    /// Begun in the warm-up.
    pub(crate) warm_up: Vec<OutageFigures>,
    /// Pairs that had not recovered by the end, by group number.
    pub(crate) never: BTreeMap<usize, BTreeSet<Pair>>,
}

/// What one step, or one round of steps, did to one pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PairFigure {
    /// The longest outage that began with the step.
    own_us: i64,
    /// The longest of all.
    outage_us: i64,
    /// From the request to the end of the longest.
    to_ok_us: Option<i64>,
    never: bool,
}

impl PairFigure {
    fn of(hit: Hit, all: &Stretches, window: Option<&StepWindow>) -> Self {
        let first_ok_us = all.stretches[hit.stretch].first_ok_us;
        Self {
            own_us: if hit.began_before { 0 } else { hit.outage_us },
            outage_us: hit.outage_us,
            to_ok_us: first_ok_us.zip(window).map(|(ok_us, window)| ok_us - window.requested_us),
            never: first_ok_us.is_none(),
        }
    }

    /// The figure that says more: an outage of the step's own before one that began earlier, then the longer one.
    fn or(self, other: Self) -> Self {
        let more = if (other.own_us, other.outage_us) > (self.own_us, self.outage_us) { other } else { self };
        Self { outage_us: self.outage_us.max(other.outage_us), never: self.never || other.never, ..more }
    }
}

/// Pairs of a group by round (a step alone is one round), with what happened to them.
type Figures = BTreeMap<usize, BTreeMap<(u32, Pair), PairFigure>>;

/// Figures of every step, with and without parts.
pub(crate) fn report(all: &Stretches, hits: &[Hit], steps: &StepLedger, windows: &[StepWindow], basis: &[GroupBasis]) -> OutageReport {
    let mut report = OutageReport::default();
    for hit in hits {
        let stretch = &all.stretches[hit.stretch];
        if stretch.first_ok_us.is_none() {
            report.never.entry(stretch.pair.group).or_default().insert(stretch.pair);
        }
    }
    let singles: Vec<Figures> = (0..windows.len()).map(|at| single(all, hits, windows, basis, at)).collect();
    for step in steps.steps() {
        let parts: Vec<usize> = (0..windows.len()).filter(|at| is_part(steps, &windows[*at], step.step)).collect();
        let summed = match windows.iter().position(|window| window.step == step.step) {
            Some(at) => summed(all, &singles[at]),
            None => summed(all, &rounds(windows, &singles, &parts)),
        };
        report.by_step.insert(step.step, summed);
    }
    let mut outside = Figures::new();
    let mut warm_up = Figures::new();
    for hit in hits.iter().filter(|hit| hit.window.is_none()) {
        let stretch = &all.stretches[hit.stretch];
        let figures = if stretch.first_due_us < 0 { &mut warm_up } else { &mut outside };
        put(figures, 0, stretch.pair, PairFigure::of(*hit, all, None));
    }
    report.outside = summed(all, &outside);
    report.warm_up = summed(all, &warm_up);
    report
}

/// What one step without parts did to every pair that was in use.
fn single(all: &Stretches, hits: &[Hit], windows: &[StepWindow], basis: &[GroupBasis], at: usize) -> Figures {
    let window = &windows[at];
    let mut figures = Figures::new();
    let used: Vec<Pair> = all.pairs.iter().filter(|(pair, usage)| in_use(pair, usage, window, basis)).map(|(pair, _)| *pair).collect();
    // In order, so that a table is built in one go: there may be a million pairs.
    for of_group in used.chunk_by(|pair, next| pair.group == next.group) {
        figures.insert(of_group[0].group, of_group.iter().map(|pair| ((0, *pair), PairFigure::default())).collect());
    }
    for hit in hits.iter().filter(|hit| hit.window == Some(at)) {
        put(&mut figures, 0, all.stretches[hit.stretch].pair, PairFigure::of(*hit, all, Some(window)));
    }
    figures
}

/// The parts of a step put together: kill and start of one round count once.
fn rounds(windows: &[StepWindow], singles: &[Figures], parts: &[usize]) -> Figures {
    let mut keys: Vec<(Option<StepNumber>, Option<u32>)> = Vec::new();
    let mut figures = Figures::new();
    for part in parts {
        let key = (windows[*part].parent, windows[*part].round);
        let round = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        });
        for ((_, pair), figure) in singles[*part].values().flatten() {
            put(&mut figures, u32::try_from(round).unwrap_or(u32::MAX), *pair, *figure);
        }
    }
    figures
}

fn put(figures: &mut Figures, round: u32, pair: Pair, figure: PairFigure) {
    let entry = figures.entry(pair.group).or_default().entry((round, pair)).or_default();
    *entry = entry.or(figure);
}

fn in_use(pair: &Pair, usage: &PairUse, window: &StepWindow, basis: &[GroupBasis]) -> bool {
    usage.since_us < window.until_us && basis[pair.group].due_until_us > window.requested_us
}

fn is_part(steps: &StepLedger, window: &StepWindow, whole: StepNumber) -> bool {
    let mut parent = window.parent;
    while let Some(step) = parent {
        if step == whole {
            return true;
        }
        parent = steps.get(step).and_then(|step| step.parent);
    }
    false
}

fn summed(all: &Stretches, figures: &Figures) -> Vec<OutageFigures> {
    figures
        .iter()
        .map(|(group, pairs)| {
            let stalled = |figure: &&PairFigure| figure.outage_us > 0;
            let own = pairs.values().filter(|figure| figure.own_us > 0);
            OutageFigures {
                group: all.groups.name(*group).to_owned(),
                pairs: pairs.len() as u64,
                stalled: pairs.values().filter(stalled).count() as u64,
                began_before: pairs.values().filter(stalled).filter(|figure| figure.own_us == 0).count() as u64,
                outage_ms: Spread::of(pairs.values().map(|figure| millis(figure.outage_us))),
                own_ms: Spread::of(own.map(|figure| millis(figure.own_us))),
                request_to_ok_ms: Spread::of(pairs.values().filter_map(|figure| figure.to_ok_us).map(millis)),
                never_recovered: pairs.values().filter(|figure| figure.never).count() as u64,
            }
        })
        .collect()
}

/// Rows of `recovery.csv`: one per outage and step, and with `zeros` also one for each pair that a step left alone.
pub(crate) fn rows(all: &Stretches, hits: &[Hit], windows: &[StepWindow], basis: &[GroupBasis], zeros: bool) -> Vec<RecoveryRow> {
    let mut keyed: Vec<(Option<usize>, Pair, RecoveryRow)> = hits
        .iter()
        .map(|hit| {
            let stretch = &all.stretches[hit.stretch];
            let row = RecoveryRow {
                last_ok_us: stretch.last_ok_us,
                first_due_us: Some(stretch.first_due_us),
                first_error_us: stretch.first_error_us,
                first_ok_us: stretch.first_ok_us,
                outage_us: hit.outage_us,
                recovered: stretch.first_ok_us.is_some(),
                ..empty_row(all, hit.window.map(|at| windows[at].step), stretch.pair)
            };
            (hit.window, stretch.pair, row)
        })
        .collect();
    if zeros {
        let hit: BTreeSet<_> = keyed.iter().map(|(window, pair, _)| (*window, *pair)).collect();
        for (at, window) in windows.iter().enumerate() {
            let idle = all.pairs.iter().filter(|(pair, usage)| in_use(pair, usage, window, basis) && !hit.contains(&(Some(at), **pair)));
            keyed.extend(idle.map(|(pair, _)| (Some(at), *pair, empty_row(all, Some(window.step), *pair))));
        }
    }
    // Steps first, in their order; what belongs to none comes last.
    keyed.sort_by_key(|(window, pair, row)| (window.unwrap_or(usize::MAX), *pair, row.first_due_us));
    keyed.into_iter().map(|(_, _, row)| row).collect()
}

fn empty_row(all: &Stretches, step: Option<StepNumber>, pair: Pair) -> RecoveryRow {
    RecoveryRow {
        step,
        worker: all.pairs.get(&pair).map_or(0, |usage| usage.worker),
        group: all.groups.name(pair.group).to_owned(),
        producer: ProducerIndex(pair.producer),
        topic: TopicName::from(all.topics.name(pair.topic)),
        partition: PartitionIndex(pair.partition),
        last_ok_us: None,
        first_due_us: None,
        first_error_us: None,
        first_ok_us: None,
        outage_us: 0,
        recovered: true,
    }
}
