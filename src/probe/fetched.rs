//! How far each node has fetched the controller's log, by the active controller's word: when it passes records that were told. Pure.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::clock::Moment;
use crate::ids::BrokerId;
use crate::kafka::admin::{QuorumView, ReplicaView};

/// Offsets of told records that are kept for nodes that lag behind; a node that lags further is told again once it passes these.
const TOLD_MAX: usize = 10_000;
/// Answers that are kept for records that are told after them: at ten milliseconds from one to the next, two thirds of a second.
const SEEN_MAX: usize = 64;
/// A node whose last fetch is so much older than the controller's present, or of which a controller has said nothing for so long, is not waited
/// for: it is down, or cut off.
const ABSENT_AFTER: Duration = Duration::from_secs(3);

/// The state.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    nodes: BTreeMap<BrokerId, Node>,
    /// Offsets of records that were told and that some node lacks.
    told: BTreeSet<i64>,
    last_told: Option<i64>,
}

#[derive(Debug)]
struct Node {
    log_end_offset: i64,
    /// Up to where its passing was told: a record may be told only after the answers that hold it.
    told_end: i64,
    /// When the last questions were sent, and how far it was by their answers.
    seen: VecDeque<(Moment, i64)>,
    is_absent: bool,
}

/// A node has passed records that were told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) node: BrokerId,
    pub(super) is_voter: bool,
    pub(super) log_end_offset: i64,
    /// When it was last asked while it had less; `None`: never.
    pub(super) not_before: Option<Moment>,
}

impl Fetched {
    /// A record was told, or the log was as a whole up to there.
    pub(super) fn told(&mut self, offset: i64) {
        self.told.insert(offset);
        if self.told.len() > TOLD_MAX {
            self.told.pop_first();
        }
        self.last_told = self.last_told.max(Some(offset));
    }

    /// The log ends here again: records from this offset on are void.
    pub(super) fn truncated(&mut self, end: i64) {
        drop(self.told.split_off(&end));
        self.last_told = self.last_told.map(|last| last.min(end - 1));
        for node in self.nodes.values_mut() {
            node.log_end_offset = node.log_end_offset.min(end);
            node.told_end = node.told_end.min(end);
            node.seen.iter_mut().for_each(|(_, seen)| *seen = (*seen).min(end));
        }
    }

    /// The active controller has answered a question that was sent at `asked_at`.
    pub(super) fn answered(&mut self, quorum: &QuorumView, asked_at: Moment) -> Vec<Passed> {
        let present_ms = quorum.replicas().find(|replica| replica.id == quorum.leader).and_then(|leader| leader.last_fetch_ms);
        let mut passed = Vec::new();
        for (replicas, is_voter) in [(&quorum.voters, true), (&quorum.observers, false)] {
            for replica in replicas {
                passed.extend(self.heard_of(replica, is_voter, present_ms, asked_at));
            }
        }
        self.nodes.retain(|id, _| quorum.replicas().any(|replica| replica.id == *id));
        let least = self.nodes.values().map(|node| node.told_end).min().unwrap_or(0);
        self.told = self.told.split_off(&least);
        passed
    }

