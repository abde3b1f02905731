//! A whole producer among brokers that mean harm, in virtual time.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::ids::{HostPort, PartitionIndex, TopicName};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::event::{BatchDelivery, ClientEvent, ClientObserver, Outcome};
use kafka_chaos::kafka::net::connector::Connector;
use kafka_chaos::kafka::net::producer::{Producer, Record};
use kafka_protocol::messages::produce_response::{PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{
    ApiVersionsRequest, InitProducerIdRequest, InitProducerIdResponse, MetadataRequest, ProduceRequest, ProduceResponse, ProducerId,
    RequestHeader,
};
use kafka_protocol::protocol::{Decodable, HeaderVersion};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::samples::{api_versions, frame_of, metadata, prefixed};
use super::{alone, peak_bytes_of};

/// Memory that a client may take beside its buffers, whatever its brokers send.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// Connects to a broker that answers one request in `honesty` well and spoils the others.
#[derive(Clone, Debug)]
struct HostileConnector {
    random: Arc<Mutex<ChaCha8Rng>>,
    honesty: f64,
    /// The newest Produce version that it speaks.
    produce_max: i16,
    /// Requests that no producer should send.
    absurd: Arc<Mutex<Vec<String>>>,
}

impl Connector for HostileConnector {
    type Stream = DuplexStream;

    fn connect(&self, _address: HostPort, _attempt: u32) -> impl Future<Output = io::Result<DuplexStream>> + Send + 'static {
        let random = ChaCha8Rng::seed_from_u64(self.random.lock().unwrap().next_u64());
        let (honesty, produce_max, absurd) = (self.honesty, self.produce_max, Arc::clone(&self.absurd));
        async move {
            let (client, broker) = tokio::io::duplex(64 * 1024);
            tokio::spawn(serve(broker, random, honesty, produce_max, absurd));
            Ok(client)
        }
    }
}

async fn serve(mut stream: DuplexStream, mut random: ChaCha8Rng, honesty: f64, produce_max: i16, absurd: Arc<Mutex<Vec<String>>>) {
    while let Ok(length) = stream.read_i32().await {
        let mut request = vec![0; usize::try_from(length).unwrap()];
        if stream.read_exact(&mut request).await.is_err() {
            return;
        }
        let [api, version] = [0, 2].map(|at| i16::from_be_bytes([request[at], request[at + 1]]));
        let correlation_id = i32::from_be_bytes(request[4..8].try_into().unwrap());
        let honest = match api {
            18 => frame_of::<ApiVersionsRequest>(correlation_id, version, &api_versions(produce_max)),
            3 => frame_of::<MetadataRequest>(correlation_id, version, &metadata(3)),
            22 => {
                let given = InitProducerIdResponse::default().with_producer_id(ProducerId(7_000));
                frame_of::<InitProducerIdRequest>(correlation_id, version, &given)
            }
            0 => match all_taken(version, request.into()) {
                Ok(taken) => frame_of::<ProduceRequest>(correlation_id, version, &taken),
                Err(why) => return absurd.lock().unwrap().push(why),
            },
            other => return absurd.lock().unwrap().push(format!("a request of kind {other}")),
        };
        tokio::time::sleep(Duration::from_millis(1)).await;
        let bytes = if random.random_bool(honesty) { prefixed(&honest) } else { spoilt(&honest, &mut random) };
        if stream.write_all(&bytes).await.is_err() || random.random_ratio(1, 20) {
            return;
        }
    }
}

/// The answer that everything in a Produce request is in the log.
fn all_taken(version: i16, mut request: Bytes) -> Result<ProduceResponse, String> {
    let unreadable = |error| format!("a Produce request that cannot be read: {error}");
    RequestHeader::decode(&mut request, ProduceRequest::header_version(version)).map_err(unreadable)?;
    let request = ProduceRequest::decode(&mut request, version).map_err(unreadable)?;
    let topics = request.topic_data.into_iter().map(|topic| {
        let partitions = topic.partition_data.iter().map(|partition| PartitionProduceResponse::default().with_index(partition.index));
        TopicProduceResponse::default().with_name(topic.name).with_topic_id(topic.topic_id).with_partition_responses(partitions.collect())
    });
    Ok(ProduceResponse::default().with_responses(topics.collect()))
}

