//! What is true at a point of the plan: which nodes and topics there are, and which nodes are down.
//!
//! Walked forward by `steps`; read by everything that names a node, a topic or a partition. Not here: how a section is read.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::ids::BrokerId;
use crate::plan::diagnostic::position;
use crate::plan::model::{Layout, NetworkMode};
use crate::plan::problem::{Collector, Problem};
use crate::plan::raw::At;

use super::client_links::Clients;
use super::cluster::Cluster;
use super::links::Links;
use super::nodes::Nodes;

/// The state of things at a point of the plan.
#[derive(Debug)]
pub(super) struct Scene<'p> {
    pub(super) problems: &'p Collector,
    text: &'p str,
    /// `None`: the cluster's section is broken, so nothing about nodes can be said.
    pub(super) layout: Option<Layout>,
    /// How nodes reach the host's network.
    pub(super) network: NetworkMode,
    /// JVM heap of each node.
    pub(super) heap_bytes: u64,
    /// The brokers' own `min.insync.replicas`.
    pub(super) min_in_sync_replicas: Option<u64>,
    pub(super) topics: Topics,
    pub(super) nodes: Nodes,
    pub(super) links: Links,
    pub(super) client_links: Clients,
}

/// Topics that exist at a point of the plan.
#[derive(Debug)]
pub(super) struct Topics {
    /// Partitions by topic; `None`: their number could not be read.
    existing: BTreeMap<String, Option<u32>>,
    /// Replicas of each partition, where they are known.
    replicas: BTreeMap<String, usize>,
    /// Members by the name of a `[[topic]]` with `count`.
    families: BTreeMap<String, Vec<String>>,
    /// Topics that a step deleted, with its line.
    deleted: BTreeMap<String, usize>,
    /// All topics that ever exist.
    ever: BTreeSet<String>,
    /// Whether all names could be read: else nothing can be called unknown.
    pub(super) complete: bool,
}

impl<'p> Scene<'p> {
    pub(super) fn new(problems: &'p Collector, text: &'p str, layout: Option<Layout>, cluster: &Cluster) -> Self {
        let topics = Topics {
            existing: BTreeMap::new(),
            replicas: BTreeMap::new(),
            families: BTreeMap::new(),
            deleted: BTreeMap::new(),
            ever: BTreeSet::new(),
            complete: true,
        };
        let (network, min_in_sync_replicas) = (cluster.spec.network, cluster.min_in_sync_replicas);
        let heap_bytes = cluster.spec.heap_bytes;
        let (nodes, links, client_links) = (Nodes::new(layout), Links::new(layout), Clients::default());
        Self { problems, text, layout, network, heap_bytes, min_in_sync_replicas, topics, nodes, links, client_links }
    }

