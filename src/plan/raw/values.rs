//! Values of a table by the kinds of the grammar: text, numbers, units, lists, tables below.
//!
//! Every method answers `None` for "absent" and for "wrong"; the second leaves a problem behind.

use std::num::NonZeroU64;
use std::time::Duration;

use toml::de::DeValue;

use super::{At, Fields, Value, found};
use crate::plan::grammar::{Key, Kind, Need, Table};
use crate::plan::problem::{Problem, list};
use crate::plan::units::{self, UnitError};

/// A node id or the name of a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) enum IdOrText<'p> {
    Id(u64),
    Text(&'p str),
}

/// A word, or a list of strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) enum TextsOrText<'p> {
    Text(At<&'p str>),
    Texts(Vec<At<&'p str>>),
}

impl<'p> Fields<'p> {
    /// A string, or its default.
    pub(in crate::plan) fn text(&self, key: &str) -> Option<At<&'p str>> {
        let (rule, value) = self.lookup(key)?;
        match value {
            Some(value) => self.string(rule, value),
            None => default_of(rule).map(|text| At { value: text, span: self.span.clone() }),
        }
    }

    /// A string through a parser of units, or its default.
    fn unit<T>(&self, key: &str, parse: fn(&str) -> Result<T, UnitError>) -> Option<At<T>> {
        let text = self.text(key)?;
        match parse(text.value) {
            Ok(value) => Some(At { value, span: text.span }),
            Err(error) => {
                let message = format!("`{key}` = \"{}\": {error}", text.value);
                self.problems.push(Problem::error(text.span, message).hint(error.hint()));
                None
            }
        }
    }

    /// A duration, or its default.
    pub(in crate::plan) fn duration(&self, key: &str) -> Option<Duration> {
        self.unit(key, units::duration).map(|found| found.value)
    }

    /// A rate.
    pub(in crate::plan) fn rate(&self, key: &str) -> Option<At<units::Rate>> {
        self.unit(key, units::rate)
    }

    /// Bytes per second.
    pub(in crate::plan) fn byte_rate(&self, key: &str) -> Option<NonZeroU64> {
        self.unit(key, units::byte_rate).map(|found| found.value)
    }

    /// A size within the grammar's bounds, or its default.
    pub(in crate::plan) fn size(&self, key: &str) -> Option<u64> {
        let At { value, span } = self.unit(key, units::size)?;
        let Some(Key { kind: Kind::Size { min, max }, .. }) = self.grammar.key(key) else { return Some(value) };
        if (*min..=*max).contains(&value) {
            return Some(value);
        }
        let message = format!("`{key}` lies between \"{}\" and \"{}\"", units::show_size(*min), units::show_size(*max));
        self.problems.push(Problem::error(span, message).hint(self.instance(key)));
        None
    }

    /// One of the grammar's words, or the default.
    pub(in crate::plan) fn choice(&self, key: &str) -> Option<&'p str> {
        let At { value, span } = self.text(key)?;
        let Some(Key { kind: Kind::Choice { words, later }, .. }) = self.grammar.key(key) else { return None };
        if words.contains(&value) {
            return Some(value);
        }
        let problem = if later.contains(&value) {
            Problem::error(span, format!("`{value}` is not available in this build")).hint(format!("available: {}", list(words)))
        } else {
            Problem::error(span, format!("`{key}` cannot be \"{value}\"")).did_you_mean(value, words.iter().copied())
        };
        self.problems.push(problem);
        None
    }

    /// A whole number within the grammar's bounds, or its default.
    pub(in crate::plan) fn integer(&self, key: &str) -> Option<u64> {
        let (rule, value) = self.lookup(key)?;
        match value {
            Some(value) => self.whole_number(rule.name, &rule.kind, value),
            None => default_of(rule).and_then(|text| text.parse().ok()),
        }
    }

    /// A node id, or the name of a role.
    pub(in crate::plan) fn target(&self, key: &str) -> Option<At<IdOrText<'p>>> {
        let (rule, value) = self.lookup(key)?;
        let value = value?;
        let found = match value.get_ref() {
            DeValue::Integer(_) => IdOrText::Id(self.whole_number(key, &Kind::Integer { min: 0, max: u64::from(u32::MAX) }, value)?),
            _ => IdOrText::Text(self.string(rule, value)?.value),
        };
        Some(At { value: found, span: value.span() })
    }

    /// `None` for the word that stands for all (or an absent key), else the ids.
    pub(in crate::plan) fn ids_or_all(&self, key: &str) -> Option<Vec<At<u64>>> {
        let (rule, value) = self.lookup(key)?;
        let value = value?;
        match value.get_ref() {
            DeValue::Array(items) => {
                let id = Kind::Integer { min: 0, max: u64::from(u32::MAX) };
                Some(items.iter().filter_map(|item| Some(At { value: self.whole_number(key, &id, item)?, span: item.span() })).collect())
            }
            DeValue::String(text) if text == "all" => None,
            _ => {
                self.wrong_type(rule.name, &rule.kind, value);
                None
            }
        }
    }

    /// Items of a list, each still to be read.
    pub(super) fn items(&self, rule: &Key, value: &'p Value<'p>) -> Option<&'p [Value<'p>]> {
        match value.get_ref() {
            DeValue::Array(items) => Some(items),
            _ => {
                self.wrong_type(rule.name, &rule.kind, value);
                None
            }
        }
    }

    /// A list of strings.
    pub(in crate::plan) fn texts(&self, key: &str) -> Option<Vec<At<&'p str>>> {
        let (rule, value) = self.lookup(key)?;
        let Kind::List(kind) = &rule.kind else { return None };
        let items = self.items(rule, value?)?;
        Some(items.iter().filter_map(|item| self.string_of(rule.name, kind, item)).collect())
    }

    /// A word, or a list of strings.
    pub(in crate::plan) fn texts_or_text(&self, key: &str) -> Option<TextsOrText<'p>> {
        let (rule, value) = self.lookup(key)?;
        let value = value?;
        match value.get_ref() {
            DeValue::Array(items) => Some(TextsOrText::Texts(items.iter().filter_map(|item| self.string(rule, item)).collect())),
            _ => self.string(rule, value).map(TextsOrText::Text),
        }
    }

    /// A list of lists of whole numbers; inner lists keep their place.
    pub(in crate::plan) fn numbers_of_numbers(&self, key: &str) -> Option<Vec<At<Vec<At<u64>>>>> {
        let (rule, value) = self.lookup(key)?;
        let Kind::List(Kind::List(number)) = &rule.kind else { return None };
        let items = self.items(rule, value?)?;
        let row = |row: &'p Value<'p>| {
            let numbers = self.items(rule, row)?;
            let read = |item: &'p Value<'p>| Some(At { value: self.whole_number(key, number, item)?, span: item.span() });
            Some(At { value: numbers.iter().map(read).collect::<Option<Vec<_>>>()?, span: row.span() })
        };
        items.iter().map(row).collect()
    }

    /// A table below this one.
    pub(in crate::plan) fn table(&self, key: &str) -> Option<Self> {
        let (rule, value) = self.lookup(key)?;
        let Kind::Table(grammar) = rule.kind else { return None };
        self.table_of(rule, grammar, value?)
    }

    /// A list of tables below this one; those that are no tables are left out.
    pub(in crate::plan) fn tables(&self, key: &str) -> Vec<Self> {
        let Some((rule, Some(value))) = self.lookup(key) else { return Vec::new() };
        let Kind::Tables(grammar) = rule.kind else { return Vec::new() };
        match value.get_ref() {
            DeValue::Array(items) => items.iter().filter_map(|item| self.table_of(rule, grammar, item)).collect(),
            _ => {
                let message = format!("`{key}` is {}, not {}", rule.kind.what(), found(value));
                let hint = if rule.example.starts_with("[[") {
                    format!("write its header with two brackets: `[[{key}]]`")
                } else {
                    format!("for instance `{}`", rule.example)
                };
                self.problems.push(Problem::error(value.span(), message).hint(hint));
                Vec::new()
            }
        }
    }

    fn table_of(&self, rule: &Key, grammar: &'static Table, value: &'p Value<'p>) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(entries) => Some(Self::new(grammar, entries, value.span(), self.problems)),
            _ => {
                let message = format!("`{}` is a table, not {}", rule.name, found(value));
                self.problems.push(Problem::error(value.span(), message).hint(format!("for instance `{}`", rule.example)));
                None
            }
        }
    }

    fn string(&self, rule: &Key, value: &'p Value<'p>) -> Option<At<&'p str>> {
        self.string_of(rule.name, &rule.kind, value)
    }

    fn string_of(&self, key: &str, kind: &Kind, value: &'p Value<'p>) -> Option<At<&'p str>> {
        match value.get_ref() {
            DeValue::String(text) => Some(At { value: text.as_ref(), span: value.span() }),
            _ => {
                self.wrong_type(key, kind, value);
                None
            }
        }
    }

    pub(super) fn whole_number(&self, key: &str, kind: &Kind, value: &'p Value<'p>) -> Option<u64> {
        let DeValue::Integer(number) = value.get_ref() else {
            self.wrong_type(key, kind, value);
            return None;
        };
        let Kind::Integer { min, max } = kind else { return None };
        let read = i128::from_str_radix(number.as_str(), number.radix()).ok().and_then(|number| u64::try_from(number).ok());
        match read.filter(|number| (*min..=*max).contains(number)) {
            Some(number) => Some(number),
            None => {
                let message = if *max == i64::MAX as u64 || *max == u64::from(u32::MAX) {
                    format!("`{key}` is at least {min}")
                } else {
                    format!("`{key}` lies between {min} and {max}")
                };
                self.problems.push(Problem::error(value.span(), message).hint(self.instance(key)));
                None
            }
        }
    }
}

fn default_of(rule: &Key) -> Option<&'static str> {
    match rule.need {
        Need::Default(text) => Some(text),
        Need::Required | Need::Optional => None,
    }
}
