//! Metadata requests by time of the run: how many, how large and how slow they were in the baseline and after each step, whoever sent
//! them; and what the nodes' CPU had to do meanwhile.
//!
//! Figures are told by the second, so a step's time here is one in whole seconds (`parts::Parts`). The count over a producer's whole life is
//! `requests`'s. Called by [`Analysis`](super::Analysis).

mod clients;
mod cpu;
pub mod findings;
pub(crate) mod over;
mod sums;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use std::collections::BTreeSet;

use self::findings::StormFinding;
use super::parts::{Part, Parts};
use crate::record::fact::{Fact, Stamped};

/// All of it, as facts come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storm {
    pub(crate) clients: clients::Clients,
    pub(crate) cpu: cpu::Cpus,
    /// Histograms that could not be read: a damaged or foreign file.
    pub(crate) unreadable: u64,
}

impl Storm {
    /// Takes in a fact; `parts` have taken it in before.
    pub(crate) fn fold(&mut self, stamped: &Stamped, parts: &Parts) {
        match &stamped.fact {
            Fact::RunStarted(run) => self.clients.begin(run),
            Fact::Second(second) => {
                let part = parts.of(second.second);
                self.unreadable += u64::from(self.clients.producers(part, second).is_err());
            }
            Fact::RequesterSecond(second) => {
                let part = parts.of(second.second);
                self.unreadable += u64::from(self.clients.requesters(part, second).is_err());
            }
            Fact::MetadataRequest { group, producer, reason, round_trip_us, .. } => {
                let sent_us = stamped.time_us.saturating_sub(i64::try_from(*round_trip_us).unwrap_or(i64::MAX));
                let second = sent_us.div_euclid(super::window::SECOND_US);
                self.clients.request(parts.of(second), (group, *producer), reason, second);
            }
            Fact::Broker(seen) => self.cpu.fold(parts.of(seen.second), seen),
            _ => {}
        }
    }

    /// The figures of each part of the run in which there was a second, in their order.
    pub(crate) fn findings(&self) -> Vec<StormFinding> {
        let parts: BTreeSet<Part> = self.clients.parts().chain(self.cpu.parts()).collect();
        let finding = |part: Part| StormFinding {
            part: part.name().to_owned(),
            step: part.step().map(|step| step.0),
            seconds: self.clients.seconds(part),
            clients: self.clients.findings(part),
            brokers: self.cpu.findings(part),
        };
        parts.into_iter().map(finding).collect()
    }
}
