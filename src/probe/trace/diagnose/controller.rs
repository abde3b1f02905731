//! Whether there is an active controller that can commit.

use super::Case;
use crate::ids::BrokerId;
use crate::kafka::admin::QuorumView;
use crate::probe::trace::diagnosis::{Cause, Finding};
use crate::probe::trace::roll::{FETCH_AGE_MS_MAX, Node, fetched_ms_ago, has_majority, is_without_controller};
use crate::probe::trace::sighting::{Silence, Unheard, Voice};
use crate::probe::trace::words::{brokers, controllers, counted, listed};

/// Controllers that are believed without a broker: one alone is mostly one of several, and another of them active.
const CONTROLLERS_MIN: usize = 2;
/// What still goes on without a controller, and what does not.
const NOTHING_CHANGES: &str =
    "Leaders that live go on serving, but nothing can change: no new leader, no topic, no broker that comes or goes";

pub(super) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let Some(quorum) = case.quorum else { return no_active_controller(case).into_iter().collect() };
    let stale: Vec<BrokerId> = quorum.voters.iter().map(|voter| voter.id).filter(|id| is_stale(quorum, *id)).collect();
    match has_majority(quorum) {
        Some(false) => vec![no_majority(quorum, stale)],
        Some(true) if !stale.is_empty() => voter_down(case, quorum, &stale).into_iter().collect(),
        _ => vec![],
    }
}

fn is_stale(quorum: &QuorumView, id: BrokerId) -> bool {
    fetched_ms_ago(quorum, id).is_none_or(|age| age > FETCH_AGE_MS_MAX)
}

/// Controllers that answered, asked directly, that they are not the active one.
fn refusals(case: &Case<'_>) -> usize {
    let is_refusal = |unheard: &Unheard| matches!(unheard.why, Silence::Refused(code) if is_without_controller(code));
    case.sighting.controllers.iter().filter(|(_, told)| told.as_ref().is_err_and(is_refusal)).count()
}

/// Whether there is no active controller. One broker that reaches none may be cut off, and a controller that is not the active one does not know
/// whether another is: so all brokers that answer must agree, or one of them and a controller, or all of several controllers.
pub(super) fn is_none_active(case: &Case<'_>) -> bool {
    let told = told(case);
    let is_doubted = told.contains(&None) && refusals(case) == 0;
    !is_some_active(case) && ((told.contains(&Some(false)) && !is_doubted) || is_refused_by_all(case))
}

/// Whether several controllers were given, and each answered that it is not the active one.
fn is_refused_by_all(case: &Case<'_>) -> bool {
    let given = case.sighting.controllers.len();
    given >= CONTROLLERS_MIN && refusals(case) == given
}

/// Whether somebody reaches an active controller.
pub(super) fn is_some_active(case: &Case<'_>) -> bool {
    case.quorum.is_some() || told(case).contains(&Some(true))
}

/// Whether each broker that answers, and was asked for the quorum, reaches an active controller.
fn told(case: &Case<'_>) -> Vec<Option<bool>> {
    case.roll.nodes().iter().filter(|node| was_asked(node)).map(Node::reaches_controller).collect()
}

/// Whether it answers, and was asked for the quorum.
fn was_asked(node: &Node<'_>) -> bool {
    let is_not_asked = |voice: &Voice| matches!(&voice.quorum, Err(unheard) if unheard.why == Silence::NotAsked);
    node.is_heard() && !node.voice.is_some_and(is_not_asked)
}

fn no_active_controller(case: &Case<'_>) -> Option<Finding> {
    if !is_none_active(case) {
        return None;
    }
    let asked = case.roll.nodes().iter().filter(|node| node.reaches_controller() == Some(false));
    let ids: Vec<BrokerId> = asked.map(|node| node.id).collect();
    let (told, refusals) = (&case.sighting.controllers, refusals(case));
    let silent: Vec<String> = told
        .iter()
        .filter(|(_, told)| told.is_err())
        .filter_map(|(address, told)| {
            let unheard = told.as_ref().err()?;
            (!matches!(unheard.why, Silence::Refused(_))).then(|| format!("{address} ({})", unheard.word()))
        })
        .collect();
    let they_are = if refusals == 1 { "it is" } else { "they are" };
    let among_controllers =
        (refusals > 0).then(|| format!("{} answered that {they_are} not the active one", counted(refusals, "controller")));
    let silent_ones = (!silent.is_empty()).then(|| format!("{} did not answer", listed(&silent)));
    let through_brokers = (!ids.is_empty()).then(|| format!("{} reached none", brokers(&ids)));
    let evidence: Vec<String> = [through_brokers, among_controllers, silent_ones].into_iter().flatten().collect();
    let (none, consequence) = if ids.is_empty() {
        ("There is no active controller among those that were given", "If there is no other, nothing in the cluster can change")
    } else {
        ("There is no active controller", NOTHING_CHANGES)
    };
    Some(Finding {
        cause: Cause::NoActiveController,
        nodes: vec![],
        partitions: vec![],
        partition_count: 0,
        sentence: format!("{none}: {}. {consequence}.", evidence.join("; ")),
        next: "See which controllers run: most of the voters must, and must reach each other. Start those that are down, then look for elections in \
               their logs; an election takes 2 to 4 seconds. With --controller this command asks them one by one."
            .to_owned(),
    })
}

fn no_majority(quorum: &QuorumView, stale: Vec<BrokerId>) -> Finding {
    let (all, left) = (quorum.voters.len(), quorum.voters.len() - stale.len());
    Finding {
        cause: Cause::NoMajority,
        sentence: format!(
            "Controller {} is active in epoch {} but has lost the majority: {left} of {} follow it, {} not. {NOTHING_CHANGES}.",
            quorum.leader,
            quorum.leader_epoch.0,
            counted(all, "voter"),
            controllers(&stale) + if stale.len() == 1 { " does" } else { " do" },
        ),
        next: format!(
            "Start {}, or mend the network between the controllers: it gives up its leadership within seconds.",
            controllers(&stale)
        ),
        nodes: stale,
        partitions: vec![],
        partition_count: 0,
    }
}

/// Voters that are brokers as well are told of as brokers.
fn voter_down(case: &Case<'_>, quorum: &QuorumView, stale: &[BrokerId]) -> Option<Finding> {
    let is_broker = |id: &BrokerId| case.roll.node(*id).is_some_and(Node::is_broker);
    let only_voters: Vec<BrokerId> = stale.iter().copied().filter(|id| !is_broker(id)).collect();
    let spare = (quorum.voters.len() - stale.len()).saturating_sub(quorum.voters.len() / 2 + 1);
    (!only_voters.is_empty()).then(|| Finding {
        cause: Cause::VoterDown,
        sentence: format!(
            "{} not follow the active controller {}; the quorum works, and can lose {spare} more.",
            capitalised(&controllers(&only_voters)) + if only_voters.len() == 1 { " does" } else { " do" },
            quorum.leader,
        ),
        next: "Start it, or see in its log why it does not fetch; with --controller this command asks it directly.".to_owned(),
        nodes: only_voters,
        partitions: vec![],
        partition_count: 0,
    })
}

/// A sentence begins with a capital letter.
pub(super) fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
