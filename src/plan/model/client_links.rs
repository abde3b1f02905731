//! Which fault is in force between which clients and which broker: what a series of steps comes to. Pure.
//!
//! A step without a group is about all clients of a broker, whatever was set for single groups before; a step with one is about that group
//! alone. The last word counts. Walked by `check` before a run, and kept by the relay in one.

use std::collections::BTreeMap;

use super::ClientFault;
use crate::ids::BrokerId;

/// All faults in force on links between clients and brokers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientLinks(BTreeMap<BrokerId, Page>);

/// One broker's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Page {
    common: ClientFault,
    /// Groups for which something else holds.
    groups: BTreeMap<String, ClientFault>,
}

impl ClientLinks {
    /// What holds between a broker and a client of this group (`None`: of none).
    #[must_use]
    pub fn fault(&self, broker: BrokerId, group: Option<&str>) -> ClientFault {
        let Some(page) = self.0.get(&broker) else { return ClientFault::None };
        group.and_then(|group| page.groups.get(group)).copied().unwrap_or(page.common)
    }

    /// Whether something else holds for a group than for all clients of a broker.
    #[must_use]
    pub fn has_own(&self, broker: BrokerId, group: &str) -> bool {
        self.0.get(&broker).is_some_and(|page| page.groups.contains_key(group))
    }

    /// Whether the link between a broker and all clients, or one group, is as the step would make it: then the step changes nothing.
    #[must_use]
    pub fn is_so(&self, broker: BrokerId, group: Option<&str>, fault: ClientFault) -> bool {
        let no_groups = self.0.get(&broker).is_none_or(|page| page.groups.is_empty());
        self.fault(broker, group) == fault && (group.is_some() || no_groups)
    }

    /// Puts a fault in force, or none.
    pub fn set(&mut self, broker: BrokerId, group: Option<&str>, fault: ClientFault) {
        let page = self.0.entry(broker).or_default();
        match group {
            None => *page = Page { common: fault, groups: BTreeMap::new() },
            Some(group) if page.common == fault => _ = page.groups.remove(group),
            Some(group) => _ = page.groups.insert(group.to_owned(), fault),
        }
    }

    /// Whether no fault is in force.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_none = |fault: &ClientFault| *fault == ClientFault::None;
        self.0.values().all(|page| is_none(&page.common) && page.groups.values().all(is_none))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: BrokerId = BrokerId(2);

    #[test]
    fn the_last_word_counts_for_those_that_it_is_about() {
        let mut links = ClientLinks::default();
        let of = |links: &ClientLinks| [None, Some("a"), Some("b")].map(|group| links.fault(TWO, group));
        use ClientFault::{BlackHole, None as Whole, Reset};
        assert!(links.is_whole());
        links.set(TWO, Some("a"), BlackHole);
        assert_eq!(of(&links), [Whole, BlackHole, Whole]);
        assert_eq!(links.fault(BrokerId(1), Some("a")), Whole);
        links.set(TWO, None, Reset);
        assert_eq!(of(&links), [Reset, Reset, Reset]);
        links.set(TWO, Some("a"), Whole);
        assert_eq!(of(&links), [Reset, Whole, Reset]);
        assert!(!links.is_whole());
        links.set(TWO, None, Whole);
        assert_eq!(of(&links), [Whole, Whole, Whole]);
        assert!(links.is_whole());
    }

    #[test]
    fn a_step_that_says_what_holds_changes_nothing() {
        let mut links = ClientLinks::default();
        assert!(links.is_so(TWO, None, ClientFault::None) && links.is_so(TWO, Some("a"), ClientFault::None));
        links.set(TWO, Some("a"), ClientFault::Reset);
        assert!(links.is_so(TWO, Some("a"), ClientFault::Reset));
        assert!(!links.is_so(TWO, None, ClientFault::None), "one group is not whole");
        links.set(TWO, Some("a"), ClientFault::None);
        assert!(links.is_so(TWO, None, ClientFault::None));
    }
}
