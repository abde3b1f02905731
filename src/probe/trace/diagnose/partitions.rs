//! How each partition is: known, alike everywhere, led, served, in sync.
//!
//! Partitions with the same trouble make one finding; its sentence takes the first of them as the example.

use std::collections::{BTreeMap, BTreeSet};

use super::{Case, Counts};
use crate::ids::{BrokerId, TopicPartition};
use crate::kafka::admin::{EligibleReplicas, ErrorCode, PartitionView};
use crate::probe::trace::diagnosis::{Cause, Finding, NoLeader};
use crate::probe::trace::roll::Speaker;
use crate::probe::trace::survey::{self, Surveyed, Version};
use crate::probe::trace::words::{self, brokers, ids, partitions};

/// Partitions that a finding names.
const NAMED_MAX: usize = 5;

/// Partitions with the same trouble.
struct Trouble {
    first: Vec<TopicPartition>,
    count: usize,
    nodes: BTreeSet<BrokerId>,
    /// The first of them, in words that go on after its name.
    example: String,
}

type Troubles = BTreeMap<Cause, Trouble>;

pub(super) fn findings(case: &Case<'_>) -> (Vec<Finding>, Counts) {
    let (mut troubles, mut counts) = (Troubles::new(), Counts::default());
    let mut topics = BTreeSet::new();
    for surveyed in survey::partitions(case.sighting, &case.roll) {
        counts.partitions += 1;
        if topics.insert(surveyed.partition.topic.clone()) {
            counts.topics += 1;
        }
        look_at(case, &surveyed, &mut troubles, &mut counts);
    }
    let mut findings: Vec<Finding> = troubles.into_iter().map(|(cause, trouble)| finding(case, cause, trouble)).collect();
    if !findings.iter().any(|finding| finding.cause == Cause::BrokersDisagree) {
        findings.extend(different_lists(case));
    }
    findings.extend(unknown_name(case, &counts));
    (findings, counts)
}

fn look_at(case: &Case<'_>, surveyed: &Surveyed<'_>, troubles: &mut Troubles, counts: &mut Counts) {
    let mut add = |cause: Cause, nodes: &[BrokerId], example: &dyn Fn() -> String| {
        let trouble =
            troubles.entry(cause).or_insert_with(|| Trouble { first: Vec::new(), count: 0, nodes: BTreeSet::new(), example: example() });
        trouble.count += 1;
        trouble.nodes.extend(nodes);
        if trouble.first.len() < NAMED_MAX {
            trouble.first.push(surveyed.partition.clone());
        }
    };
    if surveyed.differs() {
        let behind: Vec<BrokerId> = surveyed.versions.iter().skip(1).flat_map(|version| node_ids(&version.speakers)).collect();
        add(Cause::BrokersDisagree, &behind, &|| disagreement(surveyed));
    }
    if surveyed.is_behind_log(case.sighting) {
        add(Cause::BrokersBehind, &[], &|| behind_log(case, surveyed));
    }
    let Some(view) = surveyed.newest() else { return };
    match (view.leader, view.error) {
        (None, Some(ErrorCode::LISTENER_NOT_FOUND)) => add(Cause::ListenerNotFound, &[], &String::new),
        (None, _) => {
            let eligible = case.sighting.eligible(&surveyed.partition);
            add(Cause::NoLeader(why_no_leader(view, eligible.as_ref())), &view.replicas, &|| replicas(view, eligible.as_ref()));
        }
        (Some(leader), _) => {
            match case.sighting.served(leader, &surveyed.partition) {
                Some(Err(code)) => add(refusal(code), &[leader], &|| asked(leader, view, code)),
                Some(Ok(_)) => {}
                None => counts.untold += usize::from(case.sighting.served.get(&leader).is_some_and(Result::is_ok)),
            }
            counts.reassigned += usize::from(surveyed.is_reassigned(case.sighting));
            let missing = surveyed.missing(case.sighting);
            if !missing.is_empty() {
                add(Cause::OutOfSync, &missing, &|| format!("replicas {}, ISR {}", ids(&view.replicas), ids(&view.isr)));
            }
        }
    }
}

