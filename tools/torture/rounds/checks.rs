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
    /// Bytes of `facts.jsonl` that were there while it ran.
    pub(crate) seen: &'a [u8],
    /// What it has said on standard error.
    pub(crate) said: &'a str,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Left {
    pub(crate) verdict: String,
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
        left.verdict = folder.verdict.clone();
        left.problems.extend(folder.problems.iter().cloned());
        if scene.trial.blow != Blow::Kill && !folder.parts.is_empty() {
            left.problems.push(format!("half files: {}", folder.parts.join(", ")));
        }
        report(scene.site, path, &folder, &mut left.problems)?;
        if scene.trial.command != Command::Compare {
            left.problems.extend(ending(scene, &folder));
            if !folder.bytes.starts_with(scene.seen) {
                left.problems.push(format!("{} bytes of facts were seen, and are not there any more", scene.seen.len()));
            }
        }
    }
    clean(scene, &mut left)?;
    left.problems.extend(scene.site.foreign.change()?);
    Ok(left)
}

/// Whether exit code and verdict are what the blow allows.
fn ending(scene: &Scene<'_>, folder: &Folder) -> Option<String> {
    let Trial { blow, moment, .. } = scene.trial;
    let code = scene.status?.code();
    let of_verdict = match folder.verdict.as_str() {
        "PASS" => 0,
        "FAIL" | "HANG" => 1,
        "UNKNOWN" => 4,
        _ => 130,
    };
    let is_late = matches!(moment, Moment::Drain | Moment::Audit | Moment::Report | Moment::Removal);
    let problem = |text: &str| Some(format!("{text}: code {code:?}, verdict {}; it said:\n{}", folder.verdict, scene.said));
    match blow {
        Blow::Kill if code.is_none() && folder.verdict != "INTERRUPTED" && folder.verdict != "none" && !folder.has_ended => {
            problem("killed, but the verdict is not INTERRUPTED")
        }
        // The blow came when it had ended.
        Blow::Kill if code.is_some() && !(is_late && code == Some(of_verdict)) => problem("not killed"),
        Blow::Kill => None,
        _ if blow.ends() && code == Some(130) && (folder.verdict == "INTERRUPTED" || is_late) => None,
        _ if blow.ends() && !(is_late && code == Some(of_verdict)) => problem("stopped, but not as it should be"),
        _ if code != Some(of_verdict) || of_verdict == 130 => problem("it should have gone on"),
        _ if must_be_unknown(*blow, *moment) && folder.verdict != "UNKNOWN" => problem("its load was late, but it trusts its figures"),
        _ => None,
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
