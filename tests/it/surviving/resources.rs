//! The machine runs out of what the tool needs: space for results, open files; or somebody takes a container away.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use super::{assert_unknown, ended, one_node, run_id_in};
use crate::program::{Running, chaos, left_of, run_json};
use crate::support;

/// A small file system; gone when this is dropped.
struct Small(PathBuf);

impl Small {
    /// `None` if this process may not mount one.
    fn mount(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(&at).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| Self(at))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking(), "{} is still mounted", self.0.display());
    }
}

fn report(out: &Path, more: &[&str]) -> Output {
    chaos(&["report", out.to_str().unwrap()]).args(more).output().unwrap()
}

#[tokio::test]
async fn a_full_disk_ends_the_run_at_once_and_what_was_recorded_stays() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(folder.path().join("small"), "64k") else {
        eprintln!("skipped: may not mount a small file system here");
        return;
    };
    let (plan, out) = (one_node(folder.path(), "60s", ""), small.0.join("out"));
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let (status, _) = running.end();
    assert_eq!(status.code(), Some(3), "{}", running.said);
    let (refused, hint) =
        (format!("error: cannot write {}", out.display()), "free some space there, or name a folder elsewhere with --out");
    for words in [&*refused, "No space left on device", hint] {
        assert!(running.said.contains(words), "{words}");
    }
    assert!(!running.said.contains("drain"), "figures with holes are none, so why wait for more?");

    let run = run_json(&out);
    assert_eq!((left_of(&run), run["verdict"].as_str()), (vec![], Some("INTERRUPTED")));
    let facts = std::fs::read_to_string(out.join("facts.jsonl")).unwrap();
    let whole: Vec<&str> = facts.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
    assert!(whole.len() > 50 && whole.iter().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{} facts", whole.len());
    let told = report(&out, &["--json"]);
    let told_again: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!((told.status.code(), told_again["verdict"].as_str()), (Some(130), Some("INTERRUPTED")));
    assert!(told_again["totals"]["ok"].as_u64() > Some(0), "{}", told_again["totals"]);
    let shown = report(&out, &[]);
    let complaint = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.code() == Some(130) && complaint.contains("there is no new report.html"), "{complaint}");
}

#[tokio::test]
async fn too_few_open_files_are_not_blamed_on_the_brokers() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (one_node(folder.path(), "5s", ""), folder.path().join("out"));
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("count = 4", "count = 60").replace("rate = \"20/s\"", "rate = \"2/s\"")).unwrap();
    let program = chaos(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    // Enough for files and probes, and for some of the clients: each has a connection or two.
    let mut limited = Command::new("prlimit");
    limited.arg("--nofile=48:48").arg(program.get_program()).args(program.get_args()).env("NO_COLOR", "1");
    let mut running = Running::of(&mut limited);
    let results = ended(&mut running, &out);
    assert_unknown(
        &results,
        "connections to brokers could not be made: this process may open no more files (`chaos doctor` shows the limit)",
    );
    assert_eq!(left_of(&results.run), [""; 0]);
}

/// Has the machine's engine do something to the run's only node, as somebody else might.
fn to_its_node(out: &Path, doing: &[&str]) {
    let done = Command::new("docker").args(doing).arg(format!("chaos-{}-1", run_id_in(out))).output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

#[tokio::test]
async fn a_container_that_somebody_freezes_is_told() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (one_node(folder.path(), "5s", ""), folder.path().join("out"));
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    running.wait_for("steady");
    to_its_node(&out, &["pause"]);
    // Longer than a second and a look, so that one look at least lies in it.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    to_its_node(&out, &["unpause"]);
    let results = ended(&mut running, &out);
    assert_unknown(&results, "the container of node 1 was paused (seen at");
    assert_eq!(results.run["totals"]["ok"], results.run["totals"]["due"], "{}", results.stdout);
}

#[tokio::test]
async fn a_container_that_somebody_removes_is_told_and_the_run_goes_to_its_end() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (one_node(folder.path(), "5s", ""), folder.path().join("out"));
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    running.wait_for("steady");
    to_its_node(&out, &["rm", "-f"]);
    let results = ended(&mut running, &out);
    assert_unknown(&results, "the container of node 1 was removed (seen at");
    assert!(results.stdout.contains("never recovered"), "{}", results.stdout);
    assert!(running.said.contains("a node's log could not be saved: "), "{}", running.said);
    assert_eq!(results.run["unplanned"][0]["state"], "absent");
    assert_eq!(left_of(&results.run), [""; 0]);
}