fn node_ids(speakers: &[Speaker]) -> impl Iterator<Item = BrokerId> {
    speakers.iter().filter_map(|speaker| match speaker {
        Speaker::Node(id) => Some(*id),
        Speaker::Address(_) => None,
    })
}

fn why_no_leader(view: &PartitionView, eligible: Option<&EligibleReplicas>) -> NoLeader {
    let is_down = |replica: &BrokerId| view.offline.contains(replica);
    let elr = eligible.map_or(&[][..], |eligible| &eligible.elr);
    match (view.replicas.iter().all(is_down), view.isr.is_empty() && elr.is_empty()) {
        (true, _) => NoLeader::AllReplicasDown,
        (_, true) if eligible.is_none() => NoLeader::IsrEmptyElrUnknown,
        (_, true) => NoLeader::IsrEmpty,
        _ if view.isr.iter().chain(elr).all(is_down) => NoLeader::IsrDown,
        _ => NoLeader::NotElected,
    }
}

fn refusal(code: ErrorCode) -> Cause {
    match code {
        ErrorCode::NOT_LEADER_OR_FOLLOWER => Cause::NotLeader,
        ErrorCode::FENCED_LEADER_EPOCH => Cause::FencedEpoch,
        ErrorCode::UNKNOWN_LEADER_EPOCH => Cause::UnknownEpoch,
        ErrorCode::KAFKA_STORAGE_ERROR => Cause::StorageError,
        ErrorCode::LISTENER_NOT_FOUND => Cause::ListenerNotFound,
        ErrorCode::OFFSET_NOT_AVAILABLE | ErrorCode::LEADER_NOT_AVAILABLE => Cause::NotYetServed,
        other => Cause::Unserved(other),
    }
}

fn asked(leader: BrokerId, view: &PartitionView, code: ErrorCode) -> String {
    let epoch = view.leader_epoch.map_or_else(|| "no epoch".to_owned(), |epoch| format!("epoch {}", epoch.0));
    format!("broker {leader}, asked with {epoch}, answers {code}")
}

fn replicas(view: &PartitionView, eligible: Option<&EligibleReplicas>) -> String {
    let elr = eligible.map_or_else(|| "unknown".to_owned(), |eligible| ids(&eligible.elr));
    format!("replicas {}, offline {}, ISR {}, eligible {elr}", ids(&view.replicas), ids(&view.offline), ids(&view.isr))
}

/// The newest version against the next.
fn disagreement(surveyed: &Surveyed<'_>) -> String {
    let [newest, other, ..] = surveyed.versions.as_slice() else { return String::new() };
    let shows = |speakers: &[Speaker]| format!("{} {}", brokers(speakers), if speakers.len() == 1 { "shows" } else { "show" });
    let (here, there) = (words::version(newest, other), words::version(other, newest));
    format!("{} {here}, {} {there}", shows(&newest.speakers), shows(&other.speakers))
}

/// The controllers' log against what brokers show.
fn behind_log(case: &Case<'_>, surveyed: &Surveyed<'_>) -> String {
    let (Some(shown), Some((id, logged))) = (surveyed.versions.first(), case.sighting.logged(&surveyed.partition)) else {
        return String::new();
    };
    let of_log = PartitionView {
        partition: surveyed.partition.partition,
        error: shown.view.and_then(|view| view.error),
        leader: logged.leader,
        leader_epoch: Some(logged.leader_epoch),
        replicas: logged.replicas.clone(),
        isr: logged.isr.clone(),
        offline: shown.view.map(|view| view.offline.clone()).unwrap_or_default(),
    };
    let of_log = Version { speakers: [].into(), topic_id: Some(id), view: Some(&of_log) };
    format!("the log has {}, brokers show {}", words::version(&of_log, shown), words::version(shown, &of_log))
}

