//! The engine of Kafka's own client: `kafka-clients` in a JVM in a container.
//!
//! A whole group runs in one JVM, of our own small program (`clients/java`). It makes its own load, from the same schedule, and takes its own
//! times; here it is started, told when, and listened to. Not here: how its container is made (`cluster::guest`).

mod book;
mod handle;
mod line;
mod program;
mod settings;
#[cfg(test)]
pub(super) mod tests;
mod timeline;

use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::clock::Moment;
use crate::cluster::guest::GuestRequest;
use crate::cluster::java_image::JavaImage;
use crate::engine::java::book::{Book, Schedule};
use crate::engine::java::handle::{JavaHandle, Start};
use crate::engine::java::program::{Program, ProgramError};
use crate::engine::recorder::second::SecondTeller;
use crate::engine::recorder::tells::Tells;
use crate::engine::recorder::{GroupRecorder, lock};
use crate::engine::{Engine, EngineContext, EngineError, GroupHandle, Stage, schedule};
use crate::plan::model::ProducerGroup;
use crate::record::fact::Fact;

/// Most producers of a group: each has a thread of its own in the JVM, because `send` may block, and most have a client with another one.
pub const PRODUCERS_MAX: u32 = 2_000;

/// What the JVM's heap may hold besides the clients' buffers: for itself, and for each client.
const HEAP_BASE_BYTES: u64 = 256 << 20;
const HEAP_PER_CLIENT_BYTES: u64 = 2 << 20;
/// `buffer.memory` of a client, if the plan does not set it.
const BUFFER_BYTES_DEFAULT: u64 = 32 << 20;
/// Largest heap.
const HEAP_BYTES_MAX: u64 = 8 << 30;

/// The engine of Kafka's own client. One per group.
#[derive(Debug, Default)]
pub struct JavaEngine {
    prepared: Mutex<Option<Program>>,
    version: OnceLock<String>,
}

/// A group that is too large for one JVM.
#[derive(Debug, thiserror::Error)]
#[error("{0} producers are more than the {PRODUCERS_MAX} that the java engine takes in a group: each has a thread; make more groups")]
struct TooManyProducers(u32);

/// A group that was started before it was made ready.
#[derive(Debug, thiserror::Error)]
#[error("the Java program was not made ready before the start")]
struct NotPrepared;

impl Engine for JavaEngine {
    fn check(&self, group: &ProducerGroup) -> Result<Vec<String>, EngineError> {
        if group.count > PRODUCERS_MAX {
            return Err(EngineError::Config { group: group.name.clone(), source: Box::new(TooManyProducers(group.count)) });
        }
        Ok(Vec::new())
    }

    fn version(&self) -> Option<String> {
        self.version.get().cloned()
    }

    fn prepare<'a>(&'a self, group: &'a ProducerGroup, stage: &'a Stage) -> BoxFuture<'a, Result<(), EngineError>> {
        async move {
            let program = prepare(group, stage).await?;
            // The same client, whoever set it first.
            let _ = self.version.set(program.version.clone());
            *lock(&self.prepared) = Some(program);
            Ok(())
        }
        .boxed()
    }

    fn start<'a>(
        &'a self,
        group: &'a ProducerGroup,
        context: &'a EngineContext,
    ) -> BoxFuture<'a, Result<Box<dyn GroupHandle>, EngineError>> {
        let started = match lock(&self.prepared).take() {
            Some(program) => Ok(Box::new(start(program, group, context)) as Box<dyn GroupHandle>),
            None => Err(EngineError::Process { group: group.name.clone(), source: Box::new(NotPrepared) }),
        };
        ready(started).boxed()
    }
}

