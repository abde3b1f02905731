//! Many producers in one process.

use std::path::Path;

use crate::about::About;
use crate::many::{FILE, Row};
use crate::page::bars::{Bar, Limit};
use crate::page::{Section, rows, table, three_digits};

/// The number of producers that the bars are set for.
const PRODUCERS: u32 = 4_000;
/// Threads beside one per core.
const THREADS_BESIDE_CORES: f64 = 4.0;
const KIB: f64 = 1_024.0;

/// The section.
pub(super) fn section(folder: &Path, about: &About) -> anyhow::Result<Section> {
    let measured = rows::<Row>(folder, FILE)?.unwrap_or_default();
    let mut text = String::from("## Many producers in one process, one record a second each\n\n");
    if measured.is_empty() {
        text.push_str("Not measured.\n\n");
    } else {
        let columns = [
            "",
            "producers",
            "KiB each",
            "peak memory MiB",
            "threads",
            "CPU % of a core",
            "late by p50 ms",
            "late by p99 ms",
            "records lost",
        ];
        text.push_str(&table(&columns, &measured.iter().map(cells).collect::<Vec<_>>()));
        text.push_str(
            "KiB each: resident memory above the run with one producer (of its own engine, or else of ours), by each producer more.\n\n",
        );
    }
    let of_ours =
        |figure: fn(&Row) -> Option<f64>| measured.iter().find(|row| row.engine == "native" && row.producers == PRODUCERS).and_then(figure);
    let bar =
        |what: &str, limit, unit, measured| Bar { what: format!("4,000 producers: {what}"), limit: Limit::AtMost(limit), unit, measured };
    let bars = vec![
        bar("memory each", 60.0, " KiB", of_ours(|row| row.memory_bytes_per_producer.map(|bytes| bytes / KIB))),
        bar("threads", about.cores as f64 + THREADS_BESIDE_CORES, "", of_ours(|row| row.threads_max.map(|threads| threads as f64))),
        bar("late by p99", 20.0, " ms", of_ours(|row| row.lateness_p99_us.map(|us| us as f64 / 1e3))),
    ];
    Ok(Section { text, bars })
}

fn cells(row: &Row) -> Vec<String> {
    let text = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), three_digits);
    let of = |count: Option<u64>, unit: f64| text(count.map(|count| count as f64 / unit));
    vec![
        row.engine.clone(),
        three_digits(f64::from(row.producers)),
        row.memory_bytes_per_producer.map_or_else(|| "-".to_owned(), |bytes| three_digits(bytes / KIB)),
        of(row.memory_bytes_max, KIB * KIB),
        row.threads_max.map_or_else(|| "unknown".to_owned(), |threads| threads.to_string()),
        text(row.cpu_percent),
        of(row.lateness_p50_us, 1e3),
        of(row.lateness_p99_us, 1e3),
        row.records_not_ok.map_or_else(|| "unknown".to_owned(), |records| records.to_string()),
    ]
}
