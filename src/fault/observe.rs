//! Confirms from outside that a primitive took effect, and says when.
//!
//! "Acknowledged" is what the engine or one broker says of itself; "observed" is what everybody else can see.

use std::time::Duration;

use futures_util::future::join_all;

use super::primitive::{NodeAct, Primitive, Trace};
use super::watch::{Look, Watch};
use crate::clock::Moment;
use crate::cluster::{Node, NodeState};
use crate::ids::{BrokerId, HostPort, TopicName};
use crate::kafka::admin::ClusterView;
use crate::plan::model::LinkAct;

/// Pause between two looks.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Watch {
    /// Waits until `primitive` shows from outside: when, and what was seen. Else why it does not.
    pub(super) async fn confirm(&self, primitive: &Primitive, trace: &Trace, within: Duration) -> Result<(Moment, String), String> {
        match primitive {
            Primitive::RecreateTopic { topic, .. } | Primitive::ElectLeaders { topic, .. } => {
                self.confirm_trace(topic, trace, within).await
            }
            Primitive::Reassign { topic, within, .. } => self.confirm_trace(topic, trace, *within).await,
            Primitive::ConfigureTopic { topic, change } => self.topic_is_configured(topic, change, within).await,
            Primitive::ConfigureBroker { broker, change } => self.broker_is_configured(*broker, change, within).await,
            Primitive::Node { act, node } => {
                let node =
                    self.cluster.nodes().iter().find(|known| known.id == *node).ok_or_else(|| format!("node {node} does not exist"))?;
                self.until(LOOK_EVERY, within, || self.look_at_node(*act, node)).await
            }
            Primitive::ClientLink { to, group, fault } => {
                self.until(LOOK_EVERY, within, || self.look_at_client_links(to, group.as_deref(), *fault)).await
            }
            Primitive::NodeLink { act, from, to } => self.until(LOOK_EVERY, within, || self.look_at_links(*act, *from, to)).await,
            Primitive::AddPartitions { topic, to } => self.topic_is_shown(topic, *to, within).await,
            Primitive::CreateTopic(spec) => self.topic_is_shown(&spec.name, spec.partitions, within).await,
            Primitive::DeleteTopic(topic) => {
                self.until(LOOK_EVERY, within, || self.look_at_topic(topic, |view| is_gone(topic, view))).await
            }
            // A wait is over when its condition was seen: there is nothing left to confirm.
            Primitive::Wait { .. } => Ok((self.clock.now(), String::new())),
        }
    }

    async fn confirm_trace(&self, topic: &TopicName, trace: &Trace, within: Duration) -> Result<(Moment, String), String> {
        match trace {
            Trace::Elected(before) => self.elected(topic, before, within).await,
            Trace::Moving(moving) => self.moved(topic, moving, within).await,
            Trace::Recreated { gone, partitions } => self.recreated(topic, gone, *partitions, within).await,
            Trace::Nothing => Ok((self.clock.now(), String::new())),
        }
    }

    async fn topic_is_shown(&self, topic: &TopicName, partitions: u32, within: Duration) -> Result<(Moment, String), String> {
        self.until(LOOK_EVERY, within, || self.look_at_topic(topic, |view| is_shown(topic, partitions, view))).await
    }

    async fn look_at_node(&self, act: NodeAct, node: &Node) -> Look<String> {
        if matches!(act, NodeAct::Disconnect | NodeAct::Connect) {
            return self.look_at_link(act, node).await;
        }
        if let NodeAct::Limit(change) = act {
            return match self.cluster.limits(node.id).await {
                Ok(now) if now.after(change, self.cluster.usual_limits()) == now => Look::Seen(format!("the engine says {now}")),
                Ok(now) => Look::NotYet(format!("the engine says {now}")),
                Err(error) => Look::NotYet(error.to_string()),
            };
        }
        let state = match self.cluster.state(node.id).await {
            Ok(state) => state,
            Err(error) => return Look::NotYet(error.to_string()),
        };
        match (act, state) {
            (NodeAct::Kill | NodeAct::Stop(_), NodeState::Exited { code }) => self.is_silent(node, format!("exit code {code}")).await,
            (NodeAct::Kill | NodeAct::Stop(_), NodeState::Absent) => self.is_silent(node, "its container is gone".to_owned()).await,
            (NodeAct::Start | NodeAct::Add, NodeState::Exited { code }) => {
                Look::Never(format!("its process ended before it served (exit code {code})"))
            }
            // Brokers list those alone that are registered and not fenced.
            (NodeAct::Add, NodeState::Running) => {
                let joined =
                    |view: &ClusterView| if view.lists(node.id) { Ok(()) } else { Err(format!("does not list broker {}", node.id)) };
                self.look_at_views(Some(&[]), |_, view| joined(view)).await
            }
            (NodeAct::Start | NodeAct::Unpause, NodeState::Running) => self.serves(node).await,
            (NodeAct::Start | NodeAct::Unpause, NodeState::Disconnected) => {
                Look::Seen("the engine says running, off its network".to_owned())
            }
            (NodeAct::Pause, NodeState::Paused) => Look::Seen("the engine says paused".to_owned()),
            (_, state) => Look::NotYet(format!("the engine says {state:?}")),
        }
    }

    /// Whether a node is on its network or off it; who can serve there does.
    async fn look_at_link(&self, act: NodeAct, node: &Node) -> Look<String> {
        let is_connected = match self.cluster.is_connected(node.id).await {
            Ok(is_connected) => is_connected,
            Err(error) => return Look::NotYet(error.to_string()),
        };
        match (act, is_connected) {
            (NodeAct::Disconnect, false) => self.is_silent(node, "the engine says off its network".to_owned()).await,
            (NodeAct::Connect, true) => match self.cluster.state(node.id).await {
                Ok(NodeState::Running) => self.serves(node).await,
                Ok(_) => Look::Seen("the engine says on its network".to_owned()),
                Err(error) => Look::NotYet(error.to_string()),
            },
            _ => Look::NotYet(format!("the engine says {} its network", if is_connected { "on" } else { "off" })),
        }
    }

    /// By the word of the sender's own kernel, which is asked for the way that a packet would take.
    async fn look_at_links(&self, act: LinkAct, from: BrokerId, to: &[BrokerId]) -> Look<String> {
        let cut = match self.cluster.links_cut(from).await {
            Ok(cut) => cut,
            Err(error) => return Look::NotYet(error.to_string()),
        };
        let others = self.cluster.nodes().iter().map(|node| node.id).filter(|node| *node != from);
        let meant: Vec<BrokerId> = others.filter(|node| to.is_empty() || to.contains(node)).collect();
        let nodes = super::text::nodes(&meant);
        match (act, meant.iter().filter(|node| cut.contains(node)).count()) {
            (LinkAct::Cut, count) if count == meant.len() => Look::Seen(format!("node {from} has no way to node {nodes}")),
            (LinkAct::Mend, 0) => Look::Seen(format!("node {from} has a way to node {nodes}")),
            (_, count) => Look::NotYet(format!("node {from} has no way to {count} of {} nodes", meant.len())),
        }
    }

    /// The process has ended, or nobody reaches it; does its listener keep quiet too?
    async fn is_silent(&self, node: &Node, detail: String) -> Look<String> {
        let Some(listener) = listener_of(node) else { return Look::Seen(detail) };
        match self.probe.api_versions(&listener).await {
            Ok(_) => Look::NotYet(format!("{listener} still answers")),
            Err(_) => Look::Seen(detail),
        }
    }

    async fn serves(&self, node: &Node) -> Look<String> {
        let Some(listener) = listener_of(node) else { return Look::Seen("the engine says running".to_owned()) };
        match self.probe.api_versions(&listener).await {
            Ok(_) => Look::Seen(format!("{listener} answers")),
            Err(error) => Look::NotYet(error.to_string()),
        }
    }

    /// Every running broker is asked for its own view; all must agree.
    pub(super) async fn look_at_topic(&self, topic: &TopicName, mut check: impl FnMut(&ClusterView) -> Result<(), String>) -> Look<String> {
        self.look_at_views(Some(std::slice::from_ref(topic)), |_, view| check(view)).await
    }

    /// As [`Watch::look_at_topic`], over the topics named (`None`: all); `check` is also told which brokers run.
    pub(super) async fn look_at_views(
        &self,
        topics: Option<&[TopicName]>,
        mut check: impl FnMut(&[BrokerId], &ClusterView) -> Result<(), String>,
    ) -> Look<String> {
        let running = match self.running_brokers().await {
            Ok(running) if running.is_empty() => return Look::NotYet("no broker is running".to_owned()),
            Ok(running) => running,
            Err(error) => return Look::NotYet(error.to_string()),
        };
        let ids: Vec<_> = running.iter().map(|(id, _)| *id).collect();
        let views = join_all(running.iter().map(|(_, listener)| self.probe.metadata_of(listener, topics))).await;
        for (id, view) in ids.iter().zip(views) {
            let checked = view.map_err(|error| error.to_string()).and_then(|view| check(&ids, &view));
            if let Err(why) = checked {
                return Look::NotYet(format!("broker {id}: {why}"));
            }
        }
        Look::Seen(format!("seen by broker {}", super::text::nodes(&ids)))
    }
}

/// Where a node is asked whether it serves: its clients' listener, or a dedicated controller's own.
fn listener_of(node: &Node) -> Option<HostPort> {
    node.client_listener.clone().or_else(|| node.controller_listener.map(HostPort::from))
}

fn is_shown(name: &TopicName, partitions: u32, view: &ClusterView) -> Result<(), String> {
    let topic = view.topic(name).ok_or_else(|| format!("does not show topic {name}"))?;
    // More is as good: a later step may have grown it by now.
    if topic.partitions.len() < partitions as usize {
        return Err(format!("shows {} partitions of {name} instead of {partitions}", topic.partitions.len()));
    }
    let led = topic.partitions.iter().filter(|partition| partition.leader.is_some()).count();
    if led == topic.partitions.len() { Ok(()) } else { Err(format!("shows leaders for only {led} partitions of {name}")) }
}

fn is_gone(name: &TopicName, view: &ClusterView) -> Result<(), String> {
    if view.topic(name).is_none() { Ok(()) } else { Err(format!("still shows topic {name}")) }
}
