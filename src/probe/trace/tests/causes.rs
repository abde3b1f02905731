//! Causes that are about nodes and addresses, each by a sighting of its own; and what comes of several.

use super::world::*;
use super::{check, diagnosed};
use crate::ids::BrokerId;
use crate::kafka::admin::ErrorCode;
use crate::probe::trace::diagnose;
use crate::probe::trace::diagnosis::{Cause, NoLeader, Outcome};
use crate::probe::trace::sighting::{Sighting, Silence, Unheard, View};
use crate::record::layer::Layer;

#[test]
fn a_healthy_cluster_leaves_the_client() {
    let diagnosis = diagnose(&healthy());
    assert_eq!((diagnosis.outcome, diagnosis.layer()), (Outcome::Healthy, None), "{:#?}", diagnosis.findings);
    assert_eq!(
        diagnosis.sentence,
        "All that was asked agrees: brokers 1, 2 and 3, controller 1 is active, and each leader serves its part of 3 partitions in 1 topic."
    );
    assert!(diagnosis.next.contains("look at the client") && diagnosis.unknown.is_empty(), "{diagnosis:#?}");
}

#[test]
fn nodes_that_are_gone_cut_off_or_not_noticed() {
    check(&[
        (
            "paused: silent, and the controller has not noticed",
            |s| {
                silence(s, &[3]);
                last_fetch(s, 3, 4_200);
            },
            Cause::Undetected,
            &[3],
            "Broker 3 does not answer (silent at b3:9092, last fetch 4.2 s ago at offset 492, 8 behind), and clients are still sent to it",
        ),
        (
            "its advertised address is out of reach from here",
            |s| silence(s, &[3]),
            Cause::OutOfReachFromHere,
            &[3],
            "Broker 3 does not answer here (silent at b3:9092, last fetch 0.3 s ago at offset 500)",
        ),
        (
            "down, and noticed",
            |s| {
                silence(s, &[3]);
                fence(s, &[1, 2], 3);
                last_fetch(s, 3, 60_000);
            },
            Cause::Down,
            &[3],
            "Broker 3 is down (silent at b3:9092, fenced)",
        ),
        (
            "down, and noticed, before Kafka 4.0",
            |s| {
                silence(s, &[3]);
                forget(s, &[1, 2], 3);
                last_fetch(s, 3, 60_000);
            },
            Cause::Down,
            &[3],
            "Broker 3 is down, or up and fenced (no broker lists it); the cluster goes on without it.",
        ),
        (
            "it answers, and its link to the controller is cut",
            |s| {
                last_fetch(s, 3, 12_000);
                fence(s, &[1, 2], 3);
                no_quorum(s, &[3], Silence::Silent);
            },
            Cause::NotFetching,
            &[3],
            "Broker 3 no longer fetches the controller's log (last fetch 12 s ago at offset 476, 24 behind, fenced)",
        ),
        (
            "the active controller of a new epoch has never heard of it",
            |s| edit_quorum(s, |quorum| quorum.voters.retain(|voter| voter.id != BrokerId(3))),
            Cause::NotFetching,
            &[3],
            "the active controller has heard no fetch from it",
        ),
        (
            "it fetches, but does not keep up",
            |s| edit_quorum(s, |quorum| quorum.voters[2].last_caught_up_ms = Some(NOW_MS - 11_000)),
            Cause::Lagging,
            &[3],
            "Broker 3 is behind in the controller's log, though fetching (last fetch 0.3 s ago at offset 500, last had all 11 s ago)",
        ),
        ("fenced, though it is up", |s| fence(s, &[1, 2, 3], 3), Cause::Fenced, &[3], "Broker 3 is up, but the controller has fenced it"),
        (
            "only its own requests do not reach the controller",
            |s| no_quorum(s, &[3], Silence::Silent),
            Cause::ControllerOutOfReach,
            &[3],
            "Broker 3 reaches no active controller with requests of its own",
        ),
        (
            "two at once",
            |s| {
                silence(s, &[2, 3]);
                edit_quorum(s, |quorum| quorum.voters.truncate(1));
            },
            Cause::Undetected,
            &[2, 3],
            "Brokers 2 and 3 do not answer (2: silent at b2:9092, the active controller has heard no fetch from it; 3:",
        ),
    ]);
}

#[test]
fn addresses_that_lead_nowhere_or_elsewhere() {
    check(&[
        (
            "nobody",
            |s| silence(s, &[1, 2, 3]),
            Cause::NobodyAnswers,
            &[],
            "None of the 3 addresses answers as a broker: b1:9092 (silent), b2:9092",
        ),
        (
            "a controller's listener",
            |s| {
                s.voices.truncate(1);
                s.voices[0].view = Err(unheard(Silence::Unsupported));
            },
            Cause::NobodyAnswers,
            &[],
            "The address does not answer as a broker: b1:9092 (not known there)",
        ),
        (
            "one of those given",
            |s| stranger(s, Err(unheard(Silence::Closed))),
            Cause::BootstrapSilent,
            &[],
            "An address that you gave does not answer as a broker: lb:9092 (closes).",
        ),
        (
            "another cluster",
            |s| stranger(s, Ok(View { cluster_id: Some("test".into()), ..View::default() })),
            Cause::TwoClusters,
            &[],
            "b1:9092, b2:9092 and b3:9092 to prod and lb:9092 to test",
        ),
    ]);
    let hint = diagnosed(|s| s.voices.iter_mut().for_each(|voice| voice.view = Err(unheard(Silence::Unsupported)))).next;
    assert!(hint.contains("give it as --controller"), "{hint}");
}

