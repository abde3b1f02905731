//! Random histories: no order of events breaks what `world` checks after each.

use std::time::Duration;

use proptest::prelude::*;

use super::lab::{partition, topic_answer};
use super::world::{BROKERS, Reply, World};
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex};

/// Something happens. Numbers choose among what there is, by remainder.
#[derive(Clone, Debug)]
enum Event {
    Send { topic: usize, partition: Option<i32>, bytes: usize },
    Memory { abandon: bool },
    Connect { which: usize, succeeds: bool },
    Cut(usize),
    Write(usize),
    Reply { which: usize, reply: Reply },
    LateAnswer,
    Advance(u64),
    AdvanceToNext,
    Elect { partition: usize, leader: i32 },
    Recreate,
    Grow,
    Unlist(i32),
    List,
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        12 => Just(Reply::Well),
        2 => (1_usize..6).prop_map(Reply::Stale),
        2 => prop::sample::select(vec![6_i16, 3, 5, 10, 19, 7, 45, 59, 100, 87, -1]).prop_map(Reply::Code),
        2 => (1..=BROKERS, 0..12).prop_map(|(leader, epoch)| Reply::Hint { leader, epoch }),
        1 => Just(Reply::NoBrokers),
        1 => Just(Reply::Garbage),
        1 => Just(Reply::WrongId),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let which = || 0_usize..6;
    prop_oneof![
        10 => (prop_oneof![5 => Just(0_usize), 1 => Just(1)], prop::option::of(0_i32..4), prop_oneof![1_usize..40, 1_000_usize..3_000])
            .prop_map(|(topic, partition, bytes)| Event::Send { topic, partition, bytes }),
        1 => any::<bool>().prop_map(|abandon| Event::Memory { abandon }),
        6 => (which(), prop::bool::weighted(0.8)).prop_map(|(which, succeeds)| Event::Connect { which, succeeds }),
        1 => which().prop_map(Event::Cut),
        8 => which().prop_map(Event::Write),
        12 => (which(), reply()).prop_map(|(which, reply)| Event::Reply { which, reply }),
        1 => Just(Event::LateAnswer),
        3 => prop_oneof![3 => 0_u64..30, 1 => 30_u64..1_500].prop_map(Event::Advance),
        6 => Just(Event::AdvanceToNext),
        2 => (0_usize..3, -1..=BROKERS).prop_map(|(partition, leader)| Event::Elect { partition, leader }),
        1 => Just(Event::Recreate),
        1 => Just(Event::Grow),
        1 => (1..=BROKERS).prop_map(Event::Unlist),
        1 => Just(Event::List),
    ]
}

fn happen(world: &mut World, event: &Event) {
    match *event {
        Event::Send { topic, partition, bytes } => world.send(topic, partition, bytes),
        Event::Memory { abandon } => world.settle_memory(abandon),
        Event::Connect { which, succeeds } => world.connect(which, succeeds),
        Event::Cut(which) => world.cut(which),
        Event::Write(which) => world.write(which),
        Event::Reply { which, reply } => world.reply(which, reply),
        Event::LateAnswer => world.late_answer(),
        Event::Advance(ms) => world.advance(Duration::from_millis(ms)),
        Event::AdvanceToNext => world.advance_to_next(),
        Event::Elect { partition, leader } => world.change(|truth| {
            let partitions = &mut truth.topics[0].partitions;
            let at = partition % partitions.len();
            partitions[at].leader = (leader > 0).then_some(BrokerId(leader));
            partitions[at].epoch = partitions[at].epoch.map(|epoch| LeaderEpoch(epoch.0 + 1));
        }),
        // Another topic of the same name: its epochs begin anew.
        Event::Recreate => world.change(|truth| {
            let id = truth.topics[0].id.map_or(7, |id| id.0.as_u128()) + 1;
            truth.topics[0] = topic_answer("orders", id, vec![partition(0, 1, 0), partition(1, 2, 0)]);
        }),
        Event::Grow => world.change(|truth| {
            let partitions = &mut truth.topics[0].partitions;
            let index = i32::try_from(partitions.len()).unwrap();
            partitions.push(partition(index, 1 + index % BROKERS, 0));
            assert_eq!(partitions.last().unwrap().index, PartitionIndex(index));
        }),
        Event::Unlist(node) => world.change(|truth| truth.brokers.retain(|(id, _)| id.0 != node)),
        Event::List => world.change(|truth| truth.brokers = super::lab::answer(BROKERS, Vec::new()).brokers),
    }
    world.take_output();
}

fn properties() -> impl Strategy<Value = Vec<(&'static str, &'static str)>> {
    let one_of = |key: &'static str, values: &[&'static str]| prop::sample::select(values.to_vec()).prop_map(move |value| (key, value));
    (
        one_of("max.in.flight.requests.per.connection", &["1", "2", "5"]),
        one_of("linger.ms", &["0", "5", "200"]),
        one_of("batch.size", &["1", "300", "16384"]),
        one_of("buffer.memory", &["6000", "40000", "33554432"]),
        one_of("acks", &["all", "all", "all", "0"]),
        one_of("retries", &["2147483647", "2147483647", "1"]),
        one_of("metadata.max.age.ms", &["300000", "400"]),
        one_of("metadata.recovery.strategy", &["rebootstrap", "none"]),
        one_of("connections.max.idle.ms", &["540000", "700"]),
        one_of("enable.idempotence", &["true", "false"]),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i, idempotence)| {
            // Java switches it off in silence where it was not asked for and cannot be.
            let may_be_idempotent = e.1 == "all";
            let idempotence = if may_be_idempotent { idempotence } else { ("enable.idempotence", "false") };
            let fixed = [("request.timeout.ms", "1000"), ("delivery.timeout.ms", "3000"), idempotence];
            [a, b, c, d, e, f, g, h, i].into_iter().chain(fixed).collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 4_000, ..ProptestConfig::default() })]
    #[test]
    fn no_order_of_events_breaks_an_invariant(
        properties in properties(),
        seed in any::<u64>(),
        events in prop::collection::vec((event(), prop::bool::weighted(0.8)), 0..160),
        is_settled in prop::bool::weighted(0.8),
        heals in prop::bool::weighted(0.8),
    ) {
        let mut world = World::new(&properties, seed);
        if is_settled {
            world.settle();
        }
        for (event, then_a_pass) in &events {
            happen(&mut world, event);
            if *then_a_pass {
                world.step();
            }
        }
        if heals {
            world.heal();
        }
        world.shut_down();
    }
}

/// That such histories get somewhere.
#[test]
fn a_quiet_history_appends_and_acknowledges() {
    let mut world = World::new(&[("linger.ms", "0"), ("enable.idempotence", "false")], 3);
    world.settle();
    assert_eq!(world.appended(), 3);
    world.heal();
    world.shut_down();
}
