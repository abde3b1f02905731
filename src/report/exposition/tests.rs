//! The page, read by a strict reader of the format.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::analyze::live::Live;
use crate::record::fact::{Fact, GroupSecond, Phase};
use crate::record::sample::Sample;

/// A sample's value by its name and labels.
type Samples = BTreeMap<String, f64>;

/// Reads a page by the rules of the format; says where it breaks one.
fn read(page: &str) -> Result<Samples, String> {
    let mut samples = Samples::new();
    let mut families: BTreeMap<&str, &str> = BTreeMap::new();
    let mut current = "";
    let mut helped = "";
    if !page.ends_with('\n') {
        return Err("the last line has no end".into());
    }
    for line in page.lines() {
        let wrong = |why: &str| Err(format!("{why}: {line}"));
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let Some((name, help)) = rest.split_once(' ') else { return wrong("no help") };
            if help.is_empty() || families.contains_key(name) {
                return wrong("no help, or a family twice");
            }
            helped = name;
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let Some((name, kind)) = rest.split_once(' ') else { return wrong("no type") };
            let is_named = is_name(name) && (kind == "counter") == name.ends_with("_total");
            if name != helped || !["counter", "gauge", "histogram"].contains(&kind) || !is_named {
                return wrong("a type without help, of a kind that is not known, or with the other kind's name");
            }
            families.insert(name, kind);
            current = name;
        } else {
            let Some((series, value)) = line.rsplit_once(' ') else { return wrong("no value") };
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let parts: &[&str] = if families.get(current) == Some(&"histogram") { &["_bucket", "_sum", "_count"] } else { &[""] };
            if !parts.iter().any(|part| name == format!("{current}{part}")) {
                return wrong("a sample outside its family");
            }
            check_labels(labels).map_err(|why| format!("{why}: {line}"))?;
            let Ok(value) = value.parse::<f64>() else { return wrong("no number") };
            if samples.insert(series.to_owned(), value).is_some() {
                return wrong("a series twice");
            }
        }
    }
    check_histograms(&samples)?;
    Ok(samples)
}

fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Labels up to the closing brace: `a="x",b="y"}`, each name once, each value escaped.
fn check_labels(mut rest: &str) -> Result<(), String> {
    let mut names = BTreeSet::new();
    while rest != "}" {
        let (name, value) = rest.split_once("=\"").ok_or("a label without a value")?;
        if !is_name(name) || !names.insert(name) {
            return Err(format!("the label {name}"));
        }
        let mut escaped = false;
        let end = value.char_indices().find(|(_, character)| {
            let ends = *character == '"' && !escaped;
            escaped = *character == '\\' && !escaped;
            ends
        });
        rest = &value[end.ok_or("a label's value without an end")?.0 + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Ok(())
}

/// Classes never fall, and the last one holds all.
fn check_histograms(samples: &Samples) -> Result<(), String> {
    let mut rows: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (series, count) in samples {
        let Some((name, labels)) = series.split_once("_bucket{") else { continue };
        let (before, le) = labels.rsplit_once("le=\"").ok_or("a class without a bound")?;
        let le = le.trim_end_matches("\"}").replace("+Inf", "inf").parse().map_err(|_| format!("the bound of {series}"))?;
        let before = before.trim_end_matches(',');
        rows.entry(if before.is_empty() { format!("{name}_count") } else { format!("{name}_count{{{before}}}") })
            .or_default()
            .push((le, *count));
    }
    for (count, mut classes) in rows {
        classes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let is_rising = classes.windows(2).all(|pair| pair[0].1 <= pair[1].1);
        let last = classes.last().filter(|(bound, _)| bound.is_infinite()).map(|(_, all)| all);
        if !is_rising || last.is_none() || last != samples.get(&count) || !samples.contains_key(&count.replace("_count", "_sum")) {
            return Err(format!("the classes of {count}: {classes:?}"));
        }
    }
    Ok(())
}

fn page(stream: &Sample) -> String {
    let (mut meters, mut live) = (Meters::default(), Live::default());
    for fact in &stream.facts {
        meters.fold(fact);
        live.fold(fact);
    }
    text(&meters, live.groups())
}

fn samples(stream: &Sample) -> Samples {
    let page = page(stream);
    read(&page).unwrap_or_else(|why| panic!("{why}\n{page}"))
}

#[test]
fn before_the_load_the_page_has_no_group_and_nothing_made_up() {
    let page = text(&Meters::default(), &[]);
    let samples = read(&page).unwrap();
    assert_eq!(samples["chaos_phase{phase=\"before\"}"], 1.0);
    assert!(!samples.keys().any(|series| series.contains("group=")), "{page}");
    assert_eq!(samples["chaos_step_number"], 0.0, "so that the first step is a change");
    assert!(!samples.contains_key("chaos_step_requested_seconds") && !samples.contains_key("chaos_generator_threads"), "{page}");
}

#[test]
fn a_run_is_told_with_its_groups_phases_and_steps() {
    let requests = BTreeMap::from([("age".to_owned(), 2), ("start".to_owned(), 1)]);
    let stream = Sample::new(&[("steady", 2), ("other", 1)])
        .load("steady", 0, 3)
        .second("steady", 3, |second| {
            second.metadata_requests = Some(requests);
            second.counts.failed = 7;
            second.stalled_pairs = Some(4);
            second.stalled_max_ms = Some(1_500);
            second.in_flight = 9;
        })
        .at(10_000, Fact::PhaseStarted { phase: Phase::Steps })
        .step(1, "kill", "2", 10_000)
        .at(10_500, Fact::FactsLost { count: 3 });
    let samples = samples(&stream);
    let rows = [
        ("chaos_run_info{kafka=\"4.3.0\",plan=\"sample\",run_id=\"5f1c\",version=\"0.1.0\"}", 1.0),
        ("chaos_phase{phase=\"steps\"}", 1.0),
        ("chaos_phase{phase=\"steady\"}", 0.0),
        ("chaos_facts_lost_total", 3.0),
        ("chaos_records_due_total{group=\"steady\"}", 400.0),
        ("chaos_records_ok_total{group=\"steady\"}", 400.0),
        ("chaos_records_ok_total{group=\"other\"}", 0.0),
        ("chaos_records_failed_total{group=\"steady\"}", 7.0),
        ("chaos_records_in_flight{group=\"steady\"}", 9.0),
        ("chaos_stalled_pairs{group=\"steady\"}", 4.0),
        ("chaos_stalled_max_seconds{group=\"steady\"}", 1.5),
        ("chaos_metadata_requests_total{group=\"steady\",reason=\"age\"}", 2.0),
        ("chaos_steps_requested_total{action=\"kill\"}", 1.0),
        ("chaos_steps_finished_total{outcome=\"done\"}", 1.0),
        ("chaos_step_number", 1.0),
        ("chaos_step_requested_seconds", 10.0),
    ];
    for (series, value) in rows {
        assert_eq!(samples.get(series), Some(&value), "{series}");
    }
    let bucket = |le: &str| samples[&format!("chaos_response_seconds_bucket{{group=\"steady\",outcome=\"ok\",le=\"{le}\"}}")];
    assert_eq!((bucket("0.001"), bucket("0.0025"), bucket("+Inf")), (0.0, 99.0 * 4.0, 400.0));
}

#[test]
fn what_a_client_cannot_tell_has_no_sample() {
    let stream = Sample::new(&[("foreign", 1)]).second("foreign", 0, |second| {
        (second.stalled_pairs, second.stalled_max_ms, second.metadata_requests) = (None, None, None);
    });
    let samples = samples(&stream);
    let of = |name: &str| samples.keys().any(|series| series.starts_with(name));
    assert!(!of("chaos_stalled_pairs") && !of("chaos_stalled_max_seconds") && !of("chaos_metadata_requests_total"), "{samples:?}");
    assert!(of("chaos_records_ok_total{group=\"foreign\"}"));
}

#[test]
fn hostile_names_are_escaped() {
    let name = "a\"b\\c\nd}";
    let samples = samples(&Sample::new(&[(name, 1)]).load(name, 0, 1));
    assert_eq!(samples["chaos_records_ok_total{group=\"a\\\"b\\\\c\\nd}\"}"], 100.0);
}

#[test]
fn the_page_is_bounded_whatever_there_is() {
    let names: Vec<String> = (0..300).map(|group| format!("{group:0>200}")).collect();
    let groups: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let mut stream = Sample::new(&groups);
    for name in &names {
        stream = stream.second(name, 0, |second: &mut GroupSecond| {
            second.metadata_requests = Some((0..100).map(|reason| (format!("r{reason}"), 1)).collect());
        });
    }
    let page = page(&stream);
    assert_eq!(read(&page).unwrap()["chaos_groups_left_out"], 100.0);
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
}

#[test]
fn the_reader_sees_what_is_wrong() {
    let rows = [
        ("# HELP a_total x\n# TYPE a_total gauge\na_total 1\n", "the other kind's name"),
        ("# HELP a x\n# TYPE a gauge\nb 1\n", "outside its family"),
        ("# HELP a x\n# TYPE a gauge\na{b=\"x} 1\n", "without an end"),
        ("# HELP a x\n# TYPE a gauge\na 1\na 2\n", "twice"),
        ("# HELP a x\n# TYPE a gauge\na 1", "no end"),
        ("# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum 1\na_count 1\n", "the classes of"),
    ];
    for (page, expected) in rows {
        let why = read(page).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
}

/// Every family with its kind, as the page lists it.
#[test]
fn the_documentation_lists_every_family() {
    let document = include_str!("../../../docs/metrics.md");
    let requesters = vec![crate::record::fact::RequesterInfo { name: "storm".into(), requesters: 1, list: "all".into() }];
    let mut stream = Sample::new(&[("steady", 1)]).step(1, "kill", "2", 0).at(0, Fact::Generator(Box::default()));
    if let Some(Fact::RunStarted(run)) = stream.facts.first_mut().map(|stamped| &mut stamped.fact) {
        run.requesters = requesters;
    }
    let page = page(&stream) + &counter("chaos_metrics_refused_total", "x", 0);
    let families: BTreeSet<String> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).map(str::to_owned).collect();
    let listed: BTreeSet<String> = document
        .lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `chaos_")?.split(" | ");
            let name = cells.next()?.trim_end_matches('`');
            Some(format!("chaos_{name} {}", cells.next()?))
        })
        .collect();
    assert_eq!(listed, families);
}
