//! Asks the cluster what it looks like just before a step fires.
//!
//! All of it happens before the step's `requested` stamp. A step that does not depend on the answers does not wait long for them: while
//! there is no active controller, the question who it is stays open for seconds.

use std::time::Duration;

use tokio::time::timeout_at;

use super::target::Sight;
use super::watch::Watch;
use crate::cluster::{Node, NodeState};
use crate::ids::BrokerId;
use crate::plan::model::Target;

/// Longest wait for an answer that only tells what a node was.
const NICE_TO_KNOW_WITHIN: Duration = Duration::from_millis(500);
/// Longest wait for an answer that decides who the target is.
const NEEDED_WITHIN: Duration = Duration::from_secs(5);

impl Watch {
    /// What is known now: as much as `target` needs, and of a node that is about to be hurt also what it was, if somebody says so soon.
    pub(super) async fn sight(&self, target: &Target, is_fault: bool) -> Sight {
        let states = self.states().await.unwrap_or_default();
        let (nodes, brokers) = members(self.cluster.nodes(), &states);
        let running = states.iter().filter(|(_, state)| *state == NodeState::Running).map(|(node, _)| *node);
        let up: Vec<_> = running.filter_map(|node| Some((node.id, node.client_listener.as_ref()?))).collect();
        let needs_view = matches!(target, Target::LeaderOf(_) | Target::FollowerOf(_));
        let bound = |is_needed| match (is_needed, is_fault) {
            (true, _) => NEEDED_WITHIN,
            (false, true) => NICE_TO_KNOW_WITHIN,
            (false, false) => Duration::ZERO,
        };
        let until = |span| self.clock.instant_of(self.clock.now() + span);
        let (view, quorum) = tokio::join!(
            timeout_at(until(bound(needs_view)), self.any_view(&up)),
            timeout_at(until(bound(*target == Target::Controller)), self.any_quorum(&up)),
        );
        Sight {
            nodes,
            brokers,
            running: up.iter().map(|(id, _)| *id).collect(),
            controller: quorum.ok().flatten().map(|quorum| quorum.leader),
            view: view.ok().flatten(),
        }
    }
}

/// Ids of the nodes that are part of the cluster by now, and of the brokers among them; of one that joins later only the engine can tell.
fn members(nodes: &[Node], states: &[(&Node, NodeState)]) -> (Vec<BrokerId>, Vec<BrokerId>) {
    let has_joined = |node: &Node| states.iter().any(|(known, state)| known.id == node.id && *state != NodeState::NotStarted);
    let members: Vec<&Node> = nodes.iter().filter(|node| !node.joins_later || has_joined(node)).collect();
    (members.iter().map(|node| node.id).collect(), members.iter().filter(|node| node.is_broker).map(|node| node.id).collect())
}
