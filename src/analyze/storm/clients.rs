//! Metadata requests of each group in each part of the run.

use std::collections::BTreeMap;

use super::findings::ClientFinding;
use super::sums::Peak;
use crate::analyze::known::Known;
use crate::analyze::load::{merge, quantiles};
use crate::analyze::parts::{Part, Parts};
use crate::analyze::spread::Spread;
use crate::ids::ProducerIndex;
use crate::record::fact::{GroupSecond, RequesterSecond, RunStarted, UNKNOWN_REASON};
use crate::record::histogram::{HistogramError, LatencyHistogram};

/// All groups, in plan order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clients {
    pub(super) groups: Vec<Group>,
    /// Seconds that any group told.
    seconds: BTreeMap<Part, BTreeMap<i64, Covered>>,
}

/// How much of a second was told: of the last one, less than a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Covered {
    pub(crate) told_us: i64,
    /// Before the load ended: records of the drain became due before.
    pub(crate) of_load_us: i64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) is_requesters: bool,
    pub(super) clients: u32,
    pub(super) parts: BTreeMap<Part, Sums>,
    /// The last second that it told: which part the seconds until then belong to is known.
    told_until: Option<i64>,
    /// Requests of later seconds: a step may still begin in them.
    waiting: BTreeMap<i64, BTreeMap<ProducerIndex, Sent>>,
}

/// One group in one part.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) requests: Known<(u64, Peak)>,
    pub(super) by_reason: Known<BTreeMap<String, u64>>,
    pub(super) request_bytes: Known<u64>,
    pub(super) response_bytes: Known<(u64, Peak)>,
    pub(super) round_trips: Option<LatencyHistogram>,
    /// Of producers that sent any and tell each.
    pub(super) by_client: BTreeMap<ProducerIndex, Sent>,
}

/// What one producer sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) requests: u64,
    pub(super) by_age: u64,
    pub(super) peak: Peak,
}

impl Sent {
    /// One more.
    fn request(&mut self, reason: &str, second: i64) {
        self.requests += 1;
        self.by_age += u64::from(reason == "age");
        self.peak.add(second, 1);
    }

    /// Adds what the same producer sent in another part.
    pub(super) fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.by_age += other.by_age;
        self.peak = self.peak.greater(other.peak);
    }
}

/// What a second adds.
#[derive(Clone, Copy, Debug)]
struct More<'a> {
    second: i64,
    requests: Option<u64>,
    by_reason: Option<&'a BTreeMap<String, u64>>,
    request_bytes: Option<u64>,
    response_bytes: Option<u64>,
}

impl Clients {
    /// Learns the plan's groups.
    pub(super) fn begin(&mut self, run: &RunStarted) {
        let group = |name: &str, is_requesters, clients| Group { name: name.to_owned(), is_requesters, clients, ..Group::default() };
        self.groups.extend(run.groups.iter().map(|info| group(&info.name, false, info.clients())));
        self.groups.extend(run.requesters.iter().map(|info| group(&info.name, true, info.requesters)));
    }

    /// Takes a second of producers in.
    pub(super) fn producers(&mut self, parts: &Parts, second: &GroupSecond) -> Result<(), HistogramError> {
        let more = More {
            second: second.second,
            requests: second.metadata_requests.as_ref().map(|by_reason| by_reason.values().sum()),
            by_reason: second.metadata_requests.as_ref().filter(|by_reason| !by_reason.contains_key(UNKNOWN_REASON)),
            request_bytes: second.metadata_request_bytes,
            response_bytes: second.metadata_response_bytes,
        };
        let round_trips = second.histogram("metadata_round_trip")?;
        self.add(parts.of(second.second), (&second.group, false), more, round_trips)?;
        if let Some(group) = self.group(&second.group, false) {
            group.told(second.second, parts);
        }
        Ok(())
    }

    /// Takes a second of requesters in.
    pub(super) fn requesters(&mut self, part: Part, second: &RequesterSecond) -> Result<(), HistogramError> {
        let more = More {
            second: second.second,
            requests: Some(second.sent),
            by_reason: None,
            request_bytes: Some(second.request_bytes),
            response_bytes: Some(second.response_bytes),
        };
        self.add(part, (&second.group, true), more, second.round_trips()?)
    }

