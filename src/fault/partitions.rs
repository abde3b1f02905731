//! Leaders and replicas of partitions: elected and moved on request, and how that shows from outside.
//!
//! The controller's word says which partitions an election changed; a broker shows it when the partition's epoch has risen, whoever leads by
//! then. A move is over when every broker shows the wanted replicas and the controller has none of them under way.

use std::time::Duration;

use futures_util::future::join_all;

use super::condition::numbers;
use super::event::Outcome;
use super::inject::Hands;
use super::observe::LOOK_EVERY;
use super::primitive::Trace;
use super::watch::{Look, Watch};
use crate::clock::Moment;
use crate::ids::{BrokerId, LeaderEpoch, PartitionIndex, TopicId, TopicName};
use crate::kafka::admin::{self, ClusterView, PartitionView, Replicas, TopicView};
use crate::plan::model::{Election, Reassignment};

/// A partition, and its leader's epoch before an election.
pub(super) type Before = (PartitionIndex, Option<LeaderEpoch>);

impl Hands {
    /// A topic as the running broker that knows most of it shows it, and the brokers that it lists. One that lags, or is cut off from the
    /// controller, shows what was.
    pub(super) async fn topic(&self, name: &TopicName) -> Result<(TopicView, Vec<BrokerId>), Outcome> {
        let found = self.to_do(|| async {
            let brokers = self.running_brokers().await?;
            let asked = Some(std::slice::from_ref(name));
            let views = join_all(brokers.iter().map(|(_, listener)| self.admin.metadata_of(listener, asked))).await;
            Ok(freshest(name, views.into_iter().flatten(), &self.gone(name)))
        });
        found.await?.ok_or_else(|| Outcome::Failed(format!("no running broker that answers shows topic {name}")))
    }

    /// Elects leaders of one partition of a topic, or of all.
    pub(super) async fn elect(&self, name: &TopicName, partition: Option<PartitionIndex>, election: Election) -> Result<Trace, Outcome> {
        let (topic, _) = self.topic(name).await?;
        let mut before: Vec<Before> = topic.partitions.iter().map(|view| (view.partition, view.leader_epoch)).collect();
        if let Some(wanted) = partition {
            before.retain(|(partition, _)| *partition == wanted);
            // Whether there is one that this broker does not show yet, the controller knows.
            before.extend(before.is_empty().then_some((wanted, None)));
        }
        let partitions: Vec<PartitionIndex> = before.iter().map(|(partition, _)| *partition).collect();
        let (kind, is_so) = match election {
            Election::Preferred => (admin::Election::Preferred, "is led by its first replica"),
            Election::Unclean => (admin::Election::Unclean, "has a leader"),
        };
        let elected = self.admin.elect_leaders(kind, name, &partitions).await.map_err(Outcome::from)?;
        if elected.is_empty() {
            return Err(Outcome::NoOp(format!("every one of these partitions {is_so} already")));
        }
        Ok(Trace::Elected(before.into_iter().filter(|(partition, _)| elected.contains(partition)).collect()))
    }

    /// Moves partitions of a topic.
    pub(super) async fn reassign(&self, name: &TopicName, to: &Reassignment) -> Result<Trace, Outcome> {
        let moving = self.to_do(|| async {
            let (topic, brokers) = self.topic(name).await?;
            let mut moving = wanted(to, &topic, &brokers).map_err(Outcome::Failed)?;
            moving.retain(|wanted| topic.partitions.iter().any(|view| is_elsewhere(view, wanted)));
            Ok(Some(moving).filter(|moving| !moving.is_empty()))
        });
        let moving = moving.await?.ok_or_else(|| Outcome::NoOp("every one of these partitions is where it shall be".to_owned()))?;
        self.admin.reassign(name, &moving).await.map_err(Outcome::from)?;
        Ok(Trace::Moving(moving))
    }
}

/// Of several views of a topic that is none of those that are gone, the one with the latest elections and most partitions.
fn freshest(name: &TopicName, views: impl Iterator<Item = ClusterView>, gone: &[TopicId]) -> Option<(TopicView, Vec<BrokerId>)> {
    let shown = views.filter_map(|view| {
        let brokers = view.brokers.iter().map(|broker| broker.id).collect();
        let topic = view.topics.into_iter().find(|topic| topic.name == *name && topic.error.is_none())?;
        topic.id.is_none_or(|id| !gone.contains(&id)).then_some((topic, brokers))
    });
    let epochs =
        |topic: &TopicView| topic.partitions.iter().filter_map(|view| view.leader_epoch).map(|epoch| i64::from(epoch.0)).sum::<i64>();
    shown.max_by_key(|(topic, brokers): &(_, Vec<BrokerId>)| (topic.partitions.len(), epochs(topic), brokers.len()))
}

fn is_elsewhere(view: &PartitionView, (partition, replicas): &Replicas) -> bool {
    view.partition == *partition && view.replicas != *replicas
}

