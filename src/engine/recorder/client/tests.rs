use super::*;
use crate::audit::Ledger;
use crate::engine::recorder::tells::Tells;
use crate::ids::{LeaderEpoch, UpdateVersion};
use crate::plan::model::{Active, EngineKind, Load, ProducerGroup, RecordSpec};
use crate::record::sink;

fn group() -> ProducerGroup {
    ProducerGroup {
        name: "g".to_owned(),
        count: 1,
        engine: EngineKind::Native,
        share: None,
        topics: vec!["orders".into()],
        load: Load::Max,
        record: RecordSpec { size_bytes: 100, keys: None },
        active: Active { from: Duration::ZERO, until: None },
        ramp: Duration::ZERO,
        config: BTreeMap::new(),
        bootstrap: None,
    }
}

#[test]
fn the_first_ack_after_another_leader_or_route_is_told_once() {
    let (facts, mut source) = sink::channel(Moment(0), 0, 64);
    let group = Arc::new(GroupRecorder::new(&group(), facts, Arc::new(Ledger::new(0)), Tells::EVERYTHING));
    let client = ClientRecorder::new(group, ProducerIndex(0), 1, Moment(0));
    let at = |ms: u64| Moment(ms * 1_000);
    let orders = TopicPartition { topic: "orders".into(), partition: PartitionIndex(0) };
    let ack = |ms| {
        let records = [RecordTag { mark: mark::pack(0, at(ms - 3)), number: 0, sent_at: at(ms - 3) }];
        let (topic, outcome) = (&orders.topic, &Outcome::Ok { base_offset: 0 });
        client.delivered(at(ms), &BatchDelivery { topic, partition: orders.partition, records: &records, outcome, sends: 1 });
    };
    let leader = |ms, to| {
        let (partition, node, update_version) = (orders.clone(), Some(BrokerId(1)), UpdateVersion(2));
        let (from, to, epoch) = (Some(BrokerId(1)), Some(BrokerId(to)), Some(LeaderEpoch(1)));
        client.event(at(ms), &ClientEvent::LeaderChanged { partition, topic_id: None, from, to, epoch, node, update_version });
    };
    leader(5, 1);
    ack(10);
    ack(20);
    leader(30, 2);
    client.event(at(35), &ClientEvent::RouteChanged { partition: orders.clone(), from: Some(BrokerId(1)), to: BrokerId(2) });
    ack(40);
    ack(50);
    leader(60, 3);
    ack(70);
    let told: Vec<_> = std::iter::from_fn(|| source.try_next())
        .filter_map(|stamped| match stamped.fact {
            Fact::DeliveredAfterChange { node, due_us, .. } => Some((stamped.time_us / 1_000, node.map(|node| node.0), due_us / 1_000)),
            _ => None,
        })
        .collect();
    // Before the first ack there was no service that could change; the second change leaves the route as it was.
    assert_eq!(told, [(40, Some(2), 37), (70, Some(2), 67)]);
}

#[test]
fn a_number_beyond_what_the_audit_can_hold_is_counted_as_refused() {
    let (facts, _source) = sink::channel(Moment(0), 0, 64);
    let ledger = Arc::new(Ledger::new(10));
    let client = ClientRecorder::new(Arc::new(GroupRecorder::native(&group(), facts, Arc::clone(&ledger))), ProducerIndex(0), 1, Moment(0));
    let tag = |number| RecordTag { mark: mark::pack(0, Moment(1)), number, sent_at: Moment(1) };
    let records = [tag(u64::from(u32::MAX)), tag(u64::from(u32::MAX) + 1)];
    let (topic, outcome) = (&"orders".into(), &Outcome::Ok { base_offset: 0 });
    client.delivered(Moment(2), &BatchDelivery { topic, partition: PartitionIndex(0), records: &records, outcome, sends: 1 });
    client.finish(Moment(3), &[(2, 2)], None);
    let index = ledger.take();
    let kept = &index.producers().next().unwrap().pairs[0].outcomes.acknowledged;
    assert_eq!((ledger.refused(), kept.len(), kept.contains(u32::MAX)), (1, 1, true));
}
