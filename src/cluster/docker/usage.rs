//! What a node uses: from this machine's kernel (`process`) if its process is found there, otherwise from the engine's own reading.
//!
//! On the run's own network a node's traffic is its anchor's. On the host's network nobody can tell it from other programs', and it
//! stays unknown.

use bollard::models::{ContainerCpuStats, ContainerMemoryStats, ContainerStatsResponse};
use bollard::query_parameters::{InspectContainerOptions, StatsOptionsBuilder};
use futures_util::TryStreamExt;

use super::DockerCluster;
use super::process::Process;
use crate::cluster::daemon::{could_not, status_of};
use crate::cluster::{ClusterError, NodeUsage};
use crate::ids::BrokerId;

impl DockerCluster {
    /// One reading of a node.
    pub(super) async fn read_usage(&self, node: BrokerId) -> Result<NodeUsage, ClusterError> {
        let (container, anchor) = (self.container(node)?, self.run.anchor_name(node));
        if let Some(usage) = self.process_usage(&container).await? {
            return Ok(usage);
        }
        let (own, anchor) = tokio::try_join!(self.stats(&container), self.stats(&anchor))?;
        Ok(usage_of(&own.unwrap_or_default(), &anchor.unwrap_or_default()))
    }

    /// By this machine's kernel; `None` if the container's process is not found here.
    async fn process_usage(&self, container: &str) -> Result<Option<NodeUsage>, ClusterError> {
        let answer = self.daemon.client().inspect_container(container, None::<InspectContainerOptions>).await;
        let answer = answer.map_err(could_not(format!("inspect the container {container}")))?;
        let pid = answer.state.and_then(|state| state.pid).filter(|pid| *pid > 0);
        let network = answer.host_config.and_then(|config| config.network_mode);
        let container = answer.id.unwrap_or_default();
        let process = |pid| Process { pid, container: &container, has_own_network: network.as_deref() != Some("host") };
        Ok(pid.and_then(|pid| process(pid).usage()))
    }

    /// The engine's reading of a container; `None` if there is no such container.
    async fn stats(&self, container: &str) -> Result<Option<ContainerStatsResponse>, ClusterError> {
        // Without `one_shot` the engine would wait a second for another reading to compare with.
        let options = StatsOptionsBuilder::new().stream(false).one_shot(true).build();
        let answer = self.daemon.client().stats(container, Some(options));
        match std::pin::pin!(answer).try_next().await {
            Err(error) if status_of(&error) == Some(404) => Ok(None),
            other => other.map_err(could_not(format!("read what {container} uses"))),
        }
    }
}

fn usage_of(own: &ContainerStatsResponse, anchor: &ContainerStatsResponse) -> NodeUsage {
    let networks = own.networks.as_ref().or(anchor.networks.as_ref()).map(|networks| networks.values());
    NodeUsage {
        cpu_us_total: own.cpu_stats.as_ref().and_then(cpu_us),
        memory_bytes: own.memory_stats.as_ref().and_then(memory_bytes),
        rx_bytes_total: networks.clone().and_then(|mut networks| networks.try_fold(0, |sum: u64, one| Some(sum + one.rx_bytes?))),
        tx_bytes_total: networks.and_then(|mut networks| networks.try_fold(0, |sum: u64, one| Some(sum + one.tx_bytes?))),
    }
}

/// The engine says zero of a container that has ended, and where it cannot read the kernel's control groups.
fn cpu_us(stats: &ContainerCpuStats) -> Option<u64> {
    let nanoseconds = stats.cpu_usage.as_ref()?.total_usage?;
    (nanoseconds > 0).then_some(nanoseconds / 1_000)
}

/// As `docker stats` shows it: without file pages that the kernel would drop first. Control groups of version 1 and 2 name them
/// differently.
fn memory_bytes(stats: &ContainerMemoryStats) -> Option<u64> {
    let pages = stats.stats.as_ref().and_then(|stats| stats.get("total_inactive_file").or_else(|| stats.get("inactive_file")));
    stats.usage.map(|usage| usage.saturating_sub(pages.copied().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> ContainerStatsResponse {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn memory_is_without_pages_that_can_be_dropped() {
        let table = [
            (r#"{"usage":340,"stats":{"total_inactive_file":40,"inactive_file":30}}"#, Some(300)),
            (r#"{"usage":340,"stats":{"inactive_file":30,"anon":1}}"#, Some(310)),
            (r#"{"usage":340}"#, Some(340)),
            ("{}", None),
        ];
        for (json, expected) in table {
            assert_eq!(memory_bytes(&serde_json::from_str(json).unwrap()), expected, "{json}");
        }
    }

    /// As Docker 20.10 (API 1.41) answers.
    #[test]
    fn an_ended_node_uses_nothing_that_could_be_told() {
        let ended = read(
            r#"{"read":"0001-01-01T00:00:00Z","pids_stats":{},"blkio_stats":{"io_service_bytes_recursive":null},"num_procs":0,
            "cpu_stats":{"cpu_usage":{"total_usage":0},"throttling_data":{"periods":0}},"memory_stats":{}}"#,
        );
        let usage = usage_of(&ended, &ContainerStatsResponse::default());
        assert_eq!(usage, NodeUsage::default());
    }

    #[test]
    fn traffic_is_the_anchors() {
        let own = read(r#"{"read":"2026-11-29T10:00:02.5Z","cpu_stats":{"cpu_usage":{"total_usage":7000000}},"memory_stats":{"usage":9}}"#);
        let anchor = read(r#"{"networks":{"eth0":{"rx_bytes":10,"tx_bytes":20},"eth1":{"rx_bytes":1,"tx_bytes":2}}}"#);
        let expected = NodeUsage { cpu_us_total: Some(7_000), memory_bytes: Some(9), rx_bytes_total: Some(11), tx_bytes_total: Some(22) };
        assert_eq!(usage_of(&own, &anchor), expected);
        let on_the_hosts_network = usage_of(&own, &ContainerStatsResponse::default());
        assert_eq!((on_the_hosts_network.rx_bytes_total, on_the_hosts_network.tx_bytes_total), (None, None));
    }
}
