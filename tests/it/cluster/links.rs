//! What can be done to links, and what stands between: on one cluster, because starting it takes longest.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kafka_chaos::audit::Ledger;
use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::cluster::{Cluster, DockerCluster, Node, Relay, UpOptions};
use kafka_chaos::engine::generator::Generator;
use kafka_chaos::engine::{EngineContext, requesters};
use kafka_chaos::ids::{BrokerId, HostPort, TopicName};
use kafka_chaos::kafka::admin::{Admin, ClusterView, NewTopic, Placement};
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::event::{BatchDelivery, ClientEvent, ClientObserver, Outcome};
use kafka_chaos::kafka::net::producer::{Producer, Record};
use kafka_chaos::kafka::net::security::Security;
use kafka_chaos::plan::model::{Active, ClientFault, ClusterSpec, Layout, LinkNeeds, Pace, RequesterGroup, TopicList};
use kafka_chaos::record::fact::Fact;
use kafka_chaos::record::sink;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::{down, ended};
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

/// Cut off from the controller for so long, a broker is fenced.
const SESSION_MS: &str = "3000";
const LEADER: BrokerId = BrokerId(2);
const OTHER: BrokerId = BrokerId(1);
const CONTROLLER: BrokerId = BrokerId(4);

#[tokio::test(flavor = "multi_thread")]
async fn links_are_hurt_and_healed() {
    let Some(_guard) = support::brokers().await else { return };
    let mut spec = ClusterSpec {
        links: LinkNeeds { nodes: true, clients: true },
        ..cluster_spec(KAFKA, Layout::Dedicated { brokers: 3, controllers: 1 })
    };
    spec.config.insert("broker.session.timeout.ms".to_owned(), SESSION_MS.to_owned());
    let options = UpOptions { request_log: true, ..up_options() };
    let cluster = DockerCluster::up(&spec, &run_id("links"), &options).await.unwrap();
    let admin = Admin::new(cluster.bootstrap(), "test-admin", Clock::real());
    let placement = Placement::Assigned(vec![vec![LEADER, OTHER, BrokerId(3)]]);
    admin.create_topics(&[NewTopic { name: "orders".into(), placement, config: [].into() }]).await.unwrap();
    cluster.ready(&options).await.unwrap();

    clients_come_through_the_relay(&cluster, cluster.relay().unwrap()).await;
    requesters_are_counted_as_the_brokers_count_them(&cluster).await;
    a_broker_that_is_cut_off_from_the_controller_believes_its_old_view(&cluster, &admin).await;
    the_end_of_a_broker_is_told_as_soon_as_without_a_relay(&cluster).await;
    down(&cluster).await;
}

async fn a_broker_that_is_cut_off_from_the_controller_believes_its_old_view(cluster: &DockerCluster, admin: &Admin) {
    assert_eq!(cluster.links_cut(LEADER).await.unwrap(), []);
    cluster.cut_links(LEADER, &[CONTROLLER]).await.unwrap();
    assert_eq!(cluster.links_cut(LEADER).await.unwrap(), [CONTROLLER]);
    assert_eq!(cluster.links_cut(CONTROLLER).await.unwrap(), [], "the other direction is whole");

    let orders = [TopicName::from("orders")];
    let of_other = view_until(admin, listener(cluster.nodes(), OTHER), &orders, |view| !view.lists(LEADER)).await;
    assert_ne!(leader(&of_other), Some(LEADER), "others have it fenced");
    let own = admin.metadata_of(&listener(cluster.nodes(), LEADER), Some(&orders)).await.unwrap();
    assert_eq!((own.brokers.len(), leader(&own)), (3, Some(LEADER)), "it has heard nothing");
    assert!(own.topics[0].partitions[0].is_full());

    cluster.mend_links(LEADER, &[CONTROLLER]).await.unwrap();
    cluster.mend_links(LEADER, &[CONTROLLER]).await.unwrap();
    assert_eq!(cluster.links_cut(LEADER).await.unwrap(), []);
    view_until(admin, listener(cluster.nodes(), OTHER), &orders, |view| view.lists(LEADER)).await;
}

/// Records that were acknowledged.
#[derive(Debug, Default)]
struct Acks(AtomicU64);

impl ClientObserver for Acks {
    fn event(&self, _at: Moment, _event: &ClientEvent) {}

    fn delivered(&self, _at: Moment, delivery: &BatchDelivery<'_>) {
        if matches!(delivery.outcome, Outcome::Ok { .. }) {
            self.0.fetch_add(delivery.records.len() as u64, Ordering::Relaxed);
        }
    }
}

/// A producer of a group, and its acknowledgements.
struct Client {
    producer: Producer,
    acks: Arc<Acks>,
}

impl Client {
    fn new(cluster: &DockerCluster, client_id: &str) -> Self {
        let acks = Arc::new(Acks::default());
        let observer: Arc<dyn ClientObserver> = Arc::<Acks>::clone(&acks);
        let producer = Producer::start(ProducerConfig::default(), cluster.load_bootstrap(), client_id, Clock::real(), 1, observer);
        Self { producer, acks }
    }

