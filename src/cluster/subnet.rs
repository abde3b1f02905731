//! The addresses of a run's network: each node has its own, by its id, so that it can leave the network and come back as itself. Pure.
//!
//! Nodes have the lower half of the addresses; from the upper one the engine deals out to whatever else joins. Not here: how a network is
//! made (`docker::network`).

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

use crate::ids::BrokerId;

/// A longer prefix leaves too few addresses for the nodes of a large cluster.
const PREFIX_MAX: u32 = 24;

/// Addresses of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subnet {
    base: u32,
    prefix: u32,
}

impl Subnet {
    /// A node's address. The first one is the gateway's.
    pub(crate) fn address_of(self, node: BrokerId) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.base + 1 + node.0.unsigned_abs())
    }

    /// The upper half.
    pub(crate) fn of_others(self) -> Self {
        let prefix = self.prefix + 1;
        Self { base: self.base + (1 << (32 - prefix)), prefix }
    }
}

/// Reads `172.19.0.0/16`; what is no such text, or has too few addresses, is given back.
impl FromStr for Subnet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (base, prefix) = text.split_once('/')?;
            let prefix = prefix.parse().ok().filter(|prefix| (1..=PREFIX_MAX).contains(prefix))?;
            Some(Self { base: base.parse::<Ipv4Addr>().ok()?.to_bits() & (u32::MAX << (32 - prefix)), prefix })
        };
        read().ok_or_else(|| text.to_owned())
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from_bits(self.base), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_the_lower_half_and_others_the_upper() {
        let rows = [("172.19.0.0/16", "172.19.0.102", "172.19.128.0/17"), ("10.1.2.0/24", "10.1.2.102", "10.1.2.128/25")];
        for (text, last, others) in rows {
            let subnet: Subnet = text.parse().unwrap();
            assert_eq!(subnet.address_of(BrokerId(101)).to_string(), last);
            assert_eq!(subnet.of_others().to_string(), others);
            assert_eq!(subnet.to_string(), text);
        }
        assert_eq!("172.19.4.1/16".parse::<Subnet>().unwrap().to_string(), "172.19.0.0/16");
    }

    #[test]
    fn a_subnet_without_room_for_nodes_is_refused() {
        for text in ["10.1.2.0/25", "fd00::/64", "10.1.2.0", "10.1.2.0/0", "10.1.2.0/x", ""] {
            assert_eq!(text.parse::<Subnet>(), Err(text.to_owned()));
        }
    }
}
