//! `chaos trace`: which layer of a live cluster is stuck, once or watched.
//!
//! Asks through `probe::trace` and prints: a page ([`page`]), JSON, or a line per change. Not here: what the answers mean.

mod page;

use std::io::{Stdout, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use tokio::io::Interest;
use tokio::net::unix::pipe;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::{Exit, Output, command_config};
use crate::clock::{Clock, Moment};
use crate::ids::{HostPort, PartitionIndex, TopicName};
use crate::probe::trace::{Change, Diagnosis, Outcome, Picture, Scope, Sighting, Subject, Tracer, changes, diagnose};
use crate::ui::colour::{Painter, Tone};

/// Names that are looked up at the same time: each holds a thread, also while a name server is silent.
pub(super) const LOOKUPS_MAX: usize = 32;

/// All that one answer may take, printing aside.
const WHOLE: Duration = Duration::from_millis(4_400);
/// A first look that took no longer leaves time for a second.
const FIRST_LOOK_MAX: Duration = Duration::from_secs(1);
/// When the second one begins, since the first began: by then a change that was just passing is over, and a node that was alive a moment ago
/// has fetched again or has not for too long.
const SECOND_LOOK_AT: Duration = Duration::from_secs(2);
/// Shortest time between two rounds of a watch.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// What a round of a watch may take: shorter, so that the silence of one node hides little of the others.
const WATCH_ROUND: Duration = Duration::from_millis(2_500);

/// Arguments of `chaos trace`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos trace --bootstrap 10.0.0.1:9092,10.0.0.2:9092
  chaos trace --bootstrap 10.0.0.1:9092 --topic orders --partition 3
  chaos trace --bootstrap 10.0.0.1:9092 --controller 10.0.0.11:9093,10.0.0.12:9093,10.0.0.13:9093
  chaos trace --bootstrap 10.0.0.1:9093 --command-config client.properties
  chaos trace --bootstrap 10.0.0.1:9092 --watch
  chaos trace --bootstrap 10.0.0.1:9092 --json | jq -r .sentence

It only asks; it changes nothing. It answers within 5 seconds, whoever is silent. Listeners with TLS or SASL
are spoken to as --command-config says.
Exit codes: 0 nothing is wrong, 1 something is stuck or differs, 2 bad arguments, 3 no broker could be asked, 4 too much is unknown to say,
130 a watch was ended.")]
pub(super) struct TraceArgs {
    /// Brokers to begin with; those that they name are asked, too
    #[arg(long, required = true, value_name = "HOST:PORT", value_delimiter = ',', value_parser = super::host_port)]
    bootstrap: Vec<HostPort>,
    /// Controllers' own listeners, asked besides
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', value_parser = super::host_port)]
    controller: Vec<HostPort>,
    /// How listeners are secured: a file with the properties that Kafka's own tools take; stores are PEM
    #[arg(long, value_name = "FILE")]
    command_config: Option<PathBuf>,
    /// Only this topic, all of its partitions [default: all topics, what differs or is unhealthy]
    #[arg(long)]
    topic: Option<String>,
    /// Only this partition of it
    #[arg(long, value_name = "N", requires = "topic", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,
    /// Look again and again, and print what changes, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// As JSON; with --watch one object per line
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// What `out` says if it cannot be written to.
pub(super) async fn run(args: TraceArgs, out: &mut Output<Stdout>, colour: bool) -> anyhow::Result<Exit> {
    let clock = Clock::real();
    let scope = Scope { topic: args.topic.as_deref().map(TopicName::from), partition: args.partition.map(PartitionIndex) };
    let security = args.command_config.as_deref().map(command_config::read).transpose()?.unwrap_or_default();
    let mut tracer = Tracer::new(args.bootstrap, args.controller, scope, security, clock.clone());
    let view = Shown { as_json: args.json, painter: Painter { enabled: colour } };
    if args.watch {
        return watch(&mut tracer, &clock, view).await;
    }
    let (sighting, diagnosis) = look(&mut tracer, &clock).await;
    let picture = Picture::of(&sighting, &diagnosis);
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&picture)?)?,
        false => write!(out, "{}", page::render(&picture, colour))?,
    }
    Ok(exit_of(diagnosis.outcome))
}

fn exit_of(outcome: Outcome) -> Exit {
    match outcome {
        Outcome::Healthy => Exit::Success,
        Outcome::Stuck => Exit::Failed,
        Outcome::Unreachable => Exit::Environment,
        Outcome::Unknown => Exit::Unknown,
    }
}

/// One look; a second one where the first saw what a passing change looks like, if there is time.
async fn look(tracer: &mut Tracer, clock: &Clock) -> (Sighting, Diagnosis) {
    let began = clock.now();
    let first = tracer.look(WHOLE).await;
    let diagnosis = diagnose(&first);
    if !diagnosis.may_pass() || first.took > FIRST_LOOK_MAX {
        return (first, diagnosis);
    }
    pause(clock, began + SECOND_LOOK_AT).await;
    let left = WHOLE.saturating_sub(clock.now().since(began));
    let second = tracer.look(left).await;
    let diagnosis = diagnose(&second);
    (second, diagnosis)
}

