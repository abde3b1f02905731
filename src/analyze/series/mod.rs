//! Figures over time, as pictures of a run need them: the load, the nodes, partitions, caches; and outages as a map.
//!
//! An incremental fold like the others, with bounds on everything that it keeps: a run of hours has wider buckets (`scale`), and where
//! lanes are too many, those are kept in which most happened. What a bound refused is counted as `left_out`. Not here: how a picture looks
//! (`report::html`), and figures of a whole run (the other folds).

mod caches;
pub mod findings;
mod generator;
mod lanes;
mod lines;
mod load;
mod nodes;
pub mod number;
mod outages;
mod percentiles;
mod scale;
mod sketch;
mod told;

#[cfg(test)]
mod tests;

use crate::analyze::histograms::Histograms;
use crate::analyze::load::Loads;
use crate::analyze::outage::{GroupBasis, Hit, Pair, Stretches};
use crate::analyze::window::StepWindow;
use crate::ids::BrokerId;
use crate::record::fact::{Fact, Phase, Stamped};
use crate::record::files::millis;
use findings::{NodeLines, PhaseSpan, SeriesFinding, Timeline};
use lines::Lines;
use scale::Scale;

/// Phases begin once each; a damaged file may say otherwise.
const PHASES_MAX: usize = 100;

/// All that changes over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Series {
    scale: Scale,
    phases: Vec<(Phase, i64)>,
    groups: Lines<String, load::GroupSeries>,
    requesters: Lines<String, load::RequesterSeries>,
    generator: generator::GeneratorSeries,
    nodes: Lines<BrokerId, nodes::NodeSeries>,
    lanes: lanes::LaneSet,
    caches: caches::CacheSeries,
}

/// What else the pictures are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) loads: &'a Loads,
    pub(crate) stretches: &'a Stretches,
    pub(crate) hits: &'a [Hit],
    pub(crate) windows: &'a [StepWindow],
    /// By group number of the stretches.
    pub(crate) basis: &'a [GroupBasis],
    /// End of the run, or of its facts.
    pub(crate) end_us: i64,
}

impl Series {
    /// Takes in a fact with its histograms.
    pub(crate) fn fold(&mut self, stamped: &Stamped, histograms: &Histograms) {
        let worker = stamped.worker;
        match &stamped.fact {
            Fact::RunStarted(run) => {
                // In plan order, whoever tells first.
                for group in &run.groups {
                    self.groups.line(&group.name);
                }
                for group in &run.requesters {
                    self.requesters.line(&group.name);
                }
                self.caches.fold(stamped);
            }
            Fact::PhaseStarted { phase } if self.phases.len() < PHASES_MAX => self.phases.push((*phase, millis(stamped.time_us))),
            Fact::Second(second) => {
                let bucket = self.bucket(second.second);
                if let Some(group) = self.groups.line(&second.group) {
                    group.add(bucket, worker, second, histograms);
                }
            }
            Fact::RequesterSecond(second) => {
                let bucket = self.bucket(second.second);
                if let Some(group) = self.requesters.line(&second.group) {
                    group.add(bucket, worker, second);
                }
            }
            Fact::Generator(second) => {
                let bucket = self.bucket(second.second);
                self.generator.add(bucket, worker, second, histograms);
            }
            Fact::Broker(seen) => {
                let bucket = self.bucket(seen.second);
                if let Some(node) = self.nodes.line(&seen.node) {
                    node.add(bucket, seen);
                }
                self.lanes.led(bucket, seen);
            }
            _ => {
                self.lanes.fold(stamped);
                self.caches.fold(stamped);
            }
        }
    }

    fn bucket(&mut self, second: i64) -> i64 {
        for _ in 0..self.scale.admit(second) {
            self.groups.values_mut().for_each(load::GroupSeries::halve);
            self.requesters.values_mut().for_each(load::RequesterSeries::halve);
            self.nodes.values_mut().for_each(nodes::NodeSeries::halve);
            self.generator.halve();
            self.lanes.halve();
        }
        self.scale.bucket(second)
    }

    /// All of it so far.
    pub(crate) fn finding(&self, scene: Scene<'_>) -> SeriesFinding {
        let scale = self.scale;
        let time_ms: Vec<i64> = scale.buckets().map(|bucket| scale.begin_ms(bucket)).collect();
        let to_ms = millis(scene.end_us);
        let begins = time_ms.first().into_iter().chain(self.phases.first().map(|(_, begin_ms)| begin_ms));
        let longest = outages::longest(scene.stretches, scene.hits);
        SeriesFinding {
            from_ms: begins.copied().min().unwrap_or(0),
            to_ms,
            phases: self.spans(to_ms),
            timeline: Timeline {
                bucket_ms: scale.width_ms(),
                groups: self.groups.iter().map(|(name, group)| group.finding(name, scale)).collect(),
                groups_left_out: self.groups.left_out(),
                requesters: self.requesters.iter().map(|(name, group)| group.finding(name, scale)).collect(),
                requesters_left_out: self.requesters.left_out(),
                generator: self.generator.finding(scale),
                time_ms: time_ms.clone(),
            },
            brokers: NodeLines {
                time_ms,
                bucket_ms: scale.width_ms(),
                nodes: self.nodes.in_order().into_iter().map(|(node, line)| line.finding(node.0, scale)).collect(),
                left_out: self.nodes.left_out(),
            },
            percentiles: self
                .groups
                .iter()
                .filter_map(|(name, _)| Some(percentiles::curves(name, scene.loads.get(name)?)))
                .flatten()
                .collect(),
            partitions: self.lanes.finding(scale),
            caches: self.caches.finding(&|group, producer, topic, partition| {
                let pair = scene.stretches.groups.find(group).zip(scene.stretches.topics.find(topic));
                let pair = pair.map(|(group, topic)| Pair { group, producer, topic, partition });
                pair.and_then(|pair| longest.get(&pair).copied()).unwrap_or(0)
            }),
            outages: outages::map(scene),
        }
    }

    /// Each phase until the next one; the last until the end.
    fn spans(&self, end_ms: i64) -> Vec<PhaseSpan> {
        let ends = self.phases.iter().skip(1).map(|(_, begin_ms)| *begin_ms).chain([end_ms]);
        let named = self.phases.iter().zip(ends).filter_map(|((phase, from_ms), to_ms)| Some((phase_name(*phase)?, *from_ms, to_ms)));
        named.map(|(name, from_ms, to_ms)| PhaseSpan { name, from_ms, to_ms }).collect()
    }
}

/// As the phase is called on the screen; `None`: it is none, but the end.
fn phase_name(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Warmup => Some("warm-up"),
        Phase::Steady => Some("steady"),
        Phase::Steps => Some("steps"),
        Phase::Recovery => Some("recovery"),
        Phase::Drain => Some("drain"),
        Phase::End => None,
    }
}
