//! Looks at every node once a second: the engine's word on its state and use, and the broker's own on what it leads.
//!
//! Not here: how a broker is asked (`probe`), how use is read (`cluster`), the table (`record`). All nodes are asked at once, and within a
//! bound: what is not known by then stays unknown, and nobody else waits for it.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{sleep_until, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use crate::clock::{Clock, Moment};
use crate::cluster::{Cluster, Node, NodeState, NodeUsage};
use crate::ids::BrokerId;
use crate::probe::BrokerProbe;
use crate::record::broker::{BrokerSecond, Usage};
use crate::record::fact::Fact;
use crate::record::second::{second_end, second_of};
use crate::record::sink::FactSink;

/// Longest time that looking at all nodes may take.
pub(super) const WITHIN: Duration = Duration::from_millis(700);
/// A look that would begin so late is left out: it would show the next second.
const LATE: Duration = Duration::from_secs(1);

/// Starts looking at the end of the present second; ends when the handle is dropped.
pub(super) fn watch(cluster: Arc<dyn Cluster>, probe: BrokerProbe, clock: Clock, facts: FactSink) -> AbortOnDropHandle<()> {
    let watch = Watch { cluster, probe, clock };
    AbortOnDropHandle::new(tokio::spawn(async move { watch.tell_seconds(&facts).await }))
}

#[derive(Debug)]
struct Watch {
    cluster: Arc<dyn Cluster>,
    probe: BrokerProbe,
    clock: Clock,
}

impl Watch {
    async fn tell_seconds(&self, facts: &FactSink) {
        let mut second = second_of(self.clock.now(), facts.origin());
        loop {
            let end = second_end(second, facts.origin());
            sleep_until(self.clock.instant_of(end)).await;
            let is_late = self.clock.now() >= end + LATE;
            let deadline = end + if is_late { Duration::ZERO } else { WITHIN };
            let nodes = self.cluster.nodes().iter();
            let seen = join_all(nodes.map(|node| async move {
                if is_late { nothing_of(node.id, second) } else { self.look_at(node, second, deadline, facts.origin()).await }
            }));
            for node in seen.await {
                facts.emit(end, Fact::Broker(Box::new(node)));
            }
            second += 1;
        }
    }

    async fn look_at(&self, node: &Node, second: i64, deadline: Moment, origin: Moment) -> BrokerSecond {
        let deadline = self.clock.instant_of(deadline);
        let state = timeout_at(deadline, self.cluster.state(node.id)).await.ok().and_then(Result::ok);
        let mut seen = BrokerSecond { state: state.map(|state| name_of(state).to_owned()), ..nothing_of(node.id, second) };
        let usage = async {
            let is_up = matches!(state, Some(NodeState::Running | NodeState::Paused | NodeState::Disconnected));
            if is_up {
                timeout_at(deadline, self.cluster.usage(node.id)).await.ok()?.ok().map(|usage| self.recorded(usage, origin))
            } else {
                None
            }
        };
        let led = async {
            // Never a paused broker: a connection a second would fill the queue that its clients wait in too.
            let listener = node.client_listener.as_ref().filter(|_| state == Some(NodeState::Running))?;
            timeout_at(deadline, self.probe.led_by(node.id, listener)).await.ok()?
        };
        (seen.usage, seen.led) = tokio::join!(usage, led);
        seen
    }

    /// Usage that was read just now.
    fn recorded(&self, usage: NodeUsage, origin: Moment) -> Usage {
        let NodeUsage { cpu_us_total, memory_bytes, rx_bytes_total, tx_bytes_total } = usage;
        Usage { read_at_us: self.clock.now().micros_from(origin), cpu_us_total, memory_bytes, rx_bytes_total, tx_bytes_total }
    }
}

/// A look that saw nothing.
fn nothing_of(node: BrokerId, second: i64) -> BrokerSecond {
    BrokerSecond { second, node, state: None, usage: None, led: None }
}

fn name_of(state: NodeState) -> &'static str {
    match state {
        NodeState::Running => "running",
        NodeState::Paused => "paused",
        NodeState::Exited { .. } => "exited",
        NodeState::Disconnected => "disconnected",
        NodeState::NotStarted => "not-started",
        NodeState::Absent => "absent",
    }
}
