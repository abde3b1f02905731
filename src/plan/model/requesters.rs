//! Requesters: clients that send nothing but Metadata requests.

use super::Active;
use crate::ids::TopicName;

/// Requesters alike.
#[derive(Clone, Debug, PartialEq)]
pub struct RequesterGroup {
    /// The group's name; client ids are `NAME-0`, `NAME-1`, ...
    pub name: String,
    /// How many, each with a connection of its own.
    pub count: u32,
    /// Requests per second of each.
    pub rate_per_second: f64,
    /// What they ask for.
    pub list: TopicList,
    /// When they ask.
    pub active: Active,
}

/// The topics that a Metadata request names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicList {
    /// A null list: all topics, as admin tools and old clients ask.
    All,
    /// An empty list: brokers alone.
    Nothing,
    /// These.
    Named(Vec<TopicName>),
}
