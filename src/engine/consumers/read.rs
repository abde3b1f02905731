//! The tasks of a consumer: who leads what, and what each leader has.

use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use crate::clock::Moment;
use crate::ids::{BrokerId, HostPort, TopicPartition};
use crate::kafka::admin::{Admin, Caller, ErrorCode, FetchBounds, FetchFrom, Fetched, Traffic};
use crate::kafka::wire::log::{LogError, next_unpacked};
use crate::load::payload;

/// Longest wait for an answer to a Fetch that a leader may keep for half a second.
const WITHIN: Duration = Duration::from_secs(10);
/// What is asked for at a time.
const BOUNDS: FetchBounds = FetchBounds { partition_bytes: 1 << 20, bytes: 8 << 20, wait: Duration::from_millis(500) };
/// How often brokers are asked who leads while nobody is doubted, and while somebody is.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_SOON: Duration = Duration::from_millis(50);
/// Bound of one such question.
const LOOK_WITHIN: Duration = Duration::from_secs(1);
/// Pause after a broker that cannot be reached.
const AGAIN: Duration = Duration::from_millis(100);
/// Kafka's word for an offset that is not there any more.
const OFFSET_OUT_OF_RANGE: ErrorCode = ErrorCode(1);

/// Keeps up with who leads, until it is dropped. Brokers are asked in turn, so one that is cut off leads nobody astray for long.
pub(super) async fn follow(consumer: Arc<Shared>) {
    let ask = |listener: &HostPort| {
        let admin =
            Admin::new(vec![listener.clone()], consumer.context.security.named(&consumer.spec.name), consumer.context.clock.clone());
        admin.with_call_timeout(LOOK_WITHIN).with_patience(Duration::ZERO)
    };
    let admins: Vec<(Admin, &HostPort)> = consumer.brokers.iter().map(|(_, listener)| (ask(listener), listener)).collect();
    for (admin, listener) in admins.iter().cycle() {
        if let Ok(view) = admin.metadata_of(listener, Some(&consumer.spec.topics)).await {
            consumer.positions.follow(&view, &consumer.spec.topics);
        }
        let pause = if consumer.positions.are_doubted() { LOOK_SOON } else { LOOK_EVERY };
        let doubted = async {
            consumer.positions.doubted.notified().await;
            tokio::time::sleep(LOOK_SOON).await;
        };
        let _ = tokio::time::timeout(pause.max(LOOK_SOON), doubted).await;
    }
}

/// Reads what a broker leads, until it is dropped.
pub(super) async fn read(consumer: Arc<Shared>, node: BrokerId, listener: HostPort) {
    let mut caller = Caller::new(
        listener,
        consumer.context.security.named(&consumer.spec.name),
        WITHIN,
        consumer.context.clock.clone(),
        Traffic::default(),
    );
    loop {
        // Made before the look, it misses nothing.
        let moved = consumer.positions.moved.notified();
        let asked = consumer.positions.of(node);
        if asked.is_empty() {
            moved.await;
            continue;
        }
        let from: Vec<FetchFrom> = asked.iter().map(|(_, from)| *from).collect();
        match caller.fetch(&from, BOUNDS).await {
            Ok(fetched) => {
                let at = consumer.context.clock.now();
                for ((key, from), fetched) in asked.iter().zip(fetched) {
                    take(&consumer, at, key, from, &fetched);
                }
            }
            Err(error) => {
                consumer.gathered.failed(&error);
                asked.iter().for_each(|(key, from)| consumer.positions.doubt(key, from));
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
}

/// Takes in what a leader gave of one partition.
fn take(consumer: &Shared, at: Moment, key: &TopicPartition, from: &FetchFrom, fetched: &Fetched) {
    match fetched.error {
        None => {}
        Some(OFFSET_OUT_OF_RANGE) => {
            // Its beginning was deleted, or its end was lost with a leader: what is there is read.
            consumer.gathered.code(OFFSET_OUT_OF_RANGE);
            let next = if from.offset < fetched.log_start_offset { fetched.log_start_offset } else { fetched.high_watermark };
            consumer.positions.advance(key, from, next.max(0), fetched.high_watermark);
            return;
        }
        Some(code) => {
            consumer.gathered.code(code);
            return consumer.positions.doubt(key, from);
        }
    }
    let mut arrived = Arrived { next: from.offset, ages_us: Vec::new(), undated: 0 };
    let is_read = arrived.read(fetched, consumer.context.facts.time_us(at)).is_ok();
    if !consumer.positions.advance(key, from, arrived.next, fetched.high_watermark) {
        return;
    }
    consumer.gathered.arrived(at, &arrived.ages_us, arrived.undated, fetched.records.len() as u64);
    if !is_read {
        consumer.gathered.malformed();
    }
}

/// Records of one answer.
struct Arrived {
    next: i64,
    ages_us: Vec<u64>,
    undated: u64,
}

impl Arrived {
    fn read(&mut self, fetched: &Fetched, now_us: i64) -> Result<(), LogError> {
        let mut log = fetched.records.clone();
        while let Some(batch) = next_unpacked(&mut log)? {
            for record in batch.records() {
                let record = record?;
                // The first batch may begin earlier than was asked for.
                if record.offset < self.next || batch.is_control {
                    continue;
                }
                let identity = record.value.and_then(payload::parse).filter(|identity| identity.is_intact != Some(false));
                match identity.and_then(|identity| identity.due_us) {
                    Some(due_us) => self.ages_us.push((now_us - due_us).max(0).unsigned_abs()),
                    None => self.undated += 1,
                }
            }
            self.next = self.next.max(batch.next_offset);
        }
        Ok(())
    }
}
