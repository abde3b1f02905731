//! Where leaders' logs end, once a second: whether records reach a leader that acknowledges nothing.

use std::collections::BTreeMap;

use super::index::{Index, Part, Room};
use super::log::KEPT_MAX;
use crate::analyze::window::SECOND_US;
use crate::ids::BrokerId;
use crate::record::broker::BrokerSecond;

/// One look at a leader's log.
#[derive(Clone, Copy, Debug)]
struct End {
    time_us: i64,
    leader: BrokerId,
    high_watermark: Option<i64>,
    end: i64,
}

/// What came of records at a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Nobody looked, or only once.
    Unknown,
    /// None came in.
    Nothing,
    /// Some came in and were not committed: followers do not take them.
    Filling,
    /// Some came in and were committed.
    Through,
}

/// All looks, by partition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ends {
    ends: BTreeMap<Part, Vec<End>>,
    pub(crate) room: Room<KEPT_MAX>,
}

impl Ends {
    /// Takes in what was seen of a node in a second.
    pub(crate) fn fold(&mut self, seen: &BrokerSecond, index: &mut Index) {
        let time_us = (seen.second + 1) * SECOND_US;
        for log in seen.led.iter().flat_map(|led| &led.probed) {
            let Some(end) = log.log_end_offset else { continue };
            if !self.room.take() {
                continue;
            }
            let end = End { time_us, leader: seen.node, high_watermark: log.high_watermark, end };
            self.ends.entry(index.part(&log.topic, log.partition)).or_default().push(end);
        }
    }

    /// What came of records at a leader between two times.
    pub(crate) fn flow(&self, part: Part, leader: BrokerId, from_us: i64, until_us: i64) -> Flow {
        let is_within = |end: &&End| end.leader == leader && (from_us..=until_us).contains(&end.time_us);
        let of_leader = || self.ends.get(&part).into_iter().flatten().filter(is_within);
        let (Some(first), Some(last)) = (of_leader().next(), of_leader().next_back()) else { return Flow::Unknown };
        if first.time_us == last.time_us {
            Flow::Unknown
        } else if last.high_watermark.zip(first.high_watermark).is_some_and(|(last, first)| last > first) {
            Flow::Through
        } else if last.end > first.end {
            Flow::Filling
        } else {
            Flow::Nothing
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{PartitionIndex, TopicName};
    use crate::record::broker::{Led, LogEnd};

    /// Second, end of the log, high watermark.
    type Look = (i64, i64, Option<i64>);

    fn ends(looks: &[Look]) -> Ends {
        let (mut ends, mut index) = (Ends::default(), Index::default());
        for (second, end, high_watermark) in looks {
            let (topic, partition) = (TopicName::from("orders"), PartitionIndex(0));
            let probed = vec![LogEnd {
                topic,
                partition,
                leader_epoch: None,
                replicas: None,
                high_watermark: *high_watermark,
                log_end_offset: Some(*end),
            }];
            let led = Some(Led { leaders: 1, under_replicated: 0, probed });
            let seen = BrokerSecond { second: *second, node: BrokerId(3), state: None, usage: None, led };
            ends.fold(&seen, &mut index);
        }
        ends
    }

    #[test]
    fn records_come_and_are_committed_or_not_or_do_not_come() {
        let table: [(&[Look], Flow); 7] = [
            (&[(1, 40, Some(40)), (3, 50, Some(40)), (5, 60, Some(40))], Flow::Filling),
            (&[(3, 50, None), (5, 60, None)], Flow::Filling),
            (&[(1, 40, Some(40)), (3, 50, Some(50)), (5, 50, Some(50))], Flow::Nothing),
            (&[(3, 50, Some(45)), (5, 60, Some(55))], Flow::Through),
            (&[(3, 50, Some(40)), (5, 60, Some(40)), (9, 70, Some(70))], Flow::Filling),
            (&[(0, 50, Some(40)), (1, 60, Some(40))], Flow::Unknown),
            (&[(3, 50, Some(50))], Flow::Unknown),
        ];
        for (looks, flow) in table {
            assert_eq!(ends(looks).flow(0, BrokerId(3), 3 * SECOND_US, 8 * SECOND_US), flow, "{looks:?}");
        }
        assert_eq!(ends(&[(3, 50, None), (5, 60, None)]).flow(0, BrokerId(2), 0, i64::MAX), Flow::Unknown, "another leads");
    }
}
