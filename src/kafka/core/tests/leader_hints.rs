//! Leaders named in Produce answers.

use bytes::Bytes;
use kafka_protocol::messages::produce_response::{LeaderIdAndEpoch, NodeEndpoint, PartitionProduceResponse, TopicProduceResponse};
use kafka_protocol::messages::{BrokerId as CodecBroker, ProduceRequest, ProduceResponse};
use kafka_protocol::protocol::{Decodable, StrBytes};

use super::lab::{Lab, Written, ms, response, topic};
use crate::ids::{BrokerId, HostPort, LeaderEpoch, PartitionIndex, UpdateVersion};
use crate::kafka::event::{ClientEvent, UpdateReason};
use crate::kafka::wire::error::ErrorCode;

/// What a broker says beside its error.
#[derive(Clone, Copy)]
pub(super) struct Says {
    pub(super) code: i16,
    pub(super) leader: i32,
    pub(super) epoch: i32,
    pub(super) endpoints: &'static [(i32, &'static str, i32)],
}

const MOVED: Says = Says { code: 6, leader: 2, epoch: 6, endpoints: &[(2, "127.0.0.1", 9002)] };

/// A lab with no clock in the way of a refresh, and a request for `orders-0` that waits for its answer at broker 1.
fn asked(lab: &mut Lab) -> Written {
    lab.append(0, 1);
    lab.run_silent(ms(1));
    lab.take_written(0).remove(0)
}

/// The answer to a Produce request that says so of each of its partitions.
pub(super) fn hinting_frame(written: &Written, says: Says) -> Bytes {
    let request = ProduceRequest::decode(&mut written.body.clone(), written.version).unwrap();
    let hint = LeaderIdAndEpoch::default().with_leader_id(CodecBroker(says.leader)).with_leader_epoch(says.epoch);
    let responses = request.topic_data.into_iter().map(|topic| {
        let partition =
            |index| PartitionProduceResponse::default().with_index(index).with_error_code(says.code).with_current_leader(hint.clone());
        let partitions = topic.partition_data.iter().map(|data| partition(data.index)).collect();
        TopicProduceResponse::default().with_name(topic.name).with_partition_responses(partitions)
    });
    let endpoints = says.endpoints.iter().map(|(id, host, port)| {
        NodeEndpoint::default().with_node_id(CodecBroker(*id)).with_host(StrBytes::from_static_str(host)).with_port(*port)
    });
    let body = ProduceResponse::default().with_responses(responses.collect()).with_node_endpoints(endpoints.collect());
    response(written, &body)
}

fn answer(lab: &mut Lab, written: &Written, says: Says) {
    lab.core.on_frame(written.node, written.connection, hinting_frame(written, says), lab.now);
}

fn leader_of(lab: &Lab) -> Option<(BrokerId, Option<LeaderEpoch>)> {
    lab.core.snapshot().leader(&topic("orders"), PartitionIndex(0))
}

#[test]
fn a_newer_leader_is_believed_and_the_retry_goes_there_without_backoff() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    let written = asked(&mut lab);
    answer(&mut lab, &written, MOVED);
    assert_eq!(leader_of(&lab), Some((BrokerId(2), Some(LeaderEpoch(6)))));
    lab.step();
    assert!(lab.events.iter().any(|event| matches!(
        event,
        ClientEvent::LeaderChanged { from: Some(BrokerId(1)), to: Some(BrokerId(2)), node: Some(BrokerId(1)), .. }
    )));
    assert_eq!(lab.take_written(3).len(), 1, "the refresh that the error asks for is made all the same");
    let redirected = lab.take_written(0);
    assert_eq!(redirected.len(), 1, "in the same pass, for that refresh is on its way");
    assert_eq!(redirected[0].node, BrokerId(2));
}

