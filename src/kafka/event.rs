//! What a producer tells about itself: every step that can be observed, through one trait.
//!
//! The client does not know who listens. Events are values with moments of the clock that was handed in; high-rate work (records) is
//! told once per batch, never per record.

use std::fmt::Debug;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, ProducerIdAndEpoch, TopicId, TopicName, TopicPartition, UpdateVersion};
use crate::kafka::wire::error::ErrorCode;

/// Listens to one producer. Called from the client's driver and from senders, with no lock that a listener could need; must be quick.
pub trait ClientObserver: Debug + Send + Sync {
    /// A step of the client's life.
    fn event(&self, at: Moment, event: &ClientEvent);

    /// The outcome of a batch's records.
    fn delivered(&self, at: Moment, delivery: &BatchDelivery<'_>);
}

/// A batch whose outcome is known.
#[derive(Debug)]
pub struct BatchDelivery<'a> {
    /// Its topic.
    pub topic: &'a TopicName,
    /// Its partition.
    pub partition: PartitionIndex,
    /// Its records, in order.
    pub records: &'a [RecordTag],
    /// What became of all of them.
    pub outcome: &'a Outcome,
    /// How often it was sent.
    pub sends: u32,
}

/// What the client keeps of a record for its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTag {
    /// The sender's own mark, given back as it was: for a load generator, the moment at which the record was due.
    pub mark: u64,
    /// The sender's own number for it, given back as it was: for a load generator, which of the sender's records it is.
    pub number: u64,
    /// When `send` was called.
    pub sent_at: Moment,
}

/// Three-valued truth about a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged as `acks` asks (with `acks=0`: written to the socket).
    Ok {
        /// Offset of the first record of the batch; -1 where the broker gives none.
        base_offset: i64,
    },
    /// Certainly not in the log: it was never sent, or a broker refused it.
    Failed(Failure),
    /// May be in the log: it was sent, and no answer came in time.
    Indeterminate(Failure),
}

/// Why a record failed, with the Java client's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The Java client's exception class, such as `TimeoutException`.
    pub kind: String,
    /// The broker's (or the client's own) code, where there is one.
    pub code: Option<ErrorCode>,
    /// The message.
    pub text: String,
}

/// Why an update of the metadata was asked for. A request carries the first reason that made it necessary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateReason {
    /// Construction.
    Start,
    /// A topic (or an explicit partition) that the snapshot does not hold.
    NewTopic,
    /// `metadata.max.age.ms` has passed since the last full answer.
    Age,
    /// A connection was lost or could not be made.
    Disconnect,
    /// A Produce response said that the metadata is out of date.
    ProduceError(ErrorCode),
    /// A Metadata response itself held such an error.
    MetadataError(ErrorCode),
    /// Batches wait for a partition without a leader.
    NoLeader,
    /// The client went back to its bootstrap list.
    Rebootstrap,
    /// The node that was to give a producer id was not ready.
    ProducerId,
}

/// How a Metadata request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataOutcome {
    /// A new snapshot was published.
    Updated,
    /// The broker list was empty: counts as a failed attempt.
    Empty,
    /// The answer did not come: the connection was lost.
    Disconnected,
    /// The answer did not come in `request.timeout.ms`.
    TimedOut,
    /// REBOOTSTRAP_REQUIRED.
    RebootstrapRequired,
    /// The answer could not be read.
    Malformed,
}

/// Why a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DisconnectCause {
    /// The other side closed it, or the network failed.
    Lost,
    /// It could not be made.
    Refused,
    /// One side did not accept the other: TLS or SASL failed.
    Authentication,
    /// It was not made in `socket.connection.setup.timeout.ms`.
    SetupTimeout,
    /// A request on it got no answer in `request.timeout.ms`.
    RequestTimeout,
    /// Nothing was sent for `connections.max.idle.ms`.
    Idle,
    /// The other side broke the protocol.
    Protocol,
    /// The client goes back to its bootstrap list.
    Rebootstrap,
    /// The client closes.
    Closing,
}

/// What a `send` waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockedOn {
    /// The topic (or partition) in the snapshot.
    Metadata,
    /// Room in `buffer.memory`.
    Memory,
}

