//! The groups' figures while a run goes, from their seconds. Pure.

use std::collections::BTreeMap;

use crate::record::fact::{Fact, Stamped};
use crate::ui::GroupLine;

/// Sums per group, in the order in which groups appear in the plan.
#[derive(Debug, Default)]
pub(super) struct Live {
    groups: Vec<GroupLine>,
    index: BTreeMap<String, usize>,
}

impl Live {
    /// The figures now.
    pub(super) fn groups(&self) -> &[GroupLine] {
        &self.groups
    }

    /// Takes a fact.
    pub(super) fn fold(&mut self, stamped: &Stamped) {
        match &stamped.fact {
            Fact::RunStarted(run) => run.groups.iter().for_each(|group| _ = self.group(&group.name)),
            Fact::Second(second) => {
                let line = self.group(&second.group);
                line.sent += second.counts.sent;
                line.ok += second.counts.ok;
                line.failed += second.counts.failed;
                line.indeterminate += second.counts.indeterminate;
                line.in_flight = second.in_flight;
                line.metadata_per_second = second.metadata_requests.values().sum();
                line.stalled_pairs = second.stalled_pairs;
                line.stalled_max_ms = second.stalled_max_ms;
            }
            _ => {}
        }
    }

    fn group(&mut self, name: &str) -> &mut GroupLine {
        let groups = &mut self.groups;
        let index = *self.index.entry(name.to_owned()).or_insert_with(|| {
            groups.push(GroupLine { name: name.to_owned(), ..GroupLine::default() });
            groups.len() - 1
        });
        &mut self.groups[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fact::{GroupSecond, Totals};

    #[test]
    fn counts_add_up_and_states_are_the_last() {
        let mut live = Live::default();
        for (ok, in_flight) in [(10, 3), (20, 1)] {
            let counts = Totals { due: ok, sent: ok, ok, ..Totals::default() };
            let metadata_requests = [("age".to_owned(), 2), ("start".to_owned(), 1)].into();
            let second = GroupSecond { group: "steady".into(), counts, in_flight, metadata_requests, ..GroupSecond::default() };
            live.fold(&Stamped { time_us: 0, worker: 0, fact: Fact::Second(Box::new(second)) });
        }
        let [line] = live.groups() else { panic!("{:?}", live.groups()) };
        assert_eq!((line.ok, line.sent, line.in_flight, line.metadata_per_second), (30, 30, 1, 3));
    }
}
