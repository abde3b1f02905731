//! Metadata requests of each group's producers, over their whole lives.
//!
//! A producer's own totals are the count; the single facts give bytes and outcomes, and the count where a producer was cut off before it
//! told its totals.

use std::collections::BTreeMap;

use crate::analyze::findings::RequestFinding;
use crate::analyze::spread::Spread;
use crate::ids::ProducerIndex;
use crate::record::fact::{Fact, Stamped};

type ByReason = BTreeMap<String, u64>;

/// One group's requests.
#[derive(Clone, Debug, Default)]
struct GroupRequests {
    /// As each producer told at its end.
    told: BTreeMap<ProducerIndex, ByReason>,
    /// As counted from single facts.
    seen: BTreeMap<ProducerIndex, ByReason>,
    by_outcome: BTreeMap<String, u64>,
    request_bytes: u64,
    response_bytes: u64,
}

/// All groups' requests by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    groups: BTreeMap<String, GroupRequests>,
}

impl Requests {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::MetadataRequest { group, producer, reason, request_bytes, response_bytes, outcome, .. } => {
                let group = entry(&mut self.groups, group);
                *entry(group.seen.entry(*producer).or_default(), reason) += 1;
                *entry(&mut group.by_outcome, outcome) += 1;
                group.request_bytes += request_bytes;
                group.response_bytes += response_bytes;
            }
            Fact::ProducerTotals { group, producer, metadata_requests, .. } => {
                entry(&mut self.groups, group).told.insert(*producer, metadata_requests.clone());
            }
            _ => {}
        }
    }

    /// The group's figures.
    pub(crate) fn finding(&self, group: &str) -> RequestFinding {
        let Some(group) = self.groups.get(group) else { return RequestFinding::default() };
        let mut by_reason = ByReason::new();
        for (reason, count) in group.producers().flat_map(|(_, reasons)| reasons) {
            *entry(&mut by_reason, reason) += count;
        }
        RequestFinding {
            total: by_reason.values().sum(),
            by_reason,
            per_producer: Spread::of(group.producers().map(|(_, reasons)| signed(reasons.values().sum()))),
            by_age_per_producer: Spread::of(group.producers().map(|(_, reasons)| signed(reasons.get("age").copied().unwrap_or(0)))),
            request_bytes: group.request_bytes,
            response_bytes: group.response_bytes,
            by_outcome: group.by_outcome.clone(),
        }
    }

    /// Producers whose own count differs from that of their single facts.
    pub(crate) fn disagreeing(&self, group: &str) -> usize {
        let Some(group) = self.groups.get(group) else { return 0 };
        let count = |reasons: Option<&ByReason>| reasons.map_or(0, |reasons| reasons.values().sum::<u64>());
        group.told.iter().filter(|(producer, told)| count(Some(told)) != count(group.seen.get(producer))).count()
    }
}

impl GroupRequests {
    fn producers(&self) -> impl Iterator<Item = (&ProducerIndex, &ByReason)> {
        let only_seen = self.seen.iter().filter(|(producer, _)| !self.told.contains_key(producer));
        self.told.iter().chain(only_seen)
    }
}

/// The entry of a name, without an allocation where it is there already.
fn entry<'a, V: Default>(map: &'a mut BTreeMap<String, V>, name: &str) -> &'a mut V {
    if !map.contains_key(name) {
        map.insert(name.to_owned(), V::default());
    }
    map.entry(name.to_owned()).or_default()
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
