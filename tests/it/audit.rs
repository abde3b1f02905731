//! The audit of the topics on real brokers: it must agree with Kafka's own console consumer, record by record, and find what was taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Output};

use kafka_chaos::load::payload;
use serde_json::Value;

use crate::program::{Kept, Results, Running, run_json};
use crate::support;

/// Two groups on one node; one of them compresses. In the recovery there is time to take records away.
const PLAN: &str = r#"
name = "audited"

[cluster]
kafka = "4.3.0"
nodes = 1

[[topic]]
name = "orders"
partitions = 3
replication = 1

[[producers]]
name = "plain"
count = 4
topics = ["orders"]
rate = "100/s"
record = { size = "60 B", keys = 50 }

[[producers]]
name = "packed"
count = 2
topics = ["orders"]
rate = "100/s"
record = { size = "200 B" }
config = { "compression.type" = "lz4", "linger.ms" = 50 }

[[consumers]]
name = "reader"
topics = ["orders"]

[phases]
warmup = "1s"
steady = "4s"
recovery = "15s"

[[expect]]
metric = "records.duplicated"
is = "== 0"

[[expect]]
metric = "records.lost"
is = "== 0"
"#;

/// Offset before which the first partition's records are deleted.
const DELETED: i64 = 300;

#[tokio::test]
async fn an_audit_agrees_with_kafkas_own_consumer_and_finds_what_was_deleted() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("audited.toml");
    std::fs::write(&plan, PLAN).unwrap();
    let out = folder.path().join("out");
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--keep", "--out", out.to_str().unwrap()]);
    running.wait_for("recovery");
    let started = run_json(&out);
    let run_id = started["run_id"].as_str().unwrap().to_owned();
    let kept = Kept(run_id.clone());
    let node = format!("chaos-{run_id}-1");
    delete_records(&node);
    let (status, stdout) = running.end();
    eprintln!("{stdout}");
    let results = Results::of(&out, status, stdout);
    // FAIL, or UNKNOWN on a machine that was too busy: in no case does it say that nothing is lost.
    assert!(matches!(results.code, Some(1 | 4)), "{}", results.run["reasons"]);
    let unmet = results.run["expectations"].as_array().unwrap().iter().filter(|expected| expected["met"] == false);
    assert_eq!(unmet.map(|expected| expected["text"].as_str().unwrap()).collect::<Vec<_>>(), ["records.lost == 0"]);
    let read = consumed(&node);
    drop(kept);
    agree(&results, &read);
    a_consumer_read_everything_soon(&results);
    lost_are_those_that_nobody_reads(&results, &read);
    let audit = &results.run["audit"];
    assert_eq!(audit["lost"].as_array().unwrap().len(), 1, "{audit}");
    let place = &audit["lost"][0];
    assert_eq!((place["partition"].as_i64(), place["records"].as_i64()), (Some(0), Some(DELETED)), "{place}");
    let words = format!("deleted, by request or by age: the log begins at offset {DELETED}");
    assert_eq!(place["in_words"], words);
    let told = results.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("{DELETED} acknowledged records are lost, in orders/0: {words}.")), "{told}");
}

fn tool(node: &str, class: &str, arguments: &str) -> Output {
    let script = format!("KAFKA_OPTS='' KAFKA_HEAP_OPTS=-Xmx128M exec /opt/kafka/bin/kafka-run-class.sh {class} {arguments}");
    let output = Command::new("docker").args(["exec", node, "/bin/sh", "-c", &script]).output().unwrap();
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    output
}

/// Takes records away behind the run's back, as an operator would.
fn delete_records(node: &str) {
    let wanted = format!(r#"{{"partitions":[{{"topic":"orders","partition":0,"offset":{DELETED}}}],"version":1}}"#);
    let script = format!("echo '{wanted}' > /tmp/delete.json");
    assert!(Command::new("docker").args(["exec", node, "/bin/sh", "-c", &script]).status().unwrap().success());
    let arguments = format!("--bootstrap-server {node}:9092 --offset-json-file /tmp/delete.json");
    tool(node, "org.apache.kafka.tools.DeleteRecordsCommand", &arguments);
}

/// What clients said and what was read fit together: every record that was handed over had one outcome, every acknowledged one is counted, and
/// no partition was left out.
pub(crate) fn everything_was_read(results: &Results) {
    let audited = &results.run["audit"];
    let (totals, counts) = (&results.run["totals"], &audited["totals"]);
    assert_eq!((&audited["sent"], &audited["refused"], &audited["corrupt"]), (&audited["outcomes"], &0.into(), &0.into()), "{audited}");
    assert_eq!((&audited["sent"], &counts["acknowledged"]), (&totals["sent"], &totals["ok"]), "{audited}");
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert!(count("acknowledged") <= count("found") + count("lost"), "{counts}");
    assert!(results.rows("audit-partitions.csv").iter().all(|row| row["unread"].is_empty()));
}

/// And nothing that was acknowledged is lost.
pub(crate) fn nothing_is_lost(results: &Results) {
    everything_was_read(results);
    assert_eq!(results.run["audit"]["totals"]["lost"], 0, "{}", results.run["audit"]);
}

/// A producer's partition: group's hash, producer, partition.
type Pair = (u32, u32, i32);

/// What Kafka's own consumer reads: the numbers of each pair's records in the order of the log, and the offsets of each partition.
#[derive(Debug, Default)]
struct Consumed {
    numbers: BTreeMap<Pair, Vec<u64>>,
    offsets: BTreeMap<i32, Vec<i64>>,
}

fn consumed(node: &str) -> Consumed {
    let arguments = format!(
        "--bootstrap-server {node}:9092 --topic orders --from-beginning --timeout-ms 6000 \
         --property print.partition=true --property print.offset=true \
         --property value.deserializer=org.apache.kafka.common.serialization.BytesDeserializer"
    );
    let output = tool(node, "org.apache.kafka.tools.consumer.ConsoleConsumer", &arguments);
    let mut read = Consumed::default();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let cells: Vec<&str> = line.splitn(3, '\t').collect();
        let [partition, offset, value] = cells[..] else { continue };
        let partition: i32 = partition.strip_prefix("Partition:").unwrap().parse().unwrap();
        let offset = offset.strip_prefix("Offset:").unwrap().parse().unwrap();
        let identity = payload::parse(&bytes_of(value)).unwrap_or_else(|| panic!("nobody's: {line}"));
        assert_eq!(identity.is_intact, Some(true), "{line}");
        let pair = (identity.group_hash.unwrap(), identity.producer.0, partition);
        read.numbers.entry(pair).or_default().push(identity.sequence.unwrap());
        read.offsets.entry(partition).or_default().push(offset);
    }
    read
}