    fn heard_of(&mut self, replica: &ReplicaView, is_voter: bool, present_ms: Option<i64>, asked_at: Moment) -> Option<Passed> {
        // A controller that has just become the active one knows this of nobody yet; what another has known before is still so. Of a node that
        // is down it never will.
        let Some(log_end_offset) = replica.log_end_offset else {
            if let Some(node) = self.nodes.get_mut(&replica.id) {
                node.is_absent |= node.seen.back().is_some_and(|(last, _)| asked_at.since(*last) >= ABSENT_AFTER);
            }
            return None;
        };
        let absent_after_ms = ABSENT_AFTER.as_millis().try_into().unwrap_or(i64::MAX);
        let is_absent = present_ms.zip(replica.last_fetch_ms).is_some_and(|(present, last)| present - last >= absent_after_ms);
        let Some(node) = self.nodes.get_mut(&replica.id) else {
            let seen = VecDeque::from([(asked_at, log_end_offset)]);
            self.nodes.insert(replica.id, Node { log_end_offset, told_end: log_end_offset, seen, is_absent });
            return Some(Passed { node: replica.id, is_voter, log_end_offset, not_before: None });
        };
        (node.log_end_offset, node.is_absent) = (log_end_offset, is_absent);
        let not_before = self.told.range(node.told_end..log_end_offset.max(node.told_end)).next().map(|first| {
            node.told_end = log_end_offset;
            node.seen.iter().rfind(|(_, end)| end <= first).map(|(asked_at, _)| *asked_at)
        });
        if node.seen.len() >= SEEN_MAX {
            node.seen.pop_front();
        }
        node.seen.push_back((asked_at, log_end_offset));
        not_before.map(|not_before| Passed { node: replica.id, is_voter, log_end_offset, not_before })
    }