#[test]
fn what_could_not_be_asked_is_unknown_and_not_well() {
    type Unknown = (&'static str, fn(&mut Sighting), &'static str);
    let rows: [Unknown; 5] = [
        ("may not be told", |s| no_quorum(s, &[1, 2, 3], Silence::Denied), "the metadata quorum (Denied)"),
        (
            "a leader does not say",
            |s| drop(s.served.insert(BrokerId(2), Err(unheard(Silence::Silent)))),
            "whether broker 2 serves what it leads",
        ),
        ("nor of one partition", |s| drop(s.served.insert(BrokerId(2), Ok([].into()))), "the service of 1 partition: leaders did not say"),
        ("too many partitions", |s| s.partitions_left_out = 12_000, "the service of 12,000 partitions: so many are not asked for at once"),
        ("too many brokers", |s| s.brokers_left_out = 3, "3 brokers: so many are not asked at once"),
    ];
    for (name, spoil, words) in rows {
        let diagnosis = diagnosed(spoil);
        assert_eq!((diagnosis.outcome, diagnosis.findings.len()), (Outcome::Unknown, 0), "{name}: {diagnosis:#?}");
        assert!(diagnosis.sentence.contains(words) && diagnosis.unknown[0].contains(words), "{name}: {diagnosis:#?}");
    }
    // Beyond the bound nobody has asked it, whether or not it is fenced.
    let fenced = diagnosed(|s| {
        fence(s, &[1, 2, 3], 3);
        (0..3).for_each(|index| edit(s, &[1, 2, 3], index, |p| p.leader = Some(BrokerId(1))));
        s.served = [(BrokerId(1), Ok([0, 1, 2].map(|index| (orders(index), Ok(90))).into()))].into();
        s.voices.pop();
        s.brokers_left_out = 1;
    });
    assert_eq!((fenced.outcome, fenced.findings.len()), (Outcome::Unknown, 0), "{fenced:#?}");
    assert_eq!(fenced.unknown, ["1 broker: so many are not asked at once"]);
    let bound = diagnosed(|s| {
        edit(s, &[1, 2, 3], 0, |p| p.isr = ids(&[1, 2]));
        s.topics_left_out = 7;
    });
    assert_eq!(bound.unknown, ["eligible leader replicas of 7 topics: so many are not asked for at once"]);
    // What besides is unknown does not spoil a clean bill of health.
    let diagnosis = diagnosed(|s| {
        s.voices.iter_mut().for_each(|voice| voice.cluster.as_mut().unwrap().includes_fenced = false);
        s.eligible = Err(Unheard { why: Silence::Unsupported, detail: "too old".into() });
    });
    assert_eq!((diagnosis.outcome, diagnosis.unknown.len()), (Outcome::Healthy, 2), "{diagnosis:#?}");
}

#[test]
fn what_explains_others_comes_first_and_the_rest_is_told_too() {
    let diagnosis = diagnosed(|s| {
        silence(s, &[3]);
        fence(s, &[1, 2], 3);
        last_fetch(s, 3, 60_000);
        for index in 0..3 {
            edit(s, &[1, 2], index, |p| (p.isr, p.offline) = (ids(&[1, 2]), ids(&[3])));
        }
        edit(s, &[1, 2], 2, |p| (p.leader, p.isr) = (None, ids(&[3])));
        s.served.remove(&BrokerId(3));
    });
    let causes: Vec<Cause> = diagnosis.findings.iter().map(|finding| finding.cause).collect();
    assert_eq!(causes, [Cause::NoLeader(NoLeader::IsrDown), Cause::Down, Cause::OutOfSync]);
    assert_eq!(diagnosis.layer(), Some(Layer::Committed));
}

#[test]
fn only_what_a_passing_change_looks_like_is_worth_a_second_look() {
    assert!(diagnosed(|s| refuse(s, 1, 0, 6)).may_pass());
    assert!(!diagnosed(|s| refuse(s, 1, 0, 56)).may_pass());
    assert!(!diagnose(&healthy()).may_pass());
}

#[test]
fn every_cause_is_documented() {
    use Cause::*;
    let all = [
        NobodyAnswers,
        TwoClusters,
        NoActiveController,
        NoMajority,
        UnknownTopic,
        UnknownPartition,
        Undetected,
        OutOfReachFromHere,
        NotFetching,
        Lagging,
        ControllerOutOfReach,
        NoLeader(super::super::NoLeader::AllReplicasDown),
        NoLeader(super::super::NoLeader::IsrEmpty),
        NoLeader(super::super::NoLeader::IsrEmptyElrUnknown),
        NoLeader(super::super::NoLeader::IsrDown),
        NoLeader(super::super::NoLeader::NotElected),
        ListenerNotFound,
        StorageError,
        BrokersBehind,
        BrokersDisagree,
        NotLeader,
        FencedEpoch,
        UnknownEpoch,
        NotYetServed,
        Unserved(ErrorCode(3)),
        Fenced,
        Down,
        VoterDown,
        OutOfSync,
        BootstrapSilent,
    ];
    let page = include_str!("../../../../docs/trace.md");
    for cause in all {
        let row = page.lines().find(|line| line.starts_with('|') && line.contains(&format!("`{}`", cause.name())));
        let layer = cause.layer().map_or_else(|| "| |".to_owned(), |layer| format!("| `{}` |", layer.name()));
        assert!(row.is_some_and(|row| row.contains(&layer)), "{cause:?} in {layer}: {row:?}");
    }
}
