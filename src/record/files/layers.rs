//! `layers.csv`: what each layer was seen to hold, one row per sighting, in the order in which it was told.
//!
//! The cells are those of the facts; nothing is concluded here (`analyze` does). Up to a bound per layer and second.

use std::path::PathBuf;

use super::append::CsvFile;
use super::layer_cells::{Row, rows_of};
use super::metadata::RowBudget;
use crate::ids::StepNumber;
use crate::record::error::Result;
use crate::record::fact::{Fact, Stamped};

pub(super) const COLUMNS: &str = "step,time_ms,not_before_ms,controller_time_ms,layer,source,node,group,producer,topic,topic_id,partition,\
partition_count,offset,leader,leader_epoch,partition_epoch,isr,elr,what";

/// Decides which sightings get a row, and of which step it is; the same facts in the same order give the same rows.
#[derive(Debug, Default)]
pub struct LayerRows {
    /// Steps without parts that change something, with the time of their request.
    steps: Vec<(i64, StepNumber)>,
    budget: RowBudget,
}

impl LayerRows {
    /// The rows of a fact.
    pub fn of(&mut self, stamped: &Stamped) -> Vec<[String; 20]> {
        if let Fact::StepRequested { step, parent, action, .. } = &stamped.fact {
            self.requested(stamped.time_us, *step, *parent, action);
        }
        let mut cells = Vec::new();
        rows_of(stamped, |row: &Row<'_>| {
            if self.budget.admits(row.layer.name(), row.time_us) {
                cells.push(row.cells(self.step_at(row.time_us)));
            }
        });
        cells
    }

    /// How many sightings have no row, because too many came in one second.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.budget.left_out()
    }

    /// A step whose part fires does nothing by itself; waiting changes nothing.
    fn requested(&mut self, time_us: i64, step: StepNumber, parent: Option<StepNumber>, action: &str) {
        self.steps.retain(|(_, known)| Some(*known) != parent);
        if action != "wait" {
            self.steps.push((time_us, step));
        }
    }

    fn step_at(&self, time_us: i64) -> Option<StepNumber> {
        self.steps.iter().rev().find(|(requested_us, _)| *requested_us <= time_us).map(|(_, step)| *step)
    }
}

#[derive(Debug)]
pub(super) struct LayersFile {
    table: CsvFile,
    rows: LayerRows,
}

