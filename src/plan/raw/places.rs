//! Partitions and replicas as steps name them: one or all, one list or a list for each partition.
//!
//! As in `values`: `None` for "absent" and for "wrong", which leaves a problem behind.

use toml::de::DeValue;

use super::{At, Fields};
use crate::plan::grammar::{Kind, PARTITION_MAX};

/// Replicas of one partition, or of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) enum OneOrEach {
    One(At<Vec<At<u64>>>),
    Each(Vec<At<Vec<At<u64>>>>),
}

impl Fields<'_> {
    /// A partition's number, or `Some(None)` for all of them.
    pub(in crate::plan) fn partition_or_all(&self, key: &str) -> Option<Option<At<u64>>> {
        let (rule, value) = self.lookup(key)?;
        let Some(value) = value else { return Some(None) };
        match value.get_ref() {
            DeValue::String(text) if text == "all" => Some(None),
            DeValue::Integer(_) => {
                let number = self.whole_number(key, &Kind::Integer { min: 0, max: PARTITION_MAX }, value)?;
                Some(Some(At { value: number, span: value.span() }))
            }
            _ => {
                self.wrong_type(rule.name, &rule.kind, value);
                None
            }
        }
    }

    /// Replicas of one partition, or of each.
    pub(in crate::plan) fn one_or_each(&self, key: &str) -> Option<OneOrEach> {
        let (rule, value) = self.lookup(key)?;
        let value = value?;
        let items = self.items(rule, value)?;
        let id = Kind::Integer { min: 0, max: u64::from(u32::MAX) };
        let is_each = items.iter().any(|item| item.get_ref().is_array());
        let row = |row: &super::Value<'_>| {
            let ids = self.items(rule, row)?;
            let ids = ids.iter().map(|item| Some(At { value: self.whole_number(key, &id, item)?, span: item.span() }));
            Some(At { value: ids.collect::<Option<Vec<_>>>()?, span: row.span() })
        };
        if is_each { items.iter().map(row).collect::<Option<Vec<_>>>().map(OneOrEach::Each) } else { row(value).map(OneOrEach::One) }
    }
}
