//! `chaos compare` from outside: arguments, and on real brokers a comparison that is interrupted twice and comes to its end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::{Running, chaos, text};
use crate::support;

/// Runs of a few seconds on one node.
const TINY: &str = r#"name = "tiny"
about = "For tests."

[cluster]
kafka = "4.3.0"
nodes = 1

[[topic]]
name = "orders"
partitions = 2
replication = 1

[[producers]]
name = "steady"
count = 2
topics = ["orders"]
rate = "20/s"

[phases]
warmup = "1s"
steady = "3s"
recovery = "1s"
"#;

fn written(folder: &Path, text: &str) -> PathBuf {
    let plan = folder.join("tiny.toml");
    std::fs::write(&plan, text).unwrap();
    plan
}

#[test]
fn wrong_arguments_end_with_2_and_say_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let plan = written(folder.path(), TINY);
    let (plan, empty) = (plan.to_str().unwrap(), folder.path().to_str().unwrap());
    let cell = format!("before={empty}");
    let cell = cell.as_str();
    let rows: [(&[&str], &str); 20] = [
        (&[], "required"),
        (&["no-such.toml"], "cannot read the plan"),
        (&[plan, "--vary", "topic.orders.partitions"], "there is no `=`"),
        (&[plan, "--vary", "topic.oders.partitions=1,2"], "did you mean `orders`"),
        (&[plan, "--vary", "topic.orders.partitions=1,0"], "tiny.toml with 0:"),
        (&[plan, "--along", "phases.steady=1s,2s"], "there is no --vary before it"),
        (&[plan, "--vary", "topic.orders.partitions=1,2", "--repeat", "0"], "--repeat"),
        (&[plan, "--resume", empty], "cannot be used with"),
        (&["--resume", empty], "holds no comparison"),
        (&[empty], "is no comparison's folder"),
        (&[empty, empty], "is not the folder of a run"),
        (&[empty, "--vary", "seed=1,2"], "--vary goes with a plan"),
        (&["--cell", "before"], "write NAME=DIR,DIR"),
        (&[empty, "--kafka", "4.3.0"], "--kafka goes with a plan"),
        (&["--resume", empty, "--kafka", "4.3.0"], "--kafka goes with a plan"),
        (&["--cell", cell, "--kafka", "4.3.0"], "--kafka goes with a plan"),
        (&[plan, "--kafka", "4.3.0", "--vary", "cluster.kafka=3.9.2,4.3.0"], "both say which version of Kafka it is"),
        (&[plan, "--again"], "--resume"),
        (&["--resume", empty, "--dry-run"], "holds no comparison"),
        (&[plan, "--out", empty, "--vary", "seed=1,2"], "is not empty"),
    ];
    for (arguments, expected) in rows {
        let arguments: Vec<&str> = ["compare"].iter().chain(arguments).copied().collect();
        let output = chaos(&arguments).output().unwrap();
        let said = text(&output);
        // As in `chaos report`, a folder that cannot be read is the environment's fault.
        let code = if expected == "is not the folder of a run" { 3 } else { 2 };
        assert_eq!((output.status.code(), said.contains(expected)), (Some(code), true), "{arguments:?} without {expected:?}: {said}");
    }
}

#[test]
fn a_dry_run_tells_cells_order_and_time_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let plan = written(folder.path(), TINY);
    let vary = ["--vary", "producers.*.config.\"linger.ms\"=0,5ms", "--along", "phases.recovery=1s,2s"];
    let mut arguments = vec!["compare", plan.to_str().unwrap(), "--repeat", "3", "--seed", "5", "--dry-run"];
    arguments.extend(vary);
    let output = chaos(&arguments).current_dir(folder.path()).env("DOCKER_HOST", "unix:///no-such.sock").output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for part in ["2 cells x 3 runs and 2 controls are 8 runs", "producers.*.config.\"linger.ms\" = 5ms, phases.recovery = 2s", "round 3"] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    assert!(!folder.path().join("results").exists());
}

#[test]
fn a_version_from_the_environment_gives_way_to_one_that_varies_and_to_runs_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let plan = written(folder.path(), TINY);
    let with_env = |arguments: &[&str]| chaos(arguments).env("CHAOS_KAFKA", "3.9.2").output().unwrap();
    let output = with_env(&["compare", plan.to_str().unwrap(), "--dry-run", "--vary", "cluster.kafka=4.0.2,4.3.0"]);
    assert!(output.status.success() && !text(&output).contains("3.9.2"), "{}", text(&output));
    let output = with_env(&["compare", plan.to_str().unwrap(), "--dry-run", "--vary", "seed=1,2"]);
    assert!(output.status.success() && text(&output).contains("cluster.kafka = 3.9.2, seed = 2"), "{}", text(&output));
    let output = with_env(&["compare", "--resume", folder.path().to_str().unwrap()]);
    assert!(text(&output).contains("holds no comparison"), "{}", text(&output));
}

