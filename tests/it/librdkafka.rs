//! The C client on real brokers: counts that must agree, and its Metadata requests by the brokers' own count.

use std::collections::BTreeMap;

use crate::audit;
use crate::program::{Results, requests_in_logs, run_plan};
use crate::support;

fn plan(phases: &str, step: &str) -> String {
    format!(
        r#"
name = "c-client"
about = "The C client, for tests."

[cluster]
kafka = "4.3.0"
nodes = 3

[[topic]]
name = "orders"
partitions = 6
replication = 3
config = {{ "min.insync.replicas" = 2 }}

[[producers]]
name = "c"
engine = "librdkafka"
count = 4
topics = ["orders"]
rate = "20/s"
record = {{ size = "100 B", keys = 100 }}
config = {{ acks = "all", "metadata.max.age.ms" = 3000, "max.in.flight.requests.per.connection" = 5 }}

[phases]
{phases}

{step}
"#
    )
}

fn run(text: &str) -> Results {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c-client.toml");
    std::fs::write(&path, text).unwrap();
    run_plan(&path, &["--request-log"])
}

/// What holds of every run of this client; gives its own count of Metadata requests and that of the brokers.
fn counts(results: &Results) -> (u64, u64) {
    audit::nothing_is_lost(results);
    let totals = &results.run["totals"];
    let total = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!(total("due"), total("ok") + total("failed") + total("indeterminate"), "{totals}");
    assert!(total("ok") > 0, "{totals}");
    let seconds = results.rows("seconds.csv");
    let sum = |column: &str| seconds.iter().map(|row| row[column].parse::<u64>().unwrap()).sum::<u64>();
    assert_eq!((sum("due"), sum("ok")), (total("due"), total("ok")));
    for unknown in ["metadata_request_bytes", "blocked_metadata"] {
        assert!(seconds.iter().all(|row| row[unknown].is_empty()), "{unknown} is unknown, not 0");
    }
    let group = results.group("c");
    assert_eq!(group["cached_partitions"], serde_json::json!([6, 6]));
    assert!(group["metadata_requests"]["request_bytes"].is_null() && group["blocked_metadata_ms"].is_null(), "{group}");
    assert!(results.run["versions"]["librdkafka"].is_string(), "{}", results.run["versions"]);
    let ours = group["metadata_requests"]["total"].as_u64().unwrap();
    assert_eq!(sum("metadata_requests"), ours);
    let by_client: BTreeMap<String, u64> = requests_in_logs(results, "c");
    assert_eq!(by_client.len(), 4, "{by_client:?}");
    (ours, by_client.values().sum())
}

#[tokio::test]
async fn the_c_clients_requests_are_counted_as_the_brokers_count_them() {
    let Some(_brokers) = support::brokers().await else { return };
    let results = run(&plan("warmup = \"2s\"\nsteady = \"10s\"\nrecovery = \"2s\"", ""));
    let (ours, brokers) = counts(&results);
    let requests = &results.group("c")["metadata_requests"];
    // Nothing is killed, so every request was sent once and has its reason. The brokers count what they answered: that is all, but for what was
    // still asked on the connections to the bootstrap list when these were let go.
    let count = |reason: &str| requests["by_reason"][reason].as_u64().unwrap_or(0);
    let on_bootstrap_at_most = count("connected") + count("leader_query");
    assert!(brokers <= ours && ours <= brokers + on_bootstrap_at_most, "brokers {brokers}: {requests}");
    assert!(requests["by_reason"]["unknown"].is_null() || requests["by_reason"]["unknown"] == 0, "{requests}");
    // 14 s of load and the drain, with a refresh every 3 s, four clients.
    let by_age = requests["by_reason"]["age"].as_u64().unwrap();
    assert!((12..=32).contains(&by_age), "{requests}");
    assert_eq!(results.run["totals"]["failed"], 0);
}

#[tokio::test]
async fn a_kill_under_the_c_client_is_measured() {
    let Some(_brokers) = support::brokers().await else { return };
    let step = "[[step]]\nat = \"0s\"\nrestart = { broker = 2, how = \"kill\", down = \"2s\" }";
    let results = run(&plan("warmup = \"2s\"\nsteady = \"4s\"\nrecovery = \"12s\"", step));
    let (ours, brokers) = counts(&results);
    // What the killed broker was asked and did not answer is in our count alone, and so is what a broker had no time for by the end.
    assert!(brokers <= ours, "brokers {brokers}, ours {ours}");
    let outages = results.rows("recovery.csv").iter().filter(|row| row["step"] == "2" && row["outage_ms"] != "0").count();
    assert!(outages >= 4, "every producer had a partition on the killed broker: {outages} outages");
}

#[tokio::test]
async fn the_c_clients_new_partitions_are_known_before_they_are_used() {
    let Some(_brokers) = support::brokers().await else { return };
    let step = "[[step]]\nat = \"0s\"\nadd-partitions = { topic = \"orders\", to = 12 }";
    // Many records, so that the first on a new partition comes long before the next statistics.
    let plan = plan("warmup = \"2s\"\nsteady = \"2s\"\nrecovery = \"8s\"", step).replace("20/s", "50/s");
    let results = run(&plan);
    let growth = &results.run["growth"][0];
    assert_eq!((&growth["producers"], &growth["never"]), (&4.into(), &0.into()), "{growth}");
    assert_eq!(growth["first_use_ms"]["count"], 4, "every producer has a first use, and it is after the count: {growth}");
    assert_eq!(results.group("c")["cached_partitions"], serde_json::json!([12, 12]));
}
