//! What a consumer has read since it was last told, and telling it once a second.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::clock::Moment;
use crate::engine::apart::each_second;
use crate::kafka::admin::{AdminError, ErrorCode};
use crate::record::consumers::ConsumerSecond;
use crate::record::fact::Fact;
use crate::record::histogram::LatencyHistogram;

/// A consumer's figures, gathered by its tasks.
#[derive(Debug, Default)]
pub(super) struct Gathered(Mutex<Figures>);

#[derive(Debug, Default)]
struct Figures {
    told: ConsumerSecond,
    ages: LatencyHistogram,
    last_arrival: Moment,
}

impl Gathered {
    fn lock(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records have come, so long after they were due.
    pub(super) fn arrived(&self, at: Moment, ages_us: &[u64], undated: u64, bytes: u64) {
        let mut figures = self.lock();
        let records = ages_us.len() as u64 + undated;
        figures.told.records += records;
        figures.told.undated += undated;
        figures.told.bytes += bytes;
        if records > 0 {
            figures.last_arrival = at;
        }
        ages_us.iter().for_each(|age_us| figures.ages.record(*age_us));
    }

    /// A broker did not answer.
    pub(super) fn failed(&self, error: &AdminError) {
        self.error(match error {
            AdminError::Rpc(error) => error.kind(),
            _ => "refused",
        });
    }

    /// A leader refused a partition.
    pub(super) fn code(&self, code: ErrorCode) {
        self.error(&code.0.to_string());
    }

    /// A batch could not be read.
    pub(super) fn malformed(&self) {
        self.error("malformed");
    }

    fn error(&self, kind: &str) {
        *self.lock().told.errors.entry(kind.to_owned()).or_default() += 1;
    }

    /// When the last record came.
    pub(super) fn last_arrival(&self) -> Moment {
        self.lock().last_arrival
    }

    /// All since the last time.
    pub(super) fn take(&self) -> ConsumerSecond {
        let mut figures = self.lock();
        let mut told = std::mem::take(&mut figures.told);
        // Encoding into memory has no way to fail; a histogram that is missing all the same shows as such.
        let _ = told.put_times(&figures.ages);
        figures.ages.reset();
        told
    }
}

/// Tells each second of the load, and the last one when it is told enough.
pub(super) async fn tell(consumer: Arc<Shared>, told_enough: CancellationToken) {
    let tell = |second, at, _| {
        let mut told = consumer.gathered.take();
        told.group.clone_from(&consumer.spec.name);
        told.second = second;
        (told.behind, told.without_leader) = consumer.positions.behind();
        consumer.context.facts.emit(at, Fact::ConsumerSecond(Box::new(told)));
    };
    each_second(&consumer.context, told_enough, tell).await;
}
