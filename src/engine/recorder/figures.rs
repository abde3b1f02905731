//! A group's counts and histograms since they were last taken, in one shard per core.
//!
//! A client's driver locks its thread's shard once per batch, never per record; once a second all shards are swapped for empty ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::engine::recorder::lock;
use crate::engine::recorder::tells::Tells;
use crate::ids::PartitionIndex;
use crate::kafka::event::UpdateReason;
use crate::record::fact::{GroupSecond, Totals, UNKNOWN_REASON};
use crate::record::histogram::LatencyHistogram;

/// A group's histograms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    ResponseOk,
    ResponseBad,
    ServiceOk,
    ServiceBad,
    MetadataRoundTrip,
}

impl Series {
    const ALL: [(Self, &'static str); 5] = [
        (Self::ResponseOk, "response_ok"),
        (Self::ResponseBad, "response_bad"),
        (Self::ServiceOk, "service_ok"),
        (Self::ServiceBad, "service_bad"),
        (Self::MetadataRoundTrip, "metadata_round_trip"),
    ];
}

/// What became of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fate {
    Ok,
    Failed,
    Indeterminate,
}

/// Names of the reasons for Metadata requests, in facts.
pub(crate) const REASONS: [&str; 12] = [
    "start",
    "new_topic",
    "age",
    "disconnect",
    "produce_error",
    "metadata_error",
    "no_leader",
    "rebootstrap",
    "producer_id",
    "connected",
    "leader_query",
    UNKNOWN_REASON,
];

/// Reasons that foreign clients tell themselves, as positions in [`REASONS`].
#[cfg(feature = "librdkafka")]
pub(crate) mod reason {
    pub(crate) const AGE: usize = 2;
    pub(crate) const DISCONNECT: usize = 3;
    pub(crate) const CONNECTED: usize = 9;
    pub(crate) const LEADER_QUERY: usize = 10;
    pub(crate) const UNKNOWN: usize = 11;
}

/// Position of a reason in [`REASONS`], and the code behind it.
pub(crate) fn reason_index(reason: UpdateReason) -> (usize, Option<i16>) {
    match reason {
        UpdateReason::Start => (0, None),
        UpdateReason::NewTopic => (1, None),
        UpdateReason::Age => (2, None),
        UpdateReason::Disconnect => (3, None),
        UpdateReason::ProduceError(code) => (4, Some(code.0)),
        UpdateReason::MetadataError(code) => (5, Some(code.0)),
        UpdateReason::NoLeader => (6, None),
        UpdateReason::Rebootstrap => (7, None),
        UpdateReason::ProducerId => (8, None),
    }
}

/// Counts and histograms. Histograms are made when first needed: most groups never see a failure.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) ok: u64,
    pub(crate) failed: u64,
    pub(crate) indeterminate: u64,
    pub(crate) blocked_metadata: u64,
    pub(crate) blocked_memory: u64,
    pub(crate) partitions_used_max: u32,
    pub(crate) metadata_requests: [u64; REASONS.len()],
    pub(crate) metadata_request_bytes: u64,
    pub(crate) metadata_response_bytes: u64,
    histograms: [Option<Box<LatencyHistogram>>; Series::ALL.len()],
}

impl Figures {
    /// The histogram of a series, to record into.
    pub(crate) fn series(&mut self, series: Series) -> &mut LatencyHistogram {
        self.histograms[series as usize].get_or_insert_with(Box::default)
    }

    /// Both histograms of a fate: response and service.
    pub(crate) fn latencies(&mut self, fate: Fate) -> (&mut LatencyHistogram, &mut LatencyHistogram) {
        let [response_ok, response_bad, service_ok, service_bad, _] = &mut self.histograms;
        let (response, service) = match fate {
            Fate::Ok => (response_ok, service_ok),
            Fate::Failed | Fate::Indeterminate => (response_bad, service_bad),
        };
        (response.get_or_insert_with(Box::default), service.get_or_insert_with(Box::default))
    }

    /// Counts records of a fate.
    pub(crate) fn count(&mut self, fate: Fate, records: u64) {
        *match fate {
            Fate::Ok => &mut self.ok,
            Fate::Failed => &mut self.failed,
            Fate::Indeterminate => &mut self.indeterminate,
        } += records;
    }

    /// A partition was acknowledged.
    pub(crate) fn note_partition(&mut self, partition: PartitionIndex) {
        self.partitions_used_max = self.partitions_used_max.max(u32::try_from(partition.0 + 1).unwrap_or(0));
    }

