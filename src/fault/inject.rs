//! Hands: executes one primitive.
//!
//! A primitive that would change nothing is not done: the engine's word decides for nodes, the controller's for topics. Where only brokers
//! can be asked, theirs counts if it stays the same for a while: a broker's view may lag behind a change that was just acknowledged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout_at;

use super::event::Outcome;
use super::guard::Guards;
use super::primitive::{NodeAct, Primitive, Trace};
use super::text;
use super::watch::running_brokers;
use crate::clock::Clock;
use crate::cluster::{Cluster, ClusterError, Limits, NodeState, Relay};
use crate::ids::{BrokerId, HostPort, TopicId, TopicName};
use crate::kafka::admin::{Admin, AdminError, ErrorCode, NewTopic, Placement};
use crate::plan::model::{ClientFault, LimitChange, LinkAct, Replication, TopicSpec};

/// Longest wait for the engine, on top of a stop's grace.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(60);

/// By so much the view of a broker that is well may lag behind the controller.
const LAG_MAX: Duration = Duration::from_secs(2);
/// Pause between two looks at such a view.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What Kafka says where there is nothing to change.
const ABSENT: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
const EXISTS: ErrorCode = ErrorCode::TOPIC_ALREADY_EXISTS;
const DOES_NOT_GROW: ErrorCode = ErrorCode::INVALID_PARTITIONS;

/// Acts on one cluster.
#[derive(Clone, Debug)]
pub(super) struct Hands {
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) admin: Arc<Admin>,
    pub(super) guards: Arc<Guards>,
    pub(super) clock: Clock,
    /// Ids of topics that recreating has deleted, by their name.
    pub(super) gone: Arc<Mutex<BTreeMap<TopicName, Vec<TopicId>>>>,
}

impl Hands {
    /// Whether the primitive makes sense now; nothing is changed.
    pub(super) async fn check(&self, primitive: &Primitive) -> Result<(), Outcome> {
        match primitive {
            Primitive::Node { act: act @ (NodeAct::Disconnect | NodeAct::Connect), node } => {
                check_link(*act, *node, self.answer(self.cluster.is_connected(*node)).await?)
            }
            Primitive::Node { act: NodeAct::Limit(change), node } => {
                let now = self.answer(self.cluster.limits(*node)).await?;
                check_limits(*change, *node, now, self.cluster.usual_limits())
            }
            Primitive::Node { act, node } => check_state(*act, *node, self.answer(self.cluster.state(*node)).await?),
            Primitive::ClientLink { to, group, fault } => {
                if self.relay()?.is_so(to, group.as_deref(), *fault) {
                    return Err(Outcome::NoOp(format!("the links between these clients and broker {} are so already", text::nodes(to))));
                }
                Ok(())
            }
            Primitive::NodeLink { act, from, to } => {
                check_links(*act, *from, &self.others(*from, to), &self.answer(self.cluster.links_cut(*from)).await?)
            }
            _ => Ok(()),
        }
    }

