//! Records by what became of them, and their latencies.

use super::Unknown;
use super::cut::{Cut, count, ms};
use crate::analyze::load::{GroupLoad, merged};
use crate::plan::model::{Fate, Quantile, Since};
use crate::record::fact::Totals;
use crate::record::histogram::LatencyHistogram;

/// Latencies of acknowledged records; `None` without any.
#[derive(Debug)]
pub(super) struct Latencies {
    response: Option<LatencyHistogram>,
    service: Option<LatencyHistogram>,
}

impl Cut<'_> {
    pub(super) fn records(&self, fate: Fate) -> Result<f64, Unknown> {
        let totals = self.totals()?;
        Ok(count(match fate {
            Fate::Due => totals.due,
            Fate::Sent => totals.sent,
            Fate::Ok => totals.ok,
            Fate::Failed => totals.failed,
            Fate::Indeterminate => totals.indeterminate,
        }))
    }

    pub(super) fn failed_percent(&self) -> Result<f64, Unknown> {
        let totals = self.totals()?;
        let known = totals.ok + totals.failed + totals.indeterminate;
        if known == 0 { Err(Unknown::NotSeen) } else { Ok(100.0 * count(totals.failed) / count(known)) }
    }

    pub(super) fn ok_per_second(&self) -> Result<f64, Unknown> {
        Ok(count(self.totals_of_seconds()?.ok) / self.seconds_of_load()?)
    }

    pub(super) fn latency(&self, since: Since, quantile: Quantile) -> Result<f64, Unknown> {
        let latencies = self.latencies()?;
        let latency = match since {
            Since::Due => &latencies.response,
            Since::Sent => &latencies.service,
        };
        latency.as_ref().and_then(|latency| of(latency, quantile)).ok_or(Unknown::NotSeen)
    }

    fn totals(&self) -> Result<Totals, Unknown> {
        if !self.is_whole()? {
            return self.totals_of_seconds();
        }
        let mut sum = Totals::default();
        self.groups().for_each(|group| sum.add(&group.totals));
        self.groups().next().map(|_| sum).ok_or(Unknown::NotSeen)
    }

    fn totals_of_seconds(&self) -> Result<Totals, Unknown> {
        let is_in = self.selection()?.parts()?;
        let loads = self.groups().filter_map(|group| self.measured.analysis.loads.get(&group.name));
        let mut parts = loads.flat_map(GroupLoad::parts).filter(|(part, _)| is_in(*part)).peekable();
        parts.peek().ok_or(Unknown::NotSeen)?;
        let mut sum = Totals::default();
        parts.for_each(|(_, load)| sum.add(&load.counts));
        Ok(sum)
    }

    fn latencies(&self) -> Result<&Latencies, Unknown> {
        let is_in = self.selection()?.parts()?;
        Ok(self.latencies.get_or_init(|| {
            let loads = || {
                let groups = self.groups().filter_map(|group| self.measured.analysis.loads.get(&group.name));
                groups.flat_map(GroupLoad::parts).filter(|(part, _)| is_in(*part)).map(|(_, load)| load)
            };
            Latencies {
                response: merged(loads().map(|load| &load.response_ok)).map(std::borrow::Cow::into_owned),
                service: merged(loads().map(|load| &load.service_ok)).map(std::borrow::Cow::into_owned),
            }
        }))
    }
}

/// A quantile in milliseconds; `None` without values.
pub(super) fn of(latency: &LatencyHistogram, quantile: Quantile) -> Option<f64> {
    match quantile {
        Quantile::Max => (!latency.is_empty()).then(|| ms(latency.max_us())),
        quantile => latency.quantile_us(quantile.share()).map(ms),
    }
}
