//! From a fact about a layer to the cells of `layers.csv`.

use super::{cell, millis};
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, ProducerIndex, StepNumber, TopicId, TopicName};
use crate::record::fact::{Fact, Stamped};
use crate::record::layer::{BrokerShows, BrokerState, ControllerChange, ControllerImage, ControllerRecord, Layer, PartitionState};

/// Who saw it.
#[derive(Clone, Copy, Debug)]
enum Source {
    ControllerLog,
    DescribeQuorum,
    Metadata,
    ListOffsets,
    Client,
}

impl Source {
    fn name(self) -> &'static str {
        match self {
            Self::ControllerLog => "controller_log",
            Self::DescribeQuorum => "describe_quorum",
            Self::Metadata => "metadata",
            Self::ListOffsets => "list_offsets",
            Self::Client => "client",
        }
    }
}

/// One sighting; what does not apply, or was not told, is `None`.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) time_us: i64,
    pub(super) layer: Layer,
    source: Source,
    not_before_us: Option<i64>,
    controller_time_us: Option<i64>,
    node: Option<BrokerId>,
    group: &'a str,
    producer: Option<ProducerIndex>,
    topic: Option<&'a TopicName>,
    topic_id: Option<TopicId>,
    partition: Option<PartitionIndex>,
    partition_count: Option<u32>,
    offset: Option<i64>,
    leader: Option<BrokerId>,
    leader_epoch: Option<LeaderEpoch>,
    partition_epoch: Option<i32>,
    isr: &'a [BrokerId],
    elr: &'a [BrokerId],
    what: String,
}

impl<'a> Row<'a> {
    fn new(time_us: i64, layer: Layer, source: Source) -> Self {
        Self {
            time_us,
            layer,
            source,
            not_before_us: None,
            controller_time_us: None,
            node: None,
            group: "",
            producer: None,
            topic: None,
            topic_id: None,
            partition: None,
            partition_count: None,
            offset: None,
            leader: None,
            leader_epoch: None,
            partition_epoch: None,
            isr: &[],
            elr: &[],
            what: String::new(),
        }
    }

    /// A sighting by a producer.
    fn of_client(time_us: i64, layer: Layer, group: &'a str, producer: ProducerIndex, topic: &'a TopicName) -> Self {
        Self { group, producer: Some(producer), topic: Some(topic), ..Self::new(time_us, layer, Source::Client) }
    }

    fn partition(self, state: &'a PartitionState) -> Self {
        Self {
            topic: Some(&state.topic),
            topic_id: Some(state.topic_id),
            partition: Some(state.partition),
            leader: state.leader,
            leader_epoch: Some(state.leader_epoch),
            partition_epoch: Some(state.partition_epoch),
            isr: &state.isr,
            elr: &state.elr,
            ..self
        }
    }

    fn put_shown(&mut self, shows: &'a BrokerShows) {
        let error_words = |error: &Option<i16>| error.map_or_else(String::new, |code| format!(": error {code}"));
        match shows {
            BrokerShows::Nothing { why } => self.what = format!("no answer: {why}"),
            BrokerShows::Brokers { brokers } => self.what = format!("brokers {}", nodes(brokers)),
            BrokerShows::Topic { topic, topic_id, partition_count, error } => {
                (self.topic, self.topic_id, self.partition_count) = (Some(topic), *topic_id, Some(*partition_count));
                self.what = format!("topic{}", error_words(error));
            }
            BrokerShows::Partition { topic, topic_id, partition, leader, leader_epoch, isr, offline, error } => {
                (self.topic, self.topic_id, self.partition) = (Some(topic), *topic_id, Some(*partition));
                (self.leader, self.leader_epoch, self.isr) = (*leader, *leader_epoch, isr);
                let offline = if offline.is_empty() { String::new() } else { format!(", offline {}", nodes(offline)) };
                self.what = format!("partition{offline}{}", error_words(error));
            }
        }
    }

    pub(super) fn cells(&self, step: Option<StepNumber>) -> [String; 20] {
        [
            cell(step),
            millis(self.time_us).to_string(),
            cell(self.not_before_us.map(millis)),
            cell(self.controller_time_us.map(millis)),
            self.layer.name().to_owned(),
            self.source.name().to_owned(),
            cell(self.node),
            self.group.to_owned(),
            cell(self.producer.map(|producer| producer.0)),
            cell(self.topic),
            cell(self.topic_id.map(|id| id.0)),
            cell(self.partition),
            cell(self.partition_count),
            cell(self.offset),
            cell(self.leader),
            cell(self.leader_epoch.map(|epoch| epoch.0)),
            cell(self.partition_epoch),
            nodes(self.isr),
            nodes(self.elr),
            self.what.clone(),
        ]
    }
}

