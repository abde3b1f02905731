use super::findings::{AuditFinding, LostFinding};
use crate::analyze::Analysis;
use crate::analyze::findings::{Findings, Verdict};
use crate::ids::LeaderEpoch;
use crate::record::audit::{AuditCounts, LostPlace};
use crate::record::fact::Fact;
use crate::record::sample::Sample;
use crate::record::sample::layers::Part;

fn calm() -> Sample {
    Sample::new(&[("steady", 1), ("burst", 1)]).pairs("steady", 1, 2).pairs("burst", 1, 2).load("steady", -2, 20).load("burst", -2, 20)
}

fn clean(acknowledged: u64) -> AuditCounts {
    AuditCounts { acknowledged, found: acknowledged, ..AuditCounts::default() }
}

fn findings(sample: Sample) -> Findings {
    let mut analysis = Analysis::new();
    sample.end(22_000).facts.iter().for_each(|fact| analysis.fold(fact));
    analysis.finish()
}

fn audit(sample: Sample) -> AuditFinding {
    findings(sample).audit.unwrap()
}

const CHANGE: LostPlace = LostPlace::LeaderChange { epoch_before: Some(LeaderEpoch(0)), epoch: LeaderEpoch(1), start_offset: 780 };

#[test]
fn counts_are_summed_by_group_and_in_all() {
    let sample =
        calm().audited(21_000, 0, "steady", clean(10)).audited(21_000, 1, "steady", clean(5)).audited(21_000, 1, "burst", clean(7));
    let found = audit(sample.audit_ended(21_000, |ended| (ended.sent, ended.outcomes) = (22, 22)));
    assert_eq!((found.totals, found.counts(Some("steady")), found.counts(Some("burst"))), (clean(22), clean(15), clean(7)));
    assert_eq!((found.partitions, found.sent, found.outcomes), (2, 22, 22));
    assert!(found.is_complete(None) && found.lost.is_empty());
}

#[test]
fn what_is_lost_is_told_with_the_election_that_it_vanished_in() {
    let sample = calm()
        .step(1, "kill", "2", 12_000)
        .record(40, Part(0, 3, 1, &[3]).changed(), 12_500)
        .audited(21_000, 0, "steady", AuditCounts { acknowledged: 20, found: 12, lost: 8, ..AuditCounts::default() })
        .lost(21_000, 0, "steady", 5, (11_000, 12_600), CHANGE)
        .lost(21_000, 0, "burst", 2, (10_900, 12_700), CHANGE)
        .lost(21_000, 0, "steady", 1, (1_000, 2_000), LostPlace::WithinEpoch { epoch: LeaderEpoch(0) })
        .audit_ended(21_000, |_| {});
    let found = findings(sample);
    let lost = found.audit.as_ref().unwrap().lost.clone();
    let expected = LostFinding {
        topic: "orders".to_owned(),
        partition: 0,
        records: 7,
        producers: 2,
        due_after_ms: Some(10_900),
        due_before_ms: Some(12_700),
        truncated_at: Some(780),
        leader_epoch: Some(1),
        leader: Some(3),
        elected_ms: Some(12_500),
        is_unclean: Some(false),
        step: Some(1),
        in_words: "broker 3 became the leader (epoch 1) and wrote on from offset 780: what epoch 0 had written there is gone".to_owned(),
    };
    assert_eq!(lost[0], expected);
    assert_eq!((lost[1].records, lost[1].in_words.as_str()), (1, "among what the leader of epoch 0 wrote"));
    let summary = found.summary.join(" ");
    assert!(summary.contains("8 acknowledged records are lost, most (7) in orders/0: broker 3 became the leader"), "{summary}");
    assert!(summary.contains("no record failed") && !summary.contains("no record was lost"), "{summary}");
}

