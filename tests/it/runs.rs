//! Whole runs of the program on real brokers: figures that must come out, and every way out of a run.
//!
//! Each run is used for several statements, because a cluster takes ten seconds to start.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::program::{Results, Running, chaos, left_of, requests_in_logs, run_json, run_plan};
use crate::{layers, support};

fn shipped(plan: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("plans").join(plan)
}

/// One of three nodes is killed and started again under acks=all, while others ask for Metadata too.
const SHORT_KILL: &str = r#"
name = "short-kill"
about = "A short kill for tests."

[cluster]
kafka = "4.3.0"
nodes = 3

[[topic]]
name = "orders"
partitions = 6
replication = 3
config = { "min.insync.replicas" = 2 }

[[producers]]
name = "steady"
count = 10
topics = ["orders"]
rate = "20/s"
record = { size = "100 B", keys = 100 }
config = { acks = "all" }

[[requesters]]
name = "all-topics"
count = 3
rate = "4/s"
list = "all"

[[requesters]]
name = "no-topics"
count = 3
rate = "4/s"
list = "none"

[[requesters]]
name = "one-topic"
count = 3
rate = "4/s"
list = ["orders"]

[phases]
warmup = "2s"
steady = "4s"
recovery = "12s"

[[step]]
at = "0s"
restart = { broker = 2, how = "kill", down = "2s" }

[[expect]]
metric = "records.failed"
is = "== 0"

[[expect]]
metric = "outage.hang"
is = "== 0"
"#;

#[tokio::test]
async fn a_kill_is_measured_and_every_count_agrees() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("short-kill.toml");
    std::fs::write(&plan, SHORT_KILL).unwrap();
    let junit = folder.path().join("junit.xml");
    let results = run_plan(&plan, &["--request-log", "--junit", junit.to_str().unwrap()]);

    assert_passed(&results);
    assert!(std::fs::read_to_string(&junit).unwrap().contains("failures=\"0\""));
    let totals = &results.run["totals"];
    assert_eq!(totals["failed"], 0);
    assert_eq!(totals["indeterminate"], 0);
    assert_eq!(totals["due"], totals["ok"]);
    let due = totals["due"].as_u64().unwrap();
    assert!((200 * 18..200 * 60).contains(&due), "200 records are due per second, for 18 s and the steps: {due}");

    layers::assert_a_kill_is_followed(&results, 2, 6);
    // What is asked of a node that dies is cut off, in every connection that it still takes.
    layers::assert_probing_is_cheap_and_counted(&results, 20);
    assert_eq!(nodes_down(&results), BTreeSet::from(["2".to_owned()]), "brokers.csv");

    let kill = results.rows("steps.csv").into_iter().find(|row| row["action"] == "kill").unwrap();
    assert_eq!((kill["resolved_node"].as_str(), kill["outcome"].as_str()), ("2", "done"));
    let outages = outages_of(&results, &kill["step"]);
    assert_eq!(outages.len(), 10 * 6, "one row per producer and partition");
    let longest = outages.iter().max().copied().unwrap();
    // The session lasts 9 s from the last heartbeat, at most 2 s before the kill. A new controller knows no session of the killed node, so the
    // node's own return may end the stall sooner there, or the session's new start later.
    let expected = if kill["was_controller"] == "true" { 4_000..18_000 } else { 6_500..14_000 };
    assert!(expected.contains(&longest), "every partition stalls until the session of the killed node is over: {longest} ms");

    assert_layers(&results, kill["step"].parse().unwrap());

    // Counts of seconds, groups and producers are the same counts.
    let seconds = results.rows("seconds.csv");
    let sum = |column: &str| seconds.iter().map(|row| row[column].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!((sum("due"), sum("ok")), (due, due));
    let ours = results.group("steady")["metadata_requests"]["total"].as_u64().unwrap();
    assert_eq!(sum("metadata_requests"), ours);
    let brokers = requests_in_logs(&results, "steady").values().sum::<u64>();
    let cut_off = results.text("facts.jsonl").lines().filter(|line| is_cut_off(line)).count() as u64;
    let unlogged = 10 * ANSWERED_UNLOGGED_MAX;
    assert!(brokers <= ours && ours <= brokers + cut_off + unlogged, "brokers {brokers}, ours {ours}, of which {cut_off} cut off");
    assert_storm(&results, ours);

    assert!(results.stdout.contains("kill"), "{}", results.stdout);
    assert_eq!(left_of(&results.run), [""; 0]);

    let drawn = results.text("report.html");
    let reported = chaos(&["report", results.folder.to_str().unwrap()]).output().unwrap();
    assert_eq!(reported.status.code(), results.code);
    assert!(results.text("report.html") == drawn, "the page made again is another one");
}