    /// Sends a record; how long its acknowledgement took, if it came in time.
    async fn send(&self, within: Duration) -> Option<Duration> {
        let (clock, topic, before) = (Clock::real(), TopicName::from("orders"), self.acks.0.load(Ordering::Relaxed));
        let sent_at = clock.now();
        let timestamp_ms = i64::try_from(clock.unix_time_of(sent_at).as_millis()).unwrap();
        let record = Record { topic: &topic, partition: None, key: None, value: b"x", timestamp_ms, mark: 0, number: 0 };
        self.producer.send(&record).await.unwrap();
        let acknowledged = async {
            while self.acks.0.load(Ordering::Relaxed) == before {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(within, acknowledged).await.ok().map(|()| clock.now().since(sent_at))
    }
}

async fn clients_come_through_the_relay(cluster: &DockerCluster, relay: &Relay) {
    let (hurt, other) = (Client::new(cluster, "hurt-0"), Client::new(cluster, "other-0"));
    let soon = Duration::from_secs(10);
    assert!(hurt.send(soon).await.is_some() && other.send(soon).await.is_some(), "both are warm");

    relay.set(&[LEADER], Some("hurt"), ClientFault::BlackHole);
    assert_eq!(hurt.send(Duration::from_millis(500)).await, None);
    assert!(other.send(soon).await.is_some());
    let before = hurt.acks.0.load(Ordering::Relaxed);
    relay.set(&[LEADER], None, ClientFault::None);
    for _ in 0..1_000 {
        if hurt.acks.0.load(Ordering::Relaxed) > before {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(hurt.acks.0.load(Ordering::Relaxed) > before, "nothing is lost in a black hole");

    let delay = Duration::from_millis(60);
    relay.set(&[LEADER], None, ClientFault::Slow(Pace { delay, ..Pace::default() }));
    let took = hurt.send(soon).await.unwrap();
    assert!(took >= delay * 2, "{took:?}");
    relay.set(&[LEADER], None, ClientFault::Reset);
    assert_eq!(hurt.send(Duration::from_millis(300)).await, None);
    relay.heal();
    assert!(hurt.send(soon).await.is_some(), "reconnected");
    hurt.producer.close(soon).await;
    other.producer.close(soon).await;
}

async fn requesters_are_counted_as_the_brokers_count_them(cluster: &DockerCluster) {
    let clock = Clock::real();
    let load_start = clock.now();
    let (facts, mut source) = sink::channel(load_start, 0, 1_024);
    let context = EngineContext {
        clock: clock.clone(),
        bootstrap: cluster.load_bootstrap(),
        security: Security::plaintext(),
        load_start,
        steady: load_start,
        seed: 7,
        facts,
        ledger: Arc::new(Ledger::new(0)),
        worker: 0,
        generator: Arc::new(Generator::new()),
    };
    let group = RequesterGroup {
        name: "storm".to_owned(),
        count: 6,
        rate_per_second: 10.0,
        list: TopicList::All,
        active: Active { from: Duration::ZERO, until: Some(Duration::from_secs(1)) },
    };
    let handle = requesters::start(&[group], &cluster.load_listeners(), &context).unwrap();
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    handle.finish(Duration::from_secs(10)).await;
    let mut told = [0; 4];
    while let Some(stamped) = source.try_next() {
        let Fact::RequesterSecond(second) = stamped.fact else { continue };
        told = [told[0] + second.due, told[1] + second.sent, told[2] + second.ok, told[3] + second.response_bytes];
    }
    assert_eq!(told[..3], [60, 60, 60], "{told:?}");
    let folder = tempfile::tempdir().unwrap();
    let logs = cluster.save_logs(folder.path()).await.unwrap().logs;
    let counts = logs.iter().flat_map(|log| log.requests.as_ref().unwrap());
    let by_brokers: u64 = counts.filter(|((id, api), _)| id.starts_with("storm-") && api == "METADATA").map(|(_, count)| count).sum();
    assert_eq!(by_brokers, 60);
}

/// A kill ends two idle connections, one of them through the relay.
async fn the_end_of_a_broker_is_told_as_soon_as_without_a_relay(cluster: &DockerCluster) {
    let node = cluster.nodes().iter().find(|node| node.id == OTHER).unwrap();
    let clock = Clock::real();
    let end_of = |listener: &HostPort| {
        let (clock, port) = (clock.clone(), listener.port);
        async move {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let _ended = stream.read(&mut [0; 16]).await;
            clock.now()
        }
    };
    let direct = tokio::spawn(end_of(node.client_listener.as_ref().unwrap()));
    let relayed = tokio::spawn(end_of(node.relay_listener.as_ref().unwrap()));
    tokio::time::sleep(Duration::from_millis(300)).await;
    cluster.kill(OTHER).await.unwrap();
    ended(cluster, OTHER).await;
    let (direct, relayed) = (direct.await.unwrap(), relayed.await.unwrap());
    let later_us = relayed.micros_from(direct);
    eprintln!("a killed broker ends a connection through the relay {later_us} us after a direct one");
    assert!(later_us < 50_000, "{later_us} us");
    // Of a dead broker's port both say the same: connected, then closed.
    let _ = end_of(node.relay_listener.as_ref().unwrap()).await;
}

fn listener(nodes: &[Node], id: BrokerId) -> HostPort {
    nodes.iter().find(|node| node.id == id).unwrap().client_listener.clone().unwrap()
}

fn leader(view: &ClusterView) -> Option<BrokerId> {
    view.topics[0].partitions[0].leader
}

/// One broker's view, once it is as `is_so` wants it.
async fn view_until(admin: &Admin, broker: HostPort, topics: &[TopicName], is_so: impl Fn(&ClusterView) -> bool) -> ClusterView {
    for _ in 0..400 {
        if let Ok(view) = admin.metadata_of(&broker, Some(topics)).await
            && is_so(&view)
        {
            return view;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not within 20 s");
}
