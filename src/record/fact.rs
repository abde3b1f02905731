//! Facts: the one append-only stream that every file, figure and picture of a run is made from.
//!
//! A fact is what was seen, when, by whom; never a conclusion. Engines, steps and phases write them; `record::files` and `analyze` read
//! them, live or from `facts.jsonl`, with the same result. Not here: how they are written (`files`) or what they mean (`analyze`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, ProducerIndex, StepNumber, TopicId, TopicName, UpdateVersion};
pub use crate::record::audit::{AuditCounts, AuditEnded, AuditPair, AuditPartition, EpochStart, LostPlace, LostRecords};
use crate::record::broker::BrokerSecond;
pub use crate::record::consumers::{ConsumerInfo, ConsumerSecond};
use crate::record::layer::{BrokerShows, ControllerImage, ControllerRecord, ProbeSecond};
pub use crate::record::process::{ClientProcess, GeneratorSecond};
pub use crate::record::requesters::{RequesterInfo, RequesterSecond};
pub use crate::record::run::{GroupInfo, RunStarted};
pub use crate::record::second::{GroupSecond, Totals};
pub use crate::record::step::StepOutcome;

/// A fact with its time and the process that saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// Microseconds since the start of `steady`; negative before it.
    pub time_us: i64,
    /// Which load-generating process; 0 for the only one.
    pub worker: u32,
    /// What was seen.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// The run and its plan; always the first fact.
    RunStarted(Box<RunStarted>),
    /// What the plan expects; one fact per expectation, in plan order, so that the verdict can be made again from the facts alone.
    Expected {
        /// The metric's name in plans.
        metric: String,
        /// Of which group; `None`: over all groups.
        group: Option<String>,
        /// Over which window; `None`: the metric's usual one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        window: Option<String>,
        /// Windows of which nothing counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        except: Vec<String>,
        /// The comparison's sign in plans.
        comparison: String,
        /// With what.
        value: f64,
    },
    /// A phase began. `End` is the end of the load.
    PhaseStarted {
        /// Which.
        phase: Phase,
    },
    /// A step is about to be done; the time is taken just before the call.
    StepRequested {
        /// The step's number.
        step: StepNumber,
        /// The step whose part it is.
        parent: Option<StepNumber>,
        /// Round of a `repeat` or position in a `rolling`, from 1.
        round: Option<u32>,
        /// Such as `kill`, `start`, `rolling`, `add-partitions`.
        action: String,
        /// As the plan says it, such as `leader-of(orders/0)` or `orders 3 -> 6`.
        target: String,
        /// What the target was resolved to; empty for steps without nodes.
        nodes: Vec<BrokerId>,
        /// Whether the node was the active controller; `None` if that could not be asked or does not apply.
        was_controller: Option<bool>,
    },
    /// The engine's or the admin client's call returned.
    StepAcknowledged {
        /// The step's number.
        step: StepNumber,
    },
    /// The change was confirmed from outside.
    StepObserved {
        /// The step's number.
        step: StepNumber,
        /// What was seen.
        detail: String,
    },
    /// The step is over.
    StepFinished {
        /// The step's number.
        step: StepNumber,
        /// How.
        outcome: StepOutcome,
        /// In words.
        detail: String,
    },
    /// A group's producers are about to start.
    GroupStarted {
        /// The group.
        group: String,
        /// Configured keys that have no effect in this engine, and other remarks for the reader.
        warnings: Vec<String>,
    },
    /// A producer's way from construction to its first acknowledged record (all in microseconds since construction).
    FirstAck {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The first connection is up.
        connected_us: Option<u64>,
        /// Its ApiVersions are answered.
        ready_us: Option<u64>,
        /// The first topic is in the snapshot.
        metadata_us: Option<u64>,
        /// The producer id is there; `None` without idempotence, and in engines that do not tell.
        producer_id_us: Option<u64>,
        /// The first record is acknowledged.
        ack_us: u64,
    },
    /// A producer's first acknowledged record on a partition.
    PartitionFirstUsed {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// When that record was due.
        due_us: i64,
    },
    /// A Metadata request of a producer ended (or was cut off).
    MetadataRequest {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// What made it necessary: `start`, `new_topic`, `age`, `disconnect`, `produce_error`, `metadata_error`, `no_leader`, `rebootstrap`,
        /// `producer_id`; [`UNKNOWN_REASON`] of a client that does not say.
        reason: String,
        /// The error code behind `produce_error` and `metadata_error`.
        code: Option<i16>,
        /// All topics of interest, or only new ones; `None`: the client does not tell.
        full: Option<bool>,
        /// How many topics it named; `None`: the client does not tell.
        topics: Option<u32>,
        /// Bytes sent; `None`: the client does not tell.
        request_bytes: Option<u64>,
        /// Bytes received, 0 without an answer; `None`: the client does not tell.
        response_bytes: Option<u64>,
        /// From hand-over to answer or loss.
        round_trip_us: u64,
        /// Which node was asked; negative for a bootstrap address.
        node: BrokerId,
        /// The client's update version afterwards.
        update_version: UpdateVersion,
        /// `updated`, `empty`, `disconnected`, `timed_out`, `rebootstrap_required`, `malformed`, or `unanswered` at the end of the run.
        outcome: String,
    },
    /// A producer's cache shows another partition count. Of a foreign client it is known when it next speaks of itself.
    PartitionCount {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// Its id in the cache; `None`: the client does not tell, or holds the topic no more.
        topic_id: Option<TopicId>,
        /// Before.
        from: u32,
        /// Now.
        to: u32,
        /// Who said so; `None`: nobody, the client went back to its bootstrap list.
        node: Option<BrokerId>,
        /// The reason of the request that brought it, as in `metadata_request`.
        reason: Option<String>,
        /// The client's update version; `None`: it counts none.
        update_version: Option<UpdateVersion>,
    },
    /// A producer's cache shows another leader or epoch.
    LeaderSeen {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// The topic's id in the cache; `None`: the client does not tell, or holds the topic no more.
        topic_id: Option<TopicId>,
        /// Before.
        from: Option<BrokerId>,
        /// Now.
        to: Option<BrokerId>,
        /// The new epoch.
        epoch: Option<LeaderEpoch>,
        /// Who said so; with the `update_version` of the fact before it, in answer to Produce rather than to Metadata.
        node: Option<BrokerId>,
        /// The client's update version; a leader named in an answer to Produce does not raise it.
        update_version: UpdateVersion,
    },
    /// A producer's requests for a partition go to another node.
    RouteChanged {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// Before.
        from: Option<BrokerId>,
        /// Now.
        to: BrokerId,
    },
    /// The first record that a producer's partition got acknowledged since its cache showed another leader or its requests went another way.
    DeliveredAfterChange {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// The node that requests for it went to, by the last such fact; `None`: not known.
        node: Option<BrokerId>,
        /// When that record was due.
        due_us: i64,
    },
    /// A producer's connection ended or could not be made.
    Disconnected {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// From which node.
        node: BrokerId,
        /// As in `kafka::event::DisconnectCause`, in snake case.
        cause: String,
        /// Requests that were cut off.
        in_flight: u32,
        /// Whether a Metadata request was among them.
        metadata_in_flight: bool,
        /// For how long the client had tried to use it in vain, in us: it was not made, or its first request (ApiVersions) not answered. `None`:
        /// it had been ready, or the client does not tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_ready_us: Option<u64>,
    },
    /// A producer went back to its bootstrap list.
    Rebootstrapped {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The client's update version.
        update_version: UpdateVersion,
    },
    /// A batch came back with an error.
    BatchError {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// The node that was asked.
        node: BrokerId,
        /// The code.
        code: i16,
        /// Whether it is sent again.
        retried: bool,
        /// Its records.
        records: u32,
    },
    /// A stretch without service on a producer's partition: from the first record that was due after the last ok until the next ok.
    /// Only stretches of [`GAP_MIN_US`] and more are written; `analyze` decides which of them are outages.
    Gap {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// Last acknowledgement before it; `None`: there was none.
        last_ok_us: Option<i64>,
        /// Due time of the first record that was due after it.
        first_due_us: i64,
        /// The first error that a batch of the partition met since then (retried or not).
        first_error_us: Option<i64>,
        /// The acknowledgement that ended it; `None`: the run ended first.
        first_ok_us: Option<i64>,
    },
    /// Acknowledgements of a producer's partition between two gaps.
    AckRun {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// First acknowledgement.
        first_ok_us: i64,
        /// Last acknowledgement.
        last_ok_us: i64,
        /// How many records.
        records: u64,
    },
    /// Records that did not end well, of one kind, since the group's last such fact of that kind.
    RecordErrors {
        /// The group.
        group: String,
        /// `failed` or `indeterminate`; `late_ok`, `late_failed`, `late_indeterminate`: of a record that its sender had given up before;
        /// `early`: its time lies before the record was due or handed over, which its latency (0) does not show.
        outcome: String,
        /// The Java client's exception class.
        kind: String,
        /// The code, where there is one.
        code: Option<i16>,
        /// The first text.
        text: String,
        /// How many.
        count: u64,
        /// The first of them.
        first_us: i64,
        /// The last of them.
        last_us: i64,
    },
    /// A group's figures of one second.
    Second(Box<GroupSecond>),
    /// A requester group's figures of one second.
    RequesterSecond(Box<RequesterSecond>),
    /// A consumer's figures of one second.
    ConsumerSecond(Box<ConsumerSecond>),
    /// A producer's counts over its whole life, told when it ends.
    ProducerTotals {
        /// The group.
        group: String,
        /// The producer.
        producer: ProducerIndex,
        /// Its record counts.
        totals: Totals,
        /// Its Metadata requests by reason, cut-off ones included; under [`UNKNOWN_REASON`] those whose reason it does not tell. `None`: it
        /// does not even tell how many.
        metadata_requests: Option<BTreeMap<String, u64>>,
        /// Time that its sends waited for metadata; `None`: unknown.
        blocked_metadata_us: Option<u64>,
        /// Time that its sends waited for memory; `None`: unknown.
        blocked_memory_us: Option<u64>,
        /// Partition count of each topic in its cache at the end; `None`: unknown.
        cached_partitions: Option<BTreeMap<String, u32>>,
    },
    /// The load generator's own health in one second.
    Generator(Box<GeneratorSecond>),
    /// What the process of a group's foreign clients has used.
    ClientProcess(Box<ClientProcess>),
    /// What was seen of one node in one second.
    Broker(Box<BrokerSecond>),
    /// The controller's log as it stood when the tail had read it for the first time, or anew after a snapshot.
    ControllerImage(Box<ControllerImage>),
    /// A record of the controller's log has arrived at the tail. It need not be committed yet.
    ControllerRecord(Box<ControllerRecord>),
    /// The tail has learned that the controller's log is committed further; told when that covers records that were told.
    ControllerCommitted {
        /// First offset that is not committed.
        high_watermark: i64,
        /// The last answer before, with a lower one.
        not_before_us: Option<i64>,
    },
    /// Records of the controller's log that were told are no part of it any more: a new active controller does not have them. The image
    /// follows, as it is without them.
    ControllerTruncated {
        /// First offset that is gone.
        end_offset: i64,
        /// How many records are gone, those of other topics too.
        records: u64,
    },
    /// The tail reads from another active controller, or from none.
    ControllerFollowed {
        /// Which; `None`: no controller says that it is the active one.
        node: Option<BrokerId>,
        /// Its epoch.
        epoch: Option<LeaderEpoch>,
        /// What was heard, in words.
        detail: String,
    },
    /// A node has fetched the controller's log further, by the active controller's word; told when that covers records that were told.
    NodeFetched {
        /// Which node.
        node: BrokerId,
        /// Whether it votes.
        is_voter: bool,
        /// First offset that it does not have.
        log_end_offset: i64,
        /// When it was last asked while it had less: the moment at which that question was sent. `None`: it was not asked before.
        not_before_us: Option<i64>,
    },
    /// A broker's own answer to Metadata has changed.
    BrokerShows {
        /// Which broker.
        node: BrokerId,
        /// When it was last asked with the old answer, or in vain: the moment at which that question was sent. `None`: it was not asked before.
        not_before_us: Option<i64>,
        /// What it shows now.
        shows: BrokerShows,
    },
    /// A broker's answer to ListOffsets for a partition that it leads, with the leader's epoch, has changed.
    Servable {
        /// Which broker.
        node: BrokerId,
        /// The topic.
        topic: TopicName,
        /// The partition.
        partition: PartitionIndex,
        /// The epoch that it was asked with.
        leader_epoch: LeaderEpoch,
        /// When it was last asked with this epoch and the old answer: the moment at which that question was sent. `None`: it was not asked
        /// with it before.
        not_before_us: Option<i64>,
        /// The error code, such as 6 (NOT_LEADER_OR_FOLLOWER) or 74 (FENCED_LEADER_EPOCH); `None`: it serves.
        error: Option<i16>,
        /// First offset that consumers cannot read yet.
        high_watermark: Option<i64>,
    },
    /// What looking at the layers has cost in one second.
    ProbeSecond(Box<ProbeSecond>),
    /// Connections of clients that the relay could not take or pass on, since this process had no more files to open: not the brokers' doing.
    RelayRefused {
        /// How many.
        connections: u64,
    },
    /// A partition, as the audit read it.
    AuditPartition(Box<AuditPartition>),
    /// A producer's records on a partition: what its client said, and what the audit found.
    AuditPair(Box<AuditPair>),
    /// Records that were acknowledged and are not there.
    LostRecords(Box<LostRecords>),
    /// There was no audit, and why.
    AuditSkipped {
        /// Why.
        why: String,
    },
    /// The audit is over.
    AuditEnded(Box<AuditEnded>),
    /// Facts that did not fit into the stream's bound.
    FactsLost {
        /// How many.
        count: u64,
    },
    /// The load is over and every record's outcome is known or given up.
    RunEnded {
        /// Whether it was interrupted, and by what.
        interrupted: Option<String>,
    },
}

/// Stands for the reason of a Metadata request that a client counts without saying why it was sent.
pub const UNKNOWN_REASON: &str = "unknown";

/// Shortest stretch without service that is written as a [`Fact::Gap`].
pub const GAP_MIN_US: i64 = 100_000;

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load outside the baseline.
    Warmup,
    /// The baseline.
    Steady,
    /// From the first step's time base until the last step is over.
    Steps,
    /// After the last step.
    Recovery,
    /// No record is due any more; outstanding ones are waited for.
    Drain,
    /// The end of the load.
    End,
}
