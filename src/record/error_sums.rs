//! What went wrong with records and batches, summed by group, kind and code. Whatever a record did not survive is data: no error of this program.

use std::collections::BTreeMap;

use crate::record::fact::{Fact, Stamped};

/// The kind of batches that came back with an error and were sent again: no record failed by it.
const RETRIED: &str = "BatchRetried";

/// What is summed together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ErrorKey {
    /// The group.
    pub group: String,
    /// As in [`Fact::RecordErrors`]; empty: no record was lost.
    pub outcome: String,
    /// The Java client's exception class, or `BatchRetried`.
    pub kind: String,
    /// The code, where there is one.
    pub code: Option<i16>,
}

/// A sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorSum {
    /// How many records, or batches.
    pub count: u64,
    /// The first of them.
    pub first_us: i64,
    /// The last.
    pub last_us: i64,
    /// The first one's text.
    pub text: String,
}

/// All sums.
#[derive(Clone, Debug, Default)]
pub struct ErrorLedger {
    sums: BTreeMap<ErrorKey, ErrorSum>,
}

impl ErrorLedger {
    /// Takes in a fact; tells whether it was about an error.
    pub fn fold(&mut self, stamped: &Stamped) -> bool {
        match &stamped.fact {
            Fact::RecordErrors { group, outcome, kind, code, text, count, first_us, last_us } => {
                let key = ErrorKey { group: group.clone(), outcome: outcome.clone(), kind: kind.clone(), code: *code };
                let text = format!("{outcome}: {text}");
                self.add(key, ErrorSum { count: *count, first_us: *first_us, last_us: *last_us, text });
            }
            Fact::BatchError { group, node, code, retried: true, topic, partition, .. } => {
                let key = ErrorKey { group: group.clone(), outcome: String::new(), kind: RETRIED.to_owned(), code: Some(*code) };
                let text = format!("sent again; the first was for {topic}/{partition} on node {node}");
                self.add(key, ErrorSum { count: 1, first_us: stamped.time_us, last_us: stamped.time_us, text });
            }
            _ => return false,
        }
        true
    }

    /// All sums in order.
    pub fn sums(&self) -> impl ExactSizeIterator<Item = (&ErrorKey, &ErrorSum)> {
        self.sums.iter()
    }

    fn add(&mut self, key: ErrorKey, more: ErrorSum) {
        match self.sums.get_mut(&key) {
            Some(sum) => {
                sum.count += more.count;
                sum.first_us = sum.first_us.min(more.first_us);
                sum.last_us = sum.last_us.max(more.last_us);
            }
            None => {
                self.sums.insert(key, more);
            }
        }
    }
}