/// Replicas of each partition that is meant.
fn wanted(to: &Reassignment, topic: &TopicView, brokers: &[BrokerId]) -> Result<Vec<Replicas>, String> {
    let count = topic.partitions.len();
    match to {
        Reassignment::One(partition, replicas) if topic.partition(*partition).is_some() => Ok(vec![(*partition, replicas.clone())]),
        Reassignment::One(partition, _) => Err(format!("topic {} has no partition {partition}", topic.name)),
        Reassignment::Each(rows) if rows.len() == count => {
            Ok(topic.partitions.iter().zip(rows).map(|(view, replicas)| (view.partition, replicas.clone())).collect())
        }
        Reassignment::Each(rows) => Err(format!("topic {} has {count} partitions, and the step says where {} go", topic.name, rows.len())),
        Reassignment::Over(listed) => {
            let over = if listed.is_empty() { brokers } else { listed };
            let spread = topic.partitions.iter().enumerate().map(|(turn, view)| {
                let needed = view.replicas.len();
                if needed > over.len() {
                    return Err(format!("{}/{} has {needed} replicas: more than brokers", topic.name, view.partition));
                }
                // The next partition begins with the next broker, so that leaders are spread too.
                Ok((view.partition, over.iter().cycle().skip(turn % over.len().max(1)).take(needed).copied().collect()))
            });
            spread.collect()
        }
    }
}

impl Watch {
    /// Waits until every running broker shows these partitions after their election.
    pub(super) async fn elected(&self, topic: &TopicName, before: &[Before], within: Duration) -> Result<(Moment, String), String> {
        self.until(LOOK_EVERY, within, || self.look_at_topic(topic, |view| are_elected(topic, before, view))).await
    }

    /// Waits until partitions are where they go.
    pub(super) async fn moved(&self, topic: &TopicName, moving: &[Replicas], within: Duration) -> Result<(Moment, String), String> {
        self.until(LOOK_EVERY, within, || self.look_at_moving(topic, moving)).await
    }

    async fn look_at_moving(&self, topic: &TopicName, moving: &[Replicas]) -> Look<String> {
        let seen = match self.look_at_topic(topic, |view| are_there(topic, moving, view)).await {
            Look::Seen(seen) => seen,
            other => return other,
        };
        let partitions: Vec<PartitionIndex> = moving.iter().map(|(partition, _)| *partition).collect();
        let brokers = self.running_brokers().await.unwrap_or_default();
        let Some((_, broker)) = brokers.first() else { return Look::NotYet("no broker is running".to_owned()) };
        match self.probe.reassigning(broker, topic, &partitions).await {
            Ok(ongoing) if ongoing.is_empty() => Look::Seen(seen),
            Ok(ongoing) => Look::NotYet(format!("the controller still moves {} partitions of {topic}", ongoing.len())),
            Err(error) => Look::NotYet(error.to_string()),
        }
    }
}

fn are_elected(name: &TopicName, before: &[Before], view: &ClusterView) -> Result<(), String> {
    let topic = view.topic(name).ok_or_else(|| format!("does not show topic {name}"))?;
    for (partition, epoch) in before {
        let shown = topic
            .partition(*partition)
            .filter(|shown| shown.leader.is_some())
            .ok_or_else(|| format!("shows no leader of {name}/{partition}"))?;
        // Without epochs only a leader that is the first replica tells that there was an election.
        let is_elected = match (epoch, shown.leader_epoch) {
            (Some(before), Some(now)) => now > *before,
            _ => shown.leader == shown.replicas.first().copied(),
        };
        if !is_elected {
            return Err(format!("shows {name}/{partition} as it was before the election"));
        }
    }
    Ok(())
}

