//! What must be true after a round, whatever was done to `chaos`.

use std::path::{Path, PathBuf};
use std::process::{Command as Program, ExitStatus, Output};

use anyhow::Context as _;
use kafka_chaos::cluster::daemon::Daemon;
use kafka_chaos::cluster::inventory;

use super::blow::Blow;
use super::draw::{Command, Moment, Trial};
use super::folder::{Folder, read};
use super::round::{Site, runs_of};

/// A round that is over.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) site: &'a Site<'a>,
    pub(crate) out: &'a Path,
    /// `None`: it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) pid: u32,
    /// Bytes of each run's `facts.jsonl` that were there while it ran.
    pub(crate) seen: &'a [(Vec<u8>, PathBuf)],
    /// What it has said on standard error.
    pub(crate) said: &'a str,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) verdict: String,
    pub(crate) reasons: Vec<String>,
    pub(crate) facts: usize,
    pub(crate) cleaned: usize,
    pub(crate) problems: Vec<String>,
}

/// Looks at folder, engine and foreign things, and cleans up.
///
/// # Errors
/// The look itself could not be taken.
pub(crate) fn after(scene: &Scene<'_>) -> anyhow::Result<Left> {
    let mut left = Left { verdict: "none".to_owned(), ..Left::default() };
    if scene.said.contains("panicked") || scene.said.contains("internal error") {
        left.problems.push(format!("a panic; it said:\n{}", scene.said));
    }
    let of_run = [scene.out.to_owned()];
    let of_comparison = runs_of(scene.out);
    let folders: &[PathBuf] = if scene.trial.command == Command::Compare { &of_comparison } else { &of_run };
    for path in folders {
        let folder = read(path);
        left.facts += folder.facts;
        (left.verdict, left.reasons) = (folder.verdict.clone(), folder.reasons.clone());
        left.problems.extend(folder.problems.iter().cloned());
        if scene.trial.blow != Blow::Kill && !folder.parts.is_empty() {
            left.problems.push(format!("half files: {}", folder.parts.join(", ")));
        }
        report(scene.site, path, &folder, &mut left.problems)?;
    }
    // The runs of a comparison that are over by the blow have nothing to do with it.
    left.problems.extend(ending(scene, &read(folders.last().map_or(scene.out, PathBuf::as_path))));
    for (seen, path) in scene.seen.iter().filter(|(seen, path)| !read(path).bytes.starts_with(seen)) {
        left.problems.push(format!("{} bytes of facts were seen in {}, and are not there any more", seen.len(), path.display()));
    }
    clean(scene, &mut left)?;
    match scene.site.foreign.change() {
        Ok(change) => left.problems.extend(change),
        Err(error) => left.problems.push(format!("what is not ours cannot be seen any more: {error:#}")),
    }
    Ok(left)
}

/// What the reasons against a run begin with that was frozen or starved, perhaps for all of its short baseline.
const LATE: &[&str] = &["the load generator was late:", "no record was acknowledged in the baseline"];
/// The same for what a busy machine does to it, whoever reads its output.
const LATE_BY_ITSELF: &[&str] = &["the load generator was late: p99"];

/// What is wrong with exit code and verdict, if anything is.
fn ending(scene: &Scene<'_>, folder: &Folder) -> Option<String> {
    let code = scene.status?.code();
    let wrong = match scene.trial.blow {
        Blow::Kill => killed(scene.trial, code, folder),
        blow if blow.ends() => stopped(scene.trial, code, folder),
        _ => gone_on(scene.trial, code, folder),
    }?;
    Some(format!("{wrong}: code {code:?}, verdict {} for {:?}; it said:\n{}", folder.verdict, folder.reasons, scene.said))
}

fn code_of(verdict: &str) -> i32 {
    match verdict {
        "PASS" => 0,
        "FAIL" | "HANG" => 1,
        "UNKNOWN" => 4,
        _ => 130,
    }
}

/// Whether a run may have been complete by then.
fn is_late(trial: &Trial) -> bool {
    matches!(trial.moment, Moment::Drain | Moment::Audit | Moment::Report | Moment::Removal)
}

/// Whether it had ended before the blow came. A comparison has another run to go then.
fn is_over(trial: &Trial, code: Option<i32>, folder: &Folder) -> bool {
    trial.command != Command::Compare && is_late(trial) && code == Some(code_of(&folder.verdict))
}

