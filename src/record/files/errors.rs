//! `errors.csv`: what went wrong with records and batches, summed by group, kind and code.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::replace::replace_table;
use super::{cell, millis};
use crate::record::error::Result;
use crate::record::fact::{Fact, Stamped};

pub(super) const COLUMNS: &str = "group,kind,code,count,first_ms,last_ms,text";

/// The kind of batches that came back with an error and were sent again: no record failed by it.
const RETRIED: &str = "BatchRetried";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: String,
    outcome: String,
    kind: String,
    code: Option<i16>,
}

#[derive(Debug)]
struct Row {
    count: u64,
    first_us: i64,
    last_us: i64,
    text: String,
}

#[derive(Debug)]
pub(super) struct ErrorsFile {
    path: PathBuf,
    rows: BTreeMap<Key, Row>,
    changed: bool,
}

impl ErrorsFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let mut file = Self { path, rows: BTreeMap::new(), changed: true };
        file.flush()?;
        Ok(file)
    }

    pub(super) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RecordErrors { group, outcome, kind, code, text, count, first_us, last_us } => {
                let key = Key { group: group.clone(), outcome: outcome.clone(), kind: kind.clone(), code: *code };
                let text = format!("{outcome}: {text}");
                self.add(key, Row { count: *count, first_us: *first_us, last_us: *last_us, text });
            }
            Fact::BatchError { group, node, code, retried: true, topic, partition, .. } => {
                let key = Key { group: group.clone(), outcome: String::new(), kind: RETRIED.to_owned(), code: Some(*code) };
                let text = format!("sent again; the first was for {topic}/{partition} on node {node}");
                self.add(key, Row { count: 1, first_us: stamped.time_us, last_us: stamped.time_us, text });
            }
            _ => {}
        }
    }

    fn add(&mut self, key: Key, more: Row) {
        self.changed = true;
        match self.rows.get_mut(&key) {
            Some(row) => {
                row.count += more.count;
                row.first_us = row.first_us.min(more.first_us);
                row.last_us = row.last_us.max(more.last_us);
            }
            None => {
                self.rows.insert(key, more);
            }
        }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if self.changed {
            replace_table(&self.path, COLUMNS, self.rows.iter().map(cells))?;
            self.changed = false;
        }
        Ok(())
    }
}

fn cells((key, row): (&Key, &Row)) -> [String; 7] {
    [
        key.group.clone(),
        key.kind.clone(),
        cell(key.code),
        row.count.to_string(),
        millis(row.first_us).to_string(),
        millis(row.last_us).to_string(),
        row.text.clone(),
    ]
}
