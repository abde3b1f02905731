//! The files of a run that follow from its facts alone, one type per file.
//!
//! Appended files grow a line at a time; small tables are replaced whole by a rename. Both are on disk after each [`Files::tick`], so that
//! a killed run leaves valid files. Columns are an interface: `docs/results.md` explains each, a test holds them to the letter.

mod append;
mod audit;
mod brokers;
mod consumers;
mod errors;
mod facts;
mod hlog;
mod layer_cells;
mod layers;
mod metadata;
mod recovery;
mod replace;
mod requesters;
mod seconds;
mod steps;

pub use audit::{AUDIT, AUDIT_PARTITIONS, LOST};
pub use hlog::{Interval, IntervalLog};
pub use layers::LayerRows;
pub use metadata::{ROWS_PER_SECOND_MAX as METADATA_ROWS_PER_SECOND_MAX, RowBudget};
pub use recovery::{RecoveryRow, write_recovery};
pub use replace::replace;

use crate::record::error::Result;
use crate::record::fact::{Fact, Stamped};
use crate::record::folder::RunFolder;

/// Name of the stream of facts.
pub const FACTS: &str = "facts.jsonl";
/// Name of the table of seconds.
pub const SECONDS: &str = "seconds.csv";
/// Name of the table of steps.
pub const STEPS: &str = "steps.csv";
/// Name of the table of Metadata requests.
pub const METADATA: &str = "metadata.csv";
/// Name of the table of what each layer was seen to hold.
pub const LAYERS: &str = "layers.csv";
/// Name of the table of nodes.
pub const BROKERS: &str = "brokers.csv";
/// Name of the table of requesters' seconds; only of a run that has requesters.
pub const REQUESTERS: &str = "requesters.csv";
/// Name of the table of consumers' seconds; only of a run that has consumers.
pub const CONSUMERS: &str = "consumers.csv";
/// Name of the table of errors.
pub const ERRORS: &str = "errors.csv";
/// Name of the table of outages.
pub const RECOVERY: &str = "recovery.csv";
/// Name of the HDR interval log.
pub const LATENCY: &str = "latency.hlog";
/// Name of the run's summary for programs.
pub const RUN: &str = "run.json";

/// Writes facts to the files that need nothing else.
#[derive(Debug)]
pub struct Files {
    facts: facts::FactsFile,
    seconds: seconds::SecondsFile,
    steps: steps::StepsFile,
    metadata: metadata::MetadataFile,
    layers: layers::LayersFile,
    brokers: brokers::BrokersFile,
    requesters: requesters::RequestersFile,
    consumers: consumers::ConsumersFile,
    audit: audit::AuditFiles,
    errors: errors::ErrorsFile,
    latency: IntervalLog,
}

impl Files {
    /// Makes all files, with their headers.
    ///
    /// # Errors
    /// If one cannot be made.
    pub fn create(folder: &RunFolder) -> Result<Self> {
        Ok(Self {
            facts: facts::FactsFile::create(folder.file(FACTS))?,
            seconds: seconds::SecondsFile::create(folder.file(SECONDS))?,
            steps: steps::StepsFile::create(folder.file(STEPS))?,
            metadata: metadata::MetadataFile::create(folder.file(METADATA))?,
            layers: layers::LayersFile::create(folder.file(LAYERS))?,
            brokers: brokers::BrokersFile::create(folder.file(BROKERS))?,
            requesters: requesters::RequestersFile::new(folder.file(REQUESTERS)),
            consumers: consumers::ConsumersFile::new(folder.file(CONSUMERS)),
            audit: audit::AuditFiles::new(folder),
            errors: errors::ErrorsFile::create(folder.file(ERRORS))?,
            latency: IntervalLog::create(folder.file(LATENCY))?,
        })
    }

    /// Writes a fact to every file that it belongs to.
    ///
    /// # Errors
    /// If a file cannot be written, or a histogram in the fact cannot be read.
    pub fn write(&mut self, stamped: &Stamped) -> Result<()> {
        self.facts.write(stamped)?;
        self.steps.fold(stamped);
        self.errors.fold(stamped);
        self.layers.write(stamped)?;
        match &stamped.fact {
            Fact::RunStarted(run) => self.latency.begin(run),
            Fact::Second(second) => {
                self.seconds.write(stamped.worker, second)?;
                self.latency.write_second(second)
            }
            Fact::MetadataRequest { .. } => self.metadata.write(stamped),
            Fact::Broker(seen) => self.brokers.write(seen),
            Fact::RequesterSecond(second) => self.requesters.write(stamped.worker, second),
            Fact::ConsumerSecond(second) => self.consumers.write(stamped.worker, second),
            Fact::AuditPair(pair) => self.audit.pair(pair),
            Fact::AuditPartition(partition) => self.audit.partition(partition),
            Fact::LostRecords(lost) => self.audit.lost(lost),
            _ => Ok(()),
        }
    }

    /// Brings everything to disk; once a second, and at the end.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn tick(&mut self) -> Result<()> {
        self.facts.flush()?;
        self.seconds.flush()?;
        self.metadata.flush()?;
        self.layers.flush()?;
        self.brokers.flush()?;
        self.requesters.flush()?;
        self.consumers.flush()?;
        self.audit.flush()?;
        self.latency.flush()?;
        self.steps.flush()?;
        self.errors.flush()
    }

    /// Appends an interval that is known only at the end (outages) to the interval log.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_interval(&mut self, interval: &Interval<'_>) -> Result<()> {
        self.latency.write(interval)
    }

    /// How many Metadata requests have no row of their own, because too many came in one second.
    #[must_use]
    pub fn metadata_rows_left_out(&self) -> u64 {
        self.metadata.left_out()
    }

    /// The same of sightings of layers.
    #[must_use]
    pub fn layer_rows_left_out(&self) -> u64 {
        self.layers.left_out()
    }
}

/// Microseconds as whole milliseconds, rounded to the nearest.
pub(crate) fn millis(time_us: i64) -> i64 {
    (time_us + 500).div_euclid(1000)
}

/// A cell: the value, or nothing.
fn cell<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests;
