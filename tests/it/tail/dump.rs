//! The controller's log as Kafka's own tool prints it, for comparison with what a tail has told: every field of every record.

use std::collections::BTreeMap;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kafka_chaos::ids::{BrokerId, PartitionIndex, TopicId};
use kafka_chaos::kafka::raft::record::{
    BrokerChange, BrokerRegistration, ControlRecord, ControllerRegistration, Endpoint, FeatureRange, MetadataRecord, PartitionChangeRecord,
    PartitionRecord,
};
use kafka_chaos::kafka::raft::{LogEntry, TailRecord};
use serde_json::Value;
use uuid::Uuid;

/// What the tool prints of a record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dumped {
    /// Epoch of its batch's controller.
    pub(crate) epoch: i32,
    pub(crate) timestamp_ms: i64,
    /// Its kind as the tool names it.
    pub(crate) kind: String,
    /// What it says; `None`: a kind that the tail passes over.
    pub(crate) entry: Option<LogEntry>,
}

/// Every record of the log that this container holds, by offset.
pub(crate) fn dumped(container: &str) -> BTreeMap<i64, Dumped> {
    let script = "cd $(find / -type d -name __cluster_metadata-0 -not -path '/proc/*' 2>/dev/null | head -n 1) && \
         /opt/kafka/bin/kafka-dump-log.sh --cluster-metadata-decoder --files $(ls *.log | tr '\\n' ',')";
    let output = Command::new("docker").args(["exec", container, "/bin/sh", "-c", script]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    parsed(&text)
}

/// Compares records that a tail has told, committed ones without gaps, with a node's own log, offset by offset. How many of each kind were
/// compared.
pub(crate) fn assert_equal(told: &[TailRecord], dumped: &BTreeMap<i64, Dumped>) -> BTreeMap<String, usize> {
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    let (Some(first), Some(last)) = (told.first(), told.last()) else { panic!("nothing was told") };
    assert_eq!(told.len() as i64, last.offset - first.offset + 1, "told without gaps");
    for record in told {
        let dump = dumped.get(&record.offset).unwrap_or_else(|| panic!("offset {} is not in the log: {record:?}", record.offset));
        assert_eq!((dump.epoch, dump.timestamp_ms), (record.controller_epoch.0, record.timestamp_ms), "{record:?}");
        match (&dump.entry, &record.entry) {
            (Some(entry), told) => assert_eq!(entry, told, "offset {}", record.offset),
            (None, LogEntry::Metadata(MetadataRecord::Other { .. }) | LogEntry::Control(_)) => {}
            (None, told) => panic!("offset {} is a {}, and told as {told:?}", record.offset, dump.kind),
        }
        *compared.entry(dump.kind.clone()).or_default() += 1;
    }
    compared
}

fn parsed(text: &str) -> BTreeMap<i64, Dumped> {
    let mut records = BTreeMap::new();
    let mut epoch = 0;
    for line in text.lines() {
        if line.starts_with("baseOffset:") {
            assert!(line.contains("isvalid: true"), "{line}");
            epoch = number_after(line, "partitionLeaderEpoch: ").unwrap() as i32;
        } else if let Some(record) = line.strip_prefix("| offset: ") {
            let offset: i64 = record.split(' ').next().unwrap().parse().unwrap();
            let timestamp_ms = number_after(line, "CreateTime: ").unwrap();
            let (kind, entry) = entry_of(line);
            records.insert(offset, Dumped { epoch, timestamp_ms, kind, entry });
        }
    }
    assert!(!records.is_empty(), "no record in {text}");
    records
}

fn number_after(line: &str, label: &str) -> Option<i64> {
    line.split_once(label)?.1.split(' ').next()?.parse().ok()
}

fn entry_of(line: &str) -> (String, Option<LogEntry>) {
    if let Some((_, payload)) = line.split_once(" payload: ") {
        let payload: Value = serde_json::from_str(payload).unwrap_or_else(|error| panic!("{error}: {line}"));
        let kind = payload["type"].as_str().unwrap().to_owned();
        let record = record_of(&kind, &payload["data"]).map(LogEntry::Metadata);
        return (kind, record);
    }
    if let Some((_, message)) = line.split_once(" LeaderChange: ") {
        let message: Value = serde_json::from_str(message).unwrap();
        let leader = broker(&message["leaderId"]);
        return ("LeaderChange".to_owned(), Some(LogEntry::Control(ControlRecord::LeaderChange { leader })));
    }
    ("another control record".to_owned(), None)
}

fn record_of(kind: &str, data: &Value) -> Option<MetadataRecord> {
    let text = |name: &str| data[name].as_str().unwrap().to_owned();
    let text_or_null = |name: &str| data[name].as_str().map(ToOwned::to_owned);
    let number = |name: &str| data[name].as_i64().unwrap();
    Some(match kind {
        "REGISTER_BROKER_RECORD" => MetadataRecord::RegisterBroker(registration(data)),
        "UNREGISTER_BROKER_RECORD" => {
            MetadataRecord::UnregisterBroker { broker: broker(&data["brokerId"]), broker_epoch: number("brokerEpoch") }
        }
        "TOPIC_RECORD" => MetadataRecord::Topic { name: data["name"].as_str().unwrap().into(), id: topic_id(data) },
        "PARTITION_RECORD" => MetadataRecord::Partition(partition(data)),
        "CONFIG_RECORD" => MetadataRecord::Config {
            resource_type: number("resourceType") as i8,
            resource_name: text("resourceName"),
            name: text("name"),
            value: text_or_null("value"),
        },
        "PARTITION_CHANGE_RECORD" => MetadataRecord::PartitionChange(partition_change(data)),
        "REMOVE_TOPIC_RECORD" => MetadataRecord::RemoveTopic { id: topic_id(data) },
        "FEATURE_LEVEL_RECORD" => MetadataRecord::FeatureLevel { name: text("name"), level: number("featureLevel") as i16 },
        "BROKER_REGISTRATION_CHANGE_RECORD" => MetadataRecord::BrokerRegistrationChange(broker_change(data)),
        "NO_OP_RECORD" => MetadataRecord::NoOp,
        "BEGIN_TRANSACTION_RECORD" => MetadataRecord::BeginTransaction { name: text_or_null("name") },
        "END_TRANSACTION_RECORD" => MetadataRecord::EndTransaction,
        "ABORT_TRANSACTION_RECORD" => MetadataRecord::AbortTransaction { reason: text_or_null("reason") },
        "REGISTER_CONTROLLER_RECORD" => MetadataRecord::RegisterController(controller(data)),
        "CLEAR_ELR_RECORD" => MetadataRecord::ClearElr { topic: text("topicName") },
        _ => return None,
    })
}

fn registration(data: &Value) -> BrokerRegistration {
    BrokerRegistration {
        broker: broker(&data["brokerId"]),
        is_migrating: data["isMigratingZkBroker"].as_bool().unwrap_or(false),
        incarnation: uuid(&data["incarnationId"]),
        broker_epoch: data["brokerEpoch"].as_i64().unwrap(),
        endpoints: endpoints(data),
        features: features(data),
        rack: data["rack"].as_str().map(ToOwned::to_owned),
        is_fenced: data["fenced"].as_bool().unwrap(),
        in_controlled_shutdown: data["inControlledShutdown"].as_bool().unwrap(),
        directories: uuids(&data["logDirs"]).unwrap_or_default(),
        cordoned: uuids(&data["cordonedLogDirs"]),
    }
}

fn controller(data: &Value) -> ControllerRegistration {
    ControllerRegistration {
        controller: broker(&data["controllerId"]),
        incarnation: uuid(&data["incarnationId"]),
        zk_migration_ready: data["zkMigrationReady"].as_bool().unwrap(),
        endpoints: endpoints(data),
        features: features(data),
    }
}

fn endpoints(data: &Value) -> Vec<Endpoint> {
    let endpoint = |data: &Value| Endpoint {
        name: data["name"].as_str().unwrap().to_owned(),
        host: data["host"].as_str().unwrap().to_owned(),
        port: data["port"].as_u64().unwrap() as u16,
        security_protocol: data["securityProtocol"].as_i64().unwrap() as i16,
    };
    data["endPoints"].as_array().unwrap().iter().map(endpoint).collect()
}

fn features(data: &Value) -> Vec<FeatureRange> {
    let feature = |data: &Value| FeatureRange {
        name: data["name"].as_str().unwrap().to_owned(),
        min: data["minSupportedVersion"].as_i64().unwrap() as i16,
        max: data["maxSupportedVersion"].as_i64().unwrap() as i16,
    };
    data["features"].as_array().unwrap().iter().map(feature).collect()
}

fn broker_change(data: &Value) -> BrokerChange {
    BrokerChange {
        fenced: data["fenced"].as_i64().unwrap_or(0) as i8,
        in_controlled_shutdown: data["inControlledShutdown"].as_i64().unwrap_or(0) as i8,
        directories: uuids(&data["logDirs"]).unwrap_or_default(),
        cordoned: uuids(&data["cordonedLogDirs"]),
        ..BrokerChange::of(broker(&data["brokerId"]), data["brokerEpoch"].as_i64().unwrap())
    }
}

fn partition(data: &Value) -> PartitionRecord {
    let number = |name: &str| data[name].as_i64().unwrap() as i32;
    PartitionRecord {
        partition: PartitionIndex(number("partitionId")),
        topic: topic_id(data),
        replicas: brokers(&data["replicas"]).unwrap(),
        isr: brokers(&data["isr"]).unwrap(),
        removing: brokers(&data["removingReplicas"]).unwrap(),
        adding: brokers(&data["addingReplicas"]).unwrap(),
        leader: broker(&data["leader"]),
        recovery: data["leaderRecoveryState"].as_i64().unwrap_or(0) as i8,
        leader_epoch: number("leaderEpoch"),
        partition_epoch: number("partitionEpoch"),
        directories: uuids(&data["directories"]).unwrap_or_default(),
        elr: brokers(&data["eligibleLeaderReplicas"]),
        last_known_elr: brokers(&data["lastKnownElr"]),
    }
}

fn partition_change(data: &Value) -> PartitionChangeRecord {
    PartitionChangeRecord {
        isr: brokers(&data["isr"]),
        leader: data["leader"].as_i64().filter(|leader| *leader != -2).map(|leader| BrokerId(leader as i32)),
        replicas: brokers(&data["replicas"]),
        removing: brokers(&data["removingReplicas"]),
        adding: brokers(&data["addingReplicas"]),
        recovery: data["leaderRecoveryState"].as_i64().filter(|state| *state != -1).map(|state| state as i8),
        directories: uuids(&data["directories"]),
        elr: brokers(&data["eligibleLeaderReplicas"]),
        last_known_elr: brokers(&data["lastKnownElr"]),
        ..PartitionChangeRecord::of(topic_id(data), PartitionIndex(data["partitionId"].as_i64().unwrap() as i32))
    }
}

fn broker(value: &Value) -> BrokerId {
    BrokerId(i32::try_from(value.as_i64().unwrap()).unwrap())
}

fn brokers(value: &Value) -> Option<Vec<BrokerId>> {
    Some(value.as_array()?.iter().map(broker).collect())
}

fn topic_id(data: &Value) -> TopicId {
    let name = if data["topicId"].is_null() { "id" } else { "topicId" };
    TopicId(uuid(&data[name]))
}

/// Kafka prints ids in its own base64.
fn uuid(value: &Value) -> Uuid {
    Uuid::from_slice(&URL_SAFE_NO_PAD.decode(value.as_str().unwrap()).unwrap()).unwrap()
}

fn uuids(value: &Value) -> Option<Vec<Uuid>> {
    Some(value.as_array()?.iter().map(uuid).collect())
}
