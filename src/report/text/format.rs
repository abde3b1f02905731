//! Figures as people read them: short, with a unit, never more digits than they are worth.

/// A span given in milliseconds: `0`, `830 ms`, `9.24 s`, `13.2 s`, `125 s`.
pub(crate) fn span_ms(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let ms = ms.unsigned_abs();
    match ms {
        0 => "0".to_owned(),
        1..1_000 => format!("{sign}{ms} ms"),
        1_000..10_000 => format!("{sign}{}.{:02} s", (ms + 5) / 1_000, (ms + 5) % 1_000 / 10),
        10_000..100_000 => format!("{sign}{}.{} s", (ms + 50) / 1_000, (ms + 50) % 1_000 / 100),
        _ => format!("{sign}{} s", (ms + 500) / 1_000),
    }
}

/// A span given in microseconds: `830 us`, `2.35 ms`, then as [`span_ms`].
pub(crate) fn span_us(us: u64) -> String {
    match us {
        0 => "0".to_owned(),
        1..1_000 => format!("{us} us"),
        1_000..10_000 => format!("{}.{:02} ms", (us + 5) / 1_000, (us + 5) % 1_000 / 10),
        10_000..100_000 => format!("{}.{} ms", (us + 50) / 1_000, (us + 50) % 1_000 / 100),
        _ => span_ms(i64::try_from(us.saturating_add(500) / 1_000).unwrap_or(i64::MAX)),
    }
}

/// A moment of the run given in milliseconds: `-1.9 s`, `12.0 s`.
pub(crate) fn moment_ms(ms: i64) -> String {
    let tenths = (ms + 50).div_euclid(100);
    format!("{}{}.{} s", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10)
}

/// Text broken into lines of at most so many characters.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_keep_about_three_digits() {
        let table = [
            (0, "0"),
            (7, "7 ms"),
            (-50, "-50 ms"),
            (999, "999 ms"),
            (1_000, "1.00 s"),
            (9_994, "9.99 s"),
            (9_996, "10.00 s"),
            (13_249, "13.2 s"),
            (99_960, "100.0 s"),
            (125_400, "125 s"),
        ];
        for (ms, text) in table {
            assert_eq!(span_ms(ms), text, "{ms}");
        }
        let table = [(0, "0"), (830, "830 us"), (2_346, "2.35 ms"), (45_678, "45.7 ms"), (123_456, "123 ms"), (1_240_000, "1.24 s")];
        for (us, text) in table {
            assert_eq!(span_us(us), text, "{us}");
        }
    }

    #[test]
    fn moments_have_their_unit() {
        assert_eq!([-1_940, 0, 12_049].map(moment_ms), ["-1.9 s", "0.0 s", "12.0 s"]);
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("", 7), [""; 0]);
    }
}
