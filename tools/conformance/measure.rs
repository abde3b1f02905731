//! One run as a child process: started, bounded in time, and left with its files.
//!
//! Not here: what its files say (`figures`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, bail};
use kafka_chaos::clock::Clock;

use crate::figures::{RunFile, run_file};
use crate::rows::Cell;
use crate::variant::Variant;

/// The cluster's start and end, with the brokers' logs to be read.
pub(crate) const AROUND_THE_LOAD: Duration = Duration::from_secs(35);
/// How much longer than expected a run may take before it is ended: conditions are waited for with bounds of their own.
const PATIENCE: Duration = Duration::from_secs(240);
/// How long a run may take to end in order after it was told to.
const TO_END: Duration = Duration::from_secs(60);
/// How often a child is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often a run is tried that breaks down, which a busy machine may cause.
const ATTEMPTS: u32 = 2;
/// Exit codes of runs that have results: PASS, FAIL or HANG, UNKNOWN.
const WITH_RESULTS: [i32; 3] = [0, 1, 4];

/// What is run, and where.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    /// The program `chaos`.
    pub(crate) program: &'a Path,
    /// Folder of all runs.
    pub(crate) work: &'a Path,
    /// The clock.
    pub(crate) clock: &'a Clock,
}

impl Bench<'_> {
    /// Runs a cell; the folder of its results, and its `run.json`.
    ///
    /// # Errors
    /// It broke down twice; the error holds the end of what it said.
    pub(crate) fn run(&self, cell: &Cell, variant: &Variant) -> anyhow::Result<(PathBuf, RunFile)> {
        let mut problem = String::new();
        for _ in 0..ATTEMPTS {
            match self.attempt(cell, variant) {
                Ok(done) => return Ok(done),
                Err(error) => problem = format!("{error:#}"),
            }
        }
        bail!("{} on Kafka {} broke down {ATTEMPTS} times: {problem}", cell.plan, cell.kafka)
    }

    fn attempt(&self, cell: &Cell, variant: &Variant) -> anyhow::Result<(PathBuf, RunFile)> {
        let folder = self.work.join(&cell.kafka).join(&cell.plan).join(cell.repeat.to_string());
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let (plan, out, said) = (folder.join("plan.toml"), folder.join("run"), folder.join("progress.txt"));
        fs::write(&plan, &variant.text)?;
        let mut command = Command::new(self.program);
        command.arg("run").arg(&plan).arg("--out").arg(&out).args(["--kafka", &cell.kafka, "--request-log"]).env("NO_COLOR", "1");
        command.stdout(File::create(folder.join("summary.txt"))?).stderr(File::create(&said)?);
        let child = command.spawn().with_context(|| format!("cannot run {}", self.program.display()))?;
        let status = self.wait(child, variant.load + AROUND_THE_LOAD + PATIENCE)?;
        let has_results = status.code().is_some_and(|code| WITH_RESULTS.contains(&code));
        if !has_results {
            bail!("{status}: {}", last_lines(&said));
        }
        // A run's brokers log tens of megabytes; what is used of them is counted in requests.csv.
        if out.join("requests.csv").exists() {
            fs::remove_dir_all(out.join("logs"))?;
        } else {
            bail!("the brokers' requests were not counted: {}", last_lines(&said));
        }
        let run = run_file(&out)?;
        Ok((out, run))
    }

    /// Waits for the end; a run that takes too long is told to end in order, then ended.
    fn wait(&self, mut child: Child, within: Duration) -> anyhow::Result<ExitStatus> {
        for (bound, signal) in [(within, "-INT"), (TO_END, "-KILL")] {
            let until = self.clock.now() + bound;
            while self.clock.now() < until {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                std::thread::sleep(LOOK_EVERY);
            }
            Command::new("kill").args([signal, &child.id().to_string()]).status().context("cannot run kill")?;
        }
        Ok(child.wait()?)
    }
}

/// The end of a file, for an error.
fn last_lines(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" | ")
}
