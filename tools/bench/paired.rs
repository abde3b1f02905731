//! The paired runs: in each round every subject once, in turn, each round in another order, so that what drifts hits all of them; and each
//! once more with fewer records, so that what a further record costs is known without the start of its process.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::ensure;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::cluster::BenchCluster;
use crate::measured::Measured;
use crate::stats::Spread;
use crate::subject::{self, Job, Setting, Subject};

/// The file of the runs.
pub(crate) const FILE: &str = "producers.csv";
/// A short run has so many times fewer records, if nothing else is asked for.
const SHORT_PART: u64 = 4;

/// What to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct PairedArgs {
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 6)]
    pub(crate) rounds: u32,
    /// Records per run
    #[arg(long, value_name = "N", default_value_t = 2_000_000)]
    pub(crate) records: u64,
    /// Records of each one's short run, whose CPU time is taken off to see what a further record costs; 0: no short runs [default: a quarter
    /// of --records]
    #[arg(long, value_name = "N")]
    pub(crate) short_records: Option<u64>,
    /// Size of a record's value
    #[arg(long, value_name = "BYTES", default_value_t = 100)]
    pub(crate) record_bytes: u64,
    /// Who is measured
    #[arg(long, value_delimiter = ',', default_values = ["native", "librdkafka", "java"])]
    pub(crate) subjects: Vec<Subject>,
    /// With which properties
    #[arg(long, value_delimiter = ',', default_values = ["same", "defaults"])]
    pub(crate) settings: Vec<Setting>,
    /// Kafka's version
    #[arg(long, value_name = "VERSION", default_value = "4.3.0")]
    pub(crate) kafka: String,
    /// Folder of the results
    #[arg(long, value_name = "DIR", default_value = "results/bench")]
    pub(crate) out: PathBuf,
}

impl PairedArgs {
    /// Records of the short runs; 0: there are none.
    fn short_records(&self) -> u64 {
        self.short_records.unwrap_or(self.records / SHORT_PART)
    }

    /// Whether that can be done.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(self.rounds > 0 && self.records > 0, "at least one round and one record are needed");
        ensure!(self.short_records() < self.records, "--short-records must be less than --records ({}), or 0", self.records);
        Ok(())
    }
}

/// One run, as a row of the file. Empty cells are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) setting: String,
    pub(crate) round: u32,
    /// Its place in the round.
    pub(crate) place: u32,
    pub(crate) subject: String,
    pub(crate) version: String,
    pub(crate) records: u64,
    pub(crate) seconds: f64,
    pub(crate) records_per_second: f64,
    pub(crate) cpu_seconds_per_million: Option<f64>,
    /// Records of the short run.
    pub(crate) short_records: Option<u64>,
    /// What the run needed more than the short one, by a million records more.
    pub(crate) further_cpu_seconds_per_million: Option<f64>,
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) threads: Option<u64>,
    pub(crate) latency_p50_us: Option<u64>,
    pub(crate) latency_p99_us: Option<u64>,
    pub(crate) latency_max_us: Option<u64>,
}

impl Row {
    fn new(setting: Setting, round: u32, place: usize, measured: Measured, short: Option<&Measured>) -> Self {
        Self {
            setting: setting.name().to_owned(),
            round,
            place: place as u32,
            records_per_second: measured.records as f64 / measured.seconds,
            cpu_seconds_per_million: measured.cpu_seconds.map(|seconds| seconds * 1e6 / measured.records as f64),
            short_records: short.map(|short| short.records),
            further_cpu_seconds_per_million: short.and_then(|short| further(&measured, short)),
            subject: measured.subject,
            version: measured.version,
            records: measured.records,
            seconds: measured.seconds,
            memory_bytes_max: measured.memory_bytes_max,
            threads: measured.threads,
            latency_p50_us: measured.latency_us.map(|latency| latency.p50),
            latency_p99_us: measured.latency_us.map(|latency| latency.p99),
            latency_max_us: measured.latency_us.map(|latency| latency.max),
        }
    }
}

