//! Kafka's own `ProducerPerformance` in a container on the host's network, with the heap and the collector that `kafka-producer-perf-test.sh` of
//! Kafka's distribution gives it.
//!
//! CPU time is what the container's shell accounts for its ended children (JVM start and compilation are in it, as start and end are in the other
//! subjects' figures; so is looking at the JVM's memory five times a second, some ms each second).

use std::process::Stdio;

use anyhow::{Context, ensure};
use tokio::process::Command;

use crate::measured::{Latency, Measured};
use crate::subject::Job;

const HEAP: &str = "-Xmx512M";
const COLLECTOR: &str = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true";

/// Prints what the tool prints, then `peak KIB` and the two lines of `times`.
const SCRIPT: &str = r#"
/opt/kafka/bin/kafka-run-class.sh org.apache.kafka.tools.ProducerPerformance "$@" &
java=$!
peak=
threads=
while kill -0 $java 2>/dev/null; do
  while read -r name value _; do
    case $name in VmHWM:) peak=$value ;; Threads:) threads=$value ;; esac
  done 2>/dev/null </proc/$java/status
  sleep 0.2
done
wait $java || exit $?
echo "peak $peak"
echo "threads $threads"
times
"#;

/// Runs it.
pub(crate) async fn run(job: Job<'_>) -> anyhow::Result<Measured> {
    let label = format!("io.kafka-chaos.run={}", job.cluster.run_id());
    let mut command = Command::new("docker");
    command.args(["run", "--rm", "--network", "host", "--label", &label]);
    command.args(["-e", &format!("KAFKA_HEAP_OPTS={HEAP}"), "-e", &format!("KAFKA_JVM_PERFORMANCE_OPTS={COLLECTOR}")]);
    command.args(["--entrypoint", "sh", job.cluster.image(), "-c", SCRIPT, "sh"]);
    command.args(["--topic", job.topic, "--num-records", &job.records.to_string()]);
    command.args(["--record-size", &job.record_bytes.to_string(), "--throughput", "-1", "--producer-props"]);
    command.arg(format!("bootstrap.servers={}", job.cluster.bootstrap()));
    command.args(job.setting.properties().iter().map(|(name, value)| format!("{name}={value}")));
    let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).output().await.context("docker does not start")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "ProducerPerformance ended with {}:\n{text}{errors}", output.status);
    let version = job.cluster.image().rsplit_once(':').map_or("unknown", |(_, version)| version);
    read(&text, version).with_context(|| format!("the output of ProducerPerformance is not understood:\n{text}"))
}

/// The figures in the output.
fn read(text: &str, version: &str) -> Option<Measured> {
    let summary = text.lines().rfind(|line| line.contains("ms 99th"))?;
    let before = |unit: &str| -> Option<f64> {
        let (head, _) = summary.split_once(unit)?;
        head.trim_end().rsplit([' ', ',', '(']).next()?.parse().ok()
    };
    let records = before("records sent")?;
    let rate = before("records/sec")?;
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse::<u64>().ok();
    let us = |ms: f64| (ms * 1e3) as u64;
    Some(Measured {
        subject: "java".to_owned(),
        version: version.to_owned(),
        records: records as u64,
        failed: 0,
        seconds: records / rate,
        cpu_seconds: text.lines().last().and_then(cpu_seconds),
        memory_bytes_max: number("peak ").map(|kib| kib * 1_024),
        threads: number("threads "),
        latency_us: Some(Latency {
            count: records as u64,
            p50: us(before("ms 50th")?),
            p99: us(before("ms 99th")?),
            max: us(before("ms max latency")?),
        }),
    })
}

/// User and system time in a line of `times`, such as `0m5.120s 0m0.340s`.
fn cpu_seconds(line: &str) -> Option<f64> {
    let seconds = |text: &str| {
        let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let (user, system) = line.trim().split_once(' ')?;
    Some(seconds(user)? + seconds(system)?)
}
