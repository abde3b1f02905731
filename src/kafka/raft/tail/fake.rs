//! For tests: controllers on loopback listeners that share one log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::describe_quorum_response::{PartitionData as QuorumPartition, TopicData};
use kafka_protocol::messages::fetch_response::{EpochEndOffset, FetchableTopicResponse, PartitionData};
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, BrokerId as WireBrokerId, DescribeQuorumRequest, DescribeQuorumResponse, FetchRequest,
    FetchResponse, ResponseHeader,
};
use kafka_protocol::protocol::{Encodable, HeaderVersion, Request, decode_request_header_from_buffer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::ids::{BrokerId, HostPort};
use crate::kafka::raft::record::ControlRecord;
use crate::kafka::raft::sample::{batch, control_batch, topic};

/// What all controllers know.
#[derive(Debug, Default)]
pub(crate) struct Quorum {
    /// The active one, by its place, with its epoch; its node id is its place and one.
    pub(crate) active: Option<(usize, i32)>,
    /// Batches, one record each.
    pub(crate) log: Vec<Bytes>,
    pub(crate) high_watermark: i64,
    /// The newest version of Fetch that is spoken.
    pub(crate) fetch_max: i16,
    /// Requests to Fetch: for how long they may wait in ms, and the high watermark that they name (versions 18 and later).
    pub(crate) fetches: Vec<(i32, Option<i64>)>,
}

impl Quorum {
    /// The first controller leads in epoch 1, and its election is committed.
    pub(crate) fn led() -> Self {
        let elected = control_batch(0, 1, &ControlRecord::LeaderChange { leader: BrokerId(1) });
        Self { active: Some((0, 1)), log: vec![elected], high_watermark: 1, fetch_max: 18, ..Self::default() }
    }

    /// One topic more, committed at once.
    pub(crate) fn commit_topic(&mut self, name: &str) {
        let offset = self.log.len() as i64;
        self.log.push(batch(offset, 1, &[topic(name, offset as u128)]));
        self.high_watermark = offset + 1;
    }
}

pub(crate) type Shared = Arc<Mutex<Quorum>>;

/// One controller; gone with its connections when it is dropped.
#[derive(Debug)]
pub(crate) struct FakeController {
    pub(crate) address: HostPort,
    serving: JoinHandle<()>,
}

impl Drop for FakeController {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl FakeController {
    pub(crate) async fn start(place: usize, quorum: &Shared) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = HostPort::new("127.0.0.1", listener.local_addr().unwrap().port());
        let quorum = Arc::clone(quorum);
        let serving = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(converse(place, stream, Arc::clone(&quorum)));
            }
        });
        Self { address, serving }
    }
}

async fn converse(place: usize, mut stream: TcpStream, quorum: Shared) {
    while let Ok(length) = stream.read_i32().await {
        let mut frame = vec![0; usize::try_from(length).unwrap()];
        stream.read_exact(&mut frame).await.unwrap();
        let answer = answer(place, Bytes::from(frame), &quorum).await;
        if stream.write_i32(i32::try_from(answer.len()).unwrap()).await.is_err() || stream.write_all(&answer).await.is_err() {
            return;
        }
    }
}

async fn answer(place: usize, mut frame: Bytes, quorum: &Shared) -> BytesMut {
    let header = decode_request_header_from_buffer(&mut frame).unwrap();
    let (version, id) = (header.request_api_version, header.correlation_id);
    match ApiKey::try_from(header.request_api_key).unwrap() {
        ApiKey::ApiVersions => {
            let fetch_max = quorum.lock().unwrap().fetch_max;
            let range = |api: ApiKey, max| ApiVersion::default().with_api_key(api as i16).with_max_version(max);
            let keys = vec![range(ApiKey::ApiVersions, 4), range(ApiKey::Fetch, fetch_max), range(ApiKey::DescribeQuorum, 2)];
            encoded::<ApiVersionsRequest>(id, version, &ApiVersionsResponse::default().with_api_keys(keys))
        }
        ApiKey::DescribeQuorum => encoded::<DescribeQuorumRequest>(id, version, &describe_quorum(place, &quorum.lock().unwrap())),
        ApiKey::Fetch => {
            let request = <FetchRequest as kafka_protocol::protocol::Decodable>::decode(&mut frame, version).unwrap();
            encoded::<FetchRequest>(id, version, &fetch(place, version, &request, quorum).await)
        }
        other => panic!("nobody answers {other:?}"),
    }
}

fn encoded<R: Request>(correlation_id: i32, version: i16, response: &R::Response) -> BytesMut {
    let mut frame = BytesMut::new();
    ResponseHeader::default().with_correlation_id(correlation_id).encode(&mut frame, R::Response::header_version(version)).unwrap();
    response.encode(&mut frame, version).unwrap();
    frame
}

fn describe_quorum(place: usize, quorum: &Quorum) -> DescribeQuorumResponse {
    let partition = match quorum.active {
        Some((active, epoch)) if active == place => {
            QuorumPartition::default().with_leader_id(WireBrokerId(place as i32 + 1)).with_leader_epoch(epoch)
        }
        _ => QuorumPartition::default().with_error_code(6),
    };
    DescribeQuorumResponse::default().with_topics(vec![TopicData::default().with_partitions(vec![partition])])
}

/// Waits for records, and for another high watermark where the request names one, as a controller does.
async fn fetch(place: usize, version: i16, request: &FetchRequest, quorum: &Shared) -> FetchResponse {
    let asked = &request.topics[0].partitions[0];
    assert_eq!((request.replica_state.replica_id.0, request.topics[0].topic_id.as_u128()), (-1, 1));
    let known = (version >= 18).then_some(asked.high_watermark);
    quorum.lock().unwrap().fetches.push((request.max_wait_ms, known));
    let mut left = request.max_wait_ms;
    loop {
        {
            let quorum = quorum.lock().unwrap();
            let leads = quorum.active == Some((place, asked.current_leader_epoch));
            let is_news = quorum.log.len() as i64 != asked.fetch_offset || known.is_some_and(|known| known < quorum.high_watermark);
            if !leads || is_news || left <= 0 {
                // Batch by batch, an epoch each: the last that is there in the tail's epoch.
                let epoch_of = |batch: &Bytes| i32::from_be_bytes(batch[12..16].try_into().unwrap());
                let shared = quorum.log.iter().take_while(|batch| epoch_of(batch) <= asked.last_fetched_epoch).count() as i64;
                let partition = if leads && asked.fetch_offset > shared {
                    let diverging = EpochEndOffset::default().with_epoch(asked.last_fetched_epoch).with_end_offset(shared);
                    PartitionData::default().with_high_watermark(quorum.high_watermark).with_diverging_epoch(diverging)
                } else if leads {
                    let records = quorum.log[asked.fetch_offset as usize..].concat();
                    PartitionData::default().with_high_watermark(quorum.high_watermark).with_records(Some(records.into()))
                } else {
                    PartitionData::default().with_error_code(6).with_high_watermark(-1)
                };
                let topic = FetchableTopicResponse::default().with_topic_id(request.topics[0].topic_id);
                return FetchResponse::default().with_responses(vec![topic.with_partitions(vec![partition])]);
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
        left -= 2;
    }
}
