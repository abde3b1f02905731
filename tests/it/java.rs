//! The java engine on real brokers: its figures beside the brokers' own, and that no container of it is left, whatever happens.

use std::path::PathBuf;
use std::process::Command;

use crate::audit;
use crate::program::{Running, left_of, run_json, run_plan};
use crate::support;

/// A plan with one group of Kafka's own client.
fn plan(nodes: u8, load: &str, rest: &str) -> (tempfile::TempDir, PathBuf) {
    let text = format!(
        r#"
name = "java"
about = "Kafka's own client, for tests."

[cluster]
kafka = "4.3.0"
nodes = {nodes}

[[topic]]
name = "orders"
partitions = 6
replication = {nodes}

[[producers]]
name = "java"
engine = "java"
topics = ["orders"]
record = {{ size = "100 B", keys = 100 }}
{load}

[phases]
warmup = "3s"
steady = "4s"
recovery = "12s"
{rest}"#
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("java.toml");
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[tokio::test]
async fn under_a_kill_every_record_is_told_and_the_brokers_count_the_same_requests() {
    let Some(_brokers) = support::brokers().await else { return };
    let kill = "[[step]]\nat = \"0s\"\nrestart = { broker = 2, how = \"kill\", down = \"2s\" }\n";
    let (_folder, plan) = plan(3, "count = 5\nrate = \"20/s\"\narrivals = \"poisson\"\n", kill);
    let results = run_plan(&plan, &["--request-log"]);

    let totals = &results.run["totals"];
    let count = |name: &str| totals[name].as_u64().unwrap();
    assert!(count("due") > 1_500, "100 records a second are due, for 19 s and the steps: {totals}");
    assert_eq!(count("due"), count("ok") + count("failed") + count("indeterminate"), "{totals}");
    assert_eq!(count("due"), count("sent"));
    let seconds = results.rows("seconds.csv");
    let sum = |column: &str| seconds.iter().map(|row| row[column].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!((sum("due"), sum("ok")), (count("due"), count("ok")), "the seconds' counts are the same");

    let requests = &results.group("java")["metadata_requests"];
    let ours = requests["total"].as_u64().unwrap();
    let rows = results.rows("requests.csv");
    let theirs = rows.iter().filter(|row| row["client"].starts_with("java-") && row["request"] == "METADATA");
    let theirs: u64 = theirs.map(|row| row["count"].parse::<u64>().unwrap()).sum();
    let outcomes = requests["by_outcome"].as_object().unwrap();
    let cut_off: u64 = outcomes.iter().filter(|(outcome, _)| *outcome != "updated").map(|(_, count)| count.as_u64().unwrap()).sum();
    assert!(theirs > 0 && theirs <= ours && ours <= theirs + cut_off, "brokers {theirs}, ours {ours}, of which {cut_off} cut off");
    assert_eq!(requests["by_reason"]["unknown"], ours, "the client does not say why");
    assert!(requests["request_bytes"].is_null(), "nor how large they are");
    assert_eq!(sum("metadata_requests"), ours);

    audit::nothing_is_lost(&results);
    let process = &results.group("java")["process"];
    assert!(process["cpu_seconds"].as_f64().unwrap() > 0.5 && process["rss_bytes_max"].as_u64().unwrap() > 50 << 20, "{process}");
    let outages = results.rows("recovery.csv").iter().filter(|row| row["outage_ms"].parse::<f64>().unwrap() > 4_000.0).count();
    assert!(outages >= 10, "acks=all stalls until the killed node's session is over");
    assert_eq!(left_of(&results.run), [""; 0]);
}

#[tokio::test]
async fn a_client_that_cannot_be_made_fails_its_records_and_not_the_run() {
    let Some(_brokers) = support::brokers().await else { return };
    // A label of a name has at most 63 letters: nobody needs to be asked to know that this one does not resolve.
    let nowhere = "x".repeat(64);
    let load = format!("count = 2\nrate = \"20/s\"\nbootstrap = [\"{nowhere}.invalid:9092\"]\n");
    let (_folder, plan) = plan(1, &load, "");
    let results = run_plan(&plan, &[]);
    let totals = &results.run["totals"];
    assert!(totals["due"].as_u64().unwrap() > 700, "40 records a second are due, for 19 s: {totals}");
    assert_eq!((&totals["due"], &totals["sent"]), (&totals["failed"], &totals["failed"]), "{totals}");
    let errors = results.rows("errors.csv");
    assert!(errors.iter().all(|row| row["code"].is_empty() && row["text"].contains("No resolvable bootstrap urls")), "{errors:?}");
    assert_eq!(left_of(&results.run), [""; 0]);
}

#[tokio::test]
async fn no_container_of_it_outlives_an_interruption_or_its_own_death() {
    let Some(_brokers) = support::brokers().await else { return };
    let closed = "count = 2\nclosed = { wait = \"2s\", every = \"50ms\" }\n";
    // Hardly a moment without a record that is due.
    let open = "count = 2\nrate = \"10000/s\"\n";
    for (ends, load, code) in [("interrupted", open, 130), ("killed JVM", closed, 3)] {
        let (folder, plan) = plan(1, load, "");
        let out = folder.path().join(ends);
        let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        running.wait_for("steady: ");
        let run = run_json(&out);
        let clients = format!("chaos-{}-clients-java", run["run_id"].as_str().unwrap());
        assert!(left_of(&run).contains(&clients), "{:?}", left_of(&run));
        if code == 3 {
            assert!(Command::new("docker").args(["kill", &clients]).status().unwrap().success());
        } else {
            running.signal("INT");
        }
        let (status, _) = running.end();
        assert_eq!(status.code(), Some(code), "{ends}: {}", running.said);
        assert_eq!(running.said.contains("the Java program ended with code 137"), code == 3, "{}", running.said);
        assert_eq!(left_of(&run), [""; 0], "{ends}");
        if code == 130 {
            let run = run_json(&out);
            let count = |name: &str| run["totals"][name].as_u64().unwrap();
            assert!(count("sent") > 0 && count("sent") <= count("due"), "{}", run["totals"]);
        }
    }
}

#[tokio::test]
async fn a_chaos_that_is_killed_takes_its_jvm_along_also_beside_a_kept_cluster() {
    let Some(_brokers) = support::brokers().await else { return };
    let (folder, plan) = plan(1, "rate = \"max\"\n", "");
    let out = folder.path().join("out");
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--keep", "--out", out.to_str().unwrap()]);
    running.wait_for("steady: ");
    let run = run_json(&out);
    running.signal("KILL");
    running.end();
    let id = run["run_id"].as_str().unwrap();
    let clients = format!("chaos-{id}-clients-java");
    // Its standard input has ended; it needs a moment to see that, and the engine another one to remove it.
    for _ in 0..100 {
        if !left_of(&run).contains(&clients) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let left = left_of(&run);
    assert!(crate::program::chaos(&["cluster", "down", id]).status().unwrap().success());
    assert!(!left.is_empty() && !left.contains(&clients), "{left:?}");
}
