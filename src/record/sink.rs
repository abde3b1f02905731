//! The way of facts from those who see them to the one who writes them: a bounded channel whose writers never wait.
//!
//! When it is full, facts are dropped and counted; the receiving end tells the loss as a fact of its own, and the verdict turns UNKNOWN.
//! Not here: files. Written to by engines, steps and phases from any thread; read by `run/` alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tokio::sync::mpsc;

use crate::clock::Moment;
use crate::record::fact::{Fact, Stamped};

/// How many facts may wait to be written: room for a fault that makes thousands of producers speak at once.
pub const CAPACITY: usize = 65_536;

/// Where facts are given in. Cheap to clone; never waits.
#[derive(Clone, Debug)]
pub struct FactSink {
    tx: mpsc::Sender<Stamped>,
    lost: Arc<Lost>,
    /// Start of `steady`: time 0 of every fact.
    origin: Moment,
    worker: u32,
}

#[derive(Debug, Default)]
struct Lost {
    count: AtomicU64,
    last_us: AtomicI64,
}

/// Where facts come out, in the order in which they were given in.
#[derive(Debug)]
pub struct FactSource {
    rx: mpsc::Receiver<Stamped>,
    lost: Arc<Lost>,
    worker: u32,
}

/// Both ends of a stream of facts. `origin` is the start of `steady`, which is known as soon as the load begins.
///
/// # Panics
/// If `capacity` is zero.
#[must_use]
pub fn channel(origin: Moment, worker: u32, capacity: usize) -> (FactSink, FactSource) {
    let (tx, rx) = mpsc::channel(capacity);
    let lost = Arc::new(Lost::default());
    (FactSink { tx, lost: Arc::clone(&lost), origin, worker }, FactSource { rx, lost, worker })
}

impl FactSink {
    /// Gives in a fact that was seen at that moment.
    pub fn emit(&self, at: Moment, fact: Fact) {
        self.emit_us(self.time_us(at), fact);
    }

    /// The same with a time that is already relative to the start of `steady`.
    pub fn emit_us(&self, time_us: i64, fact: Fact) {
        if self.tx.try_send(Stamped { time_us, worker: self.worker, fact }).is_err() {
            self.lost.last_us.store(time_us, Ordering::Relaxed);
            self.lost.count.fetch_add(1, Ordering::Release);
        }
    }

    /// A moment as facts have it: microseconds since the start of `steady`, negative before it.
    #[must_use]
    pub fn time_us(&self, at: Moment) -> i64 {
        at.micros_from(self.origin)
    }

    /// The start of `steady`.
    #[must_use]
    pub fn origin(&self) -> Moment {
        self.origin
    }
}

impl FactSource {
    /// The next fact; `None` once all sinks are gone and everything has been read. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Stamped> {
        if let Some(loss) = self.take_loss() {
            return Some(loss);
        }
        match self.rx.recv().await {
            Some(fact) => Some(fact),
            None => self.take_loss(),
        }
    }

    /// The next fact if one waits; for draining at the end of a run whose sinks may live on.
    pub fn try_next(&mut self) -> Option<Stamped> {
        self.take_loss().or_else(|| self.rx.try_recv().ok())
    }

    fn take_loss(&self) -> Option<Stamped> {
        let count = self.lost.count.swap(0, Ordering::Acquire);
        let time_us = self.lost.last_us.load(Ordering::Relaxed);
        (count > 0).then_some(Stamped { time_us, worker: self.worker, fact: Fact::FactsLost { count } })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::fact::Phase;

    fn phase() -> Fact {
        Fact::PhaseStarted { phase: Phase::Steady }
    }

    #[tokio::test]
    async fn times_count_from_the_origin_and_may_be_negative() {
        let origin = Moment(10_000_000);
        let (sink, mut source) = channel(origin, 3, 8);
        sink.emit(origin - Duration::from_secs(2), phase());
        sink.clone().emit(origin + Duration::from_millis(5), phase());
        drop(sink);
        let first = source.next().await.unwrap();
        assert_eq!((first.time_us, first.worker), (-2_000_000, 3));
        assert_eq!(source.next().await.unwrap().time_us, 5_000);
        assert_eq!(source.next().await, None);
    }

    #[tokio::test]
    async fn a_full_stream_counts_what_it_drops_and_says_so_once() {
        let (sink, mut source) = channel(Moment(0), 0, 2);
        for time_us in 0..5 {
            sink.emit_us(time_us, phase());
        }
        let told = source.next().await.unwrap();
        assert_eq!((told.time_us, told.fact), (4, Fact::FactsLost { count: 3 }));
        assert_eq!(source.next().await.unwrap().time_us, 0);
        assert_eq!(source.next().await.unwrap().time_us, 1);
        drop(sink);
        assert_eq!(source.next().await, None);
    }

    #[test]
    fn draining_ends_while_sinks_live() {
        let (sink, mut source) = channel(Moment(0), 0, 2);
        sink.emit_us(1, phase());
        assert_eq!(source.try_next().unwrap().time_us, 1);
        assert_eq!(source.try_next(), None);
        drop(sink);
    }
}
