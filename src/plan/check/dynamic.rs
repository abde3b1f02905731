//! Which properties a broker takes while it runs.
//!
//! The list is that of Kafka 3.9 to 4.3 (`DynamicBrokerConfig`), without what only encrypted listeners need. A name that it lacks is a warning
//! and no error: the broker itself knows best.

use crate::plan::problem::Problem;
use crate::plan::raw::Fields;

use super::scene::Scene;

/// Properties of a listener have its name in front.
const LISTENER_PREFIX: &str = "listener.name.";

const DYNAMIC: &[&str] = &[
    "background.threads",
    "compression.gzip.level",
    "compression.lz4.level",
    "compression.type",
    "compression.zstd.level",
    "log.cleaner.backoff.ms",
    "log.cleaner.dedupe.buffer.size",
    "log.cleaner.delete.retention.ms",
    "log.cleaner.io.buffer.load.factor",
    "log.cleaner.io.buffer.size",
    "log.cleaner.io.max.bytes.per.second",
    "log.cleaner.max.compaction.lag.ms",
    "log.cleaner.min.cleanable.ratio",
    "log.cleaner.min.compaction.lag.ms",
    "log.cleaner.threads",
    "log.cleanup.policy",
    "log.flush.interval.messages",
    "log.flush.interval.ms",
    "log.index.interval.bytes",
    "log.index.size.max.bytes",
    "log.local.retention.bytes",
    "log.local.retention.ms",
    "log.message.downconversion.enable",
    "log.message.timestamp.after.max.ms",
    "log.message.timestamp.before.max.ms",
    "log.message.timestamp.difference.max.ms",
    "log.message.timestamp.type",
    "log.preallocate",
    "log.retention.bytes",
    "log.retention.ms",
    "log.roll.jitter.ms",
    "log.roll.ms",
    "log.segment.bytes",
    "log.segment.delete.delay.ms",
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "message.max.bytes",
    "metric.reporters",
    "min.insync.replicas",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "producer.id.expiration.ms",
    "remote.fetch.max.wait.ms",
    "remote.list.offsets.request.timeout.ms",
    "remote.log.index.file.cache.total.size.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
    "transaction.partition.verification.enable",
    "unclean.leader.election.enable",
];

/// Warns of properties that a broker most likely takes only at its start.
pub(super) fn warn_of_static(arguments: &Fields<'_>, scene: &Scene<'_>) {
    let is_static = |name: &str| !DYNAMIC.contains(&name) && !name.starts_with(LISTENER_PREFIX);
    let of_set = arguments.config("set").into_iter().map(|property| (property.key, property.key_span));
    let of_unset = arguments.texts("unset").unwrap_or_default().into_iter().map(|name| (name.value, name.span));
    for (name, place) in of_set.chain(of_unset).filter(|(name, _)| is_static(name)) {
        let message = format!("a broker takes `{name}` only at its start, as far as is known here");
        let hint = "the step fails if the broker refuses it; `config` of [cluster] sets it from the start";
        scene.report(Problem::warning(place, message).hint(hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_holds_nothing_twice() {
        assert!(DYNAMIC.is_sorted_by(|left, right| left < right));
    }
}
