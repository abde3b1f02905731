//! What a run will be like, as far as a plan tells before anything runs: records, connections, Metadata requests, memory.
//!
//! Pure arithmetic over the plan and its time line, with the expected times. Not here: what steps cause, which is what a run is for; ports,
//! which `cluster` knows. Called by `chaos run --dry-run`.

use std::num::NonZeroU32;
use std::time::Duration;

use super::model::{Active, EngineKind, Load, Plan, ProducerGroup, RequesterGroup};
use super::timeline::Timeline;

/// `metadata.max.age.ms` where a group does not set it.
const METADATA_MAX_AGE_MS: u64 = 300_000;

/// A plan's figures before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// Nodes to start, those that join later included.
    pub nodes: usize,
    /// Memory limits of all of them together, in bytes.
    pub memory_bytes: u64,
    /// Groups of producers, in plan order.
    pub groups: Vec<GroupForecast>,
    /// Groups of requesters, in plan order.
    pub requesters: Vec<RequesterForecast>,
    /// Consumers.
    pub consumers: u64,
    /// Most connections of them: each has one to every broker to read, and one to ask who leads.
    pub consumer_connections_max: u64,
}

/// A group of producers before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupForecast {
    /// Its name.
    pub name: String,
    /// How many producers.
    pub producers: u32,
    /// How many clients they send through.
    pub clients: u32,
    /// Records per second while the group sends; in a closed loop the most. `None`: as many as clients and brokers can.
    pub records_per_second: Option<f64>,
    /// Bytes of their values per second; `None` likewise.
    pub bytes_per_second: Option<f64>,
    /// For how long it sends, by the expected times.
    pub sends_for: Duration,
    /// Records that become due in that time; `None` if their number depends on how fast they are taken.
    pub records: Option<f64>,
    /// Most connections: each client may have one to each broker, and to begin with one by its bootstrap list.
    pub connections_max: u64,
    /// Metadata requests in peace, from each client's start to the end of the run: one for each topic, and those for age. `None`: the client has
    /// rules of its own.
    pub metadata_requests: Option<u64>,
}

/// A group of requesters before the run.
#[derive(Clone, Debug, PartialEq)]
pub struct RequesterForecast {
    /// Its name.
    pub name: String,
    /// How many requesters, each with one connection.
    pub requesters: u32,
    /// Metadata requests per second while the group asks.
    pub requests_per_second: f64,
    /// Metadata requests that become due in the run.
    pub metadata_requests: f64,
}

impl Forecast {
    /// The forecast of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let end = Timeline::of(plan).end_at.expected;
        let nodes = plan.cluster.layout.nodes().len() + usize::from(plan.cluster.joining);
        let brokers = (plan.cluster.layout.brokers().len() + usize::from(plan.cluster.joining)) as u64;
        Self {
            nodes,
            memory_bytes: plan.cluster.memory_bytes.saturating_mul(nodes as u64),
            groups: plan.producers.iter().map(|group| producers(group, brokers, end)).collect(),
            requesters: plan.requesters.iter().map(|group| requesters(group, end)).collect(),
            consumers: plan.consumers.len() as u64,
            consumer_connections_max: plan.consumers.len() as u64 * brokers * 2,
        }
    }

    /// Clients of all kinds.
    #[must_use]
    pub fn clients(&self) -> u64 {
        let producers: u64 = self.groups.iter().map(|group| u64::from(group.clients)).sum();
        producers + self.consumers + self.requesters.iter().map(|group| u64::from(group.requesters)).sum::<u64>()
    }

    /// Most connections of all clients together.
    #[must_use]
    pub fn connections_max(&self) -> u64 {
        let producers: u64 = self.groups.iter().map(|group| group.connections_max).sum();
        producers + self.consumer_connections_max + self.requesters.iter().map(|group| u64::from(group.requesters)).sum::<u64>()
    }
}

fn producers(group: &ProducerGroup, brokers: u64, end: Duration) -> GroupForecast {
    let clients = group.share.map_or(group.count, |share| group.count.div_ceil(share.get()));
    let count = f64::from(group.count);
    let sends_for = within(&group.active, end);
    // What the ramp takes from all producers together, as a length of the whole group's.
    let sending = producer_seconds(group, sends_for);
    let records_per_second = match group.load {
        Load::Open { rate_per_second, .. } => Some(rate_per_second * count),
        Load::Closed { every, .. } if !every.is_zero() => Some(count / every.as_secs_f64()),
        Load::Closed { .. } | Load::Max => None,
    };
    let is_open = matches!(group.load, Load::Open { .. });
    GroupForecast {
        name: group.name.clone(),
        producers: group.count,
        clients,
        records_per_second,
        bytes_per_second: records_per_second.map(|rate| rate * group.record.size_bytes as f64),
        sends_for,
        records: records_per_second.filter(|_| is_open).map(|rate| rate / count * sending),
        connections_max: u64::from(clients).saturating_mul(brokers + 1),
        metadata_requests: metadata_requests(group, clients, end),
    }
}

/// From its first producer's start.
fn start_of(group: &ProducerGroup, producer: u32) -> Duration {
    group.ramp.mul_f64(f64::from(producer) / f64::from(group.count.max(1)))
}

/// For how many seconds its producers send, all together.
fn producer_seconds(group: &ProducerGroup, sends_for: Duration) -> f64 {
    if group.ramp.is_zero() {
        return f64::from(group.count) * sends_for.as_secs_f64();
    }
    (0..group.count).map(|producer| sends_for.saturating_sub(start_of(group, producer)).as_secs_f64()).sum()
}