    pub(super) fn report(&self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Line of a place, from 1.
    pub(super) fn line(&self, span: &Range<usize>) -> usize {
        position(self.text, span.start).0
    }

    /// A node of the cluster at this point. Where the layout is unknown every id passes.
    pub(super) fn node(&self, id: &At<u64>) -> Option<BrokerId> {
        let node = BrokerId(i32::try_from(id.value).unwrap_or(i32::MAX));
        if self.nodes.has(node) {
            return Some(node);
        }
        let problem = Problem::error(id.span.clone(), format!("there is no node {} here", id.value)).hint(self.describe_nodes());
        self.report(if node == self.nodes.next() { problem.hint("a step `add-broker` before this one would add it") } else { problem });
        None
    }

    /// A broker of the cluster at this point.
    pub(super) fn broker(&self, id: &At<u64>) -> Option<BrokerId> {
        let node = self.node(id)?;
        if self.is_broker(node) {
            return Some(node);
        }
        let problem = Problem::error(id.span.clone(), format!("node {node} is a controller only, not a broker"));
        self.report(problem.hint(self.describe_nodes()));
        None
    }

    /// Whether a node that exists is a broker. Where the layout is unknown every node is.
    pub(super) fn is_broker(&self, node: BrokerId) -> bool {
        self.layout.is_none() || self.nodes.brokers().contains(&node)
    }

    /// Which nodes the cluster has at this point, as a sentence.
    pub(super) fn describe_nodes(&self) -> String {
        let Some(layout) = self.layout else { return String::new() };
        let first = layout.first_free();
        let added: Vec<String> = self.nodes.brokers().iter().filter(|broker| **broker >= first).map(ToString::to_string).collect();
        let added = if added.is_empty() { String::new() } else { format!(", and with `add-broker` {}", added.join(", ")) };
        format!("the cluster has {layout}{added}")
    }

    /// A topic that exists now. `Some(None)`: it does, but its number of partitions is unknown.
    pub(super) fn topic(&self, name: &At<&str>) -> Option<Option<u32>> {
        if let Some(partitions) = self.topics.existing.get(name.value) {
            return Some(*partitions);
        }
        if !self.topics.complete {
            return None;
        }
        let problem = Problem::error(name.span.clone(), format!("there is no topic `{}` here", name.value));
        self.report(match (self.topics.deleted.get(name.value), self.topics.families.get(name.value)) {
            (Some(line), _) => problem.hint(format!("the step in line {line} deleted it")),
            (None, Some(members)) => problem.hint(format!("`count` makes {} of it: name one of them", span_of_names(members))),
            (None, None) => problem.did_you_mean(name.value, self.topics.existing.keys().map(String::as_str)),
        });
        None
    }

    /// The topics that a name in `topics` of producers stands for: itself, or the whole family. Topics that a step makes later count.
    pub(super) fn topics_named(&self, name: &At<&str>) -> Vec<String> {
        if self.topics.ever.contains(name.value) || !self.topics.complete {
            return vec![name.value.to_owned()];
        }
        if let Some(members) = self.topics.families.get(name.value) {
            return members.clone();
        }
        let known = self.topics.ever.iter().chain(self.topics.families.keys()).map(String::as_str);
        let problem = Problem::error(name.span.clone(), format!("there is no topic `{}`", name.value));
        self.report(problem.did_you_mean(name.value, known));
        Vec::new()
    }
}

impl Topics {
    /// Whether a topic of this name exists now.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.existing.contains_key(name)
    }

    /// Whether the plan makes a topic, or topics, of this name at any time.
    pub(super) fn is_ever_made(&self, name: &str) -> bool {
        self.ever.contains(name) || self.families.contains_key(name)
    }

    pub(super) fn create(&mut self, name: &str, partitions: Option<u32>) {
        self.existing.insert(name.to_owned(), partitions);
        self.ever.insert(name.to_owned());
        self.deleted.remove(name);
    }

    /// How many replicas each partition of a topic has, if that is known.
    pub(super) fn replicas_of(&self, name: &str) -> Option<usize> {
        self.replicas.get(name).copied()
    }

    pub(super) fn set_replicas(&mut self, name: &str, replicas: Option<usize>) {
        match replicas {
            Some(replicas) => self.replicas.insert(name.to_owned(), replicas),
            None => self.replicas.remove(name),
        };
    }

    pub(super) fn create_family(&mut self, name: &str, members: &[String], partitions: Option<u32>) {
        for member in members {
            self.create(member, partitions);
        }
        self.families.insert(name.to_owned(), members.to_vec());
    }

    pub(super) fn delete(&mut self, name: &str, line: usize) {
        self.existing.remove(name);
        self.deleted.insert(name.to_owned(), line);
    }

    pub(super) fn grow(&mut self, name: &str, partitions: u32) {
        self.existing.insert(name.to_owned(), Some(partitions));
    }
}

fn span_of_names(members: &[String]) -> String {
    match members {
        [] => String::new(),
        [only] => format!("`{only}`"),
        [first, .., last] => format!("`{first}` to `{last}`"),
    }
}