fn killed(trial: &Trial, code: Option<i32>, folder: &Folder) -> Option<&'static str> {
    let has_no_load =
        trial.command == Command::Compare || matches!(trial.moment, Moment::Containers | Moment::Waiting | Moment::Topics | Moment::WarmUp);
    let is_told = match folder.verdict.as_str() {
        "INTERRUPTED" => true,
        "none" => has_no_load,
        _ => folder.has_ended,
    };
    match code {
        Some(_) if !is_over(trial, code, folder) => Some("not killed"),
        None if !is_told => Some("killed, but the verdict is not INTERRUPTED"),
        _ => None,
    }
}

fn stopped(trial: &Trial, code: Option<i32>, folder: &Folder) -> Option<&'static str> {
    let is_told = match folder.verdict.as_str() {
        "INTERRUPTED" => true,
        "none" => trial.command == Command::Compare,
        _ => is_late(trial),
    };
    let is_well = (code == Some(130) && is_told) || is_over(trial, code, folder);
    (!is_well).then_some("stopped, but not as it should be")
}

fn gone_on(trial: &Trial, code: Option<i32>, folder: &Folder) -> Option<&'static str> {
    let is_unknown = folder.verdict == "UNKNOWN";
    // A reader that goes away is no reason to doubt a run; being frozen or starved is one, and the only one.
    let may_be = if matches!(trial.blow, Blow::CloseOutput | Blow::CloseErrors) { LATE_BY_ITSELF } else { LATE };
    if code != Some(code_of(&folder.verdict)) || code == Some(130) {
        Some("it should have gone on")
    } else if must_be_unknown(trial.blow, trial.moment) && !is_unknown {
        Some("its load was late, but it trusts its figures")
    } else if is_unknown && !folder.reasons.iter().all(|reason| may_be.iter().any(|words| reason.starts_with(words))) {
        Some("it doubts its figures for another reason than the blow")
    } else if !is_unknown && folder.verdict != "PASS" {
        Some("its verdict is not the plan's")
    } else {
        None
    }
}

/// Whether the load was late by so much that figures prove nothing.
fn must_be_unknown(blow: Blow, moment: Moment) -> bool {
    match blow {
        Blow::Freeze => {
            matches!(moment, Moment::WarmUp | Moment::Steady | Moment::Paused | Moment::CutOff | Moment::Disconnected | Moment::Recovery)
        }
        // Later, records are late by less than an outage must last to count.
        Blow::Starve => moment == Moment::Steady,
        _ => false,
    }
}

/// `chaos report` must tell the same as the run's own files, as far as those are complete.
fn report(site: &Site<'_>, path: &Path, folder: &Folder, problems: &mut Vec<String>) -> anyhow::Result<()> {
    let path = path.to_str().context("a folder's name")?;
    let told = chaos(site, &["report", "--json", path])?;
    if folder.facts == 0 {
        if told.status.code() != Some(3) || !text(&told.stderr).contains("error:") {
            problems.push(format!("report of a folder without facts: {}, {}", told.status, text(&told.stderr)));
        }
        return Ok(());
    }
    if !matches!(told.status.code(), Some(0 | 1 | 4 | 130)) {
        problems.push(format!("report: {}, {}", told.status, text(&told.stderr)));
        return Ok(());
    }
    if folder.is_complete && told.stdout != folder.run {
        problems.push("report --json tells something else than run.json".to_owned());
    }
    if !folder.has_ended && told.status.code() != Some(130) {
        problems.push(format!("report of a run without an end: {}", told.status));
    }
    let page = Path::new(path).join("report.html");
    let drawn = std::fs::read(&page).ok();
    let again = chaos(site, &["report", path])?;
    let redrawn = std::fs::read(&page).ok();
    if again.status.code() != told.status.code() || redrawn.is_none() {
        problems.push(format!("report: {}, {}", again.status, text(&again.stderr)));
    }
    if folder.is_complete && drawn.is_some() && drawn != redrawn {
        problems.push("the page made again is another one".to_owned());
    }
    Ok(())
}

/// Nothing of ours may be left after an orderly end, and nothing after `chaos clean`.
fn clean(scene: &Scene<'_>, left: &mut Left) -> anyhow::Result<()> {
    let before = ours(scene)?;
    left.cleaned = before.len();
    let was_killed = scene.trial.blow == Blow::Kill || scene.status.is_none();
    if !was_killed && !before.is_empty() {
        left.problems.push(format!("it has left {}", before.join(", ")));
    }
    let cleaned = chaos(scene.site, &["clean"])?;
    if !cleaned.status.success() {
        left.problems.push(format!("chaos clean: {}, {}", cleaned.status, text(&cleaned.stderr)));
    }
    let after = ours(scene)?;
    if !after.is_empty() {
        left.problems.push(format!("chaos clean has left {}", after.join(", ")));
    }
    Ok(())
}