/// Answers that a client may have got from a node which was killed before it had logged them: a broker's network thread sends an answer and
/// logs it in the same turn of its loop (`Processor.processCompletedSends`), before it takes up what the client asks next.
const ANSWERED_UNLOGGED_MAX: u64 = 1;

/// Requesters are counted as the brokers count them but for what was cut off or not logged any more, and the parts of the run add up to the
/// whole, `ours` for the producers.
fn assert_storm(results: &Results, ours: u64) {
    let parts = results.run["storm"].as_array().unwrap();
    let of_step: Vec<_> = parts.iter().filter_map(|part| part["step"].as_u64()).collect();
    assert_eq!(of_step.len(), 2, "the kill and the start have parts of their own: {of_step:?}");
    let of_group = |name: &str| {
        let clients = parts.iter().flat_map(|part| part["clients"].as_array().unwrap());
        let of_group = clients.filter(|client| client["group"] == name).cloned();
        of_group.collect::<Vec<serde_json::Value>>()
    };
    let sum = |name: &str, key: &str| of_group(name).iter().map(|client| client[key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("steady", "requests"), ours);
    let mut sizes = Vec::new();
    for (name, topics, partitions) in [("all-topics", 1, 6), ("no-topics", 0, 0), ("one-topic", 1, 6)] {
        let group = results.run["requesters"].as_array().unwrap().iter().find(|group| group["name"] == name).unwrap();
        let count = |key: &str| group[key].as_u64().unwrap();
        let brokers = requests_in_logs(results, name).values().sum::<u64>();
        let (sent, failed, unlogged) = (count("sent"), count("failed"), count("requesters") * ANSWERED_UNLOGGED_MAX);
        assert_eq!((sent, count("ok")), (count("due"), sent - failed), "{group}");
        assert!(
            brokers <= sent && sent <= brokers + failed + unlogged,
            "{name}: brokers {brokers}, ours {sent}, of which {failed} cut off"
        );
        assert_eq!((sum(name, "requests"), sum(name, "response_bytes")), (sent, count("response_bytes")));
        assert!(of_group(name).iter().any(|client| client["round_trip"]["p99_us"].as_u64() > Some(0)), "{name}");
        assert_eq!((count("topics_max"), count("partitions_max")), (topics, partitions), "{name}");
        sizes.push(count("response_bytes_per_answer"));
    }
    assert!(sizes[0] >= sizes[2] && sizes[2] > sizes[1], "all topics, none, one: {sizes:?}");
    if cfg!(target_os = "linux") {
        let nodes = parts.iter().flat_map(|part| part["brokers"].as_array().unwrap());
        let worst = nodes.filter_map(|node| node["cpu_percent_max"].as_f64()).fold(0.0, f64::max);
        assert!(worst > 1.0, "a broker under load uses some CPU: {worst} %");
    }
}

/// The session of the killed node is what held the kill up, every layer was seen, and none before what it depends on. If the node was the
/// active controller, the next one knows of its session only later, and its changes fall into the window of the node's new start: the records
/// waited for the kill all the same.
fn assert_layers(results: &Results, kill: u64) {
    let layers = results.run["layers"].as_array().unwrap();
    let kill = layers.iter().find(|layers| layers["step"] == kill).unwrap_or_else(|| panic!("{layers:?}"));
    // On a machine that is slow in the baseline, even a session's time is ordinary: 1 s and three times the baseline's p99.
    let p99_us = results.group("steady")["latency"]["baseline"]["response"]["p99_us"].as_u64().unwrap();
    let is_ordinary = 1_000_000 + 3 * p99_us > 8_000_000;
    let expected = if is_ordinary { (None, None) } else { (Some("detected"), Some(false)) };
    assert_eq!((kill["held"]["layer"].as_str(), kill["held"]["is_stuck"].as_bool()), expected, "baseline {p99_us} us: {kill}");
    let stages = kill["waterfall"]["stages"].as_array().unwrap();
    // A chain of the graph: the record, its commit, the new leader's readiness, the last of the first acks.
    let mut last_ms = kill["began_ms"].as_i64().unwrap();
    for layer in ["detected", "committed", "servable", "delivery"] {
        let of_layer = stages.iter().filter(|stage| stage["layer"] == layer).filter_map(|stage| stage["time_ms"].as_i64());
        // A partition whose leader lives on has no new leader that would have to serve.
        let Some(time_ms) = of_layer.max() else { continue };
        assert!(time_ms >= last_ms, "{layer} at {time_ms} ms, what it depends on at {last_ms} ms: {stages:?}");
        last_ms = time_ms;
    }
    let rows = results.rows("layers.csv");
    let seen: BTreeSet<&str> = rows.iter().map(|row| row["layer"].as_str()).collect();
    let all = ["broker_cache", "client_cache", "committed", "delivery", "detected", "fetched", "route", "servable"];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), all);
    assert!(is_ordinary || results.stdout.contains("held up in detected"), "{}", results.stdout);
}

