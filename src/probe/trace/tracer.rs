//! Asks every layer once: all nodes at the same time, each question with a bound of its own, the whole within what is given.
//!
//! A thin shell: whom to ask next follows from the answers (`round`, `roll`, `survey`); what they mean is `diagnose`'s. Nothing is tried
//! twice: who is silent is told as silent.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::join_all;

use super::ask::{Asker, Bounds};
use super::log::LogReader;
use super::roll::Roll;
use super::round::{ADDRESSES_MAX, Round};
use super::share::SharedTopics;
use super::sighting::{Scope, Sighting};
use super::survey;
use crate::clock::Clock;
use crate::ids::{BrokerId, HostPort, TopicName};
use crate::kafka::admin::{InEpoch, Security};

/// Partitions that one leader is asked about.
const SERVED_MAX: usize = 10_000;
/// Topics whose eligible leader replicas are asked for.
const ELIGIBLE_TOPICS_MAX: usize = 100;

/// Looks at one cluster, as often as it is told to. Keeps connections, and remembers whom it has found.
#[derive(Debug)]
pub struct Tracer {
    asker: Asker,
    bootstrap: Vec<HostPort>,
    controllers: Vec<HostPort>,
    /// How all listeners are secured.
    security: Security,
    /// Addresses that earlier rounds have found: the bootstrap list may be dead by now.
    known: BTreeSet<HostPort>,
    topics: SharedTopics,
    /// Reads the controllers' log, from the first round on; `None`: no controller's listener was given.
    log: Option<LogReader>,
}

impl Tracer {
    /// A tracer that begins with these brokers, and asks these controllers' listeners besides; all are secured alike.
    #[must_use]
    pub fn new(bootstrap: Vec<HostPort>, controllers: Vec<HostPort>, scope: Scope, security: Security, clock: Clock) -> Self {
        let asker = Asker::new(scope, &security, clock);
        Self { asker, bootstrap, controllers, security, known: BTreeSet::new(), topics: SharedTopics::default(), log: None }
    }

    /// One round; ends within the time given, whoever is silent.
    pub async fn look(&mut self, within: Duration) -> Sighting {
        let Self { asker, bootstrap, controllers, security, known, topics, log } = self;
        let began = asker.clock.now();
        let bounds = Bounds::of(began, within);
        if log.is_none() && !controllers.is_empty() {
            *log = Some(LogReader::start(controllers.clone(), security, asker.clock.clone()));
        }
        // First: read later, it may have what was committed after a broker has answered, and that broker would be called behind.
        let log_before = asker.log(log.as_ref(), bounds.log_before).await.ok().map(|log| log.image);
        let mut round = Round::new(asker, bounds);
        round.ask_all(bootstrap.iter().chain(known.iter()).cloned());
        let told_by_controllers = join_all(controllers.iter().map(|address| asker.quorum(address.clone(), bounds.question, bounds.views)));
        let ((), told_by_controllers) = tokio::join!(round.hear_views(topics), told_by_controllers);
        topics.end_round();

        let mut sighting = round.sighting(bootstrap);
        round.ask_again_behind(&sighting);
        let (questions, partitions_left_out) = questions(&sighting);
        let (worth, topics_left_out) = topics_worth(&sighting);
        let (served, eligible, ()) =
            tokio::join!(asker.served(&sighting, questions, bounds), asker.eligible(&sighting, &worth, bounds), round.hear_quorums());
        // Last: a log that was read before a broker has answered may be the older of the two.
        let log = asker.log(log.as_ref(), bounds.quorum).await;
        round.add_quorums(&mut sighting);
        let room = ADDRESSES_MAX.saturating_sub(known.len());
        known.extend(round.asked.into_iter().take(room));
        let ended = asker.clock.now();
        Sighting {
            ended_at: asker.clock.unix_time_of(ended),
            took: ended.since(began),
            controllers: told_by_controllers,
            log,
            log_before,
            served,
            eligible,
            topics_left_out,
            partitions_left_out,
            ..sighting
        }
    }
}

/// What each leader is asked, and how many partitions nobody is asked about.
fn questions(sighting: &Sighting) -> (BTreeMap<BrokerId, Vec<InEpoch>>, usize) {
    let mut questions = survey::led(sighting, &Roll::of(sighting));
    let mut left_out = 0;
    for partitions in questions.values_mut() {
        left_out += partitions.len().saturating_sub(SERVED_MAX);
        partitions.truncate(SERVED_MAX);
    }
    (questions, left_out)
}

/// Topics whose eligible leader replicas are worth a question: the one asked for, or the first of those with a notable partition; and how many
/// more there are.
fn topics_worth(sighting: &Sighting) -> (Vec<TopicName>, usize) {
    let roll = Roll::of(sighting);
    let notable = survey::partitions(sighting, &roll).filter(|surveyed| sighting.scope.topic.is_some() || surveyed.is_notable(sighting));
    let mut names: Vec<TopicName> = notable.map(|surveyed| surveyed.partition.topic).collect();
    names.dedup();
    let left_out = names.len().saturating_sub(ELIGIBLE_TOPICS_MAX);
    names.truncate(ELIGIBLE_TOPICS_MAX);
    (names, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::trace::tests::world::{healthy, partition, topic, view_of};

    #[test]
    fn topics_beyond_the_bound_are_counted() {
        let mut sighting = healthy();
        let unhealthy = |index: usize| {
            let mut view = partition(0);
            view.isr.pop();
            topic(&format!("topic-{index:03}"), vec![view])
        };
        view_of(&mut sighting, 1).topics.extend((0..ELIGIBLE_TOPICS_MAX + 7).map(|index| unhealthy(index).into()));
        let (worth, left_out) = topics_worth(&sighting);
        assert_eq!((worth.len(), left_out, worth[0].to_string()), (ELIGIBLE_TOPICS_MAX, 7, "topic-000".to_owned()));
        sighting.scope.topic = Some("orders".into());
        view_of(&mut sighting, 1).topics.truncate(1);
        assert_eq!(topics_worth(&sighting), (vec!["orders".into()], 0));
    }
}
