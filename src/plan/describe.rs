//! Steps, targets and conditions in words, for time lines, progress lines and reports.

use std::fmt;

use super::model::{Action, Ceiling, ClientFault, Condition, Down, Layout, LimitChange, Reassignment, Replication, Target};
use super::units::{show_duration, show_size};

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(id) => write!(f, "node {id}"),
            Self::LeaderOf(partition) => write!(f, "leader-of({partition})"),
            Self::FollowerOf(partition) => write!(f, "follower-of({partition})"),
            Self::Controller => f.write_str("controller"),
            Self::Random => f.write_str("random"),
            Self::All => f.write_str("all"),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsrFull => f.write_str("isr-full"),
            Self::LeaderOf { partition, is: None } => write!(f, "leader-of({partition})"),
            Self::LeaderOf { partition, is: Some(id) } => write!(f, "leader-of({partition}) is {id}"),
            Self::CaughtUp => f.write_str("caught-up"),
            Self::Elapsed(time) => f.write_str(&show_duration(*time)),
        }
    }
}

impl fmt::Display for Down {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill => f.write_str("kill"),
            Self::Stop { grace } => write!(f, "stop with a grace of {}", show_duration(*grace)),
        }
    }
}

impl fmt::Display for LimitChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores = |ceiling| match ceiling {
            Ceiling::AtMost(thousandths) => format!("cpus {}", thousandths as f64 / 1000.0),
            Ceiling::Usual => "cpus none".to_owned(),
        };
        let memory = |ceiling| match ceiling {
            Ceiling::AtMost(bytes) => format!("memory {}", show_size(bytes)),
            Ceiling::Usual => "memory none".to_owned(),
        };
        let parts: Vec<String> = self.cpu_thousandths.map(cores).into_iter().chain(self.memory_bytes.map(memory)).collect();
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Combined { nodes: 1 } => f.write_str("node 1, broker and controller"),
            Self::Combined { nodes } => write!(f, "nodes 1 to {nodes}, each broker and controller"),
            Self::Dedicated { brokers, controllers } => {
                let last = brokers + controllers;
                write!(f, "{} and {}", range("broker", 1, *brokers), range("controller", brokers + 1, last))
            }
        }
    }
}

/// `brokers 1 to 3`, or `broker 1`.
fn range(noun: &str, first: u16, last: u16) -> String {
    if first == last { format!("{noun} {first}") } else { format!("{noun}s {first} to {last}") }
}

