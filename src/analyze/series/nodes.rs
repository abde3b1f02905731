//! Nodes over time: state, CPU, memory, what they lead.

use super::findings::NodeLine;
use super::generator::Used;
use super::scale::{Line, Merge, Scale};
use crate::record::broker::{BrokerSecond, Usage};

/// The state that goes without saying.
const RUNNING: &str = "running";

#[derive(Clone, Debug, Default)]
struct Seen {
    state: Option<String>,
    used: Used,
    memory_bytes: Option<u64>,
    under_replicated: Option<u64>,
    leaders: Option<u64>,
}

impl Merge for Seen {
    fn merge(&mut self, later: Self) {
        // A node that was down for two of sixteen seconds is worth showing.
        let is_usual = |state: &Option<String>| state.as_deref().is_none_or(|state| state == RUNNING);
        if later.state.is_some() && (is_usual(&self.state) || !is_usual(&later.state)) {
            self.state = later.state;
        }
        self.used.merge(later.used);
        self.memory_bytes = self.memory_bytes.max(later.memory_bytes);
        self.under_replicated = self.under_replicated.max(later.under_replicated);
        self.leaders = later.leaders.or(self.leaders);
    }
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeSeries {
    line: Line<Seen>,
    last: Option<(i64, Usage)>,
}

impl NodeSeries {
    pub(super) fn add(&mut self, bucket: i64, seen: &BrokerSecond) {
        let usage = seen.usage.unwrap_or_default();
        let before = self.last.replace((seen.second, usage));
        let before = before.filter(|(second, _)| second.checked_add(1) == Some(seen.second));
        let used = before.and_then(|(_, before)| usage.cpu_since(&before)).map(|(cpu_us, passed_us)| Used { cpu_us, passed_us });
        let seen = Seen {
            state: seen.state.clone(),
            used: used.unwrap_or_default(),
            memory_bytes: usage.memory_bytes,
            under_replicated: seen.led.as_ref().map(|led| led.under_replicated),
            leaders: seen.led.as_ref().map(|led| led.leaders),
        };
        self.line.add(bucket, seen);
    }

    pub(super) fn halve(&mut self) {
        self.line.halve();
    }

    pub(super) fn finding(&self, node: i32, scale: Scale) -> NodeLine {
        NodeLine {
            node,
            state: self.line.figures(scale, |seen| seen.state.clone()),
            cpu_percent: self.line.figures(scale, |seen| seen.used.percent()),
            memory_bytes: self.line.figures(scale, |seen| seen.memory_bytes),
            under_replicated: self.line.figures(scale, |seen| seen.under_replicated),
            leaders: self.line.figures(scale, |seen| seen.leaders),
        }
    }
}