/// CPU seconds per million records of what one run has more than another; `None`: unknown, or it has not more.
fn further(long: &Measured, short: &Measured) -> Option<f64> {
    let records = long.records.checked_sub(short.records).filter(|records| *records > 0)?;
    Some((long.cpu_seconds? - short.cpu_seconds?) * 1e6 / records as f64)
}

/// Runs everything. The file is complete after each run.
pub(crate) async fn run(args: &PairedArgs, out: &mut impl Write) -> anyhow::Result<()> {
    args.check()?;
    fs::create_dir_all(&args.out)?;
    writeln!(out, "starting three nodes of Kafka {}", args.kafka)?;
    let mut cluster = BenchCluster::up(&args.kafka).await?;
    let mut rows = Vec::new();
    for round in 1..=args.rounds {
        for setting in &args.settings {
            for (place, subject) in order(&args.subjects, round).into_iter().enumerate() {
                let short = match args.short_records() {
                    0 => None,
                    records => Some(measure(&mut cluster, args, *setting, subject, records).await?),
                };
                let long = measure(&mut cluster, args, *setting, subject, args.records).await?;
                let row = Row::new(*setting, round, place, long, short.as_ref());
                show(&row, out)?;
                rows.push(row);
                write(&args.out.join(FILE), &rows)?;
            }
        }
    }
    cluster.down().await?;
    for setting in &args.settings {
        for other in args.subjects.iter().filter(|subject| **subject != Subject::Native) {
            show_ratios(&rows, *setting, *other, out)?;
        }
    }
    Ok(())
}

/// One run on a topic of its own.
async fn measure(
    cluster: &mut BenchCluster,
    args: &PairedArgs,
    setting: Setting,
    subject: Subject,
    records: u64,
) -> anyhow::Result<Measured> {
    let topic = cluster.fresh_topic().await?;
    let job = Job { cluster, topic: topic.as_str(), records, record_bytes: args.record_bytes, setting };
    let measured = subject::measure(subject, job).await?;
    cluster.delete_topic(topic).await?;
    Ok(measured)
}

/// Each round begins with another subject, and every other cycle of rounds goes backwards: of three subjects all six orders in six rounds, so
/// that nobody always follows the same one.
fn order(subjects: &[Subject], round: u32) -> Vec<Subject> {
    let mut order = subjects.to_vec();
    let count = order.len().max(1);
    let turn = round.saturating_sub(1) as usize;
    let cycle = turn / count;
    if cycle % 2 == 1 {
        order.reverse();
    }
    if !order.is_empty() {
        order.rotate_left(turn % count);
    }
    order
}

fn show(row: &Row, out: &mut impl Write) -> anyhow::Result<()> {
    let unknown = || "unknown".to_owned();
    writeln!(
        out,
        "round {} {:<8} {:<10} {:>9.0} records/s  {:>7} CPU s per million  {:>7} MiB  p99 {:>9} ms  {} threads",
        row.round,
        row.setting,
        row.subject,
        row.records_per_second,
        row.cpu_seconds_per_million.map_or_else(unknown, |cpu| format!("{cpu:.3}")),
        row.memory_bytes_max.map_or_else(unknown, |bytes| format!("{:.1}", bytes as f64 / 1_048_576.0)),
        row.latency_p99_us.map_or_else(unknown, |us| format!("{:.2}", us as f64 / 1e3)),
        row.threads.map_or_else(unknown, |threads| threads.to_string()),
    )?;
    Ok(())
}

fn show_ratios(rows: &[Row], setting: Setting, other: Subject, out: &mut impl Write) -> anyhow::Result<()> {
    let rate = ratios(rows, setting, other, |row| Some(row.records_per_second));
    let cpu = ratios(rows, setting, other, |row| row.cpu_seconds_per_million);
    for (what, spread) in [("records/s", rate), ("CPU per record", cpu)] {
        let Some(spread) = spread else { continue };
        let (subject, setting) = (other.name(), setting.name());
        writeln!(out, "{setting}: {what}, native / {subject}: {:.2} ({:.2} to {:.2})", spread.median, spread.min, spread.max)?;
    }
    Ok(())
}

