//! Few threads that poll many clients, so that outcomes and statistics come out of librdkafka.
//!
//! A round takes from each client what has come, and a pause of a millisecond follows unless there was more than a turn's worth. Nothing waits
//! inside the crate's `poll`, which spins through the last millisecond of its timeout. Clients are made and ended here too: both wait for
//! librdkafka's threads, which a task of the runtime must not.

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

/// Pause between two rounds.
const PAUSE: Duration = Duration::from_millis(1);

/// Events taken from one client before the next has its turn. Outcomes come many to an event, lines of the log one by one.
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
    let (mut looked_at, mut longest) = (clock.now(), Duration::ZERO);
    loop {
        let is_closed = post.is_closed.load(Ordering::Acquire);
        clients.append(&mut lock(&post.arrived));
        // The last hold on a client is this one: dropped here, it ends here.
        clients.retain(|client| Arc::strong_count(client) > 1);
        if clients.is_empty() && is_closed {
            tracing::debug!(target: "librdkafka", longest_us = longest.as_micros(), "longest time from one round of looks at clients to the next");
            return;
        }
        // One per round, so that the others' outcomes do not wait for all of them.
        let unmade = clients.iter().find(|client| !client.is_made());
        if let Some(client) = unmade {
            client.make();
        }
        let now = clock.now();
        if !clients.is_empty() {
            longest = longest.max(now.since(looked_at));
        }
        looked_at = now;
        // Every client has its turn, so no `any`, which stops at the first.
        let has_more = clients.iter().filter(|client| client.poll(EVENTS_PER_TURN)).count() > 0;
        if !has_more && unmade.is_none() {
            thread::sleep(PAUSE);
        }
    }
}
