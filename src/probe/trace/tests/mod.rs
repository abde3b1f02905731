//! A cluster that is spoilt in one way, and what must be said of it: what is told first, in which layer, of which nodes, in which words.

mod causes;
mod controllers;
mod differences;
mod live;
mod log;
mod partitions;
pub(crate) mod world;

use super::diagnosis::{Cause, Outcome};
use super::sighting::Sighting;
use super::{Diagnosis, diagnose};
use world::{healthy, ids};

/// A case: its name, how the cluster is spoilt, what is told first, of which nodes, and words that must be in the sentence.
type Row = (&'static str, fn(&mut Sighting), Cause, &'static [i32], &'static str);

fn diagnosed(spoil: impl Fn(&mut Sighting)) -> Diagnosis {
    let mut sighting = healthy();
    spoil(&mut sighting);
    diagnose(&sighting)
}

fn check(rows: &[Row]) {
    for (name, spoil, cause, nodes, words) in rows {
        let diagnosis = diagnosed(spoil);
        let first = diagnosis.findings.first().unwrap_or_else(|| panic!("{name}: nothing found: {}", diagnosis.sentence));
        assert_eq!((first.cause, &first.nodes), (*cause, &ids(nodes)), "{name}: {:#?}", diagnosis.findings);
        assert!(diagnosis.sentence.contains(words), "{name}: {}", diagnosis.sentence);
        assert!(!diagnosis.next.is_empty(), "{name}");
        let outcome = if *cause == Cause::NobodyAnswers { Outcome::Unreachable } else { Outcome::Stuck };
        assert_eq!((diagnosis.outcome, diagnosis.layer()), (outcome, cause.layer()), "{name}");
    }
}
