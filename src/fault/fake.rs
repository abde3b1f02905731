//! For tests: a cluster of brokers on loopback listeners whose nodes can be hurt.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::clock::Clock;
use crate::cluster::relay::Leg;
use crate::cluster::{Cluster, ClusterError, Limits, Node, NodeState, NodeUsage, Relay};
use crate::ids::BrokerId;
use crate::kafka::admin::fake::{FakeBroker, Shared, shared};

/// Combined nodes with ids from 1; node 1 is the active controller.
#[derive(Debug)]
pub(super) struct FakeCluster {
    pub(super) state: Shared,
    nodes: Vec<Node>,
    up: Mutex<BTreeMap<BrokerId, Up>>,
    /// Nodes that are off the network; their brokers are frozen.
    off: Mutex<BTreeSet<BrokerId>>,
    /// Limits that differ from the usual ones.
    limits: Mutex<BTreeMap<BrokerId, Limits>>,
    boot: Duration,
    /// Stands before every broker, if it was asked for.
    relay: Option<Relay>,
    /// Links that are cut: from whom, to whom.
    cut: Mutex<BTreeSet<(BrokerId, BrokerId)>>,
    /// What was done, in order.
    calls: Mutex<Vec<String>>,
}

#[derive(Debug)]
enum Up {
    Running(FakeBroker),
    Paused(FakeBroker),
    Exited(i64),
    NotStarted,
}

impl FakeCluster {
    pub(super) async fn start(nodes: i32) -> Self {
        Self::start_slow(nodes, Duration::ZERO).await
    }

    /// Nodes that, started again, serve only after `boot`.
    pub(super) async fn start_slow(nodes: i32, boot: Duration) -> Self {
        let state = shared(1);
        let mut up = BTreeMap::new();
        let mut known = Vec::new();
        for id in 1..=nodes {
            let broker = FakeBroker::start(id, 0, &state).await;
            let client_listener = Some(broker.host_port());
            known.push(Node {
                id: BrokerId(id),
                is_broker: true,
                is_controller: true,
                client_listener,
                relay_listener: None,
                controller_listener: None,
                joins_later: false,
            });
            up.insert(BrokerId(id), Up::Running(broker));
        }
        let up = Mutex::new(up);
        Self {
            state,
            nodes: known,
            up,
            off: Mutex::default(),
            limits: Mutex::default(),
            boot,
            relay: None,
            cut: Mutex::default(),
            calls: Mutex::default(),
        }
    }

    /// With a relay before every broker.
    pub(super) fn with_relay(mut self) -> Self {
        let target = |node: &Node| (Ipv4Addr::LOCALHOST, node.client_listener.as_ref().unwrap().port).into();
        let legs: Vec<Leg> = self.nodes.iter().map(|node| Leg { broker: node.id, port: 0, target: target(node) }).collect();
        let relay = Relay::start(&legs, &Clock::real(), 7).unwrap();
        self.nodes.iter_mut().for_each(|node| node.relay_listener = relay.listener(node.id));
        self.relay = Some(relay);
        self
    }

    /// One more broker, which has not been started.
    pub(super) async fn with_joiner(mut self) -> Self {
        let id = self.nodes.len() as i32 + 1;
        let broker = FakeBroker::start(id, 0, &self.state).await;
        let client_listener = Some(broker.host_port());
        self.nodes.push(Node {
            id: BrokerId(id),
            is_broker: true,
            is_controller: false,
            client_listener,
            relay_listener: None,
            controller_listener: None,
            joins_later: true,
        });
        broker.stop().await;
        self.state.lock().unwrap().brokers.remove(&id);
        self.up.lock().unwrap().insert(BrokerId(id), Up::NotStarted);
        self
    }

    /// Replicas of a topic's partitions; the first leads.
    pub(super) fn topic(&self, name: &str, partitions: &[&[i32]]) {
        let partitions = partitions.iter().map(|replicas| replicas.to_vec()).collect();
        self.state.lock().unwrap().topics.insert(name.to_owned(), partitions);
    }

    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    fn called(&self, call: &str, node: BrokerId) -> MutexGuard<'_, BTreeMap<BrokerId, Up>> {
        self.calls.lock().unwrap().push(format!("{call} {node}"));
        self.up.lock().unwrap()
    }

    fn end(&self, call: &str, node: BrokerId, code: i64) -> BoxFuture<'_, Result<(), ClusterError>> {
        let ended = self.called(call, node).insert(node, Up::Exited(code));
        Box::pin(async move {
            if let Some(Up::Running(broker) | Up::Paused(broker)) = ended {
                broker.stop().await;
            }
            Ok(())
        })
    }

    fn freeze(&self, call: &str, node: BrokerId, is_frozen: bool) -> BoxFuture<'_, Result<(), ClusterError>> {
        let mut up = self.called(call, node);
        if let Some(Up::Running(broker) | Up::Paused(broker)) = up.remove(&node) {
            broker.freeze(is_frozen);
            up.insert(node, if is_frozen { Up::Paused(broker) } else { Up::Running(broker) });
        }
        Box::pin(async { Ok(()) })
    }

    fn link(&self, call: &str, node: BrokerId, is_connected: bool) -> BoxFuture<'_, Result<(), ClusterError>> {
        if let Some(Up::Running(broker)) = self.called(call, node).get(&node) {
            broker.freeze(!is_connected);
        }
        let mut off = self.off.lock().unwrap();
        if is_connected {
            off.remove(&node)
        } else {
            off.insert(node)
        };
        Box::pin(async { Ok(()) })
    }
}

