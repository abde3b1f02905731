//! Which ports of this machine a cluster publishes: free ones, outside the range that the kernel hands out by itself.
//!
//! A port of the ephemeral range could be taken by any outgoing connection while its broker is down, and a client that retries
//! such a port can even connect to itself. Choosing is a reservation of nothing: another program may take a port before the engine
//! does, so the caller must be ready to choose again.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::RangeInclusive;

use sha2::{Digest, Sha256};

use super::ClusterError;

/// Below it live services that people know by number.
const FIRST_PORT: u16 = 10_000;
/// What Linux ships with, for systems that do not say.
const DEFAULT_EPHEMERAL: RangeInclusive<u16> = 32_768..=60_999;
/// A range smaller than this is not worth searching.
const RANGE_MIN: usize = 500;

/// The ports that clusters of this machine may use.
#[must_use]
pub fn usable_range() -> RangeInclusive<u16> {
    let text = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    beside(parse_range(&text).unwrap_or(DEFAULT_EPHEMERAL))
}

fn parse_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut numbers = text.split_ascii_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(first)), Some(Ok(last))) => Some(first..=last),
        _ => None,
    }
}

/// The ports below an ephemeral range; above it if there are too few; below the usual one if the kernel keeps nearly all for itself.
fn beside(ephemeral: RangeInclusive<u16>) -> RangeInclusive<u16> {
    let below = FIRST_PORT..=ephemeral.start().saturating_sub(1);
    let above = ephemeral.end().saturating_add(1).max(FIRST_PORT)..=u16::MAX;
    [below, above].into_iter().find(|range| range.len() >= RANGE_MIN).unwrap_or(FIRST_PORT..=DEFAULT_EPHEMERAL.start() - 1)
}

/// Chooses `wanted` ports of `range` that are not `taken` and that `is_free` finds free. `seed` says where the search begins, so that
/// two runs that start at once rarely meet.
///
/// # Errors
/// [`ClusterError::NoFreePorts`] if the range has too few.
pub fn choose(
    wanted: usize,
    range: &RangeInclusive<u16>,
    taken: &BTreeSet<u16>,
    seed: &str,
    is_free: impl Fn(u16) -> bool,
) -> Result<Vec<u16>, ClusterError> {
    let ports: Vec<u16> = range.clone().collect();
    let digest = Sha256::digest(seed.as_bytes());
    let offset = usize::from(u16::from_be_bytes([digest[0], digest[1]])) % ports.len().max(1);
    let (before, from) = ports.split_at(offset);
    let found: Vec<u16> = from.iter().chain(before).copied().filter(|port| !taken.contains(port) && is_free(*port)).take(wanted).collect();
    if found.len() < wanted {
        return Err(ClusterError::NoFreePorts { wanted, found: found.len(), first: *range.start(), last: *range.end() });
    }
    Ok(found)
}

/// Whether nobody listens on a port of 127.0.0.1 now.
#[must_use]
pub fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_lies_beside_the_ephemeral_one() {
        let cases = [
            ("the usual one", "32768\t60999\n", 10_000..=32_767),
            ("high", "49152 65535", 10_000..=49_151),
            ("no room below", "10100 60000", 60_001..=65_535),
            ("no room at all", "1024 65535", 10_000..=32_767),
            ("unreadable", "", 10_000..=32_767),
        ];
        for (name, text, expected) in cases {
            assert_eq!(beside(parse_range(text).unwrap_or(DEFAULT_EPHEMERAL)), expected, "{name}");
        }
    }

    #[test]
    fn taken_and_busy_ports_are_skipped_and_the_search_wraps() {
        let taken = BTreeSet::from([20_001, 20_003]);
        for seed in ["a", "b", "c", "d"] {
            let mut ports = choose(3, &(20_000..=20_005), &taken, seed, |port| port != 20_004).unwrap();
            ports.sort_unstable();
            assert_eq!(ports, [20_000, 20_002, 20_005], "seed {seed}");
        }
    }

    #[test]
    fn too_few_free_ports_are_an_error_that_names_the_range() {
        let error = choose(2, &(20_000..=20_002), &BTreeSet::from([20_000]), "a", |port| port == 20_001).unwrap_err();
        assert!(matches!(error, ClusterError::NoFreePorts { wanted: 2, found: 1, first: 20_000, last: 20_002 }), "{error}");
    }

    #[test]
    fn runs_that_start_at_once_begin_apart() {
        let first = choose(6, &(10_000..=32_767), &BTreeSet::new(), "run-a", |_| true).unwrap();
        let second = choose(6, &(10_000..=32_767), &BTreeSet::new(), "run-b", |_| true).unwrap();
        assert!(first.iter().all(|port| !second.contains(port)), "{first:?} {second:?}");
    }

    #[test]
    fn a_port_with_a_listener_is_not_free() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(!is_free(port));
        drop(listener);
        assert!(is_free(port));
    }
}
