//! What a group's clients can tell of themselves. What they cannot is unknown in every figure, never 0.

/// Which figures a kind of client gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tells {
    /// How many Metadata requests it sent (whether or not it says why).
    pub(crate) metadata_requests: bool,
    /// How many bytes they and their answers had.
    pub(crate) metadata_bytes: bool,
    /// How long its sends waited for metadata.
    pub(crate) waits_for_metadata: bool,
    /// How long they waited for memory.
    pub(crate) waits_for_memory: bool,
    /// Which partitions have records that wait for an outcome, and since when.
    pub(crate) unserved: bool,
}

impl Tells {
    /// As this project's own producer.
    pub(crate) const EVERYTHING: Self =
        Self { metadata_requests: true, metadata_bytes: true, waits_for_metadata: true, waits_for_memory: true, unserved: true };

    /// As librdkafka: it queues records before it knows their partitions, so nobody waits for metadata outside of it.
    #[cfg(feature = "librdkafka")]
    pub(crate) const LIBRDKAFKA: Self =
        Self { metadata_requests: true, metadata_bytes: false, waits_for_metadata: false, waits_for_memory: true, unserved: false };
}