impl Cluster for FakeCluster {
    fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    fn kill(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.end("kill", node, 137)
    }

    fn stop(&self, node: BrokerId, _grace: Duration) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.end("stop", node, 143)
    }

    fn start(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        drop(self.called("start", node));
        Box::pin(async move {
            let listener = self.nodes.iter().find(|known| known.id == node).and_then(|known| known.client_listener.clone()).unwrap();
            let broker = FakeBroker::start(node.0, listener.port, &self.state).await;
            // It is there but does not serve before it has booted.
            broker.freeze_for(self.boot);
            self.up.lock().unwrap().insert(node, Up::Running(broker));
            Ok(())
        })
    }

    fn pause(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.freeze("pause", node, true)
    }

    fn unpause(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.freeze("unpause", node, false)
    }

    fn disconnect(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.link("disconnect", node, false)
    }

    fn connect(&self, node: BrokerId) -> BoxFuture<'_, Result<(), ClusterError>> {
        self.link("connect", node, true)
    }

    fn is_connected(&self, node: BrokerId) -> BoxFuture<'_, Result<bool, ClusterError>> {
        let is_connected = !self.off.lock().unwrap().contains(&node);
        Box::pin(async move { Ok(is_connected) })
    }

    fn usual_limits(&self) -> Limits {
        Limits { cpu_thousandths: None, memory_bytes: Some(768 << 20) }
    }

    fn limits(&self, node: BrokerId) -> BoxFuture<'_, Result<Limits, ClusterError>> {
        let limits = self.limits.lock().unwrap().get(&node).copied().unwrap_or(self.usual_limits());
        Box::pin(async move { Ok(limits) })
    }

    fn limit(&self, node: BrokerId, limits: Limits) -> BoxFuture<'_, Result<(), ClusterError>> {
        drop(self.called(&format!("limit to {limits}:"), node));
        self.limits.lock().unwrap().insert(node, limits);
        Box::pin(async { Ok(()) })
    }

    fn state(&self, node: BrokerId) -> BoxFuture<'_, Result<NodeState, ClusterError>> {
        let state = match self.up.lock().unwrap().get(&node) {
            None => NodeState::Absent,
            Some(Up::Running(_)) if self.off.lock().unwrap().contains(&node) => NodeState::Disconnected,
            Some(Up::Running(_)) => NodeState::Running,
            Some(Up::Paused(_)) => NodeState::Paused,
            Some(Up::NotStarted) => NodeState::NotStarted,
            Some(Up::Exited(code)) => NodeState::Exited { code: *code },
        };
        Box::pin(async move { Ok(state) })
    }

    fn relay(&self) -> Option<&Relay> {
        self.relay.as_ref()
    }

    fn cut_links<'a>(&'a self, from: BrokerId, to: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>> {
        self.calls.lock().unwrap().push(format!("cut {from} -> {}", crate::fault::text::nodes(to)));
        self.cut.lock().unwrap().extend(to.iter().map(|to| (from, *to)));
        Box::pin(async { Ok(()) })
    }

    fn mend_links<'a>(&'a self, from: BrokerId, to: &'a [BrokerId]) -> BoxFuture<'a, Result<(), ClusterError>> {
        self.calls.lock().unwrap().push(format!("mend {from} -> {}", crate::fault::text::nodes(to)));
        self.cut.lock().unwrap().retain(|(cut_from, cut_to)| *cut_from != from || !to.contains(cut_to));
        Box::pin(async { Ok(()) })
    }

    fn links_cut(&self, from: BrokerId) -> BoxFuture<'_, Result<Vec<BrokerId>, ClusterError>> {
        let cut = self.cut.lock().unwrap().iter().filter(|(cut_from, _)| *cut_from == from).map(|(_, to)| *to).collect();
        Box::pin(async move { Ok(cut) })
    }

    fn usage(&self, _node: BrokerId) -> BoxFuture<'_, Result<NodeUsage, ClusterError>> {
        Box::pin(async { Ok(NodeUsage::default()) })
    }

    fn logs(&self, _node: BrokerId) -> BoxFuture<'_, Result<Vec<u8>, ClusterError>> {
        Box::pin(async { Ok(vec![]) })
    }
}
