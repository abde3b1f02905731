//! Counts, and counts of bytes, as people read them. Used wherever a number is shown; no times here.

/// A count with its thousands set apart: `1,234,567`.
#[must_use]
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes in decimal units: `412 B`, `3.4 kB`, `40.0 MB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit / (unit / 10));
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", tenths(1_000)),
        1_000_000..1_000_000_000 => format!("{} MB", tenths(1_000_000)),
        _ => format!("{} GB", tenths(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (count, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(grouped(count), text);
        }
    }

    #[test]
    fn bytes_have_their_unit() {
        assert_eq!([12, 3_456, 40_049_000, 7_000_000_000].map(bytes), ["12 B", "3.4 kB", "40.0 MB", "7.0 GB"]);
    }
}
