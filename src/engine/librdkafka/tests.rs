//! Groups on librdkafka without any broker: what a client does that reaches nobody.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::audit::Ledger;
use crate::clock::Clock;
use crate::engine::generator::Generator;
use crate::ids::TopicName;
use crate::kafka::net::security::Security;
use crate::plan::model::{Active, Arrivals, EngineKind, Load, RecordSpec};
use crate::record::fact::{Fact, GroupSecond, Totals};
use crate::record::sink;

pub(super) fn group(config: &[(&str, &str)]) -> ProducerGroup {
    ProducerGroup {
        name: "c".to_owned(),
        count: 2,
        engine: EngineKind::Librdkafka,
        share: None,
        topics: vec![TopicName::from("orders")],
        load: Load::Open { rate_per_second: 100.0, arrivals: Arrivals::Constant },
        record: RecordSpec { size_bytes: 100, keys: None },
        active: Active { from: Duration::ZERO, until: None },
        ramp: Duration::ZERO,
        config: config.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        bootstrap: Some(vec![HostPort::new("127.0.0.1", 9)]),
    }
}

#[test]
fn what_librdkafka_itself_refuses_is_the_plans_fault() {
    assert!(LibrdkafkaEngine.check(&group(&[("linger.ms", "20"), ("acks", "all")])).is_ok());
    let error = LibrdkafkaEngine.check(&group(&[("enable.idempotence", "true"), ("acks", "1")])).unwrap_err();
    assert!(error.to_string().contains("producers `c`") && error.to_string().contains("acks"), "{error}");
}

#[test]
fn every_name_of_the_table_is_one_of_librdkafkas() {
    for row in crate::plan::producer_config::librdkafka::table() {
        let java = row[0].trim_matches('`');
        let value = match row[2].split([',', ' ']).next().unwrap() {
            "any" | "-1" => "-1".to_owned(),
            // The least value of a number, or the first of some words.
            first => first.to_owned(),
        };
        let config = BTreeMap::from([(java.to_owned(), value)]);
        let native = ClientConfig::new();
        for (key, value) in translate(&config) {
            let mut native = native.clone();
            native.set(&key, &value);
            assert!(native.create_native_config().is_ok(), "{java}: {key} = {value}");
        }
    }
    for (key, value, _) in ALWAYS {
        assert!(ClientConfig::new().set(key, value).create_native_config().is_ok(), "{key}");
    }
}

/// Runs a group for so long and gives its seconds and its producers' totals.
async fn run(group: &ProducerGroup, load: Duration, drain: Duration) -> (Vec<GroupSecond>, Vec<Totals>, BTreeMap<String, u64>) {
    let clock = Clock::real();
    let start = clock.now();
    let (facts, mut source) = sink::channel(start, 0, 100_000);
    let context = EngineContext {
        clock: clock.clone(),
        bootstrap: Vec::new(),
        security: Security::plaintext(),
        load_start: start,
        steady: start,
        seed: 7,
        facts,
        ledger: Arc::new(Ledger::new(0)),
        worker: 0,
        generator: Arc::new(Generator::new()),
    };
    let handle = LibrdkafkaEngine.start(group, &context).await.unwrap();
    handle.stop_sending(start + load);
    tokio::time::sleep_until(clock.instant_of(start + load)).await;
    handle.finish(drain).await;
    let (mut seconds, mut totals, mut errors) = (Vec::new(), Vec::new(), BTreeMap::new());
    while let Some(stamped) = source.try_next() {
        match stamped.fact {
            Fact::Second(second) => seconds.push(*second),
            Fact::ProducerTotals { totals: of_one, .. } => totals.push(of_one),
            Fact::RecordErrors { outcome, kind, count, .. } => *errors.entry(format!("{outcome} {kind}")).or_default() += count,
            _ => {}
        }
    }
    (seconds, totals, errors)
}

#[tokio::test]
async fn records_that_reach_nobody_are_all_accounted_for() {
    let (seconds, totals, errors) = run(&group(&[]), Duration::from_millis(300), Duration::from_millis(200)).await;
    let mut sum = Totals::default();
    totals.iter().for_each(|totals| sum.add(totals));
    assert_eq!((sum.due, sum.sent, sum.ok), (60, 60, 0));
    assert_eq!(sum.failed + sum.indeterminate, 60);
    assert_eq!(errors, BTreeMap::from([("failed PurgeQueue".to_owned(), 60)]), "none was ever sent");
    assert!(seconds.iter().all(|second| second.blocked_metadata.is_none() && second.stalled_pairs.is_none()), "unknown, not 0");
}

#[tokio::test]
async fn a_full_queue_blocks_and_skips_nothing() {
    let mut group = group(&[("buffer.memory", "1024"), ("max.block.ms", "200")]);
    group.count = 1;
    let (seconds, totals, errors) = run(&group, Duration::from_millis(500), Duration::from_millis(300)).await;
    assert_eq!(totals[0].due, 50, "due is due, whatever the client takes");
    assert!(errors.get("failed QueueFull").is_some_and(|count| *count >= 1), "{errors:?}");
    assert_eq!(totals[0].sent, totals[0].failed + totals[0].indeterminate);
    assert!(seconds.iter().map(|second| second.blocked_memory.unwrap()).sum::<u64>() >= 2);
}

/// CPU time of this process's thread of that name, in us, and how often it went to sleep (`proc_pid_stat(5)`, in ticks of 10 ms;
/// `proc_pid_status(5)`).
#[cfg(target_os = "linux")]
fn time_and_sleeps_of(name: &str) -> (u64, u64) {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    let is_it = |thread: &std::path::PathBuf| std::fs::read_to_string(thread.join("comm")).is_ok_and(|comm| comm.trim() == name);
    let thread = threads.into_iter().find(is_it).expect("the thread runs");
    let stat = std::fs::read_to_string(thread.join("stat")).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    let ticks: u64 = after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    let status = std::fs::read_to_string(thread.join("status")).unwrap();
    let sleeps = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
    (ticks * 10_000, sleeps.trim().parse().unwrap())
}

/// A thread that spins through a millisecond before it sleeps needs that for each sleep, however busy the machine is.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn waiting_for_a_single_client_is_sleeping() {
    let mut group = group(&[]);
    (group.name, group.count) = ("alone".to_owned(), 1);
    let watch = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = time_and_sleeps_of("poll-0-alone");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let after = time_and_sleeps_of("poll-0-alone");
        (after.0 - before.0, after.1 - before.1)
    };
    let (_, (time_us, sleeps)) = tokio::join!(run(&group, Duration::from_millis(1_800), Duration::from_millis(100)), watch);
    // A tick may be counted that began before.
    assert!(time_us <= sleeps * 300 + 10_000, "{time_us} us of the processor for {sleeps} sleeps");
}
