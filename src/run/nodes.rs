//! Looks at the nodes once a second while the load runs, and tells what they used as facts.
//!
//! Looking must not disturb: one request per node to the engine, one Metadata request to one broker, both bounded by less than a second;
//! what does not come in time is left empty.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_util::task::AbortOnDropHandle;

use crate::clock::Clock;
use crate::cluster::docker::NodeUsage;
use crate::cluster::{Cluster, DockerCluster};
use crate::ids::BrokerId;
use crate::kafka::admin::{Admin, ClusterView};
use crate::record::fact::Fact;
use crate::record::node::NodeSecond;
use crate::record::sink::FactSink;

/// Bound on one look at the brokers' view.
const VIEW_WITHIN: Duration = Duration::from_millis(900);

/// Starts looking, on the current runtime, until the handle is dropped.
pub(super) fn watch(cluster: Arc<DockerCluster>, clock: Clock, facts: FactSink) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(look_each_second(cluster, clock, facts)))
}

async fn look_each_second(cluster: Arc<DockerCluster>, clock: Clock, facts: FactSink) {
    let admin = Admin::new(cluster.bootstrap(), "chaos-probe", clock.clone()).with_call_timeout(VIEW_WITHIN).with_patience(Duration::ZERO);
    let mut before = usages(&cluster).await;
    loop {
        // A look that took longer than its second leaves the next one out.
        let now = clock.now();
        let (second, left) = second_of(facts.time_us(now));
        let end = now + left;
        tokio::time::sleep_until(clock.instant_of(end)).await;
        let (usages, view) = tokio::join!(usages(&cluster), admin.metadata(None));
        let view = view.ok();
        for node in cluster.nodes() {
            let told = told(second, node.id, before.get(&node.id), usages.get(&node.id), view.as_ref());
            facts.emit(end, Fact::Node(Box::new(told)));
        }
        before = usages;
    }
}

/// The second that a moment lies in, and what is left of it.
fn second_of(time_us: i64) -> (i64, Duration) {
    let second = time_us.div_euclid(1_000_000);
    (second, Duration::from_micros(1_000_000 - time_us.rem_euclid(1_000_000).unsigned_abs()))
}

/// Usages of the nodes that are up and were told in time.
async fn usages(cluster: &DockerCluster) -> BTreeMap<BrokerId, NodeUsage> {
    let ids = cluster.nodes().iter().map(|node| node.id);
    let answers = join_all(ids.map(async |id| (id, cluster.usage(id).await))).await;
    answers.into_iter().filter_map(|(id, answer)| Some((id, answer.ok()??))).collect()
}

fn told(second: i64, node: BrokerId, before: Option<&NodeUsage>, now: Option<&NodeUsage>, view: Option<&ClusterView>) -> NodeSecond {
    // Without a look before there is nothing to subtract from; a sum that fell began anew.
    let since = |sum: fn(&NodeUsage) -> u64| Some(grown(sum(before?), sum(now?)));
    NodeSecond {
        second,
        node,
        cpu_ms: since(|usage| usage.cpu.as_millis() as u64),
        memory_bytes: now.map(|usage| usage.memory_bytes),
        network_in_bytes: since(|usage| usage.network_in_bytes),
        network_out_bytes: since(|usage| usage.network_out_bytes),
        under_replicated_partitions: view.map(|view| under_replicated(view, node)),
    }
}

fn grown(before: u64, now: u64) -> u64 {
    now.checked_sub(before).unwrap_or(now)
}

fn under_replicated(view: &ClusterView, leader: BrokerId) -> u32 {
    let partitions = view.topics.iter().flat_map(|topic| &topic.partitions);
    partitions.filter(|partition| partition.leader == Some(leader) && !partition.is_full()).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(cpu_ms: u64, bytes: u64) -> NodeUsage {
        NodeUsage { cpu: Duration::from_millis(cpu_ms), memory_bytes: 1_000, network_in_bytes: bytes, network_out_bytes: 2 * bytes }
    }

    #[test]
    fn a_second_is_the_difference_of_two_looks() {
        let second = told(3, BrokerId(1), Some(&usage(500, 10)), Some(&usage(740, 25)), None);
        assert_eq!((second.cpu_ms, second.network_in_bytes, second.network_out_bytes), (Some(240), Some(15), Some(30)));
        assert_eq!(second.under_replicated_partitions, None);
    }

    #[test]
    fn a_restarted_node_counts_from_zero_and_a_dead_one_not_at_all() {
        let restarted = told(4, BrokerId(1), Some(&usage(9_000, 500)), Some(&usage(300, 20)), None);
        assert_eq!((restarted.cpu_ms, restarted.network_in_bytes), (Some(300), Some(20)));
        let dead = told(5, BrokerId(1), Some(&usage(300, 20)), None, None);
        assert_eq!((dead.cpu_ms, dead.memory_bytes), (None, None));
    }

    #[test]
    fn seconds_end_on_the_run_s_own_seconds_before_zero_too() {
        assert_eq!(second_of(-1), (-1, Duration::from_micros(1)));
        assert_eq!(second_of(0), (0, Duration::from_secs(1)));
        assert_eq!(second_of(-1_500_000), (-2, Duration::from_millis(500)));
    }
}