fn are_there(name: &TopicName, moving: &[Replicas], view: &ClusterView) -> Result<(), String> {
    let topic = view.topic(name).ok_or_else(|| format!("does not show topic {name}"))?;
    for (partition, replicas) in moving {
        let shown = topic.partition(*partition).map(|shown| &shown.replicas[..]).unwrap_or_default();
        if shown != replicas {
            return Err(format!("shows {name}/{partition} on {:?} instead of {:?}", numbers(shown), numbers(replicas)));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(of: &[i32]) -> Vec<BrokerId> {
        of.iter().copied().map(BrokerId).collect()
    }

    fn partition(index: i32, replicas: &[i32], leader: Option<i32>, epoch: i32) -> PartitionView {
        PartitionView {
            partition: PartitionIndex(index),
            error: None,
            leader: leader.map(BrokerId),
            leader_epoch: (epoch >= 0).then_some(LeaderEpoch(epoch)),
            replicas: ids(replicas),
            isr: vec![],
            offline: vec![],
        }
    }

    fn orders(partitions: Vec<PartitionView>) -> TopicView {
        TopicView { name: "orders".into(), id: None, is_internal: false, error: None, partitions }
    }

    #[test]
    fn of_several_views_the_freshest_counts_and_none_of_a_topic_that_is_gone() {
        let view = |broker: i32, id: u128, epochs: &[i32]| {
            let partitions = epochs.iter().enumerate().map(|(index, epoch)| partition(index as i32, &[1, 2], Some(1), *epoch));
            let topic = TopicView { id: Some(TopicId(uuid::Uuid::from_u128(id))), ..orders(partitions.collect()) };
            let listener = crate::ids::HostPort::new("localhost", 9092);
            let brokers = vec![admin::BrokerView { id: BrokerId(broker), listener, rack: None, is_fenced: false }];
            ClusterView { topics: vec![topic], brokers, ..ClusterView::default() }
        };
        let gone = [TopicId(uuid::Uuid::from_u128(1))];
        let told_by = |views: Vec<ClusterView>| freshest(&"orders".into(), views.into_iter(), &gone).map(|(_, brokers)| brokers[0].0);
        assert_eq!(told_by(vec![view(1, 2, &[4, 4]), view(2, 2, &[4, 5]), view(3, 2, &[4, 4])]), Some(2), "an election");
        assert_eq!(told_by(vec![view(1, 2, &[4, 5]), view(2, 2, &[4, 5, 0])]), Some(2), "a partition more");
        assert_eq!(told_by(vec![view(1, 1, &[9, 9]), view(2, 2, &[0, 0])]), Some(2), "made anew");
        assert_eq!(told_by(vec![view(1, 1, &[9, 9])]), None);
        let mut joined = view(4, 2, &[4, 4]);
        joined.brokers.extend(view(1, 2, &[]).brokers);
        assert_eq!(told_by(vec![joined, view(1, 2, &[4, 4])]), Some(4), "a broker that has joined");
    }

    #[test]
    fn partitions_are_spread_with_as_many_replicas_as_before() {
        let topic = orders(vec![partition(0, &[1, 2], Some(1), 0), partition(1, &[2, 1], Some(2), 0), partition(2, &[3], Some(3), 0)]);
        let at = |to| {
            let rows = wanted(&to, &topic, &ids(&[1, 2, 3, 4]))?;
            Ok::<_, String>(rows.into_iter().map(|(_, row)| row.iter().map(|id| id.0).collect::<Vec<_>>()).collect::<Vec<_>>())
        };
        assert_eq!(at(Reassignment::Over(ids(&[3, 4]))), Ok(vec![vec![3, 4], vec![4, 3], vec![3]]));
        assert_eq!(at(Reassignment::Over(vec![])), Ok(vec![vec![1, 2], vec![2, 3], vec![3]]));
        assert_eq!(at(Reassignment::One(PartitionIndex(1), ids(&[4]))), Ok(vec![vec![4]]));
        for (to, why) in [
            (Reassignment::Over(ids(&[3])), "orders/0 has 2 replicas: more than brokers"),
            (Reassignment::One(PartitionIndex(3), ids(&[4])), "topic orders has no partition 3"),
            (Reassignment::Each(vec![ids(&[1])]), "topic orders has 3 partitions, and the step says where 1 go"),
        ] {
            assert_eq!(at(to), Err(why.to_owned()));
        }
    }

    #[test]
    fn an_election_shows_by_a_risen_epoch_whoever_leads_by_then() {
        let rows = [
            (Some(3), partition(0, &[1, 2], Some(1), 4), ""),
            (Some(3), partition(0, &[1, 2], Some(2), 5), ""),
            (Some(3), partition(0, &[1, 2], Some(2), 3), "shows orders/0 as it was before the election"),
            (Some(3), partition(0, &[1, 2], None, 4), "shows no leader of orders/0"),
            (Some(3), partition(1, &[1, 2], Some(1), 4), "shows no leader of orders/0"),
            (None, partition(0, &[1, 2], Some(1), -1), ""),
            (None, partition(0, &[1, 2], Some(2), -1), "shows orders/0 as it was before the election"),
        ];
        for (before, shown, why) in rows {
            let view = ClusterView { topics: vec![orders(vec![shown])], ..ClusterView::default() };
            let before = [(PartitionIndex(0), before.map(LeaderEpoch))];
            assert_eq!(are_elected(&"orders".into(), &before, &view).err().unwrap_or_default(), why);
        }
    }

    #[test]
    fn a_partition_has_moved_when_its_replicas_are_those_and_in_that_order() {
        let moving = [(PartitionIndex(0), ids(&[2, 1]))];
        for (replicas, why) in [
            (&[2, 1][..], ""),
            (&[1, 2], "shows orders/0 on [1, 2] instead of [2, 1]"),
            (&[2, 1, 3], "shows orders/0 on [2, 1, 3] instead of [2, 1]"),
        ] {
            let view = ClusterView { topics: vec![orders(vec![partition(0, replicas, Some(1), 0)])], ..ClusterView::default() };
            assert_eq!(are_there(&"orders".into(), &moving, &view).err().unwrap_or_default(), why);
        }
    }
}