/// Nodes that were seen down, without figures; those that were up have some.
fn nodes_down(results: &Results) -> BTreeSet<String> {
    let rows = results.rows("brokers.csv");
    let (down, up): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row["state"] == "exited");
    assert!(down.iter().all(|row| row["memory_bytes"].is_empty() && row["leaders"].is_empty()), "{down:?}");
    for (column, least) in [("memory_bytes", 50_000_000), ("network_rx_bytes", 1_000), ("leaders", 2), ("log_end_offset_sum", 100)] {
        let most = up.iter().filter_map(|row| row[column].parse::<u64>().ok()).max();
        assert!(most >= Some(least), "{column}: {most:?}");
    }
    down.into_iter().map(|mut row| row.remove("node").unwrap()).collect()
}

#[tokio::test]
async fn refresh_rates_follow_max_age_and_the_brokers_count_the_same() {
    let Some(_brokers) = support::brokers().await else { return };
    let results = run_plan(&shipped("refresh-rate.toml"), &["--request-log"]);
    assert_passed(&results);
    for (group, allowed) in [("quick", 8..=10), ("slow", 1..=2)] {
        let counted = requests_in_logs(&results, group);
        assert_eq!(counted.len(), 3, "{group}: {counted:?}");
        for (client, count) in &counted {
            assert!(allowed.contains(count), "{client} sent {count} Metadata requests");
        }
        let ours = results.group(group)["metadata_requests"]["total"].as_u64().unwrap();
        assert_eq!(counted.values().sum::<u64>(), ours, "{group}: nothing is killed, so the counts are equal");
    }
    assert_eq!(outage_rows(&results), 0, "a run without steps reports no outage");
    // Nothing is cut off but what is asked when the run ends: one question to each node, and a long poll.
    layers::assert_probing_is_cheap_and_counted(&results, 5);
    let generator = &results.run["generator"];
    assert!(generator["rss_bytes_max"].as_u64().unwrap() <= 60 << 20, "{generator}");
}

#[tokio::test]
async fn growth_is_seen_at_the_next_refresh_or_not_at_all() {
    let Some(_brokers) = support::brokers().await else { return };
    let results = run_plan(&shipped("partition-expansion.toml"), &[]);
    assert_passed(&results);
    let step = &results.rows("steps.csv")[0];
    let observed_ms: f64 = step["observed_ms"].parse().unwrap();
    let mut seen = BTreeMap::new();
    for line in results.text("facts.jsonl").lines() {
        let fact: serde_json::Value = serde_json::from_str(line).unwrap();
        if fact["fact"] == "partition_count" && fact["to"] == 6 {
            seen.insert(
                (fact["group"].as_str().unwrap().to_owned(), fact["producer"].as_u64().unwrap()),
                fact["time_us"].as_f64().unwrap() / 1e3,
            );
        }
    }
    let quick: Vec<f64> = seen.iter().filter(|((group, _), _)| group == "quick").map(|(_, time)| time - observed_ms).collect();
    assert_eq!(quick.len(), 3, "{seen:?}");
    assert!(quick.iter().all(|after| *after <= 5_250.0), "ms from observed to seen: {quick:?}");
    assert!(!seen.keys().any(|(group, _)| group == "slow"), "nothing disconnects here, so 600 s is never over: {seen:?}");
    let used = |group: &str| {
        results
            .rows("seconds.csv")
            .iter()
            .filter(|row| row["group"] == group)
            .filter_map(|row| row["partitions_used_max"].parse().ok())
            .max()
    };
    assert_eq!((used("quick"), used("slow")), (Some(6), Some(3)));
}

/// A cluster of one node that starts quickly, with long phases to be interrupted in.
const ONE_NODE: &str = r#"
name = "one-node"
about = "One node, for tests of ways out."

[cluster]
kafka = "4.3.0"
nodes = 1

[[topic]]
name = "orders"
partitions = 2
replication = 1

[[producers]]
name = "lone"
count = 2
topics = ["orders"]
rate = "10/s"

[phases]
warmup = "1s"
steady = "1s"
recovery = "2s"

[[step]]
at = "0s"
wait = { for = "2s" }

[[step]]
at = "0s"
pause = { broker = 1 }
"#;

