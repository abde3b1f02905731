//! One partition's log against the ledger: batches in, findings out. Pure.
//!
//! A record belongs to whom it says it does (`load::payload`). One with a broken checksum belongs to nobody, so the record that it was counts as
//! not there. Not here: where batches come from (`reader`).

use rustc_hash::FxHashMap;

use super::ledger::{Index, Outcomes};
use super::lost::{self, Edge, Segments};
use super::sequences::Sequences;
use crate::ids::{LeaderEpoch, TopicPartition};
use crate::kafka::wire::log::LogBatch;
use crate::load::payload;
use crate::record::audit::{AuditCounts, AuditPair, AuditPartition, EpochStart, LostPlace, LostRecords};

/// Epochs of one log that are kept; later ones count as the last of these. A log that changes hands more often is no test of it.
pub(super) const EPOCHS_MAX: usize = 1_000;

/// What a partition's log holds, as far as it was read.
#[derive(Debug)]
pub struct PartitionCheck {
    partition: TopicPartition,
    next_offset: i64,
    summary: AuditPartition,
    /// By the producer's place in the index.
    found: FxHashMap<usize, Found>,
}

/// What there is of one producer.
#[derive(Debug, Default)]
struct Found {
    numbers: Sequences,
    greatest: Option<u32>,
    duplicated: u64,
    out_of_order: u64,
    segments: Segments,
}

/// What came of a partition.
#[derive(Debug)]
pub struct PartitionFindings {
    /// The log.
    pub partition: AuditPartition,
    /// Producers that wrote to it, or said that they did.
    pub pairs: Vec<AuditPair>,
    /// Stretches of lost records, as many as were asked for.
    pub lost: Vec<LostRecords>,
    /// Lost records beyond those stretches.
    pub lost_untold: u64,
}

impl PartitionCheck {
    /// A log that begins at this offset.
    #[must_use]
    pub fn new(partition: TopicPartition, log_start_offset: i64) -> Self {
        let summary = AuditPartition::empty(partition.clone(), log_start_offset);
        Self { partition, next_offset: log_start_offset, summary, found: FxHashMap::default() }
    }

    /// First offset that has not been seen: what comes before it is passed over.
    #[must_use]
    pub fn next_offset(&self) -> i64 {
        self.next_offset
    }

    /// Takes the log's next batch.
    pub fn batch(&mut self, batch: &LogBatch, index: &Index) {
        if batch.next_offset <= self.next_offset {
            return;
        }
        let epoch = LeaderEpoch(batch.leader_epoch);
        self.epoch(epoch, batch.base_offset.max(self.next_offset));
        let mut seen = 0_u64;
        for record in batch.records() {
            match record {
                // The first batch of an answer, and of a log whose beginning was deleted, may begin earlier than was asked for.
                Ok(record) if record.offset < self.next_offset => {}
                Ok(record) => {
                    self.missing(record.offset);
                    self.next_offset = record.offset + 1;
                    seen += 1;
                    if !batch.is_control {
                        self.record(record.value, record.offset, epoch, index);
                    }
                }
                // The batch's checksum fits, so a client wrote it like this: whatever is behind cannot be told apart.
                Err(_) => {
                    let rest = batch.next_offset - self.next_offset;
                    self.summary.corrupt += rest.unsigned_abs();
                    seen += rest.unsigned_abs();
                    self.next_offset = batch.next_offset;
                }
            }
        }
        *if batch.is_control { &mut self.summary.control_records } else { &mut self.summary.records } += seen;
        self.missing(batch.next_offset);
        self.next_offset = batch.next_offset;
    }

    /// Offsets up to this one hold nothing.
    fn missing(&mut self, offset: i64) {
        self.summary.missing_offsets += u64::try_from(offset - self.next_offset).unwrap_or(0);
        self.next_offset = self.next_offset.max(offset);
    }

    fn epoch(&mut self, epoch: LeaderEpoch, start_offset: i64) {
        let epochs = &mut self.summary.epochs;
        if epochs.last().is_none_or(|last| last.epoch != epoch) && epochs.len() < EPOCHS_MAX {
            epochs.push(EpochStart { epoch, start_offset });
        }
    }