    /// A node that lacks a record that was told, though it goes on fetching.
    pub(super) fn behind(&self) -> Option<(BrokerId, i64)> {
        let last = self.last_told?;
        let behind = self.nodes.iter().find(|(_, node)| !node.is_absent && node.log_end_offset <= last);
        behind.map(|(id, node)| (*id, node.log_end_offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::LeaderEpoch;

    /// Id and log end (negative: unknown) of each node; node 1 leads, 1 and 2 vote, and node 9 has last fetched long ago.
    fn quorum(ends: &[(i32, i64)]) -> QuorumView {
        let replica = |(id, end): &(i32, i64)| ReplicaView {
            id: BrokerId(*id),
            log_end_offset: (*end >= 0).then_some(*end),
            last_fetch_ms: Some(if *id == 9 { 5_000 } else { 60_000 - i64::from(*id) }),
            last_caught_up_ms: None,
        };
        let (voters, observers) = ends.iter().map(replica).partition(|replica| replica.id.0 <= 2);
        QuorumView { leader: BrokerId(1), leader_epoch: LeaderEpoch(1), high_watermark: 1, voters, observers }
    }

    fn at(ms: u64) -> Moment {
        Moment(0) + Duration::from_millis(ms)
    }

    fn passed(node: i32, log_end_offset: i64, not_before: Option<u64>) -> Passed {
        Passed { node: BrokerId(node), is_voter: node <= 2, log_end_offset, not_before: not_before.map(at) }
    }

    /// The time of an answer, the ends in it, who has passed told records, and who lacks some.
    type Row<'a> = (u64, &'a [(i32, i64)], &'a [Passed], Option<i32>);

    #[test]
    fn a_node_is_told_when_it_passes_a_told_record() {
        let mut fetched = Fetched::default();
        fetched.told(99);
        assert_eq!(
            fetched.answered(&quorum(&[(1, 101), (2, 100), (3, 98)]), at(10)),
            [passed(1, 101, None), passed(2, 100, None), passed(3, 98, None)],
            "at first all are told"
        );
        assert_eq!(fetched.behind(), Some((BrokerId(3), 98)));
        let rows: [Row<'_>; 5] = [
            (20, &[(1, 103), (2, 103), (3, 99)], &[], Some(3)),
            (30, &[(1, 103), (2, 103), (3, 100)], &[passed(3, 100, Some(20))], None),
            // Records at 105 and 107 are told before the next answer.
            (40, &[(1, 108), (2, 105), (3, 106)], &[passed(1, 108, Some(30)), passed(3, 106, Some(30))], Some(2)),
            (50, &[(1, 109), (2, 108), (3, 107)], &[passed(2, 108, Some(40))], Some(3)),
            (60, &[(1, 109), (2, 109), (3, 109)], &[passed(3, 109, Some(50))], None),
        ];
        for (ms, ends, expected, behind) in rows {
            if ms == 40 {
                fetched.told(105);
                fetched.told(107);
            }
            assert_eq!(fetched.answered(&quorum(ends), at(ms)), expected, "{ms}");
            assert_eq!(fetched.behind().map(|(node, _)| node.0), behind, "{ms}");
        }
        assert_eq!(fetched.told.len(), 0, "nobody lacks what was told");
    }

    #[test]
    fn a_record_that_is_told_after_the_answers_that_hold_it_is_passed_all_the_same() {
        let mut fetched = Fetched::default();
        fetched.answered(&quorum(&[(1, 10), (3, 10)]), at(10));
        assert_eq!(fetched.answered(&quorum(&[(1, 13), (3, 13)]), at(20)), []);
        fetched.told(12);
        let passed_late = [passed(1, 13, Some(10)), passed(3, 13, Some(10))];
        assert_eq!(fetched.answered(&quorum(&[(1, 13), (3, 13)]), at(30)), passed_late);
        assert_eq!(fetched.answered(&quorum(&[(1, 14), (3, 14)]), at(40)), [], "once");
    }

    #[test]
    fn a_node_that_lags_by_more_than_is_kept_is_told_when_it_passes_what_is() {
        let mut fetched = Fetched::default();
        fetched.answered(&quorum(&[(1, 0), (3, 0)]), at(10));
        let end = TOLD_MAX as i64 + 5;
        (0..end).for_each(|offset| fetched.told(offset));
        assert_eq!(fetched.told.len(), TOLD_MAX);
        assert_eq!(fetched.answered(&quorum(&[(1, end), (3, 5)]), at(20)), [passed(1, end, Some(10))]);
        assert_eq!(fetched.behind(), Some((BrokerId(3), 5)), "it is known to lag all the while");
        assert_eq!(fetched.answered(&quorum(&[(1, end), (3, end)]), at(30)), [passed(3, end, Some(20))]);
    }

    #[test]
    fn what_a_new_controller_does_not_know_stays_as_it_was() {
        let mut fetched = Fetched::default();
        fetched.answered(&quorum(&[(1, 10), (3, 10)]), at(10));
        fetched.told(12);
        assert_eq!(fetched.answered(&quorum(&[(1, 13), (3, -1)]), at(20)), [passed(1, 13, Some(10))]);
        assert_eq!(fetched.behind(), Some((BrokerId(3), 10)));
        assert_eq!(
            fetched.answered(&quorum(&[(1, 13), (3, 13)]), at(30)),
            [passed(3, 13, Some(10))],
            "asked at 20, nothing was said of it"
        );
        // One that is down: no new controller will hear of it.
        fetched.told(14);
        for (ms, behind) in [(40, Some((BrokerId(3), 13))), (3_029, Some((BrokerId(3), 13))), (3_030, None)] {
            fetched.answered(&quorum(&[(1, 15), (3, -1)]), at(ms));
            assert_eq!(fetched.behind(), behind, "{ms}");
        }
    }

    #[test]
    fn a_node_that_fetches_no_more_is_not_waited_for() {
        let mut fetched = Fetched::default();
        fetched.told(12);
        fetched.answered(&quorum(&[(1, 13), (9, 10)]), at(10));
        assert_eq!(fetched.behind(), None);
        assert_eq!(fetched.answered(&quorum(&[(1, 13), (9, 20)]), at(20)), [passed(9, 20, Some(10))], "it is told all the same");
    }

    #[test]
    fn what_was_cut_off_is_awaited_again_when_it_is_written_anew() {
        let mut fetched = Fetched::default();
        fetched.answered(&quorum(&[(1, 10), (2, 10)]), at(10));
        fetched.told(11);
        fetched.answered(&quorum(&[(1, 12), (2, 10)]), at(20));
        fetched.truncated(11);
        assert_eq!((fetched.last_told, fetched.behind()), (Some(10), Some((BrokerId(2), 10))));
        fetched.told(11);
        let again = fetched.answered(&quorum(&[(1, 12), (2, 12)]), at(30));
        assert_eq!(again, [passed(1, 12, Some(20)), passed(2, 12, Some(20))]);
    }
}
