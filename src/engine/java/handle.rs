//! A Java group that runs, from outside: its reader, what it is told, its end.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::clock::{Clock, Moment};
use crate::cluster::guest::{GuestEnd, GuestRemover};
use crate::engine::java::book::Book;
use crate::engine::java::program::{Ear, Program, ProgramError, Voice};
use crate::engine::recorder::lock;
use crate::engine::{EngineError, GroupHandle};
use crate::record::last;
use crate::record::sink::FactSink;

/// Commands that may wait to be told; a group gets a handful in its life.
const COMMANDS_MAX: usize = 16;
/// How much longer than its drain a group may take to close and to tell its last line.
const CLOSE_WITHIN: Duration = Duration::from_secs(4);

/// What a group is started with.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) group: String,
    pub(super) clock: Clock,
    pub(super) facts: FactSink,
    /// First moment at which a record may be due.
    pub(super) active_from: Moment,
    pub(super) steady: Moment,
    /// No record is due at or after it; `None`: until it is stopped.
    pub(super) end: Option<Moment>,
}

/// A running group.
pub(super) struct JavaHandle {
    start: Start,
    commands: mpsc::Sender<String>,
    reader: AbortOnDropHandle<Option<Book>>,
    remover: GuestRemover,
    _writer: AbortOnDropHandle<()>,
    failure: Arc<Failure>,
    failed: Mutex<Option<oneshot::Receiver<EngineError>>>,
}

impl fmt::Debug for JavaHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JavaHandle").field("start", &self.start).finish_non_exhaustive()
    }
}

/// Tells the first failure.
#[derive(Debug)]
struct Failure {
    group: String,
    tell: Mutex<Option<oneshot::Sender<EngineError>>>,
}

impl Failure {
    fn tell(&self, source: ProgramError) {
        if let Some(tell) = lock(&self.tell).take() {
            // Nobody may be left to hear it: the run is over.
            let _ = tell.send(EngineError::Process { group: self.group.clone(), source: Box::new(source) });
        }
    }
}

impl JavaHandle {
    /// Has the program start the group, on the current tokio runtime.
    pub(super) fn start(program: Program, book: Book, start: Start) -> Self {
        let (tell, failed) = oneshot::channel();
        let failure = Arc::new(Failure { group: start.group.clone(), tell: Mutex::new(Some(tell)) });
        let (commands, told) = mpsc::channel(COMMANDS_MAX);
        let first = format!(
            "start {} {} {}\n",
            program.offset.nanos_of(start.active_from),
            start.active_from.micros_from(start.steady),
            start.end.map_or(i64::MAX, |end| end.micros_from(start.active_from))
        );
        let remover = program.end.remover();
        let writer = tokio::spawn(write(program.ear, first, told, Arc::clone(&failure)));
        let reader = tokio::spawn(read(program.voice, program.end, book, Arc::clone(&failure)));
        Self {
            start,
            commands,
            reader: AbortOnDropHandle::new(reader),
            remover,
            _writer: AbortOnDropHandle::new(writer),
            failure,
            failed: Mutex::new(Some(failed)),
        }
    }

    fn tell(&self, command: String) {
        // If nobody takes it, the program has failed, which is told by another way.
        let _ = self.commands.try_send(command);
    }

    async fn end(mut self, drain: Duration) {
        self.tell(format!("finish {}\n", drain.as_millis()));
        let within = drain + CLOSE_WITHIN;
        match tokio::time::timeout(within, &mut self.reader).await {
            Ok(Ok(Some(book))) => {
                let at = self.start.clock.now();
                last::tell(&self.start.facts, at, book.close(at)).await;
            }
            // The reader has told why.
            Ok(_) => {}
            Err(_) => self.failure.tell(ProgramError::NotFinished { within }),
        }
        // If it has told its last line, it ends by itself, else nobody wants to hear it; whatever is left of it carries the run's label.
        let _ = self.remover.remove().await;
    }
}

impl GroupHandle for JavaHandle {
    fn stop_sending(&self, end: Moment) {
        self.tell(format!("stop {}\n", end.micros_from(self.start.active_from)));
    }

    fn finish(self: Box<Self>, drain: Duration) -> BoxFuture<'static, ()> {
        Box::pin(self.end(drain))
    }

    fn failed(&self) -> BoxFuture<'static, EngineError> {
        let failed = lock(&self.failed).take();
        async move {
            match failed {
                Some(failed) => match failed.await {
                    Ok(error) => error,
                    // The group has ended well.
                    Err(_) => std::future::pending().await,
                },
                None => std::future::pending().await,
            }
        }
        .boxed()
    }
}

async fn write(mut ear: Ear, first: String, mut commands: mpsc::Receiver<String>, failure: Arc<Failure>) {
    let mut command = Some(first);
    while let Some(text) = command {
        if let Err(error) = ear.tell(&text).await {
            // If the program has died, its reader knows more: it gets the time to say so.
            tokio::time::sleep(CLOSE_WITHIN).await;
            return failure.tell(error);
        }
        command = commands.recv().await;
    }
}

/// Takes in the program's lines up to the last one; `None`: it has failed, which is told.
async fn read(mut voice: Voice, mut guest: GuestEnd, mut book: Book, failure: Arc<Failure>) -> Option<Book> {
    loop {
        let entered = match voice.next(&mut guest).await {
            Ok(line) => {
                let is_last = line.last.is_some();
                book.enter(line).map(|()| is_last)
            }
            Err(error) => Err(error),
        };
        match entered {
            Ok(true) => return Some(book),
            // Of many lines at once, none may keep the other tasks of this thread waiting for long.
            Ok(false) => tokio::task::yield_now().await,
            Err(error) => {
                failure.tell(error);
                return None;
            }
        }
    }
}