#[test]
fn without_an_engine_a_comparison_says_so_and_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (written(folder.path(), TINY), folder.path().join("out"));
    let output = chaos(&["compare", plan.to_str().unwrap(), "--vary", "seed=1,2", "--out", out.to_str().unwrap()])
        .env("DOCKER_HOST", format!("unix://{}/no-such.sock", folder.path().display()))
        .output()
        .unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("run 1 of 14 (1, control) could not be carried out") && said.contains("no-such.sock"), "{said}");
    assert!(!out.exists(), "a folder was left");
}

#[tokio::test]
async fn a_comparison_is_interrupted_killed_resumed_and_told_again() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (written(folder.path(), TINY), folder.path().join("out"));
    let (plan, out) = (plan.to_str().unwrap(), out.to_str().unwrap());
    let arguments = ["compare", plan, "--vary", "topic.orders.partitions=2,4", "--repeat", "2", "--seed", "3", "--out", out];

    let mut running = Running::start(&arguments);
    running.wait_for("run 2 of 6");
    running.wait_for("run 3 of 6");
    running.signal("INT");
    let (status, _) = running.end();
    assert_eq!(status.code(), Some(130), "{}", running.said);
    assert!(running.said.contains("stopped after 2 of 6 runs; go on with: chaos compare --resume"), "{}", running.said);
    assert_eq!(containers_of(running.pid()), [""; 0]);
    let first = facts_of(Path::new(out));

    // The same command goes on; nobody cleans up after a kill.
    let mut running = Running::start(&arguments);
    running.wait_for("run 3 of 6 (");
    running.wait_for("run 4 of 6");
    until_begun(&Path::new(out).join("runs"), "004-");
    let killed = running.pid();
    running.signal("KILL");
    running.end();
    assert!(!containers_of(killed).is_empty(), "a killed program removes nothing");

    let mut running = Running::start(&["compare", "--resume", out]);
    let (status, table) = running.end();
    assert_eq!(status.code(), Some(0), "{}", running.said);
    for run in ["run 4 of 6", "run 5 of 6", "run 6 of 6"] {
        assert!(running.said.contains(run), "{run} is not in:\n{}", running.said);
    }
    assert!(!running.said.contains("run 2 of 6"), "{}", running.said);
    assert_eq!((containers_of(killed), containers_of(running.pid())), (Vec::new(), Vec::new()));
    let all = facts_of(Path::new(out));
    assert_eq!(all.len(), 6);
    assert!(first.iter().filter(|(run, _)| run.as_str() < "003").all(|(run, facts)| all[run] == *facts), "finished runs stay as they are");
    assert_eq!(std::fs::read_dir(Path::new(out).join("set-aside")).unwrap().count(), 2);
    for (run, facts) in &all {
        // Deleted and made again for each run: nothing of the one before is in them.
        assert!(facts.lines().next().unwrap().contains("\"plan_text\"") && !facts.contains("\"interrupted\":\""), "{run}");
    }
    assert_told(Path::new(out), &table);
}

/// Waits until the run in the folder that begins so has told what it is.
fn until_begun(runs: &Path, start: &str) {
    let has_begun = || {
        let mut entries = std::fs::read_dir(runs).unwrap().map(|entry| entry.unwrap());
        entries.any(|entry| entry.file_name().to_string_lossy().starts_with(start) && entry.path().join("run.json").exists())
    };
    for _ in 0..600 {
        if has_begun() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("no run {start} in {}", runs.display());
}

/// The table, the files, and the same again from the folder alone.
fn assert_told(out: &Path, table: &str) {
    let again = chaos(&["compare", out.to_str().unwrap()]).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", text(&again));
    let shown = String::from_utf8_lossy(&again.stdout);
    assert!(table.starts_with(shown.trim_end()), "{table}\nand again:\n{shown}");
    let rows = |file: &str| csv::Reader::from_path(out.join(file)).unwrap().records().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(rows("runs.csv").len(), 6);
    assert!(!rows("compare.csv").is_empty() && !rows("differences.csv").is_empty());
    let page = std::fs::read_to_string(out.join("compare.html")).unwrap();
    assert_eq!(page.matches("/report.html\"").count(), 6, "a link to each run");
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(out.join("compare.json")).unwrap()).unwrap();
    let runs: Vec<u64> = json["cells"].as_array().unwrap().iter().map(|cell| cell["runs"].as_u64().unwrap()).collect();
    assert_eq!(runs, [2, 2], "controls are in no cell");
}

/// The facts of each run, by its folder's name.
fn facts_of(out: &Path) -> BTreeMap<String, String> {
    let runs = std::fs::read_dir(out.join("runs")).unwrap().map(Result::unwrap);
    runs.map(|run| (run.file_name().into_string().unwrap(), std::fs::read_to_string(run.path().join("facts.jsonl")).unwrap())).collect()
}

/// Containers that a process has started and not removed.
fn containers_of(pid: u32) -> Vec<String> {
    let label = format!("label=io.kafka-chaos.owner-pid={pid}");
    let output = Command::new("docker").args(["ps", "-a", "--filter", &label, "--format", "{{.Names}}"]).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
