//! Service that one producer gets on one partition: where it stopped and when it came back. Pure.
//!
//! A stretch without service runs from the due time of the first record that was due after the last ok until the next ok. The time between
//! two oks alone says nothing: sparse keys make gaps by themselves, and records that were due before the last ok only came late.
//!
//! When service comes back, the records that waited are answered one batch after the other, and not always in the order of their due times:
//! the first delivery need not hold the record that waited longest, and may hold only records that were due before the stretch began. So a
//! stretch stays *open* until a record that was due after its end is answered (or the run ends); till then a due time within it can only
//! move its beginning. It is told then, with the times at which it happened.

use std::collections::VecDeque;
use std::time::Duration;

use crate::audit::Outcomes;
use crate::clock::Moment;
use crate::ids::BrokerId;
use crate::record::fact::GAP_MIN_US;

/// Shortest stretch that is told.
pub(crate) const GAP_MIN: Duration = Duration::from_micros(GAP_MIN_US.unsigned_abs());

/// Open stretches that one pair may have. More of them means that records wait for longer than this many `GAP_MIN`s while others are served,
/// which the response times show; the oldest is then told as far as it is known.
const MAX_OPEN: usize = 256;

/// What a pair has to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PairFact {
    /// A stretch without service.
    Gap {
        last_ok: Option<Moment>,
        first_due: Moment,
        first_error: Option<Moment>,
        /// `None`: it has not come back.
        first_ok: Option<Moment>,
    },
    /// Acknowledgements without such a stretch between them.
    Run(Run),
}

/// A run of acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first_ok: Moment,
    pub(crate) last_ok: Moment,
    pub(crate) records: u64,
}

/// A producer's service on a partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pair {
    /// The present run; `records` is 0 before the first ok.
    run: Run,
    /// Earliest due time after the last ok among records that did not end well since then.
    unserved: Option<Moment>,
    /// First error of the partition since the last ok.
    first_error: Option<Moment>,
    /// The node that its requests go to, as far as it was told.
    route: Option<BrokerId>,
    /// Its leader or its route has changed since the last ok.
    is_changed: bool,
    /// What the client said of each record, for the audit.
    pub(crate) outcomes: Outcomes,
    /// Rarely used, so it costs a pointer only.
    #[allow(clippy::box_collection, reason = "there are as many pairs as producers times partitions, and nearly all have none")]
    open: Option<Box<VecDeque<Open>>>,
}

/// A stretch that has ended and may have begun earlier than is known.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The run before it; without records if there was none.
    before: Run,
    /// Earliest due time within it that has been seen.
    first_due: Option<Moment>,
    first_error: Option<Moment>,
    first_ok: Moment,
}

impl Open {
    fn last_ok(&self) -> Option<Moment> {
        (self.before.records > 0).then_some(self.before.last_ok)
    }

    /// Takes due times in; whether one of them lies after the stretch.
    fn see(&mut self, dues: impl Iterator<Item = Moment>) -> bool {
        let last_ok = self.last_ok();
        let mut is_past = false;
        for due in dues {
            if due >= self.first_ok {
                is_past = true;
            } else if is_after(due, last_ok) {
                self.first_due = Some(self.first_due.map_or(due, |first| first.min(due)));
            }
        }
        is_past
    }
}

fn is_after(due: Moment, last_ok: Option<Moment>) -> bool {
    last_ok.is_none_or(|last_ok| due > last_ok)
}

impl Pair {
    /// Whether a record was ever acknowledged.
    pub(crate) fn is_used(&self) -> bool {
        self.run.records > 0
    }

    /// The last acknowledgement.
    pub(crate) fn last_ok(&self) -> Option<Moment> {
        self.is_used().then_some(self.run.last_ok)
    }

    /// Due time of the oldest record since the last ok that did not end well.
    pub(crate) fn unserved(&self) -> Option<Moment> {
        self.unserved
    }

