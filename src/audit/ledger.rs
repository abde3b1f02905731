//! What clients said of their records, by number, until the audit asks.
//!
//! While a group runs, each producer's [`Outcomes`] lie with its recorder, per partition; when it has ended they come here. All that is ever
//! kept goes through [`Ledger::admit`], which bounds the whole: beyond it records are counted, and the audit says that it does not know of
//! them. Not here: counts and latencies (`engine::recorder`).

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::sequences::Sequences;
use crate::ids::{PartitionIndex, ProducerIndex, TopicName, TopicPartition};
use crate::load::seed::group_hash;

/// Records of which outcomes are kept, unless told otherwise: up to 16 bits each, some 400 MB if all are spread as badly as can be.
pub const RECORDS_MAX: u64 = 200_000_000;

/// Stands for "no partition": records that failed or wait before one was chosen.
pub const NO_PARTITION: PartitionIndex = PartitionIndex(-1);

/// What a client said of one producer's records on one partition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Acknowledged.
    pub acknowledged: Sequences,
    /// The others, of which most partitions have none.
    bad: Option<Box<Bad>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Bad {
    failed: Sequences,
    indeterminate: Sequences,
}

static NONE: std::sync::LazyLock<Bad> = std::sync::LazyLock::new(Bad::default);

impl Outcomes {
    /// Certainly not in the log, by the client's word.
    #[must_use]
    pub fn failed(&self) -> &Sequences {
        &self.bad.as_deref().unwrap_or(&NONE).failed
    }

    /// May be in the log.
    #[must_use]
    pub fn indeterminate(&self) -> &Sequences {
        &self.bad.as_deref().unwrap_or(&NONE).indeterminate
    }

    /// To enter failed ones.
    pub fn failed_mut(&mut self) -> &mut Sequences {
        &mut self.bad.get_or_insert_default().failed
    }

    /// To enter indeterminate ones.
    pub fn indeterminate_mut(&mut self) -> &mut Sequences {
        &mut self.bad.get_or_insert_default().indeterminate
    }

    /// Outcomes in all.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.acknowledged.len() + self.failed().len() + self.indeterminate().len()
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What was said of a producer's records on one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PairOutcomes {
    /// The topic.
    pub topic: TopicName,
    /// The partition; -1: the records had got none yet.
    pub partition: PartitionIndex,
    /// What was said.
    pub outcomes: Outcomes,
}

/// A producer that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct ProducerEntry {
    /// Its group.
    pub group: String,
    /// Which of the group's producers.
    pub producer: ProducerIndex,
    /// Records that it handed to its client: numbers 0 up to this.
    pub sent: u64,
    /// What was said of them.
    pub pairs: Vec<PairOutcomes>,
}

/// Where outcomes are kept. Shared by all groups of a run.
#[derive(Debug)]
pub struct Ledger {
    records_max: u64,
    admitted: AtomicU64,
    refused: AtomicU64,
    producers: Mutex<BTreeMap<(String, ProducerIndex), ProducerEntry>>,
}

impl Ledger {
    /// An empty one that keeps so many records' outcomes at most; 0: it keeps none, and refuses none, for nobody will ask.
    #[must_use]
    pub fn new(records_max: u64) -> Self {
        Self { records_max, admitted: AtomicU64::new(0), refused: AtomicU64::new(0), producers: Mutex::default() }
    }

    /// Whether anybody will ask.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.records_max > 0
    }

    /// Asks for room for a batch's outcomes. `false`: they are not to be kept.
    pub fn admit(&self, records: u64) -> bool {
        if !self.is_kept() {
            return false;
        }
        let fits = self.admitted.fetch_add(records, Ordering::Relaxed) + records <= self.records_max;
        if !fits {
            self.refuse(records);
        }
        fits
    }

    /// Counts records whose outcomes are not kept.
    pub fn refuse(&self, records: u64) {
        self.refused.fetch_add(records, Ordering::Relaxed);
    }

    /// Records whose outcomes did not fit.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Takes what was said of a producer that has ended.
    pub fn enter(&self, entry: ProducerEntry) {
        if self.is_kept() {
            let key = (entry.group.clone(), entry.producer);
            self.producers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
        }
    }

    /// All that was entered, ready to be asked; the ledger is empty afterwards.
    #[must_use]
    pub fn take(&self) -> Index {
        let producers = std::mem::take(&mut *self.producers.lock().unwrap_or_else(PoisonError::into_inner));
        Index::new(producers.into_values())
    }
}

/// Who a record says that it is from: hash of the group's name, producer.
pub type Author = (u32, ProducerIndex);

