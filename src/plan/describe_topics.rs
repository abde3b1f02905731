//! Changes of topics and properties in words, for time lines, progress lines and reports.

use std::fmt;

use super::model::{PropertyChange, Reassignment, Reshape};
use crate::ids::BrokerId;

impl fmt::Display for Reshape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config.as_ref().map(|config| {
            let each: Vec<String> = config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            if each.is_empty() { "no properties".to_owned() } else { each.join(", ") }
        });
        let partitions = self.partitions.map(|partitions| format!("{partitions} partitions"));
        let parts: Vec<String> = partitions.into_iter().chain(self.replication.as_ref().map(ToString::to_string)).chain(config).collect();
        if parts.is_empty() { f.write_str("as it was") } else { f.write_str(&parts.join(", ")) }
    }
}

impl fmt::Display for Reassignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(_, replicas) => write!(f, "to [{}]", joined(replicas)),
            Self::Each(rows) => {
                let rows: Vec<String> = rows.iter().map(|row| format!("[{}]", joined(row))).collect();
                write!(f, "to {}", rows.join(", "))
            }
            Self::Over(brokers) if brokers.is_empty() => f.write_str("over all brokers"),
            Self::Over(brokers) => write!(f, "over brokers {}", joined(brokers)),
        }
    }
}

impl fmt::Display for PropertyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.set.iter().map(|(key, value)| format!("{key} = {value}"));
        let unset = self.unset.iter().map(|key| format!("unset {key}"));
        f.write_str(&set.chain(unset).collect::<Vec<_>>().join(", "))
    }
}

fn joined(brokers: &[BrokerId]) -> String {
    brokers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
