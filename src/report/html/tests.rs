//! The page as a whole: what it holds, what it never does, and how large it may get.

mod bounds;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::analyze::Analysis;
use crate::record::fact::{Fact, RunStarted};
use crate::record::sample::scenes::killed;
use crate::record::sample::{Pair, Sample};

fn analysis(stream: &Sample) -> Analysis {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    analysis
}

fn page_of(stream: &Sample) -> String {
    let analysis = analysis(stream);
    let (findings, series) = (analysis.finish(), analysis.series());
    page(Content { run: analysis.run().unwrap(), findings: &findings, series: &series, errors: analysis.errors() }).unwrap()
}

/// The page without its own styles and scripts.
fn markup(page: &str) -> String {
    assets::RUN_SCRIPTS.iter().chain(&assets::STYLES).fold(page.to_owned(), |page, asset| page.replace(asset, ""))
}

fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"chaos-data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

fn renamed(mut stream: Sample, change: impl Fn(&mut RunStarted)) -> Sample {
    for stamped in &mut stream.facts {
        if let Fact::RunStarted(run) = &mut stamped.fact {
            change(run);
        }
    }
    stream
}

fn lost(group: &str, text: &str) -> Fact {
    Fact::RecordErrors {
        group: group.to_owned(),
        outcome: "failed".to_owned(),
        kind: "TimeoutException".to_owned(),
        code: Some(7),
        text: text.to_owned(),
        count: 1_234,
        first_us: 11_000_000,
        last_us: 12_000_000,
    }
}

#[test]
fn the_page_reads_without_its_script() {
    let stream = killed().expect("records.failed", "==", 0.0).at(12_000, lost("steady", "no answer")).generator(-2, 40, 900).end(40_000);
    let page = page_of(&stream);
    let markup = markup(&page);
    for part in [
        "<h1>sample</h1><p class=\"verdict verdict-pass\">PASS</p>",
        "<p class=\"sentence\">The kill of node 2 stalled up to 2 of 6 producer-partition pairs for 9.0 to 9.3 s; no record failed.</p>",
        "<a href=\"#step-1\">step 1, kill node 2</a>",
        "<tr id=\"step-1\"><th scope=\"row\" class=\"number\">1</th>",
        "<th scope=\"row\" class=\"text\">records.failed == 0</th><td class=\"text met\">met</td>",
        "<p class=\"held held-up\">held up in detected: <code>orders/0</code>: 9.0 of 9.3 s until the controller fenced broker 2",
        "<td class=\"text\">TimeoutException</td><td class=\"number\">7</td><td class=\"number\">1,234</td><td class=\"number\">11.0 s</td>",
        "<figure class=\"chart\" id=\"fig-replicas\" data-chart=\"replicas\">",
        "<pre class=\"plan\"><code>name = &quot;sample&quot;",
        "<dt>seed</dt><dd>7</dd>",
    ] {
        assert!(markup.contains(part), "{part} is not in {markup}");
    }
    assert_eq!(page, page_of(&stream), "the same facts give another page");
    // A script that was blocked leaves no `noscript` behind: the page itself says what is missing, until the script hides that.
    let pictures = markup.matches("<figure ").count();
    let told = markup.matches("<p class=\"note without-script\">This picture needs JavaScript. Its figures are in ").count();
    assert!(pictures > 8 && told == pictures && !markup.contains("<noscript"), "{told} of {pictures}");
    assert!(assets::STYLES[1].contains("html.js .without-script { display: none; }"));
    assert!(!markup.contains("class=\"js"), "nothing is hidden before the script runs");
}

/// An outage that had begun before its step is as long as any other.
#[test]
fn the_longest_outage_is_the_longest() {
    let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 2).load("steady", -2, 40);
    let stream = stream.step(1, "kill", "1", 10_000).step(2, "kill", "2", 20_000);
    let stream = stream.gap(Pair("steady", 0, 0), 9_000, Some(17_000)).gap(Pair("steady", 0, 1), 20_000, Some(25_000));
    let page = markup(&page_of(&stream.end(40_000)));
    let told =
        "The longest outage at a step: <strong>8.00 s</strong>, of <code>steady</code>, at <a href=\"#step-1\">step 1, kill node 1</a>";
    assert!(page.contains(told), "{page}");
}