#[tokio::test]
async fn a_signal_in_any_phase_removes_everything_and_ends_with_130() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("one-node.toml");
    std::fs::write(&plan, ONE_NODE).unwrap();
    // The line that tells a phase, and the signals that are sent then. Two at once are somebody in a hurry.
    let rows: [(&str, &[&str]); 9] = [
        ("starting", &["INT"]),
        ("waiting", &["TERM"]),
        ("making topics", &["INT"]),
        ("warm-up", &["INT"]),
        ("steady: 1 s", &["INT", "INT"]),
        ("steps", &["TERM"]),
        ("recovery", &["HUP"]),
        ("drain", &["INT"]),
        ("removing the cluster", &["INT"]),
    ];
    for (phase, signals) in rows {
        let out = folder.path().join(phase);
        let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        running.wait_for(phase);
        for signal in signals {
            running.signal(signal);
        }
        let (status, _) = running.end();
        assert_eq!(status.code(), Some(130), "{phase}: {}", running.said);
        let run = run_json(&out);
        assert_eq!(left_of(&run), [""; 0], "{phase}");
        // What was complete before the signal came keeps its verdict.
        assert_eq!(run["verdict"] == "INTERRUPTED", phase != "removing the cluster", "{phase}: {}", run["verdict"]);
    }
}

#[tokio::test]
async fn a_kept_cluster_is_used_again_with_fresh_topics() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("one-node.toml");
    std::fs::write(&plan, ONE_NODE.split("[[step]]").next().unwrap()).unwrap();
    let first = run_plan(&plan, &["--keep", "--request-log"]);
    assert_passed(&first);
    assert!(!first.rows("requests.csv").is_empty());
    assert!(!left_of(&first.run).is_empty(), "it was to be kept");
    let second = run_plan(&plan, &["--reuse", "--request-log"]);
    assert_passed(&second);
    assert!(!second.folder.join("requests.csv").exists(), "it would count the first run's requests too");
    assert!(second.said.contains("no requests.csv: the cluster has served earlier runs"), "{}", second.said);
    assert_eq!(first.run["totals"], second.run["totals"]);
    assert!(second.said.contains("using the kept cluster"), "{}", second.said);
    let run = first.run["run_id"].as_str().unwrap();
    assert!(chaos(&["cluster", "down", run]).status().unwrap().success());
    assert_eq!(left_of(&first.run), [""; 0]);
}

#[tokio::test]
async fn what_a_killed_chaos_leaves_is_valid_and_cleaned() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("one-node.toml");
    std::fs::write(&plan, ONE_NODE).unwrap();
    let out = folder.path().join("out");
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    running.wait_for("steps");
    tokio::time::sleep(Duration::from_secs(1)).await;
    running.signal("KILL");
    running.end();
    let run = run_json(&out);
    assert_eq!(run["verdict"], "INTERRUPTED");
    assert!(!left_of(&run).is_empty(), "a killed process cannot clean up");
    let facts = std::fs::read_to_string(out.join("facts.jsonl")).unwrap();
    assert!(facts.lines().count() > 5);
    for line in facts.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    let reported = chaos(&["report", out.to_str().unwrap()]).output().unwrap();
    assert_ne!(reported.status.code(), Some(0));
    assert!(std::fs::read_to_string(out.join("report.html")).unwrap().contains("verdict-interrupted\">INTERRUPTED</p>"));
    let cleaned = chaos(&["clean"]).output().unwrap();
    assert!(cleaned.status.success(), "{}", String::from_utf8_lossy(&cleaned.stderr));
    assert_eq!(left_of(&run), [""; 0]);
}

#[tokio::test]
async fn an_image_that_nobody_has_is_the_environments_fault() {
    let Some(_brokers) = support::brokers().await else { return };
    let output = chaos(&["run", "plans/broker-kill.toml", "--kafka", "99.0.0"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("make image KAFKA=99.0.0"), "{said}");
}

/// Whether the run passed. A machine that is busy with other tests may hand records over late, which makes a verdict UNKNOWN, as it must;
/// counts and bounds hold all the same, so that alone is let through here.
fn assert_passed(results: &Results) {
    let reasons = results.run["reasons"].as_array().unwrap();
    let only_late =
        results.run["verdict"] == "UNKNOWN" && reasons.iter().all(|reason| reason.as_str().unwrap().contains("generator was late"));
    assert!(only_late || results.run["verdict"] == "PASS", "{}: {reasons:?}", results.run["verdict"]);
    assert_eq!(results.code, Some(if only_late { 4 } else { 0 }));
}

fn outages_of(results: &Results, step: &str) -> Vec<u64> {
    let rows = results.rows("recovery.csv").into_iter().filter(|row| row["step"] == step);
    rows.map(|row| row["outage_ms"].parse::<f64>().unwrap() as u64).collect()
}

fn outage_rows(results: &Results) -> usize {
    results.rows("recovery.csv").iter().filter(|row| row["outage_ms"] != "0").count()
}

/// Whether a fact is a Metadata request of ours that no answer came to.
fn is_cut_off(line: &str) -> bool {
    let fact: serde_json::Value = serde_json::from_str(line).unwrap();
    fact["fact"] == "metadata_request" && matches!(fact["outcome"].as_str(), Some("disconnected" | "timed_out" | "unanswered"))
}
