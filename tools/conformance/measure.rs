//! One run as a child process: started, bounded in time, and left with its files.
//!
//! Not here: what its files say (`figures`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use kafka_chaos::clock::Clock;

use crate::figures::{RunFile, run_file};
use crate::rows::Cell;
use crate::run::{LOOK_EVERY, Run};
use crate::stop::Stop;
use crate::variant::Variant;

/// The cluster's start and end, with the brokers' logs to be read.
pub(crate) const AROUND_THE_LOAD: Duration = Duration::from_secs(35);
/// How much longer than expected a run may take before it is ended: conditions are waited for with bounds of their own.
const PATIENCE: Duration = Duration::from_secs(240);
/// How often a run is tried that breaks down, which a busy machine may cause.
const ATTEMPTS: u32 = 2;
/// Exit codes of runs that have results: PASS, FAIL or HANG, UNKNOWN.
const WITH_RESULTS: [i32; 3] = [0, 1, 4];

/// What is said when somebody wanted the end.
const STOPPED: &str = "stopped; what was measured so far is kept, and the same command goes on from there";

/// What is run, and where.
#[derive(Debug)]
pub(crate) struct Bench<'a> {
    /// The program `chaos`.
    pub(crate) program: &'a Path,
    /// Folder of all runs.
    pub(crate) work: &'a Path,
    /// The clock.
    pub(crate) clock: &'a Clock,
    /// Whether somebody wants the end.
    pub(crate) stop: Stop,
}

impl Bench<'_> {
    /// Runs a cell; the folder of its results, and its `run.json`.
    ///
    /// # Errors
    /// It broke down twice; the error holds the end of what it said.
    pub(crate) fn run(&self, cell: &Cell, variant: &Variant) -> anyhow::Result<(PathBuf, RunFile)> {
        let mut problem = String::new();
        for _ in 0..ATTEMPTS {
            if self.stop.is_asked() {
                bail!(STOPPED);
            }
            match self.attempt(cell, variant) {
                Ok(done) => return Ok(done),
                Err(error) if self.stop.is_asked() => return Err(error),
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
        let mut run = Run::start(&mut command).with_context(|| format!("cannot run {}", self.program.display()))?;
        let status = self.wait(&mut run, variant.load + AROUND_THE_LOAD + PATIENCE)?;
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

    /// Waits for the end. A run that takes too long, or is not wanted any more, is interrupted, which lets it remove its cluster.
    fn wait(&self, run: &mut Run, within: Duration) -> anyhow::Result<ExitStatus> {
        let until = self.clock.now() + within;
        while self.clock.now() < until && !self.stop.is_asked() {
            if let Some(status) = run.status()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let ended = self.end(run)?;
        if self.stop.is_asked() {
            bail!(STOPPED);
        }
        Ok(ended)
    }

    /// Interrupts a run and waits; what one leaves that had to be killed is cleaned up.
    fn end(&self, run: &mut Run) -> anyhow::Result<ExitStatus> {
        let ended = run.end()?;
        if ended.code().is_some() {
            return Ok(ended);
        }
        match Command::new(self.program).arg("clean").stdout(Stdio::null()).status() {
            Ok(cleaned) if cleaned.success() => Ok(ended),
            _ => bail!(
                "a run did not end in order, and its containers could not be removed: `chaos clean` removes them, `docker ps` shows them"
            ),
        }
    }
}

/// The end of a file, for an error.
fn last_lines(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(5)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> Run {
        Run::start(Command::new("sh").args(["-c", script])).unwrap()
    }

    fn bench<'a>(clock: &'a Clock, stop: &Stop) -> Bench<'a> {
        Bench { program: Path::new("true"), work: Path::new("."), clock, stop: stop.clone() }
    }

    #[test]
    fn a_run_that_is_not_wanted_any_more_is_ended() {
        let (clock, stop) = (Clock::real(), Stop::default());
        stop.ask();
        let mut endless = run("while :; do sleep 0.1; done");
        let error = bench(&clock, &stop).wait(&mut endless, Duration::from_secs(60)).unwrap_err().to_string();
        assert!(error.starts_with("stopped"), "{error}");
        assert!(endless.status().unwrap().is_some());
    }

    #[test]
    fn a_run_that_ends_by_itself_is_not_touched_and_one_that_takes_too_long_is_interrupted() {
        let (clock, stop) = (Clock::real(), Stop::default());
        let bench = bench(&clock, &stop);
        assert_eq!(bench.wait(&mut run("exit 4"), Duration::from_secs(60)).unwrap().code(), Some(4));
        let mut slow = run("trap 'exit 7' INT; while :; do sleep 0.1; done");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(bench.wait(&mut slow, Duration::from_millis(1)).unwrap().code(), Some(7));
    }
}