/// A step of a producer's life.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// A connection attempt began.
    Connecting {
        /// To which node.
        node: BrokerId,
    },
    /// TCP (and TLS) is up; ApiVersions is asked.
    Connected {
        /// To which node.
        node: BrokerId,
        /// How long it took.
        took: Duration,
    },
    /// ApiVersions was answered: the connection carries requests.
    Ready {
        /// To which node.
        node: BrokerId,
        /// ApiVersions' round trip.
        took: Duration,
    },
    /// A connection ended, or an attempt failed.
    Disconnected {
        /// From which node.
        node: BrokerId,
        /// Why.
        cause: DisconnectCause,
        /// Requests that were cut off.
        in_flight: usize,
        /// Whether a Metadata request was among them.
        metadata_in_flight: bool,
    },
    /// Somebody asked for an update; it may be merged with one that is already wanted.
    UpdateRequested {
        /// Why.
        reason: UpdateReason,
    },
    /// A Metadata request was handed to a connection.
    MetadataRequestSent {
        /// To which node.
        node: BrokerId,
        /// What made it necessary.
        reason: UpdateReason,
        /// All topics of interest, or only the new ones.
        full: bool,
        /// How many topics it names.
        topics: usize,
        /// Its size on the wire.
        request_bytes: usize,
    },
    /// It ended.
    MetadataRequestDone {
        /// Which node was asked.
        node: BrokerId,
        /// What had made it necessary.
        reason: UpdateReason,
        /// All topics of interest, or only the new ones.
        full: bool,
        /// How many topics it named.
        topics: usize,
        /// Its size on the wire.
        request_bytes: usize,
        /// The answer's size; 0 without one.
        response_bytes: usize,
        /// From hand-over to answer (or loss).
        round_trip: Duration,
        /// How it ended.
        outcome: MetadataOutcome,
        /// The client's update version afterwards.
        update_version: UpdateVersion,
    },
    /// The snapshot shows another partition count than before; from 0 when the topic is first seen, to 0 when it vanishes. Also if the topic has
    /// another id, whatever the counts: it was deleted and made anew.
    PartitionCountChanged {
        /// Of which topic.
        topic: TopicName,
        /// Its id now; `None`: brokers gave none, or it has vanished.
        topic_id: Option<TopicId>,
        /// Before.
        from: u32,
        /// Now.
        to: u32,
        /// Who said so; `None`: the client went back to its bootstrap list.
        node: Option<BrokerId>,
        /// The client's update version.
        update_version: UpdateVersion,
    },
    /// The snapshot shows another leader or epoch than before, or the topic has another id.
    LeaderChanged {
        /// Of which partition.
        partition: TopicPartition,
        /// The topic's id; `None`: brokers gave none.
        topic_id: Option<TopicId>,
        /// Leader before; `None`: unknown or without one.
        from: Option<BrokerId>,
        /// Leader now.
        to: Option<BrokerId>,
        /// The new epoch, where the broker gave one.
        epoch: Option<LeaderEpoch>,
        /// Who said so: the broker that answered to Metadata, or, between two updates, the one whose Produce answer named the new leader (KIP-951).
        /// `None`: the client went back to its bootstrap list.
        node: Option<BrokerId>,
        /// The client's update version; a leader named in a Produce answer does not raise it.
        update_version: UpdateVersion,
    },
    /// The client went back to its bootstrap list (KIP-899, KIP-1102).
    Rebootstrapped {
        /// The client's update version.
        update_version: UpdateVersion,
    },
    /// InitProducerId was answered: from here on records are produced, or the client asks again.
    ProducerIdAnswered {
        /// Which node was asked.
        node: BrokerId,
        /// What it gave, or its error.
        given: Result<ProducerIdAndEpoch, ErrorCode>,
        /// From hand-over to answer.
        round_trip: Duration,
    },
    /// A partition's sequence begins anew: the client has raised its epoch by itself (KIP-360).
    ProducerEpochBumped {
        /// The id and epoch from now on.
        producer: ProducerIdAndEpoch,
    },
    /// A Produce request was handed to a connection.
    ProduceSent {
        /// To which node.
        node: BrokerId,
        /// Batches in it.
        batches: usize,
        /// Records in it.
        records: usize,
        /// Its size on the wire.
        request_bytes: usize,
    },
    /// Its answer came.
    ProduceDone {
        /// From which node.
        node: BrokerId,
        /// From hand-over to answer.
        round_trip: Duration,
    },
    /// A batch came back with an error (its broker's, or the client's own for a cut-off or timed-out request).
    BatchError {
        /// Of which partition.
        partition: TopicPartition,
        /// Which node was asked.
        node: BrokerId,
        /// The code.
        code: ErrorCode,
        /// Whether it is sent again.
        retried: bool,
        /// Its records.
        records: usize,
    },
    /// The first batch to a partition goes to another node than the batch before it.
    RouteChanged {
        /// Which partition.
        partition: TopicPartition,
        /// To which node requests went before; `None`: none did.
        from: Option<BrokerId>,
        /// To which node this one goes.
        to: BrokerId,
    },
    /// A `send` had to wait and is through (or gave up).
    Blocked {
        /// For what.
        on: BlockedOn,
        /// How long.
        took: Duration,
        /// Whether it got what it waited for.
        satisfied: bool,
    },
    /// The client is closed.
    Closed,
}