    /// Looks for something to do. A broker's view may lag behind a change that was just acknowledged, so "nothing" counts only if it stays so.
    pub(super) async fn to_do<T, F, L>(&self, mut look: F) -> Result<Option<T>, Outcome>
    where
        F: FnMut() -> L,
        L: Future<Output = Result<Option<T>, Outcome>>,
    {
        let give_up_at = self.clock.now() + LAG_MAX;
        loop {
            if let Some(found) = look().await? {
                return Ok(Some(found));
            }
            if self.clock.now() >= give_up_at {
                return Ok(None);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The engine's answer, within a bound.
    async fn answer<T>(&self, asked: BoxFuture<'_, Result<T, ClusterError>>) -> Result<T, Outcome> {
        let answer = timeout_at(self.clock.instant_of(self.clock.now() + ENGINE_TIMEOUT), asked).await;
        answer.map_err(|_| Outcome::Failed(unanswered(ENGINE_TIMEOUT)))?.map_err(|error| Outcome::Failed(error.to_string()))
    }

    /// Running brokers with the listener to ask them at.
    pub(super) async fn running_brokers(&self) -> Result<Vec<(BrokerId, &HostPort)>, Outcome> {
        self.answer(running_brokers(&*self.cluster).boxed()).await
    }

    /// Those that a link's step means by `to`, in order.
    fn others(&self, from: BrokerId, to: &[BrokerId]) -> Vec<BrokerId> {
        let all = self.cluster.nodes().iter().map(|node| node.id);
        if to.is_empty() { all.filter(|node| *node != from).collect() } else { to.to_vec() }
    }

    /// Does it; returns when it is acknowledged.
    pub(super) async fn act(&self, primitive: &Primitive) -> Result<Trace, Outcome> {
        let done = match primitive {
            Primitive::RecreateTopic { topic, shape } => return self.recreate(topic, shape).await,
            Primitive::ElectLeaders { topic, partition, election } => return self.elect(topic, *partition, *election).await,
            Primitive::Reassign { topic, to, .. } => return self.reassign(topic, to).await,
            Primitive::ConfigureTopic { topic, change } => self.configure_topic(topic, change).await,
            Primitive::ConfigureBroker { broker, change } => self.configure_broker(*broker, change).await,
            Primitive::Node { act, node } => self.act_on_node(*act, *node).await,
            Primitive::ClientLink { to, group, fault } => self.act_on_client_links(to, group.as_deref(), *fault),
            Primitive::NodeLink { act, from, to } => self.act_on_links(*act, *from, &self.others(*from, to)).await,
            Primitive::AddPartitions { topic, to } => changed(self.admin.create_partitions(topic, *to).await, DOES_NOT_GROW),
            Primitive::CreateTopic(topic) => changed(self.admin.create_topics(&[new_topic(topic)]).await, EXISTS),
            Primitive::DeleteTopic(topic) => changed(self.delete(topic).await, ABSENT),
            Primitive::Wait { .. } => Ok(()),
        };
        done.map(|()| Trace::Nothing)
    }

    async fn delete(&self, topic: &TopicName) -> Result<(), AdminError> {
        let id = self.admin.delete_topic(topic).await?;
        self.is_gone(topic, id);
        Ok(())
    }

    async fn act_on_node(&self, act: NodeAct, node: BrokerId) -> Result<(), Outcome> {
        self.guards.before(act, node);
        let (call, bound) = match act {
            NodeAct::Kill => (self.cluster.kill(node), ENGINE_TIMEOUT),
            NodeAct::Stop(grace) => (self.cluster.stop(node, grace), grace + ENGINE_TIMEOUT),
            NodeAct::Start | NodeAct::Add => (self.cluster.start(node), ENGINE_TIMEOUT),
            NodeAct::Pause => (self.cluster.pause(node), ENGINE_TIMEOUT),
            NodeAct::Unpause => (self.cluster.unpause(node), ENGINE_TIMEOUT),
            NodeAct::Disconnect => (self.cluster.disconnect(node), ENGINE_TIMEOUT),
            NodeAct::Connect => (self.cluster.connect(node), ENGINE_TIMEOUT),
            NodeAct::Limit(change) => (self.limit(node, change).boxed(), ENGINE_TIMEOUT),
        };
        match timeout_at(self.clock.instant_of(self.clock.now() + bound), call).await {
            Ok(done) => {
                self.guards.after(act, node, done.is_ok());
                done.map_err(|error| Outcome::Failed(error.to_string()))
            }
            // It may still take effect: the guard stays.
            Err(_) => Err(Outcome::Failed(unanswered(bound))),
        }
    }

    fn act_on_client_links(&self, to: &[BrokerId], group: Option<&str>, fault: ClientFault) -> Result<(), Outcome> {
        let relay = self.relay()?;
        self.guards.before_client_links();
        relay.set(to, group, fault);
        if relay.is_whole() {
            self.guards.client_links_whole();
        }
        Ok(())
    }

    fn relay(&self) -> Result<&Relay, Outcome> {
        self.cluster.relay().ok_or_else(|| Outcome::Failed("this cluster was started without a relay before its brokers".to_owned()))
    }

    async fn limit(&self, node: BrokerId, change: LimitChange) -> Result<(), ClusterError> {
        let now = self.cluster.limits(node).await?;
        self.cluster.limit(node, now.after(change, self.cluster.usual_limits())).await
    }

    async fn act_on_links(&self, act: LinkAct, from: BrokerId, to: &[BrokerId]) -> Result<(), Outcome> {
        match act {
            LinkAct::Cut => {
                // An attempt that failed may have cut some of them: the guard stays.
                self.guards.before_cut(from, to);
                self.answer(self.cluster.cut_links(from, to)).await
            }
            LinkAct::Mend => {
                self.answer(self.cluster.mend_links(from, to)).await?;
                self.guards.mended(from, to);
                Ok(())
            }
        }
    }
}

/// A request that failed.
impl From<AdminError> for Outcome {
    fn from(error: AdminError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn unanswered(bound: Duration) -> String {
    format!("the container engine did not answer within {bound:?}")
}

fn check_state(act: NodeAct, node: BrokerId, state: NodeState) -> Result<(), Outcome> {
    match (act, state) {
        (NodeAct::Add, NodeState::NotStarted) => Ok(()),
        (NodeAct::Add, _) => Err(Outcome::NoOp(format!("node {node} has joined before"))),
        (_, NodeState::NotStarted) => Err(Outcome::Failed(format!("node {node} has not joined the cluster"))),
        (_, NodeState::Absent) => Err(Outcome::Failed(format!("node {node} has no container"))),
        (NodeAct::Kill | NodeAct::Stop(_) | NodeAct::Pause, NodeState::Running | NodeState::Disconnected)
        | (NodeAct::Start, NodeState::Exited { .. })
        | (NodeAct::Unpause, NodeState::Paused) => Ok(()),
        (_, NodeState::Running | NodeState::Disconnected) => Err(Outcome::NoOp(format!("node {node} is running"))),
        (_, NodeState::Paused) => Err(Outcome::NoOp(format!("node {node} is paused"))),
        (_, NodeState::Exited { code }) => Err(Outcome::NoOp(format!("node {node} is not running (exit code {code})"))),
    }
}

fn check_link(act: NodeAct, node: BrokerId, is_connected: bool) -> Result<(), Outcome> {
    match (act, is_connected) {
        (NodeAct::Connect, true) => Err(Outcome::NoOp(format!("node {node} is on its network"))),
        (NodeAct::Disconnect, false) => Err(Outcome::NoOp(format!("node {node} is off its network"))),
        _ => Ok(()),
    }
}

fn check_limits(change: LimitChange, node: BrokerId, now: Limits, usual: Limits) -> Result<(), Outcome> {
    if now.after(change, usual) == now { Err(Outcome::NoOp(format!("node {node} may use {now} already"))) } else { Ok(()) }
}

/// Whether something would change: a link between `from` and one of these is not yet as it shall be.
fn check_links(act: LinkAct, from: BrokerId, to: &[BrokerId], cut: &[BrokerId]) -> Result<(), Outcome> {
    let (is_done, state) = match act {
        LinkAct::Cut => (to.iter().all(|node| cut.contains(node)), "is cut off from"),
        LinkAct::Mend => (!to.iter().any(|node| cut.contains(node)), "reaches"),
    };
    if is_done { Err(Outcome::NoOp(format!("node {from} {state} node {} already", text::nodes(to)))) } else { Ok(()) }
}

/// A topic's change; `no_op` is Kafka's word for "there is nothing to change".
fn changed(result: Result<(), AdminError>, no_op: ErrorCode) -> Result<(), Outcome> {
    result.map_err(|error| if error.code() == Some(no_op) { Outcome::NoOp(error.to_string()) } else { Outcome::from(error) })
}

fn new_topic(topic: &TopicSpec) -> NewTopic {
    let placement = match &topic.replication {
        Replication::Factor(factor) => Placement::Counted { partitions: topic.partitions, replication_factor: *factor },
        Replication::Assignment(replicas) => Placement::Assigned(replicas.clone()),
    };
    NewTopic { name: topic.name.clone(), placement, config: topic.config.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_that_would_change_nothing_is_a_no_op() {
        let exited = NodeState::Exited { code: 137 };
        let stop = NodeAct::Stop(Duration::from_secs(1));
        let rows = [
            (NodeAct::Kill, [true, false, false]),
            (stop, [true, false, false]),
            (NodeAct::Pause, [true, false, false]),
            (NodeAct::Start, [false, false, true]),
            (NodeAct::Unpause, [false, true, false]),
            (NodeAct::Add, [false, false, false]),
        ];
        for (act, allowed) in rows {
            for (state, is_allowed) in [NodeState::Running, NodeState::Paused, exited].into_iter().zip(allowed) {
                let checked = check_state(act, BrokerId(2), state);
                assert_eq!(checked.is_ok(), is_allowed, "{act:?} of a node that is {state:?}");
                assert!(is_allowed || matches!(checked, Err(Outcome::NoOp(_))));
            }
            for state in [NodeState::Absent, NodeState::NotStarted] {
                assert!(act == NodeAct::Add || matches!(check_state(act, BrokerId(2), state), Err(Outcome::Failed(_))));
            }
        }
        assert_eq!(check_state(NodeAct::Add, BrokerId(2), NodeState::NotStarted), Ok(()));
    }
}
