//! What a node may use: read from its container, and changed while it runs.

use bollard::models::{ContainerUpdateBody, HostConfig};
use bollard::query_parameters::InspectContainerOptions;

use super::{DockerCluster, acted};
use crate::cluster::daemon::could_not;
use crate::cluster::{ClusterError, Limits};
use crate::ids::BrokerId;

/// Length of the kernel's accounts of CPU time: in each of them a container may use its share.
const CPU_PERIOD_US: i64 = 100_000;
/// No share at all, but everything.
const CPU_UNLIMITED: i64 = -1;

impl DockerCluster {
    /// What the engine lets a node use now.
    pub(super) async fn read_limits(&self, node: BrokerId) -> Result<Limits, ClusterError> {
        let container = self.container(node)?;
        let answer = self.daemon.client().inspect_container(&container, None::<InspectContainerOptions>).await;
        let answer = answer.map_err(could_not(format!("inspect the container {container}")))?;
        Ok(limits_of(&answer.host_config.unwrap_or_default()))
    }

    /// Lets a node use so much from now on, also after it was started again.
    pub(super) async fn set_limits(&self, node: BrokerId, limits: Limits) -> Result<(), ClusterError> {
        acted(node, "limited", self.daemon.client().update_container(&self.container(node)?, update(limits)).await)
    }
}

fn limits_of(host: &HostConfig) -> Limits {
    let positive = |value: Option<i64>| value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value > 0);
    let period = positive(host.cpu_period).unwrap_or(CPU_PERIOD_US.unsigned_abs());
    let by_quota = positive(host.cpu_quota).map(|quota| quota * 1000 / period);
    Limits {
        cpu_thousandths: by_quota.or_else(|| positive(host.nano_cpus).map(|nanos| nanos / 1_000_000)),
        memory_bytes: positive(host.memory),
    }
}

/// By quota and not by the engine's own number of CPUs, which it takes no 0 for: such a limit could never be taken away.
fn update(limits: Limits) -> ContainerUpdateBody {
    let share = |thousandths: u64| i64::try_from(thousandths).unwrap_or(i64::MAX / CPU_PERIOD_US) * CPU_PERIOD_US / 1000;
    let memory = limits.memory_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    ContainerUpdateBody {
        cpu_period: Some(CPU_PERIOD_US),
        cpu_quota: Some(limits.cpu_thousandths.map_or(CPU_UNLIMITED, share)),
        memory,
        // As at the start: no swap.
        memory_swap: memory,
        ..ContainerUpdateBody::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_what_is_read() {
        for limits in [
            Limits { cpu_thousandths: Some(500), memory_bytes: Some(512 << 20) },
            Limits { cpu_thousandths: Some(10), memory_bytes: Some(1) },
            Limits { cpu_thousandths: None, memory_bytes: Some(768 << 20) },
        ] {
            let ContainerUpdateBody { cpu_period, cpu_quota, memory, memory_swap, .. } = update(limits);
            assert_eq!(memory, memory_swap);
            let host = HostConfig { cpu_period, cpu_quota, memory, ..HostConfig::default() };
            assert_eq!(limits_of(&host), limits);
        }
        assert_eq!(limits_of(&HostConfig::default()), Limits { cpu_thousandths: None, memory_bytes: None });
        let host = HostConfig { nano_cpus: Some(1_500_000_000), ..HostConfig::default() };
        assert_eq!(limits_of(&host).cpu_thousandths, Some(1500));
    }
}