    /// Adds another's figures.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.ok += other.ok;
        self.failed += other.failed;
        self.indeterminate += other.indeterminate;
        self.blocked_metadata += other.blocked_metadata;
        self.blocked_memory += other.blocked_memory;
        self.partitions_used_max = self.partitions_used_max.max(other.partitions_used_max);
        for (sum, part) in self.metadata_requests.iter_mut().zip(other.metadata_requests) {
            *sum += part;
        }
        self.metadata_request_bytes += other.metadata_request_bytes;
        self.metadata_response_bytes += other.metadata_response_bytes;
        for (sum, part) in self.histograms.iter_mut().zip(&other.histograms) {
            if let Some(part) = part.as_deref().filter(|part| !part.is_empty()) {
                // Both have the bound that the type gives them, so nothing can be refused.
                let _ = sum.get_or_insert_with(Box::default).merge(part);
            }
        }
    }

    /// Forgets all figures, keeps the memory.
    pub(crate) fn reset(&mut self) {
        let histograms = std::mem::take(&mut self.histograms);
        *self = Self { histograms, ..Self::default() };
        for histogram in self.histograms.iter_mut().flatten().filter(|histogram| !histogram.is_empty()) {
            histogram.reset();
        }
    }

    /// Writes them into a second's fact, those that the group's clients tell.
    pub(crate) fn put_into(&self, second: &mut GroupSecond, tells: Tells) {
        let Totals { ok, failed, indeterminate, .. } = &mut second.counts;
        (*ok, *failed, *indeterminate) = (self.ok, self.failed, self.indeterminate);
        second.blocked_metadata = tells.waits_for_metadata.then_some(self.blocked_metadata);
        second.blocked_memory = tells.waits_for_memory.then_some(self.blocked_memory);
        second.partitions_used_max = self.partitions_used_max;
        second.metadata_request_bytes = tells.metadata_bytes.then_some(self.metadata_request_bytes);
        second.metadata_response_bytes = tells.metadata_bytes.then_some(self.metadata_response_bytes);
        second.metadata_requests = tells.metadata_requests.then(|| by_reason(&self.metadata_requests));
        for ((_, name), histogram) in Series::ALL.iter().zip(&self.histograms) {
            if let Some(histogram) = histogram {
                // Encoding into memory has no way to fail; a histogram that is missing all the same shows as such.
                let _ = second.put_histogram(name, histogram);
            }
        }
    }
}

/// Counts by reason as facts have them, without the zeros.
pub(crate) fn by_reason(counts: &[u64; REASONS.len()]) -> std::collections::BTreeMap<String, u64> {
    REASONS.iter().zip(counts).filter(|(_, count)| **count > 0).map(|(reason, count)| ((*reason).to_owned(), *count)).collect()
}

/// Figures in one shard per core; threads are spread over them.
#[derive(Debug)]
pub(crate) struct Shards(Box<[Shard]>);

/// Kept apart so that two cores don't share a cache line.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard(Mutex<Figures>);

/// More shards would cost memory (histograms) and gain little.
const MAX_SHARDS: usize = 16;

static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: usize = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
}

/// A number of the calling thread, counted in the order of first use.
pub(crate) fn thread_number() -> usize {
    THREAD.with(|number| *number)
}

/// So many shards keep this machine's cores apart.
pub(crate) fn shard_count() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(MAX_SHARDS)
}

impl Shards {
    /// Empty ones.
    pub(crate) fn new() -> Self {
        Self((0..shard_count()).map(|_| Shard::default()).collect())
    }

    /// The calling thread's shard, locked.
    pub(crate) fn mine(&self) -> MutexGuard<'_, Figures> {
        lock(&self.0[thread_number() % self.0.len()].0)
    }

    /// Adds all shards' figures to `sum` and leaves them empty. `spare` is empty before and after.
    pub(crate) fn take_into(&self, sum: &mut Figures, spare: &mut Figures) {
        for shard in &self.0 {
            std::mem::swap(&mut *lock(&shard.0), spare);
            sum.merge(spare);
            spare.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taking_moves_everything_once() {
        let shards = Shards::new();
        for value in [10, 20] {
            let mut mine = shards.mine();
            mine.count(Fate::Ok, 1);
            mine.metadata_requests[2] += 1;
            mine.latencies(Fate::Ok).0.record(value);
        }
        let (mut sum, mut spare) = (Figures::default(), Figures::default());
        shards.take_into(&mut sum, &mut spare);
        shards.take_into(&mut sum, &mut spare);
        let mut second = GroupSecond::default();
        sum.put_into(&mut second, Tells::EVERYTHING);
        assert_eq!(second.counts.ok, 2);
        assert_eq!(second.metadata_requests.as_ref().unwrap().get("age"), Some(&2));
        assert_eq!(second.histogram("response_ok").unwrap().unwrap().max_us(), 20);
        assert!(second.histogram("response_bad").unwrap().is_none());
        sum.reset();
        assert_eq!((sum.ok, sum.series(Series::ResponseOk).count()), (0, 0));
    }
}
