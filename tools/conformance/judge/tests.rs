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
        commit: "c0ffee".to_owned(),
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
        // A third of ours is far off, which the median does not show.
        (&[["0 0 99", "0 0", "0 0"]], Verdict::Scattered),
        // Of nine producers one of ours may well be an extreme.
        (&[["10 10 13", "9 10", "10 11"]], Verdict::Within),
        (&[["10 10 14", "9 10", "10 11"]], Verdict::Scattered),
        (&[["unknown", "9", "11"]], Verdict::Unknown),
        (&[["10", "9", ""]], Verdict::Unknown),
    ];
    for (runs, expected) in table {
        assert_eq!(compared(&runs.repeat(3)).verdict, expected, "{runs:?}");
    }
}

#[test]
fn what_never_happens_is_judged_by_its_share_and_hides_no_number() {
    let table: [(&[[&str; 3]], Verdict); 9] = [
        (&[["never never", "never never", "never never"]], Verdict::Within),
        (&[["5 5", "never never", "never never"]], Verdict::Below),
        (&[["never never", "5 5", "5 5"]], Verdict::Above),
        (&[["never 5", "5 5", "5 5"]], Verdict::Above),
        // One of Java's groups did it too.
        (&[["never 5", "never 5", "5 5"]], Verdict::Within),
        // Where one producer of Java never came back, numbers are judged as ever.
        (&[["never 99", "never 5", "5 5"]], Verdict::Above),
        // Shares agree, but there are no pairs of numbers.
        (&[["never", "never", "never 5"]], Verdict::Unknown),
        (&[["never", "5 5 5", ""]], Verdict::Unknown),
        (&[["unknown", "never", "never"]], Verdict::Unknown),
    ];
    for (runs, expected) in table {
        let found = compared(&runs.repeat(2));
        assert_eq!(found.verdict, expected, "{runs:?}");
        assert!([found.far, found.spread].into_iter().flatten().all(f64::is_finite), "{found:?}");
    }
}

#[test]
fn what_is_no_number_is_never_within() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let range = |median| Spread::of([median]);
        assert_eq!(of_numbers(range(bad), Some(0.0), Some(1.0)), Verdict::Unknown);
        assert_eq!(of_numbers(range(0.0), Some(bad), Some(1.0)), Verdict::Unknown);
        assert_eq!(of_numbers(range(0.0), Some(0.0), Some(bad)), Verdict::Unknown);
        assert!(bad.to_string().parse::<Measured>().is_err(), "{bad} is no value of a table");
    }
}

#[test]
fn only_runs_of_the_newest_build_are_judged() {
    let mut store = Store::default();
    for (repeat, build, began, value) in [(1, "old", "2026-11-29T23:00:00Z", "99 99"), (2, "new", "2026-11-30T01:00:00Z", "1 1")] {
        let figures =
            [(OURS, value), (REFERENCE, "1 1"), (CONTROL, "1 1")].map(|(client, values)| figure(repeat, client, Metric::Failed, values));
        store.put(RunRow { build: build.to_owned(), started_at: began.to_owned(), ..run(repeat, "", true) }, figures.to_vec());
    }
    let found = compare(&store).remove(0);
    assert_eq!((found.verdict, found.clients[OURS].max), (Verdict::Within, 1.0));
    assert_eq!(store.unused(&store.runs[0]).as_deref(), Some("it was measured with an older build, old"));
    let asked: Vec<_> = (1..=3).map(|repeat| run(repeat, "", true).cell()).collect();
    assert_eq!(store.missing(&asked), [&asked[2]]);
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
    assert_eq!(found.clients[OURS], Spread { median: 16.5, min: 10.0, max: 23.0, count: 4 });
    assert_eq!(found.ours, Some(Spread { median: 1.5, min: -1.0, max: 4.0, count: 8 }));
    assert_eq!(found.control, Some(Spread { median: 0.0, min: -1.0, max: 2.0, count: 3 }));
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
fn counts_are_held_against_each_other_producer_by_producer() {
    let mut store = Store::default();
    let figures = [figure(1, OURS, Metric::MetadataRequests, "5 6"), figure(1, OURS, Metric::MetadataRequestsOwn, "6 5")];
    store.put(run(1, "", false), figures.to_vec());
    let agree: Vec<_> = counts(&store).iter().map(|counts| (counts.producer, counts.agree)).collect();
    assert_eq!(agree, [(0, Some(false)), (1, Some(false))], "the sums are equal");
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
