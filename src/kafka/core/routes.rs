//! Where requests for each partition went last, so that a change of route can be told.

use rustc_hash::FxHashMap;

use crate::ids::{BrokerId, PartitionIndex, TopicName, TopicPartition};

/// Last route per partition.
#[derive(Debug, Default)]
pub(super) struct Routes(FxHashMap<TopicName, Vec<Option<BrokerId>>>);

impl Routes {
    /// Notes a request; returns the partition and its route before if this one goes elsewhere. Indexes that no topic can have are not noted.
    pub(super) fn moved(
        &mut self,
        topic: &TopicName,
        partition: PartitionIndex,
        to: BrokerId,
    ) -> Option<(TopicPartition, Option<BrokerId>)> {
        const PARTITIONS_MAX: usize = 1 << 20;
        let position = usize::try_from(partition.0).ok().filter(|position| *position < PARTITIONS_MAX)?;
        if !self.0.contains_key(topic) {
            self.0.insert(topic.clone(), Vec::new());
        }
        let routes = self.0.get_mut(topic)?;
        if routes.len() <= position {
            routes.resize(position + 1, None);
        }
        let from = routes[position].replace(to);
        (from != Some(to)).then(|| (TopicPartition { topic: topic.clone(), partition }, from))
    }
}
