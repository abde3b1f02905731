//! The probes of a run: which nodes they look at, and how steps tell them that something is about to change.

use std::sync::Arc;

use super::RunError;
use super::steps::StepFacts;
use crate::clock::Clock;
use crate::cluster::{Access, Cluster, Node};
use crate::fault::{StepEvent, StepSink, What};
use crate::ids::{HostPort, TopicName};
use crate::probe::{ProbeConfig, ProbedNode, Prober, StepNudge};
use crate::record::sink::FactSink;

/// Starts to look at all layers of a cluster.
///
/// # Errors
/// The system gives no thread.
pub(super) fn look(cluster: &dyn Cluster, topics: Vec<TopicName>, clock: &Clock, facts: FactSink) -> Result<Prober, RunError> {
    let probed = |node: &Node| ProbedNode {
        id: node.id,
        client_listener: node.client_listener.clone(),
        controller_listener: node.controller_listener.map(HostPort::from),
    };
    let Access { clients, controllers, .. } = cluster.access();
    let config = ProbeConfig { nodes: cluster.nodes().iter().map(probed).collect(), topics, clients, controllers, facts };
    Prober::start(config, clock).map_err(RunError::Thread)
}

/// Makes the probes look closely from the request of each step that may change something, and passes all that is told on to the facts.
#[derive(Debug)]
pub(super) struct NudgingSteps {
    facts: Arc<StepFacts>,
    nudge: StepNudge,
}

impl NudgingSteps {
    /// Tells `facts`, and `prober` first.
    pub(super) fn new(facts: Arc<StepFacts>, prober: &Prober) -> Self {
        Self { facts, nudge: prober.nudge() }
    }
}

impl StepSink for NudgingSteps {
    fn on_step(&self, event: StepEvent) {
        match &event {
            StepEvent::Requested { step, .. } if step.what != What::Wait => self.nudge.step_fired(),
            StepEvent::Acknowledged { .. } => self.nudge.step_done(),
            _ => {}
        }
        self.facts.on_step(event);
    }
}
