//! Values of figures as people read them: with their unit, in about three digits.

use crate::digits::grouped;
use crate::plan::model::Unit;

/// A value with its unit, in about three digits: `12.6 s`, `1.44 ms`, `0.250/s`, `17`.
#[must_use]
pub fn value(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Ms => duration(value),
        Unit::Count => digits(value),
        Unit::PerSecond => format!("{}/s", digits(value)),
        Unit::Percent => format!("{} %", digits(value)),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
    }
}

/// In seconds, milliseconds or microseconds, so that three digits are left whatever its size.
fn duration(ms: f64) -> String {
    match ms.abs() {
        999.5.. => format!("{} s", three_digits(ms / 1_000.0)),
        0.9995.. => format!("{} ms", digits(ms)),
        0.0 => "0 ms".to_owned(),
        _ => format!("{} us", three_digits(ms * 1_000.0)),
    }
}

/// In decimal units; unlike a count of bytes, it may be a fraction or negative.
fn bytes(value: f64) -> String {
    match value.abs() {
        1e9.. => format!("{} GB", three_digits(value / 1e9)),
        1e6.. => format!("{} MB", three_digits(value / 1e6)),
        1e3.. => format!("{} kB", three_digits(value / 1e3)),
        _ => format!("{} B", digits(value)),
    }
}

/// A probability: never 0.
#[must_use]
pub fn probability(p: f64) -> String {
    if p < 0.0001 {
        "< 0.0001".to_owned()
    } else if p < 0.1 {
        format!("{p:.4}")
    } else {
        format!("{p:.2}")
    }
}

/// Whole numbers whole, others in three digits.
fn digits(value: f64) -> String {
    if value.fract() == 0.0 { rounded(value) } else { three_digits(value) }
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        99.95.. => rounded(value),
        9.995.. => format!("{value:.1}"),
        0.9995.. => format!("{value:.2}"),
        0.09995.. => format!("{value:.3}"),
        0.001.. => format!("{value:.4}"),
        _ if value == 0.0 => "0".to_owned(),
        _ => format!("{value:.1e}"),
    }
}

fn rounded(value: f64) -> String {
    let sign = if value.round() < 0.0 { "-" } else { "" };
    format!("{sign}{}", grouped(whole(value.abs())))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "not negative, and saturating is what a reader would want")]
fn whole(size: f64) -> u64 {
    size.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_unit_and_about_three_digits() {
        let table = [
            (Unit::Ms, 12_612.0, "12.6 s"),
            (Unit::Ms, -9_000.0, "-9.00 s"),
            (Unit::Ms, 1.44, "1.44 ms"),
            (Unit::Ms, 999.7, "1.00 s"),
            (Unit::Ms, 0.9996, "1.00 ms"),
            (Unit::Ms, 0.999, "999 us"),
            (Unit::Ms, -0.0423, "-42.3 us"),
            (Unit::Ms, 0.001_25, "1.25 us"),
            (Unit::Ms, 0.0, "0 ms"),
            (Unit::Ms, 15.0, "15 ms"),
            (Unit::Count, 0.0, "0"),
            (Unit::Count, 1_234_567.0, "1,234,567"),
            (Unit::Count, -2.25, "-2.25"),
            (Unit::PerSecond, 0.25, "0.250/s"),
            (Unit::Percent, 10.74, "10.7 %"),
            (Unit::Bytes, 375_300.0, "375 kB"),
            (Unit::BytesPerSecond, 412.0, "412 B/s"),
            (Unit::Count, 0.000_02, "2.0e-5"),
        ];
        for (unit, number, text) in table {
            assert_eq!(value(unit, number), text);
        }
    }

    #[test]
    fn a_probability_is_never_0() {
        assert_eq!([0.0, 0.000_2, 0.0099, 0.5].map(probability), ["< 0.0001", "0.0002", "0.0099", "0.50"]);
    }
}