impl LayersFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        Ok(Self { table: CsvFile::create(path, COLUMNS)?, rows: LayerRows::default() })
    }

    pub(super) fn left_out(&self) -> u64 {
        self.rows.left_out()
    }

    pub(super) fn write(&mut self, stamped: &Stamped) -> Result<()> {
        self.rows.of(stamped).into_iter().try_for_each(|row| self.table.row(row))
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::layer::{BrokerShows, ControllerChange};
    use crate::record::sample::layers::{Part, fenced, registered, topic_id};
    use crate::record::sample::{Pair, Sample};

    #[test]
    fn each_layer_has_its_cells() {
        const ID: &str = "00000000-0000-0000-0000-000000000007";
        let (pair, moved) = (Pair("steady", 0, 3), Part(3, 3, 5, &[1, 3]));
        let lost = Part(3, 0, 6, &[]);
        let topic = crate::ids::TopicName::from("orders");
        let removed = ControllerChange::TopicRemoved { topic: topic.clone(), topic_id: topic_id() };
        let unknown = BrokerShows::Topic { topic, topic_id: None, partition_count: 0, error: Some(3) };
        let unreadable = ControllerChange::NotTakenIn { reason: "record of kind 5 ends early".into() };
        let rows: [(Sample, &str); 17] = [
            (empty().record(511, fenced(2), 9_000), ",9000,,8995,detected,controller_log,2,,,,,,,511,,,,,,\"fenced, broker epoch 5\""),
            (
                empty().record(512, moved.changed(), 9_001),
                ",9001,,8996,detected,controller_log,,,,orders,ID,3,,512,3,5,52,1 3,,partition changed",
            ),
            (
                empty().record(513, lost.changed(), 9_001),
                ",9001,,8996,detected,controller_log,,,,orders,ID,3,,513,,6,60,,,\"partition changed, without a leader\"",
            ),
            (
                empty().record(514, registered(2), 9_001),
                ",9001,,8996,detected,controller_log,2,,,,,,,514,,,,,,\"registered: fenced, broker epoch 311\"",
            ),
            (empty().record(515, removed, 9_001), ",9001,,8996,detected,controller_log,,,,orders,ID,,,515,,,,,,topic removed"),
            (
                empty().record(516, unreadable, 9_001),
                ",9001,,8996,detected,controller_log,,,,,,,,516,,,,,,cannot be taken in: record of kind 5 ends early",
            ),
            (empty().committed(512, 9_012), ",9012,9002,,committed,controller_log,,,,,,,,512,,,,,,committed up to here"),
            (empty().followed(None, 9_013), ",9013,,,committed,controller_log,,,,,,,,,,,,,,no active controller: nobody answers"),
            (
                empty().at(9_013, Fact::ControllerTruncated { end_offset: 510, records: 3 }),
                ",9013,,,detected,controller_log,,,,,,,,510,,,,,,gone from here on: 3 records that were not committed",
            ),
            (empty().fetched(3, 512, 9_014), ",9014,9004,,fetched,describe_quorum,3,,,,,,,512,,,,,,voter has up to here"),
            (empty().shows_partition(1, moved, 9_020), ",9020,9010,,broker_cache,metadata,1,,,orders,ID,3,,,3,5,,1 3,,partition"),
            (empty().shows(1, unknown, 9_020), ",9020,9010,,broker_cache,metadata,1,,,orders,,,0,,,,,,,topic: error 3"),
            (empty().serves(3, moved, Some(74), 9_022), ",9022,9012,,servable,list_offsets,3,,,orders,,3,,,,5,,,,refuses: error 74"),
            (empty().learned(pair, moved, 1, 4, 9_100), ",9100,,,client_cache,client,1,steady,0,orders,ID,3,,,3,5,,,,leader"),
            (empty().routed(pair, 3, 9_101), ",9101,,,route,client,3,steady,0,orders,,3,,,,,,,,requests go here now"),
            (
                empty().delivered(pair, 3, 40, 9_104),
                ",9104,,,delivery,client,3,steady,0,orders,,3,,,,,,,,first ack after a change; due at 40",
            ),
            (
                empty().gap(pair, 50, Some(9_104)),
                ",9104,5,,delivery,client,,steady,0,orders,,3,,,,,,,,served again; a record has waited since 50",
            ),
        ];
        for (stream, expected) in rows {
            let rows: Vec<_> = stream.facts.iter().flat_map(|fact| LayerRows::default().of(fact)).collect();
            let mut table = csv::Writer::from_writer(Vec::new());
            rows.iter().for_each(|row| table.write_record(row).unwrap());
            let text = String::from_utf8(table.into_inner().unwrap()).unwrap();
            assert_eq!(text.trim_end(), expected.replace("ID", ID));
        }
    }

    #[test]
    fn an_image_has_a_row_per_broker_and_partition() {
        let rows: Vec<_> = empty().image(&[Part(0, 1, 4, &[1, 2])], -1_000).facts.iter().flat_map(|f| LayerRows::default().of(f)).collect();
        let words: Vec<&str> = rows.iter().filter(|row| row[4] == "detected").map(|row| row[19].as_str()).collect();
        assert_eq!(
            words,
            ["image: unfenced, broker epoch 5", "image: unfenced, broker epoch 5", "image: unfenced, broker epoch 5", "image"]
        );
    }

    fn empty() -> Sample {
        Sample { facts: Vec::new() }
    }

    fn steps_of(stream: &Sample) -> Vec<String> {
        let mut rows = LayerRows::default();
        stream.facts.iter().flat_map(|fact| rows.of(fact)).map(|row| row[0].clone()).collect()
    }

    #[test]
    fn a_row_is_of_the_latest_step_without_parts_that_changes_something() {
        let stream = empty()
            .committed(3, 9_000)
            .child(1, None, None, "rolling", "all", 10_000)
            .committed(4, 10_000)
            .child(2, Some(1), Some(1), "kill", "1", 10_000)
            .committed(5, 10_001)
            .child(3, Some(1), Some(1), "wait", "4s", 11_000)
            .committed(6, 12_000)
            .child(4, Some(1), Some(1), "start", "1", 15_000)
            .committed(7, 14_999)
            .committed(8, 15_000);
        assert_eq!(steps_of(&stream), ["", "1", "2", "2", "2", "4"]);
    }

    #[test]
    fn rows_are_bounded_per_layer_and_second_and_the_rest_is_counted() {
        const ROWS_MAX: i64 = super::super::METADATA_ROWS_PER_SECOND_MAX as i64;
        let mut stream = empty();
        for offset in 0..ROWS_MAX + 7 {
            stream = stream.committed(offset, 500);
        }
        let stream = stream.fetched(1, 5, 500).committed(ROWS_MAX + 8, 1_000);
        let mut rows = LayerRows::default();
        let written: usize = stream.facts.iter().map(|fact| rows.of(fact).len()).sum();
        assert_eq!((written as i64, rows.left_out()), (ROWS_MAX + 2, 7));
    }
}
