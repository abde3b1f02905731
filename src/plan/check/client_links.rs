//! `link` from clients: what is wrong with the links between clients and brokers at a point of the plan.

use std::ops::Range;
use std::time::Duration;

use crate::ids::BrokerId;
use crate::plan::model::{Action, ClientFault, ClientLinks, Pace, Target};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields};

use super::scene::Scene;
use super::targets;

/// What is known of the links between clients and brokers.
#[derive(Debug, Default)]
pub(super) struct Clients {
    links: ClientLinks,
    /// Whether a role, or a step that could not be read, may have done something to them.
    is_uncertain: bool,
    /// Groups that steps name, to be looked for once all are read.
    groups: Vec<(String, Range<usize>)>,
}

impl Clients {
    /// A step that could not be read may have done anything.
    pub(super) fn forget_all(&mut self) {
        self.is_uncertain = true;
    }

    /// Applies a step; whether it would surely change nothing.
    fn apply(&mut self, brokers: Option<&[BrokerId]>, group: Option<&str>, fault: ClientFault, lasts: bool) -> bool {
        let Some(brokers) = brokers else {
            self.is_uncertain |= !lasts;
            return false;
        };
        let no_effect = !self.is_uncertain && brokers.iter().all(|broker| self.links.is_so(*broker, group, fault));
        let after = if lasts { ClientFault::None } else { fault };
        brokers.iter().for_each(|broker| self.links.set(*broker, group, after));
        no_effect
    }
}

/// Reads a `link` from clients.
pub(super) fn read(fault: Option<&str>, lasts: Option<Duration>, arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let group = arguments.text("group");
    if let Some(At { value, span }) = &group {
        scene.client_links.groups.push(((*value).to_owned(), span.clone()));
    }
    let to = targets::broker_or_role("to", arguments, scene);
    let fault = client_fault(fault, arguments, scene);
    let (Some(to), Some(fault)) = (to, fault) else {
        scene.client_links.forget_all();
        return None;
    };
    if fault == ClientFault::None && !matches!(to, Target::Node(_) | Target::All) {
        let problem = Problem::error(arguments.span_of("to"), "a role may mean another broker by now than when the link was hurt");
        scene.report(problem.hint("name the broker, or \"all\", or let the fault end by itself: `for = \"12s\"`"));
        scene.client_links.forget_all();
        return None;
    }
    let all = scene.layout.map(crate::plan::model::Layout::brokers);
    let brokers = match &to {
        Target::Node(node) => Some(vec![*node]),
        Target::All => all,
        _ => None,
    };
    let group = group.map(|group| group.value.to_owned());
    if scene.client_links.apply(brokers.as_deref(), group.as_deref(), fault, lasts.is_some()) {
        let problem = Problem::error(arguments.span.clone(), "this link is so already here");
        let hint = if fault == ClientFault::None { "hurt it first" } else { "mend it first, with fault = \"none\"" };
        scene.report(problem.hint(format!("a step that changes nothing fails the run: {hint}")));
    }
    Some(Action::ClientLink { to, group, fault, lasts: lasts.filter(|_| fault != ClientFault::None) })
}

/// What is to be wrong with the link.
fn client_fault(fault: Option<&str>, arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<ClientFault> {
    let (delay, jitter, rate) = (arguments.duration("delay"), arguments.duration("jitter"), arguments.byte_rate("rate"));
    if arguments.has("jitter") && !arguments.has("delay") {
        let problem = Problem::error(arguments.key_span("jitter"), "`jitter` says how much a `delay` varies, and there is none");
        scene.report(problem.hint("for instance `delay = \"50ms\", jitter = \"10ms\"`"));
        return None;
    }
    if let (Some(delay), Some(jitter)) = (delay, jitter)
        && jitter > delay
    {
        let problem =
            Problem::error(arguments.span_of("jitter"), "`jitter` is longer than `delay`: bytes would arrive before they are sent");
        scene.report(problem.hint("it goes both ways: with `delay = \"50ms\"` it is at most \"50ms\""));
        return None;
    }
    if let Some(word) = fault {
        return ClientFault::NAMED.iter().find(|(_, name)| *name == word).map(|(fault, _)| *fault);
    }
    if ["fault", "delay", "rate"].iter().all(|key| !arguments.has(key)) {
        let problem = Problem::error(arguments.span.clone(), "a `link` from clients needs `fault`, `delay` or `rate`");
        scene.report(problem.hint("for instance `delay = \"50ms\"`").absent());
        return None;
    }
    if delay == Some(Duration::ZERO) && rate.is_none() {
        let problem = Problem::error(arguments.span_of("delay"), "a delay of no time does nothing");
        scene.report(problem.hint("to mend the link write `fault = \"none\"`"));
        return None;
    }
    if arguments.has("fault") || arguments.has("delay") && delay.is_none() || arguments.has("rate") && rate.is_none() {
        // Told where it was read.
        return None;
    }
    Some(ClientFault::Slow(Pace { delay: delay.unwrap_or_default(), jitter: jitter.unwrap_or_default(), bytes_per_second: rate }))
}

/// Looks for the groups that steps name. `names` is `None` where a group's name could not be read.
pub(super) fn check_groups(scene: &mut Scene<'_>, names: Option<&[String]>) {
    let Some(names) = names else { return };
    for (group, span) in std::mem::take(&mut scene.client_links.groups) {
        if !names.contains(&group) {
            let problem = Problem::error(span, format!("there is no group `{group}`"));
            scene.report(problem.did_you_mean(&group, names.iter().map(String::as_str)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_surely_changes_nothing_is_found() {
        let (mut clients, two) = (Clients::default(), [BrokerId(2)]);
        let mut apply = |brokers: Option<&[BrokerId]>, group, fault, lasts| clients.apply(brokers, group, fault, lasts);
        assert!(apply(Some(&two), None, ClientFault::None, false));
        assert!(!apply(Some(&two), Some("a"), ClientFault::Reset, false));
        assert!(apply(Some(&two), Some("a"), ClientFault::Reset, true), "although it would end by itself");
        assert!(!apply(Some(&two), Some("a"), ClientFault::Reset, false), "it has ended");
        assert!(!apply(Some(&[BrokerId(1), BrokerId(2)]), Some("a"), ClientFault::Reset, false), "broker 1 is new");
        assert!(!apply(None, None, ClientFault::BlackHole, true));
        assert!(apply(Some(&two), Some("a"), ClientFault::Reset, false), "what a role did has ended");
        assert!(!apply(None, None, ClientFault::BlackHole, false));
        assert!(!apply(Some(&two), Some("a"), ClientFault::Reset, false), "who knows");
    }
}
