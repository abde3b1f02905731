use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;
use crate::cluster::{ClusterError, Limits};
use crate::ids::HostPort;
use crate::kafka::admin::fake::{FakeBroker, shared};
use crate::kafka::admin::{Security, Traffic};
use crate::probe::WatchedTopic;
use crate::record::sink::{self, FactSource};

/// Nodes that only can be looked at; the engine never answers for those without a state.
#[derive(Debug)]
struct Seen(Vec<Node>, Vec<Option<NodeState>>);

impl Seen {
    fn new(nodes: impl IntoIterator<Item = (Option<NodeState>, Option<HostPort>)>) -> Self {
        let node = |(id, (state, client_listener))| {
            let node = Node {
                id: BrokerId(id),
                is_broker: true,
                is_controller: true,
                client_listener,
                relay_listener: None,
                controller_listener: None,
                joins_later: false,
            };
            (node, state)
        };
        let (nodes, states) = (1..).zip(nodes).map(node).unzip();
        Self(nodes, states)
    }
}

fn probe(topics: Vec<WatchedTopic>, clock: &Clock) -> BrokerProbe {
    BrokerProbe::new(topics, WITHIN, &Security::plaintext(), clock.clone(), Traffic::default())
}

fn never<T: Send + 'static>() -> BoxFuture<'static, Result<T, ClusterError>> {
    std::future::pending().boxed()
}

impl Cluster for Seen {
    fn nodes(&self) -> &[Node] {
        &self.0
    }
    fn kill(&self, _: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn stop(&self, _: BrokerId, _: Duration) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn start(&self, _: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn pause(&self, _: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn unpause(&self, _: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn disconnect(&self, _: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn connect(&self, _: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn is_connected(&self, _: BrokerId) -> BoxFuture<'_, Result<bool, ClusterError>> {
        never()
    }
    fn usual_limits(&self) -> Limits {
        Limits { cpu_thousandths: None, memory_bytes: None }
    }
    fn limits(&self, _: BrokerId) -> BoxFuture<'_, Result<Limits, ClusterError>> {
        never()
    }
    fn limit(&self, _: BrokerId, _: Limits) -> BoxFuture<'_, Result<(), ClusterError>> {
        never()
    }
    fn state(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeState, ClusterError>> {
        let index = usize::try_from(node.0 - 1).unwrap();
        self.1[index].map_or_else(never, |state| async move { Ok(state) }.boxed())
    }
    fn relay(&self) -> Option<&crate::cluster::Relay> {
        None
    }
    fn cut_links<'a>(&'a self, _: BrokerId, _: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>> {
        never()
    }
    fn mend_links<'a>(&'a self, _: BrokerId, _: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>> {
        never()
    }
    fn links_cut(&self, _: BrokerId) -> BoxFuture<'_, Result<Vec<BrokerId>, ClusterError>> {
        never()
    }
    fn usage(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeUsage, ClusterError>> {
        let memory_bytes = u64::try_from(node.0).ok();
        async move { Ok(NodeUsage { memory_bytes, ..NodeUsage::default() }) }.boxed()
    }
    fn logs(&self, _: BrokerId) -> BoxFuture<'_, Result<Vec<u8>, ClusterError>> {
        never()
    }
}

/// Second, node, state, memory, and how many partitions it leads.
type Row = (i64, i32, Option<String>, Option<u64>, Option<u64>);

async fn next(source: &mut FactSource) -> Row {
    let Some(Fact::Broker(seen)) = source.next().await.map(|stamped| stamped.fact) else { panic!("no look") };
    let memory = seen.usage.and_then(|usage| usage.memory_bytes);
    (seen.second, seen.node.0, seen.state, memory, seen.led.map(|led| led.leaders))
}

#[tokio::test]
async fn each_node_has_a_row_and_none_waits_for_another() {
    let state = shared(1);
    state.lock().unwrap().topics.insert("orders".into(), vec![vec![1], vec![1]]);
    let broker = FakeBroker::start(1, 0, &state).await;
    let listener = || Some(broker.host_port());
    let (running, paused, exited) = (NodeState::Running, NodeState::Paused, NodeState::Exited { code: 137 });
    let cluster = Seen::new([
        (Some(running), listener()),
        (Some(paused), listener()),
        (Some(exited), listener()),
        (Some(running), None),
        (None, listener()),
    ]);
    let clock = Clock::real();
    let (facts, mut source) = sink::channel(clock.now() + Duration::from_millis(50), 0, 64);
    let probe = probe(vec![WatchedTopic { name: "orders".into(), probed: 0 }], &clock);
    let watch = watch(Arc::new(cluster), probe, clock, facts);
    let named = |name: &str| Some(name.to_owned());
    let expected = [
        (-1, 1, named("running"), Some(1), Some(2)),
        (-1, 2, named("paused"), Some(2), None),
        (-1, 3, named("exited"), None, None),
        (-1, 4, named("running"), Some(4), None),
        (-1, 5, None, None, None),
    ];
    for row in expected {
        assert_eq!(next(&mut source).await, row);
    }
    drop(watch);
    let asked = state.lock().unwrap().asked.len();
    assert_eq!(asked, 2, "only the one that runs was connected to, and asked");
}

#[tokio::test(start_paused = true)]
async fn a_second_that_was_slept_through_has_a_row_without_figures() {
    let clock = Clock::real();
    let (facts, mut source) = sink::channel(clock.now() + Duration::from_millis(500), 0, 64);
    let cluster = Seen::new([(Some(NodeState::Absent), None)]);
    let _watch = watch(Arc::new(cluster), probe(Vec::new(), &clock), clock, facts);
    let absent = Some("absent".to_owned());
    assert_eq!(next(&mut source).await, (-1, 1, absent.clone(), None, None));
    tokio::time::advance(Duration::from_secs(3)).await;
    for (second, state) in [(0, None), (1, None), (2, absent.clone()), (3, absent)] {
        assert_eq!(next(&mut source).await, (second, 1, state, None, None));
    }
}
