//! Short numbers for names that repeat a million times.

use std::collections::BTreeMap;

/// Names in the order in which they were first seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    names: Vec<String>,
    index: BTreeMap<String, usize>,
}

impl Names {
    /// The name's number, given on first sight.
    pub(crate) fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.index.get(name) {
            return *number;
        }
        self.index.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// The name's number; `None`: it was not seen.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The name behind a number that [`Self::number`] gave.
    pub(crate) fn name(&self, number: usize) -> &str {
        self.names.get(number).map_or("", String::as_str)
    }

    /// All names with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.names.iter().map(String::as_str).enumerate()
    }
}
