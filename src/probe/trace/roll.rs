//! Who is in the cluster, and how each node is by all that was heard of it.
//!
//! Joins what the voices say of each node: its address, who lists it, whether it is fenced, how far it has read the controller's log. Pure;
//! no judgement on the cluster as a whole (`diagnose`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::sighting::{Sighting, Silence, Voice};
use crate::ids::{BrokerId, HostPort};
use crate::kafka::admin::{BrokerView, ErrorCode, QuorumView, ReplicaView};
use crate::kafka::raft::image::Broker;

/// A node that has not fetched the controller's log for so long has stopped: one that is well does so at least every half second.
pub(super) const FETCH_AGE_MS_MAX: i64 = 3_000;
/// A node that has fetched within this time was alive a moment ago.
pub(super) const FETCH_AGE_MS_ALIVE: i64 = 1_500;
/// A node that fetches and still has not caught up for so long does not keep up.
pub(super) const CAUGHT_UP_AGE_MS_MAX: i64 = 10_000;

/// Who says something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
pub enum Speaker {
    /// A broker at its own listener.
    Node(BrokerId),
    /// An address that no broker calls its own, such as a load balancer's.
    Address(Arc<str>),
}

impl fmt::Display for Speaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => id.fmt(f),
            Self::Address(address) => f.write_str(address),
        }
    }
}

/// What a node does in the metadata quorum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It leads.
    Active,
    /// It votes.
    Voter,
    /// It only reads.
    Observer,
}

/// How a node follows the controllers' log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Following {
    /// It fetches, and has had all of it a moment ago.
    Close,
    /// It fetches, and has not had all of it for long.
    Behind,
    /// It does not fetch.
    Not,
}

/// How far a node has read the controller's log, by the active controller's word and clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogCopy {
    /// First offset that it does not have; `None`: the controller does not know.
    pub(super) offset: Option<i64>,
    /// Records that the active controller has and it has not.
    pub(super) behind: Option<i64>,
    /// Time since its last fetch; `None`: it has not fetched from this controller.
    pub(super) fetched_ms_ago: Option<i64>,
    /// Time since it last had all; `None`: it never had, as far as this controller knows.
    pub(super) caught_up_ms_ago: Option<i64>,
}

/// A node by all that was heard of it.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    /// Its id.
    pub(super) id: BrokerId,
    /// Its own listener for clients; `None`: nobody tells one.
    pub(super) address: Option<&'a HostPort>,
    /// Its own answers; `None`: it was not asked.
    pub(super) voice: Option<&'a Voice>,
    /// Who lists it to clients, itself included.
    pub(super) listed_by: Vec<Speaker>,
    /// Who answered and does not.
    pub(super) left_out_by: Vec<Speaker>,
    /// Whether it is fenced, by the controllers' log or else the word of most others; `None`: nobody can tell.
    pub(super) is_fenced: Option<bool>,
    /// Its registration in the controllers' log; `None`: it has none, or the log was not read.
    pub(super) registration: Option<&'a Broker>,
    /// Whether some partition has a replica there.
    pub(super) is_replica: bool,
    /// What it does in the quorum; `None`: unknown, or nothing.
    pub(super) role: Option<Role>,
    /// How far it has read the controller's log; `None`: unknown, or the active controller does not know it.
    pub(super) log: Option<LogCopy>,
}

impl Node<'_> {
    /// Whether it answers Metadata.
    pub(super) fn is_heard(&self) -> bool {
        self.voice.is_some_and(|voice| voice.view.is_ok())
    }

    /// Whether it is, or was, a broker, and not only a controller.
    pub(super) fn is_broker(&self) -> bool {
        self.address.is_some() || self.is_replica || self.registration.is_some()
    }

    /// Whether clients are sent to it: somebody else lists it; or it does itself, where nobody else answers.
    pub(super) fn is_listed(&self) -> bool {
        let is_other = |speaker: &&Speaker| **speaker != Speaker::Node(self.id);
        match self.listed_by.iter().chain(&self.left_out_by).any(|speaker| is_other(&speaker)) {
            true => self.listed_by.iter().any(|speaker| is_other(&speaker)),
            false => !self.listed_by.is_empty(),
        }
    }

    /// How it follows the controllers' log; `None`: the quorum's state is unknown.
    pub(super) fn follows(&self, is_quorum_known: bool) -> Option<Following> {
        let Some(log) = self.log else { return is_quorum_known.then_some(Following::Not) };
        let is_recent = log.fetched_ms_ago.is_some_and(|age| age <= FETCH_AGE_MS_MAX);
        let is_close = log.caught_up_ms_ago.is_none_or(|age| age <= CAUGHT_UP_AGE_MS_MAX);
        Some(match (is_recent, is_close) {
            (false, _) => Following::Not,
            (true, false) => Following::Behind,
            (true, true) => Following::Close,
        })
    }

    /// Whether it was alive a moment ago, by its fetches.
    pub(super) fn was_alive(&self) -> bool {
        self.log.and_then(|log| log.fetched_ms_ago).is_some_and(|age| age <= FETCH_AGE_MS_ALIVE)
    }

    /// Whether requests that it forwards reach an active controller; `None`: it cannot be told.
    pub(super) fn reaches_controller(&self) -> Option<bool> {
        let voice = self.voice.filter(|voice| voice.view.is_ok())?;
        match &voice.quorum {
            Ok(_) => Some(true),
            Err(unheard) => match unheard.why {
                Silence::Silent | Silence::Closed => Some(false),
                Silence::Refused(code) if is_without_controller(code) => Some(false),
                // Brokers ask the controller who may be told.
                Silence::Denied => Some(true),
                _ => None,
            },
        }
    }
}

