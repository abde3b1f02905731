//! Tables of properties, whose names the grammar does not list.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::{Fields, Value, found};
use crate::plan::problem::Problem;

/// One property of a `config` table; numbers and booleans have become text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Property<'p> {
    pub(in crate::plan) key: &'p str,
    pub(in crate::plan) key_span: Range<usize>,
    pub(in crate::plan) value: String,
    pub(in crate::plan) value_span: Range<usize>,
}

impl<'p> Fields<'p> {
    /// Properties, in the order of the text. Absent: none.
    pub(in crate::plan) fn config(&self, key: &str) -> Vec<Property<'p>> {
        let Some((rule, Some(value))) = self.lookup(key) else { return Vec::new() };
        let DeValue::Table(entries) = value.get_ref() else {
            self.wrong_type(rule.name, &rule.kind, value);
            return Vec::new();
        };
        let mut properties: Vec<Property<'p>> = entries.iter().filter_map(|(name, value)| self.property(name, value)).collect();
        properties.sort_by_key(|property| property.key_span.start);
        properties
    }

    fn property(&self, name: &'p Spanned<Cow<'p, str>>, value: &'p Value<'p>) -> Option<Property<'p>> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Boolean(truth) => truth.to_string(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Integer(number) => decimal(number),
            DeValue::Table(below) => {
                let dotted = dotted_name(name.get_ref(), below);
                let message = format!("`{}` is a table, not a value", name.get_ref());
                let hint = format!("a property's name with dots stands in quotes: `\"{dotted}\" = ...`");
                self.problems.push(Problem::error(name.span(), message).hint(hint));
                return None;
            }
            DeValue::Array(_) | DeValue::Datetime(_) => {
                let message = format!("a property's value is a string, a number or a boolean, not {}", found(value));
                self.problems.push(Problem::error(value.span(), message).hint("write a list as one string, with commas"));
                return None;
            }
        };
        Some(Property { key: name.get_ref(), key_span: name.span(), value: text, value_span: value.span() })
    }
}

/// A number of any base as Java writes it; one too large for any property stays as it is, to be refused by what reads it.
fn decimal(number: &DeInteger<'_>) -> String {
    i128::from_str_radix(number.as_str(), number.radix()).map_or_else(|_| number.to_string(), |number| number.to_string())
}

/// `a` and `{b = {c = 1}}` are how TOML reads `a.b.c = 1`.
fn dotted_name(first: &str, below: &DeTable<'_>) -> String {
    let mut name = first.to_owned();
    let mut table = Some(below);
    while let Some((key, value)) = table.and_then(|table| table.iter().next()) {
        name = format!("{name}.{}", key.get_ref());
        table = value.get_ref().as_table();
    }
    name
}
