//! Who is measured, with which properties, and how its process is started.

use std::process::Stdio;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use tokio::process::Command;

use crate::cluster::BenchCluster;
use crate::java;
use crate::measured::Measured;

/// A client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Subject {
    /// This project's own producer.
    Native,
    /// The C client, through the `rdkafka` crate.
    Librdkafka,
    /// Kafka's own `kafka-producer-perf-test`.
    Java,
}

impl Subject {
    /// All, in the order of the page.
    pub(crate) const ALL: [Self; 3] = [Self::Native, Self::Librdkafka, Self::Java];

    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Librdkafka => "librdkafka",
            Self::Java => "java",
        }
    }

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Native => "chaos",
            Self::Librdkafka => "librdkafka",
            Self::Java => "Java",
        }
    }
}

/// With which properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Setting {
    /// The same for all: see [`Setting::properties`].
    Same,
    /// Each one's own defaults.
    Defaults,
}

impl Setting {
    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Defaults => "defaults",
        }
    }

    /// Properties of all three, by names that they share. The batch size is librdkafka's default.
    pub(crate) fn shared_properties(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Same => &[
                ("acks", "all"),
                ("linger.ms", "5"),
                ("batch.size", "1000000"),
                ("enable.idempotence", "false"),
                ("max.in.flight.requests.per.connection", "5"),
            ],
            Self::Defaults => &[],
        }
    }

    /// Properties that say the same in each one's own words: 64 MiB for records that wait, and the operating system's own socket buffers, which
    /// are librdkafka's default.
    pub(crate) fn own_properties(self, subject: Subject) -> &'static [(&'static str, &'static str)] {
        match (self, subject) {
            (Self::Same, Subject::Native | Subject::Java) => {
                &[("buffer.memory", "67108864"), ("send.buffer.bytes", "-1"), ("receive.buffer.bytes", "-1")]
            }
            (Self::Same, Subject::Librdkafka) => &[
                ("queue.buffering.max.kbytes", "65536"),
                ("queue.buffering.max.messages", "0"),
                ("socket.send.buffer.bytes", "0"),
                ("socket.receive.buffer.bytes", "0"),
            ],
            (Self::Defaults, _) => &[],
        }
    }

    /// All that a subject is given.
    pub(crate) fn properties(self, subject: Subject) -> impl Iterator<Item = String> {
        self.shared_properties().iter().chain(self.own_properties(subject)).map(|(name, value)| format!("{name}={value}"))
    }
}

/// One run to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    pub(crate) cluster: &'a BenchCluster,
    pub(crate) topic: &'a str,
    pub(crate) records: u64,
    pub(crate) record_bytes: u64,
    pub(crate) setting: Setting,
}

/// Runs a subject in a process of its own.
pub(crate) async fn measure(subject: Subject, job: Job<'_>) -> anyhow::Result<Measured> {
    let measured = match subject {
        Subject::Native | Subject::Librdkafka => run_myself(subject, job).await?,
        Subject::Java => java::run(job).await?,
    };
    let lost = job.records - measured.records.min(job.records);
    ensure!(lost == 0 && measured.failed == 0, "{}: {lost} of {} records were not acknowledged", subject.name(), job.records);
    Ok(measured)
}

async fn run_myself(subject: Subject, job: Job<'_>) -> anyhow::Result<Measured> {
    if subject == Subject::Librdkafka && !cfg!(feature = "librdkafka") {
        bail!("this program was built without librdkafka: build it with --features librdkafka");
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(subject.name()).args(["--bootstrap", &job.cluster.bootstrap(), "--topic", job.topic]);
    command.args(["--records", &job.records.to_string(), "--record-bytes", &job.record_bytes.to_string()]);
    for property in job.setting.properties(subject) {
        command.args(["--set", &property]);
    }
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true).output().await?;
    ensure!(output.status.success(), "{} ended with {}", subject.name(), output.status);
    serde_json::from_slice(&output.stdout).with_context(|| format!("{} did not print its figures", subject.name()))
}

#[cfg(test)]
mod tests {
    use kafka_chaos::kafka::core::config::ProducerConfig;

    use super::*;

    #[test]
    fn ours_takes_every_property_that_it_is_given() {
        for setting in [Setting::Same, Setting::Defaults] {
            let split = |text: String| text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            let properties = setting.properties(Subject::Native).filter_map(split).collect();
            ProducerConfig::from_properties(&properties).unwrap();
        }
    }
}
