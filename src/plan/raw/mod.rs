//! Reads a parsed TOML tree by the grammar: unknown keys, wrong types, bad units, absent keys, keys that exclude each other.
//!
//! By hand over spanned values instead of through serde, because serde stops at the first mistake, and a plan's author wants all of
//! them. Not here: what values mean to each other (`check`), which reads every section through [`Fields`].

mod ceilings;
mod config;
mod places;
mod values;

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::grammar::{Key, Kind, Need, Table};
use super::problem::{Collector, Problem, list, nearest};

pub(super) use config::Property;
pub(super) use places::OneOrEach;
pub(super) use values::{IdOrText, TextsOrText};

/// A value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

type Value<'p> = Spanned<DeValue<'p>>;

/// A table of the plan, read by its grammar.
#[derive(Debug)]
pub(super) struct Fields<'p> {
    grammar: &'static Table,
    entries: &'p DeTable<'p>,
    /// Of a section: its header. Of an inline table: all of it.
    pub(super) span: Range<usize>,
    pub(super) problems: &'p Collector,
    /// Keys that an unknown one is most likely meant to be: to call them absent would be to say it twice.
    meant: Vec<&'static str>,
}

impl<'p> Fields<'p> {
    /// Takes a table: reports its unknown keys, its absent ones, and those that exclude each other.
    pub(super) fn new(grammar: &'static Table, entries: &'p DeTable<'p>, span: Range<usize>, problems: &'p Collector) -> Self {
        let mut fields = Self { grammar, entries, span, problems, meant: Vec::new() };
        for (key, _) in entries {
            if grammar.key(key.get_ref()).is_none() {
                fields.meant.extend(fields.meaning_of(key.get_ref()));
                problems.push(fields.unknown_key(key.get_ref(), key.span()));
            }
        }
        fields.report_absent_keys();
        fields.report_choices();
        fields
    }

    /// The known keys that an unknown one may stand for: the one most like it; else, where only one choice is left open, its keys.
    fn meaning_of(&self, key: &str) -> Vec<&'static str> {
        if let Some(near) = nearest(key, &self.grammar.names()) {
            return vec![near];
        }
        let mut open = self.grammar.keys.iter().filter(|key| matches!(key.need, Need::Optional)).map(|key| key.name);
        match self.grammar.choices {
            [choice] if open.all(|key| choice.keys.contains(&key)) => choice.keys.to_vec(),
            _ => Vec::new(),
        }
    }

    fn unknown_key(&self, key: &str, span: Range<usize>) -> Problem {
        let name = self.grammar.name;
        if self.grammar.later.contains(&key) {
            return Problem::error(span, format!("`{key}` is not available yet in this version"))
                .hint(format!("available in {name}: {}", list(&self.grammar.names())));
        }
        let problem = Problem::error(span, format!("{name} has no key `{key}`")).label("unknown key");
        if self.grammar.keys.is_empty() {
            problem.hint("it has none at all: write `{}`")
        } else {
            problem.did_you_mean(key, self.grammar.names())
        }
    }

    fn report_absent_keys(&self) {
        for key in self.grammar.keys {
            if matches!(key.need, Need::Required) && !self.has(key.name) && !self.meant.contains(&key.name) {
                let message = format!("{} needs `{}`", self.grammar.name, key.name);
                self.problems.push(Problem::error(self.span.clone(), message).hint(format!("for instance `{}`", key.example)).absent());
            }
        }
    }

    fn report_choices(&self) {
        for choice in self.grammar.choices {
            let mut present: Vec<&str> = choice.keys.iter().copied().filter(|key| self.has(key)).collect();
            present.sort_by_key(|key| self.key_span(key).start);
            if let [first, rest @ ..] = present.as_slice() {
                for other in rest {
                    let message = format!("`{other}` and `{first}` exclude each other");
                    self.problems
                        .push(Problem::error(self.key_span(other), message).hint(format!("keep one of both in {}", self.grammar.name)));
                }
            } else if choice.required && !choice.keys.iter().any(|key| self.meant.contains(key)) {
                let message = format!("{} needs one of {}", self.grammar.name, list(choice.keys));
                let example = choice.keys.first().and_then(|key| self.grammar.key(key)).map_or("", |key| key.example);
                self.problems.push(Problem::error(self.span.clone(), message).hint(format!("for instance `{example}`")).absent());
            }
        }
    }

    /// Whether the key is there, right or wrong.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Whether the key is there and holds a list.
    pub(super) fn is_list(&self, key: &str) -> bool {
        self.entries.get(key).is_some_and(|value| value.get_ref().is_array())
    }

    /// Place of the key's value; of the table, where the key is absent.
    pub(super) fn span_of(&self, key: &str) -> Range<usize> {
        self.entries.get(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Place of the key; of the table, where the key is absent.
    pub(super) fn key_span(&self, key: &str) -> Range<usize> {
        self.entries.get_key_value(key).map_or_else(|| self.span.clone(), |(key, _)| key.span())
    }

    /// The key's rule and, if it is there, its value. Asking for a key that the grammar lacks is a mistake in this program.
    fn lookup(&self, key: &str) -> Option<(&'static Key, Option<&'p Value<'p>>)> {
        let rule = self.grammar.key(key);
        debug_assert!(rule.is_some(), "the grammar of {} has no `{key}`", self.grammar.name);
        Some((rule?, self.entries.get(key)))
    }

    /// A value of the key as a hint.
    fn instance(&self, key: &str) -> String {
        format!("for instance `{}`", self.grammar.key(key).map_or("", |rule| rule.example))
    }

    /// Reports a value of another type than the grammar's.
    fn wrong_type(&self, key: &str, kind: &Kind, value: &Value<'p>) {
        let found = found(value);
        let problem = Problem::error(value.span(), format!("`{key}` takes {}, not {found}", kind.what())).label(format!("this is {found}"));
        self.problems.push(problem.hint(self.instance(key)));
    }
}

/// What a value is, with its article.
fn found(value: &Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