    fn record(&mut self, value: Option<&[u8]>, offset: i64, epoch: LeaderEpoch, index: &Index) {
        let identity = value.and_then(payload::parse);
        let Some(identity) = identity else {
            self.summary.foreign += 1;
            return;
        };
        match identity.is_intact {
            Some(true) => {}
            Some(false) => {
                self.summary.corrupt += 1;
                return;
            }
            None => self.summary.unchecked += 1,
        }
        let number = identity.sequence.and_then(|sequence| u32::try_from(sequence).ok());
        let author = identity.group_hash.map(|hash| (hash, identity.producer));
        let known = author.and_then(|author| index.place_of(author)).zip(number);
        let Some((place, number)) = known else {
            self.summary.foreign += 1;
            return;
        };
        self.found.entry(place).or_default().enter(number, epoch, Edge { number, offset, due_us: identity.due_us });
    }

    /// The log ends at this offset: sets what is there against what was said. At most `lost_max` stretches of lost records are told.
    #[must_use]
    pub fn finish(mut self, end_offset: i64, index: &Index, lost_max: usize) -> PartitionFindings {
        self.missing(end_offset);
        self.summary.end_offset = self.next_offset;
        let (mut pairs, mut lost, mut lost_untold) = (Vec::new(), Vec::new(), 0);
        for (place, said) in index.on(&self.partition) {
            let found = self.found.remove(&place).unwrap_or_default();
            let missing = said.acknowledged.without(&found.numbers);
            let producer = index.producer(place);
            let stretches = lost::stretches(&missing, said, &found.segments, &self.summary).take(lost_max - lost.len());
            let told: Vec<LostRecords> = stretches.map(|stretch| stretch.of(producer, &self.partition)).collect();
            lost_untold += missing.len() - told.iter().map(|stretch| stretch.records).sum::<u64>();
            lost.extend(told);
            pairs.push(self.pair(place, said, &found, missing.len(), index));
        }
        // Producers that are here and never said so.
        for (place, found) in std::mem::take(&mut self.found) {
            pairs.push(self.pair(place, &Outcomes::default(), &found, 0, index));
        }
        pairs.sort_by(|left, right| (&left.group, left.producer).cmp(&(&right.group, right.producer)));
        PartitionFindings { partition: self.summary, pairs, lost, lost_untold }
    }

    /// There is no such partition any more.
    #[must_use]
    pub(super) fn gone(self, index: &Index, lost_max: usize) -> PartitionFindings {
        let mut findings = self.finish(0, index, lost_max);
        findings.lost.iter_mut().for_each(|lost| lost.place = LostPlace::NoPartition);
        findings
    }

    fn pair(&self, place: usize, said: &Outcomes, found: &Found, lost: u64, index: &Index) -> AuditPair {
        let producer = index.producer(place);
        // Records that failed before they had a partition may be on any.
        let nowhere = index.without_partition(place, &self.partition.topic);
        let failed_found = found.numbers.count_in(said.failed()) + nowhere.map_or(0, |failed| found.numbers.count_in(failed.failed()));
        let indeterminate_found = found.numbers.count_in(said.indeterminate());
        let in_any = found.numbers.count_in(&said.acknowledged) + failed_found + indeterminate_found;
        let counts = AuditCounts {
            acknowledged: said.acknowledged.len(),
            found: found.numbers.len(),
            lost,
            duplicated: found.duplicated,
            out_of_order: found.out_of_order,
            failed: said.failed().len(),
            failed_found,
            indeterminate: said.indeterminate().len(),
            indeterminate_found,
            untold_found: found.numbers.len().saturating_sub(in_any),
        };
        let TopicPartition { topic, partition } = self.partition.clone();
        AuditPair { group: producer.group.clone(), producer: producer.producer, topic, partition, counts }
    }
}

impl Found {
    fn enter(&mut self, number: u32, epoch: LeaderEpoch, edge: Edge) {
        if !self.numbers.insert(number) {
            self.duplicated += 1;
            return;
        }
        if self.greatest.is_some_and(|greatest| number < greatest) {
            self.out_of_order += 1;
        }
        self.greatest = self.greatest.max(Some(number));
        self.segments.enter(epoch, edge);
    }
}
