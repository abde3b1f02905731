//! Metadata requests of a foreign client, which says when and to whom, but not why or how large.

use crate::clock::Moment;
use crate::engine::recorder::client::ClientRecorder;
use crate::engine::recorder::figures::{REASONS, Series};
use crate::engine::recorder::life::{micros, outcome_name};
use crate::engine::recorder::{GroupRecorder, lock};
use crate::ids::{BrokerId, ProducerIndex, UpdateVersion};
use crate::kafka::event::MetadataOutcome;
use crate::record::fact::{Fact, UNKNOWN_REASON};

/// A Metadata request that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForeignRequest {
    sent_at: Moment,
    node: BrokerId,
}

impl ForeignRequest {
    /// How it ended.
    pub(super) fn fact(
        self,
        at: Moment,
        group: &GroupRecorder,
        producer: ProducerIndex,
        update_version: UpdateVersion,
        outcome: &str,
    ) -> Fact {
        Fact::MetadataRequest {
            group: group.name.clone(),
            producer,
            reason: UNKNOWN_REASON.to_owned(),
            code: None,
            full: None,
            topics: None,
            request_bytes: None,
            response_bytes: None,
            round_trip_us: micros(at.since(self.sent_at)),
            node: self.node,
            update_version,
            outcome: outcome.to_owned(),
        }
    }
}

impl ClientRecorder {
    /// The client has sent a Metadata request. One that was under way before has ended without a word of it.
    pub(crate) fn foreign_request_sent(&self, at: Moment, node: BrokerId) {
        let mut state = lock(&self.state);
        let life = &mut state.life;
        let silent = life.foreign_request.replace(ForeignRequest { sent_at: at, node });
        let silent = silent.map(|request| request.fact(at, &self.group, self.first, life.update_version, "unanswered"));
        // The last reason is the unknown one.
        life.metadata_requests[REASONS.len() - 1] += 1;
        self.group.shards.mine().metadata_requests[REASONS.len() - 1] += 1;
        drop(state);
        if let Some(fact) = silent {
            self.group.facts.emit(at, fact);
        }
    }

    /// It has ended; `update_version` is the client's afterwards, if that has changed. Nothing happens if none is under way.
    pub(crate) fn foreign_request_done(&self, at: Moment, outcome: MetadataOutcome, update_version: Option<UpdateVersion>) {
        let mut state = lock(&self.state);
        let life = &mut state.life;
        life.update_version = update_version.unwrap_or(life.update_version);
        let Some(request) = life.foreign_request.take() else { return };
        let fact = request.fact(at, &self.group, self.first, life.update_version, outcome_name(outcome));
        if outcome == MetadataOutcome::Updated {
            self.group.shards.mine().series(Series::MetadataRoundTrip).record(micros(at.since(request.sent_at)));
        }
        drop(state);
        self.group.facts.emit(at, fact);
    }
}