/// Several with spaces between.
fn nodes(nodes: &[BrokerId]) -> String {
    nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Gives each row of a fact to `take`; none for facts that are not about layers.
pub(super) fn rows_of<'a>(stamped: &'a Stamped, mut take: impl FnMut(&Row<'a>)) {
    let time_us = stamped.time_us;
    match &stamped.fact {
        Fact::ControllerImage(image) => image_rows(time_us, image, take),
        Fact::ControllerRecord(record) => take(&record_row(time_us, record)),
        Fact::ControllerCommitted { high_watermark, not_before_us } => take(&Row {
            not_before_us: *not_before_us,
            offset: Some(high_watermark - 1),
            what: "committed up to here".to_owned(),
            ..Row::new(time_us, Layer::Committed, Source::ControllerLog)
        }),
        Fact::ControllerTruncated { end_offset, records } => take(&Row {
            offset: Some(*end_offset),
            what: format!("gone from here on: {records} records that were not committed"),
            ..Row::new(time_us, Layer::Detected, Source::ControllerLog)
        }),
        Fact::ControllerFollowed { node, epoch, detail } => {
            let found = node.map_or_else(|| "no active controller".to_owned(), |node| format!("active controller {node}"));
            let epoch = epoch.map_or_else(String::new, |epoch| format!(" in epoch {}", epoch.0));
            let detail = if detail.is_empty() { String::new() } else { format!(": {detail}") };
            take(&Row {
                node: *node,
                what: format!("{found}{epoch}{detail}"),
                ..Row::new(time_us, Layer::Committed, Source::ControllerLog)
            });
        }
        Fact::NodeFetched { node, is_voter, log_end_offset, not_before_us } => take(&Row {
            not_before_us: *not_before_us,
            node: Some(*node),
            offset: Some(log_end_offset - 1),
            what: if *is_voter { "voter has up to here" } else { "observer has up to here" }.to_owned(),
            ..Row::new(time_us, Layer::Fetched, Source::DescribeQuorum)
        }),
        Fact::BrokerShows { node, not_before_us, shows } => {
            let mut row = Row::new(time_us, Layer::BrokerCache, Source::Metadata);
            (row.node, row.not_before_us) = (Some(*node), *not_before_us);
            row.put_shown(shows);
            take(&row);
        }
        Fact::Servable { node, topic, partition, leader_epoch, not_before_us, error, high_watermark } => {
            let high_watermark = high_watermark.map_or_else(String::new, |at| format!(", high watermark {at}"));
            let answer = error.map_or_else(|| "serves".to_owned(), |code| format!("refuses: error {code}"));
            take(&Row {
                not_before_us: *not_before_us,
                node: Some(*node),
                topic: Some(topic),
                partition: Some(*partition),
                leader_epoch: Some(*leader_epoch),
                what: format!("{answer}{high_watermark}"),
                ..Row::new(time_us, Layer::Servable, Source::ListOffsets)
            });
        }
        _ => client_rows(stamped, take),
    }
}

fn image_rows<'a>(time_us: i64, image: &'a ControllerImage, mut take: impl FnMut(&Row<'a>)) {
    let row = || Row { offset: Some(image.offset), ..Row::new(time_us, Layer::Detected, Source::ControllerLog) };
    for state in &image.brokers {
        take(&Row { node: Some(state.broker), what: format!("image: {}", broker_words(state)), ..row() });
    }
    for state in &image.partitions {
        take(&Row { what: format!("image{}", remarks(state)), ..row() }.partition(state));
    }
}

fn record_row(time_us: i64, record: &ControllerRecord) -> Row<'_> {
    let row = Row {
        offset: Some(record.offset),
        controller_time_us: Some(record.controller_time_us),
        ..Row::new(time_us, Layer::Detected, Source::ControllerLog)
    };
    match &record.change {
        ControllerChange::BrokerRegistered(state) => {
            Row { node: Some(state.broker), what: format!("registered: {}", broker_words(state)), ..row }
        }
        ControllerChange::BrokerChanged(state) => Row { node: Some(state.broker), what: broker_words(state), ..row },
        ControllerChange::BrokerUnregistered { broker } => Row { node: Some(*broker), what: "unregistered".to_owned(), ..row },
        ControllerChange::TopicMade { topic, topic_id } => {
            Row { topic: Some(topic), topic_id: Some(*topic_id), what: "topic made".to_owned(), ..row }
        }
        ControllerChange::TopicRemoved { topic, topic_id } => {
            Row { topic: Some(topic), topic_id: Some(*topic_id), what: "topic removed".to_owned(), ..row }
        }
        ControllerChange::PartitionMade(state) => Row { what: format!("partition made{}", remarks(state)), ..row }.partition(state),
        ControllerChange::PartitionChanged(state) => Row { what: format!("partition changed{}", remarks(state)), ..row }.partition(state),
        ControllerChange::Config { kind, name, key, value } => {
            let value = value.as_deref().map_or_else(|| "removed".to_owned(), |value| format!("= {value}"));
            Row { what: format!("{kind} {name}: {key} {value}"), ..row }
        }
        ControllerChange::FeatureLevel { feature, level } => Row { what: format!("feature {feature} at level {level}"), ..row },
        ControllerChange::ControllerElected { node } => {
            let what = format!("active controller in epoch {}", record.controller_epoch.0);
            Row { node: Some(*node), what, ..row }
        }
        ControllerChange::NotTakenIn { reason } => Row { what: format!("cannot be taken in: {reason}"), ..row },
    }
}

