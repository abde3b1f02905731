//! What the analysis says of a run when it is not told what was stuck.

use std::collections::BTreeSet;
use std::path::Path;

use kafka_chaos::analyze::Analysis;
use kafka_chaos::analyze::layers::findings::Held;
use kafka_chaos::ids::StepNumber;
use kafka_chaos::record::fact::{Fact, Stamped};
use kafka_chaos::record::layer::Layer;
use kafka_chaos::record::read::FactReader;

use super::rounds::Stuck;

/// Actions of the steps that stick a layer.
const STICKING: [&str; 2] = ["pause", "link"];

/// A broker may take seconds to take over, on a busy machine; what a round sticks lasts longer than this, whatever else is slow.
const SLOW_MS: i64 = 5_000;

/// What the analysis says.
pub(super) struct Answer {
    /// What is stuck, or was for long.
    pub(super) stuck: Option<Held>,
    /// What was merely slow, where nothing was stuck.
    slow: Option<Held>,
}

impl Answer {
    pub(super) fn in_words(&self) -> String {
        let words = |held: &Held| format!("{:?} at {:?}: {}", held.layer, held.node, held.in_words);
        match (&self.stuck, &self.slow) {
            (Some(held), _) => words(held),
            (None, Some(held)) => format!("nothing; slow was {}", words(held)),
            (None, None) => "nothing".to_owned(),
        }
    }
}

/// The layer that held the change up, from the run's facts without those of the sticking steps and without the plan.
pub(super) fn read(folder: &Path) -> Answer {
    let facts: Vec<Stamped> = FactReader::open(folder).unwrap().map(Result::unwrap).collect();
    let hidden: BTreeSet<StepNumber> = facts
        .iter()
        .filter_map(|stamped| match &stamped.fact {
            Fact::StepRequested { step, action, .. } if STICKING.contains(&action.as_str()) => Some(*step),
            _ => None,
        })
        .collect();
    let mut analysis = Analysis::new();
    facts.into_iter().filter_map(|stamped| blinded(stamped, &hidden)).for_each(|stamped| analysis.fold(&stamped));
    let held: Vec<Held> = analysis.finish().layers.into_iter().filter_map(|finding| finding.held).collect();
    let stuck = held.iter().find(|held| held.is_stuck).or_else(|| held.iter().find(|held| held.for_ms > SLOW_MS));
    Answer { stuck: stuck.cloned(), slow: held.first().cloned() }
}

/// The fact as the analysis may see it; `None`: not at all.
fn blinded(mut stamped: Stamped, hidden: &BTreeSet<StepNumber>) -> Option<Stamped> {
    match &mut stamped.fact {
        Fact::StepRequested { step, .. }
        | Fact::StepAcknowledged { step }
        | Fact::StepObserved { step, .. }
        | Fact::StepFinished { step, .. }
            if hidden.contains(step) =>
        {
            return None;
        }
        Fact::RunStarted(run) => {
            run.plan_text.clear();
            run.warnings.clear();
        }
        _ => {}
    }
    Some(stamped)
}

/// Whether that is what the round has stuck.
pub(super) fn is_right(stuck: Stuck, held: Option<&Held>) -> bool {
    let told = held.map(|held| (held.layer, held.node));
    match stuck {
        Stuck::Quorum => told == Some((Layer::Committed, None)),
        // What a node has not fetched, it does not show either.
        Stuck::BrokerLink(node) => matches!(told, Some((Layer::Fetched | Layer::BrokerCache, Some(named))) if named == node),
        Stuck::ClientCache => told == Some((Layer::ClientCache, None)),
        Stuck::ClientLink(node) => told == Some((Layer::Route, Some(node))),
        Stuck::Nothing => told.is_none(),
    }
}
