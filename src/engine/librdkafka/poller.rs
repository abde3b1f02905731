//! Few threads that poll many clients, so that outcomes and statistics come out of librdkafka.
//!
//! A client that a thread has for itself is waited on, and told within a millisecond; of many, each is looked at in turn, with a pause
//! between two rounds that keeps looking below a quarter of the thread's time. A client ends here too: its end waits for librdkafka's threads,
//! which a task of the runtime must not.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::clock::Clock;
use crate::engine::librdkafka::client::Shared;
use crate::engine::recorder::lock;

/// Threads at most, per group.
const THREADS_MAX: usize = 4;

/// Longest wait for one client, and shortest pause between two rounds.
const PAUSE: Duration = Duration::from_millis(1);

/// Events taken from one client before the next has its turn.
const EVENTS_PER_TURN: usize = 64;

/// A group's threads. They end when this and all clients are gone.
#[derive(Debug)]
pub(super) struct Pollers {
    threads: Vec<Arc<Post>>,
    next: Mutex<usize>,
}

/// Where a thread finds new clients.
#[derive(Debug, Default)]
struct Post {
    arrived: Mutex<Vec<Arc<Shared>>>,
    is_closed: AtomicBool,
}

impl Pollers {
    /// Starts threads for so many clients.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub(super) fn start(group: &str, clients: usize, clock: &Clock) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut pollers = Self { threads: Vec::new(), next: Mutex::new(0) };
        for number in 0..clients.clamp(1, cores.min(THREADS_MAX)) {
            let post = Arc::<Post>::default();
            pollers.threads.push(Arc::clone(&post));
            let clock = clock.clone();
            thread::Builder::new().name(format!("poll-{number}-{group}")).spawn(move || run(&post, &clock))?;
        }
        Ok(pollers)
    }

    /// Gives a client to the thread whose turn it is.
    pub(super) fn watch(&self, client: Arc<Shared>) {
        let mut next = lock(&self.next);
        if let Some(post) = self.threads.get(*next % self.threads.len().max(1)) {
            lock(&post.arrived).push(client);
        }
        *next += 1;
    }
}

impl Drop for Pollers {
    fn drop(&mut self) {
        self.threads.iter().for_each(|post| post.is_closed.store(true, Ordering::Release));
    }
}

fn run(post: &Post, clock: &Clock) {
    let mut clients: Vec<Arc<Shared>> = Vec::new();
    loop {
        let is_closed = post.is_closed.load(Ordering::Acquire);
        clients.append(&mut lock(&post.arrived));
        // The last hold on a client is this one: dropped here, it ends here.
        clients.retain(|client| Arc::strong_count(client) > 1);
        match &clients[..] {
            [] if is_closed => return,
            [] => thread::sleep(PAUSE),
            [only] => only.poll(PAUSE, 1),
            many => {
                let begun = clock.now();
                many.iter().for_each(|client| client.poll(Duration::ZERO, EVENTS_PER_TURN));
                thread::sleep(PAUSE.max(clock.now().since(begun) * 3));
            }
        }
    }
}
