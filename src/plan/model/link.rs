//! Links: what a step does to the way between two nodes.

/// What a plan's steps need of the links of its cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkNeeds {
    /// Nodes can be cut off from each other.
    pub nodes: bool,
}

/// What is done to a link between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAct {
    /// All packets are dropped.
    Cut,
    /// They pass again.
    Mend,
}

impl LinkAct {
    /// The fault's word in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "black-hole",
            Self::Mend => "none",
        }
    }
}
