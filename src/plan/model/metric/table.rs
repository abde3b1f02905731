//! All metrics with their names, units, windows and a line on each.

use super::Asker::{Producers, Requesters};
use super::Audited as A;
use super::Metric::*;
use super::Unit::*;
use super::{Asked, Fate, Groups, Metric, MetricInfo, Point, Quantile, Since, Stage, Unit, Windows};
use crate::plan::model::Window;

/// Windows and groups that many metrics have in common.
#[derive(Clone, Copy)]
struct Scope {
    windows: Windows,
    usual: Usual,
    groups: Groups,
}

/// The window that is meant where none is given.
#[derive(Clone, Copy)]
enum Usual {
    Run,
    Baseline,
    Steps,
}

const RUN: Scope = Scope { windows: Windows::Any, usual: Usual::Run, groups: Groups::Producers };
const BASELINE: Scope = Scope { windows: Windows::Any, usual: Usual::Baseline, groups: Groups::Producers };
const ANY_STEPS: Scope = Scope { windows: Windows::Any, usual: Usual::Steps, groups: Groups::Producers };
const STEPS: Scope = Scope { windows: Windows::OfSteps, usual: Usual::Steps, groups: Groups::Producers };
const WHOLE: Scope = Scope { windows: Windows::Run, usual: Usual::Run, groups: Groups::Producers };
const WHOLE_RUN: Scope = Scope { groups: Groups::None, ..WHOLE };
const REQ_RUN: Scope = Scope { groups: Groups::Requesters, ..RUN };
const REQ_BASELINE: Scope = Scope { groups: Groups::Requesters, ..BASELINE };
const REQ_WHOLE: Scope = Scope { groups: Groups::Requesters, ..WHOLE };
const CONSUMERS: Scope = Scope { windows: Windows::Phases, usual: Usual::Baseline, groups: Groups::Consumers };
const CONSUMERS_RUN: Scope = Scope { usual: Usual::Run, ..CONSUMERS };
const CLUSTER: Scope = Scope { groups: Groups::None, ..BASELINE };
const CLUSTER_STEPS: Scope = Scope { groups: Groups::None, ..STEPS };
const GENERATOR: Scope = Scope { windows: Windows::Phases, usual: Usual::Baseline, groups: Groups::None };

const fn row(metric: Metric, name: &'static str, unit: Unit, scope: Scope, about: &'static str) -> MetricInfo {
    let Scope { windows, usual, groups } = scope;
    let window = match usual {
        Usual::Run => Window::Run,
        Usual::Baseline => Window::Baseline,
        Usual::Steps => Window::Steps,
    };
    MetricInfo { metric, name, unit, windows, window, groups, about }
}

