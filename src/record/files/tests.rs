//! What other programs rely on: names, columns, formats.

use std::fs;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

use super::*;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, ProducerIndex, StepNumber, TopicName};
use crate::record::broker::{BrokerSecond, Led, LogEnd, Usage};
use crate::record::fact::{GroupSecond, StepOutcome, UNKNOWN_REASON};
use crate::record::histogram::LatencyHistogram;
use crate::record::read::FactReader;
use crate::record::sample::{Pair, Sample};

fn sample() -> Sample {
    let reasons = [("age", 1), ("disconnect", 1), ("produce_error", 1), ("start", 1)];
    Sample::new(&[("steady", 2)])
        .pairs("steady", 2, 2)
        .second("steady", -1, |second| second.counts.failed = 1)
        .second("steady", 0, |second| second.metadata_requests = Some(reasons.map(|(reason, count)| (reason.to_owned(), count)).into()))
        .second("a, b", 1, |second| second.histograms.clear())
        .second("foreign", 1, |second| *second = counts_alone(second, Some(3)))
        .second("silent", 1, |second| *second = counts_alone(second, None))
        .request("steady", 0, "age", 1_500)
        .broker(2, 1, |seen| leads(seen, 1_000, [Some(40), Some(7)]))
        .broker(2, 2, |seen| leads(seen, 1_500, [Some(45), None]))
        .broker(2, 3, |seen| seen.state = Some("exited".into()))
        .broker(2, 5, |seen| leads(seen, 9_000, [Some(45), Some(9)]))
        .broker(4, 5, |_| {})
        .at(10_000, kill())
        .at(10_100, Fact::StepAcknowledged { step: StepNumber(1) })
        .at(10_200, Fact::StepObserved { step: StepNumber(1), detail: "node 2 is down".into() })
        .at(10_300, Fact::StepFinished { step: StepNumber(1), outcome: StepOutcome::Done, detail: "killed".into() })
        .at(10_300, not_leader())
        .at(10_301, not_leader())
        .at(10_500, timeouts(2, 10_400, 10_500))
        .at(10_600, timeouts(3, 10_300, 10_350))
        .gap(Pair("steady", 0, 0), 10_000, Some(19_000))
        .child(2, Some(1), None, "start", "2", 14_000)
        .end(20_000)
}

/// A second of a client that tells no more of itself than, at best, how many Metadata requests it sent.
fn counts_alone(second: &GroupSecond, requests: Option<u64>) -> GroupSecond {
    GroupSecond {
        group: second.group.clone(),
        second: second.second,
        counts: second.counts,
        partitions_used_max: second.partitions_used_max,
        metadata_requests: requests.map(|count| [(UNKNOWN_REASON.to_owned(), count)].into()),
        ..GroupSecond::default()
    }
}

fn kill() -> Fact {
    Fact::StepRequested {
        step: StepNumber(1),
        parent: None,
        round: Some(2),
        action: "kill".into(),
        target: "leader-of(orders/0)".into(),
        nodes: vec![BrokerId(2)],
        was_controller: Some(true),
    }
}

fn not_leader() -> Fact {
    Fact::BatchError {
        group: "steady".into(),
        producer: ProducerIndex(0),
        topic: TopicName::from("orders"),
        partition: PartitionIndex(0),
        node: BrokerId(2),
        code: 6,
        retried: true,
        records: 3,
    }
}

/// A broker that runs and leads three partitions, two of them probed.
fn leads(seen: &mut BrokerSecond, cpu_ms: u64, high_watermarks: [Option<i64>; 2]) {
    let bytes = 1_000 * u64::try_from(seen.second).unwrap();
    seen.state = Some("running".into());
    seen.usage = Some(Usage {
        read_at_us: seen.second * 1_000_000 + 3,
        cpu_us_total: Some(cpu_ms * 1000),
        memory_bytes: Some(340_000_000),
        rx_bytes_total: Some(bytes * 2),
        tx_bytes_total: Some(bytes),
    });
    let end = |(high_watermark, partition): (Option<i64>, i32)| LogEnd {
        topic: TopicName::from("orders"),
        partition: PartitionIndex(partition),
        leader_epoch: Some(LeaderEpoch(3)),
        // orders/1 has no follower.
        replicas: Some(if partition == 0 { 3 } else { 1 }),
        high_watermark,
        log_end_offset: Some(50),
    };
    seen.led = Some(Led { leaders: 3, under_replicated: 1, probed: high_watermarks.into_iter().zip(0..).map(end).collect() });
}

