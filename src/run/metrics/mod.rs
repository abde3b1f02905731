//! The endpoint of `chaos run --metrics`: hands the latest page of figures to whoever asks, by a minimal HTTP on a thread of its own.
//!
//! A thread, because neither those who make the load nor the one who reads the facts may wait for a stranger. Everything is bounded: how
//! many are served at once, how long each may take, how much it may say; who goes beyond is refused and counted. Not here: what the page
//! says (`report::exposition`). Started by the conductor; the page is set by `intake`.

mod request;
#[cfg(test)]
mod tests;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::request::Answer;
use super::RunError;
use crate::report::exposition;

/// What a stranger may take.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Served at once.
    connections: usize,
    /// Bytes of a request's head.
    head_bytes: usize,
    /// For a request to come, and again for its answer to go.
    within: Duration,
}

const BOUNDS: Bounds = Bounds { connections: 8, head_bytes: 8 << 10, within: Duration::from_secs(5) };

/// How long nobody is accepted after a failure to, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The running endpoint; gone when dropped.
#[derive(Debug)]
pub(super) struct Endpoint {
    address: SocketAddr,
    page: Page,
    refused: Arc<AtomicU64>,
    ended: CancellationToken,
}

/// Where the page is set.
#[derive(Clone, Debug)]
pub(super) struct Page(watch::Sender<Arc<str>>);

impl Page {
    /// Replaces the page.
    pub(super) fn set(&self, text: String) {
        self.0.send_replace(text.into());
    }
}

impl Endpoint {
    /// Listens, and serves the page of a run that has not begun.
    ///
    /// # Errors
    /// The address cannot be had, or the thread cannot be made.
    pub(super) fn start(address: SocketAddr) -> Result<Self, RunError> {
        Self::start_within(address, BOUNDS)
    }

    fn start_within(address: SocketAddr, bounds: Bounds) -> Result<Self, RunError> {
        let cannot_listen = |source| RunError::Metrics { address, source };
        let listener = TcpListener::bind(address).map_err(cannot_listen)?;
        listener.set_nonblocking(true).map_err(cannot_listen)?;
        let address = listener.local_addr().map_err(cannot_listen)?;
        let (page, latest) = watch::channel(exposition::text(&crate::analyze::meters::Meters::default(), &[]).into());
        let (refused, ended) = (Arc::<AtomicU64>::default(), CancellationToken::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(RunError::Thread)?;
        let shared = Arc::new(Shared { latest, refused: Arc::clone(&refused), bounds });
        let until = ended.clone();
        let serve = move || {
            // Whoever is being served then is cut off with the runtime.
            runtime.block_on(until.run_until_cancelled(accept(listener, shared)));
        };
        thread::Builder::new().name("chaos-metrics".to_owned()).spawn(serve).map_err(RunError::Thread)?;
        Ok(Self { address, page: Page(page), refused, ended })
    }

    /// Where it listens; with the port that was found, if any would do.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where its page is set.
    pub(super) fn page(&self) -> Page {
        self.page.clone()
    }

    /// How many requests and connections were refused so far.
    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// What all that are served have in common.
#[derive(Debug)]
struct Shared {
    latest: watch::Receiver<Arc<str>>,
    refused: Arc<AtomicU64>,
    bounds: Bounds,
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let room = Arc::new(Semaphore::new(shared.bounds.connections));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            shared.refused.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            if !serve(stream, &shared).await {
                shared.refused.fetch_add(1, Ordering::Relaxed);
            }
            drop(permit);
        });
    }
}

/// Serves one request; whether it was one that could be.
async fn serve(mut stream: TcpStream, shared: &Shared) -> bool {
    let answer = match timeout(shared.bounds.within, head(&mut stream, shared.bounds.head_bytes)).await {
        Ok(Ok(answer)) => answer,
        // It left before it had asked.
        Ok(Err(_)) => return false,
        Err(_) => Answer::TooLate,
    };
    let refused = shared.refused.load(Ordering::Relaxed);
    let figures = [&**shared.latest.borrow(), &exposition::counter(REFUSED.0, REFUSED.1, refused)].concat();
    let text = answer.text(exposition::MEDIA_TYPE, &figures);
    let given = timeout(shared.bounds.within, async {
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await
    });
    matches!(given.await, Ok(Ok(()))) && !answer.is_refusal()
}

/// The endpoint's own counter, with its help.
const REFUSED: (&str, &str) =
    ("chaos_metrics_refused_total", "Requests to this endpoint that were malformed or too slow, and connections beyond its bound.");

/// Reads a request's head, and what is to be answered.
async fn head(stream: &mut TcpStream, bytes_max: usize) -> io::Result<Answer> {
    const END: &[u8] = b"\r\n\r\n";
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while head.len() < bytes_max {
        let count = stream.read(&mut part).await?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The end may lie across two reads.
        let from = head.len().saturating_sub(END.len() - 1);
        head.extend_from_slice(&part[..count]);
        if let Some(at) = head[from..].windows(END.len()).position(|window| window == END) {
            return Ok(request::answer(&head[..from + at]));
        }
    }
    Ok(Answer::TooLarge)
}
