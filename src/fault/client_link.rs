//! Looks at the links between clients and brokers: goes through the relay as one of the clients that a step is about.
//!
//! Of a broker that does not run, and of connections that are half open, nobody outside can tell; there the relay's own word has to do.

use std::time::Duration;

use futures_util::future::join_all;

use super::runner::PROBE_CLIENT_ID;
use super::watch::{Look, Watch};
use crate::cluster::{LOOKER, Node, NodeState};
use crate::ids::BrokerId;
use crate::kafka::admin::{Admin, AdminError, RpcError};
use crate::plan::model::{ClientFault, Pace};

/// What takes so long does not come: the answer itself is a matter of a few milliseconds.
const SILENCE: Duration = Duration::from_millis(300);
/// Longest wait for an answer that is to come, on top of what a delay makes of it.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

impl Watch {
    /// One look at each of these brokers' links.
    pub(super) async fn look_at_client_links(&self, to: &[BrokerId], group: Option<&str>, fault: ClientFault) -> Look<String> {
        let Some(relay) = self.cluster.relay() else { return Look::Never("there is no relay".to_owned()) };
        if !relay.is_so(to, group, fault) {
            // What this step did cannot be seen any more.
            return Look::Seen("by the relay's own word: a later step has changed these links since".to_owned());
        }
        if fault == ClientFault::HalfOpen {
            return Look::Seen("open connections have lost their broker, by the relay's own word".to_owned());
        }
        let nodes = self.cluster.nodes().iter().filter(|node| to.contains(&node.id));
        let seen = join_all(nodes.map(|node| self.look_through(node, group, fault))).await;
        let mut details = Vec::new();
        for look in seen {
            match look {
                Look::Seen(detail) => details.push(detail),
                other => return other,
            }
        }
        if details.is_empty() {
            return Look::Never("the cluster has none of these brokers".to_owned());
        }
        Look::Seen(details.join("; "))
    }

    async fn look_through(&self, node: &Node, group: Option<&str>, fault: ClientFault) -> Look<String> {
        let id = node.id;
        let Some(listener) = &node.relay_listener else { return Look::Never(format!("no relay stands before node {id}")) };
        if !matches!(self.cluster.state(id).await, Ok(NodeState::Running)) {
            return Look::Seen(format!("broker {id} does not run: by the relay's own word"));
        }
        let within = match fault {
            ClientFault::BlackHole => SILENCE,
            // Connecting takes no time; the request and its answer take the delay once each, and a slow link its own.
            ClientFault::Slow(pace) => ANSWER_WITHIN + (pace.delay + pace.jitter) * 2,
            _ => ANSWER_WITHIN,
        };
        let client_id = group.map_or_else(|| PROBE_CLIENT_ID.to_owned(), |group| format!("{group}-{LOOKER}"));
        let client = Admin::new(vec![], self.cluster.access().clients.named(&client_id), self.clock.clone())
            .with_call_timeout(within)
            .with_patience(Duration::ZERO);
        let asked_at = self.clock.now();
        let answer = client.api_versions(listener).await.map(|_| self.clock.now().since(asked_at));
        judge(id, fault, answer)
    }
}

/// Whether what came of a request through the relay is what the fault makes of it.
fn judge(broker: BrokerId, fault: ClientFault, answer: Result<Duration, AdminError>) -> Look<String> {
    match (fault, answer) {
        (ClientFault::BlackHole, Err(AdminError::Rpc(RpcError::TimedOut { .. }))) => {
            Look::Seen(format!("broker {broker} does not answer through the relay within {SILENCE:?}"))
        }
        (ClientFault::Reset, Err(AdminError::Rpc(error))) if error.is_cut_off() => {
            Look::Seen(format!("connections to broker {broker} are reset"))
        }
        (ClientFault::Slow(Pace { delay: Duration::ZERO, bytes_per_second: Some(rate), .. }), Ok(_)) => {
            // So small a request and answer pass any rate at once.
            Look::Seen(format!("broker {broker} answers through the relay; {rate} bytes per second by the relay's own word"))
        }
        (ClientFault::Slow(pace), Ok(took)) if took >= pace.delay.saturating_sub(pace.jitter) * 2 => {
            Look::Seen(format!("broker {broker} answers through the relay after {} ms", took.as_millis()))
        }
        (ClientFault::Slow(pace), Err(AdminError::Rpc(RpcError::TimedOut { waited, .. }))) if pace.bytes_per_second.is_some() => {
            Look::Seen(format!("broker {broker} does not answer through the relay within {waited:?}: the link is full"))
        }
        (ClientFault::None, Ok(took)) => Look::Seen(format!("broker {broker} answers through the relay after {} ms", took.as_millis())),
        (_, Ok(took)) => Look::NotYet(format!("broker {broker} answers through the relay after {} ms", took.as_millis())),
        (_, Err(error)) => Look::NotYet(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::num::NonZeroU64;

    use super::*;
    use crate::ids::HostPort;

    #[test]
    fn each_fault_shows_in_its_own_way() {
        let address = || HostPort::new("127.0.0.1", 1);
        let ms = Duration::from_millis;
        let slow = ClientFault::Slow(Pace { delay: ms(50), jitter: ms(10), bytes_per_second: None });
        let silence = || Err(RpcError::TimedOut { address: address(), doing: "ApiVersions".to_owned(), waited: SILENCE }.into());
        let reset = || Err(RpcError::Closed { address: address(), source: io::ErrorKind::ConnectionReset.into() }.into());
        let full = ClientFault::Slow(Pace { bytes_per_second: NonZeroU64::new(1), ..Pace::default() });
        let rows: [(ClientFault, Result<Duration, AdminError>, bool); 12] = [
            (ClientFault::BlackHole, silence(), true),
            (ClientFault::BlackHole, reset(), false),
            (ClientFault::BlackHole, Ok(ms(2)), false),
            (ClientFault::Reset, reset(), true),
            (ClientFault::Reset, silence(), false),
            (slow, Ok(ms(80)), true),
            (slow, Ok(ms(79)), false),
            (slow, silence(), false),
            (full, silence(), true),
            (full, Ok(ms(2)), true),
            (ClientFault::None, Ok(ms(2)), true),
            (ClientFault::None, silence(), false),
        ];
        for (fault, answer, is_seen) in rows {
            let text = format!("{fault:?} {answer:?}");
            assert_eq!(matches!(judge(BrokerId(2), fault, answer), Look::Seen(_)), is_seen, "{text}");
        }
    }
}
