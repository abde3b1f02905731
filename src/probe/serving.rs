//! Whether a leader serves: what one broker has answered to ListOffsets for partitions that it is to lead, with the leader's epoch. Pure.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::ids::{LeaderEpoch, TopicId, TopicPartition};
use crate::kafka::admin::ErrorCode;

/// A leadership of a partition. The epochs of a topic that is made anew under an old name begin at 0 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lead {
    pub(super) topic_id: Option<TopicId>,
    pub(super) epoch: LeaderEpoch,
}

/// What a broker says of a partition: its high watermark, or why not.
pub(super) type Said = Result<i64, ErrorCode>;

/// One broker's answers.
#[derive(Debug, Default)]
pub(super) struct Serving(BTreeMap<TopicPartition, Answer>);

#[derive(Debug)]
struct Answer {
    lead: Lead,
    said: Said,
    /// When the question was sent.
    asked_at: Moment,
}

/// An answer that differs from the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Served {
    pub(super) partition: TopicPartition,
    pub(super) epoch: LeaderEpoch,
    /// When it was last asked with the same epoch and answered otherwise; `None`: it was not asked with it before.
    pub(super) not_before: Option<Moment>,
    pub(super) said: Said,
}

impl Serving {
    /// Whether the broker is known to serve a partition in that leadership.
    pub(super) fn serves(&self, partition: &TopicPartition, lead: Lead) -> bool {
        self.0.get(partition).is_some_and(|answer| answer.lead == lead && answer.said.is_ok())
    }

    /// The broker has answered a question that was sent at `asked_at`. A partition that the answer leaves out says nothing.
    pub(super) fn answered(
        &mut self,
        asked: &[(TopicPartition, Lead)],
        answers: &BTreeMap<TopicPartition, Said>,
        asked_at: Moment,
    ) -> Vec<Served> {
        let mut served = Vec::new();
        for (partition, lead) in asked {
            let Some(said) = answers.get(partition) else { continue };
            let before = self.0.insert(partition.clone(), Answer { lead: *lead, said: *said, asked_at });
            let before = before.filter(|before| before.lead == *lead);
            // A high watermark that rises is no change.
            if before.as_ref().is_none_or(|before| before.said.err() != said.err()) {
                let not_before = before.map(|before| before.asked_at);
                served.push(Served { partition: partition.clone(), epoch: lead.epoch, not_before, said: *said });
            }
        }
        served
    }

    /// The broker is silent: what it said does not hold any more.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ids::PartitionIndex;
    use crate::probe::sample::topic_id;

    const FENCED: ErrorCode = ErrorCode(74);
    const UNKNOWN_EPOCH: ErrorCode = ErrorCode(75);

    /// A name, number of the topic's id, epoch, answer; what is told: since when not; and whether it serves afterwards.
    type Row<'a> = (&'a str, u128, i32, Option<Said>, Option<Option<u64>>, bool);

    #[test]
    fn an_answer_is_told_when_its_error_or_epoch_changes() {
        let orders = TopicPartition { topic: "orders".into(), partition: PartitionIndex(0) };
        let rows: [Row<'_>; 9] = [
            ("first", 7, 3, Some(Err(UNKNOWN_EPOCH)), Some(None), false),
            ("the same", 7, 3, Some(Err(UNKNOWN_EPOCH)), None, false),
            ("left out", 7, 3, None, None, false),
            ("serves", 7, 3, Some(Ok(40)), Some(Some(1)), true),
            ("goes on", 7, 3, Some(Ok(45)), None, true),
            ("fenced", 7, 3, Some(Err(FENCED)), Some(Some(4)), false),
            ("in another epoch", 7, 4, Some(Ok(50)), Some(None), true),
            ("another topic", 8, 4, Some(Ok(0)), Some(None), true),
            ("serves on", 8, 4, Some(Ok(1)), None, true),
        ];
        let at = |row: usize| Moment(0) + Duration::from_secs(row as u64);
        let mut serving = Serving::default();
        for (row, (name, id, epoch, said, expected, serves)) in rows.into_iter().enumerate() {
            let lead = Lead { topic_id: Some(topic_id(id)), epoch: LeaderEpoch(epoch) };
            let answers = said.map(|said| (orders.clone(), said)).into_iter().collect();
            let told = serving.answered(&[(orders.clone(), lead)], &answers, at(row));
            let expected = expected.map(|not_before| Served {
                partition: orders.clone(),
                epoch: LeaderEpoch(epoch),
                not_before: not_before.map(Duration::from_secs).map(|span| Moment(0) + span),
                said: said.unwrap(),
            });
            assert_eq!(told, Vec::from_iter(expected), "{name}");
            assert_eq!(serving.serves(&orders, lead), serves, "{name}");
        }
        serving.forget();
        assert!(!serving.serves(&orders, Lead { topic_id: Some(topic_id(8)), epoch: LeaderEpoch(4) }));
    }
}
