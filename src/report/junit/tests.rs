//! Documents as a parser of XML reads them.

use proptest::prelude::*;
use roxmltree::{Document, Node};

use super::*;
use crate::analyze::Analysis;
use crate::record::fact::Fact;
use crate::record::sample::{Pair, Sample};

fn told(stream: &Sample) -> String {
    let mut analysis = Analysis::new();
    stream.facts.iter().for_each(|fact| analysis.fold(fact));
    let findings = analysis.finish();
    document([Suite { run: analysis.run(), findings: &findings, folder: Path::new("results/a run") }.told()])
}

fn killed() -> Sample {
    Sample::new(&[("steady", 1)])
        .expect("records.failed", "==", 0.0)
        .expect("outage.max", "<", 1_000.0)
        .expect("partitions.cached.min", "==", 6.0)
        .pairs("steady", 1, 2)
        .load("steady", -2, 20)
        .step(1, "kill", "2", 12_000)
        .gap(Pair("steady", 0, 0), 12_000, Some(17_000))
}

/// Class, name, time, and what of the case went wrong: the element's name, type and message.
fn cases<'a>(document: &'a Document<'a>) -> Vec<(&'a str, &'a str, Option<&'a str>, String)> {
    let of = |case: Node<'a, 'a>| {
        let wrong = case.first_element_child().map_or_else(String::new, |wrong| {
            let attribute = |name| wrong.attribute(name).unwrap_or_default();
            format!("{} {}: {}", wrong.tag_name().name(), attribute("type"), attribute("message"))
        });
        (case.attribute("classname").unwrap(), case.attribute("name").unwrap(), case.attribute("time"), wrong)
    };
    document.descendants().filter(|node| node.has_tag_name("testcase")).map(of).collect()
}

fn counts<'a>(node: Node<'a, 'a>) -> [&'a str; 3] {
    ["tests", "failures", "errors"].map(|name| node.attribute(name).unwrap())
}

#[test]
fn a_case_stands_for_each_thing_that_the_verdict_depends_on() {
    let text = told(&killed().end(20_000));
    let document = Document::parse(&text).unwrap();
    let none = String::new;
    let expected = [
        ("sample.end", "the run came to its end", None, none()),
        ("sample.trust", "the figures can be trusted", None, none()),
        ("sample.recovery", "no hang in group `steady` but what the plan allows", None, none()),
        ("sample.step", "step 1 `kill 2`", Some("0.200"), none()),
        ("sample.expect", "records.failed == 0", None, none()),
        ("sample.expect", "outage.max < 1000 ms", None, "failure FAIL: expected outage.max < 1000 ms, but it is 5000 ms".to_owned()),
        (
            "sample.expect",
            "partitions.cached.min == 6",
            None,
            "error UNKNOWN: expected partitions.cached.min == 6, but it could not be measured: the client does not tell it".to_owned(),
        ),
    ];
    assert_eq!(cases(&document), expected);
    let suite = document.root_element().first_element_child().unwrap();
    assert_eq!((counts(document.root_element()), counts(suite)), (["7", "1", "1"], ["7", "1", "1"]));
    let attributes = ["name", "time", "timestamp"].map(|name| suite.attribute(name));
    assert_eq!(attributes, ["sample", "22.000", "2026-11-29T10:00:00"].map(Some));
    let properties: Vec<_> = suite.descendants().filter(|node| node.has_tag_name("property")).collect();
    let property = |name: &str| properties.iter().find(|node| node.attribute("name") == Some(name)).unwrap().attribute("value");
    assert_eq!((property("verdict"), property("seed"), property("version.kafka")), (Some("FAIL"), Some("7"), Some("4.3.0")));
    let out = suite.children().find(|node| node.has_tag_name("system-out")).unwrap();
    assert!(out.text().unwrap().starts_with("sample  FAIL\n"), "{:?}", out.text());
}

#[test]
fn hangs_are_failures_and_runs_that_were_cut_off_are_errors() {
    let hanging = told(&killed().gap(Pair("steady", 0, 1), 13_000, None).end(20_000));
    let document = Document::parse(&hanging).unwrap();
    let wrong: Vec<String> = cases(&document).into_iter().map(|(.., wrong)| wrong).filter(|wrong| wrong.contains("HANG")).collect();
    assert_eq!(wrong, ["failure HANG: 1 producer-partition pair of group `steady` had not recovered by the end"]);
    let text = told(&killed());
    let document = Document::parse(&text).unwrap();
    assert!(cases(&document)[0].3.starts_with("error INTERRUPTED: the facts end"), "{text}");
    assert_eq!(document.root_element().first_element_child().unwrap().attribute("time"), None);
}

#[test]
fn a_run_that_came_to_nothing_is_told_as_an_error() {
    let text = unfinished("broker-kill", "no container engine at <unix:///no-such.sock>");
    let document = Document::parse(&text).unwrap();
    let expected = "error INTERRUPTED: no container engine at <unix:///no-such.sock>".to_owned();
    assert_eq!(cases(&document), [("broker-kill", "the run came to its end", None, expected)]);
    assert_eq!(counts(document.root_element()), ["1", "0", "1"]);
}

#[test]
fn several_runs_are_several_suites() {
    let mut analysis = Analysis::new();
    killed().end(20_000).facts.iter().for_each(|fact| analysis.fold(fact));
    let findings = analysis.finish();
    let suite = Suite { run: analysis.run(), findings: &findings, folder: Path::new("results") };
    let text = document([suite.told(), suite.told()]);
    let document = Document::parse(&text).unwrap();
    assert_eq!(document.root_element().children().filter(Node::is_element).count(), 2);
    assert_eq!(counts(document.root_element()), ["14", "2", "2"]);
    assert_eq!(super::document([suite.told(), suite.told()]), text, "the same bytes each time");
}

proptest! {
    /// Whatever names and texts hold, a parser reads the document, and reads what was meant as far as XML can say it.
    #[test]
    fn hostile_names_do_not_break_the_document(plan in any::<String>(), target in any::<String>(), why in any::<String>()) {
        let mut stream = Sample::new(&[("steady", 1)]).child(2, None, None, "kill", &target, 14_000);
        for stamped in &mut stream.facts {
            if let Fact::RunStarted(run) = &mut stamped.fact {
                run.plan.clone_from(&plan);
                run.versions.insert(why.clone(), target.clone());
            }
        }
        let text = told(&stream.at(20_000, Fact::RunEnded { interrupted: Some(why.clone()) }));
        let document = Document::parse(&text).unwrap();
        let allowed: String = plan.chars().filter(|character| !character.is_control() || matches!(character, '\t' | '\n' | '\r')).collect();
        if allowed == plan && !plan.contains(['\u{fffe}', '\u{ffff}']) {
            let suite = document.root_element().first_element_child().unwrap();
            prop_assert_eq!(suite.attribute("name").unwrap(), plan);
        }
        let wrong = cases(&document);
        prop_assert!(wrong[0].3.starts_with("error INTERRUPTED: the run was interrupted: "));
    }
}

#[test]
fn control_characters_and_markup_are_no_danger() {
    let why = "a\u{0}b\u{8}c\u{b}d]]>e<f>&amp;\"'\u{1b}[31m\u{fffe}\nnext\tline\r";
    let text = unfinished("<plan a=\"b\">", why);
    let document = Document::parse(&text).unwrap();
    let clean = "abcd]]>e<f>&amp;\"'[31m\nnext\tline\r";
    let error = document.descendants().find(|node| node.has_tag_name("error")).unwrap();
    assert_eq!((error.attribute("message"), error.text()), (Some(clean), Some(clean)));
}
