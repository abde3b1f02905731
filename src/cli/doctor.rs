//! `chaos doctor`: what this machine lacks for real brokers, and the command that mends it. Changes nothing.
//!
//! Facts are gathered first; what to say of each is decided by pure functions below.

use std::io::Write;
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::Exit;
use super::cluster::KAFKA_DEFAULT;
use crate::cluster::daemon::Daemon;
use crate::cluster::inventory::RunObjects;
use crate::cluster::java_image::JavaImage;
use crate::cluster::{ClusterError, image, inventory, janitor, ports};
use crate::ui::colour::{Painter, Tone};

/// The engine's API of Docker 20.10, the oldest that was tried.
const API_OLDEST: (u32, u32) = (1, 41);
/// Ports that a large plan needs: seven nodes on the host's network.
const PORTS_WANTED: usize = 21;
/// Open files that a hundred producers need, each with connections to several brokers.
const OPEN_FILES_WANTED: u64 = 4096;
/// Memory of the usual cluster (three nodes of 768 MiB) and of `chaos` itself.
const MEMORY_WANTED: u64 = 3 * (768 << 20) + (256 << 20);

/// Arguments of `chaos doctor`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos doctor
  chaos doctor --kafka 3.9.2
  chaos doctor --json | jq '.checks[] | select(.ok | not)'

The exit code is 3 if something is missing.")]
pub(super) struct DoctorArgs {
    /// Kafka's version to look for
    #[arg(long, value_name = "VERSION", env = "CHAOS_KAFKA", default_value = KAFKA_DEFAULT, value_parser = super::kafka_version)]
    kafka: String,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
}

/// One thing that was looked at.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Check {
    /// What.
    name: &'static str,
    /// Whether it is as it must be.
    ok: bool,
    /// What was found.
    found: String,
    /// The command that mends it, or brings what some plans need; `None` where nothing is to be mended.
    mend: Option<String>,
}

impl Check {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, ok: true, found: found.into(), mend: None }
    }

    fn optional(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, ok: true, found: found.into(), mend: Some(mend.into()) }
    }

    fn bad(name: &'static str, found: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { name, ok: false, found: found.into(), mend: Some(mend.into()) }
    }
}

/// Runs the command: a success if all is well, else the environment's fault.
///
/// # Errors
/// What `out` says if it cannot be written to.
pub(super) async fn run(args: &DoctorArgs, out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    let checks = examine(&args.kafka).await;
    let all_well = checks.iter().all(|check| check.ok);
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&serde_json::json!({ "ok": all_well, "checks": checks }))?)?;
    } else {
        show(&checks, out, Painter { enabled: colour })?;
    }
    Ok(if all_well { Exit::Success } else { Exit::Environment })
}

fn show(checks: &[Check], out: &mut dyn Write, painter: Painter) -> std::io::Result<()> {
    for check in checks {
        let mark = if check.ok { painter.paint(Tone::Good, "ok     ") } else { painter.paint(Tone::Bad, "missing") };
        writeln!(out, "{mark} {:<12} {}", check.name, check.found)?;
        if let Some(mend) = &check.mend {
            writeln!(out, "{:21}{}", "", painter.paint(Tone::Warning, mend))?;
        }
    }
    Ok(())
}