/// What a hostile broker sends instead.
fn spoilt(honest: &[u8], random: &mut ChaCha8Rng) -> Bytes {
    let mut frame = honest.to_vec();
    match random.random_range(0..5) {
        // The right correlation id, and then anything.
        0 => {
            frame.truncate(4);
            let more = random.random_range(0..200);
            frame.extend((0..more).map(|_| random.next_u32() as u8));
        }
        1 => {
            for _ in 0..random.random_range(1..8) {
                let at = random.random_range(4..frame.len());
                frame[at] = *[0, 0x7f, 0x80, 0xff, random.next_u32() as u8].choose(random).unwrap();
            }
        }
        2 => frame.truncate(random.random_range(4..frame.len())),
        // No frame at all.
        3 => return (0..random.random_range(1..400)).map(|_| random.next_u32() as u8).collect(),
        // A length that is never delivered.
        _ => return Bytes::from_static(&[7, 0xff, 0xff, 0xff, 0, 0, 0, 0]),
    }
    prefixed(&frame)
}

/// Marks of records with whether they were acknowledged, in the order of their outcomes.
#[derive(Debug, Default)]
struct Outcomes(Mutex<Vec<(u64, bool)>>);

impl ClientObserver for Outcomes {
    fn event(&self, _at: Moment, _event: &ClientEvent) {}

    fn delivered(&self, _at: Moment, delivery: &BatchDelivery<'_>) {
        let is_ok = matches!(delivery.outcome, Outcome::Ok { .. });
        self.0.lock().unwrap().extend(delivery.records.iter().map(|tag| (tag.mark, is_ok)));
    }
}

/// Sends for some (virtual) seconds, closes, and wants one outcome for every record that was taken. How many were, and how many of these were
/// acknowledged.
async fn live_among_enemies(seed: u64, honesty: f64) -> (usize, usize) {
    let random = Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed)));
    let outcomes = Arc::new(Outcomes::default());
    let observer = Arc::clone(&outcomes) as Arc<dyn ClientObserver>;
    let properties = [("max.block.ms", "700"), ("request.timeout.ms", "900"), ("delivery.timeout.ms", "2500"), ("linger.ms", "2")];
    let properties = properties.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let config = ProducerConfig::from_properties(&properties.into()).unwrap();
    let bootstrap = vec![HostPort::new("broker", 9092)];
    let clock = Clock::real();
    // Topics by their names, and by their ids.
    let produce_max = if seed.is_multiple_of(2) { 12 } else { 13 };
    let absurd = Arc::new(Mutex::new(Vec::new()));
    let connector = HostileConnector { random, honesty, produce_max, absurd: Arc::clone(&absurd) };
    let producer = Producer::start_with(connector, config, bootstrap, "victim", clock.clone(), seed, observer);
    let topic = TopicName::from("orders");
    let mut taken = Vec::new();
    for mark in 0..60 {
        let partition = (mark % 3 == 0).then_some(PartitionIndex(1));
        let record = Record { topic: &topic, partition, key: None, value: b"value", timestamp_ms: 0, mark, number: mark };
        if producer.send(&record).await.is_ok() {
            taken.push(mark);
        }
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
    let closing = clock.now();
    producer.close(Duration::from_secs(3)).await;
    assert!(clock.now().since(closing) <= Duration::from_millis(3_001), "seed {seed}: a close of {:?}", clock.now().since(closing));
    assert_eq!(*absurd.lock().unwrap(), Vec::<String>::new(), "seed {seed}");
    let mut told = outcomes.0.lock().unwrap().clone();
    told.sort_unstable();
    let marks: Vec<u64> = told.iter().map(|(mark, _)| *mark).collect();
    assert_eq!(marks, taken, "seed {seed}: one outcome for each record that was taken");
    (taken.len(), told.iter().filter(|(_, is_ok)| *is_ok).count())
}

#[test]
fn a_producer_survives_hostile_brokers_and_gives_every_record_one_outcome() {
    let _alone = alone();
    let (mut all_taken, mut all_ok) = (0, [0; 4]);
    for seed in 0..40 {
        let kind = usize::try_from(seed / 2 % 4).unwrap();
        let honesty = [0.0, 0.3, 0.7, 0.9][kind];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let peak = peak_bytes_of(|| {
            let (taken, ok) = runtime.block_on(live_among_enemies(seed, honesty));
            all_taken += taken;
            all_ok[kind] += ok;
        });
        assert!(peak <= BYTES_MAX, "seed {seed}: {peak} bytes");
    }
    assert!(all_taken > 300, "only {all_taken} records were taken: the brokers are too hostile to test much");
    assert!(all_ok[0] == 0 && all_ok[3] > 100, "acknowledged by rising honesty: {all_ok:?}");
}
