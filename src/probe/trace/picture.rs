//! A sighting and its meaning as rows: what is printed, as a table or as JSON.
//!
//! The field names are an interface (docs/trace.md). Knows nothing of columns or colours.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::diagnosis::{Diagnosis, Finding, Outcome};
use super::roll::{Node, Roll};
use super::rows::{AddressRow, ControllerRow, FindingRow, LoggedRow, NodeRow, PartitionRow, QuorumRow, VersionRow};
use super::sighting::{Heard, Sighting, Silence, Unheard, Voice};
use super::survey::{self, Surveyed, Version};
use crate::ids::{BrokerId, HostPort, TopicName};
use crate::kafka::admin::{ErrorCode, PartitionView, QuorumView};
use crate::record::layer::Layer;

/// Partitions that are shown; those beyond are counted.
const PARTITIONS_MAX: usize = 200;

/// All that is shown of one sighting.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// When the round ended, in milliseconds since 1970.
    pub time_ms: u64,
    /// How long it took.
    pub took_ms: u64,
    /// What it comes to.
    pub outcome: Outcome,
    /// The layer that is stuck.
    pub layer: Option<Layer>,
    /// It in a sentence.
    pub sentence: String,
    /// What to look at next.
    pub next: String,
    /// All that is wrong; what explains others comes first.
    pub findings: Vec<FindingRow>,
    /// What could not be asked.
    pub unknown: Vec<String>,
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// The metadata quorum; `None`: unknown.
    pub quorum: Option<QuorumRow>,
    /// Offset of the last record of the controllers' log that was read; `None`: it was not read.
    pub controller_log_offset: Option<i64>,
    /// Nodes, by id.
    pub nodes: Vec<NodeRow>,
    /// Addresses that were given and that no broker calls its own.
    pub addresses: Vec<AddressRow>,
    /// Controllers' listeners that were given.
    pub controllers: Vec<ControllerRow>,
    /// The topic that was asked for; `None`: all.
    pub topic: Option<TopicName>,
    /// Topics that were looked at.
    pub topics: usize,
    /// Partitions that were looked at.
    pub partitions_seen: usize,
    /// Of these, those that differ or are not as they should be.
    pub partitions_notable: usize,
    /// The partitions that are shown: all of the topic that was asked for, else the notable ones; those that are not served, or differ, first.
    pub partitions: Vec<PartitionRow>,
    /// How many more there would be to show.
    pub partitions_left_out: usize,
}

impl Picture {
    /// The rows of a sighting.
    #[must_use]
    pub fn of(sighting: &Sighting, diagnosis: &Diagnosis) -> Self {
        let roll = Roll::of(sighting);
        let shown = Shown::of(sighting, &roll);
        let node = |node: &Node<'_>| node_row(node, sighting, shown.leads.get(&node.id).copied().unwrap_or(0), diagnosis);
        let nodes = roll.nodes().iter().map(node).collect();
        let (topics, partitions_seen, partitions_notable) = (shown.topics, shown.seen, shown.notable);
        let (partitions, partitions_left_out) = shown.rows();
        Self {
            time_ms: millis(sighting.ended_at),
            took_ms: millis(sighting.took),
            outcome: diagnosis.outcome,
            layer: diagnosis.layer(),
            sentence: diagnosis.sentence.clone(),
            next: diagnosis.next.clone(),
            findings: diagnosis.findings.iter().map(finding_row).collect(),
            unknown: diagnosis.unknown.clone(),
            cluster_id: sighting.views().find_map(|(_, view)| view.cluster_id.clone()),
            quorum: sighting.quorum().map(quorum_row),
            controller_log_offset: sighting.log.as_ref().ok().map(|log| log.offset),
            nodes,
            addresses: sighting.voices.iter().filter(|voice| roll.is_nobodys(&voice.address)).map(address_row).collect(),
            controllers: sighting.controllers.iter().map(|(address, told)| controller_row(address, told)).collect(),
            topic: sighting.scope.topic.clone(),
            topics,
            partitions_seen,
            partitions_notable,
            partitions,
            partitions_left_out,
        }
    }
}

/// What is shown of the partitions.
#[derive(Default)]
struct Shown {
    topics: usize,
    seen: usize,
    notable: usize,
    /// Rows that stand first, and the others.
    rows: [Vec<PartitionRow>; 2],
    left_out: usize,
    leads: BTreeMap<BrokerId, usize>,
}

impl Shown {
    fn of(sighting: &Sighting, roll: &Roll<'_>) -> Self {
        let mut shown = Self::default();
        let mut last: Option<TopicName> = None;
        for surveyed in survey::partitions(sighting, roll) {
            shown.seen += 1;
            if last.as_ref() != Some(&surveyed.partition.topic) {
                shown.topics += 1;
                last = Some(surveyed.partition.topic.clone());
            }
            if let Some(leader) = surveyed.newest().and_then(|view| view.leader) {
                *shown.leads.entry(leader).or_default() += 1;
            }
            let is_notable = surveyed.is_notable(sighting);
            shown.notable += usize::from(is_notable);
            if is_notable || sighting.scope.topic.is_some() {
                let is_urgent = sighting.scope.topic.is_none() && surveyed.is_urgent(sighting);
                let rows = &mut shown.rows[usize::from(!is_urgent)];
                match rows.len() < PARTITIONS_MAX {
                    true => rows.push(partition_row(&surveyed, sighting, is_notable)),
                    false => shown.left_out += 1,
                }
            }
        }
        shown
    }

