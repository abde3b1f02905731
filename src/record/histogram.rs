//! Latencies of one kind: an HDR histogram in microseconds with three significant digits and an exact maximum.
//!
//! Its bound (600 s) lies far above `delivery.timeout.ms`, so that nothing real is cut; what is cut all the same is recorded as the bound
//! and counted. Not a time series: a new histogram, or [`LatencyHistogram::reset`], begins each interval.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{DeserializeError, Deserializer, Serializer, V2DeflateSerializeError, V2DeflateSerializer};

use crate::record::fact::{GeneratorSecond, GroupSecond};

/// Greatest value that is kept as it is.
pub const BOUND_US: u64 = 600_000_000;

const SIGNIFICANT_DIGITS: u8 = 3;

/// Why a histogram could not be written as text or read from it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistogramError {
    /// The serializer refused.
    #[error("histogram cannot be encoded: {0}")]
    Encode(#[from] V2DeflateSerializeError),
    /// Not base64.
    #[error("histogram is not base64: {0}")]
    Base64(#[from] base64::DecodeError),
    /// Not HDR's V2 form, or with counters that do not fit.
    #[error("histogram cannot be decoded: {0}")]
    Decode(#[from] DeserializeError),
    /// Its bound differs from ours.
    #[error("histogram has another bound than {BOUND_US} us")]
    Bound,
}

/// A histogram of latencies in microseconds.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    counts: Histogram<u32>,
    /// The histogram itself rounds to three digits.
    max_us: u64,
    out_of_range: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram; about 90 KB.
    ///
    /// # Panics
    /// Never: the bounds are constants that the library accepts.
    #[must_use]
    #[allow(clippy::expect_used, reason = "the arguments are constants, and a test makes one")]
    pub fn new() -> Self {
        let counts = Histogram::new_with_bounds(1, BOUND_US, SIGNIFICANT_DIGITS).expect("constant bounds are valid");
        Self { counts, max_us: 0, out_of_range: 0 }
    }

    /// Counts one value.
    pub fn record(&mut self, value_us: u64) {
        self.record_n(value_us, 1);
    }

    /// Counts a value several times.
    pub fn record_n(&mut self, value_us: u64, times: u32) {
        if times == 0 {
            return;
        }
        if value_us > BOUND_US {
            self.out_of_range += u64::from(times);
        }
        self.counts.saturating_record_n(value_us, times);
        self.max_us = self.max_us.max(value_us);
    }

    /// How many values it holds.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The greatest value, exact even above the bound; 0 without any.
    #[must_use]
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// How many values were above the bound since the last [`Self::reset`]; not part of the encoded form.
    #[must_use]
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// The value below or at which the share `quantile` (0 to 1) of all values lies; `None` without values.
    #[must_use]
    pub fn quantile_us(&self, quantile: f64) -> Option<u64> {
        // A bucket's upper end may lie above the greatest value.
        (!self.is_empty()).then(|| self.counts.value_at_quantile(quantile).min(self.max_us))
    }

    /// Its values, ascending, each with its count; to three digits, never above the exact ones.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        self.counts.iter_recorded().map(|step| (self.counts.lowest_equivalent(step.value_iterated_to()), step.count_since_last_iteration()))
    }

    /// Adds another one's values.
    ///
    /// # Errors
    /// If the other was decoded from text with another bound.
    pub fn merge(&mut self, other: &Self) -> Result<(), HistogramError> {
        if other.counts.max() > self.counts.highest_equivalent(BOUND_US) {
            return Err(HistogramError::Bound);
        }
        // Of thousands of counters a second uses few: adding these is much less work than adding all.
        for value in other.counts.iter_recorded() {
            self.counts.saturating_record_n(value.value_iterated_to(), value.count_at_value());
        }
        self.max_us = self.max_us.max(other.max_us);
        self.out_of_range += other.out_of_range;
        Ok(())
    }

    /// Forgets all values, keeps the memory.
    pub fn reset(&mut self) {
        self.counts.reset();
        self.max_us = 0;
        self.out_of_range = 0;
    }

    /// The histogram in HDR's V2-deflate form, as base64: what interval logs hold.
    ///
    /// # Errors
    /// If the serializer refuses, which it has no known reason to.
    pub fn encode(&self) -> Result<String, HistogramError> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.counts, &mut bytes)?;
        Ok(STANDARD.encode(bytes))
    }

    /// Reads what [`Self::encode`] wrote. The exact maximum travels beside it; without one, the histogram's own is taken.
    ///
    /// # Errors
    /// If the text is not such a histogram.
    pub fn decode(text: &str, exact_max_us: Option<u64>) -> Result<Self, HistogramError> {
        let bytes = STANDARD.decode(text)?;
        let counts: Histogram<u32> = Deserializer::new().deserialize(&mut bytes.as_slice())?;
        if counts.high() != BOUND_US {
            return Err(HistogramError::Bound);
        }
        let max_us = exact_max_us.unwrap_or_else(|| counts.max());
        Ok(Self { counts, max_us, out_of_range: 0 })
    }
}

