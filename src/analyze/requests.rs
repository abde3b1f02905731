//! Metadata requests of each group's producers, over their whole lives.
//!
//! A producer's own totals are the count; the single facts give bytes and outcomes, and the count where a producer was cut off before it
//! told its totals.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use crate::analyze::findings::RequestFinding;
use crate::analyze::known::Known;
use crate::analyze::spread::Spread;
use crate::ids::ProducerIndex;
use crate::record::fact::{Fact, GroupInfo, Stamped, UNKNOWN_REASON};

type ByReason = BTreeMap<String, u64>;

/// One group's requests.
#[derive(Clone, Debug, Default)]
struct GroupRequests {
    /// How many producers send through one client; `None`: one. The first of them tells what the client asked, the others nothing.
    share: Option<NonZeroU32>,
    /// Whether any second of the group was told.
    has_seconds: bool,
    /// As each producer told at its end; `None`: it does not count them.
    told: BTreeMap<ProducerIndex, Option<ByReason>>,
    /// As counted from single facts.
    seen: BTreeMap<ProducerIndex, ByReason>,
    /// Sum of the group's seconds; what is left of a client that was cut off and tells no single requests.
    seconds: Known<ByReason>,
    /// Bytes of the group's seconds: known only of clients that tell single requests.
    bytes: Known<u64>,
    by_outcome: ByReason,
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
            Fact::RunStarted(run) => {
                for GroupInfo { name, share, .. } in &run.groups {
                    entry(&mut self.groups, name).share = *share;
                }
            }
            Fact::MetadataRequest { group, producer, reason, request_bytes, response_bytes, outcome, .. } => {
                let group = entry(&mut self.groups, group);
                *entry(group.seen.entry(*producer).or_default(), reason) += 1;
                *entry(&mut group.by_outcome, outcome) += 1;
                group.request_bytes += request_bytes.unwrap_or(0);
                group.response_bytes += response_bytes.unwrap_or(0);
            }
            Fact::ProducerTotals { group, producer, metadata_requests, .. } => {
                entry(&mut self.groups, group).told.insert(*producer, metadata_requests.clone());
            }
            Fact::Second(second) => {
                let group = entry(&mut self.groups, &second.group);
                group.has_seconds = true;
                group.seconds.add(second.metadata_requests.as_ref(), add);
                group.bytes.add(second.metadata_request_bytes, |sum, bytes| *sum += bytes);
            }
            _ => {}
        }
    }

    /// The group's figures.
    pub(crate) fn finding(&self, group: &str) -> RequestFinding {
        let Some(group) = self.groups.get(group) else { return GroupRequests::default().finding() };
        group.finding()
    }

    /// Requests of each producer with a client of its own, of each shared client elsewhere; `None`: the client does not count them, or there is
    /// none.
    pub(crate) fn per_producer(&self, group: &str) -> Option<Vec<u64>> {
        let group = self.groups.get(group)?;
        let counts: Option<Vec<u64>> = group.clients().map(|reasons| reasons.map(sum)).collect();
        counts.filter(|_| group.is_told() && group.seconds.get().is_some())
    }

    /// Producers whose own count differs from that of their single facts; of clients that do not tell single requests nobody is asked.
    pub(crate) fn disagreeing(&self, group: &str) -> usize {
        let Some(group) = self.groups.get(group) else { return 0 };
        if !group.has_details() {
            return 0;
        }
        group.told.iter().filter(|(producer, told)| told.as_ref().map_or(0, sum) != group.seen.get(producer).map_or(0, sum)).count()
    }
}

impl GroupRequests {
    fn finding(&self) -> RequestFinding {
        let mut by_reason = ByReason::new();
        self.producers().filter_map(|(_, reasons)| reasons).for_each(|reasons| add(&mut by_reason, reasons));
        let is_counted = self.is_told() && self.seconds.get().is_some() && self.producers().all(|(_, reasons)| reasons.is_some());
        let has_details = self.has_details();
        if let Some(seconds) = self.seconds.get().filter(|_| !has_details && self.told.is_empty()) {
            by_reason.clone_from(seconds);
        }
        let has_reasons = is_counted && !by_reason.contains_key(UNKNOWN_REASON);
        // A client that does not say why may still tell each of its requests.
        let tells_each = has_details || is_counted && self.by_outcome.values().sum::<u64>() == sum(&by_reason);
        let counts = |of: fn(&ByReason) -> u64| Spread::of(self.clients().flatten().map(of).map(signed));
        RequestFinding {
            total: is_counted.then(|| sum(&by_reason)),
            by_reason,
            per_producer: counts(sum).filter(|_| is_counted),
            by_age_per_producer: counts(|reasons| reasons.get("age").copied().unwrap_or(0)).filter(|_| has_reasons),
            request_bytes: has_details.then_some(self.request_bytes),
            response_bytes: has_details.then_some(self.response_bytes),
            by_outcome: tells_each.then(|| self.by_outcome.clone()),
        }
    }

    /// Whether its producers tell each request with bytes and outcome.
    fn has_details(&self) -> bool {
        self.is_told() && self.seconds.get().is_some() && self.bytes.get().is_some()
    }

    /// Whether the group told anything: a group that did not asked for nothing that anybody knows of, which is not nothing.
    fn is_told(&self) -> bool {
        self.has_seconds || !self.told.is_empty() || !self.seen.is_empty()
    }

    /// What each client asked.
    fn clients(&self) -> impl Iterator<Item = Option<&ByReason>> {
        let is_first = |producer: ProducerIndex| self.share.is_none_or(|share| producer.0 % share == 0);
        self.producers().filter(move |(producer, _)| is_first(**producer)).map(|(_, reasons)| reasons)
    }

    fn producers(&self) -> impl Iterator<Item = (&ProducerIndex, Option<&ByReason>)> {
        let told = self.told.iter().map(|(producer, reasons)| (producer, reasons.as_ref()));
        let only_seen = self.seen.iter().filter(|(producer, _)| !self.told.contains_key(producer));
        told.chain(only_seen.map(|(producer, reasons)| (producer, Some(reasons))))
    }
}

fn add(sum: &mut ByReason, reasons: &ByReason) {
    for (reason, count) in reasons {
        *entry(sum, reason) += count;
    }
}

fn sum(reasons: &ByReason) -> u64 {
    reasons.values().sum()
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
