//! Ending a run before its time: a signal, or a panic anywhere in the process.
//!
//! The first request stops the run in order; a second one makes what is left to do hurry. Not here: what is undone then (`conductor`).

use std::fmt;
use std::io;
use std::panic::PanicHookInfo;
use std::sync::{Arc, OnceLock};

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Why a run ends before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopCause {
    /// A signal, by name.
    Signal(&'static str),
    /// A task panicked; where, and what it said.
    Panic(String),
    /// The results cannot be written; why.
    Results(String),
}

impl StopCause {
    /// The signal's name, if it was one.
    #[must_use]
    pub fn signal(&self) -> Option<&'static str> {
        match self {
            Self::Signal(name) => Some(name),
            Self::Panic(_) | Self::Results(_) => None,
        }
    }
}

impl fmt::Display for StopCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(name) => write!(f, "interrupted by {name}"),
            Self::Panic(text) => write!(f, "internal error: {text}"),
            Self::Results(text) => f.write_str(text),
        }
    }
}

/// The request to stop, shared by all that must hear it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Set once, by the first request.
    cause: OnceLock<StopCause>,
    /// Set once the panic hook is in place.
    catches: OnceLock<()>,
    stop: CancellationToken,
    hurry: CancellationToken,
}

impl Stop {
    /// Asks for the end. The first cause is kept; any further request makes the rest hurry.
    pub fn request(&self, cause: StopCause) {
        tracing::info!(%cause, "the run is to end");
        if self.0.cause.set(cause).is_ok() {
            self.0.stop.cancel();
        } else {
            self.0.hurry.cancel();
        }
    }

    /// Why the run is to end; `None`: it is not.
    #[must_use]
    pub fn cause(&self) -> Option<&StopCause> {
        self.0.cause.get()
    }

    /// Returns once the end was asked for.
    pub async fn requested(&self) {
        self.0.stop.cancelled().await;
    }

    /// Returns once it was asked for twice.
    pub async fn hurried(&self) {
        self.0.hurry.cancelled().await;
    }

    /// Whether it was asked for twice.
    #[must_use]
    pub fn is_hurried(&self) -> bool {
        self.0.hurry.is_cancelled()
    }

    /// Passes SIGINT, SIGTERM and SIGHUP on as requests, until the process ends.
    ///
    /// # Errors
    /// When the handlers cannot be installed.
    pub fn listen_to_signals(&self) -> io::Result<()> {
        let kinds = [(SignalKind::interrupt(), "SIGINT"), (SignalKind::terminate(), "SIGTERM"), (SignalKind::hangup(), "SIGHUP")];
        for (kind, name) in kinds {
            let mut signals = signal(kind)?;
            let stop = self.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    stop.request(StopCause::Signal(name));
                }
            });
        }
        Ok(())
    }

    /// Makes every panic of the process a request to stop: a task that panics must not be missed by a run that goes on without it. The
    /// hook before it is called as well. A second call changes nothing.
    pub fn catch_panics(&self) {
        if self.0.catches.set(()).is_err() {
            return;
        }
        let stop = self.clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            stop.panicked(info);
            before(info);
        }));
    }

    fn panicked(&self, info: &PanicHookInfo<'_>) {
        let payload = info.payload();
        let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let said = said.unwrap_or("a panic without words");
        let place = info.location().map(|location| format!(" ({}:{})", location.file(), location.line())).unwrap_or_default();
        // Never a hurry: an ordinary end must not be cut short by a panic on the way.
        if self.0.cause.set(StopCause::Panic(format!("{said}{place}"))).is_ok() {
            self.0.stop.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_cause_is_kept_and_the_second_hurries() {
        let stop = Stop::default();
        assert_eq!(stop.cause(), None);
        stop.request(StopCause::Signal("SIGINT"));
        stop.requested().await;
        assert!(!stop.is_hurried());
        stop.request(StopCause::Signal("SIGTERM"));
        stop.hurried().await;
        assert_eq!(stop.cause(), Some(&StopCause::Signal("SIGINT")));
    }

    #[test]
    fn a_panic_anywhere_is_a_request_to_stop() {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        let stop = Stop::default();
        stop.catch_panics();
        std::thread::spawn(|| panic!("the task is gone")).join().unwrap_err();
        std::panic::set_hook(before);
        let Some(StopCause::Panic(text)) = stop.cause() else { panic!("{:?}", stop.cause()) };
        assert!(text.starts_with("the task is gone (src/run/stop.rs:"), "{text}");
    }
}
