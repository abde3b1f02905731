//! The one reader of a run's facts, on a thread of its own: writes the files, folds the analysis, draws the screen.
//!
//! A thread, because files block and the runtime's workers send records. Not here: what facts mean (`analyze`) or which files there are
//! (`record`).

use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::RunError;
use super::metrics::Page;
use super::narrate::Narrator;
use super::stop::{Stop, StopCause};
use crate::analyze::Analysis;
use crate::analyze::findings::{Findings, Verdict};
use crate::analyze::live::Live;
use crate::analyze::meters::Meters;
use crate::record::error::RecordError;
use crate::record::fact::Stamped;
use crate::record::files::RUN;
use crate::record::folder::RunFolder;
use crate::record::sink::FactSource;
use crate::report::exposition;
use crate::report::junit::Suite;
use crate::report::results::Results;
use crate::report::text::{self, Place};
use crate::ui::Screen;

/// How often the screen is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(250);

/// Draws between two flushes of the files: one second.
const DRAWS_PER_FLUSH: u32 = 4;

/// The running reader.
#[derive(Debug)]
pub(super) struct Intake {
    ended: CancellationToken,
    outcome: oneshot::Receiver<Result<Taken, RecordError>>,
}

/// What the reader made of the facts.
#[derive(Debug)]
pub struct Taken {
    /// Where the results are.
    pub folder: RunFolder,
    /// What they say.
    pub findings: Findings,
    analysis: Analysis,
}

impl Taken {
    /// The summary for people.
    #[must_use]
    pub fn summary(&self, colours: bool) -> String {
        // There is a page of every run whose first fact has come.
        let has_page = self.analysis.run().is_some();
        text::render(self.analysis.run(), &self.findings, Some(Place { folder: self.folder.path(), has_page }), colours)
    }

    /// The run as a suite of JUnit's.
    #[must_use]
    pub fn suite(&self) -> Suite<'_> {
        Suite { run: self.analysis.run(), findings: &self.findings, folder: self.folder.path() }
    }

    /// What `run.json` holds.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn json(&self) -> std::io::Result<String> {
        std::fs::read_to_string(self.folder.file(RUN))
    }

    /// Whether something failed that the brokers' logs may explain.
    pub(super) fn is_failure(&self) -> bool {
        !matches!(self.findings.verdict, Verdict::Pass | Verdict::Interrupted)
    }
}

impl Intake {
    /// Starts the reader; files are made at once.
    ///
    /// # Errors
    /// The files or the thread cannot be made.
    pub(super) fn start(folder: RunFolder, source: FactSource, screen: Screen, stop: Stop, page: Option<Page>) -> Result<Self, RunError> {
        let results = Results::create(folder)?;
        let ended = CancellationToken::new();
        let (tx, outcome) = oneshot::channel();
        let metrics = page.map(|page| (page, Meters::default()));
        let reader = Reader { results, source, screen, stop, narrator: Narrator::default(), live: Live::default(), metrics, failure: None };
        // Timers and the stream are all that this runtime has to serve.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(RunError::Thread)?;
        let until = ended.clone();
        let read = move || {
            // A panic drops `tx`, which is how `finish` hears of it; nobody may be listening any more otherwise.
            let _ = tx.send(runtime.block_on(reader.read(until)));
        };
        thread::Builder::new().name("chaos-facts".to_owned()).spawn(read).map_err(RunError::Thread)?;
        Ok(Self { ended, outcome })
    }

    /// No fact comes any more: reads what is there, completes the files, ends the thread.
    ///
    /// # Errors
    /// A file could not be written, or the thread panicked.
    pub(super) async fn finish(self) -> Result<Taken, RunError> {
        self.ended.cancel();
        match self.outcome.await {
            Ok(outcome) => Ok(outcome?),
            Err(_) => Err(RunError::Panicked("the thread that writes the results is gone".to_owned())),
        }
    }
}

/// The thread's state.
#[derive(Debug)]
struct Reader {
    results: Results,
    source: FactSource,
    screen: Screen,
    stop: Stop,
    narrator: Narrator,
    live: Live,
    /// Where figures for Prometheus go; `None`: nobody wants them.
    metrics: Option<(Page, Meters)>,
    /// The first file error. Facts are still read then, so that nobody's stream fills up, but nothing is written.
    failure: Option<RecordError>,
}

impl Reader {
    async fn read(mut self, ended: CancellationToken) -> Result<Taken, RecordError> {
        let mut draw = interval(DRAW_EVERY);
        draw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut draws = 0;
        loop {
            tokio::select! {
                biased;
                () = ended.cancelled() => break,
                _ = draw.tick() => {
                    draws += 1;
                    self.screen.groups(self.live.groups());
                    if draws % DRAWS_PER_FLUSH == 0 {
                        self.attempt(Results::tick);
                        self.set_page();
                    }
                }
                fact = self.source.next() => match fact {
                    Some(fact) => self.take(&fact),
                    None => break,
                },
            }
        }
        while let Some(fact) = self.source.try_next() {
            self.take(&fact);
        }
        self.set_page();
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let (folder, analysis, findings) = self.results.finish()?;
        Ok(Taken { folder, findings, analysis })
    }

    fn take(&mut self, fact: &Stamped) {
        tracing::trace!(?fact);
        self.attempt(|results| results.write(fact));
        let recovered = self.live.fold(fact);
        if let Some((_, meters)) = &mut self.metrics {
            meters.fold(fact);
        }
        let line = self.narrator.line(fact);
        let recovery = recovered.and_then(|recovered| self.narrator.recovered(fact.time_us, &recovered));
        for (tone, line) in line.into_iter().chain(recovery) {
            self.screen.note(tone, &line);
        }
    }

    fn set_page(&self) {
        if let Some((page, meters)) = &self.metrics {
            page.set(exposition::text(meters, self.live.groups()));
        }
    }

    /// Does something with the files, unless they failed before. A failure stops the run: its results would have holes.
    fn attempt(&mut self, work: impl FnOnce(&mut Results) -> Result<(), RecordError>) {
        if self.failure.is_some() {
            return;
        }
        if let Err(error) = work(&mut self.results) {
            self.stop.request(StopCause::Results(error.to_string()));
            self.failure = Some(error);
        }
    }
}