/// All nodes that anybody knows, by id.
#[derive(Clone, Debug)]
pub(super) struct Roll<'a> {
    nodes: Vec<Node<'a>>,
    speakers: HashMap<&'a HostPort, Speaker>,
}

impl<'a> Roll<'a> {
    /// The nodes of a sighting.
    pub(super) fn of(sighting: &'a Sighting) -> Self {
        let addresses = addresses(sighting);
        let owners: HashMap<&HostPort, BrokerId> =
            addresses.iter().flat_map(|(id, of_node)| of_node.iter().map(|address| (*address, *id))).collect();
        let speaker = |address: &'a HostPort| match owners.get(address) {
            Some(id) => (address, Speaker::Node(*id)),
            None => (address, Speaker::Address(Arc::from(address.to_string()))),
        };
        let speakers: HashMap<_, _> = sighting.voices.iter().map(|voice| speaker(&voice.address)).collect();
        let replicas = replicas(sighting);
        let quorum = sighting.quorum();
        let in_quorum = quorum.iter().flat_map(|quorum| quorum.replicas()).map(|replica| replica.id);
        // Before Kafka 4.0 brokers tell of none that is fenced: if it has no replica, only the controllers know it.
        let registered = sighting.log.iter().flat_map(|log| log.image.brokers().keys().copied());
        let known = addresses.keys().chain(&replicas).copied();
        let ids: BTreeSet<BrokerId> = known.chain(in_quorum).chain(registered).collect();
        let node = |id: BrokerId| Node {
            is_replica: replicas.contains(&id),
            role: quorum.and_then(|quorum| role(quorum, id)),
            log: quorum.and_then(|quorum| log_copy(quorum, id)),
            ..heard_of(sighting, &speakers, id, addresses.get(&id).map_or(&[][..], Vec::as_slice))
        };
        Self { nodes: ids.into_iter().map(node).collect(), speakers }
    }

    /// All of them.
    pub(super) fn nodes(&self) -> &[Node<'a>] {
        &self.nodes
    }

    /// One of them.
    pub(super) fn node(&self, id: BrokerId) -> Option<&Node<'a>> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Who speaks at an address.
    pub(super) fn speaker(&self, address: &HostPort) -> Speaker {
        self.speakers.get(address).cloned().unwrap_or_else(|| Speaker::Address(Arc::from(address.to_string())))
    }

    /// Whether no broker calls an address its own.
    pub(super) fn is_nobodys(&self, address: &HostPort) -> bool {
        matches!(self.speaker(address), Speaker::Address(_))
    }
}

/// Addresses of each broker, by anybody's word.
fn addresses(sighting: &Sighting) -> BTreeMap<BrokerId, Vec<&HostPort>> {
    let mut addresses: BTreeMap<BrokerId, Vec<&HostPort>> = BTreeMap::new();
    for voice in &sighting.voices {
        let shown = voice.view.iter().flat_map(|view| &view.brokers);
        let registered = voice.cluster.iter().flat_map(|cluster| &cluster.brokers);
        for BrokerView { id, listener, .. } in shown.chain(registered) {
            let of_node = addresses.entry(*id).or_default();
            if !of_node.contains(&listener) {
                of_node.push(listener);
            }
        }
    }
    addresses
}

/// Brokers that some partition has a replica on.
fn replicas(sighting: &Sighting) -> HashSet<BrokerId> {
    let mut seen = HashSet::new();
    let topics = sighting.views().flat_map(|(_, view)| &view.topics).filter(|topic| seen.insert(Arc::as_ptr(topic)));
    topics.flat_map(|topic| &topic.partitions).flat_map(|partition| partition.replicas.iter().copied()).collect()
}

