//! Where and of what figures were taken: written when the measurements begin, read when the page is made.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kafka_chaos::clock::Clock;
use serde::{Deserialize, Serialize};

use crate::source;

const FILE: &str = "about.json";

/// The circumstances. Empty texts would be lies, so what cannot be found out is `unknown`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct About {
    /// The command that takes all figures.
    pub(crate) command: String,
    /// When it began.
    pub(crate) began_at: String,
    /// Of the sources; with `+` if they had changes that are not committed.
    pub(crate) commit: String,
    /// Compiler.
    pub(crate) rustc: String,
    /// Kernel.
    pub(crate) kernel: String,
    /// Processor.
    pub(crate) processor: String,
    /// Its cores.
    pub(crate) cores: usize,
    /// Memory, in bytes.
    pub(crate) memory_bytes: Option<u64>,
}

impl About {
    /// Here and now.
    pub(crate) fn now(command: &str) -> anyhow::Result<Self> {
        let clock = Clock::real();
        let began_at = jiff::Timestamp::try_from(clock.wall_time_of(clock.now()))?;
        let unknown = || "unknown".to_owned();
        Ok(Self {
            command: command.to_owned(),
            began_at: format!("{began_at:.0}"),
            commit: source::commit().unwrap_or_else(unknown),
            rustc: source::said("rustc", &["--version"]).unwrap_or_else(unknown),
            kernel: read("/proc/sys/kernel/osrelease").map_or_else(unknown, |text| format!("Linux {}", text.trim())),
            processor: field("/proc/cpuinfo", "model name").unwrap_or_else(unknown),
            cores: std::thread::available_parallelism()?.get(),
            memory_bytes: field("/proc/meminfo", "MemTotal").and_then(|text| Some(text.split(' ').next()?.parse::<u64>().ok()? * 1_024)),
        })
    }

    /// Writes it into a folder of results.
    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        Ok(fs::write(folder.join(FILE), serde_json::to_string_pretty(self)? + "\n")?)
    }

    /// Reads it from there.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}: run `bench about` before measuring", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The first `NAME : value` of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = read(path)?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
