//! `metadata.csv`: one row per Metadata request of a producer, up to a bound per second.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::append::CsvFile;
use super::{cell, millis};
use crate::record::error::Result;
use crate::record::fact::{Fact, Stamped};

pub(super) const COLUMNS: &str =
    "time_ms,worker,group,producer,reason,full,topics,request_bytes,response_bytes,round_trip_us,node,update_version,outcome";

/// Rows per group and second; what comes on top is in `seconds.csv` as a count and in `facts.jsonl` in full. The same bound holds per layer in
/// `layers.csv`.
pub const ROWS_PER_SECOND_MAX: u32 = 1_000;

/// Decides which requests (or sightings of a layer) get a row; the same facts in the same order give the same rows.
#[derive(Debug, Default)]
pub struct RowBudget {
    /// The second that each group (or layer) is in, and its rows in it.
    seen: BTreeMap<String, (i64, u32)>,
    left_out: u64,
}

impl RowBudget {
    /// Whether a row of that group (or layer) is written.
    pub fn admits(&mut self, group: &str, time_us: i64) -> bool {
        let second = time_us.div_euclid(1_000_000);
        let admitted = match self.seen.get_mut(group) {
            Some((at, rows)) if *at == second => {
                *rows += 1;
                *rows <= ROWS_PER_SECOND_MAX
            }
            Some(seen) => {
                *seen = (second, 1);
                true
            }
            None => {
                self.seen.insert(group.to_owned(), (second, 1));
                true
            }
        };
        self.left_out += u64::from(!admitted);
        admitted
    }

    /// How many have no row.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

#[derive(Debug)]
pub(super) struct MetadataFile {
    table: CsvFile,
    budget: RowBudget,
}

impl MetadataFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        Ok(Self { table: CsvFile::create(path, COLUMNS)?, budget: RowBudget::default() })
    }

    pub(super) fn left_out(&self) -> u64 {
        self.budget.left_out()
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
        if !self.budget.admits(group, stamped.time_us) {
            return Ok(());
        }
        self.table.row([
            millis(stamped.time_us).to_string(),
            stamped.worker.to_string(),
            group.clone(),
            producer.0.to_string(),
            reason.clone(),
            cell(*full),
            cell(*topics),
            cell(*request_bytes),
            cell(*response_bytes),
            round_trip_us.to_string(),
            node.to_string(),
            update_version.0.to_string(),
            outcome.clone(),
        ])
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}
