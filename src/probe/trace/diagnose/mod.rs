//! From what was heard to what is stuck. Pure: a function of the sighting.
//!
//! Each kind of trouble is looked for by itself (`reach`, `controller`, `nodes`, `partitions`); the order of [`Cause`] decides which of them is
//! told first. Nothing is concluded from a question that has no answer but that it has none.

mod controller;
mod nodes;
mod partitions;
mod reach;

use super::diagnosis::{Cause, Diagnosis, Finding, Outcome};
use super::roll::{Node, Roll};
use super::sighting::{Sighting, Silence};
use super::survey::topic_refusal;
use super::words::{brokers, counted};
use crate::ids::BrokerId;
use crate::kafka::admin::{ErrorCode, QuorumView};

/// What rules look at.
struct Case<'a> {
    sighting: &'a Sighting,
    roll: Roll<'a>,
    quorum: Option<&'a QuorumView>,
}

/// What the partitions come to, besides findings.
#[derive(Debug, Default)]
struct Counts {
    topics: usize,
    partitions: usize,
    /// Partitions with a leader that answers, which said nothing of them.
    untold: usize,
    /// Partitions that are being reassigned, by the controllers' log.
    reassigned: usize,
}

/// What a sighting means.
#[must_use]
pub fn diagnose(sighting: &Sighting) -> Diagnosis {
    let case = Case { sighting, roll: Roll::of(sighting), quorum: sighting.quorum() };
    let mut findings = reach::findings(&case);
    findings.extend(controller::findings(&case));
    findings.extend(nodes::findings(&case));
    let (of_partitions, counts) = partitions::findings(&case);
    findings.extend(of_partitions);
    findings.sort_by_key(|finding| finding.cause);
    conclude(&case, findings, &counts)
}

fn conclude(case: &Case<'_>, findings: Vec<Finding>, counts: &Counts) -> Diagnosis {
    let (mut deciding, besides) = unknown(case, counts);
    if case.quorum.is_none() && !findings.iter().any(|finding| finding.cause == Cause::NoActiveController) {
        deciding.extend(unknown_quorum(case));
    }
    let is_nobody = findings.first().is_some_and(|finding| finding.cause == Cause::NobodyAnswers);
    let outcome = match (is_nobody, findings.is_empty(), deciding.is_empty()) {
        (true, ..) => Outcome::Unreachable,
        (_, false, _) => Outcome::Stuck,
        (_, _, false) => Outcome::Unknown,
        _ => Outcome::Healthy,
    };
    let (sentence, next) = match (findings.first(), deciding.first()) {
        (Some(first), _) => (first.sentence.clone(), first.next.clone()),
        (None, Some(reason)) => (
            format!("Nothing wrong was seen, but too much is unknown to say that all is well: {reason}."),
            "Ask with the rights to describe the cluster and its topics, or again when nothing is slow.".to_owned(),
        ),
        (None, None) => (agreement(case, counts), LOOK_AT_THE_CLIENT.to_owned()),
    };
    Diagnosis { outcome, sentence, next, findings, unknown: deciding.into_iter().chain(besides).collect() }
}

/// The layers that cannot be seen from here.
const LOOK_AT_THE_CLIENT: &str = "If a client still fails, look at the client. Run this command where it runs: its way to each address of the nodes may be \
    blocked, or a name resolve differently there. Its copy of the metadata may be old: it asks again after metadata.max.age.ms (5 minutes) \
    or when a broker refuses it, so restart it or wait. Then compare its bootstrap.servers, security settings and the topic's name, and read \
    its log for the error code.";

fn agreement(case: &Case<'_>, counts: &Counts) -> String {
    let heard: Vec<BrokerId> = case.roll.nodes().iter().filter(|node| node.is_heard()).map(|node| node.id).collect();
    let controller = case.quorum.map_or_else(String::new, |quorum| format!(", controller {} is active", quorum.leader));
    let who = if heard.is_empty() { counted(case.sighting.views().count(), "address") } else { brokers(&heard) };
    let (partitions, topics) = (counted(counts.partitions, "partition"), counted(counts.topics, "topic"));
    let served = if counts.partitions == 0 {
        "there is no topic".to_owned()
    } else {
        format!("each leader serves its part of {partitions} in {topics}")
    };
    let reassigned = match counts.reassigned {
        0 => String::new(),
        count => format!("; {} being reassigned", counted(count, "partition") + if count == 1 { " is" } else { " are" }),
    };
    format!("All that was asked agrees: {who}{controller}, and {served}{reassigned}.")
}

/// Why nothing is known of the quorum, though brokers answer.
fn unknown_quorum(case: &Case<'_>) -> Option<String> {
    let mut heard = case.sighting.voices.iter().filter(|voice| voice.view.is_ok()).peekable();
    heard.peek()?;
    let why = heard.find_map(|voice| voice.quorum.as_ref().err());
    Some(format!("the metadata quorum ({})", why.map_or_else(|| "nobody was asked".to_owned(), ToString::to_string)))
}

/// What could not be asked: what a clean bill of health needs, and the rest.
fn unknown(case: &Case<'_>, counts: &Counts) -> (Vec<String>, Vec<String>) {
    let sighting = case.sighting;
    let (mut deciding, mut besides) = (Vec::new(), Vec::new());
    if sighting.views().next().is_none() {
        return (deciding, besides);
    }
    if topic_refusal(sighting).is_some_and(|code| code == ErrorCode::TOPIC_AUTHORIZATION_FAILED) {
        deciding.push(format!("the topic ({})", ErrorCode::TOPIC_AUTHORIZATION_FAILED));
    }
    for (leader, served) in &sighting.served {
        let is_heard = case.roll.node(*leader).is_some_and(Node::is_heard);
        if let (true, Err(unheard)) = (is_heard, served) {
            deciding.push(format!("whether broker {leader} serves what it leads ({unheard})"));
        }
    }
    if counts.untold > 0 {
        deciding.push(format!("the service of {}: leaders did not say", counted(counts.untold, "partition")));
    }
    if sighting.partitions_left_out > 0 {
        deciding.push(format!("the service of {}: so many are not asked for at once", counted(sighting.partitions_left_out, "partition")));
    }
    if sighting.brokers_left_out > 0 {
        deciding.push(format!("{}: so many are not asked at once", counted(sighting.brokers_left_out, "broker")));
    }
    let only_logged = nodes::only_logged(case);
    if !only_logged.is_empty() {
        deciding.push(format!("{}, of which only the controllers' log knows", brokers(&only_logged)));
    }
    let tells_fenced = sighting.voices.iter().filter_map(|voice| voice.cluster.as_ref().ok()).any(|cluster| cluster.includes_fenced);
    if !tells_fenced && sighting.log.is_err() {
        besides.push("which brokers are fenced (Kafka tells since 4.0)".to_owned());
    }
    if let Err(unheard) = &sighting.log
        && !sighting.controllers.is_empty()
        && case.quorum.is_some()
    {
        besides.push(format!("the controllers' log ({unheard})"));
    }
    if sighting.log.is_ok() && sighting.log_before.is_none() {
        besides.push("whether brokers are behind the controllers' log (it was read only after they were asked)".to_owned());
    }
    if let Err(unheard) = &sighting.eligible
        && unheard.why != Silence::NotAsked
    {
        besides.push(format!("eligible leader replicas ({unheard})"));
    }
    // The controllers' log tells them as well.
    if sighting.topics_left_out > 0 && sighting.log.is_err() {
        let topics = counted(sighting.topics_left_out, "topic");
        besides.push(format!("eligible leader replicas of {topics}: so many are not asked for at once"));
    }
    (deciding, besides)
}
