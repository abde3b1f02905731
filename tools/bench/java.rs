//! Kafka's own `ProducerPerformance` in a container on the host's network, with the heap and the collector that `kafka-producer-perf-test.sh` of
//! Kafka's distribution gives it.
//!
//! CPU time is what the container's shell accounts for its ended children (JVM start and compilation are in it, as start and end are in the other
//! subjects' figures; so is looking at the JVM's memory five times a second, some ms each second).
//!
//! The record comes from a file of one line, because for `--record-size` the tool draws a random number per byte, and that CPU time is not the
//! client's. It is the text up to a line's end, as UTF-8: in ASCII, a byte per character. The tool keeps latencies in whole milliseconds, of
//! every record up to 999,999, of more only every so many-th, so that half a million to a million are kept; it does not say how many.

use std::process::Stdio;

use anyhow::{Context, ensure};
use tokio::process::Command;

use crate::measured::{Latency, Measured};
use crate::subject::{Job, Subject};

const HEAP: &str = "-Xmx512M";
const COLLECTOR: &str = "-server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent -Djava.awt.headless=true";

/// Where the container has the record.
const RECORD_FILE: &str = "/tmp/record";

/// Writes a record of `$1` bytes to `$2`; the other words are left, for the tool.
const WRITE_RECORD: &str = r#"
printf "%0${1}d" 0 >"$2" || exit
shift 2
"#;

/// Prints what the tool prints, then `peak KIB`, `threads N` and the two lines of `times`.
const RUN_TOOL: &str = r#"
/opt/kafka/bin/kafka-run-class.sh org.apache.kafka.tools.ProducerPerformance "$@" &
java=$!
peak=
threads=
while kill -0 $java 2>/dev/null; do
  while read -r name value _; do
    case $name in
      VmHWM:) peak=$value ;;
      Threads:) [ "$value" -le "${threads:-0}" ] || threads=$value ;;
    esac
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
    command.args(["--entrypoint", "sh", job.cluster.image(), "-c", &format!("{WRITE_RECORD}{RUN_TOOL}"), "sh"]);
    command.args([&job.record_bytes.to_string(), RECORD_FILE]);
    command.args(["--topic", job.topic, "--num-records", &job.records.to_string()]);
    command.args(["--payload-file", RECORD_FILE, "--throughput", "-1", "--producer-props"]);
    command.arg(format!("bootstrap.servers={}", job.cluster.bootstrap()));
    command.args(job.setting.properties(Subject::Java));
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
            count: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
123456 records sent, 24691.2 records/sec (2.35 MB/sec), 812.1 ms avg latency, 1412.0 ms max latency.
200000 records sent, 57126.535276 records/sec (5.45 MB/sec), 150.25 ms avg latency, 845.00 ms max latency, 122 ms 50th, 300 ms 95th, 325 ms 99th, 330 ms 99.9th.
peak 187532
threads 21
0m0.02s 0m0.01s
1m3.120s 0m0.340s
";

    #[test]
    fn the_record_is_one_line_of_so_many_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("record");
        for bytes in [8_usize, 100, 10_000] {
            let script = format!("{WRITE_RECORD}printf %s \"$*\"");
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &script, "sh", &bytes.to_string()]).arg(&file).args(["--topic", "t"]);
            assert_eq!(String::from_utf8(command.output().unwrap().stdout).unwrap(), "--topic t");
            assert_eq!(std::fs::read(&file).unwrap(), vec![b'0'; bytes]);
        }
    }

    #[test]
    fn figures_are_found_in_the_summary_and_the_shells_account() {
        let measured = read(OUTPUT, "4.3.0").unwrap();
        assert_eq!((measured.records, measured.memory_bytes_max, measured.threads), (200_000, Some(187_532 * 1_024), Some(21)));
        assert!((measured.seconds - 200_000.0 / 57_126.535_276).abs() < 1e-6);
        assert!((measured.cpu_seconds.unwrap() - 63.46).abs() < 1e-9);
        assert_eq!(measured.latency_us, Some(Latency { count: None, p50: 122_000, p99: 325_000, max: 845_000 }));
    }

    #[test]
    fn what_is_missing_is_unknown_and_a_missing_summary_an_error() {
        let without_account: String = OUTPUT.lines().take(2).map(|line| format!("{line}\n")).collect();
        let measured = read(&without_account, "4.3.0").unwrap();
        assert_eq!((measured.memory_bytes_max, measured.threads, measured.cpu_seconds), (None, None, None));
        assert_eq!(read("org.apache.kafka.common.errors.TimeoutException\n0m0.1s 0m0.1s\n", "4.3.0"), None);
    }
}
