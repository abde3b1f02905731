//! How often the layers are looked at: as often as can be while something changes, seldom otherwise. Pure.
//!
//! A step makes the looks fast for a while, since what it does shows in no record for long. A change that was seen makes them fast until the
//! layers agree, and a moment longer. Both end in any case: a node that stays stuck must not cost a core for hours.

use std::time::Duration;

use crate::clock::Moment;

/// Between the starts of two fast looks.
const FAST: Duration = Duration::from_millis(10);
/// Between the starts of two slow looks.
const SLOW: Duration = Duration::from_millis(500);
/// For how long looks are fast after a step was asked for.
const AFTER_STEP: Duration = Duration::from_secs(5);
/// For how long they stay so after the layers have agreed: what changes seldom comes alone.
const AFTER_AGREEMENT: Duration = Duration::from_millis(500);
/// For how long the layers may disagree, without another change or step, before looks turn slow all the same.
const DISAGREE_MAX: Duration = Duration::from_secs(60);

/// The state.
#[derive(Debug)]
pub(super) struct Cadence {
    /// Fast until then, whatever is seen.
    fast_until: Moment,
    /// Until when a disagreement keeps looks fast.
    patient_until: Moment,
    agrees: bool,
    /// Whether it was told that patience is over.
    told_impatience: bool,
    /// Fast time up to `counted_to` that was not taken yet.
    fast: Duration,
    counted_to: Moment,
}

impl Cadence {
    /// Slow, until something happens.
    pub(super) fn new(now: Moment) -> Self {
        Self { fast_until: now, patient_until: now, agrees: true, told_impatience: false, fast: Duration::ZERO, counted_to: now }
    }

    /// A step was asked for.
    pub(super) fn step_fired(&mut self, now: Moment) {
        self.count(now);
        self.fast_until = self.fast_until.max(now + AFTER_STEP);
        self.stir(now);
    }

    /// A layer has changed.
    pub(super) fn changed(&mut self, now: Moment) {
        self.count(now);
        self.agrees = false;
        self.stir(now);
    }

    /// Whether the layers agree now. Where they begin to differ, something has changed.
    pub(super) fn compared(&mut self, now: Moment, agrees: bool) {
        match (self.agrees, agrees) {
            (true, false) => self.changed(now),
            (false, true) => {
                self.count(now);
                self.fast_until = self.fast_until.max(now + AFTER_AGREEMENT);
                self.agrees = true;
            }
            (true, true) | (false, false) => {}
        }
    }

    /// When the next look begins after one that took from `began` to `ended`. A look takes no more than half of the time, so that big clusters
    /// are not flooded; one that took very long has only waited.
    pub(super) fn next_look(&self, began: Moment, ended: Moment, now: Moment) -> Moment {
        let every = if now < self.fast_end() { FAST } else { SLOW };
        (began + every).max(ended + ended.since(began).min(SLOW))
    }

    /// Whether looks have just turned slow although the layers disagree; said once for each time.
    pub(super) fn lost_patience(&mut self, now: Moment) -> bool {
        let is_lost = !self.agrees && now >= self.fast_end();
        is_lost && !std::mem::replace(&mut self.told_impatience, true)
    }

    /// For how long looks were fast since this was last asked.
    pub(super) fn take_fast(&mut self, now: Moment) -> Duration {
        self.count(now);
        std::mem::take(&mut self.fast)
    }

    fn stir(&mut self, now: Moment) {
        self.patient_until = now + DISAGREE_MAX;
        self.told_impatience = false;
    }

    fn fast_end(&self) -> Moment {
        if self.agrees { self.fast_until } else { self.fast_until.max(self.patient_until) }
    }

    /// Counts what was fast until now, before the state changes.
    fn count(&mut self, now: Moment) {
        self.fast += self.fast_end().min(now).since(self.counted_to);
        self.counted_to = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    #[derive(Clone, Copy)]
    enum Event {
        Step,
        Change,
        Agree,
        Differ,
    }
    use Event::{Agree, Change, Differ, Step};

    /// A name, events with their times, the end, and the spans in which looks are fast.
    type Row<'a> = (&'a str, &'a [(u64, Event)], u64, &'a [(u64, u64)]);

