//! Asks the cluster what it looks like just before a step fires.
//!
//! All of it happens before the step's `requested` stamp. A step that does not depend on the answers does not wait long for them: while
//! there is no active controller, the question who it is stays open for seconds.

use std::time::Duration;

use tokio::time::timeout_at;

use super::target::Sight;
use super::watch::Watch;
use crate::plan::model::Target;

/// Longest wait for an answer that only tells what a node was.
const NICE_TO_KNOW_WITHIN: Duration = Duration::from_millis(500);
/// Longest wait for an answer that decides who the target is.
const NEEDED_WITHIN: Duration = Duration::from_secs(5);

impl Watch {
    /// What is known now: as much as `target` needs, and of a node that is about to be hurt also what it was, if somebody says so soon.
    pub(super) async fn sight(&self, target: &Target, is_fault: bool) -> Sight {
        let nodes = self.cluster.nodes();
        let up = self.running_brokers().await.unwrap_or_default();
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
            nodes: nodes.iter().map(|node| node.id).collect(),
            brokers: nodes.iter().filter(|node| node.is_broker).map(|node| node.id).collect(),
            running: up.iter().map(|(id, _)| *id).collect(),
            controller: quorum.ok().flatten().map(|quorum| quorum.leader),
            view: view.ok().flatten(),
        }
    }
}