    /// The client's cache shows another leader or epoch, or (`route`) its requests go to another node.
    pub(crate) fn changed(&mut self, route: Option<BrokerId>) {
        self.is_changed = true;
        self.route = route.or(self.route);
    }

    /// Whether such a change has come since this was last asked: the node that requests go to, where known.
    pub(crate) fn take_change(&mut self) -> Option<Option<BrokerId>> {
        std::mem::take(&mut self.is_changed).then_some(self.route)
    }

    /// A batch of the partition met an error, retried or not.
    pub(crate) fn error(&mut self, at: Moment) {
        self.first_error.get_or_insert(at);
    }

    /// Records of these due times were acknowledged.
    pub(crate) fn ok(&mut self, at: Moment, dues: impl Iterator<Item = Moment> + Clone, facts: &mut Vec<PairFact>) {
        self.see(&dues, facts);
        let last_ok = self.last_ok();
        let mut records = 0;
        let mut first_due = self.unserved.take();
        for due in dues {
            records += 1;
            if is_after(due, last_ok) && first_due.is_none_or(|first| due < first) {
                first_due = Some(due);
            }
        }
        let first_error = self.first_error.take();
        let is_stretch = match (first_due, last_ok) {
            (Some(first_due), _) => at.since(first_due) >= GAP_MIN,
            (None, Some(last_ok)) => at.since(last_ok) >= GAP_MIN,
            (None, None) => false,
        };
        if is_stretch {
            self.open_stretch(Open { before: self.run, first_due, first_error, first_ok: at }, facts);
        }
        if is_stretch || last_ok.is_none() {
            self.run = Run { first_ok: at, last_ok: at, records };
        } else {
            self.run.last_ok = at.max(self.run.last_ok);
            self.run.records += records;
        }
    }

    /// Records of these due times did not end well.
    pub(crate) fn bad(&mut self, dues: impl Iterator<Item = Moment> + Clone, facts: &mut Vec<PairFact>) {
        self.see(&dues, facts);
        let last_ok = self.last_ok();
        let earliest = dues.filter(|due| is_after(*due, last_ok)).min();
        self.unserved = self.unserved.into_iter().chain(earliest).min();
    }

    /// Service came back by other means: for records that never got as far as a partition.
    pub(crate) fn served(&mut self, at: Moment, last_ok: Option<Moment>, facts: &mut Vec<PairFact>) {
        let first_error = self.first_error.take();
        if let Some(first_due) = self.unserved.take().filter(|due| at.since(*due) >= GAP_MIN) {
            facts.push(PairFact::Gap { last_ok, first_due, first_error, first_ok: Some(at) });
        }
    }

    /// The run is over: tells what is left.
    pub(crate) fn finish(&mut self, at: Moment, facts: &mut Vec<PairFact>) {
        while self.settle_oldest(facts) {}
        if self.is_used() {
            facts.push(PairFact::Run(self.run));
        }
        let last_ok = self.last_ok();
        if let Some(first_due) = self.unserved.take().filter(|due| at.since(*due) >= GAP_MIN) {
            facts.push(PairFact::Gap { last_ok, first_due, first_error: self.first_error, first_ok: None });
        }
    }

    fn open_stretch(&mut self, stretch: Open, facts: &mut Vec<PairFact>) {
        let open = self.open.get_or_insert_with(Box::default);
        open.push_back(stretch);
        if open.len() > MAX_OPEN {
            self.settle_oldest(facts);
        }
    }

    /// Shows due times to the open stretches, and settles those that are known now.
    fn see(&mut self, dues: &(impl Iterator<Item = Moment> + Clone), facts: &mut Vec<PairFact>) {
        let Some(open) = &mut self.open else { return };
        // A due time after one stretch is after all stretches before it.
        let known = open.iter_mut().map(|stretch| stretch.see(dues.clone())).take_while(|is_past| *is_past).count();
        for _ in 0..known {
            self.settle_oldest(facts);
        }
    }

