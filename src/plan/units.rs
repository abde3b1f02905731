//! Durations, rates and sizes as plans write them: `"1m30s"`, `"20/s"`, `"16 KiB"`; and back into text.
//!
//! Pure text. Not here: where in the plan a unit stands, and whether its value makes sense there. Called by `raw` and by whoever shows
//! a plan.

use std::num::NonZeroU64;
use std::time::Duration;

use jiff::fmt::friendly::{Designator, Spacing, SpanParser, SpanPrinter};

/// Longest duration that a plan may hold: longer ones are slips of the pen, and sums of a few never overflow.
pub const DURATION_MAX: Duration = Duration::from_secs(24 * 3600);

/// Highest rate of one producer, in records per second.
pub const RATE_MAX: f64 = 1_000_000.0;

/// Units of size with their bytes. The first spelling of a magnitude is the one to show.
const SIZE_UNITS: [(&str, u64); 7] =
    [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000), ("B", 1)];

/// Units of rate with their lengths in seconds.
const RATE_UNITS: [(&str, f64); 3] = [("s", 1.0), ("min", 60.0), ("h", 3600.0)];

/// Why a text is not the unit that it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnitError {
    /// No duration at all.
    #[error("not a duration")]
    NotADuration,
    /// Longer than [`DURATION_MAX`].
    #[error("longer than 24 hours")]
    TooLong,
    /// No rate at all.
    #[error("not a rate")]
    NotARate,
    /// Zero, negative or above [`RATE_MAX`].
    #[error("a rate lies above 0 and at most at 1000000/s")]
    RateOutOfRange,
    /// No size at all.
    #[error("not a size")]
    NotASize,
    /// No rate of bytes at all.
    #[error("not bytes per second")]
    NotAByteRate,
    /// Does not fit.
    #[error("too large")]
    TooLarge,
}

impl UnitError {
    /// How it would be right.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NotADuration => "write a number with its unit, such as \"500ms\", \"30s\" or \"1m30s\"",
            Self::TooLong => "a plan's durations are at most \"24h\"",
            Self::NotARate => "write records per time, such as \"20/s\" or \"30/min\", or \"max\"",
            Self::RateOutOfRange => "for as fast as possible write \"max\"; for more records raise `count`",
            Self::NotAByteRate => "write a whole number above 0 with its unit, per second, such as \"64 KiB/s\"",
            Self::NotASize | Self::TooLarge => "write a whole number with its unit: B, kB, KiB, MB, MiB, GB or GiB, such as \"16 KiB\"",
        }
    }
}

/// How often a producer sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As fast as the client takes records.
    Max,
    /// So many records per second.
    PerSecond(f64),
}

/// Reads `"1m30s"`, `"500ms"`, `"2 minutes"`.
///
/// # Errors
/// On anything else, a bare number included: its unit would be a guess.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let duration = SpanParser::new().parse_unsigned_duration(text).map_err(|_| UnitError::NotADuration)?;
    if duration > DURATION_MAX { Err(UnitError::TooLong) } else { Ok(duration) }
}

/// Reads `"20/s"`, `"0.5/s"`, `"30/min"`, `"max"`.
///
/// # Errors
/// On anything else.
pub fn rate(text: &str) -> Result<Rate, UnitError> {
    if text.trim() == "max" {
        return Ok(Rate::Max);
    }
    let (count, unit) = text.split_once('/').ok_or(UnitError::NotARate)?;
    let seconds = RATE_UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or(UnitError::NotARate)?.1;
    let count = count.trim();
    if count.is_empty() || !count.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return Err(UnitError::NotARate);
    }
    let per_second = count.parse::<f64>().map_err(|_| UnitError::NotARate)? / seconds;
    if per_second > 0.0 && per_second <= RATE_MAX { Ok(Rate::PerSecond(per_second)) } else { Err(UnitError::RateOutOfRange) }
}

/// Reads `"100 B"`, `"16 KiB"`, `"1MB"` into bytes.
///
/// # Errors
/// On anything else, a bare number included.
pub fn size(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or(UnitError::NotASize)?;
    let (count, unit) = text.split_at(digits);
    let bytes = SIZE_UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or(UnitError::NotASize)?.1;
    if count.is_empty() {
        return Err(UnitError::NotASize);
    }
    count.parse::<u64>().ok().and_then(|count| count.checked_mul(bytes)).ok_or(UnitError::TooLarge)
}