    /// Drives a cadence through events at given times (in ms), and says at which whole 100 ms looks are fast until the end.
    fn fast_times(events: &[(u64, Event)], end_ms: u64) -> Vec<(u64, u64)> {
        let clock = Clock::manual();
        let mut cadence = Cadence::new(clock.now());
        let (mut events, mut spans) = (events.iter().peekable(), Vec::<(u64, u64)>::new());
        for at_ms in (0..end_ms).step_by(100) {
            let now = clock.now();
            while let Some((_, event)) = events.next_if(|(event_ms, _)| *event_ms == at_ms) {
                match event {
                    Step => cadence.step_fired(now),
                    Change => cadence.changed(now),
                    Agree => cadence.compared(now, true),
                    Differ => cadence.compared(now, false),
                }
            }
            if cadence.next_look(now, now, now) == now + FAST {
                match spans.last_mut() {
                    Some((_, until)) if *until == at_ms => *until = at_ms + 100,
                    _ => spans.push((at_ms, at_ms + 100)),
                }
            }
            clock.advance(Duration::from_millis(100));
        }
        let counted = cadence.take_fast(clock.now());
        let sum: u64 = spans.iter().map(|(from, until)| until - from).sum();
        assert_eq!(counted, Duration::from_millis(sum), "what is told is what was done");
        spans
    }

    #[test]
    fn looks_are_fast_while_something_changes() {
        let rows: [Row<'_>; 10] = [
            ("nothing happens", &[], 3_000, &[]),
            ("nothing but agreement", &[(100, Agree), (600, Agree)], 3_000, &[]),
            ("a step", &[(1_000, Step)], 9_000, &[(1_000, 6_000)]),
            ("a step that is settled stays fast", &[(1_000, Step), (1_100, Change), (1_300, Agree)], 9_000, &[(1_000, 6_000)]),
            ("a change by itself", &[(1_000, Change), (1_400, Agree), (1_500, Agree)], 9_000, &[(1_000, 1_900)]),
            ("a difference by itself", &[(1_000, Differ), (1_200, Differ), (1_400, Agree)], 9_000, &[(1_000, 1_900)]),
            ("a change that is nobody's", &[(1_000, Change)], 70_000, &[(1_000, 61_000)]),
            ("each change begins the bound anew", &[(1_000, Change), (31_000, Change)], 99_000, &[(1_000, 91_000)]),
            ("agreement after all", &[(1_000, Change), (65_000, Agree)], 70_000, &[(1_000, 61_000), (65_000, 65_500)]),
            ("a step while layers differ", &[(1_000, Change), (70_000, Step)], 140_000, &[(1_000, 61_000), (70_000, 130_000)]),
        ];
        for (name, events, end_ms, expected) in rows {
            assert_eq!(fast_times(events, end_ms), expected, "{name}");
        }
    }

    #[test]
    fn a_slow_look_is_followed_by_a_pause_as_long() {
        let begun = Moment(1_000_000);
        let mut cadence = Cadence::new(begun);
        let ms = Duration::from_millis;
        let rows = [(true, 2, 10), (true, 7, 14), (true, 40, 80), (true, 3_000, 3_500), (false, 40, 500), (false, 400, 800)];
        for (is_fast, took, expected) in rows {
            if is_fast {
                cadence.step_fired(begun);
            }
            let now = if is_fast { begun + ms(took) } else { begun + AFTER_STEP };
            assert_eq!(cadence.next_look(begun, begun + ms(took), now), begun + ms(expected), "{is_fast} {took}");
        }
    }

    #[test]
    fn patience_is_lost_once_for_each_stir() {
        let start = Moment(0);
        let mut cadence = Cadence::new(start);
        assert!(!cadence.lost_patience(start), "nothing differs");
        cadence.changed(start);
        assert!(!cadence.lost_patience(start + DISAGREE_MAX - Duration::from_millis(1)));
        assert!(cadence.lost_patience(start + DISAGREE_MAX));
        assert!(!cadence.lost_patience(start + DISAGREE_MAX * 2), "said once");
        cadence.changed(start + DISAGREE_MAX * 2);
        assert!(cadence.lost_patience(start + DISAGREE_MAX * 3), "and again after another change");
        cadence.compared(start + DISAGREE_MAX * 4, true);
        cadence.changed(start + DISAGREE_MAX * 4);
        cadence.compared(start + DISAGREE_MAX * 4, true);
        assert!(!cadence.lost_patience(start + DISAGREE_MAX * 6), "they agreed in time");
    }
}
