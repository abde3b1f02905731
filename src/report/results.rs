//! Keeps a run's folder complete while facts come in: every file is written here, and the findings come out at the end.
//!
//! Made from facts alone, so replaying `facts.jsonl` into another folder gives the same bytes. Driven by `run/`: [`Results::write`] per
//! fact, [`Results::tick`] once a second, [`Results::finish`] after the last fact.

use std::collections::BTreeMap;

use crate::analyze::Analysis;
use crate::analyze::findings::Findings;
use crate::record::error::{RecordError, Result};
use crate::record::fact::{Fact, Stamped};
use crate::record::files::{Files, Interval, RECOVERY, RUN, RecoveryRow, replace, write_recovery};
use crate::record::folder::RunFolder;
use crate::record::histogram::LatencyHistogram;
use crate::report::html::{Content, REPORT, page};
use crate::report::json::{LeftOut, run_file};

/// Above so many stretches without service, `recovery.csv` waits for the end of the run.
const LIVE_ROWS_MAX: usize = 20_000;

/// A run's folder, being filled.
#[derive(Debug)]
pub struct Results {
    folder: RunFolder,
    files: Files,
    analysis: Analysis,
    /// Stretches that `recovery.csv` has been written with.
    stretches: usize,
}

impl Results {
    /// Makes all files with their headers; `run.json` follows with the run's first fact.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub fn create(folder: RunFolder) -> Result<Self> {
        let files = Files::create(&folder)?;
        write_recovery(&folder.file(RECOVERY), &[])?;
        Ok(Self { folder, files, analysis: Analysis::new(), stretches: 0 })
    }

    /// Takes in a fact. With the first one, `run.json` is written and says INTERRUPTED, until [`Self::finish`] replaces it: so it is true
    /// whenever the process dies.
    ///
    /// # Errors
    /// If a file cannot be written, or a histogram in the fact cannot be read.
    pub fn write(&mut self, stamped: &Stamped) -> Result<()> {
        self.files.write(stamped)?;
        self.analysis.fold(stamped);
        if matches!(stamped.fact, Fact::RunStarted(_)) {
            self.write_run(&self.analysis.finish())?;
        }
        Ok(())
    }

    /// Brings everything to disk; once a second.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn tick(&mut self) -> Result<()> {
        let stretches = self.analysis.stretches();
        if stretches != self.stretches && stretches <= LIVE_ROWS_MAX {
            self.stretches = stretches;
            write_recovery(&self.folder.file(RECOVERY), &self.analysis.recovery_rows(false))?;
        }
        self.files.tick()
    }

    /// Completes the folder after the last fact, and tells what was found.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(mut self) -> Result<(RunFolder, Analysis, Findings)> {
        let rows = self.analysis.recovery_rows(true);
        write_recovery(&self.folder.file(RECOVERY), &rows)?;
        for (tag, series) in outage_series(&rows) {
            let (start_s, length_s) = (seconds(series.from_us), seconds(series.until_us - series.from_us));
            self.files.write_interval(&Interval { tag: &tag, start_s, length_s, histogram: &series.outages })?;
        }
        self.files.tick()?;
        let findings = self.analysis.finish();
        self.write_run(&findings)?;
        self.write_page(&findings)?;
        Ok((self.folder, self.analysis, findings))
    }

    /// The folder that is being filled.
    #[must_use]
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }

    fn write_page(&self, findings: &Findings) -> Result<()> {
        let path = self.folder.file(REPORT);
        let content = page_of(&self.analysis, findings).map_err(|source| RecordError::Json { path: path.clone(), source })?;
        content.map_or(Ok(()), |content| replace(&path, content.as_bytes()))
    }

    fn write_run(&self, findings: &Findings) -> Result<()> {
        let path = self.folder.file(RUN);
        let Some(run) = self.analysis.run() else { return Ok(()) };
        let left_out =
            LeftOut { metadata_rows_left_out: self.files.metadata_rows_left_out(), layer_rows_left_out: self.files.layer_rows_left_out() };
        let content = run_file(run, findings, left_out).map_err(|source| RecordError::Json { path: path.clone(), source })?;
        replace(&path, content.as_bytes())
    }
}