/// Undoes `org.apache.kafka.common.utils.Bytes.toString`.
fn bytes_of(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some(letter) = rest.chars().next() {
        if let Some(escaped) = rest.strip_prefix("\\x") {
            bytes.push(u8::from_str_radix(&escaped[..2], 16).unwrap());
            rest = &escaped[2..];
        } else {
            bytes.push(u8::try_from(letter).unwrap());
            rest = &rest[1..];
        }
    }
    bytes
}

fn pair_of(row: &BTreeMap<String, String>) -> Pair {
    let hash = kafka_chaos::load::seed::group_hash(&row["group"]);
    (hash, row["producer"].parse().unwrap(), row["partition"].parse().unwrap())
}

/// Every pair's figures, and every partition's, are those of what the consumer has read.
fn agree(results: &Results, read: &Consumed) {
    let rows = results.rows("audit.csv");
    let pairs: BTreeSet<Pair> = rows.iter().map(pair_of).collect();
    assert_eq!(pairs, read.numbers.keys().copied().collect(), "the same producers on the same partitions");
    for row in &rows {
        let numbers = &read.numbers[&pair_of(row)];
        let distinct: BTreeSet<&u64> = numbers.iter().collect();
        let expected = [distinct.len(), numbers.len() - distinct.len()].map(|count| count.to_string());
        assert_eq!([row["found"].clone(), row["duplicated"].clone()], expected, "{row:?}");
        assert!(numbers.is_sorted() && row["out_of_order"] == "0", "{row:?}");
        assert_eq!(row["untold_found"], "0", "{row:?}");
    }
    for row in results.rows("audit-partitions.csv") {
        let offsets = &read.offsets[&row["partition"].parse().unwrap()];
        let (first, last) = (offsets.iter().min().unwrap(), offsets.iter().max().unwrap());
        let told = ["log_start_offset", "end_offset", "records", "missing_offsets", "foreign", "corrupt", "unread"];
        let expected =
            [first.to_string(), (last + 1).to_string(), offsets.len().to_string(), "0".into(), "0".into(), "0".into(), String::new()];
        assert_eq!(told.map(|column| row[column].clone()), expected, "{row:?}");
    }
}

/// It read all the while, and was never far behind: what was deleted later had reached it.
fn a_consumer_read_everything_soon(results: &Results) {
    let consumer = &results.run["consumers"][0];
    assert_eq!((consumer["records"].as_u64(), consumer["undated"].as_u64()), (results.run["totals"]["ok"].as_u64(), Some(0)), "{consumer}");
    assert_eq!(consumer["behind_at_end"], 0, "{consumer}");
    let read: u64 = results.rows("consumers.csv").iter().map(|row| row["records"].parse::<u64>().unwrap()).sum();
    assert_eq!(Some(read), consumer["records"].as_u64());
    // A record reaches a consumer after its acknowledgement at the soonest, but for the answer's own way.
    let p50 = |times: &Value| times["p50_us"].as_u64().unwrap();
    let (arrival, response) = (p50(&consumer["after"]), p50(&results.group("plain")["latency"]["after"]["response"]));
    assert!((response / 2..response + 500_000).contains(&arrival), "{arrival} us to the consumer, {response} us to the acknowledgement");
}

/// All records were acknowledged; those that the consumer does not read are told as lost, by number.
fn lost_are_those_that_nobody_reads(results: &Results, read: &Consumed) {
    let totals = &results.run["totals"];
    assert_eq!((&totals["sent"], &totals["failed"], &totals["indeterminate"]), (&totals["ok"], &0.into(), &0.into()));
    let mut by_producer: BTreeMap<(u32, u32), BTreeSet<u64>> = BTreeMap::new();
    for ((hash, producer, _), numbers) in &read.numbers {
        by_producer.entry((*hash, *producer)).or_default().extend(numbers);
    }
    for row in results.rows("lost.csv") {
        assert_eq!((row["partition"].as_str(), row["place"].as_str()), ("0", "before_start"), "{row:?}");
        let (hash, producer, _) = pair_of(&row);
        let (first, last): (u64, u64) = (row["first_sequence"].parse().unwrap(), row["last_sequence"].parse().unwrap());
        let there = by_producer[&(hash, producer)].range(first..=last).count() as u64;
        // Numbers between that are there went to other partitions.
        assert_eq!(row["records"], (last - first + 1 - there).to_string(), "{row:?}");
    }
    let lost: u64 = results.rows("lost.csv").iter().map(|row| row["records"].parse::<u64>().unwrap()).sum();
    let found: usize = by_producer.values().map(BTreeSet::len).sum();
    assert_eq!(lost + found as u64, totals["ok"].as_u64().unwrap());
    assert_eq!(lost, DELETED.unsigned_abs());
}
