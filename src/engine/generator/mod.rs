//! The load generator watches itself: how late it hands records over, and what it costs the machine.
//!
//! One [`Generator`] per process, shared by all groups: senders tell it their lateness, and its watch tells a fact once a second. Not here:
//! what is too late or too much (`analyze`).

mod process;

use std::sync::{Arc, Mutex};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::clock::{Clock, Moment};
use crate::engine::generator::process::ProcessUsage;
use crate::engine::recorder::figures::{shard_count, thread_number};
use crate::engine::recorder::lock;
use crate::kafka::net::exhausted;
use crate::record::fact::{Fact, GeneratorSecond};
use crate::record::histogram::LatencyHistogram;
use crate::record::second::{second_end, second_of};
use crate::record::sink::FactSink;

/// Collects the process's own health.
#[derive(Debug)]
pub struct Generator {
    /// One per core, as a group's figures are.
    lateness: Box<[Mutex<LatencyHistogram>]>,
    /// Connections that could not be made before.
    refused_before: u64,
}

impl Default for Generator {
    fn default() -> Self {
        Self::new()
    }
}

/// Tells the generator's health once a second until it is finished or dropped.
#[derive(Debug)]
pub struct GeneratorWatch {
    stop: CancellationToken,
    task: AbortOnDropHandle<()>,
}

impl Generator {
    /// A generator that has sent nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { lateness: (0..shard_count()).map(|_| Mutex::default()).collect(), refused_before: exhausted::refused() }
    }

    /// Records were handed over so many microseconds after they were due. Only for sends that did not wait behind a blocked one: what a
    /// blocked client delays is not the generator's fault, and shows in the response times.
    pub fn late(&self, lateness_us: &[u64]) {
        let mut histogram = lock(&self.lateness[thread_number() % self.lateness.len()]);
        for value in lateness_us {
            histogram.record(*value);
        }
    }

    /// Starts telling, on the current tokio runtime; the first second is the present one.
    #[must_use]
    pub fn watch(self: &Arc<Self>, clock: Clock, facts: FactSink) -> GeneratorWatch {
        let stop = CancellationToken::new();
        let task = tokio::spawn(tell_seconds(Arc::clone(self), clock, facts, stop.clone()));
        GeneratorWatch { stop, task: AbortOnDropHandle::new(task) }
    }

    pub(crate) fn take_second(&self, second: i64, sum: &mut LatencyHistogram) -> GeneratorSecond {
        sum.reset();
        for shard in &self.lateness {
            let mut shard = lock(shard);
            // Both have the bound that the type gives them, so nothing can be refused.
            let _ = sum.merge(&shard);
            shard.reset();
        }
        let usage = ProcessUsage::now();
        let mut told = GeneratorSecond {
            second,
            cpu_us_total: usage.cpu_us,
            rss_bytes: usage.rss_bytes,
            threads: usage.threads,
            refused_connections: exhausted::refused() - self.refused_before,
            ..GeneratorSecond::default()
        };
        // Encoding into memory has no way to fail; a histogram that is missing all the same shows as such.
        let _ = told.put_lateness(sum);
        told
    }
}

impl GeneratorWatch {
    /// Tells the last, incomplete second.
    pub async fn finish(self) {
        self.stop.cancel();
        let _ = self.task.await;
    }
}

async fn tell_seconds(generator: Arc<Generator>, clock: Clock, facts: FactSink, stop: CancellationToken) {
    let steady = facts.origin();
    let mut sum = LatencyHistogram::new();
    let mut second = second_of(clock.now(), steady);
    loop {
        let end = second_end(second, steady);
        let stopped = tokio::select! {
            () = tokio::time::sleep_until(clock.instant_of(end)) => false,
            () = stop.cancelled() => true,
        };
        let now = clock.now();
        let at: Moment = if stopped { now } else { end };
        let mut told = generator.take_second(second, &mut sum);
        told.wall_set_by_us = clock.wall_set_by_us();
        // No wait lasts as long as the greatest value: 500,000 years.
        told.told_late_us = u64::try_from(now.since(at).as_micros()).unwrap_or(u64::MAX);
        facts.emit(at, Fact::Generator(Box::new(told)));
        if stopped {
            return;
        }
        second += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::record::sink;

    #[tokio::test(start_paused = true)]
    async fn each_second_is_told_with_its_own_lateness() {
        let clock = Clock::real();
        let (facts, mut source) = sink::channel(clock.now() + Duration::from_millis(1_500), 0, 64);
        let generator = Arc::new(Generator::new());
        let watch = generator.watch(clock, facts);
        tokio::time::sleep(Duration::from_millis(100)).await;
        generator.late(&[1_000, 7_001]);
        tokio::time::sleep(Duration::from_millis(1_900)).await;
        watch.finish().await;
        let mut told = Vec::new();
        while let Some(fact) = source.try_next() {
            let Fact::Generator(second) = fact.fact else { panic!() };
            told.push((second.second, second.lateness.is_some(), second.lateness_max_us));
        }
        assert_eq!(told, [(-2, true, 7_001), (-1, false, 0), (0, false, 0)]);
    }
}