/// The run as a page; `None`: its first fact has not come.
///
/// # Errors
/// If the serializer refuses.
pub(super) fn page_of(analysis: &Analysis, findings: &Findings) -> std::result::Result<Option<String>, serde_json::Error> {
    let Some(run) = analysis.run() else { return Ok(None) };
    page(Content { run, findings, series: &analysis.series(), errors: analysis.errors() }).map(Some)
}

/// Outages of one group at one step, and the time that they span.
struct Series {
    from_us: i64,
    until_us: i64,
    outages: LatencyHistogram,
}

/// By tag: `GROUP/outage/step-N`.
fn outage_series(rows: &[RecoveryRow]) -> BTreeMap<String, Series> {
    let mut all = BTreeMap::new();
    for row in rows {
        let (Some(step), Some(from_us), Ok(outage_us)) = (row.step, row.first_due_us, u64::try_from(row.outage_us)) else { continue };
        let tag = format!("{}/outage/step-{:04}", row.group, step.0);
        let until_us = from_us + row.outage_us;
        let series = all.entry(tag).or_insert_with(|| Series { from_us, until_us, outages: LatencyHistogram::new() });
        series.from_us = series.from_us.min(from_us);
        series.until_us = series.until_us.max(until_us);
        series.outages.record(outage_us);
    }
    all
}

