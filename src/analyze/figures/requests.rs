//! Metadata requests of producers and of requesters. Of the whole run, producers' own totals count; of a window, its seconds.

use super::cut::{Cut, count, float};
use super::load::of;
use super::{Selection, Unknown};
use crate::analyze::findings::{RequestFinding, RequesterFinding};
use crate::analyze::load::merged;
use crate::analyze::spread::Spread;
use crate::analyze::storm::over::{Over, spread};
use crate::plan::model::{Asked, Asker};
use crate::record::fact::UNKNOWN_REASON;

impl Cut<'_> {
    pub(super) fn requests(&self, asker: Asker, what: Asked) -> Result<f64, Unknown> {
        match what {
            Asked::Total => self.summed(asker, |finding| finding.total, |over| over.requests),
            Asked::RequestBytes => self.summed(asker, |finding| finding.request_bytes, |over| over.request_bytes),
            Asked::ResponseBytes => self.summed(asker, |finding| finding.response_bytes, |over| over.response_bytes),
            Asked::PerSecond => Ok(self.sum(asker, |over| over.requests)? / self.seconds_told()?),
            Asked::ResponseBytesPerSecond => Ok(self.sum(asker, |over| over.response_bytes)? / self.seconds_told()?),
            Asked::PerSecondMax => self.greatest(asker, |over| over.per_second_max),
            Asked::PerSecondPer1000Clients => {
                let clients = self.sum(asker, |over| Some(u64::from(over.clients)))?;
                let per_second = self.sum(asker, |over| over.requests)? / self.seconds_told()?;
                if clients > 0.0 { Ok(1000.0 * per_second / clients) } else { Err(Unknown::NotSeen) }
            }
            Asked::RoundTrip(quantile) => {
                let times = merged(self.over(asker)?.iter().map(|over| &over.round_trips)).ok_or(Unknown::NotSeen)?;
                of(&times, quantile).ok_or(Unknown::NotSeen)
            }
        }
    }

    pub(super) fn requests_by_reason(&self, reason: &str) -> Result<f64, Unknown> {
        let of_run = |finding: &RequestFinding| {
            let is_told = finding.total.is_some() && !finding.by_reason.contains_key(UNKNOWN_REASON);
            is_told.then(|| finding.by_reason.get(reason).copied().unwrap_or(0))
        };
        self.summed(Asker::Producers, of_run, |over| Some(over.by_reason.as_ref()?.get(reason).copied().unwrap_or(0)))
    }

    /// Requests of each producer.
    pub(super) fn per_producer(&self) -> Result<Spread, Unknown> {
        let counts: Option<Vec<Vec<u64>>> = if self.is_whole()? {
            self.groups().map(|group| self.measured.analysis.requests.per_producer(&group.name)).collect()
        } else {
            self.over(Asker::Producers)?.iter().map(|over| over.per_client.clone()).collect()
        };
        spread(counts.ok_or(Unknown::NotTold)?.into_iter().flatten()).ok_or(Unknown::NotTold)
    }

    pub(super) fn by_age_per_producer(&self) -> Result<f64, Unknown> {
        if !self.is_whole()? {
            return self.greatest(Asker::Producers, |over| over.by_age_per_client_max);
        }
        let spreads: Option<Vec<Spread>> = self.groups().map(|group| group.metadata_requests.by_age_per_producer).collect();
        spreads.and_then(|spreads| spreads.into_iter().map(|spread| spread.max).max()).map(float).ok_or(Unknown::NotTold)
    }

    /// A count of requesters over the whole run.
    pub(super) fn of_requesters(&self, of: fn(&RequesterFinding) -> u64) -> Result<f64, Unknown> {
        let findings = self.measured.findings.requesters.iter().filter(|finding| self.group.is_none_or(|name| finding.name == name));
        let counts: Vec<u64> = findings.map(of).collect();
        if counts.is_empty() { Err(Unknown::NotSeen) } else { Ok(count(counts.iter().sum())) }
    }

    /// The greatest of any group's.
    pub(super) fn greatest(&self, asker: Asker, of: fn(&Over) -> Option<u64>) -> Result<f64, Unknown> {
        let values: Option<Vec<u64>> = self.over(asker)?.iter().map(of).collect();
        values.and_then(|values| values.into_iter().max()).map(count).ok_or(Unknown::NotTold)
    }

    /// The sum over groups: of the whole run by what producers tell of their lives, else by seconds.
    fn summed(
        &self,
        asker: Asker,
        of_run: impl Fn(&RequestFinding) -> Option<u64>,
        of_window: impl Fn(&Over) -> Option<u64>,
    ) -> Result<f64, Unknown> {
        if asker == Asker::Requesters || !self.is_whole()? {
            return self.sum(asker, of_window);
        }
        let values: Option<Vec<u64>> = self.groups().map(|group| of_run(&group.metadata_requests)).collect();
        values.filter(|values| !values.is_empty()).map(|values| count(values.iter().sum())).ok_or(Unknown::NotTold)
    }

    fn sum(&self, asker: Asker, of: impl Fn(&Over) -> Option<u64>) -> Result<f64, Unknown> {
        let sum: Option<u64> = self.over(asker)?.iter().map(of).sum();
        sum.map(count).ok_or(Unknown::NotTold)
    }

    /// The groups that told anything of the window.
    fn over(&self, asker: Asker) -> Result<&[Over], Unknown> {
        let selection = self.selection()?;
        let cell = &self.asked[asker as usize];
        match cell.get_or_init(|| self.gather_asked(asker, selection)) {
            Ok(over) => Ok(over),
            Err(unknown) => Err(unknown.clone()),
        }
    }

    fn gather_asked(&self, asker: Asker, selection: &Selection) -> Result<Vec<Over>, Unknown> {
        let (is_in, clients, are_requesters) = (selection.parts()?, &self.measured.analysis.storm.clients, asker == Asker::Requesters);
        let names = clients.names(are_requesters).filter(|name| self.group.is_none_or(|group| group == *name));
        let over: Vec<Over> = names.filter_map(|name| clients.over(name, are_requesters, is_in)).collect();
        if over.is_empty() { Err(Unknown::NotSeen) } else { Ok(over) }
    }
}