fn timeouts(count: u64, first_ms: i64, last_ms: i64) -> Fact {
    Fact::RecordErrors {
        group: "steady".into(),
        outcome: "indeterminate".into(),
        kind: "TimeoutException".into(),
        code: None,
        text: "no answer, sorry".into(),
        count,
        first_us: first_ms * 1000,
        last_us: last_ms * 1000 + 400,
    }
}

/// Writes a stream as a run would, and gives each file's text.
fn written(stream: &Sample) -> (tempfile::TempDir, BTreeTexts) {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::exactly(root.path()).unwrap();
    let mut files = Files::create(&folder).unwrap();
    for fact in &stream.facts {
        files.write(fact).unwrap();
    }
    files.tick().unwrap();
    let texts = [FACTS, SECONDS, STEPS, METADATA, LAYERS, BROKERS, ERRORS, LATENCY]
        .map(|name| (name, fs::read_to_string(folder.file(name)).unwrap()));
    (root, texts.into_iter().collect())
}

type BTreeTexts = std::collections::BTreeMap<&'static str, String>;

#[test]
fn columns_are_those_that_other_programs_read() {
    let table = [
        (
            seconds::COLUMNS,
            "second,worker,group,due,sent,ok,failed,indeterminate,blocked_metadata,blocked_memory,in_flight,buffer_free_bytes,metadata_requests,metadata_requests_age,metadata_requests_error,metadata_requests_disconnect,metadata_requests_other,metadata_request_bytes,metadata_response_bytes,metadata_age_max_ms,cached_partitions_min,cached_partitions_max,partitions_used_max,response_p50_us,response_p99_us,response_max_us,service_p50_us,service_p99_us,service_max_us",
        ),
        (
            steps::COLUMNS,
            "step,parent,round,action,target,resolved_node,was_controller,requested_ms,acknowledged_ms,observed_ms,outcome,detail",
        ),
        (
            recovery::COLUMNS,
            "step,worker,group,producer,topic,partition,last_ok_ms,first_due_unserved_ms,first_error_ms,first_ok_ms,outage_ms,recovered",
        ),
        (
            metadata::COLUMNS,
            "time_ms,worker,group,producer,reason,full,topics,request_bytes,response_bytes,round_trip_us,node,update_version,outcome",
        ),
        (
            layers::COLUMNS,
            "step,time_ms,not_before_ms,controller_time_ms,layer,source,node,group,producer,topic,topic_id,partition,partition_count,offset,leader,leader_epoch,partition_epoch,isr,elr,what",
        ),
        (errors::COLUMNS, "group,kind,code,count,first_ms,last_ms,text"),
        (
            brokers::COLUMNS,
            "second,node,state,cpu_percent,memory_bytes,network_rx_bytes,network_tx_bytes,leaders,under_replicated,partitions_probed,high_watermark_sum,log_end_offset_sum,uncommitted_sum",
        ),
    ];
    for (ours, agreed) in table {
        assert_eq!(ours, agreed);
    }
}

