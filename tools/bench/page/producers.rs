//! The paired runs.

use std::fs;
use std::path::Path;

use kafka_chaos::digits::grouped;

use crate::bars;
use crate::page::bars::{Bar, Limit};
use crate::page::{Section, ranged, rows, table, three_digits};
use crate::paired::{FILE, Row, ratios};
use crate::stats::Spread;
use crate::subject::{Setting, Subject};

const PICTURE: &str = "producers.svg";
const OTHERS: [Subject; 2] = [Subject::Librdkafka, Subject::Java];
const MIB: f64 = 1_048_576.0;

/// A figure of a row.
type Figure = fn(&Row) -> Option<f64>;

const RATE: Figure = |row| Some(row.records_per_second);
const CPU: Figure = |row| row.cpu_seconds_per_million;
const FURTHER_CPU: Figure = |row| row.further_cpu_seconds_per_million;

/// The section, with its picture beside it.
pub(super) fn section(folder: &Path) -> anyhow::Result<Section> {
    let measured = rows::<Row>(folder, FILE)?.unwrap_or_default();
    let mut text = String::from("## One producer as fast as it goes\n\n");
    if measured.is_empty() {
        text.push_str("Not measured.\n\n");
        return Ok(Section { text, bars: bars(&measured) });
    }
    fs::write(folder.join(PICTURE), picture(&measured))?;
    let (records, rounds) = (grouped(measured[0].records), measured.iter().map(|row| row.round).max().unwrap_or(0));
    let short = measured[0].short_records.map_or_else(|| "unknown".to_owned(), grouped);
    text.push_str(&format!(
        "{records} records a run, {rounds} rounds, three brokers, 6 partitions, 3 replicas. CPU is the whole process's, and so Java's has the start \
         of the JVM and its compiler in it; *further* is what a run needs more than one of {short} records, by a record more: the start is not \
         in it, but a compiler that is still at work is. Java's latencies are its tool's: whole milliseconds, of a part of the records if there \
         are a million or more.\n\n![Records per second and CPU time of three \
         producers]({PICTURE})\n\n"
    ));
    for setting in [Setting::Same, Setting::Defaults] {
        text.push_str(&of_setting(&measured, setting));
    }
    Ok(Section { text, bars: bars(&measured) })
}

fn of_setting(measured: &[Row], setting: Setting) -> String {
    let figures: [(&str, Figure); 7] = [
        ("records/s", RATE),
        ("CPU s per million", CPU),
        ("per further million", FURTHER_CPU),
        ("peak memory MiB", |row| row.memory_bytes_max.map(|bytes| bytes as f64 / MIB)),
        ("threads", |row| row.threads.map(|threads| threads as f64)),
        ("latency p50 ms", |row| row.latency_p50_us.map(|us| us as f64 / 1e3)),
        ("latency p99 ms", |row| row.latency_p99_us.map(|us| us as f64 / 1e3)),
    ];
    let of_subject = |subject: Subject| {
        let version = measured.iter().find(|row| row.subject == subject.name()).map(|row| row.version.as_str());
        let mut cells = vec![format!("{} {}", subject.title(), version.unwrap_or("not measured"))];
        cells.extend(figures.iter().map(|(_, figure)| ranged(spread(measured, setting, subject, *figure), three_digits)));
        cells
    };
    let mut columns = vec![""];
    columns.extend(figures.iter().map(|(name, _)| *name));
    let mut text = format!("With {}:\n\n", with(setting));
    text.push_str(&table(&columns, &Subject::ALL.map(of_subject)));
    let of_other = |other: Subject| {
        let ratio = |figure| ranged(ratios(measured, setting, other, figure), three_digits);
        vec![format!("chaos / {}", other.title()), ratio(RATE), ratio(CPU), ratio(FURTHER_CPU)]
    };
    text.push_str(&table(&["ratio, round by round", "records/s", "CPU per record", "per further record"], &OTHERS.map(of_other)));
    text
}

/// The setting in words.
fn with(setting: Setting) -> String {
    let text =
        |properties: &[(&str, &str)]| properties.iter().map(|(name, value)| format!("`{name}={value}`")).collect::<Vec<_>>().join(", ");
    let shared = text(setting.shared_properties());
    if shared.is_empty() {
        return "each one's own defaults".to_owned();
    }
    let [ours, theirs] = [Subject::Native, Subject::Librdkafka].map(|subject| text(setting.own_properties(subject)));
    format!("{shared}; chaos and Java {ours}; librdkafka {theirs}")
}

fn spread(measured: &[Row], setting: Setting, subject: Subject, figure: Figure) -> Option<Spread> {
    Spread::of(measured.iter().filter(|row| row.setting == setting.name() && row.subject == subject.name()).filter_map(figure))
}

fn bars(measured: &[Row]) -> Vec<Bar> {
    let ratio = |other, figure: Figure| ratios(measured, Setting::Same, other, figure).map(|spread| spread.median);
    let bar = |what: &str, limit, measured| Bar { what: what.to_owned(), limit, unit: "x", measured };
    vec![
        bar("CPU per record, of librdkafka's", Limit::AtMost(0.7), ratio(Subject::Librdkafka, CPU)),
        bar("records/s, of librdkafka's", Limit::AtLeast(1.0), ratio(Subject::Librdkafka, RATE)),
        bar("CPU per record, of Java's", Limit::AtMost(0.1), ratio(Subject::Java, CPU)),
        bar("CPU per further record, of Java's", Limit::AtMost(0.1), ratio(Subject::Java, FURTHER_CPU)),
    ]
}

fn picture(measured: &[Row]) -> String {
    let panel = |setting: Setting, what: &str, figure: Figure| bars::Panel {
        title: format!("{what}, {}", if setting == Setting::Same { "same settings" } else { "own defaults" }),
        bars: Subject::ALL.iter().filter_map(|subject| bar(measured, setting, *subject, figure)).collect(),
        is_logarithmic: false,
    };
    let settings = [Setting::Same, Setting::Defaults];
    let panels: Vec<_> = settings
        .iter()
        .flat_map(|setting| [panel(*setting, "Records per second", RATE), panel(*setting, "CPU seconds per million records", CPU)])
        .filter(|panel| !panel.bars.is_empty())
        .collect();
    bars::draw("Records per second and CPU time of three producers", &panels)
}

fn bar(measured: &[Row], setting: Setting, subject: Subject, figure: Figure) -> Option<bars::Bar> {
    let spread = spread(measured, setting, subject, figure)?;
    let is_ours = subject == Subject::Native;
    Some(bars::Bar { label: subject.title().to_owned(), spread, text: three_digits(spread.median), is_ours })
}
