//! One round: start `chaos`, wait for the moment, strike, wait for the end, look at what is left.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, ExitStatus};
use std::time::Duration;

use serde::Serialize;

use super::checks;
use super::child::Child;
use super::draw::{Command, Mark, Trial};
use super::folder::read;
use super::foreign::Foreign;
use super::tail::Tail;

/// Longest wait for a moment, and for the end after a blow: far above what either takes.
const WITHIN: Duration = Duration::from_secs(120);
/// Pause between two looks at the facts.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Where rounds happen.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) chaos: &'a Path,
    pub(crate) kafka: &'a str,
    pub(crate) work: &'a Path,
    pub(crate) runtime: &'a tokio::runtime::Runtime,
    pub(crate) foreign: &'a Foreign,
}

/// What came of a round.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Outcome {
    pub(crate) round: u32,
    pub(crate) command: &'static str,
    pub(crate) blow: &'static str,
    pub(crate) moment: &'static str,
    pub(crate) after_ms: u128,
    /// The exit code, or the signal.
    pub(crate) ended: String,
    /// What `run.json` says; `none`: there is no such file.
    pub(crate) verdict: String,
    /// Why it says so.
    #[serde(serialize_with = "joined")]
    pub(crate) reasons: Vec<String>,
    /// Whole lines of `facts.jsonl`, all runs of a comparison together.
    pub(crate) facts: usize,
    /// Containers and networks that `chaos clean` had to remove.
    pub(crate) cleaned: usize,
    /// What is not as it should be.
    #[serde(serialize_with = "joined")]
    pub(crate) problems: Vec<String>,
}

impl Outcome {
    /// For the screen.
    pub(crate) fn line(&self) -> String {
        let what = if self.problems.is_empty() { "survived".to_owned() } else { self.problems.join("; ") };
        let (ended, verdict, facts, cleaned) = (&self.ended, &self.verdict, self.facts, self.cleaned);
        let how = format!("{}, {}, {} ms after: {}", self.command, self.blow, self.after_ms, self.moment);
        format!("round {}: {how}: ended with {ended}, {verdict}, {facts} facts, {cleaned} left to clean: {what}", self.round)
    }
}

fn joined<S: serde::Serializer>(texts: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&texts.join("; "))
}

/// Carries a round out.
///
/// # Errors
/// The round itself could not be made; what `chaos` does wrong is a problem of the outcome.
pub(crate) fn carry_out(trial: &Trial, site: &Site<'_>) -> anyhow::Result<Outcome> {
    let out = site.work.join(format!("round-{}", trial.number));
    let plans = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/torture/plans");
    let plan = plans.join(if trial.command == Command::ThreeNodes { "three-nodes.toml" } else { "one-node.toml" });
    let mut program = Program::new(site.chaos);
    program.env("NO_COLOR", "1").current_dir(site.work);
    match trial.command {
        Command::Compare => program.arg("compare").arg(&plan).args(["--vary", "seed=1,2", "--repeat", "1"]),
        Command::OneNode | Command::ThreeNodes => program.arg("run").arg(&plan),
    };
    program.args(["--kafka", site.kafka, "--out"]).arg(&out);
    let mut child = Child::start(&mut program)?;
    // A comparison's folders are named as they are made: what they hold is kept at the blow.
    let tail = Tail::follow(&out.join("facts.jsonl"));
    let (mut problems, mut seen) = (Vec::new(), Vec::new());
    if comes(trial, &mut child, &tail, &out)? {
        std::thread::sleep(trial.after);
        seen.extend(runs_of(&out).into_iter().map(|run| (read(&run).bytes, run)));
        trial.blow.strike(&mut child)?;
    } else {
        problems.push(format!("the moment never came; it said:\n{}", child.said()));
    }
    let status = child.end(WITHIN)?;
    if status.is_none() {
        problems.push(format!("it has not ended within {} s; it said:\n{}", WITHIN.as_secs(), child.said()));
    }
    let pid = child.pid();
    let said = child.said();
    drop(child);
    seen.push((tail.seen().unwrap_or_default(), out.clone()));
    let left = checks::after(&checks::Scene { trial, site, out: &out, status, pid, seen: &seen, said: &said })?;
    problems.extend(left.problems);
    Ok(Outcome {
        round: trial.number,
        command: trial.command.words(),
        blow: trial.blow.words(),
        moment: trial.moment.words(),
        after_ms: trial.after.as_millis(),
        ended: status.map_or_else(|| "no end".to_owned(), ended),
        verdict: left.verdict,
        reasons: left.reasons,
        facts: left.facts,
        cleaned: left.cleaned,
        problems,
    })
}

/// Whether the moment comes.
fn comes(trial: &Trial, child: &mut Child, tail: &Tail, out: &Path) -> anyhow::Result<bool> {
    let text = match trial.moment.mark(trial.command) {
        Mark::Line(text) => return Ok(child.comes_to(text, WITHIN)),
        Mark::Fact(text) => text,
    };
    for _ in 0..WITHIN.as_millis() / LOOK_EVERY.as_millis() {
        // Of a run that is followed only the last fact is waited for.
        if tail.is_complete() || is_told_in_a_comparison(text, out) {
            return Ok(true);
        }
        if child.has_ended()? {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(false)
}

/// Whether a run of a comparison has told a fact with this text.
fn is_told_in_a_comparison(text: &str, out: &Path) -> bool {
    let facts = runs_of(out).into_iter().filter_map(|run| std::fs::read(run.join("facts.jsonl")).ok());
    facts.into_iter().any(|facts| facts.windows(text.len()).any(|window| window == text.as_bytes()))
}

/// The folders of a comparison's runs.
pub(crate) fn runs_of(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out.join("runs")).into_iter().flatten().flatten();
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    runs.sort();
    runs
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.code(), status.signal()) {
        (Some(code), _) => code.to_string(),
        (None, Some(9)) => "SIGKILL".to_owned(),
        (None, signal) => format!("signal {}", signal.unwrap_or_default()),
    }
}