/// All metrics, in the order of the documentation.
pub(super) static METRICS: [MetricInfo; 120] = [
    row(Records(Fate::Due), "records.due", Count, RUN, "records that became due"),
    row(Records(Fate::Sent), "records.sent", Count, RUN, "records that were handed to the client"),
    row(Records(Fate::Ok), "records.ok", Count, RUN, "records that were acknowledged"),
    row(Records(Fate::Failed), "records.failed", Count, RUN, "records that are certainly not in the log"),
    row(Records(Fate::Indeterminate), "records.indeterminate", Count, RUN, "records that may be in the log"),
    row(Audited(A::Found), "records.found", Count, WHOLE, "records that the topics hold afterwards, each once"),
    row(Audited(A::Lost), "records.lost", Count, WHOLE, "acknowledged records that the topics do not hold afterwards"),
    row(Audited(A::Duplicated), "records.duplicated", Count, WHOLE, "copies of records beyond the first"),
    row(
        Audited(A::OutOfOrder),
        "records.out-of-order",
        Count,
        WHOLE,
        "records behind one of the same producer and partition that was sent later",
    ),
    row(Audited(A::FailedFound), "records.failed-found", Count, WHOLE, "records that are there although they failed for certain"),
    row(Audited(A::IndeterminateFound), "records.indeterminate-found", Count, WHOLE, "indeterminate records that are there"),
    row(Audited(A::Corrupt), "records.corrupt", Count, WHOLE_RUN, "records whose checksum does not fit"),
    row(Audited(A::Foreign), "records.foreign", Count, WHOLE_RUN, "records of nobody in this run"),
    row(
        RecordsFailedPercent,
        "records.failed-percent",
        Percent,
        RUN,
        "failed records in 100 that are known to be ok, failed or indeterminate",
    ),
    row(RecordsOkPerSecond, "records.ok-per-second", PerSecond, BASELINE, "acknowledged records per second"),
    row(Outage(Point::Max), "outage.max", Ms, ANY_STEPS, "longest outage of any producer and partition; 0 without any"),
    row(Outage(Point::P99), "outage.p99", Ms, ANY_STEPS, "99 % of outages were not longer; 0 without any"),
    row(Outage(Point::Median), "outage.median", Ms, ANY_STEPS, "median over the outages there were; 0 without any"),
    row(OutageStalled, "outage.stalled", Count, ANY_STEPS, "pairs of producer and partition that had an outage"),
    row(OutageHang, "outage.hang", Count, RUN, "pairs of producer and partition that never recovered"),
    row(Latency(Since::Due, Quantile::P50), "latency.p50", Ms, BASELINE, "response time: since the due time"),
    row(Latency(Since::Due, Quantile::P90), "latency.p90", Ms, BASELINE, "response time: since the due time"),
    row(Latency(Since::Due, Quantile::P99), "latency.p99", Ms, BASELINE, "response time: since the due time"),
    row(Latency(Since::Due, Quantile::P999), "latency.p99.9", Ms, BASELINE, "response time: since the due time"),
    row(Latency(Since::Due, Quantile::P9999), "latency.p99.99", Ms, BASELINE, "response time: since the due time"),
    row(Latency(Since::Due, Quantile::Max), "latency.max", Ms, BASELINE, "response time: since the due time"),
    row(Latency(Since::Sent, Quantile::P50), "service.p50", Ms, BASELINE, "service time: since the send"),
    row(Latency(Since::Sent, Quantile::P90), "service.p90", Ms, BASELINE, "service time: since the send"),
    row(Latency(Since::Sent, Quantile::P99), "service.p99", Ms, BASELINE, "service time: since the send"),
    row(Latency(Since::Sent, Quantile::P999), "service.p99.9", Ms, BASELINE, "service time: since the send"),
    row(Latency(Since::Sent, Quantile::P9999), "service.p99.99", Ms, BASELINE, "service time: since the send"),
    row(Latency(Since::Sent, Quantile::Max), "service.max", Ms, BASELINE, "service time: since the send"),
    row(Requests(Producers, Asked::Total), "metadata-requests.total", Count, RUN, "Metadata requests that producers sent"),
    row(Requests(Producers, Asked::PerSecond), "metadata-requests.per-second", PerSecond, BASELINE, "the same per second"),
    row(Requests(Producers, Asked::PerSecondMax), "metadata-requests.per-second.max", Count, RUN, "most of any group in a second"),
    row(
        Requests(Producers, Asked::PerSecondPer1000Clients),
        "metadata-requests.per-second-per-1000-clients",
        PerSecond,
        BASELINE,
        "as if there were 1,000 clients",
    ),
    row(RequestsPerProducerMax, "metadata-requests.per-producer", Count, RUN, "most of any producer"),
    row(RequestsPerProducerMedian, "metadata-requests.per-producer.median", Count, RUN, "median over producers"),
    row(RequestsPerProducerSecondMax, "metadata-requests.per-producer-second.max", Count, RUN, "most of any producer in a second"),
    row(RequestsByAgePerProducerMax, "metadata-requests.by-age.per-producer", Count, RUN, "most of any producer, for age alone"),
    row(RequestsByReason("start"), "metadata-requests.by-start", Count, RUN, "those whose reason was `start`"),
    row(RequestsByReason("new_topic"), "metadata-requests.by-new-topic", Count, RUN, "those whose reason was `new_topic`"),
    row(RequestsByReason("age"), "metadata-requests.by-age", Count, RUN, "those whose reason was `age`"),
    row(RequestsByReason("disconnect"), "metadata-requests.by-disconnect", Count, RUN, "those whose reason was `disconnect`"),
    row(RequestsByReason("produce_error"), "metadata-requests.by-produce-error", Count, RUN, "those whose reason was `produce_error`"),
    row(RequestsByReason("metadata_error"), "metadata-requests.by-metadata-error", Count, RUN, "those whose reason was `metadata_error`"),
    row(RequestsByReason("no_leader"), "metadata-requests.by-no-leader", Count, RUN, "those whose reason was `no_leader`"),
    row(RequestsByReason("rebootstrap"), "metadata-requests.by-rebootstrap", Count, RUN, "those whose reason was `rebootstrap`"),
    row(RequestsByReason("producer_id"), "metadata-requests.by-producer-id", Count, RUN, "those whose reason was `producer_id`"),
    row(Requests(Producers, Asked::RequestBytes), "metadata-requests.request-bytes", Bytes, RUN, "bytes of the requests"),
    row(Requests(Producers, Asked::ResponseBytes), "metadata-requests.response-bytes", Bytes, RUN, "bytes of the answers"),
    row(
        Requests(Producers, Asked::ResponseBytesPerSecond),
        "metadata-requests.response-bytes-per-second",
        BytesPerSecond,
        BASELINE,
        "bytes of answers per second",
    ),
    row(Requests(Producers, Asked::RoundTrip(Quantile::P50)), "metadata-requests.round-trip.p50", Ms, BASELINE, "from request to answer"),
    row(Requests(Producers, Asked::RoundTrip(Quantile::P99)), "metadata-requests.round-trip.p99", Ms, BASELINE, "from request to answer"),
    row(Requests(Producers, Asked::RoundTrip(Quantile::Max)), "metadata-requests.round-trip.max", Ms, BASELINE, "from request to answer"),
    row(Requests(Requesters, Asked::Total), "requesters.sent", Count, REQ_RUN, "Metadata requests that requesters sent"),
    row(Requests(Requesters, Asked::PerSecond), "requesters.per-second", PerSecond, REQ_BASELINE, "the same per second"),
    row(Requests(Requesters, Asked::PerSecondMax), "requesters.per-second.max", Count, REQ_RUN, "most of any group in a second"),
    row(
        Requests(Requesters, Asked::PerSecondPer1000Clients),
        "requesters.per-second-per-1000-clients",
        PerSecond,
        REQ_BASELINE,
        "as if there were 1,000 clients",
    ),
    row(EndToEnd(Quantile::P50), "end-to-end.p50", Ms, CONSUMERS, "from a record's due time to its arrival at a consumer"),
    row(EndToEnd(Quantile::P90), "end-to-end.p90", Ms, CONSUMERS, "from a record's due time to its arrival at a consumer"),
    row(EndToEnd(Quantile::P99), "end-to-end.p99", Ms, CONSUMERS, "from a record's due time to its arrival at a consumer"),
    row(EndToEnd(Quantile::P999), "end-to-end.p99.9", Ms, CONSUMERS, "from a record's due time to its arrival at a consumer"),
    row(EndToEnd(Quantile::Max), "end-to-end.max", Ms, CONSUMERS, "from a record's due time to its arrival at a consumer"),
    row(ConsumersRecords, "consumers.records", Count, CONSUMERS_RUN, "records that arrived at consumers"),
    row(RequestersOk, "requesters.ok", Count, REQ_WHOLE, "requests of requesters that were answered"),
    row(RequestersFailed, "requesters.failed", Count, REQ_WHOLE, "requests of requesters that were sent and not answered"),
    row(Requests(Requesters, Asked::RequestBytes), "requesters.request-bytes", Bytes, REQ_RUN, "bytes of the requests"),
    row(Requests(Requesters, Asked::ResponseBytes), "requesters.response-bytes", Bytes, REQ_RUN, "bytes of the answers"),
    row(
        Requests(Requesters, Asked::ResponseBytesPerSecond),
        "requesters.response-bytes-per-second",
        BytesPerSecond,
        REQ_BASELINE,
        "bytes of answers per second",
    ),
    row(Requests(Requesters, Asked::RoundTrip(Quantile::P50)), "requesters.round-trip.p50", Ms, REQ_BASELINE, "from request to answer"),
    row(Requests(Requesters, Asked::RoundTrip(Quantile::P99)), "requesters.round-trip.p99", Ms, REQ_BASELINE, "from request to answer"),
    row(Requests(Requesters, Asked::RoundTrip(Quantile::Max)), "requesters.round-trip.max", Ms, REQ_BASELINE, "from request to answer"),
    row(
        Layer("detected", Point::Median),
        "layer.detected.median",
        Ms,
        CLUSTER_STEPS,
        "since the request: the controller has made a record",
    ),
    row(Layer("detected", Point::Max), "layer.detected.max", Ms, CLUSTER_STEPS, "since the request: the controller has made a record"),
    row(Layer("committed", Point::Median), "layer.committed.median", Ms, CLUSTER_STEPS, "since the request: a majority has the record"),
    row(Layer("committed", Point::Max), "layer.committed.max", Ms, CLUSTER_STEPS, "since the request: a majority has the record"),
    row(Layer("fetched", Point::Median), "layer.fetched.median", Ms, CLUSTER_STEPS, "since the request: a node has fetched the record"),
    row(Layer("fetched", Point::Max), "layer.fetched.max", Ms, CLUSTER_STEPS, "since the request: a node has fetched the record"),
    row(
        Layer("broker_cache", Point::Median),
        "layer.broker-cache.median",
        Ms,
        CLUSTER_STEPS,
        "since the request: a broker's own answers show it",
    ),
    row(
        Layer("broker_cache", Point::Max),
        "layer.broker-cache.max",
        Ms,
        CLUSTER_STEPS,
        "since the request: a broker's own answers show it",
    ),
    row(Layer("servable", Point::Median), "layer.servable.median", Ms, CLUSTER_STEPS, "since the request: the new leader accepts requests"),
    row(Layer("servable", Point::Max), "layer.servable.max", Ms, CLUSTER_STEPS, "since the request: the new leader accepts requests"),
    row(Layer("client_cache", Point::Median), "layer.client-cache.median", Ms, STEPS, "since the request: a producer's cache shows it"),
    row(Layer("client_cache", Point::Max), "layer.client-cache.max", Ms, STEPS, "since the request: a producer's cache shows it"),
    row(Layer("route", Point::Median), "layer.route.median", Ms, STEPS, "since the request: a producer's requests reach the new leader"),
    row(Layer("route", Point::Max), "layer.route.max", Ms, STEPS, "since the request: a producer's requests reach the new leader"),
    row(Layer("delivery", Point::Median), "layer.delivery.median", Ms, STEPS, "since the request: a record is acknowledged again"),
    row(Layer("delivery", Point::Max), "layer.delivery.max", Ms, STEPS, "since the request: a record is acknowledged again"),
    row(GrowthCached(Point::Median), "growth.cached.median", Ms, STEPS, "since partitions were added: a cache shows them"),
    row(GrowthCached(Point::P99), "growth.cached.p99", Ms, STEPS, "since partitions were added: a cache shows them"),
    row(GrowthCached(Point::Max), "growth.cached.max", Ms, STEPS, "since partitions were added: a cache shows them"),
    row(GrowthFirstUse(Point::Median), "growth.first-use.median", Ms, STEPS, "since then: the first record on one is acknowledged"),
    row(GrowthFirstUse(Point::P99), "growth.first-use.p99", Ms, STEPS, "since then: the first record on one is acknowledged"),
    row(GrowthFirstUse(Point::Max), "growth.first-use.max", Ms, STEPS, "since then: the first record on one is acknowledged"),
    row(GrowthNever, "growth.never", Count, STEPS, "producers whose caches never showed the new partitions"),
    row(FirstAck(Stage::Acknowledged, Point::Median), "first-ack.median", Ms, WHOLE, "since construction: its first acknowledged record"),
    row(FirstAck(Stage::Acknowledged, Point::P99), "first-ack.p99", Ms, WHOLE, "since construction: its first acknowledged record"),
    row(FirstAck(Stage::Acknowledged, Point::Max), "first-ack.max", Ms, WHOLE, "since construction: its first acknowledged record"),
    row(
        FirstAck(Stage::Connected, Point::Median),
        "first-ack.connected.median",
        Ms,
        WHOLE,
        "since construction: its first connection is up",
    ),
    row(FirstAck(Stage::Connected, Point::P99), "first-ack.connected.p99", Ms, WHOLE, "since construction: its first connection is up"),
    row(FirstAck(Stage::Connected, Point::Max), "first-ack.connected.max", Ms, WHOLE, "since construction: its first connection is up"),
    row(FirstAck(Stage::Ready, Point::Median), "first-ack.ready.median", Ms, WHOLE, "since construction: its ApiVersions are answered"),
    row(FirstAck(Stage::Ready, Point::P99), "first-ack.ready.p99", Ms, WHOLE, "since construction: its ApiVersions are answered"),
    row(FirstAck(Stage::Ready, Point::Max), "first-ack.ready.max", Ms, WHOLE, "since construction: its ApiVersions are answered"),
    row(
        FirstAck(Stage::Metadata, Point::Median),
        "first-ack.metadata.median",
        Ms,
        WHOLE,
        "since construction: its cache holds its first topic",
    ),
    row(FirstAck(Stage::Metadata, Point::P99), "first-ack.metadata.p99", Ms, WHOLE, "since construction: its cache holds its first topic"),
    row(FirstAck(Stage::Metadata, Point::Max), "first-ack.metadata.max", Ms, WHOLE, "since construction: its cache holds its first topic"),
    row(
        FirstAck(Stage::ProducerId, Point::Median),
        "first-ack.producer-id.median",
        Ms,
        WHOLE,
        "since construction: it has its producer id",
    ),
    row(FirstAck(Stage::ProducerId, Point::P99), "first-ack.producer-id.p99", Ms, WHOLE, "since construction: it has its producer id"),
    row(FirstAck(Stage::ProducerId, Point::Max), "first-ack.producer-id.max", Ms, WHOLE, "since construction: it has its producer id"),
    row(PartitionsCachedMin, "partitions.cached.min", Count, WHOLE, "fewest of a topic in any cache at the end"),
    row(PartitionsCachedMax, "partitions.cached.max", Count, WHOLE, "most of a topic in any cache at the end"),
    row(BlockedMetadata, "blocked.metadata", Ms, WHOLE, "time that sends waited for metadata, over all producers"),
    row(BlockedMemory, "blocked.memory", Ms, WHOLE, "time that sends waited for memory, over all producers"),
    row(BrokerCpuPercent, "broker.cpu-percent", Percent, CLUSTER, "CPU of a node, of one core; the mean over nodes"),
    row(BrokerCpuPercentMax, "broker.cpu-percent.max", Percent, CLUSTER, "CPU of a node in its worst second; the greatest of all nodes"),
    row(GeneratorLateness(Quantile::P50), "generator.lateness.p50", Ms, GENERATOR, "how late the load generator itself was"),
    row(GeneratorLateness(Quantile::P99), "generator.lateness.p99", Ms, GENERATOR, "how late the load generator itself was"),
    row(GeneratorLateness(Quantile::Max), "generator.lateness.max", Ms, GENERATOR, "how late the load generator itself was"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_one_metric_and_back() {
        for info in &METRICS {
            assert_eq!(Metric::find(info.name), Some(info.metric), "{}", info.name);
            assert_eq!(info.metric.name(), info.name);
            assert!(info.windows.know(&info.window), "{}", info.name);
            assert!(!info.about.is_empty());
        }
    }
}
