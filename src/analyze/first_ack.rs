//! From a producer's construction to its first acknowledged record, by stage.

use std::collections::BTreeMap;

use crate::analyze::findings::StageFinding;
use crate::analyze::spread::Spread;
use crate::plan::model::Stage;
use crate::record::fact::{Fact, Stamped};
use crate::record::files::millis;

#[derive(Clone, Debug, Default)]
struct Stages {
    connected_us: Vec<u64>,
    ready_us: Vec<u64>,
    metadata_us: Vec<u64>,
    producer_id_us: Vec<u64>,
    ack_us: Vec<u64>,
}

/// All groups' first acknowledgements.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstAcks {
    groups: BTreeMap<String, Stages>,
}

impl FirstAcks {
    /// Takes in a fact.
    pub(crate) fn fold(&mut self, stamped: &Stamped) {
        if let Fact::FirstAck { group, connected_us, ready_us, metadata_us, producer_id_us, ack_us, .. } = &stamped.fact {
            let stages = self.groups.entry(group.clone()).or_default();
            stages.connected_us.extend(connected_us);
            stages.ready_us.extend(ready_us);
            stages.metadata_us.extend(metadata_us);
            stages.producer_id_us.extend(producer_id_us);
            stages.ack_us.push(*ack_us);
        }
    }

    /// One stage of these groups' producers together, in milliseconds; `None`: no producer told of it.
    pub(crate) fn over<'n>(&self, groups: impl IntoIterator<Item = &'n str>, stage: Stage) -> Option<Spread> {
        let stages = groups.into_iter().filter_map(|group| self.groups.get(group));
        let values = stages.flat_map(|stages| match stage {
            Stage::Connected => &stages.connected_us,
            Stage::Ready => &stages.ready_us,
            Stage::Metadata => &stages.metadata_us,
            Stage::ProducerId => &stages.producer_id_us,
            Stage::Acknowledged => &stages.ack_us,
        });
        spread_ms(values)
    }

    /// The group's figures.
    pub(crate) fn finding(&self, group: &str) -> StageFinding {
        let Some(stages) = self.groups.get(group) else { return StageFinding::default() };
        StageFinding {
            connected: spread_ms(&stages.connected_us),
            ready: spread_ms(&stages.ready_us),
            metadata: spread_ms(&stages.metadata_us),
            producer_id: spread_ms(&stages.producer_id_us),
            acknowledged: spread_ms(&stages.ack_us),
        }
    }
}

fn spread_ms<'v>(values_us: impl IntoIterator<Item = &'v u64>) -> Option<Spread> {
    Spread::of(values_us.into_iter().map(|us| millis(i64::try_from(*us).unwrap_or(i64::MAX - 1000))))
}
