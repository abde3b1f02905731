//! A run with a kill, and what its producers and requesters asked meanwhile.

use super::findings::{ClientFinding, StormFinding};
use super::*;
use crate::analyze::spread::Spread;
use crate::record::sample::Sample;

fn findings(stream: &Sample) -> Vec<StormFinding> {
    let (mut storm, mut parts) = (Storm::default(), Parts::default());
    for fact in &stream.facts {
        parts.fold(fact);
        storm.fold(fact, &parts);
    }
    assert_eq!((storm.unreadable, parts.left_out()), (0, 0));
    storm.findings()
}

/// Three producers: one asks once in the baseline; two of them ask thrice after the kill, all within two seconds.
fn killed() -> Sample {
    let mut stream = Sample::new(&[("steady", 3)]);
    for second in -2..10 {
        stream = stream.asking("steady", second, u32::from(second == 4));
    }
    stream = stream.request("steady", 0, "age", 4_500).step(1, "kill", "2", 10_002);
    for (producer, at_ms) in [(0, 10_010), (1, 10_011), (0, 10_100), (0, 11_000), (1, 11_300), (1, 11_900)] {
        stream = stream.request("steady", producer, "disconnect", at_ms);
    }
    // What was answered at 11.000 s had been sent in the second before.
    [(10, 4), (11, 2), (12, 0)].into_iter().fold(stream, |stream, (second, count)| stream.asking("steady", second, count))
}

#[test]
fn a_kill_is_told_apart_from_the_baseline() {
    let findings = findings(&killed().end(13_000));
    let names: Vec<_> = findings.iter().map(|finding| (finding.part.as_str(), finding.step, finding.seconds)).collect();
    assert_eq!(names, [("warm-up", None, 2), ("baseline", None, 10), ("step", Some(1), 3)]);
    let [warm_up, baseline, kill] = [0, 1, 2].map(|at: usize| findings[at].clients[0].clone());
    let none = Some(Spread { count: 3, ..Spread::default() });
    assert_eq!((warm_up.requests, warm_up.per_client, warm_up.per_client_second_max), (Some(0), none, Some(0)));
    assert_eq!((baseline.requests, baseline.requests_per_second_max, baseline.response_bytes), (Some(1), Some(1), Some(400)));
    let expected = ClientFinding {
        group: "steady".to_owned(),
        clients: 3,
        requests: Some(6),
        requests_per_second_max: Some(4),
        per_client: Some(Spread { count: 3, min: 0, median: 3, p99: 3, max: 3 }),
        per_client_second_max: Some(3),
        request_bytes: Some(240),
        response_bytes: Some(2_400),
        response_bytes_per_second_max: Some(1_600),
        round_trip: kill.round_trip,
        ..ClientFinding::default()
    };
    assert_eq!(kill, expected);
    assert_eq!(kill.round_trip.map(|times| (times.count, times.max_us)), Some((6, 5_000)));
}

#[test]
fn a_request_belongs_to_the_step_to_which_its_second_belongs() {
    let quiet = (-2..10).fold(Sample::new(&[("steady", 2)]), |stream, second| stream.asking("steady", second, 0));
    let stream = quiet.step(1, "kill", "2", 10_000).request("steady", 1, "disconnect", 10_202).step(2, "start", "2", 10_400);
    // The answer to another one takes until the next second.
    let stream = stream.asking("steady", 10, 2).request("steady", 1, "disconnect", 11_000);
    let findings = findings(&stream.end(12_000));
    let parts: Vec<_> = findings.iter().map(|finding| (finding.part.as_str(), finding.step)).collect();
    assert_eq!(parts, [("warm-up", None), ("baseline", None), ("step", Some(2))]);
    let client = &findings[2].clients[0];
    assert_eq!((client.requests, client.per_client.map(|spread| spread.max)), (Some(2), Some(2)));
}

#[test]
fn requesters_are_apart_and_not_told_one_by_one() {
    let stream = killed().requesters("storm", -2, 13, |second| {
        if second.second == 11 {
            (second.sent, second.response_bytes) = (130, 650_000);
        }
    });
    let findings = findings(&stream.end(13_000));
    let kill = findings.last().unwrap();
    let [steady, storm] = &kill.clients[..] else { panic!("{kill:?}") };
    assert_eq!((steady.is_requesters, storm.is_requesters, storm.clients), (false, true, 20));
    assert_eq!((storm.requests, storm.requests_per_second_max, storm.per_client), (Some(330), Some(130), None));
    assert_eq!((storm.response_bytes, storm.response_bytes_per_second_max), (Some(1_650_000), Some(650_000)));
    assert_eq!(storm.round_trip.unwrap().count, 300);
}

#[test]
fn what_a_client_cannot_tell_is_unknown_in_that_part_alone() {
    let stream = killed().second("steady", 13, |figures| {
        (figures.metadata_requests, figures.metadata_request_bytes, figures.metadata_response_bytes) = (None, None, None);
    });
    let findings = findings(&stream.end(14_000));
    assert_eq!(findings[1].clients[0].requests, Some(1));
    let kill = &findings[2].clients[0];
    assert_eq!((kill.requests, kill.per_client, kill.per_client_second_max, kill.response_bytes), (None, None, None, None));
}