/// How it is printed.
#[derive(Clone, Copy, Debug)]
struct Shown {
    as_json: bool,
    painter: Painter,
}

/// A line of a watch as JSON.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Line<'a> {
    Picture(&'a Picture),
    Change {
        time_ms: u64,
        #[serde(flatten)]
        change: &'a Change,
    },
}

/// Looks until Ctrl-C, or until nobody reads any more.
async fn watch(tracer: &mut Tracer, clock: &Clock, shown: Shown) -> anyhow::Result<Exit> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut out = Output::stdout();
    let reader = reader();
    let mut before: Option<(Sighting, Diagnosis)> = None;
    loop {
        let began = clock.now();
        let sighting = tokio::select! {
            sighting = tracer.look(WATCH_ROUND) => sighting,
            () = ended(&mut interrupt, &mut terminate) => return Ok(Exit::Interrupted),
        };
        let diagnosis = diagnose(&sighting);
        let mut text = Vec::new();
        match &before {
            None => shown.first(&Picture::of(&sighting, &diagnosis), &mut text)?,
            Some((was, was_diagnosed)) => {
                let changed = changes((was, was_diagnosed), (&sighting, &diagnosis));
                shown.changed(&changed, &sighting, &diagnosis, &mut text)?;
            }
        }
        out = tokio::select! {
            written = write(out, text) => written?,
            () = ended(&mut interrupt, &mut terminate) => return Ok(Exit::Interrupted),
        };
        if out.is_closed() {
            return Ok(Exit::Success);
        }
        before = Some((sighting, diagnosis));
        tokio::select! {
            () = pause(clock, began + WATCH_EVERY) => {}
            () = ended(&mut interrupt, &mut terminate) => return Ok(Exit::Interrupted),
            () = nobody_reads(reader.as_ref()) => return Ok(Exit::Success),
        }
    }
}

/// Writes on a thread of its own, and gives the output back: a reader that stands still holds the write up, and must not hold up a signal. The
/// program ends without waiting for that thread.
async fn write(mut out: Output<Stdout>, text: Vec<u8>) -> anyhow::Result<Output<Stdout>> {
    if text.is_empty() {
        return Ok(out);
    }
    let (tell, told) = oneshot::channel();
    let work = move || {
        let outcome = out.write_all(&text).and_then(|()| out.flush());
        // Nobody waits for it any more: the watch has been ended.
        let _ = tell.send(outcome.map(|()| out));
    };
    std::thread::Builder::new().name("chaos-print".to_owned()).spawn(work)?;
    Ok(told.await??)
}

async fn pause(clock: &Clock, until: Moment) {
    tokio::time::sleep_until(clock.instant_of(until)).await;
}

/// Standard output as something that can be closed from the other end: a pipe or a socket, but no file. It is only waited for.
fn reader() -> Option<pipe::Sender> {
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().ok()?;
    pipe::Sender::from_owned_fd_unchecked(stdout).ok()
}

/// Waits until the other end is closed: where nothing changes nothing is written, so that no write would ever fail.
async fn nobody_reads(reader: Option<&pipe::Sender>) {
    match reader {
        Some(reader) if reader.ready(Interest::ERROR).await.is_ok_and(tokio::io::Ready::is_error) => {}
        _ => std::future::pending().await,
    }
}

async fn ended(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

impl Shown {
    fn first(self, picture: &Picture, out: &mut impl Write) -> anyhow::Result<()> {
        match self.as_json {
            true => writeln!(out, "{}", serde_json::to_string(&Line::Picture(picture))?)?,
            false => writeln!(out, "{}\nWatching; Ctrl-C ends it.", page::render(picture, self.painter.enabled))?,
        }
        Ok(())
    }

    /// A line per change; as JSON the whole picture again where it has another meaning now.
    fn changed(self, changed: &[Change], sighting: &Sighting, diagnosis: &Diagnosis, out: &mut impl Write) -> anyhow::Result<()> {
        let wall_time = jiff::Timestamp::try_from(std::time::UNIX_EPOCH + sighting.ended_at).unwrap_or_default();
        let stamp = self.painter.paint(Tone::Faint, &wall_time.strftime("%H:%M:%S%.3f").to_string());
        for change in changed {
            if self.as_json {
                let time_ms = u64::try_from(sighting.ended_at.as_millis()).unwrap_or(u64::MAX);
                writeln!(out, "{}", serde_json::to_string(&Line::Change { time_ms, change })?)?;
            } else {
                let tone = match (change.about, diagnosis.outcome) {
                    (Subject::Diagnosis, Outcome::Healthy) => Tone::Good,
                    (Subject::Diagnosis, _) => Tone::Bad,
                    _ => Tone::Plain,
                };
                writeln!(out, "{stamp}  {}", self.painter.paint(tone, &change.line()))?;
            }
        }
        if self.as_json && changed.iter().any(|change| change.about == Subject::Diagnosis) {
            writeln!(out, "{}", serde_json::to_string(&Line::Picture(&Picture::of(sighting, diagnosis)))?)?;
        }
        Ok(())
    }
}
