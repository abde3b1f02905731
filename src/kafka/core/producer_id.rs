//! The producer's id and epoch: whether there is one, and where the way to the next one stands.
//!
//! Java's counterparts: `TransactionManager` without transactions, `Sender.maybeSendAndPollTransactionalRequest`. Not here: the requests
//! (`producer_id_flow`), the numbers of each partition (`sequences`).

use std::time::Duration;

use crate::clock::Moment;
use crate::ids::{BrokerId, ProducerIdAndEpoch};
use crate::kafka::event::Failure;

/// The id in force and the way to the next.
#[derive(Debug)]
pub struct ProducerIdState {
    current: Option<ProducerIdAndEpoch>,
    /// Where the way to an id stands.
    pub phase: Phase,
}

/// Where the way to an id stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is nothing to get: an id is in force, or idempotence is off.
    Settled,
    /// A node is to be chosen, not before a moment if the last attempt failed.
    Wanted {
        /// The end of the pause.
        not_before: Option<Moment>,
        /// Whether metadata is asked for then, and the pause begins again.
        refresh_first: bool,
    },
    /// A node is chosen, and its connection is not ready yet.
    Awaiting {
        /// The node.
        node: BrokerId,
        /// When it is given up.
        until: Moment,
    },
    /// The request is in flight.
    Asked,
    /// No broker will ever give one: every record fails like this.
    Refused(Failure),
}

/// What a wish for a new epoch led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bumped {
    /// A new epoch is in force.
    To(ProducerIdAndEpoch),
    /// There is none left: another id must be got first.
    Exhausted,
    /// There is no id yet; the one that comes will do.
    NotYet,
    /// Nothing will be produced any more, under any epoch.
    Refused,
}

impl ProducerIdState {
    /// A fresh producer, idempotent or not.
    #[must_use]
    pub fn new(is_idempotent: bool) -> Self {
        let phase = if is_idempotent { Phase::Wanted { not_before: None, refresh_first: false } } else { Phase::Settled };
        Self { current: None, phase }
    }

    /// The id and epoch in force.
    #[must_use]
    pub fn current(&self) -> Option<ProducerIdAndEpoch> {
        self.current
    }

    /// Whether batches may be sent.
    #[must_use]
    pub fn lets_produce(&self) -> bool {
        self.phase == Phase::Settled
    }

    /// A broker gave an id.
    pub fn given(&mut self, producer: ProducerIdAndEpoch) {
        if !self.is_refused() {
            self.current = Some(producer);
            self.phase = Phase::Settled;
        }
    }

    /// The attempt failed; another follows after a pause.
    pub fn try_again(&mut self, pause: Duration, refresh_first: bool, now: Moment) {
        if !self.is_refused() {
            self.phase = Phase::Wanted { not_before: Some(now + pause), refresh_first };
        }
    }

    /// Nothing will be produced any more. That is final: the first reason stays, whatever is answered later.
    pub fn refuse(&mut self, failure: Failure) {
        if !self.is_refused() {
            self.phase = Phase::Refused(failure);
        }
    }

    fn is_refused(&self) -> bool {
        matches!(self.phase, Phase::Refused(_))
    }

    /// Sequences must begin anew somewhere: the next epoch, which needs no broker's leave (KIP-360), or another id when epochs are used up.
    pub fn bump(&mut self) -> Bumped {
        match self.current {
            _ if self.is_refused() => Bumped::Refused,
            None => Bumped::NotYet,
            Some(ProducerIdAndEpoch { epoch: i16::MAX, .. }) => {
                self.current = None;
                self.phase = Phase::Wanted { not_before: None, refresh_first: false };
                Bumped::Exhausted
            }
            Some(ProducerIdAndEpoch { id, epoch }) => {
                let next = ProducerIdAndEpoch { id, epoch: epoch + 1 };
                self.current = Some(next);
                Bumped::To(next)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_rise_without_asking_and_then_another_id_is_wanted() {
        let mut state = ProducerIdState::new(true);
        assert!(!state.lets_produce());
        assert_eq!(state.bump(), Bumped::NotYet);
        state.given(ProducerIdAndEpoch { id: 4, epoch: i16::MAX - 1 });
        assert!(state.lets_produce());
        assert_eq!(state.bump(), Bumped::To(ProducerIdAndEpoch { id: 4, epoch: i16::MAX }));
        assert!(state.lets_produce());
        assert_eq!(state.bump(), Bumped::Exhausted);
        assert!(!state.lets_produce() && state.current().is_none());
    }

    #[test]
    fn a_refusal_is_final() {
        let failure = |text: &str| Failure { kind: "KafkaException".to_owned(), code: None, text: text.to_owned() };
        let last = ProducerIdAndEpoch { id: 4, epoch: i16::MAX };
        let mut state = ProducerIdState::new(true);
        state.given(last);
        state.refuse(failure("first"));
        assert_eq!(state.bump(), Bumped::Refused);
        state.given(ProducerIdAndEpoch { id: 5, epoch: 0 });
        state.try_again(Duration::from_millis(1), false, Moment(0));
        state.refuse(failure("second"));
        assert_eq!((state.phase.clone(), state.current()), (Phase::Refused(failure("first")), Some(last)));
    }

    #[test]
    fn without_idempotence_nothing_is_asked_for() {
        assert!(ProducerIdState::new(false).lets_produce());
    }
}
