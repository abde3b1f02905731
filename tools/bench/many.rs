//! Many producers in one process, one record a second each: memory per producer, threads, CPU, lateness. Made with `chaos run` and a plan of its
//! own, engine by engine; the run with one producer is the base that the others' memory is counted from: that of the same engine, or else of
//! ours, for both are the same program with one client.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::run::{LOOK_EVERY, Run};

/// The file of the runs.
pub(crate) const FILE: &str = "many.csv";
/// How `chaos run` ends with PASS and with UNKNOWN (a late generator is a result here).
const ENDED_WITH_RESULTS: [i32; 2] = [0, 4];

/// What to run.
#[derive(Args, Clone, Debug)]
pub(crate) struct ManyArgs {
    /// Engine and number of producers, as ENGINE:N
    #[arg(long, value_delimiter = ',', value_name = "ENGINE:N,...", default_value = "native:1,native:500,native:4000,librdkafka:500")]
    pub(crate) cases: Vec<Case>,
    /// Length of the baseline
    #[arg(long, value_name = "SECONDS", default_value_t = 40)]
    pub(crate) seconds: u32,
    /// The program `chaos` [default: beside this one]
    #[arg(long, value_name = "PATH")]
    pub(crate) chaos: Option<PathBuf>,
    /// Kafka's version
    #[arg(long, value_name = "VERSION", default_value = "4.3.0")]
    pub(crate) kafka: String,
    /// Folder of the results
    #[arg(long, value_name = "DIR", default_value = "results/bench")]
    pub(crate) out: PathBuf,
}

/// One run to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    engine: String,
    producers: u32,
}

impl std::str::FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (engine, producers) = text.split_once(':').ok_or("write ENGINE:N")?;
        Ok(Self { engine: engine.to_owned(), producers: producers.parse().map_err(|_| "N is a number of producers")? })
    }
}

/// One run, as a row of the file. Empty cells are unknown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) engine: String,
    pub(crate) producers: u32,
    pub(crate) records_ok: Option<u64>,
    pub(crate) records_not_ok: Option<u64>,
    pub(crate) memory_bytes_max: Option<u64>,
    /// Above the run with one producer, by each producer more.
    pub(crate) memory_bytes_per_producer: Option<f64>,
    pub(crate) threads_max: Option<u64>,
    /// In the baseline, in percent of one core.
    pub(crate) cpu_percent: Option<f64>,
    pub(crate) lateness_p50_us: Option<u64>,
    pub(crate) lateness_p99_us: Option<u64>,
    pub(crate) lateness_max_us: Option<u64>,
}

/// Runs everything. The file is complete after each run.
pub(crate) async fn run(args: &ManyArgs, out: &mut impl Write) -> anyhow::Result<()> {
    fs::create_dir_all(&args.out)?;
    let mut rows: Vec<Row> = Vec::new();
    for case in &args.cases {
        let run = measure(case, args).await.with_context(|| format!("{} producers of {}", case.producers, case.engine))?;
        let mut row = Row::new(case, &run);
        row.memory_bytes_per_producer = base_of(&rows, &row).and_then(|base| row.above(base));
        writeln!(
            out,
            "{:<10} {:>5} producers  {} KiB each  {} threads  {} % of a core  late by p99 {} ms",
            row.engine,
            row.producers,
            text(row.memory_bytes_per_producer.map(|bytes| bytes / 1_024.0)),
            text(row.threads_max.map(|threads| threads as f64)),
            text(row.cpu_percent),
            text(row.lateness_p99_us.map(|us| us as f64 / 1e3)),
        )?;
        rows.push(row);
        write(&args.out.join(FILE), &rows)?;
    }
    Ok(())
}

/// The run that a run's memory is counted from.
fn base_of<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    let of = |engine: &str| rows.iter().find(|base| base.engine == engine && base.producers == 1);
    of(&row.engine).or_else(|| of("native"))
}

fn text(value: Option<f64>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |value| format!("{value:.1}"))
}

/// One `chaos run`; its `run.json`.
async fn measure(case: &Case, args: &ManyArgs) -> anyhow::Result<Value> {
    let folder = tempfile::tempdir()?;
    let (plan, results) = (folder.path().join("many.toml"), folder.path().join("results"));
    fs::write(&plan, plan_of(case, args))?;
    let chaos = match &args.chaos {
        Some(chaos) => chaos.clone(),
        None => beside_this_program()?,
    };
    let mut command = Command::new(&chaos);
    command.arg("run").arg(&plan).arg("--quiet").arg("--out").arg(&results);
    let said = folder.path().join("said.txt");
    let file = fs::File::create(&said)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    let run = Run::start(&mut command).with_context(|| format!("{} does not start", chaos.display()))?;
    let status = ended(run).await?;
    let has_results = status.code().is_some_and(|code| ENDED_WITH_RESULTS.contains(&code));
    ensure!(has_results, "chaos run ended with {status}:\n{}", fs::read_to_string(said).unwrap_or_default());
    Ok(serde_json::from_str(&fs::read_to_string(results.join("run.json"))?)?)
}

