//! What is kept of each run: `runs.csv`, a row per run, and `figures.csv`, a row per run, client, group and metric.
//!
//! The two files are all that the pages are made from. Not here: where figures come from (`figures`) and what they mean (`judge`).

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use kafka_chaos::record::files::replace;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Which run: a plan on a version of Kafka, and which repetition, from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Cell {
    /// The plan's name.
    pub(crate) plan: String,
    /// Kafka's version.
    pub(crate) kafka: String,
    /// Which repetition.
    pub(crate) repeat: u32,
}

/// A run. Flat, because CSV is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RunRow {
    /// The plan's name.
    pub(crate) plan: String,
    /// Kafka's version.
    pub(crate) kafka: String,
    /// Which repetition, from 1.
    pub(crate) repeat: u32,
    /// Start of the load, RFC 3339.
    pub(crate) started_at: String,
    /// The run's verdict.
    pub(crate) verdict: String,
    /// Its reasons.
    pub(crate) reasons: String,
    /// Why its figures cannot be trusted, lateness aside; empty: they can.
    pub(crate) distrust: String,
    /// How late the load generator was in the baseline: the p99, in milliseconds; empty: unknown, or there is nothing to be late for.
    pub(crate) late_ms: Option<u64>,
    /// How often it was run until its figures could be used.
    pub(crate) attempts: u32,
    /// Clones of groups that a client could not make.
    pub(crate) left_out: String,
    /// Whether a step takes a node away: then requests may be cut off, and counts may differ by them.
    pub(crate) takes_nodes_down: bool,
    /// Version, and digest of the sources of the program that ran it.
    pub(crate) build: String,
    /// The commit that the measuring was done with.
    pub(crate) commit: String,
    /// Versions of the clients that are not ours.
    pub(crate) clients: String,
    /// Machine and its versions, in words.
    pub(crate) machine: String,
}

impl RunRow {
    /// Which run.
    pub(crate) fn cell(&self) -> Cell {
        Cell { plan: self.plan.clone(), kafka: self.kafka.clone(), repeat: self.repeat }
    }

    /// Why its figures are not used; `None`: they are.
    pub(crate) fn unused(&self, late_ms_max: u64) -> Option<String> {
        if !self.distrust.is_empty() {
            return Some(self.distrust.clone());
        }
        match self.late_ms {
            Some(late_ms) if late_ms > late_ms_max => Some(format!("the load generator was late: p99 {late_ms} ms in the baseline")),
            _ => None,
        }
    }
}

/// One metric of one group in one run: a value per producer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FigureRow {
    /// The plan's name.
    pub(crate) plan: String,
    /// Kafka's version.
    pub(crate) kafka: String,
    /// Which repetition, from 1.
    pub(crate) repeat: u32,
    /// The client's name.
    pub(crate) client: String,
    /// The plan's group.
    pub(crate) group: String,
    /// Which metric.
    pub(crate) metric: Metric,
    /// The step, such as `1 kill 2`; empty: the whole run.
    pub(crate) step: String,
    /// A value per producer, in the order of producers.
    pub(crate) values: Values,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// Metadata requests that brokers say they have answered.
    MetadataRequests,
    /// Metadata requests by the client's own count.
    MetadataRequestsOwn,
    /// Those of its own count that no answer came to.
    MetadataRequestsCutOff,
    /// Records that failed.
    Failed,
    /// Records of which nobody knows.
    Indeterminate,
    /// The longest outage of the producer's partitions, in milliseconds.
    OutageLongest,
    /// The mean over its partitions that had an outage; 0 without any.
    OutageMean,
    /// How many of its partitions in use had an outage, in percent.
    PartitionsStalled,
    /// From a topic's growth to the first record acknowledged on a new partition, in milliseconds.
    FirstUse,
    /// The same from the first Metadata answer after the growth: free of where in its period a client was when the topic grew.
    FirstUseAfterRefresh,
}

impl Metric {
    /// The word in tables.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::MetadataRequests => "Metadata requests",
            Self::MetadataRequestsOwn => "Metadata requests, own count",
            Self::MetadataRequestsCutOff => "Metadata requests cut off",
            Self::Failed => "failed records",
            Self::Indeterminate => "indeterminate records",
            Self::OutageLongest => "longest outage, ms",
            Self::OutageMean => "mean outage, ms",
            Self::PartitionsStalled => "partitions stalled, %",
            Self::FirstUse => "first use of a new partition, ms",
            Self::FirstUseAfterRefresh => "first use after the refresh, ms",
        }
    }
}

