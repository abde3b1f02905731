use super::*;
use crate::rows::{RunRow, Values};

fn run(repeat: u32, distrust: &str, takes_nodes_down: bool) -> RunRow {
    RunRow {
        plan: "kill".to_owned(),
        kafka: "4.3.0".to_owned(),
        repeat,
        started_at: "2026-11-30T01:00:00Z".to_owned(),
        verdict: "PASS".to_owned(),
        reasons: String::new(),
        distrust: distrust.to_owned(),
        late_ms: Some(0),
        attempts: 1,
        left_out: String::new(),
        takes_nodes_down,
        build: "test".to_owned(),
        clients: String::new(),
        machine: "test".to_owned(),
    }
}

fn figure(repeat: u32, client: &str, metric: Metric, values: &str) -> FigureRow {
    FigureRow {
        plan: "kill".to_owned(),
        kafka: "4.3.0".to_owned(),
        repeat,
        client: client.to_owned(),
        group: "steady".to_owned(),
        metric,
        step: String::new(),
        values: Values(values.split_whitespace().map(|value| value.parse().unwrap()).collect()),
    }
}

/// Runs 1, 2, ... with the values of ours, Java and the second Java.
fn compared(runs: &[[&str; 3]]) -> Comparison {
    let mut store = Store::default();
    for (repeat, values) in (1..).zip(runs) {
        let clients = [OURS, REFERENCE, CONTROL].iter().zip(values);
        let figures = clients.map(|(client, values)| figure(repeat, client, Metric::OutageLongest, values)).collect();
        store.put(run(repeat, "", true), figures);
    }
    compare(&store).remove(0)
}

#[test]
fn ours_is_judged_against_what_java_differs_from_itself() {
    let table: [(&[[&str; 3]], Verdict); 10] = [
        (&[["12", "9", "11"]], Verdict::Within),
        (&[["13", "9", "11"]], Verdict::Above),
        (&[["7", "9", "11"]], Verdict::Below),
        // Java never differs from itself, so neither may ours.
        (&[["9", "8", "8"]], Verdict::Above),
        // Faults that last 9 s and 15 s say nothing of the client: ours is later than Java by a second in both runs.
        (&[["10000 10000", "9000", "9100"], ["16000 16000", "15000", "15100"]], Verdict::Above),
        // The median decides, not one producer.
        (&[["10 10 99", "9 10", "10 11"]], Verdict::Within),
        (&[["never", "never", "never"]], Verdict::Within),
        (&[["5", "never", "never"]], Verdict::Below),
        (&[["unknown", "9", "11"]], Verdict::Unknown),
        (&[["10", "9", ""]], Verdict::Unknown),
    ];
    for (runs, expected) in table {
        assert_eq!(compared(&runs.repeat(3)).verdict, expected, "{runs:?}");
    }
}

#[test]
fn two_java_producers_that_agree_by_chance_judge_nobody() {
    let run = ["10", "9", "9"];
    assert_eq!([compared(&[run; 2]).verdict, compared(&[run; 3]).verdict], [Verdict::Unknown, Verdict::Above]);
}

#[test]
fn one_periodic_request_more_or_less_is_no_difference() {
    let verdict = |ours: &str| {
        let figures =
            [(OURS, ours), (REFERENCE, "8 8"), (CONTROL, "8")].map(|(client, values)| figure(1, client, Metric::MetadataRequests, values));
        let mut store = Store::default();
        store.put(run(1, "", false), figures.to_vec());
        compare(&store)[0].verdict
    };
    assert_eq!(
        [verdict("7"), verdict("9"), verdict("10"), verdict("6")],
        [Verdict::Within, Verdict::Within, Verdict::Above, Verdict::Below]
    );
}

#[test]
fn when_a_topic_grows_within_a_clients_period_is_shown_but_not_judged() {
    let figures =
        [(OURS, "5000"), (REFERENCE, "100"), (CONTROL, "100")].map(|(client, values)| figure(1, client, Metric::FirstUse, values));
    let mut store = Store::default();
    store.put(run(1, "", false), figures.to_vec());
    assert_eq!(compare(&store)[0].verdict, Verdict::NotJudged);
}

#[test]
fn differences_are_told_with_javas_own() {
    let found = compared(&[["10 12", "9", "11"], ["21 23", "20", "19"], ["", "5", "5"]]);
    assert_eq!(found.clients[OURS], Range { median: 16.5, min: 10.0, max: 23.0, count: 4 });
    assert_eq!(found.ours, Some(Range { median: 1.5, min: -1.0, max: 4.0, count: 8 }));
    assert_eq!(found.control, Some(Range { median: 0.0, min: -1.0, max: 2.0, count: 3 }));
    assert_eq!(found.spread, Some(2.0));
}

#[test]
fn one_odd_producer_of_java_does_not_widen_its_spread() {
    // 15 producers of Java, one of them odd: 14 of 105 pairs are too many for 95 %; with 41 producers they are less than 5 %.
    let java = |count: usize| format!("1000 {}", "10 ".repeat(count - 2));
    assert_eq!(compared(&[["20", &java(15), "10"]]).verdict, Verdict::Within);
    assert_eq!(compared(&[["20", &java(41), "10"]]).verdict, Verdict::Above);
}

#[test]
fn runs_that_cannot_be_trusted_are_not_used() {
    let mut store = Store::default();
    for (repeat, distrust) in [(1, ""), (2, "late")] {
        let figures = [OURS, REFERENCE].map(|client| figure(repeat, client, Metric::Failed, "1 1"));
        store.put(run(repeat, distrust, true), figures.to_vec());
    }
    assert_eq!(compare(&store)[0].clients[OURS].count, 2);
    assert_eq!(counts(&store).len(), 0, "brokers have counted nothing");
}

#[test]
fn counts_agree_up_to_requests_that_were_cut_off() {
    let table = [
        (false, "5", "5", "0", Some(true)),
        (false, "5", "6", "1", Some(false)),
        (true, "5", "6", "1", Some(true)),
        (true, "5", "7", "1", Some(false)),
        (true, "5", "4", "0", Some(false)),
        (true, "5", "6", "unknown", None),
        (false, "5", "6", "unknown", Some(false)),
        (true, "5", "unknown", "unknown", None),
    ];
    for (takes_nodes_down, brokers, own, cut_off, expected) in table {
        let mut store = Store::default();
        let figures = [
            figure(1, OURS, Metric::MetadataRequests, brokers),
            figure(1, OURS, Metric::MetadataRequestsOwn, own),
            figure(1, OURS, Metric::MetadataRequestsCutOff, cut_off),
        ];
        store.put(run(1, "", takes_nodes_down), figures.to_vec());
        assert_eq!(counts(&store)[0].agree, expected, "{takes_nodes_down} {brokers} {own} {cut_off}");
    }
}
