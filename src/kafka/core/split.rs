//! A batch that a broker finds too large goes on as several smaller ones.
//!
//! Java's counterparts: `ProducerBatch.split`, `RecordAccumulator.splitAndReenqueue`. The parts keep the records' order and their batch's time of
//! creation, count as never tried, take over its sequence numbers, and hold no `buffer.memory`. Parts are measured before compression, as Java
//! measures them after it has reset its estimate of the ratio.

use crate::kafka::core::batch::{Batch, BatchSize};
use crate::kafka::core::client::ProducerCore;
use crate::kafka::wire::batch::{Packing, single_record_bytes_max};
use crate::kafka::wire::records::{WrittenRecord, records_of};

impl ProducerCore {
    /// Replaces a closed batch by its parts, in front of its queue. `false`: its records cannot be read back, nothing was done.
    pub(super) fn split_and_reenqueue(&mut self, batch: &Batch) -> bool {
        let packing = self.accumulator.packing_after_split(batch);
        let Some(mut parts) = parts_of(batch, self.config.batch_bytes, packing) else { return false };
        self.output.memory_granted |= self.accumulator.memory.give_back(batch.reserved_bytes);
        if let Some(ticket) = batch.ticket {
            let counts: Vec<usize> = parts.iter().map(|part| part.tags.len()).collect();
            let tickets = self.accumulator.queue_of(batch).1.sequences.split(ticket, &counts);
            parts.iter_mut().zip(tickets).for_each(|(part, ticket)| part.ticket = Some(ticket));
        }
        for part in parts.into_iter().rev() {
            self.accumulator.put_back(part);
        }
        true
    }
}

/// The parts of a closed batch: of up to `batch_bytes`; of half its own size if it is itself a part, and of half its records where that does not
/// divide it (Java would send it again and again), so that splitting comes to an end.
fn parts_of(batch: &Batch, batch_bytes: usize, packing: Option<Packing>) -> Option<Vec<Batch>> {
    let records = records_of(batch.content()).filter(|records| records.len() == batch.tags.len())?;
    let target_bytes = match batch.is_part {
        true => records.iter().map(bound).max()?.max(batch.bytes() / 2),
        false => batch_bytes,
    };
    let parts = divide(batch, &records, target_bytes, records.len(), packing);
    let is_divided = parts.len() > 1 || !batch.is_part;
    Some(if is_divided { parts } else { divide(batch, &records, target_bytes, records.len().div_ceil(2), packing) })
}

fn divide(batch: &Batch, records: &[WrittenRecord], target_bytes: usize, records_max: usize, packing: Option<Packing>) -> Vec<Batch> {
    let mut parts: Vec<Batch> = Vec::new();
    for (record, tag) in records.iter().zip(&batch.tags) {
        let append = |part: &mut Batch| {
            part.tags.len() < records_max && part.try_append(record.timestamp_ms, record.key.as_deref(), &record.value, *tag)
        };
        if !parts.last_mut().is_some_and(append) {
            let mut part = part_of(batch, target_bytes.max(bound(record)));
            if let Some(packing) = packing {
                part.pack_with(packing);
            }
            part.try_append(record.timestamp_ms, record.key.as_deref(), &record.value, *tag);
            parts.push(part);
        }
    }
    // Nothing may be appended behind a record that has its number already.
    parts.iter_mut().for_each(|part| part.close(None));
    parts
}

/// What the record takes at most in a batch of its own.
fn bound(record: &WrittenRecord) -> usize {
    single_record_bytes_max(record.key.as_deref(), &record.value)
}

fn part_of(batch: &Batch, limit_bytes: usize) -> Batch {
    let mut part = Batch::new(batch.topic.clone(), batch.partition, limit_bytes, BatchSize::default(), 0, batch.created_at);
    part.is_part = true;
    part.sends = batch.sends;
    part.may_be_written = batch.may_be_written;
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::ids::{PartitionIndex, TopicName};
    use crate::kafka::event::RecordTag;
    use crate::kafka::wire::compression::Codec;
    use proptest::prelude::*;

    fn batch_of(sizes: &[usize]) -> Batch {
        let mut batch = Batch::new(TopicName::from("orders"), PartitionIndex(3), usize::MAX, BatchSize::default(), 0, Moment(40));
        for (mark, size) in (0..).zip(sizes) {
            assert!(batch.try_append(1_000, Some(b"key"), &vec![7; *size], RecordTag { mark, number: mark, sent_at: Moment(mark) }));
        }
        batch.close(None);
        batch
    }

    proptest! {
        #[test]
        fn parts_hold_all_records_in_order_and_keep_the_size(sizes in prop::collection::vec(0_usize..400, 2..40), batch_bytes in 1_usize..3_000) {
            let batch = batch_of(&sizes);
            let parts = parts_of(&batch, batch_bytes, None).unwrap();
            let tags: Vec<RecordTag> = parts.iter().flat_map(|part| part.tags.clone()).collect();
            prop_assert_eq!(&tags, &batch.tags);
            let all = |parts: &[Batch]| parts.iter().flat_map(|part| records_of(part.content()).unwrap()).collect::<Vec<_>>();
            prop_assert_eq!(all(&parts), all(std::slice::from_ref(&batch)));
            for part in &parts {
                prop_assert!(part.tags.len() == 1 || part.bytes() <= batch_bytes.max(single_record_bytes_max(Some(b"key"), &[7; 400])));
                prop_assert!(part.is_full() && part.is_part && part.created_at == batch.created_at);
            }
        }

        #[test]
        fn a_compressed_batch_is_divided_into_compressed_parts(sizes in prop::collection::vec(0_usize..400, 2..40), batch_bytes in 1_usize..3_000) {
            let packing = Packing { codec: Codec::Snappy, expected_ratio: 1.0 };
            let mut batch = Batch::new(TopicName::from("orders"), PartitionIndex(3), usize::MAX, BatchSize::default(), 0, Moment(40));
            batch.pack_with(packing);
            for (mark, size) in (0..).zip(&sizes) {
                let tag = RecordTag { mark, number: mark, sent_at: Moment(mark) };
                prop_assert!(batch.try_append(1_000, None, &vec![7; *size], tag));
            }
            batch.close(None);
            let parts = parts_of(&batch, batch_bytes, Some(packing)).unwrap();
            let read: Vec<usize> = parts.iter().flat_map(|part| records_of(part.content()).unwrap()).map(|record| record.value.len()).collect();
            prop_assert_eq!(read, sizes);
            prop_assert!(parts.iter().all(|part| part.content()[22] == 2), "the codec's number");
        }

        #[test]
        fn splitting_again_and_again_comes_to_single_records(sizes in prop::collection::vec(0_usize..400, 2..40)) {
            let mut left = vec![batch_of(&sizes)];
            for _ in 0..20 {
                let is_alone = |batch: &Batch| batch.tags.len() == 1;
                left = left.into_iter().flat_map(|batch| if is_alone(&batch) { vec![batch] } else { parts_of(&batch, 4_000, None).unwrap() }).collect();
            }
            prop_assert_eq!(left.len(), sizes.len());
        }
    }
}
