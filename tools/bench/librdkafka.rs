//! librdkafka through the `rdkafka` crate: one thread that produces and polls, latencies from its delivery reports.
//!
//! The reports come through the event interface, a batch at a time; the clock is read once per poll, as our own recorder reads it once per batch.
//! Waiting is done by sleeping between polls that do not wait: the crate's `poll` spins through the last millisecond of its timeout, and its
//! `flush` polls, which would show as CPU time that librdkafka does not need.

use std::cell::RefCell;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use kafka_chaos::clock::Clock;
use kafka_chaos::record::histogram::LatencyHistogram;
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, ProducerContext};
use rdkafka::types::RDKafkaErrorCode;

use crate::load::{LoadArgs, RECORDS_PER_LOOK, number};
use crate::measured::{Latency, Measured, own_threads};

/// Longest wait for the first acknowledgement, and for the last.
const PATIENCE: Duration = Duration::from_secs(60);
/// Wait for reports while the client's queue is full, or all is sent: the queue holds a hundred times what is sent meanwhile.
const REPORTS_WAIT: Duration = Duration::from_millis(1);

thread_local! {
    /// The reports come on the thread that polls, so nothing is locked.
    static REPORTS: RefCell<Reports> = RefCell::default();
}

#[derive(Default)]
struct Reports {
    latencies: LatencyHistogram,
    ok: u64,
    failed: u64,
    /// The time of this poll's reports; `None`: it has had none yet.
    now_us: Option<u64>,
}

struct Observer {
    clock: Clock,
}

impl ClientContext for Observer {}

impl ProducerContext for Observer {
    /// The moment of `send`, in microseconds.
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, sent_at_us: usize) {
        REPORTS.with_borrow_mut(|reports| {
            if result.is_err() {
                reports.failed += 1;
                return;
            }
            let now_us = *reports.now_us.get_or_insert_with(|| self.clock.now().0);
            reports.ok += 1;
            reports.latencies.record(now_us.saturating_sub(sent_at_us as u64));
        });
    }
}

/// Sends the load and measures it.
pub(crate) fn run(load: &LoadArgs) -> anyhow::Result<Measured> {
    let clock = Clock::real();
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &load.bootstrap).set("client.id", "bench-librdkafka");
    for (name, value) in load.properties() {
        config.set(name, value);
    }
    let producer: BaseProducer<Observer> =
        config.create_with_context(Observer { clock: clock.clone() }).context("librdkafka refuses its configuration")?;
    let mut value = load.value();
    send(&producer, &clock, load, &mut value, 0, 1)?;
    first_acknowledged(&producer, &clock)?;

    let started = clock.now();
    let mut sent = 0;
    while sent < load.records {
        let burst = RECORDS_PER_LOOK.min(load.records - sent);
        send(&producer, &clock, load, &mut value, sent, burst)?;
        poll(&producer);
        sent += burst;
    }
    let threads = own_threads();
    finish(&producer, &clock, load.records)?;
    let seconds = clock.now().since(started).as_secs_f64();
    drop(producer);

    let (_, version) = rdkafka::util::get_rdkafka_version();
    let measured = REPORTS.with_borrow(|reports| Measured {
        subject: "librdkafka".to_owned(),
        version,
        records: reports.ok,
        failed: reports.failed,
        seconds,
        threads,
        latency_us: Latency::of(&reports.latencies),
        ..Measured::default()
    });
    Ok(measured.with_own_usage())
}

/// One look at the clock for a few records, as in `native`.
fn send(producer: &BaseProducer<Observer>, clock: &Clock, load: &LoadArgs, value: &mut [u8], first: u64, count: u64) -> anyhow::Result<()> {
    let now_us = usize::try_from(clock.now().0)?;
    for sequence in first..first + count {
        number(value, sequence);
        let mut record = BaseRecord::<(), [u8], usize>::with_opaque_to(&load.topic, now_us).payload(value);
        loop {
            match producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), returned)) => {
                    record = returned;
                    wait_and_poll(producer);
                }
                Err((error, _)) => bail!("librdkafka refuses a record: {error}"),
            }
        }
    }
    Ok(())
}

fn poll(producer: &BaseProducer<Observer>) {
    REPORTS.with_borrow_mut(|reports| reports.now_us = None);
    producer.poll(Duration::ZERO);
}

/// Takes all that is there: a poll takes one event, which holds a batch's reports, and more than one may have come meanwhile.
fn wait_and_poll(producer: &BaseProducer<Observer>) {
    std::thread::sleep(REPORTS_WAIT);
    loop {
        let before = reported();
        poll(producer);
        if reported() == before {
            return;
        }
    }
}

fn reported() -> (u64, u64) {
    REPORTS.with_borrow(|reports| (reports.ok, reports.failed))
}

fn first_acknowledged(producer: &BaseProducer<Observer>, clock: &Clock) -> anyhow::Result<()> {
    let give_up_at = clock.now() + PATIENCE;
    while reported() == (0, 0) {
        ensure!(clock.now() < give_up_at, "no acknowledgement within {} s: is the cluster up?", PATIENCE.as_secs());
        wait_and_poll(producer);
    }
    ensure!(reported().1 == 0, "the first record was not acknowledged");
    REPORTS.take();
    Ok(())
}

/// Waits for the last report; the last batch lingers as all others do.
fn finish(producer: &BaseProducer<Observer>, clock: &Clock, records: u64) -> anyhow::Result<()> {
    let give_up_at = clock.now() + PATIENCE;
    loop {
        wait_and_poll(producer);
        let (ok, failed) = reported();
        if ok + failed == records {
            return Ok(());
        }
        ensure!(clock.now() < give_up_at, "{} of {records} records have no outcome within {} s", records - ok - failed, PATIENCE.as_secs());
    }
}