impl fmt::Display for Replication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Factor(factor) => write!(f, "replication {factor}"),
            Self::Assignment(rows) => {
                let row = |brokers: &Vec<_>| format!("[{}]", join(brokers));
                write!(f, "assignment [{}]", rows.iter().map(row).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

impl fmt::Display for ClientFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Slow(pace) = self else {
            return f.write_str(Self::NAMED.iter().find(|(fault, _)| fault == self).map_or("", |(_, word)| word));
        };
        let delay = (!pace.delay.is_zero()).then(|| format!("delay {}", show_duration(pace.delay)));
        let jitter = (!pace.jitter.is_zero()).then(|| format!("jitter {}", show_duration(pace.jitter)));
        let rate = pace.bytes_per_second.map(|rate| format!("rate {}/s", show_size(rate.get())));
        f.write_str(&[delay, jitter, rate].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

impl Action {
    /// The action's word in plans.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kill { .. } => "kill",
            Self::Stop { .. } => "stop",
            Self::Start { .. } => "start",
            Self::Restart { .. } => "restart",
            Self::Pause { .. } => "pause",
            Self::Unpause { .. } => "unpause",
            Self::Disconnect { .. } => "disconnect",
            Self::Connect { .. } => "connect",
            Self::Limit { .. } => "limit",
            Self::AddBroker => "add-broker",
            Self::Rolling { .. } => "rolling",
            Self::NodeLink { .. } | Self::ClientLink { .. } => "link",
            Self::AddPartitions { .. } => "add-partitions",
            Self::CreateTopic { .. } => "create-topic",
            Self::DeleteTopic { .. } => "delete-topic",
            Self::RecreateTopic { .. } => "recreate-topic",
            Self::ElectLeaders { .. } => "elect-leaders",
            Self::Reassign { .. } => "reassign",
            Self::ConfigureTopic { .. } | Self::ConfigureBroker { .. } => "config",
            Self::Wait { .. } => "wait",
            Self::Repeat { .. } => "repeat",
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Self::Kill { target }
            | Self::Start { target }
            | Self::Pause { target }
            | Self::Unpause { target }
            | Self::Disconnect { target }
            | Self::Connect { target } => {
                write!(f, "{name} {target}")
            }
            Self::Limit { target, change } => write!(f, "{name} {target}: {change}"),
            Self::AddBroker => f.write_str(name),
            Self::Stop { target, grace } => write!(f, "{name} {target}, grace {}", show_duration(*grace)),
            Self::Restart { target, how, down } => write!(f, "{name} {target}: {how}, {} down", show_duration(*down)),
            Self::Rolling { brokers, how, down, then, within } => {
                let whom = if brokers.is_empty() { "all brokers".to_owned() } else { format!("brokers {}", join(brokers)) };
                write!(f, "{name} {whom}: {how}, {} down", show_duration(*down))?;
                match then {
                    None => Ok(()),
                    Some(Condition::Elapsed(time)) => write!(f, ", then {}", show_duration(*time)),
                    Some(condition) => write!(f, ", then {condition} within {}", show_duration(*within)),
                }
            }
            Self::NodeLink { from, to, act, lasts } => {
                let to = if *to == Target::All { "all others".to_owned() } else { to.to_string() };
                write!(f, "{name} from {from} to {to}: {}", act.name())?;
                lasts.iter().try_for_each(|lasts| write!(f, " for {}", show_duration(*lasts)))
            }
            Self::ClientLink { to, group, fault, lasts } => {
                let clients = group.as_ref().map_or("clients".to_owned(), |group| format!("clients of {group}"));
                let to = if *to == Target::All { "all brokers".to_owned() } else { to.to_string() };
                write!(f, "{name} from {clients} to {to}: {fault}")?;
                lasts.iter().try_for_each(|lasts| write!(f, " for {}", show_duration(*lasts)))
            }
            Self::AddPartitions { topic, to } => write!(f, "{name} {topic} to {to}"),
            Self::CreateTopic { topic } => write!(f, "{name} {}: {} partitions, {}", topic.name, topic.partitions, topic.replication),
            Self::DeleteTopic { topic } => write!(f, "{name} {topic}"),
            Self::RecreateTopic { topic, shape } => write!(f, "{name} {topic}: {shape}"),
            Self::ElectLeaders { topic, partition: Some(partition), election } => {
                write!(f, "{name} {topic}/{partition}: {}", election.name())
            }
            Self::ElectLeaders { topic, partition: None, election } => write!(f, "{name} {topic}: {}", election.name()),
            Self::Reassign { topic, to, within } => {
                let partition = if let Reassignment::One(partition, _) = to { format!("/{partition}") } else { String::new() };
                write!(f, "{name} {topic}{partition}: {to} within {}", show_duration(*within))
            }
            Self::ConfigureTopic { topic, change } => write!(f, "{name} {topic}: {change}"),
            Self::ConfigureBroker { target, change } => write!(f, "{name} {target}: {change}"),
            Self::Wait { until: Condition::Elapsed(time), .. } => write!(f, "{name} {}", show_duration(*time)),
            Self::Wait { until, within } => write!(f, "{name} for {until} within {}", show_duration(*within)),
            Self::Repeat { times, steps } => write!(f, "{name} {} steps {times} times", steps.len()),
        }
    }
}

fn join<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