fn rows(texts: &BTreeTexts, name: &str) -> Vec<String> {
    texts[name].lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn rows_follow_their_columns() {
    let (_root, texts) = written(&sample());
    let table: [(&str, &[&str]); 5] = [
        (
            SECONDS,
            &[
                "-1,0,steady,100,100,100,1,0,0,0,0,33554432,0,0,0,0,0,0,0,0,6,6,6,2000,2000,3000,2000,2000,3000",
                "0,0,steady,100,100,100,0,0,0,0,0,33554432,4,1,1,1,1,0,0,0,6,6,6,2000,2000,3000,2000,2000,3000",
                "1,0,\"a, b\",100,100,100,0,0,0,0,0,33554432,0,0,0,0,0,0,0,0,6,6,6,,,,,,",
                "1,0,foreign,100,100,100,0,0,,,0,,3,,,,,,,,,,6,,,,,,",
                "1,0,silent,100,100,100,0,0,,,0,,,,,,,,,,,,6,,,,,,",
            ],
        ),
        (STEPS, &["1,,2,kill,leader-of(orders/0),2,true,10000,10100,10200,done,node 2 is down; killed", "2,1,,start,2,2,false,14000,,,,"]),
        (METADATA, &["1500,0,steady,0,age,true,1,40,400,1500,1,2,updated"]),
        (
            BROKERS,
            &[
                "1,2,running,,340000000,,,3,1,2,47,100,10",
                "2,2,running,50.0,340000000,2000,1000,3,1,2,,100,5",
                "3,2,exited,,,,,,,,,,",
                "5,2,running,,340000000,,,3,1,2,54,100,5",
                "5,4,,,,,,,,,,,",
            ],
        ),
        (
            ERRORS,
            &[
                "steady,BatchRetried,6,2,10300,10301,sent again; the first was for orders/0 on node 2",
                "steady,TimeoutException,,5,10300,10500,\"indeterminate: no answer, sorry\"",
            ],
        ),
    ];
    for (name, expected) in table {
        assert_eq!(rows(&texts, name), expected, "{name}");
    }
}

#[test]
fn a_run_that_was_killed_before_its_first_second_leaves_headers() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::exactly(root.path()).unwrap();
    let files = Files::create(&folder).unwrap();
    for (name, columns) in [
        (SECONDS, seconds::COLUMNS),
        (STEPS, steps::COLUMNS),
        (METADATA, metadata::COLUMNS),
        (LAYERS, layers::COLUMNS),
        (BROKERS, brokers::COLUMNS),
        (ERRORS, errors::COLUMNS),
    ] {
        assert_eq!(fs::read_to_string(folder.file(name)).unwrap(), format!("{columns}\n"));
    }
    drop(files);
}

#[test]
fn the_interval_log_is_read_by_hdr_tools() {
    let (_root, texts) = written(&sample());
    let log = texts[LATENCY].as_bytes();
    let (mut tags, mut base_s) = (Vec::new(), None);
    for entry in IntervalLogIterator::new(log) {
        match entry.unwrap() {
            LogEntry::BaseTime(time) => base_s = Some(time.as_secs()),
            LogEntry::StartTime(_) => {}
            LogEntry::Interval(interval) => {
                let histogram = LatencyHistogram::decode(interval.encoded_histogram(), None).unwrap();
                assert_eq!(histogram.count(), 100);
                assert!((interval.max() - 3.0).abs() < 0.001, "{}", interval.max());
                tags.push((interval.start_timestamp().as_secs(), interval.tag().unwrap().to_string()));
            }
        }
    }
    // steady_at is 2026-11-29T10:00:02Z, the load began two seconds earlier.
    assert_eq!(base_s, Some(1_795_946_400));
    assert_eq!(tags.len(), 4);
    assert_eq!(tags[0], (1, "steady/response_ok".to_owned()));
    assert_eq!(tags[3], (2, "steady/service_ok".to_owned()));
}

#[test]
fn metadata_rows_are_bounded_per_second_and_the_rest_is_counted() {
    let root = tempfile::tempdir().unwrap();
    let folder = RunFolder::exactly(root.path()).unwrap();
    let mut files = Files::create(&folder).unwrap();
    let mut stream = Sample { facts: Vec::new() };
    for _ in 0..ROWS_MAX + 5 {
        stream = stream.request("storm", 0, "disconnect", 700);
    }
    stream = stream.request("storm", 0, "age", 1_000);
    for fact in &stream.facts {
        files.write(fact).unwrap();
    }
    files.tick().unwrap();
    let rows = fs::read_to_string(folder.file(METADATA)).unwrap().lines().count();
    assert_eq!((rows, files.metadata_rows_left_out()), (1 + ROWS_MAX + 1, 5));
}

const ROWS_MAX: usize = METADATA_ROWS_PER_SECOND_MAX as usize;

#[test]
fn every_file_can_be_made_again_from_the_facts() {
    let (root, first) = written(&sample());
    let facts: Vec<Stamped> = FactReader::open(root.path()).unwrap().map(Result::unwrap).collect();
    assert_eq!(facts, sample().facts);
    let (_again, second) = written(&Sample { facts });
    assert_eq!(first, second);
}

#[test]
fn milliseconds_are_rounded_on_both_sides_of_zero() {
    let table = [(0, 0), (499, 0), (500, 1), (1_499, 1), (-500, 0), (-501, -1), (-1_500, -1)];
    for (us, ms) in table {
        assert_eq!(millis(us), ms, "{us}");
    }
}