/// One value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Measured {
    /// So much.
    Number(f64),
    /// It did not happen before the run ended.
    Never,
    /// Nobody can tell.
    Unknown,
}

/// A text is neither a finite number nor one of the two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoNumber;

/// A value per producer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Values(pub(crate) Vec<Measured>);

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Never => f.write_str("never"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl FromStr for Measured {
    type Err = NoNumber;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "never" => Ok(Self::Never),
            "unknown" => Ok(Self::Unknown),
            number => Ok(Self::Number(number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or(NoNumber)?)),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let values = text.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        values.map(Self).map_err(|_| D::Error::custom(format!("`{text}` is no list of values")))
    }
}

/// Both tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Store {
    /// Runs whose load generator was later than this are not used: p99 in the baseline, in milliseconds.
    pub(crate) late_ms_max: u64,
    /// Runs.
    pub(crate) runs: Vec<RunRow>,
    /// Figures of these runs.
    pub(crate) figures: Vec<FigureRow>,
}

impl Store {
    /// Reads the tables of a folder; tables that do not exist are empty.
    ///
    /// # Errors
    /// A table cannot be read, or holds figures of a run that it does not hold.
    pub(crate) fn read(folder: &Path, late_ms_max: u64) -> anyhow::Result<Self> {
        let store = Self { late_ms_max, runs: read_table(&runs_file(folder))?, figures: read_table(&figures_file(folder))? };
        let cells: BTreeSet<Cell> = store.runs.iter().map(RunRow::cell).collect();
        let stray = store.figures.iter().find(|row| !cells.contains(&cell_of(row)));
        anyhow::ensure!(stray.is_none(), "figures.csv speaks of a run that runs.csv does not hold: {stray:?}");
        Ok(store)
    }

    /// Runs whose figures are used: those of the newest build that can be trusted.
    pub(crate) fn used(&self) -> impl Iterator<Item = &RunRow> {
        self.runs.iter().filter(|run| self.unused(run).is_none())
    }

    /// Why a run's figures are not used; `None`: they are.
    pub(crate) fn unused(&self, run: &RunRow) -> Option<String> {
        if Some(run.build.as_str()) != self.newest_build() {
            return Some(format!("it was measured with an older build, {}", run.build));
        }
        run.unused(self.late_ms_max)
    }

    /// The build of the run that began last. Times are all written alike, in UTC, so that the greatest text is the latest.
    pub(crate) fn newest_build(&self) -> Option<&str> {
        self.runs.iter().max_by(|one, other| one.started_at.cmp(&other.started_at)).map(|run| run.build.as_str())
    }

    /// What of these the tables do not hold.
    pub(crate) fn missing<'a>(&self, asked: &'a [Cell]) -> Vec<&'a Cell> {
        let measured: BTreeSet<Cell> = self.runs.iter().map(RunRow::cell).collect();
        asked.iter().filter(|cell| !measured.contains(*cell)).collect()
    }

    /// Puts a run in the place of the one of the same cell, if there was one, and keeps rows in order.
    pub(crate) fn put(&mut self, run: RunRow, figures: Vec<FigureRow>) {
        let cell = run.cell();
        self.runs.retain(|row| row.cell() != cell);
        self.figures.retain(|row| cell_of(row) != cell);
        self.runs.push(run);
        self.figures.extend(figures);
        self.runs.sort_by_key(RunRow::cell);
        self.figures.sort_by_key(cell_of);
    }

    /// Writes both tables.
    ///
    /// # Errors
    /// If one cannot be written.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        write_table(&runs_file(folder), &self.runs)?;
        write_table(&figures_file(folder), &self.figures)
    }
}

/// Which run a figure belongs to.
pub(crate) fn cell_of(row: &FigureRow) -> Cell {
    Cell { plan: row.plan.clone(), kafka: row.kafka.clone(), repeat: row.repeat }
}

fn runs_file(folder: &Path) -> PathBuf {
    folder.join("runs.csv")
}

fn figures_file(folder: &Path) -> PathBuf {
    folder.join("figures.csv")
}

fn read_table<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut reader = csv::Reader::from_path(path).with_context(|| format!("cannot read {}", path.display()))?;
    reader.deserialize().collect::<Result<_, _>>().with_context(|| format!("{} is damaged", path.display()))
}

fn write_table<T: Serialize>(path: &Path, rows: &[T]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(replace(path, &writer.into_inner()?)?)
}
