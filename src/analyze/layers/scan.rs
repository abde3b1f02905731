//! What did not follow although all that it depends on had, whether or not a record waited for it: the quorum, a node, a broker's cache, a
//! leader, or a group's caches of a topic that grew.

use super::index::Part;
use super::log::{Change, Kind};
use super::stages::{Stage, Stages};
use super::step::Step;
use super::{Layers, QUIET_ORDINARY_US};
use crate::ids::BrokerId;
use crate::record::fact::StepOutcome;
use crate::record::layer::Layer;

/// A layer that followed late, or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Late<'a> {
    pub(crate) layer: Layer,
    pub(crate) node: Option<BrokerId>,
    pub(crate) group: Option<u32>,
    /// For which change; `None`: it made no record.
    pub(crate) change: Option<&'a Change>,
    pub(crate) offset: Option<i64>,
    pub(crate) since_us: i64,
    /// `None`: not by the end.
    pub(crate) until_us: Option<i64>,
    /// Of a group: how many producers have not followed, and how many there are.
    pub(crate) producers: (u64, u64),
    /// What the stage last said.
    pub(crate) what: String,
    pub(crate) is_without_controller: bool,
}

impl Late<'_> {
    pub(crate) fn part(&self) -> Option<Part> {
        self.change.map(|change| change.part)
    }

    pub(crate) fn for_us(&self, step: &Step<'_>) -> i64 {
        self.until_us.unwrap_or(step.end_us) - self.since_us
    }
}

/// The quorum as a whole: nothing can be noticed or committed without it. And a request of an administrator that left no record.
pub(crate) fn without_record<'a>(layers: &Layers, step: &Step<'a>) -> Option<Late<'a>> {
    if !step.changes.is_empty() || !step.events.is_empty() {
        return None;
    }
    let late = |layer, since_us, until_us| Late {
        layer,
        node: None,
        group: None,
        change: None,
        offset: None,
        since_us,
        until_us,
        producers: (0, 0),
        what: String::new(),
        is_without_controller: layer == Layer::Committed,
    };
    if let Some(lost_us) = layers.quorum.lost_since_us().filter(|lost_us| *lost_us < step.until_us) {
        let late = late(Layer::Committed, lost_us.max(step.began_us), None);
        return (late.for_us(step) > QUIET_ORDINARY_US).then_some(late);
    }
    let is_refused = matches!(step.record.outcome, Some(StepOutcome::Failed | StepOutcome::NotObserved)) && step.record.nodes.is_empty();
    let until_us = Some(step.until_us).filter(|until_us| *until_us < step.end_us);
    is_refused.then(|| late(Layer::Detected, step.began_us, until_us))
}

/// What is late in a change's stages: of those that never followed the first layer, else the one that took longest.
pub(crate) fn of_stages<'a>(layers: &Layers, step: &Step<'_>, change: Option<&'a Change>, offset: i64, stages: &Stages) -> Vec<Late<'a>> {
    let mut late = Vec::new();
    for (at, stage) in stages.stages.iter().enumerate() {
        let Some(stage) = stage else { continue };
        late.extend(match stage.layer {
            // That a replica is in sync again, nobody has to know.
            Layer::BrokerCache if change.is_some_and(|change| change.kind == Kind::Other) => None,
            Layer::Committed | Layer::Fetched | Layer::BrokerCache | Layer::Servable => of_node(layers, step, stages, at, stage),
            // Whom a new leader concerns shows in the waits.
            Layer::ClientCache if change.is_none_or(|change| change.kind == Kind::Made) => of_group(step, stages, at, stage),
            _ => None,
        });
    }
    for late in &mut late {
        (late.change, late.offset) = (change, Some(offset));
    }
    late
}

/// The weightier of two: what is stuck before what was only late, then the layer on which others depend, then the longer time.
pub(crate) fn weightier<'a>(step: &Step<'_>, one: Option<Late<'a>>, other: Late<'a>) -> Late<'a> {
    let rank = |late: &Late<'_>| match late.until_us {
        None => (0, late.layer, late.since_us),
        Some(_) => (1, Layer::Detected, -late.for_us(step)),
    };
    match one {
        Some(one) if rank(&one) <= rank(&other) => one,
        _ => other,
    }
}

fn of_node<'a>(layers: &Layers, step: &Step<'_>, stages: &Stages, at: usize, stage: &Stage) -> Option<Late<'a>> {
    let since_us = stages.ready_us(at)?;
    let until_us = stages.placed[at].no_later_us;
    if let Some(node) = stage.node {
        // A node that was down, or has just come up, is not stuck: it is not there.
        if !layers.nodes.is_settled(node, since_us) || layers.nodes.was_down(node, since_us, until_us.unwrap_or(step.end_us)) {
            return None;
        }
        if stage.layer == Layer::Servable && stage.what == "not asked" {
            return None;
        }
    }
    let lost_us = layers.quorum.lost_since_us();
    let is_without_controller = stage.layer == Layer::Committed && until_us.is_none() && lost_us.is_some();
    let late = Late {
        layer: stage.layer,
        node: stage.node,
        group: None,
        change: None,
        offset: None,
        since_us: if is_without_controller { since_us.max(lost_us.unwrap_or(since_us)) } else { since_us },
        until_us,
        producers: (0, 0),
        what: stage.what.clone(),
        is_without_controller,
    };
    (late.for_us(step) > QUIET_ORDINARY_US).then_some(late)
}

/// A group whose caches do not show that a topic has grown.
fn of_group<'a>(step: &Step<'_>, stages: &Stages, at: usize, stage: &Stage) -> Option<Late<'a>> {
    // Whoever told the first producer knew; if none knows yet, any broker's answer would have told.
    let knew = stages.shown().filter(|(stage, _)| stage.layer == Layer::BrokerCache).filter_map(|(_, placed)| placed.no_later_us).min();
    let committed = stages.shown().find(|(stage, _)| stage.layer == Layer::Committed).and_then(|(_, placed)| placed.no_later_us);
    let since_us = knew.or(committed)?;
    let until_us = stages.placed[at].time_us.filter(|_| stage.never == 0);
    let late = Late {
        layer: Layer::ClientCache,
        node: None,
        group: stage.group,
        change: None,
        offset: None,
        since_us,
        until_us,
        producers: (stage.never, stage.never + stage.times_us.len() as u64),
        what: String::new(),
        is_without_controller: false,
    };
    (late.for_us(step) > QUIET_ORDINARY_US).then_some(late)
}