fn seconds(time_us: i64) -> f64 {
    let span = std::time::Duration::from_micros(time_us.unsigned_abs()).as_secs_f64();
    if time_us < 0 { -span } else { span }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::record::read::FactReader;
    use crate::record::sample::{Pair, Sample};

    fn sample() -> Sample {
        Sample::new(&[("steady", 2)])
            .expect("records.failed", "==", 0.0)
            .pairs("steady", 2, 2)
            .load("steady", -2, 12)
            .generator(-2, 12, 800)
            .step(1, "kill", "1", 10_000)
            .gap(Pair("steady", 0, 0), 9_995, Some(19_000))
            .gap(Pair("steady", 1, 1), 10_020, Some(20_000))
            .load("steady", 12, 30)
            .end(30_000)
    }

    fn write(path: &Path, facts: &[Stamped]) -> Results {
        let mut results = Results::create(RunFolder::exactly(path).unwrap()).unwrap();
        for fact in facts {
            results.write(fact).unwrap();
            if matches!(fact.fact, Fact::Second(_)) {
                results.tick().unwrap();
            }
        }
        results
    }

    fn texts(path: &Path) -> BTreeMap<String, String> {
        let read = |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap());
        fs::read_dir(path).unwrap().map(|entry| read(entry.unwrap())).collect()
    }

    #[test]
    fn replaying_the_facts_gives_the_same_bytes_in_every_file() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("first"), root.path().join("second"));
        let (_, _, findings) = write(&first, &sample().facts).finish().unwrap();
        let facts: Vec<Stamped> = FactReader::open(&first).unwrap().map(Result::unwrap).collect();
        let (_, _, again) = write(&second, &facts).finish().unwrap();
        assert_eq!(findings, again);
        let names: Vec<String> = texts(&first).into_keys().collect();
        assert_eq!(
            names,
            [
                "brokers.csv",
                "errors.csv",
                "facts.jsonl",
                "latency.hlog",
                "layers.csv",
                "metadata.csv",
                "recovery.csv",
                "report.html",
                "run.json",
                "seconds.csv",
                "steps.csv"
            ]
        );
        assert_eq!(texts(&first), texts(&second));
    }

    #[test]
    fn run_json_names_the_layer_that_held_a_step_up() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &crate::record::sample::scenes::killed().probes(0, 2, 5, 1_000, 0).end(40_000).facts).finish().unwrap();
        let run: serde_json::Value = serde_json::from_str(&texts(root.path())[RUN]).unwrap();
        let held = serde_json::json!({
            "layer": "detected",
            "node": 2,
            "group": null,
            "partition": "orders/0",
            "since_ms": 10_020,
            "for_ms": 8_976,
            "of_ms": 9_280,
            "is_stuck": false,
            "in_words": "orders/0: 9.0 of 9.3 s until the controller fenced broker 2 (its session timeout)",
        });
        let table = [
            ("/layers/0/step", serde_json::json!(1)),
            ("/layers/0/held", held),
            ("/layers/0/waterfall/stages/0/layer", serde_json::json!("detected")),
            ("/layers/0/waterfall/stages/2/not_before_ms", serde_json::json!(19_002)),
            (
                "/layers/0/waterfall/segments/5",
                serde_json::json!({"layer": "route", "node": 3, "group": "steady", "since_ms": 19_040, "for_ms": 5}),
            ),
            ("/probes/requests/Metadata", serde_json::json!(10)),
        ];
        for (pointer, value) in table {
            assert_eq!(run.pointer(pointer), Some(&value), "{pointer}");
        }
    }

    #[test]
    fn a_killed_run_leaves_valid_files_and_says_so() {
        let root = tempfile::tempdir().unwrap();
        let facts = sample().facts;
        drop(write(root.path(), &facts[..facts.len() - 2]));
        let texts = texts(root.path());
        let run: serde_json::Value = serde_json::from_str(&texts[RUN]).unwrap();
        assert_eq!((run["verdict"].as_str(), run["ended_at"].is_null()), (Some("INTERRUPTED"), true));
        assert_eq!(texts[RECOVERY].lines().count(), 3, "{}", texts[RECOVERY]);
    }

    #[test]
    fn run_json_holds_what_other_programs_read() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &sample().facts).finish().unwrap();
        let texts = texts(root.path());
        let run: serde_json::Value = serde_json::from_str(&texts[RUN]).unwrap();
        let table = [
            ("/plan_text", serde_json::json!("name = \"sample\"\n")),
            ("/seed", serde_json::json!(7)),
            ("/started_at", serde_json::json!("2026-11-29T10:00:00.000Z")),
            ("/ended_at", serde_json::json!("2026-11-29T10:00:32.000Z")),
            ("/verdict", serde_json::json!("PASS")),
            ("/reasons", serde_json::json!([])),
            ("/totals", serde_json::json!({"due": 3200, "sent": 3200, "ok": 3200, "failed": 0, "indeterminate": 0})),
            ("/groups/0/name", serde_json::json!("steady")),
            ("/groups/0/engine", serde_json::json!("native")),
            ("/groups/0/producers", serde_json::json!(2)),
            ("/groups/0/metadata_requests/total", serde_json::json!(0)),
            ("/groups/0/metadata_requests/by_reason", serde_json::json!({})),
            ("/layers", serde_json::json!([])),
            ("/probes", serde_json::json!(null)),
            ("/metadata_rows_left_out", serde_json::json!(0)),
            ("/layer_rows_left_out", serde_json::json!(0)),
            ("/groups/0/first_ack_ms", serde_json::json!(null)),
            ("/groups/0/latency/baseline/response/p99_us", serde_json::json!(2000)),
            ("/steps/0/was_controller", serde_json::json!(true)),
            ("/steps/0/outages/0/outage_ms/max", serde_json::json!(9980)),
            ("/generator/lateness_p50_us", serde_json::json!(800)),
            ("/generator/lateness_p99_us", serde_json::json!(800)),
            ("/generator/lateness_max_us", serde_json::json!(800)),
            ("/generator/cpu_seconds", serde_json::json!(2.1)),
            ("/generator/rss_bytes_max", serde_json::json!(40_000_000)),
            ("/generator/threads_max", serde_json::json!(3)),
        ];
        for (pointer, value) in table {
            assert_eq!(run.pointer(pointer), Some(&value), "{pointer}");
        }
        assert!(texts["latency.hlog"].contains("Tag=steady/outage/step-0001,11.995,"), "{}", texts["latency.hlog"]);
        assert_eq!(texts[RECOVERY].lines().nth(1), Some("1,0,steady,0,orders,0,9950,9995,9997,19000,9005,true"));
        assert_eq!(texts[RECOVERY].lines().nth(2), Some("1,0,steady,0,orders,1,,,,,0,true"));
    }
}
