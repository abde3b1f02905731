//! Values as a command line gives them: `2s,10s`, `"4.0.2"`, `[1, 2],[2, 1]`.
//!
//! A value is TOML; what is not, such as `10s`, is the text itself. Not here: whether the key takes it, which the plan's own check says.

use toml_edit::Value;

use crate::plan::units;

/// A value of a key.
#[derive(Clone, Debug)]
pub(super) struct KeyValue {
    /// As it was written, without quotes around it.
    pub(super) text: String,
    value: Value,
    /// Whether it was no TOML.
    is_bare: bool,
}

impl KeyValue {
    fn read(text: &str) -> Self {
        match text.parse::<Value>() {
            Ok(value) => {
                let text = value.as_str().map_or_else(|| text.to_owned(), str::to_owned);
                Self { text, value, is_bare: false }
            }
            Err(_) => Self { text: text.to_owned(), value: Value::from(text), is_bare: true },
        }
    }

    /// Whether it is a table in braces.
    pub(super) fn is_table(&self) -> bool {
        self.value.is_inline_table()
    }

    /// For a key of the plan language.
    pub(super) fn plain(&self) -> Value {
        self.value.clone()
    }

    /// For a property: Kafka counts in milliseconds what ends in `.ms`, and a bare duration becomes that.
    pub(super) fn property(&self, name: &str) -> Value {
        let duration = units::duration(&self.text).ok().filter(|_| self.is_bare && name.ends_with(".ms"));
        let milliseconds = duration.and_then(|duration| i64::try_from(duration.as_millis()).ok());
        milliseconds.map_or_else(|| self.plain(), Value::from)
    }
}

/// The values of a list, split at its commas outside quotes and brackets. An empty one is `None`.
pub(super) fn list(text: &str) -> Option<Vec<KeyValue>> {
    let mut values = Vec::new();
    let (mut depth, mut quote, mut start) = (0_u32, None, 0);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                values.push(&text[start..at]);
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    values.push(&text[start..]);
    values.into_iter().map(|text| Some(KeyValue::read(text.trim())).filter(|value| !value.text.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Option<Vec<String>> {
        list(text).map(|values| values.into_iter().map(|value| value.text).collect())
    }

    #[test]
    fn a_list_is_split_outside_quotes_and_brackets() {
        let rows: [(&str, &[&str]); 5] = [
            ("2s,10s", &["2s", "10s"]),
            ("1 , all", &["1", "all"]),
            (r#""a,b",c"#, &["a,b", "c"]),
            ("[[1, 2]],[[2, 1]]", &["[[1, 2]]", "[[2, 1]]"]),
            ("{ broker = 1, down = \"4s\" }", &["{ broker = 1, down = \"4s\" }"]),
        ];
        for (text, expected) in rows {
            assert_eq!(texts(text).unwrap(), expected, "{text}");
        }
        for text in ["", "1,", ",1", "1,,2"] {
            assert_eq!(texts(text), None, "{text:?}");
        }
    }

    #[test]
    fn values_are_toml_or_the_text_itself() {
        let rows = [("5", "5"), ("true", "true"), ("\"5\"", "\"5\""), ("10s", "\"10s\""), ("4.0.2", "\"4.0.2\""), ("all", "\"all\"")];
        for (text, expected) in rows {
            assert_eq!(KeyValue::read(text).plain().to_string().trim(), expected, "{text}");
        }
    }

    #[test]
    fn a_bare_duration_is_milliseconds_for_a_property_that_counts_in_them() {
        let rows = [
            ("10s", "metadata.max.age.ms", "10000"),
            ("1m30s", "linger.ms", "90000"),
            ("10s", "acks", "\"10s\""),
            ("\"10s\"", "linger.ms", "\"10s\""),
            ("500", "linger.ms", "500"),
        ];
        for (text, name, expected) in rows {
            assert_eq!(KeyValue::read(text).property(name).to_string().trim(), expected, "{text} for {name}");
        }
    }
}