const BEHIND_NEXT: &str = "Ask again in a second: brokers apply what they fetch a moment later. If it stays so, compare the nodes' log offsets: if they are \
    behind, look at the controllers and the way to them; if not, read the brokers' logs for the metadata loader.";

/// Where all agree on partitions, they may still list different brokers.
fn different_lists(case: &Case<'_>) -> Option<Finding> {
    let mut lists: BTreeMap<Vec<BrokerId>, Vec<Speaker>> = BTreeMap::new();
    for (address, view) in case.sighting.views() {
        lists.entry(view.brokers.iter().map(|broker| broker.id).collect()).or_default().push(case.roll.speaker(address));
    }
    if lists.len() < 2 {
        return None;
    }
    let most = lists.values().map(Vec::len).max()?;
    let minority = lists.values().filter(|speakers| speakers.len() < most).flat_map(|speakers| node_ids(speakers)).collect();
    let verb = |speakers: &[Speaker]| if speakers.len() == 1 { "lists" } else { "list" };
    let told: Vec<String> = lists.iter().map(|(listed, who)| format!("{} {} {}", brokers(who), verb(who), ids(listed))).collect();
    Some(Finding {
        cause: Cause::BrokersDisagree,
        nodes: minority,
        partitions: vec![],
        partition_count: 0,
        sentence: format!("Brokers disagree about who is in the cluster: {}.", told.join("; ")),
        next: DISAGREE_NEXT.to_owned(),
    })
}

const DISAGREE_NEXT: &str = "Ask again in a second: a change that is just passing looks like this. If it stays so, whoever shows the older state is \
    behind: compare the log offsets of the nodes. If it has fetched all, read its log for the metadata loader, and restart it.";

/// Nobody knows the topic or the partition that was asked for.
fn unknown_name(case: &Case<'_>, counts: &Counts) -> Option<Finding> {
    let topic = case.sighting.scope.topic.as_ref()?;
    let heard: Vec<BrokerId> = case.roll.nodes().iter().filter(|node| node.is_heard()).map(|node| node.id).collect();
    let who = if heard.is_empty() { "Nobody who answers".to_owned() } else { format!("None of {}", brokers(&heard)) };
    let (cause, sentence, next) = match survey::topic_refusal(case.sighting) {
        Some(ErrorCode::TOPIC_AUTHORIZATION_FAILED) => return None,
        // The controllers' log knows it: brokers are behind.
        Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) if counts.partitions > 0 => return None,
        Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION) => (
            Cause::UnknownTopic,
            format!("{who} knows a topic `{topic}` ({}).", ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
            "Check the spelling, and that this is the right cluster. If it was there before, it was deleted: the active controller's log says when.",
        ),
        Some(code) => (Cause::Unserved(code), format!("Brokers refuse the topic `{topic}`: {code}."), "Check the topic's name."),
        None if counts.partitions == 0 && case.sighting.views().next().is_some() => (
            Cause::UnknownPartition,
            format!("The topic `{topic}` is there, but {who} knows this partition of it.")
                .replace("None of", "none of")
                .replace("Nobody", "nobody"),
            "Partitions are counted from 0. If it was added just now, the controller has refused or not committed it: list the topic without --partition.",
        ),
        None => return None,
    };
    Some(Finding { cause, nodes: vec![], partitions: vec![], partition_count: 0, sentence, next: next.to_owned() })
}

