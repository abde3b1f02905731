//! Links: what a step does to the way between two nodes, or between clients and brokers.

/// What a plan's steps need of the links of its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkNeeds {
    /// Nodes can be cut off from each other.
    pub nodes: bool,
}
