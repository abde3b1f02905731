//! The run's network: made with addresses that are known, and a node's way off it and back.
//!
//! Off the network a node keeps its processes: its anchor loses address and published ports, and peers ask after an address that is gone.
//! Clients on this machine come through the published port, so they are cut off at once and then refused; only peers see silence.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, OnceLock, PoisonError};

use bollard::models::{Ipam, IpamConfig, NetworkConnectRequest, NetworkCreateRequest, NetworkDisconnectRequest};
use bollard::query_parameters::{InspectContainerOptions, InspectNetworkOptions};

use super::{DockerCluster, acted, container};
use crate::cluster::ClusterError;
use crate::cluster::daemon::{could_not, status_of};
use crate::cluster::subnet::Subnet;
use crate::ids::BrokerId;

/// How often other addresses are tried.
const SUBNET_ATTEMPTS: u32 = 5;
/// What the engine says if somebody else took the addresses in the meantime.
const TAKEN: &str = "overlaps";

/// What is known of a run's network; of the host's, nothing.
#[derive(Debug, Default)]
pub(super) struct RunNetwork {
    subnet: OnceLock<Subnet>,
    /// Nodes that this process took off it, so that only those need be looked at.
    left: Mutex<BTreeSet<BrokerId>>,
}

impl RunNetwork {
    /// Whether a node may be off the network.
    pub(super) fn may_lack(&self, node: BrokerId) -> bool {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).contains(&node)
    }

    fn set_left(&self, node: BrokerId, has_left: bool) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        if has_left {
            left.insert(node)
        } else {
            left.remove(&node)
        };
    }
}

impl DockerCluster {
    /// Makes the run's network. The engine chooses the addresses, since it knows which are free; but only where they are given by name can
    /// a container ask for one of them, so the network is made once to be asked and then again.
    pub(super) async fn make_network(&self, labels: HashMap<String, String>) -> Result<Subnet, ClusterError> {
        let name = self.run.network_name();
        let mut attempt = 1;
        loop {
            self.create_network(labels.clone(), None).await.map_err(could_not(format!("make the network {name}")))?;
            let subnet = self.subnet_in_use().await?;
            self.daemon.client().remove_network(&name).await.map_err(could_not(format!("remove the network {name}")))?;
            match self.create_network(labels.clone(), Some(subnet)).await {
                Ok(()) => return Ok(*self.network.subnet.get_or_init(|| subnet)),
                Err(error) if attempt < SUBNET_ATTEMPTS && error.to_string().contains(TAKEN) => attempt += 1,
                Err(error) => return Err(could_not(format!("make the network {name}"))(error)),
            }
        }
    }

    async fn create_network(&self, labels: HashMap<String, String>, subnet: Option<Subnet>) -> Result<(), bollard::errors::Error> {
        let ipam = subnet.map(|subnet| {
            let config = IpamConfig {
                subnet: Some(subnet.to_string()),
                ip_range: Some(subnet.of_others().to_string()),
                gateway: Some(subnet.address_of(BrokerId(0)).to_string()),
                ..IpamConfig::default()
            };
            Ipam { config: Some(vec![config]), ..Ipam::default() }
        });
        let request = NetworkCreateRequest { name: self.run.network_name(), labels: Some(labels), ipam, ..NetworkCreateRequest::default() };
        self.daemon.client().create_network(request).await.map(|_| ())
    }

    async fn subnet_in_use(&self) -> Result<Subnet, ClusterError> {
        let network = self.run.network_name();
        let answer = self.daemon.client().inspect_network(&network, None::<InspectNetworkOptions>).await;
        let answer = answer.map_err(could_not(format!("inspect the network {network}")))?;
        let configs = answer.ipam.and_then(|ipam| ipam.config).unwrap_or_default();
        let subnets: Vec<String> = configs.into_iter().filter_map(|config| config.subnet).collect();
        let fitting = subnets.iter().find_map(|subnet| subnet.parse().ok());
        fitting.ok_or_else(|| ClusterError::TooFewAddresses { network, subnets: subnets.join(", ") })
    }

    /// Where the run's network has its addresses; `None`: there is no such network, the nodes are on the host's.
    pub(super) async fn subnet(&self) -> Result<Option<Subnet>, ClusterError> {
        if let Some(subnet) = self.network.subnet.get() {
            return Ok(Some(*subnet));
        }
        match self.subnet_in_use().await {
            Ok(subnet) => Ok(Some(*self.network.subnet.get_or_init(|| subnet))),
            Err(ClusterError::Engine { source, .. }) if status_of(&source) == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a node off the network.
    pub(super) async fn take_off(&self, node: BrokerId) -> Result<(), ClusterError> {
        let refused = |because: &str| ClusterError::Refused { node, action: "disconnected", because: because.to_owned() };
        if self.subnet().await?.is_none() {
            return Err(refused("it is on the host's network"));
        }
        if !self.is_on(node).await? {
            return Err(refused("it is off the network already"));
        }
        let request = NetworkDisconnectRequest { container: self.run.anchor_name(node), force: None };
        // Before the call: one that is cut off may have taken effect.
        self.network.set_left(node, true);
        acted(node, "disconnected", self.daemon.client().disconnect_network(&self.run.network_name(), request).await)
    }

    /// Brings a node back onto the network, under its address and name and with its ports.
    pub(super) async fn bring_back(&self, node: BrokerId) -> Result<(), ClusterError> {
        let refused = |because: &str| ClusterError::Refused { node, action: "connected", because: because.to_owned() };
        let Some(subnet) = self.subnet().await? else { return Err(refused("it is on the host's network")) };
        if self.is_on(node).await? {
            return Err(refused("it is on the network already"));
        }
        let endpoint = container::endpoint(&self.run, node, subnet);
        let request = NetworkConnectRequest { container: self.run.anchor_name(node), endpoint_config: Some(endpoint) };
        acted(node, "connected", self.daemon.client().connect_network(&self.run.network_name(), request).await)?;
        self.network.set_left(node, false);
        Ok(())
    }

    /// Whether a node is on its network, by the engine's word. Without an anchor it is on the host's.
    pub(super) async fn is_on(&self, node: BrokerId) -> Result<bool, ClusterError> {
        self.container(node)?;
        let anchor = self.run.anchor_name(node);
        let answer = match self.daemon.client().inspect_container(&anchor, None::<InspectContainerOptions>).await {
            Err(error) if status_of(&error) == Some(404) => return Ok(true),
            answer => answer.map_err(could_not(format!("inspect the container {anchor}")))?,
        };
        let networks = answer.network_settings.and_then(|settings| settings.networks).unwrap_or_default();
        Ok(networks.contains_key(&self.run.network_name()))
    }
}