/// A node by the voices' word, without the quorum's.
fn heard_of<'a>(sighting: &'a Sighting, speakers: &HashMap<&HostPort, Speaker>, id: BrokerId, addresses: &[&'a HostPort]) -> Node<'a> {
    let own = |voice: &&Voice| addresses.contains(&&voice.address);
    let voice = sighting.voices.iter().filter(own).max_by_key(|voice| voice.view.is_ok());
    let (listed_by, left_out_by): (Vec<_>, Vec<_>) =
        sighting.views().partition(|(_, view)| view.brokers.iter().any(|broker| broker.id == id));
    let named = |voices: Vec<(&HostPort, _)>| {
        let names: BTreeSet<Speaker> = voices.into_iter().filter_map(|(address, _)| speakers.get(address).cloned()).collect();
        names.into_iter().collect()
    };
    let address = voice.map(|voice| &voice.address).or_else(|| addresses.first().copied());
    let registration = sighting.log.as_ref().ok().and_then(|log| log.image.brokers().get(&id));
    let listed_by: Vec<Speaker> = named(listed_by);
    // Fenced brokers are not listed to clients.
    let by_list = listed_by.iter().any(|speaker| *speaker != Speaker::Node(id)).then_some(false);
    let is_fenced = registration.map(|registration| registration.is_fenced).or_else(|| is_fenced(sighting, id, addresses)).or(by_list);
    Node {
        id,
        address,
        voice,
        listed_by,
        left_out_by: named(left_out_by),
        is_fenced,
        registration,
        is_replica: false,
        role: None,
        log: None,
    }
}

/// The word of most others; its own where nobody else can tell.
fn is_fenced(sighting: &Sighting, id: BrokerId, addresses: &[&HostPort]) -> Option<bool> {
    let tell = sighting.voices.iter().filter_map(|voice| {
        let cluster = voice.cluster.as_ref().ok().filter(|cluster| cluster.includes_fenced)?;
        let broker = cluster.brokers.iter().find(|broker| broker.id == id)?;
        Some((addresses.contains(&&voice.address), broker.is_fenced))
    });
    let (own, others): (Vec<_>, Vec<_>) = tell.partition(|(is_own, _)| *is_own);
    let told = if others.is_empty() { own } else { others };
    let fenced = told.iter().filter(|(_, is_fenced)| *is_fenced).count();
    (!told.is_empty()).then_some(fenced * 2 >= told.len())
}

fn role(quorum: &QuorumView, id: BrokerId) -> Option<Role> {
    let is_in = |replicas: &[ReplicaView]| replicas.iter().any(|replica| replica.id == id);
    match id == quorum.leader {
        true => Some(Role::Active),
        false if is_in(&quorum.voters) => Some(Role::Voter),
        false => is_in(&quorum.observers).then_some(Role::Observer),
    }
}

/// Ages are by the active controller's clock.
fn log_copy(quorum: &QuorumView, id: BrokerId) -> Option<LogCopy> {
    let leader = quorum.replicas().find(|replica| replica.id == quorum.leader);
    let replica = quorum.replicas().find(|replica| replica.id == id)?;
    let less = |this: Option<i64>, leaders: Option<i64>| Some((leaders? - this?).max(0));
    Some(LogCopy {
        offset: replica.log_end_offset,
        behind: less(replica.log_end_offset, leader.and_then(|leader| leader.log_end_offset)),
        fetched_ms_ago: less(replica.last_fetch_ms, quorum.leader_time_ms()),
        caught_up_ms_ago: less(replica.last_caught_up_ms, quorum.leader_time_ms()),
    })
}

/// Time since a node's last fetch, by the active controller's word.
pub(super) fn fetched_ms_ago(quorum: &QuorumView, id: BrokerId) -> Option<i64> {
    log_copy(quorum, id)?.fetched_ms_ago
}

/// Whether most voters read the active controller's log, so that it can commit; `None`: their fetches are unknown.
pub(super) fn has_majority(quorum: &QuorumView) -> Option<bool> {
    fetched_ms_ago(quorum, quorum.leader)?;
    let is_fetching = |voter: &&ReplicaView| fetched_ms_ago(quorum, voter.id).is_some_and(|age| age <= FETCH_AGE_MS_MAX);
    Some(quorum.voters.iter().filter(is_fetching).count() * 2 > quorum.voters.len())
}

/// Whether a code means that the broker knows of no active controller to forward to.
pub(super) fn is_without_controller(code: ErrorCode) -> bool {
    // REQUEST_TIMED_OUT, BROKER_NOT_AVAILABLE, NOT_CONTROLLER, NOT_LEADER_OR_FOLLOWER, NETWORK_EXCEPTION, and -1, which a broker makes of a
    // forwarding that failed.
    matches!(code.0, -1 | 6 | 7 | 8 | 13 | 41)
}