/// `fenced, broker epoch 311`.
fn broker_words(state: &BrokerState) -> String {
    let state_words = match (state.is_fenced, state.in_controlled_shutdown) {
        (true, false) => "fenced",
        (true, true) => "fenced, in controlled shutdown",
        (false, true) => "in controlled shutdown",
        (false, false) => "unfenced",
    };
    format!("{state_words}, broker epoch {}", state.broker_epoch)
}

/// What no column has.
fn remarks(state: &PartitionState) -> &'static str {
    match (state.leader, state.is_unclean) {
        (None, _) => ", without a leader",
        (Some(_), true) => ", unclean",
        (Some(_), false) => "",
    }
}

fn client_rows<'a>(stamped: &'a Stamped, mut take: impl FnMut(&Row<'a>)) {
    let time_us = stamped.time_us;
    match &stamped.fact {
        Fact::PartitionCount { group, producer, topic, topic_id, to, node, reason, .. } => {
            let by = reason.as_ref().map_or_else(String::new, |reason| format!(", asked by {reason}"));
            take(&Row {
                topic_id: *topic_id,
                partition_count: Some(*to),
                node: *node,
                what: format!("partition count{by}"),
                ..Row::of_client(time_us, Layer::ClientCache, group, *producer, topic)
            });
        }
        Fact::LeaderSeen { group, producer, topic, partition, topic_id, to, epoch, node, .. } => take(&Row {
            topic_id: *topic_id,
            partition: Some(*partition),
            leader: *to,
            leader_epoch: *epoch,
            node: *node,
            what: if node.is_some() { "leader" } else { "forgotten: back to the bootstrap list" }.to_owned(),
            ..Row::of_client(time_us, Layer::ClientCache, group, *producer, topic)
        }),
        Fact::RouteChanged { group, producer, topic, partition, from, to } => {
            let from = from.map_or_else(String::new, |from| format!(" from node {from}"));
            let what = format!("requests go here now{from}");
            let row = Row::of_client(time_us, Layer::Route, group, *producer, topic);
            take(&Row { partition: Some(*partition), node: Some(*to), what, ..row });
        }
        Fact::DeliveredAfterChange { group, producer, topic, partition, node, due_us } => {
            let what = format!("first ack after a change; due at {}", millis(*due_us));
            let row = Row::of_client(time_us, Layer::Delivery, group, *producer, topic);
            take(&Row { partition: Some(*partition), node: *node, what, ..row });
        }
        Fact::PartitionFirstUsed { group, producer, topic, partition, due_us } => {
            let what = format!("first ack of the partition; due at {}", millis(*due_us));
            take(&Row { partition: Some(*partition), what, ..Row::of_client(time_us, Layer::Delivery, group, *producer, topic) });
        }
        Fact::Gap { group, producer, topic, partition, last_ok_us, first_due_us, first_ok_us, .. } => {
            let due = millis(*first_due_us);
            let what = match first_ok_us {
                Some(_) => format!("served again; a record has waited since {due}"),
                None => format!("not served again; a record has waited since {due}"),
            };
            let row = Row::of_client(first_ok_us.unwrap_or(time_us), Layer::Delivery, group, *producer, topic);
            take(&Row { partition: Some(*partition), not_before_us: *last_ok_us, what, ..row });
        }
        _ => {}
    }
}
