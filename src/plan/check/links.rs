//! `link`: which links are cut at a point of the plan, as far as that can be known before the run.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::ids::BrokerId;
use crate::plan::model::{Action, Layout, LinkAct, LinkNeeds, NetworkMode, Step, Target};
use crate::plan::problem::Problem;
use crate::plan::raw::{Fields, IdOrText};

use super::scene::Scene;
use super::{client_links, targets};

/// Links between nodes that are surely cut, each with the line that did it.
#[derive(Debug)]
pub(super) struct Links {
    nodes: Vec<BrokerId>,
    cut: BTreeMap<(BrokerId, BrokerId), usize>,
    /// Whether all that are cut are known.
    certain: bool,
}

impl Links {
    pub(super) fn new(layout: Option<Layout>) -> Self {
        Self { nodes: layout.map(Layout::nodes).unwrap_or_default(), cut: BTreeMap::new(), certain: true }
    }

    /// A step that could not be read may have done anything.
    pub(super) fn forget_all(&mut self) {
        self.cut.clear();
        self.certain = false;
    }

    /// Applies a step that is not undone by itself; answers why it would change nothing, if that is sure.
    fn apply(&mut self, act: LinkAct, from: &Target, to: &Target, lasts: bool, line: usize) -> Option<String> {
        let Some(pairs) = self.pairs(from, to) else {
            self.certain &= lasts;
            return None;
        };
        let cut: Vec<usize> = pairs.iter().filter_map(|pair| self.cut.get(pair).copied()).collect();
        let no_effect = match act {
            LinkAct::Cut if cut.len() == pairs.len() => {
                cut.iter().max().map(|line| format!("this link is cut already here, since the step in line {line}"))
            }
            LinkAct::Mend if cut.is_empty() && self.certain => Some("this link is not cut here".to_owned()),
            _ => None,
        };
        match act {
            LinkAct::Cut if !lasts => self.cut.extend(pairs.into_iter().map(|pair| (pair, line))),
            _ => self.cut.retain(|pair, _| !pairs.contains(pair)),
        }
        no_effect
    }

    /// The links that are meant; `None`: a role decides.
    fn pairs(&self, from: &Target, to: &Target) -> Option<Vec<(BrokerId, BrokerId)>> {
        match (from, to) {
            (Target::Node(from), Target::Node(to)) => Some(vec![(*from, *to)]),
            (Target::Node(from), Target::All) => Some(self.nodes.iter().filter(|node| *node != from).map(|node| (*from, *node)).collect()),
            _ => None,
        }
    }
}

/// Reads a `link`.
pub(super) fn read(arguments: &Fields<'_>, scene: &mut Scene<'_>) -> Option<Action> {
    let (fault, lasts) = (arguments.choice("fault"), duration(arguments, scene));
    if scene.network == NetworkMode::Host {
        let problem =
            Problem::error(arguments.span.clone(), "on the host's network there is nothing between nodes or clients that could be hurt");
        scene.report(problem.hint("`network = \"bridge\"` gives the nodes one of their own"));
    }
    if fault == Some("none") && arguments.has("for") {
        let problem = Problem::error(arguments.key_span("for"), "`for` says how long a fault lasts, and \"none\" is none");
        scene.report(problem.hint("leave it out"));
    }
    if arguments.target("from").is_some_and(|from| from.value == IdOrText::Text("clients")) {
        return client_links::read(fault, lasts, arguments, scene);
    }
    let act = node_act(fault, arguments, scene);
    let (from, to) = (targets::node_or_role("from", arguments, scene), targets::node_or_role("to", arguments, scene));
    let (Some(from), Some(to), Some(act)) = (from, to, act) else {
        scene.links.forget_all();
        return None;
    };
    if !ends_are_sound(&from, &to, act, arguments, scene) {
        scene.links.forget_all();
        return None;
    }
    let line = scene.line(&arguments.span);
    if let Some(message) = scene.links.apply(act, &from, &to, arguments.has("for"), line) {
        let hint = match act {
            LinkAct::Cut => "a step that changes nothing fails the run: mend it first, with fault = \"none\"",
            LinkAct::Mend => "a step that changes nothing fails the run: cut it first, with fault = \"black-hole\"",
        };
        scene.report(Problem::error(arguments.span.clone(), message).hint(hint));
    }
    Some(Action::NodeLink { from, to, act, lasts: lasts.filter(|_| act == LinkAct::Cut) })
}