/// Reads `"64 KiB/s"` into bytes per second.
///
/// # Errors
/// On anything else, 0 included.
pub fn byte_rate(text: &str) -> Result<NonZeroU64, UnitError> {
    let (bytes, second) = text.split_once('/').ok_or(UnitError::NotAByteRate)?;
    if second.trim() != "s" {
        return Err(UnitError::NotAByteRate);
    }
    let bytes = size(bytes).map_err(|error| if error == UnitError::TooLarge { error } else { UnitError::NotAByteRate })?;
    NonZeroU64::new(bytes).ok_or(UnitError::NotAByteRate)
}

/// A duration as a plan would write it: `1m30s`.
#[must_use]
pub fn show_duration(duration: Duration) -> String {
    SpanPrinter::new().spacing(Spacing::None).designator(Designator::Compact).unsigned_duration_to_string(&duration)
}

/// A size as a plan would write it, in the largest binary unit that divides it: `16 KiB`.
#[must_use]
pub fn show_size(bytes: u64) -> String {
    let (unit, factor) = SIZE_UNITS
        .iter()
        .find(|(name, factor)| (name.contains('i') && bytes > 0 && bytes.is_multiple_of(*factor)) || *factor == 1)
        .unwrap_or(&("B", 1));
    format!("{} {unit}", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_are_bounded() {
        for (text, ms) in [("0s", 0), ("500ms", 500), ("1.5s", 1500), ("1m30s", 90_000), ("2 minutes", 120_000), ("24h", 86_400_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "5", "-4s", "4s ago", "s", "PT4S", "1h 4", "1d"] {
            assert_eq!(duration(text), Err(UnitError::NotADuration), "{text}");
        }
        assert_eq!(duration("25h"), Err(UnitError::TooLong));
    }

    #[test]
    fn rates_are_per_time_or_max() {
        for (text, per_second) in [("20/s", 20.0), ("0.5/s", 0.5), ("30 / min", 0.5), ("3600/h", 1.0)] {
            assert_eq!(rate(text), Ok(Rate::PerSecond(per_second)), "{text}");
        }
        assert_eq!(rate("max"), Ok(Rate::Max));
        for text in ["", "20", "/s", "20/d", "-1/s", "1e3/s", "inf/s", "1.2.3/s"] {
            assert_eq!(rate(text), Err(UnitError::NotARate), "{text}");
        }
        for text in ["0/s", "1000001/s"] {
            assert_eq!(rate(text), Err(UnitError::RateOutOfRange), "{text}");
        }
    }

    #[test]
    fn sizes_have_binary_and_decimal_units() {
        for (text, bytes) in [("100 B", 100), ("16KiB", 16_384), ("384 MiB", 402_653_184), ("1 MB", 1_000_000), ("2 kB", 2_000)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "100", "B", "1.5 MiB", "-1 B", "1 kb", "1 TiB"] {
            assert_eq!(size(text), Err(UnitError::NotASize), "{text}");
        }
        assert_eq!(size("99999999999 GiB"), Err(UnitError::TooLarge));
    }

    #[test]
    fn rates_of_bytes_are_per_second_and_never_0() {
        for (text, bytes) in [("64 KiB/s", 65_536), ("1 MB / s", 1_000_000), ("1 B/s", 1)] {
            assert_eq!(byte_rate(text), Ok(NonZeroU64::new(bytes).unwrap()), "{text}");
        }
        for text in ["", "64 KiB", "64/s", "0 B/s", "1 KiB/min", "max"] {
            assert_eq!(byte_rate(text), Err(UnitError::NotAByteRate), "{text}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for (ms, text) in [(0, "0s"), (500, "500ms"), (90_000, "1m30s"), (61_500, "1m1s500ms")] {
            assert_eq!(show_duration(Duration::from_millis(ms)), text);
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)));
        }
        for (bytes, text) in [(0, "0 B"), (100, "100 B"), (16_384, "16 KiB"), (402_653_184, "384 MiB"), (1_000_000, "1000000 B")] {
            assert_eq!(show_size(bytes), text);
            assert_eq!(size(text), Ok(bytes));
        }
    }
}