#[test]
fn each_table_tells_what_it_has_no_room_for() {
    let stream = Sample::new(&[("steady", 1)]).load("steady", -2, 10).requesters("storm", -2, 10, |_| {});
    let stream = (0..20).fold(stream, |stream, step| {
        let second = 10 + i64::from(step);
        let stream = stream.step(step + 1, "kill", "1", 1_000 * second);
        stream.load("steady", second, second + 1).requesters("storm", second, second + 1, |_| {})
    });
    let page = markup(&page_of(&stream.end(40_000)));
    // Requests and their round trips; nobody looked at the nodes' CPU.
    assert_eq!(page.matches("later parts are in run.json").count(), 2);
}

#[test]
fn every_link_within_the_page_has_a_place_and_every_id_is_its_own() {
    links_lead_somewhere(&markup(&page_of(&killed().end(40_000))));
}

fn links_lead_somewhere(page: &str) {
    let values = |before: &str| page.split(before).skip(1).map(|rest| rest.split('"').next().unwrap()).collect::<Vec<_>>();
    let mut ids = values(" id=\"");
    for link in values("href=\"#") {
        assert!(ids.contains(&link), "{link} leads nowhere");
    }
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id is there twice");
}

#[test]
fn hostile_names_stay_text() {
    const HOSTILE: &str = "</script></style></title><img src=x onerror=alert(1)>\"'><svg onload=alert(2)><!--\u{2028}";
    let stream = Sample::new(&[(HOSTILE, 1)])
        .load(HOSTILE, -2, 30)
        .step(1, HOSTILE, HOSTILE, 10_000)
        .requesters(HOSTILE, 0, 2, |second| _ = second.errors.insert(HOSTILE.to_owned(), 1))
        .at(11_000, lost(HOSTILE, HOSTILE))
        .at(0, Fact::GroupStarted { group: HOSTILE.to_owned(), warnings: vec![HOSTILE.to_owned()] })
        .at(30_000, Fact::RunEnded { interrupted: Some(HOSTILE.to_owned()) });
    let stream = renamed(stream, |run| {
        for text in [&mut run.plan, &mut run.plan_text, &mut run.plan_path, &mut run.steady_at, &mut run.run_id, &mut run.plan_sha256] {
            HOSTILE.clone_into(text);
        }
        run.versions = [("kafka", HOSTILE), (HOSTILE, HOSTILE)].map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        run.machine = [(HOSTILE.to_owned(), HOSTILE.to_owned())].into();
        run.warnings = vec![HOSTILE.to_owned()];
    });
    let page = page_of(&stream);
    let markup = markup(&page);
    for tag in ["<img", "<svg", "<!--"] {
        assert!(!markup.contains(tag), "{tag} in the page");
    }
    assert_eq!(["<script", "</script", "<style", "</style", "</title"].map(|tag| markup.matches(tag).count()), [3, 3, 2, 2, 1]);
    assert!(markup.contains("&lt;img src=x onerror=alert(1)&gt;"));
    assert_eq!(data(&page)["timeline"]["groups"][0]["name"], HOSTILE);
}

#[test]
fn a_policy_allows_only_what_the_page_carries() {
    let page = page_of(&Sample::new(&[]).end(1_000));
    let (_, policy) = page.split_once("http-equiv=\"Content-Security-Policy\" content=\"").unwrap();
    let policy = policy.split_once('"').unwrap().0;
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    let first = page.find("Content-Security-Policy").unwrap();
    assert!(first < page.find("<style").unwrap() && first < page.find("<script").unwrap(), "the policy comes too late");
}

