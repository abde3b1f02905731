//! How well a topic's batches compress: a guess that decides when a batch is full before its size is known.
//!
//! Java's counterpart: `CompressionRatioEstimator`; there one guess serves all producers of a process, here each client has its own.

use crate::kafka::wire::batch::HEADER_BYTES;

/// A guess of compressed bytes per byte, for one topic (a client has one codec).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CompressionRatio(f32);

impl Default for CompressionRatio {
    fn default() -> Self {
        Self(1.0)
    }
}

impl CompressionRatio {
    const WORSE_STEP: f32 = 0.05;
    const BETTER_STEP: f32 = 0.005;

    /// The guess.
    #[must_use]
    pub fn estimate(self) -> f32 {
        self.0
    }

    /// A batch of `plain_bytes` came out at `packed_bytes`, both with their header: up at once, by a step at least; down by small steps.
    pub fn observe(&mut self, plain_bytes: usize, packed_bytes: usize) {
        let ratio = packed_bytes.saturating_sub(HEADER_BYTES) as f32 / plain_bytes.saturating_sub(HEADER_BYTES).max(1) as f32;
        if ratio > self.0 {
            self.0 = ratio.max(self.0 + Self::WORSE_STEP);
        } else if ratio < self.0 {
            self.0 = ratio.max(self.0 - Self::BETTER_STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(observed: &[f32]) -> f32 {
        let mut ratio = CompressionRatio::default();
        observed.iter().for_each(|observed| ratio.observe(HEADER_BYTES + 1_000, HEADER_BYTES + (1_000.0 * observed) as usize));
        ratio.estimate()
    }

    #[test]
    fn it_falls_slowly_and_rises_fast() {
        let near = |value: f32, expected: f32| assert!((value - expected).abs() < 1e-4, "{value} is not {expected}");
        near(after(&[]), 1.0);
        near(after(&[0.2]), 0.995);
        near(after(&[0.999]), 0.999);
        near(after(&[0.2; 40]), 0.8);
        near(after(&[[0.2; 40].as_slice(), &[0.81]].concat()), 0.85);
        near(after(&[[0.2; 40].as_slice(), &[0.95]].concat()), 0.95);
        near(after(&[0.2; 400]), 0.2);
    }
}
