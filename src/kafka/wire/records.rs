//! Reading the records of a closed batch back, to put them into smaller ones.
//!
//! Parsing is the codec crate's; only what this client itself writes is read, so records have no headers.

use bytes::Bytes;
use kafka_protocol::records::RecordBatchDecoder;

use crate::kafka::wire::batch::unpacked;

/// A record of a closed batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenRecord {
    /// Its timestamp, in ms since 1970.
    pub timestamp_ms: i64,
    /// Its key.
    pub key: Option<Bytes>,
    /// Its value.
    pub value: Bytes,
}

/// The records of one batch, in order; `None` if these bytes are not one.
#[must_use]
pub fn records_of(batch: Bytes) -> Option<Vec<WrittenRecord>> {
    let mut batch = unpacked(batch)?;
    let set = RecordBatchDecoder::decode(&mut batch).ok().filter(|_| batch.is_empty())?;
    let records = set.records.into_iter();
    Some(
        records
            .map(|record| WrittenRecord { timestamp_ms: record.timestamp, key: record.key, value: record.value.unwrap_or_default() })
            .collect(),
    )
}
