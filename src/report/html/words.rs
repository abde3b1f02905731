//! Sentences on a page: names in them are set as code, so that nobody reads a topic called `all` as a word.

use maud::{Markup, html};

/// A sentence in which names stand between backticks, or are partitions such as `orders/0`.
pub(crate) fn words(text: &str) -> Markup {
    let count = text.matches('`').count();
    // One without its other: the text was cut within a name.
    let (whole, cut) = if count.is_multiple_of(2) { (text, "") } else { text.split_at(text.rfind('`').unwrap_or(text.len())) };
    let parts = whole.split('`').enumerate();
    let mut named: Vec<(bool, &str)> =
        parts.flat_map(|(at, part)| if at % 2 == 1 { vec![(true, part)] } else { with_partitions(part) }).collect();
    named.push((false, cut));
    html! {
        @for (is_name, part) in named { @if is_name { code { (part) } } @else { (part) } }
    }
}

/// Partitions' names, and what stands between them.
fn with_partitions(text: &str) -> Vec<(bool, &str)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((from, to)) = partition(rest) {
        parts.extend([(false, &rest[..from]), (true, &rest[from..to])]);
        rest = &rest[to..];
    }
    parts.push((false, rest));
    parts
}

/// Where the first partition's name begins and ends: a topic that is more than digits (`1/2` is a share), a slash, digits.
fn partition(text: &str) -> Option<(usize, usize)> {
    let is_of_name = |character: char| character.is_ascii_alphanumeric() || "._-/".contains(character);
    let mut from = 0;
    for word in text.split_inclusive(|character| !is_of_name(character)) {
        let name = word.trim_end_matches(|character| !is_of_name(character)).trim_end_matches('.');
        let is_partition = name.split_once('/').is_some_and(|(topic, index)| {
            let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
            is_number && topic.contains(|character: char| character.is_ascii_alphabetic())
        });
        if is_partition {
            return Some((from, from + name.len()));
        }
        from += word.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_everything_else_is_text() {
        let table = [
            ("records of `a b` wait", "records of <code>a b</code> wait"),
            (
                "orders/0: 9.0 of 9.3 s, 1/2 stalled, orders-2/13.",
                "<code>orders/0</code>: 9.0 of 9.3 s, 1/2 stalled, <code>orders-2/13</code>.",
            ),
            ("leader-of(orders/0) and plans/x.toml", "leader-of(<code>orders/0</code>) and plans/x.toml"),
            ("a lone ` and <b>`", "a lone <code> and &lt;b&gt;</code>"),
            ("one ` alone", "one ` alone"),
            ("`steady` and `spa…", "<code>steady</code> and `spa…"),
            ("`<img>` /2 x/ 3/s a/b/1", "<code>&lt;img&gt;</code> /2 x/ 3/s a/b/1"),
            ("", ""),
        ];
        for (text, expected) in table {
            assert_eq!(words(text).into_string(), expected, "{text}");
        }
    }
}
