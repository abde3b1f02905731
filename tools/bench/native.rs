//! This project's producer, driven as `chaos` drives it with `rate = "max"`: one task, the engine's own recorder as its observer.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use kafka_chaos::audit::Ledger;
use kafka_chaos::audit::ledger::RECORDS_MAX;
use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::engine::BURSTS_PER_TURN;
use kafka_chaos::engine::recorder::{ClientRecorder, GroupRecorder, mark};
use kafka_chaos::ids::{HostPort, ProducerIndex, TopicName};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::net::producer::{Producer, Record, TrySendError};
use kafka_chaos::record::sink;

use crate::load::{LoadArgs, RECORDS_PER_LOOK, number};
use crate::measured::{Latency, Measured, own_threads};

/// Longest wait for the first acknowledgement, and for the last.
const PATIENCE: Duration = Duration::from_secs(60);
/// Facts that may wait; nobody reads them here.
const FACTS_MAX: usize = 1_024;

/// Sends the load and measures it.
pub(crate) fn run(load: &LoadArgs) -> anyhow::Result<Measured> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let load = load.clone();
    // In a task, as the engine's senders are: the main thread is not a worker.
    let measured = runtime.block_on(async { tokio::spawn(measure(load)).await })??;
    drop(runtime);
    Ok(measured.with_own_usage())
}

async fn measure(load: LoadArgs) -> anyhow::Result<Measured> {
    let clock = Clock::real();
    let (facts, _source) = sink::channel(clock.now(), 0, FACTS_MAX);
    let group = Arc::new(GroupRecorder::native(&group_of(&load)?, facts, Arc::new(Ledger::new(RECORDS_MAX))));
    let recorder = Arc::new(ClientRecorder::new(Arc::clone(&group), ProducerIndex(0), 1, clock.now()));
    let config = ProducerConfig::from_properties(&load.properties())?;
    let producer = Producer::start(config, bootstrap(&load.bootstrap)?, "bench-native", clock.clone(), 1, recorder);
    let topic = TopicName::from(load.topic.as_str());
    let value = load.value();
    let mut sender = Sender { producer: &producer, clock: &clock, topic: &topic, value, wall_ms: wall_ms(&clock), origin: clock.now() };
    sender.send_some(0, 1, clock.now()).await?;
    first_acknowledged(&group, &clock).await?;

    let started = clock.now();
    sender.send_all(load.records).await?;
    let threads = own_threads();
    producer.close(PATIENCE).await;
    let seconds = clock.now().since(started).as_secs_f64();

    let told = group.take_second(0);
    let latency_us = told.histogram("service_ok")?.as_ref().and_then(Latency::of);
    Ok(Measured {
        subject: "native".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        records: told.counts.ok,
        failed: told.counts.failed + told.counts.indeterminate,
        seconds,
        threads,
        latency_us,
        ..Measured::default()
    })
}

/// The group that the recorder speaks of. As a plan, because that is what makes groups.
fn group_of(load: &LoadArgs) -> anyhow::Result<kafka_chaos::plan::model::ProducerGroup> {
    let text = format!(
        "name = 'bench'\n[[topic]]\nname = '{topic}'\npartitions = 1\nreplication = 1\n[[producers]]\nname = 'native'\ntopics = ['{topic}']\nrate = 'max'\n",
        topic = load.topic
    );
    let checked = kafka_chaos::plan::parse("bench", &text).map_err(|problems| anyhow::anyhow!("{}", problems.render(false)))?;
    checked.plan.producers.into_iter().next().context("a plan with one group has one")
}

fn bootstrap(text: &str) -> anyhow::Result<Vec<HostPort>> {
    let address = |text: &str| {
        let (host, port) = text.rsplit_once(':').with_context(|| format!("`{text}` is not HOST:PORT"))?;
        Ok(HostPort::new(host, port.parse().with_context(|| format!("`{text}`: bad port"))?))
    };
    text.split(',').map(address).collect()
}

fn wall_ms(clock: &Clock) -> i64 {
    i64::try_from(clock.unix_time_of(clock.now()).as_millis()).unwrap_or(0)
}

/// Until then the client connects and learns of the topic: that is not what is measured.
async fn first_acknowledged(group: &GroupRecorder, clock: &Clock) -> anyhow::Result<()> {
    let give_up_at = clock.now() + PATIENCE;
    loop {
        let counts = group.take_second(-1).counts;
        ensure!(counts.failed + counts.indeterminate == 0, "the first record was not acknowledged");
        if counts.ok > 0 {
            return Ok(());
        }
        ensure!(clock.now() < give_up_at, "no acknowledgement within {} s: is the cluster up?", PATIENCE.as_secs());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

struct Sender<'a> {
    producer: &'a Producer,
    clock: &'a Clock,
    topic: &'a TopicName,
    value: Vec<u8>,
    /// The system's time at `origin`.
    wall_ms: i64,
    origin: Moment,
}

impl Sender<'_> {
    async fn send_all(&mut self, records: u64) -> anyhow::Result<()> {
        let mut sent = 0;
        let mut bursts = 0_usize;
        while sent < records {
            let burst = RECORDS_PER_LOOK.min(records - sent);
            let now = self.clock.now();
            self.send_some(sent, burst, now).await?;
            sent += burst;
            bursts += 1;
            if bursts.is_multiple_of(BURSTS_PER_TURN) {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    async fn send_some(&mut self, first: u64, count: u64, now: Moment) -> anyhow::Result<()> {
        let timestamp_ms = self.wall_ms + now.micros_from(self.origin) / 1_000;
        for sequence in first..first + count {
            number(&mut self.value, sequence);
            let mark = mark::pack(0, now);
            let record = Record { topic: self.topic, partition: None, key: None, value: &self.value, timestamp_ms, mark, number: sequence };
            match self.producer.try_send(now, &record) {
                Ok(()) => {}
                Err(TrySendError::WouldBlock(_)) => {
                    self.producer.send(&record).await.map_err(|failure| anyhow::anyhow!("{}", failure.text))?;
                }
                Err(TrySendError::Failed(failure)) => anyhow::bail!("{}", failure.text),
            }
        }
        Ok(())
    }
}
