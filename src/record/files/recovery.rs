//! `recovery.csv`: stretches without service, by step, producer and partition. The rows come from `analyze`; here they become cells.

use std::path::Path;

use super::replace::replace_table;
use super::{cell, millis};
use crate::ids::{PartitionIndex, ProducerIndex, StepNumber, TopicName};
use crate::record::error::Result;

pub(super) const COLUMNS: &str =
    "step,worker,group,producer,topic,partition,last_ok_ms,first_due_unserved_ms,first_error_ms,first_ok_ms,outage_ms,recovered";

/// What a step did to one producer's partition. Times in microseconds since the start of `steady`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryRow {
    /// The step; `None`: no step was near.
    pub step: Option<StepNumber>,
    /// The load-generating process.
    pub worker: u32,
    /// The group.
    pub group: String,
    /// The producer.
    pub producer: ProducerIndex,
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: PartitionIndex,
    /// Last acknowledgement before the stretch.
    pub last_ok_us: Option<i64>,
    /// Due time of the first record that was due after it; `None` where there was no outage.
    pub first_due_us: Option<i64>,
    /// First error that a batch met in the stretch.
    pub first_error_us: Option<i64>,
    /// The acknowledgement that ended it.
    pub first_ok_us: Option<i64>,
    /// How long it was (so far, if it did not end); 0: no outage.
    pub outage_us: i64,
    /// Whether service came back.
    pub recovered: bool,
}

/// Replaces the table.
///
/// # Errors
/// If it cannot be written.
pub fn write_recovery(path: &Path, rows: &[RecoveryRow]) -> Result<()> {
    replace_table(path, COLUMNS, rows.iter().map(cells))
}

fn cells(row: &RecoveryRow) -> [String; 12] {
    [
        cell(row.step),
        row.worker.to_string(),
        row.group.clone(),
        row.producer.0.to_string(),
        row.topic.to_string(),
        row.partition.to_string(),
        cell(row.last_ok_us.map(millis)),
        cell(row.first_due_us.map(millis)),
        cell(row.first_error_us.map(millis)),
        cell(row.first_ok_us.map(millis)),
        millis(row.outage_us).to_string(),
        row.recovered.to_string(),
    ]
}
