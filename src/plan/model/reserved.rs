//! Properties of a node that no plan may set: refused by the plan's check, and by the cluster, which sets them itself.

/// Properties that follow from the layout and the ports of the run; a plan that set one would break the cluster.
pub const RESERVED_PROPERTIES: [&str; 15] = [
    "node.id",
    "broker.id",
    "cluster.id",
    "process.roles",
    "listeners",
    "advertised.listeners",
    "advertised.host.name",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "inter.broker.listener.name",
    "listener.security.protocol.map",
    "log.dir",
    "log.dirs",
    "metadata.log.dir",
];
