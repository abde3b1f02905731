//! What the audit came to, as plain values. Field names are an interface: `docs/results.md` lists them.

use serde::{Deserialize, Serialize};

use crate::record::audit::AuditCounts;

/// What the topics held, against what clients were told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFinding {
    /// How long reading took.
    pub took_ms: u64,
    /// Partitions that were to be read.
    pub partitions: u64,
    /// Records that were read.
    pub records: u64,
    /// Control records among what was read, not counted as records.
    pub control_records: u64,
    /// Offsets at which there is nothing.
    pub missing_offsets: u64,
    /// Records of nobody in this run.
    pub foreign: u64,
    /// Records with a broken checksum.
    pub corrupt: u64,
    /// Records too short for a checksum.
    pub unchecked: u64,
    /// Records that producers handed to their clients.
    pub sent: u64,
    /// Outcomes that clients told.
    pub outcomes: u64,
    /// Records whose outcomes did not fit into the audit's bound.
    pub refused: u64,
    /// Over all producers.
    pub totals: AuditCounts,
    /// By group.
    pub groups: Vec<AuditedGroup>,
    /// Groups whose records are too short to say whose they are.
    pub unidentified: Vec<String>,
    /// Partitions that could not be read.
    pub unread: Vec<UnreadFinding>,
    /// Where acknowledged records vanished, the most first.
    pub lost: Vec<LostFinding>,
    /// Lost records that are in none of these: there were too many stretches of them.
    pub lost_untold: u64,
}

/// A group's records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedGroup {
    /// The group.
    pub name: String,
    /// Its records.
    #[serde(flatten)]
    pub counts: AuditCounts,
}

/// A partition that could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnreadFinding {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// Why.
    pub why: String,
}

/// Acknowledged records of one partition that vanished at one place of its log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostFinding {
    /// The topic.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// How many.
    pub records: u64,
    /// Of how many producers.
    pub producers: u64,
    /// They were due after this, in ms since the start of `steady`; `None`: nothing is known.
    pub due_after_ms: Option<i64>,
    /// And before this.
    pub due_before_ms: Option<i64>,
    /// First offset that the leader of `leader_epoch` wrote, where the others' logs were cut off; `None`: it was not a change of leader.
    pub truncated_at: Option<i64>,
    /// That leader's epoch.
    pub leader_epoch: Option<i32>,
    /// That leader; `None`: nobody saw it elected.
    pub leader: Option<i32>,
    /// When the controller recorded the election.
    pub elected_ms: Option<i64>,
    /// Whether it was elected although it might lack committed records; `None`: not known.
    pub is_unclean: Option<bool>,
    /// The step before it.
    pub step: Option<u32>,
    /// Where they vanished, in words.
    pub in_words: String,
}

impl AuditFinding {
    /// Whether all of this group's records are known of (`None`: of all groups).
    #[must_use]
    pub fn is_complete(&self, group: Option<&str>) -> bool {
        let is_identified = match group {
            Some(group) => !self.unidentified.iter().any(|name| name == group),
            None => self.unidentified.is_empty(),
        };
        self.unread.is_empty() && self.refused == 0 && is_identified
    }

    /// A group's records; of all groups.
    #[must_use]
    pub fn counts(&self, group: Option<&str>) -> AuditCounts {
        match group {
            None => self.totals,
            Some(name) => self.groups.iter().find(|group| group.name == name).map_or_else(AuditCounts::default, |group| group.counts),
        }
    }
}
