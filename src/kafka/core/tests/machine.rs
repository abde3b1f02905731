//! Helpers: the metadata machine alone, between requests and answers by hand.

use std::time::Duration;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::lab::{START, answer, config, partition, topic, topic_answer};
use crate::clock::Moment;
use crate::ids::HostPort;
use crate::kafka::core::metadata::{Accepted, MetadataMachine, UpdateRequest};
use crate::kafka::event::UpdateReason;
use crate::kafka::wire::messages::{MetadataAnswer, TopicAnswer};

pub(super) struct Machine {
    pub(super) machine: MetadataMachine,
    pub(super) now: Moment,
    random: ChaCha8Rng,
}

impl Machine {
    pub(super) fn new(properties: &[(&str, &str)]) -> Self {
        let bootstrap = vec![HostPort::new("127.0.0.1", 9001)];
        Self { machine: MetadataMachine::new(&config(properties), bootstrap), now: START, random: ChaCha8Rng::seed_from_u64(8) }
    }

    /// A machine that has had its first answer and knows `orders` in two partitions.
    pub(super) fn settled(properties: &[(&str, &str)]) -> Self {
        let mut lab = Self::new(properties);
        lab.machine.add_topic(&topic("orders"), lab.now);
        lab.exchange(vec![orders(7, 2, 5)]);
        lab
    }

    pub(super) fn accept(&mut self, request: &UpdateRequest, answer: MetadataAnswer) -> Accepted {
        self.machine.accept(request, answer, self.now, true, &mut self.random)
    }

    /// The request that is due, and its answer.
    pub(super) fn exchange(&mut self, topics: Vec<TopicAnswer>) -> UpdateRequest {
        let request = self.machine.next_request(self.now);
        self.accept(&request, answer(2, topics));
        request
    }

    /// A full request and its answer.
    pub(super) fn hear(&mut self, topics: Vec<TopicAnswer>) {
        self.machine.request_update(UpdateReason::Disconnect);
        self.exchange(topics);
    }

    /// Least and greatest wait, over so many draws that the ends are met.
    pub(super) fn waits(&mut self) -> (Duration, Duration) {
        let draws = (0..20_000).map(|_| self.machine.time_to_next_update(self.now, &mut self.random));
        draws.fold((Duration::MAX, Duration::ZERO), |(least, most), wait| (least.min(wait), most.max(wait)))
    }

    /// The same in whole ms.
    pub(super) fn waits_ms(&mut self) -> (u128, u128) {
        let (least, most) = self.waits();
        (least.as_millis(), most.as_millis())
    }
}

/// The topic with so many partitions, led by broker 1.
pub(super) fn orders(id: u128, partitions: i32, epoch: i32) -> TopicAnswer {
    topic_answer("orders", id, (0..partitions).map(|index| partition(index, 1, epoch)).collect())
}