async fn examine(kafka: &str) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut runs = Vec::new();
    match Daemon::connect().await {
        Err(error) => checks.push(engine_missing(&error)),
        Ok(daemon) => {
            checks.push(Check::good("engine", format!("{} at {}", daemon.version(), daemon.address())));
            checks.push(api(daemon.api_version()));
            checks.push(image(kafka, image::find(&daemon, kafka).await));
            checks.push(java(kafka, JavaImage::find(&daemon, kafka).await));
            checks.extend(daemon.memory_bytes().await.ok().flatten().map(|total| memory(total, memory_available(&daemon))));
            match inventory::all(&daemon).await {
                Ok(found) => runs = found.into_values().collect(),
                Err(error) => checks.push(Check::bad("clusters", error.to_string(), "docker ps")),
            }
            checks.extend(leftovers(&runs));
        }
    }
    let range = ports::usable_range();
    let taken = runs.iter().flat_map(RunObjects::ports).collect();
    checks.push(match ports::choose(PORTS_WANTED, &range, &taken, "doctor", ports::is_free) {
        Ok(_) => Check::good("ports", format!("{PORTS_WANTED} and more are free between {} and {}", range.start(), range.end())),
        Err(error) => Check::bad("ports", first_line(&error), "chaos clean"),
    });
    checks.push(open_files(&std::fs::read_to_string("/proc/self/limits").unwrap_or_default()));
    checks
}

fn first_line(error: &ClusterError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn engine_missing(error: &ClusterError) -> Check {
    let has_client =
        |name: &str| std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(name).exists()));
    let mend = engine_mend(&error.to_string(), has_client("docker") || has_client("dockerd"), Path::new("/etc/debian_version").exists());
    Check::bad("engine", first_line(error), mend)
}

/// What brings an engine: permission, a start, or an installation.
fn engine_mend(error: &str, is_installed: bool, is_debian: bool) -> &'static str {
    if error.to_lowercase().contains("permission denied") {
        "sudo usermod -aG docker $USER     (then log in again)"
    } else if is_installed {
        "sudo systemctl start docker     (or: sudo service docker start)"
    } else if is_debian {
        "sudo apt-get install docker.io"
    } else {
        "install Docker 20.10 or later, or let DOCKER_HOST name an engine"
    }
}

fn api(version: &str) -> Check {
    let number = version.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = API_OLDEST;
    match number {
        Some(number) if number >= API_OLDEST => Check::good("engine API", version),
        _ => Check::bad("engine API", format!("{version}; {major}.{minor} is the oldest that was tried"), "install Docker 20.10 or later"),
    }
}

fn image(kafka: &str, found: Result<Option<String>, ClusterError>) -> Check {
    let [official, _] = image::candidates(kafka);
    match found {
        Ok(Some(image)) => Check::good("image", image),
        Ok(None) => Check::bad(
            "image",
            format!("none of Kafka {kafka}"),
            format!("make image KAFKA={kafka}     (or, where the engine reaches a registry: docker pull {official})"),
        ),
        Err(error) => Check::bad("image", first_line(&error), "docker images"),
    }
}

/// The program of the java engine. Only plans that ask for it need it, so that without it nothing is missing.
fn java(kafka: &str, found: Result<JavaImage, ClusterError>) -> Check {
    let mend = format!("{}     (only plans with engine = \"java\" need it)", JavaImage::mend(kafka));
    match found {
        Ok(JavaImage::Ready(image)) => Check::good("java engine", image),
        Ok(JavaImage::Stale(image)) => Check::optional("java engine", format!("{image} is from other sources than this chaos"), mend),
        Ok(JavaImage::Missing(image)) => Check::optional("java engine", format!("no {image}"), mend),
        Err(error) => Check::bad("java engine", first_line(&error), "docker images"),
    }
}

/// Free memory of this machine, if it is where the engine runs; `None`: it cannot be told.
fn memory_available(daemon: &Daemon) -> Option<u64> {
    if !daemon.address().starts_with("unix://") {
        return None;
    }
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
}

fn memory(total: u64, available: Option<u64>) -> Check {
    let mib = |bytes: u64| bytes >> 20;
    let found = match available {
        Some(available) => format!("{} MiB free of {} MiB; three nodes need {} MiB", mib(available), mib(total), mib(MEMORY_WANTED)),
        None => format!("{} MiB; three nodes need {} MiB", mib(total), mib(MEMORY_WANTED)),
    };
    if available.unwrap_or(total) >= MEMORY_WANTED {
        Check::good("memory", found)
    } else {
        Check::bad("memory", found, "chaos clean --all     (or stop other programs, or set `memory` and `nodes` of the plan lower)")
    }
}

