//! What a Produce request on the wire waits for: one place per batch, from its send to its answer.
//!
//! Java's counterpart: the batches that `Sender.sendProduceRequest` keeps for the answer. A batch that is given up meanwhile leaves a mark behind:
//! its records have their outcome, but what the answer says of its partition still counts. Not here: what an answer means (`produce_flow`).

use crate::ids::{PartitionIndex, TopicId, TopicName};
use crate::kafka::core::batch::Batch;
use crate::kafka::core::sequences::SentNumber;
use crate::kafka::wire::messages::ProducePartition;

/// The batches of a Produce request that waits for its answer.
#[derive(Debug)]
pub(super) struct InFlightBatches {
    places: Vec<Place>,
    /// Behind the place that was answered last. Answers mostly come in the order of the request.
    next: usize,
}

#[derive(Debug)]
struct Place {
    topic_id: Option<TopicId>,
    /// `None`: answered.
    sent: Option<Sent>,
}

/// What an answer finds.
#[derive(Debug)]
pub(super) enum Sent {
    /// A batch that waits for it.
    Waiting(Box<Batch>),
    /// The mark of one that was given up.
    GivenUp(GivenUp),
}

/// The mark of a batch that was given up on the wire.
#[derive(Debug)]
pub(super) struct GivenUp {
    pub(super) topic: TopicName,
    pub(super) partition: PartitionIndex,
    /// Its number, if an answer may still acknowledge it.
    pub(super) number: Option<SentNumber>,
}

impl Sent {
    /// Its topic and partition.
    pub(super) fn at(&self) -> (&TopicName, PartitionIndex) {
        match self {
            Self::Waiting(batch) => (&batch.topic, batch.partition),
            Self::GivenUp(given_up) => (&given_up.topic, given_up.partition),
        }
    }
}

impl InFlightBatches {
    /// Batches with the ids that their topics were sent under.
    pub(super) fn new(batches: impl IntoIterator<Item = (Option<TopicId>, Batch)>) -> Self {
        let place = |(topic_id, batch)| Place { topic_id, sent: Some(Sent::Waiting(Box::new(batch))) };
        Self { places: batches.into_iter().map(place).collect(), next: 0 }
    }

    /// Takes what an answer speaks of: by topic id where it has one, else by name.
    pub(super) fn take(&mut self, answer: &ProducePartition) -> Option<Sent> {
        let (before, behind) = self.places.split_at(self.next.min(self.places.len()));
        let found = match behind.iter().position(|place| place.is_meant(answer)) {
            Some(offset) => before.len() + offset,
            None => before.iter().position(|place| place.is_meant(answer))?,
        };
        self.next = found + 1;
        self.places[found].sent.take()
    }

    /// What is left, in the order of the request.
    pub(super) fn into_rest(self) -> impl Iterator<Item = Sent> {
        self.places.into_iter().filter_map(|place| place.sent)
    }

    /// Batches that wait.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &Batch> {
        self.places.iter().filter_map(|place| match &place.sent {
            Some(Sent::Waiting(batch)) => Some(&**batch),
            _ => None,
        })
    }

    /// Takes the batches that are to be given up, and leaves marks with what `number_of` says. A broker may have each of them.
    pub(super) fn give_up(
        &mut self,
        is_over: impl Fn(&Batch) -> bool,
        mut number_of: impl FnMut(&Batch) -> Option<SentNumber>,
    ) -> Vec<Batch> {
        let mut given_up = Vec::new();
        for place in &mut self.places {
            let Some(Sent::Waiting(mut batch)) = place.sent.take_if(|sent| matches!(sent, Sent::Waiting(batch) if is_over(batch))) else {
                continue;
            };
            batch.may_be_written = true;
            let (topic, partition, number) = (batch.topic.clone(), batch.partition, number_of(&batch));
            place.sent = Some(Sent::GivenUp(GivenUp { topic, partition, number }));
            given_up.push(*batch);
        }
        given_up
    }
}

impl Place {
    fn is_meant(&self, answer: &ProducePartition) -> bool {
        self.sent.as_ref().is_some_and(|sent| {
            let (topic, partition) = sent.at();
            partition == answer.partition
                && if answer.topic.is_empty() { self.topic_id == answer.topic_id } else { topic.as_str() == answer.topic }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::kafka::core::batch::BatchSize;

    fn answer(topic: &str, partition: i32) -> ProducePartition {
        ProducePartition {
            topic: topic.to_owned(),
            topic_id: None,
            partition: PartitionIndex(partition),
            error: None,
            message: None,
            base_offset: 0,
            leader: None,
            log_start_offset: None,
        }
    }

    #[test]
    fn every_order_of_answers_finds_its_batches_once() {
        let places = [("a", 0), ("a", 1), ("b", 0), ("b", 1)];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let batch = |(topic, partition): (&str, i32)| {
                (None, Batch::new(TopicName::from(topic), PartitionIndex(partition), 100, BatchSize::default(), 0, Moment(0)))
            };
            let mut batches = InFlightBatches::new(places.map(batch));
            let given_up = batches.give_up(|batch| batch.partition == PartitionIndex(1), |_| None);
            assert!(given_up.len() == 2 && given_up.iter().all(|batch| batch.may_be_written));
            assert_eq!(batches.waiting().count(), 2);
            for which in order {
                let (topic, partition) = places[which];
                let sent = batches.take(&answer(topic, partition)).unwrap();
                assert_eq!(sent.at(), (&TopicName::from(topic), PartitionIndex(partition)));
                assert_eq!(matches!(sent, Sent::GivenUp(_)), partition == 1);
                assert!(batches.take(&answer(topic, partition)).is_none(), "answered once");
            }
            assert_eq!(batches.into_rest().count(), 0);
        }
    }
}
