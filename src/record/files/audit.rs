//! `audit.csv`, `audit-partitions.csv` and `lost.csv`: what the topics held, against what clients were told. Only of a run that was audited.

use super::append::LateCsvFile;
use super::{cell, millis};
use crate::record::audit::{AuditPair, AuditPartition, EpochStart, LostPlace, LostRecords};
use crate::record::error::Result;
use crate::record::folder::RunFolder;

/// Name of the table of producers and partitions.
pub const AUDIT: &str = "audit.csv";
/// Name of the table of partitions.
pub const AUDIT_PARTITIONS: &str = "audit-partitions.csv";
/// Name of the table of lost records; only of a run that lost some.
pub const LOST: &str = "lost.csv";

pub(super) const PAIR_COLUMNS: &str = "group,producer,topic,partition,acknowledged,found,lost,duplicated,out_of_order,failed,failed_found,\
indeterminate,indeterminate_found,untold_found";
pub(super) const PARTITION_COLUMNS: &str =
    "topic,partition,log_start_offset,end_offset,records,control_records,missing_offsets,foreign,corrupt,unchecked,epochs,unread";
pub(super) const LOST_COLUMNS: &str = "group,producer,topic,partition,first_sequence,last_sequence,records,due_after_ms,due_before_ms,\
place,epoch_before,epoch,offset";

/// The three tables, each made with its first row.
#[derive(Debug)]
pub(super) struct AuditFiles {
    pairs: LateCsvFile,
    partitions: LateCsvFile,
    lost: LateCsvFile,
}

impl AuditFiles {
    pub(super) fn new(folder: &RunFolder) -> Self {
        let table = |name, columns| LateCsvFile::new(folder.file(name), columns);
        Self { pairs: table(AUDIT, PAIR_COLUMNS), partitions: table(AUDIT_PARTITIONS, PARTITION_COLUMNS), lost: table(LOST, LOST_COLUMNS) }
    }

    pub(super) fn pair(&mut self, pair: &AuditPair) -> Result<()> {
        let AuditPair { group, producer, topic, partition, counts } = pair;
        let mut row = vec![group.clone(), producer.0.to_string(), topic.to_string(), partition.to_string()];
        row.extend(counts.in_order().map(|count| count.to_string()));
        self.pairs.row(row)
    }

    pub(super) fn partition(&mut self, log: &AuditPartition) -> Result<()> {
        let mut row = vec![log.topic.to_string(), log.partition.to_string()];
        if let Some(why) = &log.unread {
            row.extend(std::iter::repeat_n(String::new(), 9));
            row.push(why.clone());
            return self.partitions.row(row);
        }
        row.extend([log.log_start_offset, log.end_offset].map(|offset| offset.to_string()));
        let figures = [log.records, log.control_records, log.missing_offsets, log.foreign, log.corrupt, log.unchecked];
        row.extend(figures.map(|figure| figure.to_string()));
        let epoch = |start: &EpochStart| format!("{}@{}", start.epoch.0, start.start_offset);
        row.extend([log.epochs.iter().map(epoch).collect::<Vec<_>>().join(" "), String::new()]);
        self.partitions.row(row)
    }

    pub(super) fn lost(&mut self, lost: &LostRecords) -> Result<()> {
        let (place, before, epoch, offset) = match lost.place {
            LostPlace::LeaderChange { epoch_before, epoch, start_offset } => {
                ("leader_change", epoch_before.map(|epoch| epoch.0), Some(epoch.0), Some(start_offset))
            }
            LostPlace::BeforeStart { log_start_offset } => ("before_start", None, None, Some(log_start_offset)),
            LostPlace::WithinEpoch { epoch } => ("within_epoch", None, Some(epoch.0), None),
            LostPlace::SinceEpoch { epoch } => ("since_epoch", None, Some(epoch.0), None),
            LostPlace::AtEnd { epoch, end_offset } => ("at_end", None, Some(epoch.0), Some(end_offset)),
            LostPlace::Nowhere => ("nowhere", None, None, None),
            LostPlace::NoPartition => ("no_partition", None, None, None),
        };
        self.lost.row(vec![
            lost.group.clone(),
            lost.producer.0.to_string(),
            lost.topic.to_string(),
            lost.partition.to_string(),
            lost.first_sequence.to_string(),
            lost.last_sequence.to_string(),
            lost.records.to_string(),
            cell(lost.due_after_us.map(millis)),
            cell(lost.due_before_us.map(millis)),
            place.to_owned(),
            cell(before),
            cell(epoch),
            cell(offset),
        ])
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.pairs.flush()?;
        self.partitions.flush()?;
        self.lost.flush()
    }
}
