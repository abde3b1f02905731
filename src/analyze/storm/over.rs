//! One group's Metadata requests over several parts of the run together: what figures by window are taken from.

use std::collections::BTreeMap;

use super::clients::{Clients, Group, Sent, Sums};
use crate::analyze::load::merged;
use crate::analyze::parts::Part;
use crate::analyze::spread::Spread;
use crate::record::histogram::LatencyHistogram;

/// What a group asked, and was answered. `None`: its client cannot tell.
#[derive(Clone, Debug)]
pub(crate) struct Over {
    pub(crate) clients: u32,
    pub(crate) requests: Option<u64>,
    pub(crate) per_second_max: Option<u64>,
    pub(crate) by_reason: Option<BTreeMap<String, u64>>,
    pub(crate) request_bytes: Option<u64>,
    pub(crate) response_bytes: Option<u64>,
    /// `None` also without answers.
    pub(crate) round_trips: Option<LatencyHistogram>,
    /// Requests of each client; `None` also of requesters.
    pub(crate) per_client: Option<Vec<u64>>,
    pub(crate) per_client_second_max: Option<u64>,
    /// Most that any client sent for age alone.
    pub(crate) by_age_per_client_max: Option<u64>,
}

impl Clients {
    /// A group over the parts that `is_in` takes; `None`: it told nothing of them.
    pub(crate) fn over(&self, name: &str, is_requesters: bool, is_in: impl Fn(Part) -> bool) -> Option<Over> {
        let group = self.groups.iter().find(|group| group.name == name && group.is_requesters == is_requesters)?;
        let sums: Vec<&Sums> = group.parts.iter().filter(|(part, _)| is_in(**part)).map(|(_, sums)| sums).collect();
        (!sums.is_empty()).then(|| group.over(&sums))
    }

    /// Names of the groups of a kind, in plan order.
    pub(crate) fn names(&self, are_requesters: bool) -> impl Iterator<Item = &str> {
        self.groups.iter().filter(move |group| group.is_requesters == are_requesters).map(|group| group.name.as_str())
    }
}

impl Group {
    fn over(&self, parts: &[&Sums]) -> Over {
        let sum = |of: fn(&Sums) -> Option<u64>| parts.iter().map(|sums| of(sums)).sum::<Option<u64>>();
        let tells_each = parts.iter().all(|sums| self.tells_each(sums));
        let by_reason = by_reason(parts);
        let by_client = self.by_client(parts);
        let age_max = by_client.iter().map(|sent| sent.by_age).max().unwrap_or(0);
        let second_max = by_client.iter().map(|sent| sent.peak.max()).max().unwrap_or(0);
        Over {
            clients: self.clients,
            requests: sum(|sums| sums.requests.get().map(|(sum, _)| *sum)),
            per_second_max: parts.iter().map(|sums| sums.requests.get().map(|(_, peak)| peak.max())).max().flatten(),
            by_age_per_client_max: (tells_each && by_reason.is_some()).then_some(age_max),
            by_reason,
            request_bytes: sum(|sums| sums.request_bytes.get().copied()),
            response_bytes: sum(|sums| sums.response_bytes.get().map(|(sum, _)| *sum)),
            round_trips: merged(parts.iter().map(|sums| &sums.round_trips)).map(std::borrow::Cow::into_owned),
            per_client: tells_each.then(|| by_client.iter().map(|sent| sent.requests).collect()),
            per_client_second_max: tells_each.then_some(second_max),
        }
    }

    /// What each of its clients sent, those that sent nothing too.
    fn by_client(&self, parts: &[&Sums]) -> Vec<Sent> {
        let mut clients: BTreeMap<_, Sent> = BTreeMap::new();
        for (client, sent) in parts.iter().flat_map(|sums| &sums.by_client) {
            clients.entry(*client).or_default().add(*sent);
        }
        let silent = usize::try_from(self.clients).unwrap_or(usize::MAX).saturating_sub(clients.len());
        clients.into_values().chain(std::iter::repeat_n(Sent::default(), silent)).collect()
    }
}

fn by_reason(parts: &[&Sums]) -> Option<BTreeMap<String, u64>> {
    let mut all = BTreeMap::new();
    for sums in parts {
        for (reason, count) in sums.by_reason.get()? {
            *all.entry(reason.clone()).or_default() += count;
        }
    }
    Some(all)
}

/// The spread of counts; `None` without any.
pub(crate) fn spread(counts: impl IntoIterator<Item = u64>) -> Option<Spread> {
    Spread::of(counts.into_iter().map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
}
