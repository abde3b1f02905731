//! Metadata requests, what is said per client, and rates.

use std::num::NonZeroU32;

use super::*;
use crate::record::fact::Phase;

#[test]
fn metadata_requests_are_told_by_window_reason_and_client() {
    let mut stream = Sample::new(&[("steady", 2)]);
    for second in -2..10 {
        stream = stream.asking("steady", second, u32::from(second == 4));
    }
    stream = stream.request("steady", 0, "age", 4_500).step(1, "kill", "2", 10_002);
    for (producer, at_ms) in [(0, 10_010), (1, 10_011), (0, 10_100)] {
        stream = stream.request("steady", producer, "disconnect", at_ms);
    }
    stream = stream.asking("steady", 10, 3).asking("steady", 11, 0);
    stream = stream.requesters("storm", -2, 12, |_| {}).end(12_000);
    check(
        &stream,
        &[
            ("metadata-requests.total", "", "baseline", Ok(1.0)),
            ("metadata-requests.total", "", "step 1", Ok(3.0)),
            ("metadata-requests.total", "steady", "run", Ok(4.0)),
            ("metadata-requests.by-disconnect", "", "step 1", Ok(3.0)),
            ("metadata-requests.by-start", "", "step 1", Ok(0.0)),
            ("metadata-requests.by-age.per-producer", "", "baseline", Ok(1.0)),
            ("metadata-requests.by-age.per-producer", "", "step 1", Ok(0.0)),
            ("metadata-requests.per-producer", "", "step 1", Ok(2.0)),
            ("metadata-requests.per-producer.median", "", "step 1", Ok(1.0)),
            ("metadata-requests.per-producer-second.max", "", "run", Ok(2.0)),
            ("metadata-requests.per-second", "", "step 1", Ok(1.5)),
            ("metadata-requests.per-second.max", "", "run", Ok(3.0)),
            ("metadata-requests.per-second-per-1000-clients", "", "step 1", Ok(750.0)),
            ("metadata-requests.request-bytes", "", "step 1", Ok(120.0)),
            ("metadata-requests.response-bytes", "", "baseline", Ok(400.0)),
            ("metadata-requests.response-bytes-per-second", "", "step 1", Ok(600.0)),
            ("metadata-requests.round-trip.max", "", "step 1", Ok(5.0)),
            ("metadata-requests.round-trip.p99", "", "warm-up", Err("nothing")),
            ("requesters.sent", "", "run", Ok(1_400.0)),
            ("requesters.sent", "storm", "step 1", Ok(200.0)),
            ("requesters.sent", "steady", "run", Err("no group `steady`")),
            ("requesters.ok", "", "run", Ok(1_400.0)),
            ("requesters.failed", "storm", "run", Ok(0.0)),
            ("requesters.per-second", "", "baseline", Ok(100.0)),
            ("requesters.per-second-per-1000-clients", "", "baseline", Ok(5_000.0)),
            ("requesters.response-bytes", "", "step 1", Ok(1_000_000.0)),
            ("requesters.round-trip.max", "", "baseline", Ok(9.0)),
        ],
    );
}

#[test]
fn rates_are_over_the_time_that_was_told() {
    let load = Sample::new(&[("steady", 2)]).load("steady", 0, 10);
    let load = (10..18).fold(load, |stream, second| stream.asking("steady", second, 1));
    // Half a second into the drain all records have their outcomes, and the run is over.
    let mut drained = load.at(18_000, Fact::PhaseStarted { phase: Phase::Drain }).asking("steady", 18, 9);
    drained.facts.last_mut().unwrap().time_us = 18_500_000;
    check(
        &drained.end(18_500),
        &[
            ("records.ok-per-second", "", "baseline", Ok(100.0)),
            // 900 in 8 s of load.
            ("records.ok-per-second", "", "after", Ok(112.5)),
            ("metadata-requests.total", "", "after", Ok(17.0)),
            ("metadata-requests.per-second", "", "after", Ok(2.0)),
            ("metadata-requests.per-second-per-1000-clients", "", "after", Ok(1_000.0)),
            ("metadata-requests.response-bytes-per-second", "", "after", Ok(800.0)),
        ],
    );
}

