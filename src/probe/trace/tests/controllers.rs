//! Causes that are about controllers: whether there is an active one, and what those say that may not know.

use super::world::*;
use super::{check, diagnosed};
use crate::ids::HostPort;
use crate::kafka::admin::ErrorCode;
use crate::probe::trace::diagnosis::{Cause, Diagnosis};
use crate::probe::trace::sighting::{Sighting, Silence};

#[test]
fn controllers_that_cannot_commit() {
    let controller = |port| HostPort::new("c", port);
    check(&[
        (
            "no broker reaches one",
            |s| no_quorum(s, &[1, 2, 3], Silence::Silent),
            Cause::NoActiveController,
            &[],
            "There is no active controller: brokers 1, 2 and 3 reached none",
        ),
        (
            "two of three nodes are paused",
            |s| {
                silence(s, &[2, 3]);
                no_quorum(s, &[1], Silence::Refused(ErrorCode::REQUEST_TIMED_OUT));
            },
            Cause::NoActiveController,
            &[],
            "broker 1 reached none",
        ),
        (
            "the last one is alone, and does not know it yet",
            |s| {
                silence(s, &[2, 3]);
                last_fetch(s, 2, 3_500);
                last_fetch(s, 3, 3_500);
            },
            Cause::NoMajority,
            &[2, 3],
            "Controller 1 is active in epoch 7 but has lost the majority: 1 of 3 voters follow it",
        ),
        (
            "a dedicated controller is down",
            |s| {
                edit_quorum(s, |quorum| {
                    quorum.voters.push(replica(12));
                    quorum.voters[3].last_fetch_ms = Some(NOW_MS - 60_000);
                });
            },
            Cause::VoterDown,
            &[12],
            "Controller 12 does not follow the active controller 1; the quorum works, and can lose 0 more.",
        ),
    ]);
    let diagnosis = diagnosed(|s| {
        no_quorum(s, &[1, 2, 3], Silence::Silent);
        s.controllers = vec![
            (controller(1), Err(unheard(Silence::Refused(ErrorCode::NOT_LEADER_OR_FOLLOWER)))),
            (controller(2), Err(unheard(Silence::Silent))),
            (controller(3), Err(unheard(Silence::Unreachable))),
        ];
    });
    let words = "1 controller answered that it is not the active one; c:2 (silent) and c:3 (no connection) did not answer";
    assert!(diagnosis.sentence.contains(words), "{}", diagnosis.sentence);
}

#[test]
fn one_broker_that_reaches_no_controller_is_the_odd_one_and_not_the_last_word() {
    let rows = [
        (Silence::Denied, "Check the way from broker 3 to the active controller"),
        (Silence::Malformed, "Whether there is one is not known: ask the controllers themselves with --controller"),
    ];
    for (others, next) in rows {
        let diagnosis = diagnosed(|s| {
            no_quorum(s, &[1, 2], others);
            no_quorum(s, &[3], Silence::Silent);
        });
        assert_eq!((diagnosis.findings.len(), diagnosis.findings[0].cause), (1, Cause::ControllerOutOfReach), "{diagnosis:#?}");
        assert_eq!(diagnosis.findings[0].nodes, ids(&[3]));
        assert_eq!(diagnosis.sentence, "Broker 3 reaches no active controller with requests of its own (Silent).");
        assert!(diagnosis.next.contains(next), "{}", diagnosis.next);
        assert!(diagnosis.unknown[0].contains("the metadata quorum"), "{diagnosis:#?}");
    }
    let refusal = || vec![(HostPort::new("c", 1), Err(unheard(Silence::Refused(ErrorCode::NOT_LEADER_OR_FOLLOWER))))];
    let first = |others: Silence, third: Silence| {
        let diagnosis = diagnosed(|s| {
            no_quorum(s, &[1, 2], others);
            no_quorum(s, &[3], third);
            s.controllers = refusal();
        });
        diagnosis.findings.first().map(|finding| finding.cause)
    };
    assert_eq!(first(Silence::Malformed, Silence::Silent), Some(Cause::NoActiveController), "a controller says so, too");
    assert_eq!(first(Silence::Denied, Silence::Silent), Some(Cause::ControllerOutOfReach), "the others have reached one, which denied");
    assert_eq!(first(Silence::Malformed, Silence::Malformed), None, "this one is not active; perhaps another is");
}

#[test]
fn several_controllers_that_all_say_no_are_believed_without_a_broker() {
    let diagnosed = |not_active: u16, silent: u16, brokers: fn(&mut Sighting)| {
        diagnosed(|s| {
            brokers(s);
            let answer = |port| if port <= not_active { Silence::Refused(ErrorCode::NOT_LEADER_OR_FOLLOWER) } else { Silence::Silent };
            s.controllers = (1..=not_active + silent).map(|port| (HostPort::new("c", port), Err(unheard(answer(port))))).collect();
        })
    };
    let causes = |diagnosis: Diagnosis| diagnosis.findings.into_iter().map(|finding| finding.cause).collect::<Vec<_>>();
    let nobody: fn(&mut Sighting) = |s| silence(s, &[1, 2, 3]);
    assert_eq!(causes(diagnosed(3, 0, nobody)), [Cause::NobodyAnswers, Cause::NoActiveController]);
    assert_eq!(causes(diagnosed(1, 0, nobody)), [Cause::NobodyAnswers], "another may be active");
    assert_eq!(causes(diagnosed(2, 1, nobody)), [Cause::NobodyAnswers], "the silent one may be active");
    assert_eq!(causes(diagnosed(3, 0, |s| no_quorum(s, &[1, 2, 3], Silence::Denied))), [], "brokers have reached one, which denied");

    let unsaid = diagnosed(2, 0, |s| no_quorum(s, &[1, 2, 3], Silence::Malformed));
    assert_eq!(
        unsaid.sentence,
        "There is no active controller among those that were given: 2 controllers answered that they are not the active one. If there is no \
         other, nothing in the cluster can change."
    );
}

#[test]
fn an_active_controller_that_only_controllers_reach_is_one() {
    let diagnosis = diagnosed(|s| {
        let told = s.voices[0].quorum.clone();
        no_quorum(s, &[1, 2, 3], Silence::Silent);
        s.controllers = vec![(HostPort::new("c", 1), told)];
    });
    assert_eq!(diagnosis.findings[0].cause, Cause::ControllerOutOfReach);
    assert_eq!(diagnosis.findings[0].nodes, ids(&[1, 2, 3]));
}
