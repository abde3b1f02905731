//! Carries out the runs of a comparison that are still missing, one after the other, in the manifest's order.
//!
//! ```text
//! cluster up (once, if it can be shared) -> for each run: whole again -> run -> one line -> cluster down
//! ```
//!
//! A run that cannot be carried out is tried once more on a new cluster; then the series ends, and can be resumed. Not here: what the runs
//! found together.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::CompareError;
use super::line::run_line;
use super::manifest::{LOGS, Manifest, RUNS, RunEntry};
use super::order::Role;
use super::pace::{self, Pace};
use super::state::{State, set_aside, state_of, states};
use crate::clock::Clock;
use crate::cluster::{DockerCluster, RunId};
use crate::plan::vary::Cell;
use crate::run::conductor::up_options;
use crate::run::{self, Ended, Request, RunError, Stop};
use crate::ui::Screen;
use crate::ui::colour::Tone;

/// How often a run is tried.
const ATTEMPTS: u32 = 2;

/// What is to be carried out, and with what.
#[derive(Debug)]
pub struct Series<'a> {
    /// The comparison's folder.
    pub folder: &'a Path,
    /// What the comparison is.
    pub manifest: &'a Manifest,
    /// Its cells, in the manifest's order.
    pub cells: &'a [Cell],
    /// Whether finished runs that no comparison uses are made anew.
    pub again: bool,
    /// Where it is told; of the runs themselves only what is no ordinary progress.
    pub screen: &'a Screen,
    /// The clock.
    pub clock: &'a Clock,
    /// The request to stop.
    pub stop: &'a Stop,
}