#[test]
fn a_hint_is_no_update() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    let (version, refreshed) = (lab.core.snapshot().update_version, lab.core.last_successful_refresh());
    let written = asked(&mut lab);
    answer(&mut lab, &written, MOVED);
    let output = lab.core.take_output();
    assert_eq!(output.publications.len(), 1);
    assert!(!output.publications[0].wake, "nobody is woken");
    assert_eq!(output.publications[0].snapshot.update_version, version);
    assert_eq!(lab.core.last_successful_refresh(), refreshed);
    assert!(output.events.iter().any(|(_, event)| matches!(
        event,
        ClientEvent::UpdateRequested { reason: UpdateReason::ProduceError(ErrorCode::NOT_LEADER_OR_FOLLOWER) }
    )));
}

#[test]
fn an_endpoint_of_the_answer_wins_over_the_address_that_was_known() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    let written = asked(&mut lab);
    answer(&mut lab, &written, Says { leader: 7, endpoints: &[(7, "seven", 9007), (1, "one", 9001)], ..MOVED });
    assert_eq!(leader_of(&lab), Some((BrokerId(7), Some(LeaderEpoch(6)))));
    let snapshot = lab.core.snapshot();
    assert_eq!(snapshot.address_of(BrokerId(7)), Some(&HostPort::new("seven", 9007)));
    assert_eq!(snapshot.address_of(BrokerId(1)), Some(&HostPort::new("one", 9001)));
    assert_eq!(snapshot.address_of(BrokerId(2)), Some(&HostPort::new("127.0.0.1", 9002)), "the others stay");
}

#[test]
fn what_is_not_new_or_not_whole_is_dropped() {
    let rows = [
        ("the same epoch", Says { epoch: 5, ..MOVED }),
        ("an older epoch", Says { epoch: 4, ..MOVED }),
        ("no epoch", Says { epoch: -1, ..MOVED }),
        ("no leader", Says { leader: -1, ..MOVED }),
        ("a leader that nobody can find", Says { leader: 7, endpoints: &[], ..MOVED }),
        ("a leader without an address", Says { leader: 7, endpoints: &[(7, "", 9007)], ..MOVED }),
        ("an error that says nothing of leaders", Says { code: 19, ..MOVED }),
        ("an unknown partition", Says { code: 3, ..MOVED }),
    ];
    for (what, says) in rows {
        let mut lab = Lab::settled(&[("linger.ms", "0")]);
        let written = asked(&mut lab);
        answer(&mut lab, &written, says);
        assert_eq!(leader_of(&lab), Some((BrokerId(1), Some(LeaderEpoch(5)))), "{what}");
        assert!(lab.core.take_output().publications.is_empty(), "{what}");
    }
}

#[test]
fn a_fenced_epoch_counts_and_a_known_node_needs_no_endpoint() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    let written = asked(&mut lab);
    answer(&mut lab, &written, Says { code: 74, endpoints: &[], ..MOVED });
    assert_eq!(leader_of(&lab), Some((BrokerId(2), Some(LeaderEpoch(6)))));
}

#[test]
fn a_hint_for_a_partition_that_the_snapshot_lost_is_dropped() {
    let mut lab = Lab::settled(&[("linger.ms", "0"), ("metadata.recovery.rebootstrap.trigger.ms", "0")]);
    let written = asked(&mut lab);
    lab.cluster.topics.clear();
    lab.core.request_topic(&topic("orders"), lab.now);
    lab.now = lab.now + ms(200);
    lab.step();
    for metadata in lab.take_written(3) {
        lab.answer_well(&metadata);
    }
    assert_eq!(lab.core.snapshot().partition_count(&topic("orders")), None);
    lab.core.take_output();
    answer(&mut lab, &written, MOVED);
    assert!(lab.core.take_output().publications.is_empty());
}

#[test]
fn an_answer_that_is_older_than_a_hint_does_not_undo_it() {
    let mut lab = Lab::settled(&[("linger.ms", "0")]);
    let written = asked(&mut lab);
    answer(&mut lab, &written, MOVED);
    lab.step();
    for metadata in lab.take_written(3) {
        lab.answer_well(&metadata);
    }
    assert_eq!(leader_of(&lab), Some((BrokerId(2), Some(LeaderEpoch(6)))), "the epoch of the hint was remembered");
    assert!(lab.core.snapshot().update_version > UpdateVersion(1));
}