#[test]
fn producers_that_share_a_client_ask_as_one() {
    let stream = Sample::new(&[("steady", 4)]).started(|run| run.groups[0].share = NonZeroU32::new(2));
    let stream = (0..10).fold(stream, |stream, second| stream.asking("steady", second, u32::from(second < 5)));
    let stream = [(0, 500), (0, 1_500), (0, 2_500), (2, 3_500), (2, 4_500)]
        .into_iter()
        .fold(stream, |stream, (producer, at_ms)| stream.request("steady", producer, "age", at_ms));
    // The first of each two tells what their client asked, the other nothing.
    let told = [(0, 3), (1, 0), (2, 2), (3, 0)];
    let stream = told.into_iter().fold(stream, |stream, (producer, asked)| {
        let requests: &[(&str, u64)] = &[("age", asked)];
        stream.totals("steady", producer, Totals::default(), if asked > 0 { requests } else { &[] }, 6)
    });
    check(
        &stream.end(10_000),
        &[
            ("metadata-requests.per-second-per-1000-clients", "", "baseline", Ok(250.0)),
            ("metadata-requests.total", "", "run", Ok(5.0)),
            ("metadata-requests.per-producer", "", "run", Ok(3.0)),
            ("metadata-requests.per-producer.median", "", "run", Ok(2.0)),
            ("metadata-requests.per-producer.median", "", "baseline", Ok(2.0)),
        ],
    );
}

#[test]
fn a_group_that_told_nothing_asked_and_waited_nobody_knows_how_much() {
    let not_told = Err("does not tell");
    check(
        &Sample::new(&[("steady", 2)]).end(10_000),
        &[("metadata-requests.total", "", "run", not_told), ("metadata-requests.per-producer", "", "run", not_told)],
    );
    // Cut off before its producers told their totals.
    check(
        &Sample::new(&[("steady", 2)]).load("steady", 0, 10),
        &[("blocked.metadata", "", "run", not_told), ("blocked.memory", "", "run", not_told)],
    );
}

#[test]
fn what_one_client_cannot_tell_is_unknown_of_all() {
    let stream = Sample::new(&[("native", 1), ("foreign", 1)]);
    let stream = (-2..10).fold(stream, |stream, second| {
        stream.second("native", second, |_| {}).second("foreign", second, |figures| {
            figures.metadata_requests = Some(BTreeMap::from([(crate::record::fact::UNKNOWN_REASON.to_owned(), 2)]));
            (figures.metadata_request_bytes, figures.metadata_response_bytes) = (None, None);
        })
    });
    let not_told = Err("does not tell");
    check(
        &stream.end(10_000),
        &[
            ("metadata-requests.total", "", "baseline", Ok(20.0)),
            ("metadata-requests.by-age", "native", "baseline", Ok(0.0)),
            ("metadata-requests.by-age", "foreign", "baseline", not_told),
            ("metadata-requests.by-age", "", "baseline", not_told),
            ("metadata-requests.by-age", "", "run", not_told),
            ("metadata-requests.per-producer", "", "baseline", not_told),
            ("metadata-requests.by-age.per-producer", "", "baseline", not_told),
            ("metadata-requests.response-bytes", "", "baseline", not_told),
            ("metadata-requests.response-bytes", "native", "baseline", Ok(0.0)),
            ("partitions.cached.min", "", "run", not_told),
        ],
    );
}

#[test]
fn a_warm_up_of_no_whole_seconds_has_the_rate_of_what_there_was() {
    let stream = Sample::new(&[("steady", 2)]).started(|run| run.phases_us[0] = 1_500_000);
    let stream = stream.asking("steady", -2, 1).asking("steady", -1, 2);
    check(&stream.end(10_000), &[("metadata-requests.per-second", "", "warm-up", Ok(2.0))]);
}