/// In peace: a client asks once for each new topic, and again whenever what it knows is too old, whether or not it sends. It is made when its
/// first producer starts, and lives until the run ends.
fn metadata_requests(group: &ProducerGroup, clients: u32, end: Duration) -> Option<u64> {
    if group.engine == EngineKind::Librdkafka {
        return None;
    }
    let age_ms = match group.config.get("metadata.max.age.ms") {
        Some(text) => text.parse::<u64>().ok().filter(|age_ms| *age_ms > 0)?,
        None => METADATA_MAX_AGE_MS,
    };
    let of_client = |client: u32| {
        let made_at = group.active.from + start_of(group, client * group.share.map_or(1, NonZeroU32::get));
        let life = end.checked_sub(made_at).filter(|life| !life.is_zero())?;
        Some(u64::try_from(life.as_millis()).unwrap_or(u64::MAX) / age_ms + group.topics.len() as u64)
    };
    Some((0..clients).filter_map(of_client).sum())
}

fn requesters(group: &RequesterGroup, end: Duration) -> RequesterForecast {
    let requests_per_second = group.rate_per_second * f64::from(group.count);
    RequesterForecast {
        name: group.name.clone(),
        requesters: group.count,
        requests_per_second,
        metadata_requests: requests_per_second * within(&group.active, end).as_secs_f64(),
    }
}

/// How much of the run a group is at work.
fn within(active: &Active, end: Duration) -> Duration {
    active.until.unwrap_or(end).min(end).saturating_sub(active.from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    /// 5 s + 10 s + 30 s without a step: 45 s of load.
    fn forecast(more: &str) -> Forecast {
        let topic = "[[topic]]\nname = \"orders\"\ncount = 2\npartitions = 1\nreplication = 1\n";
        let text = format!("name = \"x\"\n{topic}{more}");
        Forecast::of(&plan::parse("x.toml", &text).unwrap_or_else(|problems| panic!("{problems}")).plan)
    }

    fn group(more: &str) -> GroupForecast {
        forecast(&format!("[[producers]]\nname = \"g\"\ntopics = [\"orders\"]\n{more}")).groups.remove(0)
    }

    #[test]
    fn an_open_loop_is_known() {
        let group = group("count = 10\nshare = 4\nrate = \"20/s\"\nactive = { from = \"5s\", until = \"25s\" }\n");
        assert_eq!((group.producers, group.clients), (10, 3));
        assert_eq!((group.records_per_second, group.bytes_per_second), (Some(200.0), Some(20_000.0)));
        assert_eq!((group.sends_for, group.records), (Duration::from_secs(20), Some(4_000.0)));
        assert_eq!(group.connections_max, 3 * 4, "three brokers and the bootstrap list");
    }

    #[test]
    fn what_depends_on_the_brokers_is_unknown() {
        let fast = group("rate = \"max\"\n");
        assert_eq!((fast.records_per_second, fast.bytes_per_second, fast.records), (None, None, None));
        let closed = group("count = 2\nclosed = { wait = \"4s\", every = \"100ms\" }\n");
        assert_eq!((closed.records_per_second, closed.records), (Some(20.0), None), "an upper bound, and no count");
        assert_eq!(group("closed = { wait = \"4s\" }\n").records_per_second, None);
    }

    #[test]
    fn each_client_asks_for_its_topics_and_again_for_age() {
        assert_eq!(group("rate = \"1/s\"\n").metadata_requests, Some(2), "two topics, and 45 s are less than five minutes");
        let often = group("count = 3\nrate = \"1/s\"\nconfig = { \"metadata.max.age.ms\" = 2000 }\n");
        assert_eq!(often.metadata_requests, Some(3 * (2 + 22)));
        assert_eq!(group("engine = \"librdkafka\"\nrate = \"1/s\"\n").metadata_requests, None);
    }

    #[test]
    fn producers_that_start_later_send_and_ask_less() {
        let late = "active = { from = \"25s\" }\nconfig = { \"metadata.max.age.ms\" = 2000 }\n";
        let group = group(&format!("count = 4\nrate = \"5/s\"\nramp = \"8s\"\n{late}"));
        // Of 45 s they live for 20, 18, 16 and 14.
        assert_eq!((group.sends_for, group.records), (Duration::from_secs(20), Some(5.0 * 68.0)));
        assert_eq!(group.metadata_requests, Some(10 + 9 + 8 + 7 + 4 * 2));
        // The last two would start after the end.
        let beyond = self::group(&format!("count = 4\nrate = \"5/s\"\nramp = \"40s\"\n{late}"));
        assert_eq!((beyond.records, beyond.metadata_requests), (Some(5.0 * 30.0), Some(10 + 5 + 2 * 2)));
    }

    #[test]
    fn requesters_and_nodes_are_counted_in() {
        let producers = "[[producers]]\nname = \"g\"\ntopics = [\"orders\"]\nrate = \"1/s\"\n";
        let requesters = "[[requesters]]\nname = \"storm\"\ncount = 4\nrate = \"5/s\"\nlist = \"all\"\nactive = { from = \"40s\" }\n";
        let step = "[[step]]\nat = \"0s\"\nadd-broker = {}\n";
        let forecast = forecast(&format!("{producers}{requesters}{step}"));
        assert_eq!((forecast.nodes, forecast.memory_bytes), (4, 4 * (768 << 20)));
        assert_eq!((forecast.clients(), forecast.connections_max()), (5, 5 + 4));
        let storm = &forecast.requesters[0];
        // The new broker is seen after 8 s.
        assert_eq!((storm.requests_per_second, storm.metadata_requests), (20.0, 20.0 * 13.0));
    }
}