/// Waits for its end. Dropped before, as an interrupted measurement drops it, it ends the run.
async fn ended(mut run: Run) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = run.status()? {
            return Ok(status);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// `target/release/chaos` for `target/release/examples/bench`.
fn beside_this_program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("this program lies in no folder")?;
    Ok(folder.join("chaos"))
}

/// One replica: with three, the brokers' part of some thousand requests a second takes a small machine's cores whole, and what is late then is
/// not the generator. Keys: without them a client of ours would stay with one partition until it has filled a batch, which at this rate never
/// happens, and talk to one leader only. With them every client talks to all brokers, librdkafka's too.
fn plan_of(case: &Case, args: &ManyArgs) -> String {
    let Case { engine, producers } = case;
    let ManyArgs { seconds, kafka, .. } = args;
    format!(
        r#"name = "many"
[cluster]
kafka = "{kafka}"
nodes = 3
network = "host"
memory = "1536 MiB"
heap = "768 MiB"
[[topic]]
name = "orders"
partitions = 6
replication = 1
[[producers]]
name = "many"
engine = "{engine}"
count = {producers}
topics = ["orders"]
rate = "1/s"
record = {{ size = "100 B", keys = 1000 }}
config = {{ acks = "all" }}
[phases]
warmup = "30s"
steady = "{seconds}s"
recovery = "0s"
"#
    )
}

impl Row {
    fn new(case: &Case, run: &Value) -> Self {
        let number = |pointer: &str| run.pointer(pointer).and_then(Value::as_u64);
        let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
        Self {
            engine: case.engine.clone(),
            producers: case.producers,
            records_ok: number("/totals/ok"),
            records_not_ok: sum(number("/totals/failed"), number("/totals/indeterminate")),
            memory_bytes_max: number("/generator/rss_bytes_max"),
            memory_bytes_per_producer: None,
            threads_max: number("/generator/threads_max"),
            cpu_percent: run.pointer("/generator/baseline_cpu_percent").and_then(Value::as_f64),
            lateness_p50_us: number("/generator/baseline_lateness/p50_us"),
            lateness_p99_us: number("/generator/baseline_lateness/p99_us"),
            lateness_max_us: number("/generator/baseline_lateness/max_us"),
        }
    }

    fn above(&self, base: &Self) -> Option<f64> {
        let more = self.producers.checked_sub(base.producers).filter(|more| *more > 0)?;
        Some((self.memory_bytes_max? as f64 - base.memory_bytes_max? as f64) / f64::from(more))
    }
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

    #[test]
    fn every_plan_is_one_that_chaos_takes() {
        let args = ManyArgs { cases: Vec::new(), seconds: 60, chaos: None, kafka: "4.3.0".to_owned(), out: PathBuf::new() };
        for case in ["native:1", "native:4000"] {
            let text = plan_of(&case.parse().unwrap(), &args);
            let checked = kafka_chaos::plan::parse("many.toml", &text).unwrap_or_else(|problems| panic!("{}", problems.render(false)));
            assert_eq!(checked.warnings.render(false), "");
        }
    }

    #[test]
    fn memory_counts_above_the_run_with_one_producer() {
        let run = |producers: u32, bytes: u64| {
            let case = Case { engine: "native".to_owned(), producers };
            Row::new(&case, &serde_json::json!({"generator": {"rss_bytes_max": bytes}}))
        };
        let base = run(1, 10_000);
        assert_eq!(run(101, 60_000).above(&base), Some(500.0));
        assert_eq!(base.above(&base), None);
        let other = Row { engine: "librdkafka".to_owned(), ..run(500, 60_000) };
        let own = Row { engine: "librdkafka".to_owned(), ..run(1, 20_000) };
        assert_eq!(base_of(std::slice::from_ref(&base), &other), Some(&base));
        assert_eq!(base_of(&[base.clone(), own.clone()], &other), Some(&own));
        assert_eq!(base.lateness_p99_us, None, "unknown is not 0");
    }
}