fn finding(case: &Case<'_>, cause: Cause, trouble: Trouble) -> Finding {
    let Trouble { first, count, nodes, example } = trouble;
    let nodes: Vec<BrokerId> = nodes.into_iter().collect();
    let example = if count > 1 { format!("for {}, {example}", first[0]) } else { example };
    let (which, who) = (partitions(&first[0], count), brokers(&nodes));
    let (has, is) = if count == 1 { ("has", "is") } else { ("have", "are") };
    let (sentence, next) = match cause {
        Cause::BrokersDisagree => (format!("Brokers disagree about {which}: {example}."), DISAGREE_NEXT.to_owned()),
        Cause::BrokersBehind => {
            (format!("The controllers' log has newer things of {which} than any broker shows: {example}."), BEHIND_NEXT.to_owned())
        }
        Cause::NoLeader(why) => no_leader(why, &which, &nodes, has, &example),
        Cause::ListenerNotFound => (
            format!("{which} {has} a leader without a listener of the name that was asked through ({}).", ErrorCode::LISTENER_NOT_FOUND),
            "Give every broker the same listener names in advertised.listeners.".to_owned(),
        ),
        Cause::StorageError => (
            format!("{which} {is} not served, since a disk has failed: {example}."),
            format!("Look at the log directories of {who}: its log names the one that is offline. Mend the disk and restart the broker."),
        ),
        Cause::NotLeader => (
            format!("{which} {is} not served: {example}, though it is shown as the leader."),
            format!("Ask again in a second. If it stays so, {who} has not applied the election: compare its log offset, read its log for the replica manager."),
        ),
        Cause::FencedEpoch => (
            format!("Brokers show an old leader epoch of {which}: {example}, so the leader has a newer one."),
            "Clients that ask these brokers are refused until the brokers' copies catch up: compare the log offsets of the nodes, and ask again in a second.".to_owned(),
        ),
        Cause::UnknownEpoch => (
            format!("{which} {is} not served: {example}, so it has not heard of that epoch yet."),
            format!("Ask again in a second. If it stays so, {who} is behind in the controller's log: compare its log offset, check its way to the controllers."),
        ),
        Cause::NotYetServed => (
            format!("{which} {has} a new leader that does not know yet what is committed: {example}."),
            "Ask again in a second: it waits for its followers' next fetch. If it stays so, look at the followers in the ISR.".to_owned(),
        ),
        Cause::OutOfSync => (
            format!("{which} {is} under-replicated: {example}."),
            out_of_sync_next(&who, case.sighting.log.is_ok()),
        ),
        _ => (format!("{which} {is} not served: {example}."), format!("Read the log of {who} for the error.")),
    };
    Finding { cause, nodes, partitions: first, partition_count: count, sentence, next }
}

/// Without the controllers' log, replicas that a reassignment adds look like those that have fallen behind.
fn out_of_sync_next(who: &str, is_log_read: bool) -> String {
    let perhaps = if is_log_read { "" } else { "; or a reassignment adds these replicas and they are on their way (--controller tells)" };
    format!(
        "Look at {who}: down, restarted and catching up, or too slow{perhaps}. With acks=all and fewer replicas than min.insync.replicas, writes are \
         refused."
    )
}

fn no_leader(why: NoLeader, which: &str, nodes: &[BrokerId], has: &str, example: &str) -> (String, String) {
    let who = brokers(nodes);
    let (because, next) = match why {
        NoLeader::AllReplicasDown if nodes.len() == 1 && has == "has" => ("its only replica is down", format!("Start {who}.")),
        NoLeader::AllReplicasDown => ("all replicas are down", format!("Start {who}; first the one that led last, since it has all that was acknowledged.")),
        NoLeader::IsrEmpty => (
            "nobody is in sync, and nobody else may lead",
            format!("Start whichever of {who} led last. Electing another one uncleanly loses what only the last leader has."),
        ),
        NoLeader::IsrEmptyElrUnknown => (
            "nobody is in sync; who else may lead (the ELR) could not be asked",
            "Ask again with --topic. Start the replicas that are down, and elect none uncleanly before the ELR is known: who is in it may lead without loss."
                .to_owned(),
        ),
        NoLeader::IsrDown => (
            "all replicas that may lead are down; those that live may lack what is committed",
            "Start a broker of the ISR. Only if it is lost for good elect another one uncleanly (kafka-leader-election.sh): records are lost then.".to_owned(),
        ),
        NoLeader::NotElected => (
            "though a replica that may lead is up",
            "Ask again in a second. If it stays so, the active controller does not elect: read its log.".to_owned(),
        ),
    };
    (format!("{which} {has} no leader: {because} ({example})."), next)
}
