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
mod tests;
mod timeline;

use std::sync::{Arc, Mutex, OnceLock};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use crate::cluster::guest::GuestRequest;
use crate::cluster::java_image::JavaImage;
use crate::engine::java::book::Book;
use crate::engine::java::handle::{JavaHandle, Start};
use crate::engine::java::program::{Program, ProgramError};
use crate::engine::recorder::second::{DueCount, SecondTeller};
use crate::engine::recorder::tells::Tells;
use crate::engine::recorder::{GroupRecorder, SenderProgress, lock, mark};
use crate::engine::{Engine, EngineContext, EngineError, GroupHandle, Stage};
use crate::ids::ProducerIndex;
use crate::load::arrivals::DueTimes;
use crate::load::seed::{Purpose, producer_seed};
use crate::plan::model::{Arrivals, Load, ProducerGroup};
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

/// What Kafka's client tells by its log and its metrics.
const TELLS: Tells =
    Tells { metadata_requests: true, metadata_bytes: false, waits_for_metadata: true, waits_for_memory: true, unserved: false };

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
    let bootstrap = group.bootstrap.as_ref().unwrap_or(&stage.bootstrap);
    let greeted = Program::greet(guest, &settings::text(group, bootstrap, stage.seed), &stage.clock).await;
    greeted.map_err(|error| match error {
        ProgramError::Refused(_) => EngineError::Config { group: group.name.clone(), source: Box::new(error) },
        _ => EngineError::Process { group: group.name.clone(), source: Box::new(error) },
    })
}

/// The heap's limit: every client may fill its buffer, as it does when its brokers are away.
fn heap_bytes(group: &ProducerGroup) -> u64 {
    let buffer = group.config.get("buffer.memory").and_then(|bytes| bytes.parse().ok()).unwrap_or(BUFFER_BYTES_DEFAULT);
    let clients = u64::from(group.count.div_ceil(senders_per_client(group)));
    (HEAP_BASE_BYTES + clients.saturating_mul(buffer.saturating_add(HEAP_PER_CLIENT_BYTES))).min(HEAP_BYTES_MAX)
}

fn senders_per_client(group: &ProducerGroup) -> u32 {
    group.share.map_or(1, |share| share.get().clamp(1, mark::MAX_SENDERS))
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
    let recorder = Arc::new(GroupRecorder::new(group, context.facts.clone(), TELLS));
    let per_client = senders_per_client(group);
    let senders: Arc<[Arc<SenderProgress>]> = (0..group.count)
        .map(|index| Arc::new(SenderProgress::new(ProducerIndex(index), (index / per_client) as usize, index % per_client)))
        .collect();
    let active_from = context.load_start + group.active.from;
    let due_counts = senders.iter().map(|sender| due_count(group, context.seed, sender.producer)).collect();
    let teller = SecondTeller::new(Arc::clone(&recorder), Arc::clone(&senders), due_counts, active_from);
    let steady = context.facts.origin();
    let first_second = Book::first_second(context.clock.now(), context.load_start, steady);
    let book = Book::new(recorder, senders, Arc::clone(&context.generator), active_from, teller, first_second);
    let start = Start {
        group: group.name.clone(),
        clock: context.clock.clone(),
        facts: context.facts.clone(),
        active_from,
        steady,
        end: group.active.until.map(|until| context.load_start + until),
    };
    JavaHandle::start(program, book, start)
}

fn due_count(group: &ProducerGroup, seed: u64, producer: ProducerIndex) -> DueCount {
    let Load::Open { rate_per_second, arrivals } = group.load else { return DueCount::AsSent };
    DueCount::Schedule(match arrivals {
        Arrivals::Constant => DueTimes::constant(rate_per_second, producer, group.count),
        Arrivals::Poisson => DueTimes::poisson(rate_per_second, producer_seed(seed, &group.name, producer, Purpose::Arrivals)),
    })
}
