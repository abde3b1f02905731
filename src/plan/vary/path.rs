//! Where in a plan something is: `producers.*.config."metadata.max.age.ms"`, and how that is read.
//!
//! Not here: whether a plan has such a place (`patch`).

use std::fmt;

/// A path to a key of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeyPath(pub(super) Vec<Segment>);

/// A part of a path, between two dots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// `*`: every entry of a list.
    Every,
    /// A key, the name of an entry of a list, or its place in the list, counted from 0.
    Word(String),
}

impl Segment {
    /// As it was written, without quotes.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Every => "*",
            Self::Word(word) => word,
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_bare = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        for (index, segment) in self.0.iter().enumerate() {
            let dot = if index == 0 { "" } else { "." };
            match segment {
                Segment::Word(word) if !is_bare(word) => write!(f, "{dot}\"{word}\"")?,
                segment => write!(f, "{dot}{}", segment.text())?,
            }
        }
        Ok(())
    }
}

/// Reads a path; what is wrong with it, in words.
pub(super) fn read(text: &str) -> Result<KeyPath, &'static str> {
    let mut segments = Vec::new();
    let mut rest = text.trim();
    loop {
        let (segment, after) = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let (word, after) = rest[1..].split_once(quote).ok_or("a quote is not closed")?;
                (Segment::Word(word.to_owned()), after)
            }
            _ => {
                let end = rest.find('.').unwrap_or(rest.len());
                let word = rest[..end].trim();
                (if word == "*" { Segment::Every } else { Segment::Word(word.to_owned()) }, &rest[end..])
            }
        };
        if segment.text().is_empty() {
            return Err("a part between two dots is empty");
        }
        segments.push(segment);
        let after = after.trim_start();
        if after.is_empty() {
            return Ok(KeyPath(segments));
        }
        rest = after.strip_prefix('.').ok_or("after a quoted part comes a dot")?.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(text: &str) -> Segment {
        Segment::Word(text.to_owned())
    }

    #[test]
    fn parts_are_words_quoted_words_or_stars() {
        let rows = [
            ("phases.recovery", vec![word("phases"), word("recovery")]),
            (
                r#"producers.*.config."metadata.max.age.ms""#,
                vec![word("producers"), Segment::Every, word("config"), word("metadata.max.age.ms")],
            ),
            (" topic . 'a.b' . partitions ", vec![word("topic"), word("a.b"), word("partitions")]),
            ("step.0.at", vec![word("step"), word("0"), word("at")]),
        ];
        for (text, expected) in rows {
            assert_eq!(read(text), Ok(KeyPath(expected)), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", ".", "a.", ".a", "a..b", "a.\"b", "\"a\"b", "a.\"\""] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_path_is_shown_as_it_can_be_written() {
        for text in ["phases.recovery", r#"producers.*.config."metadata.max.age.ms""#] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
    }
}
