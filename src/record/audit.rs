//! What an audit of the topics found: of partitions, of producers' records on them, of records that are not there.

use serde::{Deserialize, Serialize};

use crate::ids::{LeaderEpoch, PartitionIndex, ProducerIndex, TopicName, TopicPartition};

/// A partition, read from its beginning to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
    /// First offset that is there.
    pub log_start_offset: i64,
    /// First offset behind all that was read.
    pub end_offset: i64,
    /// Records between both, control records not among them.
    pub records: u64,
    /// Control records.
    pub control_records: u64,
    /// Offsets between both at which there is nothing: compacted away, or a gap.
    pub missing_offsets: u64,
    /// Records that say of nobody in this run that they are theirs.
    pub foreign: u64,
    /// Records whose checksum is not that of their bytes.
    pub corrupt: u64,
    /// Records that are too short to have a checksum.
    pub unchecked: u64,
    /// Epochs of the leaders that wrote what is there, with their first offsets; a bounded number of them.
    pub epochs: Vec<EpochStart>,
    /// Why it could not be read to its end: nothing else here is known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<String>,
}

impl AuditPartition {
    /// An empty log that begins at this offset.
    #[must_use]
    pub fn empty(partition: TopicPartition, log_start_offset: i64) -> Self {
        Self {
            topic: partition.topic,
            partition: partition.partition,
            log_start_offset,
            end_offset: log_start_offset,
            records: 0,
            control_records: 0,
            missing_offsets: 0,
            foreign: 0,
            corrupt: 0,
            unchecked: 0,
            epochs: Vec::new(),
            unread: None,
        }
    }
}

/// Where a leader's epoch begins in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochStart {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// First offset written in it.
    pub start_offset: i64,
}

/// A producer's records on one partition: what its client said, and what is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditPair {
    /// The group.
    pub group: String,
    /// The producer.
    pub producer: ProducerIndex,
    /// The topic.
    pub topic: TopicName,
    /// The partition; -1 with `found` 0: records that failed before they had one.
    pub partition: PartitionIndex,
    /// Records in numbers.
    #[serde(flatten)]
    pub counts: AuditCounts,
}

/// Records by what the client said of them and what is there. Each number but `duplicated` counts a record once, however often it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditCounts {
    /// The client said that they are there.
    pub acknowledged: u64,
    /// They are there, whatever the client said.
    pub found: u64,
    /// Acknowledged and not there.
    pub lost: u64,
    /// Copies beyond the first.
    pub duplicated: u64,
    /// They come behind one that was sent later.
    pub out_of_order: u64,
    /// The client said that they are certainly not there.
    pub failed: u64,
    /// They are all the same.
    pub failed_found: u64,
    /// The client did not know.
    pub indeterminate: u64,
    /// They are there.
    pub indeterminate_found: u64,
    /// There, though the client told no outcome of such a record on this partition.
    pub untold_found: u64,
}

impl AuditCounts {
    /// All of them, as tables have them.
    #[must_use]
    pub fn in_order(&self) -> [u64; 10] {
        [
            self.acknowledged,
            self.found,
            self.lost,
            self.duplicated,
            self.out_of_order,
            self.failed,
            self.failed_found,
            self.indeterminate,
            self.indeterminate_found,
            self.untold_found,
        ]
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.found += other.found;
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.out_of_order += other.out_of_order;
        self.failed += other.failed;
        self.failed_found += other.failed_found;
        self.indeterminate += other.indeterminate;
        self.indeterminate_found += other.indeterminate_found;
        self.untold_found += other.untold_found;
    }
}

/// Consecutive records of one producer that were acknowledged on a partition and are not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostRecords {
    /// The group.
    pub group: String,
    /// The producer.
    pub producer: ProducerIndex,
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
    /// Number of the first.
    pub first_sequence: u32,
    /// Number of the last; those between that went to other partitions or did not end well are not lost.
    pub last_sequence: u32,
    /// How many.
    pub records: u64,
    /// Due time of the producer's last record before them that is there; `None`: there is none.
    pub due_after_us: Option<i64>,
    /// Due time of its first record after them that is there; `None`: there is none.
    pub due_before_us: Option<i64>,
    /// Where in the log they should have been.
    pub place: LostPlace,
}

/// Where in a partition's log lost records should have been, by what is there before and behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "at", rename_all = "snake_case")]
pub enum LostPlace {
    /// Where another leader's epoch begins: that leader did not have them, and the others cut them off at this offset.
    LeaderChange {
        /// Epoch of what is there before them; `None`: nothing of the producer is.
        epoch_before: Option<LeaderEpoch>,
        /// The next epoch in the log.
        epoch: LeaderEpoch,
        /// Its first offset.
        start_offset: i64,
    },
    /// Before the log's first offset: deleted, by request or by age.
    BeforeStart {
        /// That offset.
        log_start_offset: i64,
    },
    /// Among what one leader wrote.
    WithinEpoch {
        /// Its epoch.
        epoch: LeaderEpoch,
    },
    /// In an epoch or a later one: of more epochs than the audit follows it does not know where they begin.
    SinceEpoch {
        /// The earliest that they can have been written in.
        epoch: LeaderEpoch,
    },
    /// Behind all that the producer has there, and nothing was written in a later epoch.
    AtEnd {
        /// Epoch of what is there before them.
        epoch: LeaderEpoch,
        /// Where the log ends.
        end_offset: i64,
    },
    /// There is nothing of the producer, as when the topic was made anew.
    Nowhere,
    /// There is no such topic or partition any more.
    NoPartition,
}

/// An audit that is over: sums over all producers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEnded {
    /// How long it took, in us.
    pub took_us: u64,
    /// Records read.
    pub records: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Records that producers handed to their clients.
    pub sent: u64,
    /// Outcomes that clients told of them.
    pub outcomes: u64,
    /// Records whose outcomes the audit's bound refused.
    pub refused: u64,
    /// Lost records that are counted, but not told one by one, for there were too many stretches of them.
    pub lost_untold: u64,
    /// Groups whose records are too short to say whose they are: of them nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unidentified: Vec<String>,
}
