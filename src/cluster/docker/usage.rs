//! What a node's container has used so far, as the engine counts it.

use std::time::Duration;

use bollard::models::ContainerStatsResponse;
use bollard::query_parameters::StatsOptionsBuilder;
use futures_util::TryStreamExt;

use super::DockerCluster;
use crate::cluster::ClusterError;
use crate::cluster::daemon::{bounded, could_not};
use crate::ids::BrokerId;

/// Bound on asking: the answer is only worth something soon.
const ASK_WITHIN: Duration = Duration::from_millis(900);

/// Sums since the container's process was started; they begin anew with each start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeUsage {
    /// CPU time.
    pub cpu: Duration,
    /// Memory now, without file caches.
    pub memory_bytes: u64,
    /// Bytes received.
    pub network_in_bytes: u64,
    /// Bytes sent.
    pub network_out_bytes: u64,
}

impl DockerCluster {
    /// What a node has used so far; `None` if it is down.
    ///
    /// # Errors
    /// If the engine does not answer soon.
    pub async fn usage(&self, node: BrokerId) -> Result<Option<NodeUsage>, ClusterError> {
        let container = self.container(node)?;
        let doing = format!("tell what {container} uses");
        let options = StatsOptionsBuilder::new().stream(false).one_shot(true).build();
        let ask = async {
            let mut answers = std::pin::pin!(self.daemon.client().stats(&container, Some(options)));
            answers.try_next().await.map_err(could_not(&doing))
        };
        let answer = bounded(ASK_WITHIN, &doing, ask).await?;
        Ok(answer.as_ref().and_then(usage_of))
    }
}

/// The engine's figures of a running container; of one that is down they hold no memory.
fn usage_of(answer: &ContainerStatsResponse) -> Option<NodeUsage> {
    let memory = answer.memory_stats.as_ref()?;
    let used = memory.usage.filter(|bytes| *bytes > 0)?;
    // The second name is that of cgroups v1.
    let cached = memory.stats.as_ref().and_then(|stats| stats.get("inactive_file").or_else(|| stats.get("total_inactive_file")));
    let cpu_ns = answer.cpu_stats.as_ref().and_then(|cpu| cpu.cpu_usage.as_ref()?.total_usage).unwrap_or(0);
    let networks = answer.networks.iter().flat_map(|networks| networks.values());
    let (network_in_bytes, network_out_bytes) =
        networks.fold((0, 0), |(rx, tx), network| (rx + network.rx_bytes.unwrap_or(0), tx + network.tx_bytes.unwrap_or(0)));
    Some(NodeUsage {
        cpu: Duration::from_nanos(cpu_ns),
        memory_bytes: used.saturating_sub(cached.copied().unwrap_or(0)),
        network_in_bytes,
        network_out_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> ContainerStatsResponse {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn file_caches_are_left_out_and_networks_add_up() {
        let running = answer(
            r#"{"cpu_stats": {"cpu_usage": {"total_usage": 1500000000}}, "memory_stats": {"usage": 500, "stats": {"inactive_file": 200}},
                "networks": {"eth0": {"rx_bytes": 5, "tx_bytes": 7}, "eth1": {"rx_bytes": 10, "tx_bytes": 20}}}"#,
        );
        let expected = NodeUsage { cpu: Duration::from_millis(1_500), memory_bytes: 300, network_in_bytes: 15, network_out_bytes: 27 };
        assert_eq!(usage_of(&running), Some(expected));
    }

    #[test]
    fn a_container_that_is_down_has_no_usage() {
        assert_eq!(usage_of(&answer(r#"{"cpu_stats": {}, "memory_stats": {}}"#)), None);
        assert_eq!(usage_of(&answer(r"{}")), None);
    }
}
