//! Links in the schedule: of a link between nodes, who sends is resolved first, then to whom; `for` becomes two parts, the fault and its
//! mending.

use std::time::Duration;

use super::expand::{Due, Item, Job};
use super::{Firing, Schedule};
use crate::fault::event::Scope;
use crate::fault::primitive::Primitive;
use crate::fault::schedule::Next;
use crate::fault::target::{ResolvedNode, TargetError};
use crate::ids::BrokerId;
use crate::plan::model::{ClientFault, LinkAct, Target};

/// A `link` between nodes.
#[derive(Clone, Debug)]
pub(super) struct NodeLink {
    pub(super) act: LinkAct,
    pub(super) from: Target,
    /// `All`: every other node.
    pub(super) to: Target,
    pub(super) lasts: Option<Duration>,
    /// What `from` stands for, once that is known.
    pub(super) sender: Option<ResolvedNode>,
}

impl NodeLink {
    /// Whom the schedule has to ask for next.
    pub(super) fn unresolved(&self) -> &Target {
        if self.sender.is_some() { &self.to } else { &self.from }
    }

    /// Whether it matters what the nodes were: as in a restart, that is asked for the part that does it.
    pub(super) fn is_fault(&self) -> bool {
        self.act == LinkAct::Cut && self.lasts.is_none()
    }
}

/// A `link` from clients.
#[derive(Clone, Debug)]
pub(super) struct ClientLink {
    pub(super) to: Target,
    pub(super) group: Option<String>,
    pub(super) fault: ClientFault,
    pub(super) lasts: Option<Duration>,
}

impl ClientLink {
    /// As for links between nodes.
    pub(super) fn is_fault(&self) -> bool {
        self.fault != ClientFault::None && self.lasts.is_none()
    }
}

impl Schedule {
    /// The brokers of a link from clients are known.
    pub(super) fn client_link_resolved(&mut self, item: &Item, link: &ClientLink, nodes: Vec<ResolvedNode>) {
        let Some(lasts) = link.lasts else {
            let step = self.open(item, false);
            let to = nodes.iter().map(|node| node.id).collect();
            let primitive = Primitive::ClientLink { to, group: link.group.clone(), fault: link.fault };
            return self.fire(Firing { step, primitive, nodes });
        };
        let step = self.open(item, true);
        let scope = Scope { parent: Some(step.number), round: None };
        // Both parts are about the broker that has the role now.
        let to = if let [node] = nodes[..] { Target::Node(node.id) } else { link.to.clone() };
        let part = |due, fault| {
            let job = Job::ClientLink(ClientLink { to: to.clone(), fault, lasts: None, ..link.clone() });
            Item { due, scope, line: item.line, job }
        };
        self.begin(step, nodes, vec![part(Due::Now, link.fault), part(Due::AfterDown(lasts), ClientFault::None)]);
    }

    /// One end of a link is known, or both.
    pub(super) fn link_resolved(&mut self, item: &Item, nodes: Vec<ResolvedNode>) {
        let Job::NodeLink(link) = &item.job else { return };
        let (Some(sender), receivers) = (link.sender.or(nodes.first().copied()), nodes) else { return };
        if link.sender.is_none() && link.to != Target::All {
            let link = NodeLink { sender: Some(sender), ..link.clone() };
            self.outbox.push_back(Next::Resolve { target: link.to.clone(), is_fault: link.is_fault() });
            self.resolving = Some(Item { due: item.due, scope: item.scope, line: item.line, job: Job::NodeLink(link) });
            return;
        }
        let receivers = if link.to == Target::All { vec![] } else { receivers };
        if receivers.iter().any(|node| node.id == sender.id) {
            return self.unresolved(item, TargetError::NoLinkToItself(sender.id));
        }
        let to: Vec<BrokerId> = receivers.iter().map(|node| node.id).collect();
        let nodes = [vec![sender], receivers].concat();
        match link.lasts {
            None => {
                let step = self.open(item, false);
                self.fire(Firing { step, primitive: Primitive::NodeLink { act: link.act, from: sender.id, to }, nodes });
            }
            Some(lasts) => {
                let step = self.open(item, true);
                let scope = Scope { parent: Some(step.number), round: None };
                // Both parts are about the nodes that have the roles now.
                let to = to.first().map_or(Target::All, |node| Target::Node(*node));
                let part = |due, act| {
                    let job = Job::NodeLink(NodeLink { act, from: Target::Node(sender.id), to: to.clone(), lasts: None, sender: None });
                    Item { due, scope, line: item.line, job }
                };
                self.begin(step, nodes, vec![part(Due::Now, link.act), part(Due::AfterDown(lasts), LinkAct::Mend)]);
            }
        }
    }
}
