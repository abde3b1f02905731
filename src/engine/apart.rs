//! Work beside the producers, on a thread with a runtime of its own: what it costs must not make their records late.
//!
//! Not here: what the work is (`requesters`, `consumers`, which are the callers).

use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::clock::Moment;
use crate::engine::{EngineContext, EngineError};
use crate::record::second::{second_end, second_of};

/// How long the thread may take to end once it is told to.
const LAST_TURN: Duration = Duration::from_secs(1);

/// A thread at work. Dropping it ends the work at once.
#[derive(Debug)]
pub(super) struct Apart {
    /// Told how long the rest is waited for.
    drain: Option<oneshot::Sender<Duration>>,
    /// Ends everything at once.
    cut: CancellationToken,
    thread: Option<JoinHandle<()>>,
    over: oneshot::Receiver<()>,
}

impl Apart {
    /// Starts the work. It is handed what will tell it that the load is over, and how long the rest may be waited for; if that is dropped, there is
    /// nothing to wait for. `group` is named if the thread cannot be started.
    ///
    /// # Errors
    /// A thread could not be started.
    pub(super) fn start<W: Future<Output = ()>>(
        thread: &str,
        group: &str,
        work: impl FnOnce(oneshot::Receiver<Duration>) -> W + Send + 'static,
    ) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Thread { group: group.to_owned(), source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (drain, draining) = oneshot::channel();
        let (told_over, over) = oneshot::channel();
        let cut = CancellationToken::new();
        let stop = cut.clone();
        let body = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = work(draining) => {}
                    () = stop.cancelled() => {}
                }
            });
            // Nobody listens if the run was cut off.
            let _ = told_over.send(());
        };
        let thread = std::thread::Builder::new().name(thread.to_owned()).spawn(body).map_err(failed)?;
        Ok(Self { drain: Some(drain), cut, thread: Some(thread), over })
    }

    /// Tells the work that the load is over, and waits for its end, a little longer than it may wait itself.
    pub(super) async fn finish(mut self, drain: Duration) {
        if let Some(told) = self.drain.take() {
            // It may have ended by itself.
            let _ = told.send(drain);
        }
        let _ = tokio::time::timeout(drain + LAST_TURN, &mut self.over).await;
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        self.cut.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic there has been told by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Calls `tell` at the end of each second of the load, and a last time when it is told enough: with the second, the moment up to which it is told,
/// and whether it is the last.
pub(super) async fn each_second(context: &EngineContext, told_enough: CancellationToken, mut tell: impl FnMut(i64, Moment, bool)) {
    let (clock, steady) = (&context.clock, context.steady);
    let mut second = second_of(clock.now().max(context.load_start), steady);
    loop {
        let end = second_end(second, steady);
        let is_last = tokio::select! {
            () = tokio::time::sleep_until(clock.instant_of(end)) => false,
            () = told_enough.cancelled() => true,
        };
        tell(second, if is_last { clock.now() } else { end }, is_last);
        if is_last {
            return;
        }
        second += 1;
    }
}