fn leftovers(runs: &[RunObjects]) -> Option<Check> {
    let count = runs.iter().filter(|run| janitor::fate_of(run).is_swept(false)).count();
    (count > 0).then(|| Check::bad("clusters", format!("{count} left over from runs that died"), "chaos clean"))
}

/// Judges the limit from `/proc/self/limits`: the hard one, for this process raises its own up to that.
fn open_files(limits: &str) -> Check {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let hard = line.unwrap_or_default().split_ascii_whitespace().nth(1);
    let is_enough = hard.is_none_or(|text| text == "unlimited" || text.parse().is_ok_and(|n: u64| n >= OPEN_FILES_WANTED));
    let found = hard.unwrap_or("unknown");
    if is_enough {
        return Check::good("open files", found);
    }
    let mend = format!("sudo prlimit --pid $$ --nofile={OPEN_FILES_WANTED}     (ulimit -n cannot go above the hard limit)");
    Check::bad("open files", format!("{found}; {OPEN_FILES_WANTED} are wanted"), mend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_mended_by_what_is_wrong_with_it() {
        let cases = [
            ("Permission denied (os error 13)", true, true, "sudo usermod -aG docker $USER     (then log in again)"),
            ("Socket not found", true, true, "sudo systemctl start docker     (or: sudo service docker start)"),
            ("Socket not found", false, true, "sudo apt-get install docker.io"),
            ("Socket not found", false, false, "install Docker 20.10 or later, or let DOCKER_HOST name an engine"),
        ];
        for (error, is_installed, is_debian, expected) in cases {
            assert_eq!(engine_mend(error, is_installed, is_debian), expected);
        }
    }

    #[test]
    fn api_versions_are_compared_as_numbers() {
        for (version, ok) in [("1.41", true), ("1.40", false), ("1.9", false), ("1.100", true), ("2.0", true), ("", false)] {
            assert_eq!(api(version).ok, ok, "{version}");
        }
    }

    #[test]
    fn a_missing_image_names_the_command_that_builds_it() {
        assert!(image("4.3.0", Ok(Some("chaos-kafka:4.3.0".into()))).ok);
        let check = image("4.3.0", Ok(None));
        assert!(!check.ok && check.mend.unwrap().starts_with("make image KAFKA=4.3.0"));
    }

    #[test]
    fn a_stale_java_program_is_told_from_a_missing_one() {
        let image = || "chaos-java-client:4.3.0".to_owned();
        assert!(java("4.3.0", Ok(JavaImage::Ready(image()))).ok);
        for (found, said) in
            [(JavaImage::Stale(image()), "from other sources"), (JavaImage::Missing(image()), "no chaos-java-client:4.3.0")]
        {
            let check = java("4.3.0", Ok(found));
            assert!(check.ok && check.found.contains(said) && check.mend.unwrap().starts_with("make java KAFKA=4.3.0"));
        }
    }

    #[test]
    fn the_hard_limit_of_open_files_counts() {
        let limits = |soft: &str, hard: &str| {
            format!("Max cpu time  unlimited unlimited seconds\nMax open files            {soft}  {hard}  files\n")
        };
        assert!(open_files(&limits("20000", "20000")).ok);
        assert!(open_files(&limits("unlimited", "unlimited")).ok);
        assert!(open_files(&limits("1024", "1048576")).ok);
        assert!(open_files(&limits("1024", "1024")).mend.unwrap().starts_with("sudo prlimit"));
        assert!(open_files("").ok, "a system that does not say is not blamed");
    }

    #[test]
    fn memory_is_what_is_free_where_that_is_known() {
        assert!(memory(8 << 30, None).ok);
        assert!(memory(8 << 30, Some(4 << 30)).ok);
        assert!(!memory(8 << 30, Some(1 << 30)).ok);
        assert!(!memory(1 << 30, None).ok);
    }
}