    /// Tells the oldest open stretch, or joins the runs around it if it was none; whether there was one.
    fn settle_oldest(&mut self, facts: &mut Vec<PairFact>) -> bool {
        let Some(open) = &mut self.open else { return false };
        let Some(stretch) = open.pop_front() else {
            self.open = None;
            return false;
        };
        let last_ok = stretch.last_ok();
        if let Some(first_due) = stretch.first_due.filter(|due| stretch.first_ok.since(*due) >= GAP_MIN) {
            if last_ok.is_some() {
                facts.push(PairFact::Run(stretch.before));
            }
            facts.push(PairFact::Gap { last_ok, first_due, first_error: stretch.first_error, first_ok: Some(stretch.first_ok) });
        } else if last_ok.is_some() {
            let next = open.front_mut().map_or(&mut self.run, |next| &mut next.before);
            next.first_ok = stretch.before.first_ok;
            next.records += stretch.before.records;
        }
        if open.is_empty() {
            self.open = None;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times in milliseconds.
    fn ms(at: u64) -> Moment {
        Moment(at * 1_000)
    }

    #[derive(Clone, Copy)]
    enum Told {
        Ok(u64, &'static [u64]),
        Bad(&'static [u64]),
        Error(u64),
    }
    use Told::{Bad, Error, Ok};

    fn gap(last_ok: Option<u64>, first_due: u64, first_error: Option<u64>, first_ok: Option<u64>) -> PairFact {
        PairFact::Gap { last_ok: last_ok.map(ms), first_due: ms(first_due), first_error: first_error.map(ms), first_ok: first_ok.map(ms) }
    }

    fn run(first_ok: u64, last_ok: u64, records: u64) -> PairFact {
        PairFact::Run(Run { first_ok: ms(first_ok), last_ok: ms(last_ok), records })
    }

    fn play(script: &[Told], end: u64) -> Vec<PairFact> {
        let (mut pair, mut facts) = (Pair::default(), Vec::new());
        for step in script {
            match *step {
                Ok(at, dues) => pair.ok(ms(at), dues.iter().copied().map(ms), &mut facts),
                Bad(dues) => pair.bad(dues.iter().copied().map(ms), &mut facts),
                Error(at) => pair.error(ms(at)),
            }
        }
        pair.finish(ms(end), &mut facts);
        facts
    }

    #[test]
    fn so_many_stretches_are_open_and_the_oldest_is_settled_then() {
        let (mut pair, mut facts) = (Pair::default(), Vec::new());
        let open = |at: u64| Open { before: Run::default(), first_due: Some(ms(at)), first_error: None, first_ok: ms(at + 900) };
        for stretch in 0..=MAX_OPEN as u64 {
            assert_eq!(facts.len(), 0);
            pair.open_stretch(open(stretch * 1_000), &mut facts);
        }
        assert_eq!(facts, [gap(None, 0, None, Some(900))]);
    }

    #[test]
    fn stretches_without_service() {
        let table: [(&str, &[Told], u64, Vec<PairFact>); 12] = [
            ("nothing sent", &[], 1_000, vec![]),
            ("steady", &[Ok(5, &[0]), Ok(55, &[50]), Ok(105, &[100])], 200, vec![run(5, 105, 3)]),
            ("sparse records make gaps by themselves", &[Ok(5, &[0]), Ok(5_005, &[5_000])], 6_000, vec![run(5, 5_005, 2)]),
            ("slow start", &[Ok(300, &[0, 50])], 400, vec![gap(None, 0, None, Some(300)), run(300, 300, 2)]),
            (
                "a stall counts from the first record due in it",
                &[Ok(5, &[0]), Error(60), Error(70), Ok(2_000, &[50, 100, 150])],
                3_000,
                vec![run(5, 5, 1), gap(Some(5), 50, Some(60), Some(2_000)), run(2_000, 2_000, 3)],
            ),
            (
                "failed records count too",
                &[Ok(5, &[0]), Bad(&[50, 100]), Ok(2_000, &[1_990])],
                3_000,
                vec![run(5, 5, 1), gap(Some(5), 50, None, Some(2_000)), run(2_000, 2_000, 1)],
            ),
            (
                "the delivery that ends it holds only older records",
                &[Ok(100, &[95]), Ok(1_000, &[50, 90]), Ok(1_001, &[150])],
                2_000,
                vec![run(100, 100, 1), gap(Some(100), 150, None, Some(1_000)), run(1_000, 1_001, 3)],
            ),
            (
                "the longest wait is not answered first",
                &[Ok(5, &[0]), Ok(2_000, &[1_500]), Ok(2_001, &[50, 100]), Ok(2_050, &[2_045])],
                3_000,
                vec![run(5, 5, 1), gap(Some(5), 50, None, Some(2_000)), run(2_000, 2_050, 4)],
            ),
            (
                "the same, and nothing was due in between",
                &[Ok(100, &[95]), Ok(1_000, &[50, 90]), Ok(1_005, &[1_001])],
                2_000,
                vec![run(100, 1_005, 4)],
            ),
            ("late records of one batch each", &[Ok(300, &[0]), Ok(450, &[150]), Ok(600, &[300]), Ok(750, &[450])], 800, {
                // Each ok comes 300 ms after its record was due: only the very first stretch had no service at all.
                vec![gap(None, 0, None, Some(300)), run(300, 750, 4)]
            }),
            ("never served", &[Bad(&[100]), Bad(&[50])], 5_000, vec![gap(None, 50, None, None)]),
            ("lost at the end", &[Ok(5, &[0]), Error(60), Bad(&[50, 100])], 5_000, vec![run(5, 5, 1), gap(Some(5), 50, Some(60), None)]),
        ];
        for (name, script, end, facts) in table {
            assert_eq!(play(script, end), facts, "{name}");
        }
    }

    #[test]
    fn records_without_a_partition_are_served_by_any() {
        let (mut pair, mut facts) = (Pair::default(), Vec::new());
        pair.bad([ms(10)].into_iter(), &mut facts);
        pair.served(ms(900), None, &mut facts);
        pair.served(ms(950), None, &mut facts);
        assert_eq!(facts, [gap(None, 10, None, Some(900))]);
    }

    proptest! {
        /// Whatever the order of deliveries: every acknowledged record is in exactly one run, runs don't overlap, gaps lie between them.
        #[test]
        fn runs_hold_every_ok_once(steps in prop::collection::vec((0_u64..400, prop::collection::vec(0_u64..600, 1..4), 0_u8..4), 1..60)) {
            let (mut pair, mut facts, mut at, mut oks) = (Pair::default(), Vec::new(), 1_000, 0);
            for (wait, ages, kind) in steps {
                at += wait;
                let dues: Vec<Moment> = ages.iter().map(|age| ms(at - age)).collect();
                if kind == 0 {
                    pair.bad(dues.iter().copied(), &mut facts);
                } else {
                    oks += dues.len() as u64;
                    pair.ok(ms(at), dues.iter().copied(), &mut facts);
                }
            }
            pair.finish(ms(at), &mut facts);
            let (mut records, mut last_ok) = (0, None);
            for fact in facts {
                match fact {
                    PairFact::Run(run) => {
                        prop_assert!(run.first_ok <= run.last_ok && last_ok.is_none_or(|last| last <= run.first_ok));
                        (records, last_ok) = (records + run.records, Some(run.last_ok));
                    }
                    PairFact::Gap { last_ok: before, first_due, first_ok, .. } => {
                        prop_assert_eq!(before, last_ok);
                        prop_assert!(before.is_none_or(|before| first_due > before));
                        if let Some(first_ok) = first_ok {
                            prop_assert!(first_ok.since(first_due) >= GAP_MIN);
                            prop_assert!(before.is_none_or(|before| before < first_ok));
                        }
                    }
                }
            }
            prop_assert_eq!(records, oks);
        }
    }
}
