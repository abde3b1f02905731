//! `metadata.csv`: one row per Metadata request of a producer, up to a bound per second.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::append::CsvFile;
use super::millis;
use crate::record::error::Result;
use crate::record::fact::{Fact, Stamped};

pub(super) const COLUMNS: &str =
    "time_ms,worker,group,producer,reason,full,topics,request_bytes,response_bytes,round_trip_us,node,update_version,outcome";

/// Rows per group and second; what comes on top is in `seconds.csv` as a count and in `facts.jsonl` in full.
pub const ROWS_PER_SECOND_MAX: u32 = 1_000;

#[derive(Debug)]
pub(super) struct MetadataFile {
    table: CsvFile,
    /// The second that each group is in, and its rows in it.
    written: BTreeMap<String, (i64, u32)>,
    left_out: u64,
}

impl MetadataFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        Ok(Self { table: CsvFile::create(path, COLUMNS)?, written: BTreeMap::new(), left_out: 0 })
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn write(&mut self, stamped: &Stamped) -> Result<()> {
        let Fact::MetadataRequest {
            group,
            producer,
            reason,
            code: _,
            full,
            topics,
            request_bytes,
            response_bytes,
            round_trip_us,
            node,
            update_version,
            outcome,
        } = &stamped.fact
        else {
            return Ok(());
        };
        if !self.has_room(group, stamped.time_us) {
            self.left_out += 1;
            return Ok(());
        }
        self.table.row([
            millis(stamped.time_us).to_string(),
            stamped.worker.to_string(),
            group.clone(),
            producer.0.to_string(),
            reason.clone(),
            full.to_string(),
            topics.to_string(),
            request_bytes.to_string(),
            response_bytes.to_string(),
            round_trip_us.to_string(),
            node.to_string(),
            update_version.0.to_string(),
            outcome.clone(),
        ])
    }

    fn has_room(&mut self, group: &str, time_us: i64) -> bool {
        let second = time_us.div_euclid(1_000_000);
        if !self.written.contains_key(group) {
            self.written.insert(group.to_owned(), (second, 0));
        }
        let Some((at, rows)) = self.written.get_mut(group) else { return false };
        if *at != second {
            (*at, *rows) = (second, 0);
        }
        *rows += 1;
        *rows <= ROWS_PER_SECOND_MAX
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}