impl GroupSecond {
    /// Stores a histogram under its name, with its exact maximum; an empty one is left out. Adds its out-of-range count.
    ///
    /// # Errors
    /// As [`LatencyHistogram::encode`].
    pub fn put_histogram(&mut self, name: &str, histogram: &LatencyHistogram) -> Result<(), HistogramError> {
        if !histogram.is_empty() {
            self.histograms.insert(name.to_owned(), histogram.encode()?);
            self.histogram_max_us.insert(name.to_owned(), histogram.max_us());
            self.out_of_range += histogram.out_of_range();
        }
        Ok(())
    }

    /// Reads the histogram of that name; `None`: it was empty.
    ///
    /// # Errors
    /// As [`LatencyHistogram::decode`].
    pub fn histogram(&self, name: &str) -> Result<Option<LatencyHistogram>, HistogramError> {
        let max_us = self.histogram_max_us.get(name).copied();
        self.histograms.get(name).map(|text| LatencyHistogram::decode(text, max_us)).transpose()
    }
}

impl GeneratorSecond {
    /// Stores the lateness of this second; nothing if it is empty.
    ///
    /// # Errors
    /// As [`LatencyHistogram::encode`].
    pub fn put_lateness(&mut self, histogram: &LatencyHistogram) -> Result<(), HistogramError> {
        if !histogram.is_empty() {
            self.lateness = Some(histogram.encode()?);
            self.lateness_max_us = histogram.max_us();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_keep_three_digits_and_the_maximum_is_exact() {
        let mut histogram = LatencyHistogram::new();
        for value in 1..=10_000 {
            histogram.record(value);
        }
        histogram.record(1_234_567);
        assert_eq!(histogram.count(), 10_001);
        assert!((4_995..=5_005).contains(&histogram.quantile_us(0.5).unwrap()));
        assert_eq!(histogram.max_us(), 1_234_567);
        assert_eq!(histogram.quantile_us(1.0), Some(1_234_567));
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert_eq!(LatencyHistogram::new().quantile_us(0.5), None);
    }

    #[test]
    fn what_lies_above_the_bound_is_kept_as_the_bound_and_counted() {
        let mut histogram = LatencyHistogram::new();
        histogram.record_n(BOUND_US + 1, 3);
        assert_eq!((histogram.count(), histogram.out_of_range(), histogram.max_us()), (3, 3, BOUND_US + 1));
        assert!(histogram.quantile_us(0.5).unwrap() >= BOUND_US);
    }

    #[test]
    fn a_histogram_survives_its_text_and_merges() {
        let mut first = LatencyHistogram::new();
        first.record(1_001);
        first.record(70_003);
        let mut merged = LatencyHistogram::decode(&first.encode().unwrap(), Some(first.max_us())).unwrap();
        let mut second = LatencyHistogram::new();
        second.record_n(5, 2);
        merged.merge(&second).unwrap();
        assert_eq!((merged.count(), merged.max_us(), merged.quantile_us(0.25)), (4, 70_003, Some(5)));
    }

    #[test]
    fn merging_counts_each_value_where_it_was_counted() {
        let values = [1, 2_047, 2_048, 70_003, 599_999_999, BOUND_US, BOUND_US + 1];
        let (mut all, mut merged) = (LatencyHistogram::new(), LatencyHistogram::new());
        for (times, value_us) in (1..).zip(values) {
            let mut one = LatencyHistogram::new();
            one.record_n(value_us, times);
            all.record_n(value_us, times);
            merged.merge(&one).unwrap();
        }
        assert_eq!(merged.values().collect::<Vec<_>>(), all.values().collect::<Vec<_>>());
        assert_eq!((merged.count(), merged.max_us(), merged.out_of_range()), (28, BOUND_US + 1, 7));
    }

    #[test]
    fn values_above_the_bound_of_another_histogram_are_refused() {
        let mut far = Histogram::<u32>::new_with_bounds(1, BOUND_US * 100, SIGNIFICANT_DIGITS).unwrap();
        far.record(BOUND_US * 50).unwrap();
        let other = LatencyHistogram { counts: far, max_us: 0, out_of_range: 0 };
        assert!(matches!(LatencyHistogram::new().merge(&other), Err(HistogramError::Bound)));
    }

    #[test]
    fn text_that_is_no_histogram_is_refused() {
        assert!(matches!(LatencyHistogram::decode("*", None), Err(HistogramError::Base64(_))));
        assert!(matches!(LatencyHistogram::decode("AAAA", None), Err(HistogramError::Decode(_))));
    }

    #[test]
    fn a_histogram_with_another_bound_is_refused() {
        let mut bytes = Vec::new();
        let foreign = Histogram::<u32>::new_with_bounds(1, 1_000_000, SIGNIFICANT_DIGITS).unwrap();
        V2DeflateSerializer::new().serialize(&foreign, &mut bytes).unwrap();
        assert!(matches!(LatencyHistogram::decode(&STANDARD.encode(bytes), None), Err(HistogramError::Bound)));
    }

    #[test]
    fn a_second_leaves_empty_histograms_out() {
        let mut second = GroupSecond::default();
        let mut histogram = LatencyHistogram::new();
        second.put_histogram("service_bad", &histogram).unwrap();
        histogram.record(42);
        second.put_histogram("service_ok", &histogram).unwrap();
        assert_eq!(second.histograms.keys().collect::<Vec<_>>(), ["service_ok"]);
        assert_eq!(second.histogram("service_ok").unwrap().unwrap().max_us(), 42);
        assert!(second.histogram("service_bad").unwrap().is_none());
    }
}
