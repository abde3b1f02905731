//! What the tests of this engine share.

use std::collections::BTreeMap;

use super::*;
use crate::ids::TopicName;
use crate::plan::model::{Active, EngineKind, RecordSpec};

/// A group of two producers.
pub(super) fn group(load: Load) -> ProducerGroup {
    ProducerGroup {
        name: "steady".into(),
        count: 2,
        engine: EngineKind::Java,
        share: None,
        topics: vec![TopicName::from("orders")],
        load,
        record: RecordSpec { size_bytes: 100, keys: None },
        active: Active { from: std::time::Duration::ZERO, until: None },
        config: BTreeMap::new(),
        bootstrap: None,
    }
}