/// What is done to a link between nodes.
fn node_act(fault: Option<&str>, arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<LinkAct> {
    let mut is_sound = true;
    for key in ["group", "delay", "jitter", "rate"].into_iter().filter(|key| arguments.has(key)) {
        let problem = Problem::error(arguments.key_span(key), format!("`{key}` goes with `from = \"clients\"` alone"));
        scene.report(problem.hint("between nodes only a black hole can be made: packets are dropped, or they are not"));
        is_sound = false;
    }
    match fault {
        Some("black-hole") => Some(LinkAct::Cut),
        Some("none") => Some(LinkAct::Mend),
        Some(word) => {
            let problem = Problem::error(arguments.span_of("fault"), format!("\"{word}\" goes with `from = \"clients\"` alone"));
            scene.report(problem.hint("between nodes only \"black-hole\" can be made"));
            None
        }
        None => {
            if is_sound && !arguments.has("fault") {
                let problem = Problem::error(arguments.span.clone(), "a `link` between nodes needs `fault`");
                scene.report(problem.hint("for instance `fault = \"black-hole\"`").absent());
            }
            None
        }
    }
}

/// How long the fault lasts; `None`: until a later step.
fn duration(arguments: &Fields<'_>, scene: &Scene<'_>) -> Option<Duration> {
    let lasts = arguments.has("for").then(|| arguments.duration("for")).flatten();
    if lasts == Some(Duration::ZERO) {
        let problem = Problem::error(arguments.span_of("for"), "a fault that lasts no time does nothing");
        scene.report(problem.hint("for instance `for = \"12s\"`"));
    }
    lasts
}

/// Whether both ends can be those of a link.
fn ends_are_sound(from: &Target, to: &Target, act: LinkAct, arguments: &Fields<'_>, scene: &Scene<'_>) -> bool {
    let refuse = |key: &str, message: String, hint: &str| {
        scene.report(Problem::error(arguments.span_of(key), message).hint(hint));
        false
    };
    if *from == Target::All {
        return refuse("from", "`from` is one node: a step for each cuts several off".to_owned(), "`to = \"all\"` means every other node");
    }
    if let (Target::Node(one), Target::Node(other)) = (from, to)
        && one == other
    {
        return refuse("to", format!("node {one} has no link to itself"), "name another node, or \"all\" for every other one");
    }
    if *to == Target::All && scene.layout.is_some_and(|layout| layout.nodes().len() == 1) {
        return refuse("to", "the cluster has one node, and so no links".to_owned(), "give it more with `nodes = 3`");
    }
    let is_role = |target: &Target| !matches!(target, Target::Node(_) | Target::All);
    if let (LinkAct::Mend, Some(key)) = (act, [("from", from), ("to", to)].iter().find(|(_, end)| is_role(end)).map(|(key, _)| *key)) {
        let message = "a role may mean another node by now than when the link was cut".to_owned();
        return refuse(key, message, "name the node, or let the fault end by itself: `for = \"12s\"`");
    }
    true
}

/// What the steps need of the cluster's links.
pub(super) fn needs(steps: &[Step]) -> LinkNeeds {
    let mut needs = LinkNeeds::default();
    for step in steps {
        match &step.action {
            Action::NodeLink { .. } => needs.nodes = true,
            Action::ClientLink { .. } => needs.clients = true,
            Action::Repeat { steps, .. } => {
                let inner = self::needs(steps);
                needs = LinkNeeds { nodes: needs.nodes || inner.nodes, clients: needs.clients || inner.clients };
            }
            _ => {}
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: i32) -> Target {
        Target::Node(BrokerId(id))
    }

    fn links() -> Links {
        Links::new(Some(Layout::Dedicated { brokers: 2, controllers: 1 }))
    }

    #[test]
    fn a_link_is_cut_until_it_is_mended_and_has_a_direction() {
        let mut links = links();
        assert_eq!(links.apply(LinkAct::Cut, &node(1), &node(3), false, 5), None);
        assert_eq!(links.apply(LinkAct::Cut, &node(3), &node(1), true, 6), None);
        assert!(links.apply(LinkAct::Cut, &node(1), &node(3), false, 7).unwrap().contains("line 5"));
        assert_eq!(links.apply(LinkAct::Cut, &node(1), &Target::All, false, 8), None, "to node 2 it is whole");
        assert!(links.apply(LinkAct::Cut, &node(1), &Target::All, false, 9).unwrap().contains("line 8"));
        assert_eq!(links.apply(LinkAct::Mend, &node(1), &node(3), false, 10), None);
        assert!(links.apply(LinkAct::Mend, &node(1), &node(3), false, 11).is_some());
        assert!(links.apply(LinkAct::Mend, &node(3), &node(1), false, 12).is_some(), "that one ended by itself");
    }

    #[test]
    fn after_a_role_any_link_may_be_cut() {
        let mut links = links();
        assert_eq!(links.apply(LinkAct::Cut, &Target::Controller, &node(1), true, 5), None);
        assert!(links.apply(LinkAct::Mend, &node(3), &node(1), false, 6).is_some(), "what lasts a while leaves nothing behind");
        assert_eq!(links.apply(LinkAct::Cut, &Target::Controller, &node(1), false, 7), None);
        assert_eq!(links.apply(LinkAct::Mend, &node(3), &node(1), false, 8), None);
    }
}