/// All producers' outcomes, by partition and by author.
#[derive(Debug, Default)]
pub struct Index {
    producers: Vec<ProducerEntry>,
    by_author: HashMap<Author, usize>,
    /// For each partition: producer (its place) and pair (its place among the producer's).
    by_partition: BTreeMap<TopicPartition, Vec<(usize, usize)>>,
}

impl Index {
    fn new(entries: impl Iterator<Item = ProducerEntry>) -> Self {
        let mut index = Self::default();
        for entry in entries {
            let (place, author) = (index.producers.len(), (group_hash(&entry.group), entry.producer));
            for (pair_place, pair) in entry.pairs.iter().enumerate() {
                let partition = TopicPartition { topic: pair.topic.clone(), partition: pair.partition };
                index.by_partition.entry(partition).or_default().push((place, pair_place));
            }
            index.by_author.insert(author, place);
            index.producers.push(entry);
        }
        index
    }

    /// The place of the producer that a record says it is from, for [`Index::producer`].
    #[must_use]
    pub fn place_of(&self, author: Author) -> Option<usize> {
        self.by_author.get(&author).copied()
    }

    /// All producers.
    pub fn producers(&self) -> impl ExactSizeIterator<Item = &ProducerEntry> {
        self.producers.iter()
    }

    /// The producer at this place.
    #[must_use]
    pub fn producer(&self, place: usize) -> &ProducerEntry {
        &self.producers[place]
    }

    /// Whoever said something of records on this partition: the producer's place, and what.
    pub fn on(&self, partition: &TopicPartition) -> impl Iterator<Item = (usize, &Outcomes)> {
        let pairs = self.by_partition.get(partition).map_or(&[][..], Vec::as_slice);
        pairs.iter().map(|(place, pair)| (*place, &self.producers[*place].pairs[*pair].outcomes))
    }

    /// What was said of a producer's records that had got no partition of the topic.
    #[must_use]
    pub fn without_partition(&self, place: usize, topic: &TopicName) -> Option<&Outcomes> {
        let pair = self.producers[place].pairs.iter().find(|pair| pair.partition == NO_PARTITION && pair.topic == *topic)?;
        Some(&pair.outcomes)
    }

    /// Partitions with outcomes; those of records that had got none are left out.
    pub fn partitions(&self) -> impl Iterator<Item = &TopicPartition> {
        self.by_partition.keys().filter(|partition| partition.partition != NO_PARTITION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(group: &str, producer: u32, acknowledged: &[u32]) -> ProducerEntry {
        let outcomes = Outcomes { acknowledged: acknowledged.iter().copied().collect(), ..Outcomes::default() };
        let pairs = vec![PairOutcomes { topic: "orders".into(), partition: PartitionIndex(2), outcomes }];
        ProducerEntry { group: group.to_owned(), producer: ProducerIndex(producer), sent: 5, pairs }
    }

    #[test]
    fn beyond_its_bound_records_are_counted_and_not_kept() {
        let ledger = Ledger::new(10);
        assert!(ledger.admit(7));
        assert!(!ledger.admit(4));
        assert!(!ledger.admit(3), "what was refused once does not make room for others");
        assert_eq!(ledger.refused(), 7);
    }

    #[test]
    fn one_that_nobody_will_ask_keeps_and_refuses_nothing() {
        let ledger = Ledger::new(0);
        assert!(!ledger.admit(7));
        ledger.enter(entry("steady", 0, &[1]));
        assert_eq!((ledger.refused(), ledger.take().producers().len()), (0, 0));
    }

    #[test]
    fn outcomes_are_found_by_author_and_by_partition() {
        let ledger = Ledger::new(RECORDS_MAX);
        ledger.enter(entry("steady", 0, &[0, 1]));
        ledger.enter(entry("steady", 1, &[3]));
        ledger.enter(entry("burst", 0, &[4]));
        let index = ledger.take();
        let place = index.place_of((group_hash("steady"), ProducerIndex(1))).unwrap();
        assert_eq!(index.producer(place).group, "steady");
        assert_eq!(index.place_of((group_hash("other"), ProducerIndex(1))), None);
        let partition = TopicPartition { topic: "orders".into(), partition: PartitionIndex(2) };
        assert_eq!(index.partitions().collect::<Vec<_>>(), [&partition]);
        let counts: Vec<u64> = index.on(&partition).map(|(_, outcomes)| outcomes.acknowledged.len()).collect();
        assert_eq!(counts, [1, 2, 1]);
    }
}
