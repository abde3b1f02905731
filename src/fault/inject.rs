//! Hands: executes one primitive.
//!
//! A primitive that would change nothing is not done: the engine's word decides for nodes, the controller's for topics (a broker's view may
//! lag behind a change that was just acknowledged).

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::timeout_at;

use super::event::Outcome;
use super::guard::Guards;
use super::primitive::{NodeAct, Primitive};
use crate::clock::Clock;
use crate::cluster::{Cluster, ClusterError, NodeState};
use crate::ids::BrokerId;
use crate::kafka::admin::{Admin, AdminError, ErrorCode, NewTopic, Placement};
use crate::plan::model::{Replication, TopicSpec};

/// Longest wait for the engine, on top of a stop's grace.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(60);

/// UNKNOWN_TOPIC_OR_PARTITION, TOPIC_ALREADY_EXISTS and INVALID_PARTITIONS.
const ABSENT: ErrorCode = ErrorCode::UNKNOWN_TOPIC_OR_PARTITION;
const EXISTS: ErrorCode = ErrorCode(36);
const DOES_NOT_GROW: ErrorCode = ErrorCode(37);

/// Acts on one cluster.
#[derive(Clone, Debug)]
pub(super) struct Hands {
    pub(super) cluster: Arc<dyn Cluster>,
    pub(super) admin: Arc<Admin>,
    pub(super) guards: Arc<Guards>,
    pub(super) clock: Clock,
}

impl Hands {
    /// Whether the primitive makes sense now; nothing is changed.
    pub(super) async fn check(&self, primitive: &Primitive) -> Result<(), Outcome> {
        let Primitive::Node { act, node } = primitive else { return Ok(()) };
        match act {
            NodeAct::Disconnect | NodeAct::Connect => check_link(*act, *node, self.answer(self.cluster.is_connected(*node)).await?),
            _ => check_state(*act, *node, self.answer(self.cluster.state(*node)).await?),
        }
    }

    /// The engine's answer to a question, within a bound.
    async fn answer<T>(&self, asked: BoxFuture<'_, Result<T, ClusterError>>) -> Result<T, Outcome> {
        let answer = timeout_at(self.clock.instant_of(self.clock.now() + ENGINE_TIMEOUT), asked).await;
        answer.map_err(|_| Outcome::Failed(unanswered(ENGINE_TIMEOUT)))?.map_err(|error| Outcome::Failed(error.to_string()))
    }

    /// Does it; returns when it is acknowledged.
    pub(super) async fn act(&self, primitive: &Primitive) -> Result<(), Outcome> {
        match primitive {
            Primitive::Node { act, node } => self.act_on_node(*act, *node).await,
            Primitive::AddPartitions { topic, to } => changed(self.admin.create_partitions(topic, *to).await, DOES_NOT_GROW),
            Primitive::CreateTopic(topic) => changed(self.admin.create_topics(&[new_topic(topic)]).await, EXISTS),
            Primitive::DeleteTopic(topic) => changed(self.admin.delete_topics(std::slice::from_ref(topic)).await, ABSENT),
            Primitive::Wait { .. } => Ok(()),
        }
    }

    async fn act_on_node(&self, act: NodeAct, node: BrokerId) -> Result<(), Outcome> {
        self.guards.before(act, node);
        let (call, bound) = match act {
            NodeAct::Kill => (self.cluster.kill(node), ENGINE_TIMEOUT),
            NodeAct::Stop(grace) => (self.cluster.stop(node, grace), grace + ENGINE_TIMEOUT),
            NodeAct::Start => (self.cluster.start(node), ENGINE_TIMEOUT),
            NodeAct::Pause => (self.cluster.pause(node), ENGINE_TIMEOUT),
            NodeAct::Unpause => (self.cluster.unpause(node), ENGINE_TIMEOUT),
            NodeAct::Disconnect => (self.cluster.disconnect(node), ENGINE_TIMEOUT),
            NodeAct::Connect => (self.cluster.connect(node), ENGINE_TIMEOUT),
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
}

fn unanswered(bound: Duration) -> String {
    format!("the container engine did not answer within {bound:?}")
}

fn check_state(act: NodeAct, node: BrokerId, state: NodeState) -> Result<(), Outcome> {
    match (act, state) {
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

/// A topic's change; `no_op` is Kafka's word for "there is nothing to change".
fn changed(result: Result<(), AdminError>, no_op: ErrorCode) -> Result<(), Outcome> {
    result.map_err(|error| if error.code() == Some(no_op) { Outcome::NoOp(error.to_string()) } else { Outcome::Failed(error.to_string()) })
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
        ];
        for (act, allowed) in rows {
            for (state, is_allowed) in [NodeState::Running, NodeState::Paused, exited].into_iter().zip(allowed) {
                let checked = check_state(act, BrokerId(2), state);
                assert_eq!(checked.is_ok(), is_allowed, "{act:?} of a node that is {state:?}");
                assert!(is_allowed || matches!(checked, Err(Outcome::NoOp(_))));
            }
            assert!(matches!(check_state(act, BrokerId(2), NodeState::Absent), Err(Outcome::Failed(_))));
        }
    }
}
