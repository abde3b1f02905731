//! The histograms of one fact, read once for all folds that want them: reading is most of the work that a second costs.

use crate::record::fact::{Fact, GeneratorSecond, GroupSecond};
use crate::record::histogram::LatencyHistogram;

/// What a fact holds of each kind; `None`: it has none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histograms {
    /// Response time of records that are ok.
    pub(crate) response_ok: Option<LatencyHistogram>,
    /// Response time of the others.
    pub(crate) response_bad: Option<LatencyHistogram>,
    /// Service time of records that are ok.
    pub(crate) service_ok: Option<LatencyHistogram>,
    /// Lateness of the generator.
    pub(crate) lateness: Option<LatencyHistogram>,
    /// One of them could not be read: a damaged or foreign file.
    pub(crate) is_unreadable: bool,
}

impl Histograms {
    /// Those of a fact.
    pub(crate) fn of(fact: &Fact) -> Self {
        match fact {
            Fact::Second(second) => Self::of_group(second),
            Fact::Generator(second) => Self::of_generator(second),
            _ => Self::default(),
        }
    }

    fn of_group(second: &GroupSecond) -> Self {
        let mut all = Self::default();
        let mut read = |name| {
            second.histogram(name).unwrap_or_else(|_| {
                all.is_unreadable = true;
                None
            })
        };
        (all.response_ok, all.response_bad, all.service_ok) = (read("response_ok"), read("response_bad"), read("service_ok"));
        all
    }

    fn of_generator(second: &GeneratorSecond) -> Self {
        let Some(text) = &second.lateness else { return Self::default() };
        match LatencyHistogram::decode(text, (second.lateness_max_us > 0).then_some(second.lateness_max_us)) {
            Ok(lateness) => Self { lateness: Some(lateness), ..Self::default() },
            Err(_) => Self { is_unreadable: true, ..Self::default() },
        }
    }
}
