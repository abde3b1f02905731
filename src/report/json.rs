//! `run.json`: the run's identity and its findings, for programs.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::analyze::findings::Findings;
use crate::record::fact::RunStarted;

/// The file's content; names of fields are an interface.
#[derive(Debug, Serialize)]
struct RunFile<'a> {
    run_id: &'a str,
    plan: &'a str,
    plan_path: &'a str,
    plan_sha256: &'a str,
    seed: u64,
    versions: &'a BTreeMap<String, String>,
    machine: &'a BTreeMap<String, String>,
    /// Start of the load.
    started_at: Option<String>,
    /// Start of the baseline: time 0 of every other file.
    steady_at: &'a str,
    ended_at: Option<String>,
    #[serde(flatten)]
    findings: &'a Findings,
    #[serde(flatten)]
    left_out: LeftOut,
    plan_text: &'a str,
}

/// What tables leave out because too much came in one second.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct LeftOut {
    /// Metadata requests without a row in `metadata.csv`.
    pub metadata_rows_left_out: u64,
    /// Sightings without a row in `layers.csv`.
    pub layer_rows_left_out: u64,
}

/// The content of `run.json`, ending with a new line.
///
/// # Errors
/// If the serializer refuses.
pub fn run_file(run: &RunStarted, findings: &Findings, left_out: LeftOut) -> Result<String, serde_json::Error> {
    let file = RunFile {
        run_id: &run.run_id,
        plan: &run.plan,
        plan_path: &run.plan_path,
        plan_sha256: &run.plan_sha256,
        seed: run.seed,
        versions: &run.versions,
        machine: &run.machine,
        started_at: after_steady(run, -run.phases_us[0]),
        steady_at: &run.steady_at,
        ended_at: findings.ended_ms.and_then(|ms| after_steady(run, ms * 1000)),
        findings,
        left_out,
        plan_text: &run.plan_text,
    };
    Ok(serde_json::to_string_pretty(&file)? + "\n")
}

/// Wall-clock time so many microseconds after the start of `steady`; `None` if the run told none.
fn after_steady(run: &RunStarted, time_us: i64) -> Option<String> {
    let steady_at: Timestamp = run.steady_at.parse().ok()?;
    Some(format!("{:.3}", steady_at.checked_add(SignedDuration::from_micros(time_us)).ok()?))
}
