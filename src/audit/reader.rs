//! Reads every partition to its end, from its leader, and has each checked against the ledger.
//!
//! One task per leader, one partition at a time: what a partition holds is in memory only while it is read. The end of a log is where its high
//! watermark and its last offset are one, and stay so until all others have been read, too. What cannot be read within the bound is told as
//! unread, with the reason. Not here: what is checked (`check`). Called by `run`, once the load is over and all faults are healed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use super::check::{PartitionCheck, PartitionFindings};
use super::ledger::Index;
use super::log::{Against, LogReader, Place, ReadError};
use crate::clock::{Clock, Moment};
use crate::ids::{BrokerId, HostPort, PartitionIndex, TopicName, TopicPartition};
use crate::kafka::admin::{Admin, AdminError, ClusterView, ErrorCode, Security, Traffic};

/// Name of the reader in brokers' logs.
pub const CLIENT_ID: &str = "chaos-audit";
/// Pause between two rounds over partitions that could not be read yet.
const ROUND: Duration = Duration::from_millis(250);
/// Stretches of lost records that are told of each partition; all are counted.
const LOST_MAX: usize = 1_000;

/// What is read, and by when.
#[derive(Clone, Debug)]
pub struct Job {
    /// The clock.
    pub clock: Clock,
    /// How brokers' listeners are secured.
    pub security: Security,
    /// Where each broker is reached.
    pub brokers: BTreeMap<BrokerId, HostPort>,
    /// Topics that are read; those of the ledger are read, too.
    pub topics: BTreeSet<TopicName>,
    /// Longest that reading may take.
    pub within: Duration,
}

/// How far reading is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Records that were read.
    pub records: AtomicU64,
    /// Partitions that were read to their end.
    pub partitions_read: AtomicU64,
    /// All of them, as far as they are known.
    pub partitions: AtomicU64,
}

/// What was read.
#[derive(Debug, Default)]
pub struct Reading {
    /// Partitions that were read to their end, or are gone.
    pub read: BTreeMap<TopicPartition, PartitionFindings>,
    /// Those that could not be read, and why.
    pub unread: BTreeMap<TopicPartition, String>,
    /// Bytes that came.
    pub bytes: u64,
}

/// What a view says of the partitions that are to be read.
#[derive(Debug, Default)]
struct Sorted {
    by_leader: BTreeMap<BrokerId, Vec<Place>>,
    gone: Vec<TopicPartition>,
    waiting: BTreeMap<TopicPartition, String>,
}

/// Reads everything.
pub async fn read(job: &Job, index: &Arc<Index>, progress: &Arc<Progress>) -> Reading {
    let traffic = Traffic::default();
    let bootstrap = job.brokers.values().cloned().collect();
    let admin =
        Admin::new(bootstrap, job.security.named(CLIENT_ID), job.clock.clone()).with_traffic(traffic.clone()).with_patience(job.within);
    let deadline = job.clock.now() + job.within;
    let mut round = Round { job, index, progress, traffic: &traffic, deadline, reading: Reading::default() };
    round.until_read(&admin).await;
    round.reading.bytes = traffic.take().response_bytes;
    round.reading
}

struct Round<'a> {
    job: &'a Job,
    index: &'a Arc<Index>,
    progress: &'a Arc<Progress>,
    traffic: &'a Traffic,
    deadline: Moment,
    reading: Reading,
}

