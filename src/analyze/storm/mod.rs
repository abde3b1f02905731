//! Metadata requests by time of the run: how many, how large and how slow they were in the baseline and after each step, whoever sent
//! them; and what the nodes' CPU had to do meanwhile.
//!
//! Figures are told by the second, so a step's time here is one in whole seconds (`parts::Parts`). The count over a producer's whole life is
//! `requests`'s. Called by [`Analysis`](super::Analysis).

pub(crate) mod clients;
mod cpu;
pub mod findings;
pub(crate) mod over;
mod sums;
#[cfg(test)]
mod tests;
pub(crate) mod words;

use std::collections::BTreeSet;

use self::clients::Covered;
use self::findings::StormFinding;
use super::parts::{Part, Parts};
use super::window::SECOND_US;
use crate::record::fact::{Fact, Phase, Stamped};

/// All of it, as facts come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Storm {
    pub(crate) clients: clients::Clients,
    pub(crate) cpu: cpu::Cpus,
    load_began_us: Option<i64>,
    load_ended_us: Option<i64>,
    /// Histograms that could not be read: a damaged or foreign file.
    pub(crate) unreadable: u64,
}

impl Storm {
    /// Takes in a fact; `parts` have taken it in before.
    pub(crate) fn fold(&mut self, stamped: &Stamped, parts: &Parts) {
        match &stamped.fact {
            Fact::RunStarted(run) => {
                self.clients.begin(run);
                self.load_began_us = Some(-run.phases_us[0]);
            }
            Fact::PhaseStarted { phase: Phase::Drain } => self.load_ended_us = Some(stamped.time_us),
            Fact::Second(second) => {
                self.covered(second.second, stamped.time_us, parts);
                self.unreadable += u64::from(self.clients.producers(parts, second).is_err());
            }
            Fact::RequesterSecond(second) => {
                self.covered(second.second, stamped.time_us, parts);
                self.unreadable += u64::from(self.clients.requesters(parts.of(second.second), second).is_err());
            }
            Fact::MetadataRequest { group, producer, reason, round_trip_us, .. } => {
                let sent_us = stamped.time_us.saturating_sub(i64::try_from(*round_trip_us).unwrap_or(i64::MAX));
                let second = sent_us.div_euclid(SECOND_US);
                self.clients.request(parts, (group, *producer), reason, second);
            }
            Fact::Broker(seen) => self.cpu.fold(parts.of(seen.second), seen),
            _ => {}
        }
    }

    /// A second that was told at this moment: as much of it as had passed then, since the load began.
    fn covered(&mut self, second: i64, told_us: i64, parts: &Parts) {
        let began_us = self.load_began_us.map_or(second * SECOND_US, |began_us| began_us.max(second * SECOND_US));
        let passed_us = |until_us: i64| (until_us.min((second + 1) * SECOND_US) - began_us).max(0);
        let told_us = passed_us(told_us);
        let of_load_us = self.load_ended_us.map_or(told_us, |ended_us| told_us.min(passed_us(ended_us)));
        self.clients.covered(parts.of(second), second, Covered { told_us, of_load_us });
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