async fn prepare(group: &ProducerGroup, stage: &Stage) -> Result<Program, EngineError> {
    let of_engine = |source| EngineError::Container { group: group.name.clone(), source };
    let daemon = stage.guests.daemon();
    let missing = |image, state| {
        let mend = JavaImage::mend(&stage.kafka);
        EngineError::ImageMissing { group: group.name.clone(), image, state, mend }
    };
    let image = match JavaImage::find(daemon, &stage.kafka).await.map_err(of_engine)? {
        JavaImage::Ready(image) => image,
        JavaImage::Stale(image) => return Err(missing(image, "was built from other sources than this chaos")),
        JavaImage::Missing(image) => return Err(missing(image, "is not here")),
    };
    let heap = heap_bytes(group);
    let environment = vec![format!("CHAOS_JAVA_OPTIONS=-Xmx{}m", heap >> 20)];
    let request = GuestRequest { group: group.name.clone(), image, environment };
    let guest = stage.guests.start(&request).await.map_err(of_engine)?;
    let remover = guest.end.remover();
    let bootstrap = group.bootstrap.as_ref().unwrap_or(&stage.bootstrap);
    let greeted =
        Program::greet(guest, settings::text(group, bootstrap, stage.access.parts.as_ref(), stage.seed).expose(), &stage.clock).await;
    match greeted {
        Ok(program) => Ok(program),
        Err(error) => {
            // Whatever is left of it also goes with the run; that it was no use is the news.
            let _ = remover.remove().await;
            let (group, source) = (group.name.clone(), Box::new(error));
            Err(if matches!(*source, ProgramError::Refused(_)) {
                EngineError::Config { group, source }
            } else {
                EngineError::Process { group, source }
            })
        }
    }
}

/// What Kafka's client tells by its log and its metrics. Its clocks of waits are one for all that share it, so whose wait it was is unknown.
fn tells(group: &ProducerGroup, (on_metadata, on_memory): (bool, bool)) -> Tells {
    let is_own = schedule::senders_per_client(group) == 1;
    Tells {
        metadata_requests: true,
        metadata_bytes: false,
        waits_for_metadata: on_metadata && is_own,
        waits_for_memory: on_memory && is_own,
        unserved: false,
    }
}

/// The heap's limit: every client may fill its buffer, as it does when its brokers are away.
fn heap_bytes(group: &ProducerGroup) -> u64 {
    let buffer = group.config.get("buffer.memory").and_then(|bytes| bytes.parse().ok()).unwrap_or(BUFFER_BYTES_DEFAULT);
    let clients = u64::from(schedule::clients(group));
    (HEAP_BASE_BYTES + clients.saturating_mul(buffer.saturating_add(HEAP_PER_CLIENT_BYTES))).min(HEAP_BYTES_MAX)
}

fn start(program: Program, group: &ProducerGroup, context: &EngineContext) -> JavaHandle {
    let remark = format!(
        "Kafka's client {} on {}, heap up to {} MiB; its times are right to {} us",
        program.version,
        program.java,
        program.heap_bytes >> 20,
        program.offset.uncertainty.as_micros().max(1)
    );
    context.facts.emit(context.clock.now(), Fact::GroupStarted { group: group.name.clone(), warnings: vec![remark] });
    let recorder =
        Arc::new(GroupRecorder::new(group, context.facts.clone(), Arc::clone(&context.ledger), tells(group, program.tells_waits)));
    let senders = schedule::senders(group);
    let active_from = context.load_start + group.active.from;
    let due_counts = schedule::due_counts(group, context.seed);
    let teller = SecondTeller::new(Arc::clone(&recorder), Arc::clone(&senders), due_counts, active_from);
    let steady = context.facts.origin();
    let end = group.active.until.map(|until| context.load_start + until);
    let schedule = Schedule {
        active_from,
        end: end.unwrap_or(Moment(u64::MAX)),
        next_second: Book::first_second(context.clock.now(), context.load_start, steady),
    };
    let book = Book::new(recorder, senders, Arc::clone(&context.generator), schedule, teller);
    let start = Start { group: group.name.clone(), clock: context.clock.clone(), facts: context.facts.clone(), active_from, steady, end };
    JavaHandle::start(program, book, start)
}