    fn add(
        &mut self,
        part: Part,
        (name, is_requesters): (&str, bool),
        more: More<'_>,
        round_trips: Option<LatencyHistogram>,
    ) -> Result<(), HistogramError> {
        let Some(group) = self.group(name, is_requesters) else { return Ok(()) };
        let sums = group.parts.entry(part).or_default();
        let count = |(sum, peak): &mut (u64, Peak), count| {
            *sum += count;
            peak.add(more.second, count);
        };
        sums.requests.add(more.requests, count);
        sums.by_reason
            .add(more.by_reason, |sum, more| more.iter().for_each(|(reason, count)| *sum.entry(reason.clone()).or_default() += count));
        sums.request_bytes.add(more.request_bytes, |sum, bytes| *sum += bytes);
        sums.response_bytes.add(more.response_bytes, count);
        merge(&mut sums.round_trips, round_trips)
    }

    /// A second that some group told.
    pub(super) fn covered(&mut self, part: Part, second: i64, covered: Covered) {
        let most = self.seconds.entry(part).or_default().entry(second).or_default();
        most.told_us = most.told_us.max(covered.told_us);
        most.of_load_us = most.of_load_us.max(covered.of_load_us);
    }

    /// A producer's request, by the second in which it was sent.
    pub(super) fn request(&mut self, parts: &Parts, (group, producer): (&str, ProducerIndex), reason: &str, second: i64) {
        let Some(group) = self.group(group, false) else { return };
        let by_client = if group.told_until.is_some_and(|told| second <= told) {
            &mut group.parts.entry(parts.of(second)).or_default().by_client
        } else {
            group.waiting.entry(second).or_default()
        };
        by_client.entry(producer).or_default().request(reason, second);
    }

    /// A group of producers, or of requesters: both may have one of the same name.
    fn group(&mut self, name: &str, is_requesters: bool) -> Option<&mut Group> {
        self.groups.iter_mut().find(|known| known.name == name && known.is_requesters == is_requesters)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = Part> {
        self.seconds.keys().copied()
    }

    /// How many seconds of a part were told.
    pub(crate) fn seconds(&self, part: Part) -> u64 {
        self.seconds.get(&part).map_or(0, |seconds| seconds.len() as u64)
    }

    /// How much of these parts was told.
    pub(crate) fn covered_in(&self, is_in: impl Fn(Part) -> bool) -> Covered {
        let of_parts = self.seconds.iter().filter(|(part, _)| is_in(**part)).flat_map(|(_, seconds)| seconds.values());
        of_parts.fold(Covered::default(), |sum, more| Covered {
            told_us: sum.told_us + more.told_us,
            of_load_us: sum.of_load_us + more.of_load_us,
        })
    }

    /// The groups that told of this part.
    pub(super) fn findings(&self, part: Part) -> Vec<ClientFinding> {
        self.groups.iter().filter_map(|group| Some(group.finding(group.parts.get(&part)?))).collect()
    }
}

impl Group {
    /// Once a second is told, all steps that began in it are known.
    fn told(&mut self, second: i64, parts: &Parts) {
        self.told_until = self.told_until.max(Some(second));
        let later = self.waiting.split_off(&(second + 1));
        for (second, by_client) in std::mem::replace(&mut self.waiting, later) {
            let known = &mut self.parts.entry(parts.of(second)).or_default().by_client;
            by_client.into_iter().for_each(|(client, sent)| known.entry(client).or_default().add(sent));
        }
    }

    /// Bytes are known only of clients that tell each of their requests.
    pub(super) fn tells_each(&self, sums: &Sums) -> bool {
        !self.is_requesters && sums.requests.get().is_some() && sums.request_bytes.get().is_some()
    }

    fn finding(&self, sums: &Sums) -> ClientFinding {
        let requests = sums.requests.get();
        let response_bytes = sums.response_bytes.get();
        let tells_each = self.tells_each(sums);
        let counts = sums.by_client.values().map(|sent| i64::try_from(sent.requests).unwrap_or(i64::MAX));
        let silent = usize::try_from(self.clients).unwrap_or(usize::MAX).saturating_sub(sums.by_client.len());
        ClientFinding {
            group: self.name.clone(),
            is_requesters: self.is_requesters,
            clients: self.clients,
            requests: requests.map(|(sum, _)| *sum),
            requests_per_second_max: requests.map(|(_, peak)| peak.max()),
            per_client: Spread::of(counts.chain(std::iter::repeat_n(0, silent))).filter(|_| tells_each),
            per_client_second_max: tells_each.then(|| sums.by_client.values().map(|sent| sent.peak.max()).max().unwrap_or(0)),
            request_bytes: sums.request_bytes.get().copied(),
            response_bytes: response_bytes.map(|(sum, _)| *sum),
            response_bytes_per_second_max: response_bytes.map(|(_, peak)| peak.max()),
            round_trip: quantiles(sums.round_trips.as_ref()),
        }
    }
}
