//! `[[consumers]]`.

use super::Need::Required;
use super::{Kind, NAME, TOPIC_NAME, Table, key};

/// `[[consumers]]`.
pub(super) static CONSUMERS: Table = Table {
    name: "[[consumers]]",
    id: "consumers",
    about: "A consumer that reads all partitions of its topics while the load goes, and measures how long after its due time each record arrives.",
    keys: &[
        key("name", NAME, Required, "name = \"reader\"", "Its name, and its client id."),
        key("topics", Kind::List(&TOPIC_NAME), Required, "topics = [\"orders\"]", "The topics that it reads."),
    ],
    choices: &[],
    later: &[],
};
