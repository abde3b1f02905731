//! `latency.hlog`: an HDR interval log, readable by the standard HDR tools.
//!
//! A histogram inside a fact is already in the log's own form, so a line is a copy of it. Times count from the log's base time, which is
//! the start of the load rounded down to a second of the run: the format has no negative times. Values are microseconds.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use jiff::Timestamp;

use crate::record::error::{RecordError, Result};
use crate::record::fact::{GroupSecond, RunStarted};
use crate::record::histogram::LatencyHistogram;

const SECOND_US: i64 = 1_000_000;

const HEADER: &str = "#[Histogram log format version 1.3]\n#Values are microseconds; Interval_Max is milliseconds.\n";
const LEGEND: &str = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// One line of the log.
#[derive(Debug)]
pub struct Interval<'a> {
    /// Whose series, with `/` between its parts.
    pub tag: &'a str,
    /// When it began, in seconds since the start of `steady`.
    pub start_s: f64,
    /// How long it was.
    pub length_s: f64,
    /// Its values.
    pub histogram: &'a LatencyHistogram,
}

/// The log, open for appending.
#[derive(Debug)]
pub struct IntervalLog {
    path: PathBuf,
    writer: BufWriter<File>,
    /// From the base time to the start of `steady`.
    base_s: f64,
    begun: bool,
}

impl IntervalLog {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        let mut log = Self { path, writer: BufWriter::new(file), base_s: 0.0, begun: false };
        log.put(HEADER)?;
        log.flush()?;
        Ok(log)
    }

    /// Writes the times that all others count from; the run's first fact brings them.
    pub(super) fn begin(&mut self, run: &RunStarted) -> Result<()> {
        let base_us = -(-run.phases_us[0].max(0)).div_euclid(SECOND_US) * SECOND_US;
        self.base_s = seconds(base_us);
        if let Ok(steady_at) = run.steady_at.parse::<Timestamp>() {
            let base = seconds(steady_at.as_microsecond() - base_us);
            self.put(&format!("#[BaseTime: {base:.3} (seconds since epoch)]\n#[StartTime: {base:.3} (seconds since epoch)]\n"))?;
        }
        self.legend()
    }

    pub(super) fn write_second(&mut self, second: &GroupSecond) -> Result<()> {
        for (name, text) in &second.histograms {
            let max_us = match second.histogram_max_us.get(name) {
                Some(max_us) => *max_us,
                None => decode(second, name)?.max_us(),
            };
            let tag = format!("{}/{name}", second.group);
            self.line(&tag, seconds(second.second * SECOND_US), 1.0, max_us, text)?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, interval: &Interval<'_>) -> Result<()> {
        let text =
            interval.histogram.encode().map_err(|source| RecordError::Histogram { group: interval.tag.to_owned(), second: 0, source })?;
        self.line(interval.tag, interval.start_s, interval.length_s, interval.histogram.max_us(), &text)
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(RecordError::io("write", &self.path))
    }

    fn legend(&mut self) -> Result<()> {
        self.begun = true;
        self.put(LEGEND)
    }

    fn line(&mut self, tag: &str, start_s: f64, length_s: f64, max_us: u64, text: &str) -> Result<()> {
        if !self.begun {
            self.legend()?;
        }
        let start_s = (start_s + self.base_s).max(0.0);
        let max_ms = std::time::Duration::from_micros(max_us).as_secs_f64() * 1000.0;
        self.put(&format!("Tag={},{start_s:.3},{length_s:.3},{max_ms:.3},{text}\n", tag_text(tag)))
    }

    fn put(&mut self, text: &str) -> Result<()> {
        self.writer.write_all(text.as_bytes()).map_err(RecordError::io("write", &self.path))
    }
}

fn decode(second: &GroupSecond, name: &str) -> Result<LatencyHistogram> {
    let histogram =
        second.histogram(name).map_err(|source| RecordError::Histogram { group: second.group.clone(), second: second.second, source })?;
    Ok(histogram.unwrap_or_default())
}

#[allow(clippy::cast_precision_loss, reason = "microseconds since 1970 fit in f64's 53 bits until the year 2255")]
fn seconds(time_us: i64) -> f64 {
    time_us as f64 / SECOND_US as f64
}

/// The format ends a tag at a comma or white space.
fn tag_text(tag: &str) -> String {
    tag.chars().map(|c| if c == ',' || c.is_whitespace() { '_' } else { c }).collect()
}