/// Names of what the round's process has made and what is still there.
fn ours(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let runs = scene.site.runtime.block_on(async { inventory::all(&Daemon::connect().await?).await })?;
    let of_child = runs.into_values().filter(|objects| objects.owner().is_none_or(|owner| owner.pid == scene.pid));
    let names = of_child.flat_map(|objects| {
        let others = objects.networks.into_iter().chain(objects.volumes).map(|object| object.name);
        objects.containers.into_iter().map(|container| container.name).chain(others)
    });
    Ok(names.collect())
}

fn chaos(site: &Site<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    Program::new(site.chaos).args(arguments).env("NO_COLOR", "1").output().context("cannot start chaos")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// What is wrong, in a round of this kind that ended so.
    fn wrong(command: Command, blow: Blow, moment: Moment, code: Option<i32>, verdict: &str, reasons: &[&str]) -> Option<&'static str> {
        let trial = Trial { number: 1, command, blow, moment, after: Duration::ZERO };
        let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
        let folder = Folder { verdict: verdict.to_owned(), reasons, has_ended: verdict != "INTERRUPTED", ..Folder::default() };
        match blow {
            Blow::Kill => killed(&trial, code, &folder),
            _ if blow.ends() => stopped(&trial, code, &folder),
            _ => gone_on(&trial, code, &folder),
        }
    }

    #[test]
    fn what_is_killed_must_not_look_complete() {
        let run = |moment, code, verdict| wrong(Command::OneNode, Blow::Kill, moment, code, verdict, &[]).is_none();
        assert!(run(Moment::Steady, None, "INTERRUPTED") && run(Moment::Topics, None, "none") && run(Moment::Removal, None, "PASS"));
        assert!(run(Moment::Report, Some(0), "PASS"), "it was quicker than the blow");
        assert!(!run(Moment::Steady, None, "none") && !run(Moment::Steady, Some(0), "PASS") && !run(Moment::Report, Some(1), "PASS"));
        assert!(wrong(Command::Compare, Blow::Kill, Moment::Report, None, "none", &[]).is_none());
        assert!(wrong(Command::Compare, Blow::Kill, Moment::Report, Some(0), "PASS", &[]).is_some());
    }

    #[test]
    fn what_is_stopped_says_so() {
        let run = |moment, code, verdict| wrong(Command::OneNode, Blow::Terminate, moment, Some(code), verdict, &[]).is_none();
        assert!(run(Moment::Steady, 130, "INTERRUPTED") && run(Moment::Drain, 130, "PASS") && run(Moment::Drain, 0, "PASS"));
        assert!(!run(Moment::Steady, 130, "PASS") && !run(Moment::Steady, 0, "PASS") && !run(Moment::Topics, 130, "none"));
        let compare = |moment, code, verdict| wrong(Command::Compare, Blow::Interrupt, moment, Some(code), verdict, &[]).is_none();
        assert!(compare(Moment::Waiting, 130, "none") && compare(Moment::Report, 130, "PASS"));
        assert!(!compare(Moment::Report, 0, "PASS") && !compare(Moment::Steady, 130, "PASS"));
    }

    #[test]
    fn what_goes_on_doubts_nothing_but_what_the_blow_spoils() {
        let stall = "the load generator was late: it stood still for 3000 ms";
        let busy = "the load generator was late: p99 30 ms in the baseline";
        let run =
            |blow, moment, code, verdict, reasons: &[&str]| wrong(Command::OneNode, blow, moment, Some(code), verdict, reasons).is_none();
        assert!(run(Blow::Freeze, Moment::Steady, 4, "UNKNOWN", &[stall]) && run(Blow::Freeze, Moment::Drain, 0, "PASS", &[]));
        let empty = "no record was acknowledged in the baseline: outages cannot be told from ordinary slowness";
        assert!(run(Blow::Freeze, Moment::WarmUp, 4, "UNKNOWN", &[stall, empty]));
        assert!(!run(Blow::Freeze, Moment::Steady, 0, "PASS", &[]) && !run(Blow::Freeze, Moment::Steady, 4, "UNKNOWN", &[stall, "lost"]));
        assert!(run(Blow::CloseOutput, Moment::Steady, 0, "PASS", &[]) && run(Blow::CloseErrors, Moment::Steady, 4, "UNKNOWN", &[busy]));
        assert!(!run(Blow::CloseErrors, Moment::Steady, 4, "UNKNOWN", &[stall]) && !run(Blow::CloseOutput, Moment::Steady, 1, "FAIL", &[]));
        assert!(
            !run(Blow::CloseOutput, Moment::Steady, 130, "INTERRUPTED", &[]) && !run(Blow::CloseOutput, Moment::Steady, 4, "PASS", &[])
        );
    }
}