impl Round<'_> {
    async fn until_read(&mut self, admin: &Admin) {
        let mut topics = self.job.topics.clone();
        topics.extend(self.index.partitions().map(|partition| partition.topic.clone()));
        let topics: Vec<TopicName> = topics.into_iter().collect();
        loop {
            let left = match admin.metadata(Some(&topics)).await {
                Ok(view) => self.pass(&sorted(&view, &topics, self.index)).await,
                Err(error) => self.nobody_answers(&error),
            };
            if !left || self.job.clock.now() + ROUND >= self.deadline {
                return;
            }
            tokio::time::sleep(ROUND).await;
        }
    }

    /// Reads what is not read yet, and what has grown since; whether something is left.
    async fn pass(&mut self, sorted: &Sorted) -> bool {
        let partitions = sorted.by_leader.values().map(Vec::len).sum::<usize>() + sorted.gone.len() + sorted.waiting.len();
        self.progress.partitions.store(partitions as u64, Ordering::Relaxed);
        for partition in &sorted.gone {
            let gone = PartitionCheck::new(partition.clone(), 0).gone(self.index, LOST_MAX);
            self.reading.read.insert(partition.clone(), gone);
            self.reading.unread.remove(partition);
        }
        self.reading.unread.extend(sorted.waiting.clone());
        let mut leaders = JoinSet::new();
        for (leader, places) in &sorted.by_leader {
            let known = |place: &Place| self.reading.read.get(&place.partition).map(|read| read.partition.end_offset);
            let places: Vec<(Place, Option<i64>)> = places.iter().map(|place| (place.clone(), known(place))).collect();
            match self.job.brokers.get(leader) {
                Some(listener) => {
                    let reader = LogReader::new(
                        listener.clone(),
                        self.job.security.named(CLIENT_ID),
                        self.job.clock.clone(),
                        self.traffic.clone(),
                        self.deadline,
                    );
                    let (index, progress) = (Arc::clone(self.index), Arc::clone(self.progress));
                    leaders.spawn(read_leader(reader, places, Against { index, progress, lost_max: LOST_MAX }));
                }
                None => {
                    let why = format!("its leader, node {leader}, is no node of this run");
                    self.reading.unread.extend(places.into_iter().map(|(place, _)| (place.partition, why.clone())));
                }
            }
        }
        let mut left = !sorted.waiting.is_empty();
        while let Some(read) = leaders.join_next().await {
            // A task that panicked has been told of by the panic hook.
            for (partition, outcome) in read.unwrap_or_default() {
                left |= self.enter(partition, outcome);
            }
        }
        left
    }

    /// Whether it has to be read again.
    fn enter(&mut self, partition: TopicPartition, outcome: Result<Option<PartitionFindings>, ReadError>) -> bool {
        match outcome {
            // It ends where it ended before.
            Ok(None) => false,
            Ok(Some(findings)) => {
                self.reading.unread.remove(&partition);
                self.reading.read.insert(partition, findings);
                // The others may have grown while this one was read.
                true
            }
            Err(error) => {
                self.reading.read.remove(&partition);
                self.reading.unread.insert(partition, error.to_string());
                error.is_passing()
            }
        }
    }

    fn nobody_answers(&mut self, error: &AdminError) -> bool {
        let partitions: Vec<TopicPartition> = self.index.partitions().cloned().collect();
        for partition in partitions {
            self.reading.unread.entry(partition).or_insert_with(|| error.to_string());
        }
        true
    }
}

/// Sorts all partitions of these topics, and those of the ledger, by who leads them.
fn sorted(view: &ClusterView, topics: &[TopicName], index: &Index) -> Sorted {
    let mut sorted = Sorted::default();
    for name in topics {
        let Some(topic) = view.topics.iter().find(|topic| topic.name == *name) else { continue };
        let partition_of = |partition: PartitionIndex| TopicPartition { topic: name.clone(), partition };
        for partition in &topic.partitions {
            match (partition.leader, topic.id) {
                (Some(leader), Some(id)) => sorted.by_leader.entry(leader).or_default().push(Place {
                    partition: partition_of(partition.partition),
                    topic: id,
                    leader_epoch: partition.leader_epoch,
                }),
                (None, _) => {
                    sorted.waiting.insert(partition_of(partition.partition), "it has no leader".to_owned());
                }
                (_, None) => {
                    sorted.waiting.insert(partition_of(partition.partition), "brokers do not tell the topic's id".to_owned());
                }
            }
        }
    }
    for partition in index.partitions() {
        let topic = view.topics.iter().find(|topic| topic.name == partition.topic);
        match topic.map(|topic| (topic.error, topic.partition(partition.partition))) {
            Some((Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) | None, None)) => sorted.gone.push(partition.clone()),
            Some((Some(code), None)) => {
                sorted.waiting.insert(partition.clone(), format!("brokers say: {code}"));
            }
            None => {
                sorted.waiting.insert(partition.clone(), "brokers say nothing of its topic".to_owned());
            }
            Some((_, Some(_))) => {}
        }
    }
    sorted
}

type OfLeader = Vec<(TopicPartition, Result<Option<PartitionFindings>, ReadError>)>;

/// Reads partitions of one leader; those that end where they were found to end are left.
async fn read_leader(mut reader: LogReader, places: Vec<(Place, Option<i64>)>, against: Against) -> OfLeader {
    let mut outcomes = Vec::new();
    for (place, known_end) in places {
        let outcome = reader.read(&place, known_end, &against).await;
        if matches!(outcome, Ok(Some(_))) && known_end.is_none() {
            against.progress.partitions_read.fetch_add(1, Ordering::Relaxed);
        }
        outcomes.push((place.partition, outcome));
    }
    outcomes
}