#[test]
fn every_place_reads_as_what_it_is() {
    let rows = [
        (CHANGE, "a leader of epoch 1 took over and wrote on from offset 780: what epoch 0 had written there is gone"),
        (LostPlace::BeforeStart { log_start_offset: 9 }, "deleted, by request or by age: the log begins at offset 9"),
        (LostPlace::SinceEpoch { epoch: LeaderEpoch(999) }, "in epoch 999 or a later one: there were more epochs than the audit follows"),
        (LostPlace::AtEnd { epoch: LeaderEpoch(2), end_offset: 50 }, "the log ends at offset 50, in epoch 2"),
        (LostPlace::Nowhere, "nothing of their producer is there"),
        (LostPlace::NoPartition, "there is no such partition any more"),
    ];
    for (place, words) in rows {
        let lost = calm().lost(21_000, 0, "steady", 1, (0, 1), place).audit_ended(21_000, |_| {});
        let said = &audit(lost).lost[0].in_words;
        assert!(said.contains(words), "{said}");
    }
}

/// The expectation's verdict, and why it could not be measured.
fn expected(sample: Sample, metric: &str) -> (Verdict, String) {
    let found = findings(sample.expect(metric, "==", 0.0));
    (found.verdict, found.expectations[0].unknown.clone().unwrap_or_default())
}

#[test]
fn none_lost_of_what_could_be_read_is_unknown_not_none() {
    let whole = || calm().audited(21_000, 0, "steady", clean(10));
    assert_eq!(expected(whole().audit_ended(21_000, |_| {}), "records.lost").0, Verdict::Pass);
    let two = whole().audited(21_000, 1, "steady", AuditCounts { lost: 1, ..clean(3) });
    assert_eq!(expected(two.audit_ended(21_000, |_| {}), "records.lost").0, Verdict::Fail);
    let unread = whole().unread(21_000, 1, "it has no leader").audit_ended(21_000, |_| {});
    let rows = [
        (unread, "not all of it could be read back: 1 of 2 partitions could not be read: orders/1: it has no leader"),
        (whole().audit_ended(21_000, |ended| ended.refused = 4), "not all of it could be read back: 4 records are not known of"),
        (
            whole().audit_ended(21_000, |ended| ended.unidentified = vec!["steady".to_owned()]),
            "not all of it could be read back: records of group",
        ),
        (whole(), "the topics were not read back: the run ended before that"),
        (whole().at(21_000, Fact::AuditSkipped { why: "the plan says so".to_owned() }), "the topics were not read back: the plan says so"),
    ];
    for (sample, why) in rows {
        let (verdict, unknown) = expected(sample, "records.lost");
        assert_eq!(verdict, Verdict::Unknown, "{why}");
        assert!(unknown.starts_with(why), "{unknown}");
    }
}

#[test]
fn clients_that_do_not_tell_of_every_record_are_not_trusted() {
    let sample = calm().audited(21_000, 0, "steady", clean(10)).audit_ended(21_000, |ended| (ended.sent, ended.outcomes) = (12, 10));
    let found = findings(sample);
    assert_eq!(found.verdict, Verdict::Unknown);
    assert_eq!(found.reasons, ["clients told what became of 10 records, but 12 were handed to them"]);
}

#[test]
fn beyond_so_many_elections_of_a_partition_a_loss_is_told_without_the_one_that_it_vanished_in() {
    let late = LostPlace::LeaderChange { epoch_before: Some(LeaderEpoch(1_200)), epoch: LeaderEpoch(1_201), start_offset: 9 };
    let elected = |stream: Sample, epoch: i32| stream.record(i64::from(epoch), Part(0, epoch % 3 + 1, epoch, &[3]).changed(), 12_500);
    let sample = (1..=1_300).fold(calm(), elected).lost(21_000, 0, "steady", 5, (11_000, 12_600), late).audit_ended(21_000, |_| {});
    let [lost] = &findings(sample).audit.unwrap().lost[..] else { panic!() };
    assert_eq!((lost.records, lost.leader), (5, None));
}

#[test]
fn an_election_that_a_new_controller_does_not_have_is_none() {
    let lost = |end_offset: i64| {
        let sample = calm()
            .record(40, Part(0, 2, 1, &[2]).changed(), 12_400)
            .at(12_500, Fact::ControllerTruncated { end_offset, records: 1 })
            .record(41, Part(0, 3, 1, &[3]).changed(), 12_600)
            .lost(21_000, 0, "steady", 5, (11_000, 12_600), CHANGE)
            .audit_ended(21_000, |_| {});
        findings(sample).audit.unwrap().lost[0].leader
    };
    assert_eq!((lost(40), lost(41)), (Some(3), Some(2)));
}
