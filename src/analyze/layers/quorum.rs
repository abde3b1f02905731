//! The controllers: up to where their log is committed, who has fetched how much of it, and when there was no active controller.

use std::collections::BTreeMap;

use super::index::Room;
use super::log::KEPT_MAX;
use super::order::Sight;
use crate::ids::BrokerId;
use crate::record::fact::{Fact, Stamped};

/// What was seen of the quorum. One mark per fact; those tell only of records that were told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quorum {
    /// First offset that is not committed, and when that was seen.
    committed: Vec<(i64, Sight)>,
    /// The same of what each node has.
    fetched: BTreeMap<BrokerId, Vec<(i64, Sight)>>,
    /// Which controller was found to be the active one; `None`: none.
    followed: Vec<(i64, Option<BrokerId>)>,
    pub(crate) room: Room<KEPT_MAX>,
}

impl Quorum {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        let time_us = stamped.time_us;
        if !self.room.take() {
            return;
        }
        match &stamped.fact {
            Fact::ControllerCommitted { high_watermark, not_before_us } => {
                self.committed.push((*high_watermark, Sight { not_before_us: *not_before_us, time_us }));
            }
            Fact::NodeFetched { node, log_end_offset, not_before_us, .. } => {
                let sight = Sight { not_before_us: *not_before_us, time_us };
                self.fetched.entry(*node).or_default().push((*log_end_offset, sight));
            }
            Fact::ControllerFollowed { node, .. } => self.followed.push((time_us, *node)),
            _ => {}
        }
    }

    /// When the record at this offset was seen committed; `made_us` is the earliest time at which it may have been made.
    pub(crate) fn committed(&self, offset: i64, made_us: i64) -> Option<Sight> {
        first_past(&self.committed, offset, made_us)
    }

    /// When a node was seen to have it.
    pub(crate) fn fetched(&self, node: BrokerId, offset: i64, made_us: i64) -> Option<Sight> {
        first_past(self.fetched.get(&node)?, offset, made_us)
    }

    /// Nodes that were known to fetch the log at that time: one that joins the cluster later has nothing to follow yet.
    pub(crate) fn nodes(&self, time_us: i64) -> impl Iterator<Item = BrokerId> {
        let known = self.fetched.iter().filter(move |(_, marks)| marks.first().is_some_and(|(_, sight)| sight.time_us <= time_us));
        known.map(|(node, _)| *node)
    }

    /// Whether anybody ever told how far this node is.
    pub(crate) fn knows(&self, node: BrokerId) -> bool {
        self.fetched.contains_key(&node)
    }

    /// Stretches between two times in which no controller said that it is the active one.
    pub(crate) fn without_controller(&self, from_us: i64, until_us: i64) -> Vec<(i64, i64)> {
        let mut stretches = Vec::new();
        let mut lost_us = None;
        for (time_us, node) in self.followed.iter().copied().chain([(until_us, Some(BrokerId(-1)))]) {
            match (node, lost_us) {
                (None, None) => lost_us = Some(time_us),
                (Some(_), Some(since_us)) => {
                    let stretch = (from_us.max(since_us), until_us.min(time_us));
                    stretches.extend((stretch.0 < stretch.1).then_some(stretch));
                    lost_us = None;
                }
                _ => {}
            }
        }
        stretches
    }

    /// Since when there is none, if there was none at the end.
    pub(crate) fn lost_since_us(&self) -> Option<i64> {
        let lost = self.followed.iter().rev().take_while(|(_, node)| node.is_none());
        lost.last().map(|(time_us, _)| *time_us)
    }
}

/// Offsets fall again when a log is cut after a failover, so the first mark after the record that lies past it counts.
fn first_past(marks: &[(i64, Sight)], offset: i64, made_us: i64) -> Option<Sight> {
    let since = marks.partition_point(|(_, sight)| sight.time_us < made_us);
    marks[since..].iter().find(|(end, _)| *end > offset).map(|(_, sight)| *sight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample::Sample;

    fn quorum(stream: &Sample) -> Quorum {
        let mut quorum = Quorum::default();
        stream.facts.iter().for_each(|fact| quorum.fold(fact));
        quorum
    }

    #[test]
    fn a_record_is_committed_or_fetched_when_a_mark_lies_past_it() {
        let quorum = quorum(&Sample::new(&[]).committed(510, 1_000).committed(512, 1_030).fetched(2, 511, 1_010).fetched(2, 515, 1_200));
        let at = |sight: Option<Sight>| sight.map(|sight| (sight.not_before_us.unwrap() / 1000, sight.time_us / 1000));
        assert_eq!(at(quorum.committed(510, 0)), Some((990, 1_000)));
        assert_eq!(at(quorum.committed(511, 0)), Some((1_020, 1_030)));
        assert_eq!(at(quorum.committed(513, 0)), None);
        assert_eq!(at(quorum.fetched(BrokerId(2), 512, 0)), Some((1_190, 1_200)));
        assert_eq!((at(quorum.fetched(BrokerId(3), 500, 0)), quorum.knows(BrokerId(2)), quorum.knows(BrokerId(3))), (None, true, false));
        assert_eq!((quorum.nodes(1_009_999).count(), quorum.nodes(1_010_000).count()), (0, 1));
        // A mark from before the record is of a log that was cut since.
        assert_eq!(at(quorum.committed(510, 1_001_000)), Some((1_020, 1_030)));
    }

    #[test]
    fn stretches_without_an_active_controller_are_cut_to_what_is_asked() {
        let quorum = quorum(
            &Sample::new(&[])
                .followed(Some(1), 0)
                .followed(None, 2_000)
                .followed(None, 2_500)
                .followed(Some(3), 5_000)
                .followed(None, 9_000),
        );
        let stretches = |from: i64, until: i64| {
            let found = quorum.without_controller(from * 1000, until * 1000);
            found.iter().map(|(from, until)| (from / 1000, until / 1000)).collect::<Vec<_>>()
        };
        assert_eq!(stretches(0, 12_000), [(2_000, 5_000), (9_000, 12_000)]);
        assert_eq!(stretches(3_000, 4_000), [(3_000, 4_000)]);
        assert_eq!(stretches(5_000, 9_000), []);
        assert_eq!(quorum.lost_since_us(), Some(9_000_000));
    }
}