#[test]
fn the_data_have_the_keys_that_the_script_reads() {
    let stream = killed().step(2, "start", "2", 14_000).generator(-2, 40, 900).end(40_000);
    let stream = renamed(stream, |run| run.groups[0].producers = 3);
    let data = data(&page_of(&stream));
    let keys = |pointer: &str| {
        let value = data.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        keys.join(" ")
    };
    let table = [
        (
            "",
            "brokers caches first_ack first_ack_left_out from_ms layers layers_left_out outages partitions percentiles phases steps steps_left_out timeline to_ms",
        ),
        ("/phases/0", "from_ms name to_ms"),
        ("/steps/0", "acknowledged_ms has_parts label observed_ms requested_ms step"),
        ("/timeline", "bucket_ms generator groups groups_left_out requesters requesters_left_out time_ms"),
        (
            "/timeline/groups/0",
            "due failed in_flight indeterminate name ok requests response_max_us response_p50_us response_p99_us service_max_us service_p50_us \
             service_p99_us stalled_pairs",
        ),
        ("/timeline/generator", "cpu_percent lateness_max_us lateness_p50_us lateness_p99_us rss_bytes"),
        ("/brokers", "bucket_ms left_out nodes time_ms"),
        ("/percentiles/0", "count group kind points window"),
        ("/partitions", "left_out topics"),
        ("/partitions/topics/0", "events events_left_out high_watermark known_until_ms partition topic"),
        ("/caches", "counts counts_left_out counts_refused leaders leaders_left_out leaders_refused untold"),
        ("/caches/counts/0", "events events_left_out group known_until_ms producer topic"),
        ("/caches/leaders/0", "events events_left_out group known_until_ms partition producer topic"),
        ("/caches/untold/0", "clients counts group leaders"),
        ("/layers/0", "began_ms change held label last_ack_ms partition segments segments_left_out stages stages_left_out step"),
        ("/layers/0/stages/0", "group is_down layer never node not_before_ms time_ms what"),
        ("/layers/0/segments/0", "for_ms group layer node since_ms"),
        ("/outages", "columns columns_left_out first_due_ms left_out rows rows_left_out steps steps_left_out"),
        ("/outages/rows/0", "due_until_ms group producer"),
        ("/outages/columns/0", "partition topic"),
        ("/outages/steps/0", "cells label requested_ms step until_ms"),
    ];
    for (pointer, expected) in table {
        assert_eq!(keys(pointer), expected, "{pointer}");
    }
    each_key_is_read_and_each_that_is_read_is_there(&data);
    assert_eq!(data["steps"][0]["label"], "kill node 2");
    assert_eq!(data["outages"]["steps"][0]["cells"][0], json!([0, 0, 9_280, true]));
    assert_eq!(data["timeline"]["generator"]["cpu_percent"][0], Value::Null, "what was not measured");
}

fn each_key_is_read_and_each_that_is_read_is_there(data: &Value) {
    let mut written = BTreeSet::new();
    keys_of(data, &mut written);
    // By the own script, not the library's; reasons of requests are keys that the script does not name one by one.
    let mut before = ' ';
    let (mut words, mut read) = (BTreeSet::new(), BTreeSet::new());
    for word in assets::RUN_SCRIPTS[1].split_inclusive(|character: char| !character.is_ascii_alphanumeric() && character != '_') {
        let name = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric() && character != '_');
        words.insert(name);
        if before == '.' && name.contains('_') && name.chars().all(|character| !character.is_ascii_uppercase()) {
            read.insert(name);
        }
        before = word.chars().next_back().unwrap_or(' ');
    }
    let unread: Vec<_> = written.iter().filter(|key| !words.contains(key.as_str())).collect();
    let unwritten: Vec<_> = read.iter().filter(|key| !written.contains(**key)).collect();
    assert!(unread.is_empty() && unwritten.is_empty(), "never read: {unread:?}; never written: {unwritten:?}");
}

fn keys_of(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| keys_of(item, keys)),
        Value::Object(fields) => {
            for (key, field) in fields {
                keys.insert(key.clone());
                if key != "requests" {
                    keys_of(field, keys);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn a_run_that_was_cut_off_or_never_began_has_a_page_too() {
    let cut = page_of(&Sample::new(&[("steady", 1)]).load("steady", -2, 5).step(1, "kill", "1", 4_000));
    assert!(cut.contains("<p class=\"verdict verdict-interrupted\">INTERRUPTED</p>") && cut.contains("<dd>the run was cut off</dd>"));
    let stopped = Fact::RunEnded { interrupted: Some("SIGINT".to_owned()) };
    let nothing = page_of(&Sample { facts: Sample::new(&[("steady", 1)]).at(-2_000, stopped).facts });
    assert!(nothing.contains("INTERRUPTED") && !nothing.contains("<figure"), "there is nothing to draw");
}