    /// The rows, and how many there would be more.
    fn rows(self) -> (Vec<PartitionRow>, usize) {
        let mut rows: Vec<PartitionRow> = self.rows.into_iter().flatten().collect();
        let beyond = rows.len().saturating_sub(PARTITIONS_MAX);
        rows.truncate(PARTITIONS_MAX);
        (rows, self.left_out + beyond)
    }
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn finding_row(finding: &Finding) -> FindingRow {
    FindingRow {
        cause: finding.cause.name(),
        layer: finding.cause.layer(),
        nodes: finding.nodes.clone(),
        partitions: finding.partitions.iter().map(ToString::to_string).collect(),
        partition_count: finding.partition_count,
        sentence: finding.sentence.clone(),
        next: finding.next.clone(),
    }
}

fn quorum_row(quorum: &QuorumView) -> QuorumRow {
    QuorumRow {
        leader: quorum.leader,
        leader_epoch: quorum.leader_epoch.0,
        high_watermark: quorum.high_watermark,
        voters: quorum.voters.iter().map(|voter| voter.id).collect(),
    }
}

fn node_row(node: &Node<'_>, sighting: &Sighting, leads: usize, diagnosis: &Diagnosis) -> NodeRow {
    let view = node.voice.and_then(|voice| voice.view.as_ref().ok());
    let why = node.voice.and_then(|voice| voice.view.as_ref().err());
    let known = view.map(|view| view.topics.iter().filter(|topic| topic.error.is_none()));
    NodeRow {
        node: node.id,
        is_broker: node.is_broker(),
        address: node.address.map(ToString::to_string),
        answers: node.voice.map(|voice| voice.view.is_ok()),
        why: why.map(ToString::to_string),
        why_short: why.map(Unheard::word),
        listed_by: node.listed_by.clone(),
        listed_of: sighting.views().count(),
        fenced: node.is_fenced,
        stopping: node.registration.map(|registration| registration.in_controlled_shutdown),
        broker_epoch: node.registration.map(|registration| registration.epoch),
        role: node.role,
        log_end_offset: node.log.and_then(|log| log.offset),
        behind: node.log.and_then(|log| log.behind),
        fetched_ms_ago: node.log.and_then(|log| log.fetched_ms_ago),
        caught_up_ms_ago: node.log.and_then(|log| log.caught_up_ms_ago),
        reaches_controller: node.reaches_controller(),
        topics: known.clone().map(Iterator::count),
        partitions: known.map(|topics| topics.map(|topic| topic.partitions.len()).sum()),
        leads,
        is_marked: diagnosis.findings.iter().any(|finding| finding.nodes.contains(&node.id)),
    }
}

fn address_row(voice: &Voice) -> AddressRow {
    AddressRow { address: voice.address.to_string(), answers: voice.view.is_ok(), why: voice.view.as_ref().err().map(ToString::to_string) }
}

fn controller_row(address: &HostPort, told: &Heard<QuorumView>) -> ControllerRow {
    let (active, why) = match told {
        Ok(_) => (Some(true), None),
        Err(Unheard { why: Silence::Refused(ErrorCode::NOT_LEADER_OR_FOLLOWER), .. }) => (Some(false), None),
        Err(unheard) => (None, Some(unheard.to_string())),
    };
    ControllerRow { address: address.to_string(), active, why }
}

fn partition_row(surveyed: &Surveyed<'_>, sighting: &Sighting, is_marked: bool) -> PartitionRow {
    let eligible = sighting.eligible(&surveyed.partition);
    let served = surveyed.newest().and_then(|view| sighting.served(view.leader?, &surveyed.partition));
    let refused = served.and_then(Result::err);
    PartitionRow {
        topic: surveyed.partition.topic.clone(),
        partition: surveyed.partition.partition,
        versions: surveyed.versions.iter().map(version_row).collect(),
        logged: logged_row(surveyed, sighting),
        elr: eligible.as_ref().map(|eligible| eligible.elr.clone()),
        last_known_elr: eligible.map(|eligible| eligible.last_known),
        high_watermark: served.and_then(Result::ok),
        refused: refused.map(|code| code.0),
        refused_name: refused.map(ErrorCode::name),
        is_marked,
    }
}

fn logged_row(surveyed: &Surveyed<'_>, sighting: &Sighting) -> Option<LoggedRow> {
    let (topic_id, logged) = sighting.logged(&surveyed.partition)?;
    Some(LoggedRow {
        topic_id,
        leader: logged.leader,
        leader_epoch: logged.leader_epoch.0,
        partition_epoch: logged.partition_epoch,
        replicas: logged.replicas.clone(),
        isr: logged.isr.clone(),
        is_newer: surveyed.is_behind_log(sighting),
    })
}

fn version_row(version: &Version<'_>) -> VersionRow {
    let view = version.view;
    let nodes = |of: fn(&PartitionView) -> &Vec<BrokerId>| view.map(of).cloned().unwrap_or_default();
    VersionRow {
        shown_by: version.speakers.to_vec(),
        known: view.is_some(),
        topic_id: version.topic_id,
        leader: view.and_then(|view| view.leader),
        leader_epoch: view.and_then(|view| view.leader_epoch).map(|epoch| epoch.0),
        replicas: nodes(|view| &view.replicas),
        isr: nodes(|view| &view.isr),
        offline: nodes(|view| &view.offline),
        error: view.and_then(|view| view.error).map(|code| code.0),
    }
}