impl Series<'_> {
    /// Carries out all runs that are not finished. Ends early, without an error, when it is stopped. The cluster is gone afterwards.
    ///
    /// # Errors
    /// A run could not be carried out, or the cluster not be removed.
    pub async fn carry_out(&self) -> Result<(), CompareError> {
        let mut shared = None;
        let outcome = self.runs(&mut shared).await;
        let down = match shared.take() {
            Some(cluster) => {
                self.screen.stage("removing the cluster");
                cluster.down().await
            }
            None => Ok(()),
        };
        self.screen.clear();
        match (outcome, down) {
            (Ok(()), down) => Ok(down?),
            (Err(error), Ok(())) => Err(error),
            (Err(error), Err(left_behind)) => {
                // Only one error can be the comparison's; the other must be told too.
                self.screen.note(Tone::Bad, &left_behind.to_string());
                Err(error)
            }
        }
    }

    async fn runs(&self, shared: &mut Option<Arc<DockerCluster>>) -> Result<(), CompareError> {
        let missing = self.missing()?;
        let mut pace = Pace::new(self.manifest.one_cluster);
        let loads: Vec<_> = missing.iter().map(|run| pace::load_of(&self.cells[run.cell].checked.plan)).collect();
        for (index, run) in missing.iter().enumerate() {
            if self.stop.cause().is_some() {
                break;
            }
            let left = pace.expects(loads[index..].iter().copied(), shared.is_none());
            self.screen.note(Tone::Plain, &format!("{}: begins, about {} left", self.head(run), pace::words(left)));
            let Some((ended, took)) = self.make(run, shared).await? else { break };
            pace.took(loads[index], took);
            let (tone, line) = run_line(&ended.taken.findings);
            self.screen.note(tone, &format!("{}: {line}", self.head(run)));
            if let Some(error) = ended.left_behind {
                return Err(error.into());
            }
            if !ended.is_healed {
                self.give_up(shared).await;
            }
        }
        Ok(())
    }

    /// The runs that are not finished; what some of them have left is set aside.
    fn missing(&self) -> Result<Vec<&RunEntry>, CompareError> {
        let mut missing = Vec::new();
        for (run, state) in self.manifest.runs.iter().zip(states(self.folder, self.manifest)?) {
            if !state.is_missing(self.again) {
                continue;
            }
            if state != State::Missing {
                let what = if state.is_finished() { "cannot be used" } else { "did not end the last time" };
                let aside = set_aside(self.folder, &run.folder)?;
                let text = format!("{} {what}: what it left is in {}, and it is made anew", self.head(run), aside.display());
                self.screen.note(Tone::Warning, &text);
            }
            missing.push(run);
        }
        Ok(missing)
    }

    /// Makes a run, and makes it once more if the environment did not allow it; with the time that it took, the start of a shared cluster
    /// and an attempt in vain left out. `None`: it was stopped before it began.
    async fn make(&self, run: &RunEntry, shared: &mut Option<Arc<DockerCluster>>) -> Result<Option<(Ended, Duration)>, CompareError> {
        let folder = self.folder.join(RUNS).join(&run.folder);
        let mut attempt = 1;
        loop {
            let source = match self.attempt(run, &folder, shared).await {
                Ok(ended) => return Ok(ended),
                Err(source) => source,
            };
            if attempt == ATTEMPTS || source.is_request_fault() || self.stop.cause().is_some() {
                let finished = states(self.folder, self.manifest)?.iter().filter(|state| state.is_finished()).count();
                return Err(CompareError::Run { run: self.head(run), finished, folder: self.folder.to_owned(), source: Box::new(source) });
            }
            let text = format!("{} could not be carried out: {source}\n  it is tried once more, on a new cluster", self.head(run));
            self.screen.note(Tone::Warning, &text);
            if state_of(&folder)? != State::Missing {
                set_aside(self.folder, &run.folder)?;
            }
            self.give_up(shared).await;
            attempt += 1;
        }
    }

    async fn attempt(
        &self,
        run: &RunEntry,
        folder: &Path,
        shared: &mut Option<Arc<DockerCluster>>,
    ) -> Result<Option<(Ended, Duration)>, RunError> {
        let checked = &self.cells[run.cell].checked;
        let lent = if self.manifest.one_cluster {
            let Some(cluster) = self.cluster(shared).await? else { return Ok(None) };
            Some(cluster)
        } else {
            None
        };
        let request = Request {
            plan: checked.plan.clone(),
            warnings: checked.warnings.lines(),
            out: Some(folder.to_owned()),
            keep: false,
            reuse: false,
            lent,
            request_log: false,
            metrics: None,
        };
        let began = self.clock.now();
        let ended = run::run(&request, &self.screen.of_a_part(), self.clock, self.stop).await?;
        Ok(Some((ended, self.clock.now().since(began))))
    }

    /// The cluster that all runs share, started if need be. `None`: stopped meanwhile.
    async fn cluster(&self, shared: &mut Option<Arc<DockerCluster>>) -> Result<Option<Arc<DockerCluster>>, RunError> {
        if shared.is_none() {
            let (plan, id) = (&self.cells[0].checked.plan, RunId::fresh(self.clock));
            let mut options = up_options(self.screen, self.clock);
            options.seed = plan.seed;
            // No run has begun whose folder could hold them; those of an earlier start tell nothing of this one.
            let logs = self.folder.join(LOGS);
            let are_new = !logs.exists() || std::fs::remove_dir_all(&logs).is_ok();
            options.logs_on_failure = Some(logs);
            let up = DockerCluster::up(&plan.cluster, &id, &options);
            let cluster = tokio::select! {
                biased;
                () = self.stop.requested() => return Ok(None),
                cluster = up => cluster.inspect_err(|_| self.tell_logs(are_new))?,
            };
            *shared = Some(Arc::new(cluster));
        }
        Ok(shared.clone())
    }

    /// Where the logs of a cluster are that did not start, if it left any: those of an earlier one that could not be removed are no word of it.
    fn tell_logs(&self, are_new: bool) {
        let logs = self.folder.join(LOGS);
        if are_new && logs.exists() {
            self.screen.note(Tone::Warning, &format!("the cluster did not start; its nodes' logs are in {}", logs.display()));
        }
    }

    /// Removes the shared cluster, so that the next run starts another one.
    async fn give_up(&self, shared: &mut Option<Arc<DockerCluster>>) {
        if let Some(cluster) = shared.take()
            && let Err(error) = cluster.down().await
        {
            self.screen.note(Tone::Bad, &error.to_string());
        }
    }

    /// `run 3 of 12 (10s)`.
    fn head(&self, run: &RunEntry) -> String {
        let name = &self.manifest.cells[run.cell].name;
        let words = match (name.is_empty(), run.role) {
            (true, _) => String::new(),
            (false, Role::Control) => format!(" ({name}, control)"),
            (false, Role::Round(_)) => format!(" ({name})"),
        };
        format!("run {} of {}{words}", run.number, self.manifest.runs.len())
    }
}
