//! Consumers: readers that measure for how long records are on their way.

use crate::ids::TopicName;

/// A consumer of whole topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroup {
    /// Its name, and its client id.
    pub name: String,
    /// It reads all partitions of these.
    pub topics: Vec<TopicName>,
}