/// A figure of ours over another's, round by round.
pub(crate) fn ratios(rows: &[Row], setting: Setting, other: Subject, figure: impl Fn(&Row) -> Option<f64>) -> Option<Spread> {
    let find = |subject: Subject, round: u32| {
        let row = rows.iter().find(|row| row.setting == setting.name() && row.subject == subject.name() && row.round == round)?;
        figure(row)
    };
    let rounds = rows.iter().map(|row| row.round).max().unwrap_or(0);
    Spread::of((1..=rounds).filter_map(|round| Some(find(Subject::Native, round)? / find(other, round)?)))
}

fn write(path: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(round: u32, subject: Subject, records_per_second: f64) -> Row {
        let measured =
            Measured { subject: subject.name().to_owned(), records: 1_000, seconds: 1_000.0 / records_per_second, ..Measured::default() };
        Row::new(Setting::Same, round, 0, measured, None)
    }

    fn args(words: &[&str]) -> PairedArgs {
        #[derive(clap::Parser)]
        struct Words {
            #[command(flatten)]
            args: PairedArgs,
        }
        <Words as clap::Parser>::try_parse_from(std::iter::once(&"paired").chain(words)).unwrap().args
    }

    #[test]
    fn a_short_run_has_a_quarter_of_the_records_and_must_have_fewer() {
        assert_eq!(args(&[]).short_records(), 500_000);
        let few = args(&["--records", "200000"]);
        assert_eq!(few.short_records(), 50_000);
        few.check().unwrap();
        args(&["--records", "1"]).check().unwrap();
        args(&["--short-records", "0"]).check().unwrap();
        args(&["--records", "10", "--short-records", "10"]).check().unwrap_err();
        args(&["--rounds", "0"]).check().unwrap_err();
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let pairs = [(1, 300.0, 100.0), (2, 50.0, 25.0), (3, 80.0, 80.0)];
        let mut rows: Vec<Row> = pairs
            .iter()
            .flat_map(|(round, ours, other)| [row(*round, Subject::Native, *ours), row(*round, Subject::Java, *other)])
            .collect();
        rows.push(row(4, Subject::Native, 1.0));
        let spread = ratios(&rows, Setting::Same, Subject::Java, |row| Some(row.records_per_second)).unwrap();
        assert!((spread.min - 1.0).abs() < 1e-9 && (spread.median - 2.0).abs() < 1e-9 && (spread.max - 3.0).abs() < 1e-9, "{spread:?}");
        assert_eq!(spread.count, 3, "a round without both has no ratio");
        assert_eq!(ratios(&rows, Setting::Same, Subject::Java, |row| row.cpu_seconds_per_million), None, "unknown is not 0");
    }

    #[test]
    fn six_rounds_have_all_six_orders_and_three_begin_with_each() {
        for first in 1..=6 {
            let orders: std::collections::BTreeSet<_> = (first..first + 6).map(|round| order(&Subject::ALL, round)).collect();
            assert_eq!(orders.len(), 6);
        }
        let begin: std::collections::BTreeSet<_> = (1..=3).map(|round| order(&Subject::ALL, round)[0]).collect();
        assert_eq!(begin.len(), 3);
        assert_eq!([order(&[], 1), order(&[Subject::Java], 2)], [vec![], vec![Subject::Java]]);
    }

    #[test]
    fn a_further_record_costs_what_a_longer_run_needs_more() {
        let run = |records, cpu_seconds| Measured { records, cpu_seconds, seconds: 1.0, ..Measured::default() };
        let further = |long, short: &Measured| Row::new(Setting::Same, 1, 0, long, Some(short)).further_cpu_seconds_per_million;
        assert_eq!(further(run(2_000_000, Some(8.0)), &run(500_000, Some(5.0))), Some(2.0));
        assert_eq!(further(run(2_000_000, None), &run(500_000, Some(5.0))), None);
        assert_eq!(further(run(5, Some(1.0)), &run(5, Some(1.0))), None);
    }
}
