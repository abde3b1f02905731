//! What a run tells of the layers between the controller's log and the leaders, on real brokers. Looks at runs that other tests make.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::program::Results;

/// Most that probing may use of a core while nothing happens, in percent.
const QUIET_CPU_PERCENT_MAX: f64 = 3.0;

/// The facts of one kind, in the order in which they were told.
fn facts(results: &Results, kinds: &[&str]) -> Vec<Value> {
    let text = results.text("facts.jsonl");
    let facts = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    facts.filter(|fact| kinds.contains(&fact["fact"].as_str().unwrap())).collect()
}

/// Leader and epoch of partitions, by topic and index.
type Leaderships = BTreeMap<(String, i64), (Option<i64>, i64)>;

/// Those of one partition in a fact.
fn leadership(part: &Value) -> ((String, i64), (Option<i64>, i64)) {
    let partition = (part["topic"].as_str().unwrap().to_owned(), part["partition"].as_i64().unwrap());
    (partition, (part["leader"].as_i64(), part["leader_epoch"].as_i64().unwrap()))
}

/// A node of three was killed and came back: every change is followed from the controller's log to the leaders that serve, and at the end
/// every layer holds the same.
pub(crate) fn assert_a_kill_is_followed(results: &Results, killed: i64, partitions: usize) {
    let records = facts(results, &["controller_image", "controller_record", "controller_committed", "controller_truncated"]);
    assert_eq!(records[0]["fact"], "controller_image", "the log is told as a whole first");
    let (log, last_offset) = replayed(&records);
    assert_eq!(log.len(), partitions);
    let of_killed = records.iter().filter(|fact| fact["broker"] == killed);
    let changes: BTreeSet<&str> = of_killed.map(|fact| fact["change"].as_str().unwrap()).collect();
    assert!(changes.contains("broker_registered") && changes.contains("broker_changed"), "it came back and was unfenced: {changes:?}");

    let fetched = facts(results, &["node_fetched"]);
    for node in 1..=3 {
        let end = fetched.iter().filter(|fact| fact["node"] == node).filter_map(|fact| fact["log_end_offset"].as_i64()).max();
        assert!(end > Some(last_offset), "node {node} has fetched up to {end:?}, the last record is at {last_offset}");
    }

    let shown = facts(results, &["broker_shows"]);
    assert!(shown.iter().any(|fact| fact["node"] == killed && fact["shows"]["shows"] == "nothing"), "node {killed} was down");
    for broker in 1..=3 {
        let parts = shown.iter().filter(|fact| fact["node"] == broker && fact["shows"]["shows"] == "partition");
        let last: Leaderships = parts.map(|fact| leadership(&fact["shows"])).collect();
        assert_eq!(last, log, "broker {broker} shows at last what the controller's log holds");
    }

    let served = facts(results, &["servable"]);
    for (partition, (leader, epoch)) in &log {
        let mut of_leader = served.iter().filter(|fact| fact["node"].as_i64() == *leader && fact["leader_epoch"] == *epoch);
        let last = of_leader.rfind(|fact| fact["topic"] == partition.0 && fact["partition"] == partition.1);
        let last = last.unwrap_or_else(|| panic!("{partition:?} is not known to be served by {leader:?} in {epoch}"));
        assert!(last["error"].is_null() && last["high_watermark"].as_i64() >= Some(0), "{last}");
    }

    for fact in records.iter().chain(&fetched).chain(&shown).chain(&served) {
        let (seen, not_before) = (fact["time_us"].as_i64(), fact["not_before_us"].as_i64());
        assert!(not_before <= seen, "the old state was seen before the new one: {fact}");
    }
}

/// Leader and epoch of each partition by the controller's log, and the offset of its last record that was told. Records come in order, and
/// are committed at last.
fn replayed(records: &[Value]) -> (Leaderships, i64) {
    let (mut log, mut last_offset, mut high_watermark) = (Leaderships::new(), -1, 0);
    for fact in records {
        let offset = fact["offset"].as_i64();
        match fact["fact"].as_str().unwrap() {
            "controller_image" => {
                log = fact["partitions"].as_array().unwrap().iter().map(leadership).collect();
                last_offset = offset.unwrap();
            }
            "controller_record" => {
                assert!(offset >= Some(last_offset), "out of order after {last_offset}: {fact}");
                last_offset = offset.unwrap();
                if matches!(fact["change"].as_str(), Some("partition_made" | "partition_changed")) {
                    log.extend([leadership(fact)]);
                }
            }
            "controller_committed" => high_watermark = high_watermark.max(fact["high_watermark"].as_i64().unwrap()),
            _ => last_offset = fact["end_offset"].as_i64().unwrap() - 1,
        }
    }
    assert!(high_watermark > last_offset, "committed up to {high_watermark}, told up to {last_offset}");
    (log, last_offset)
}

/// Looking is cheap as long as nothing happens, and the brokers count its requests as it does itself: all but what was cut off, at most
/// `cut_off_max`.
pub(crate) fn assert_probing_is_cheap_and_counted(results: &Results, cut_off_max: u64) {
    let probes = &results.run["probes"];
    if cfg!(target_os = "linux") {
        let percent = probes["quiet_cpu_percent"].as_f64().unwrap();
        assert!(percent <= QUIET_CPU_PERCENT_MAX, "probing took {percent} % of a core while nothing happened");
    }
    let rows = results.rows("requests.csv").into_iter().filter(|row| row["client"] == "chaos-probe");
    let mut brokers: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        *brokers.entry(row["request"].replace('_', "").to_lowercase()).or_default() += row["count"].parse::<u64>().unwrap();
    }
    for request in ["Metadata", "ListOffsets", "DescribeQuorum", "Fetch"] {
        let ours = probes["requests"][request].as_u64().unwrap();
        let theirs = brokers[&request.to_lowercase()];
        assert!(theirs <= ours && ours <= theirs + cut_off_max, "{request}: brokers {theirs}, ours {ours}");
    }
}
