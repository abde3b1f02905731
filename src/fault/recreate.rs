//! A topic that goes and comes back under its name, as another one: with another id.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use futures_util::future::join_all;

use super::event::Outcome;
use super::inject::Hands;
use super::observe::LOOK_EVERY;
use super::primitive::Trace;
use super::watch::{Look, Watch};
use crate::clock::Moment;
use crate::ids::{TopicId, TopicName};
use crate::kafka::admin::{ClusterView, ConfigResource, ConfigValue, ErrorCode, NewTopic, Placement, TopicView};
use crate::plan::model::{Replication, Reshape};

/// The old one is not quite gone.
const EXISTS: ErrorCode = ErrorCode::TOPIC_ALREADY_EXISTS;
/// Longest wait until it is.
const GONE_WITHIN: Duration = Duration::from_secs(30);
/// Pause between two attempts to make the new one.
const RETRY_AFTER: Duration = Duration::from_millis(100);

impl Hands {
    /// Deletes a topic and makes it again; returns when the new one is there by the controller's word.
    pub(super) async fn recreate(&self, name: &TopicName, shape: &Reshape) -> Result<Trace, Outcome> {
        let (before, _) = self.topic(name).await?;
        let config = match &shape.config {
            Some(config) => config.clone(),
            None => self.own_config(name).await?,
        };
        let new = NewTopic { name: name.clone(), placement: placement(&before, shape), config };
        let deleted = self.admin.delete_topic(name).await.map_err(Outcome::from)?.or(before.id);
        let gone = self.is_gone(name, deleted);
        self.make_again(&new).await?;
        let partitions = match &new.placement {
            Placement::Counted { partitions, .. } => *partitions,
            Placement::Assigned(rows) => u32::try_from(rows.len()).unwrap_or(u32::MAX),
        };
        Ok(Trace::Recreated { gone, partitions })
    }

    /// Ids of topics of this name that were deleted.
    pub(super) fn gone(&self, name: &TopicName) -> Vec<TopicId> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned().unwrap_or_default()
    }

    /// Remembers the id of a topic that is deleted; all of this name, the latest last.
    pub(super) fn is_gone(&self, name: &TopicName, id: Option<TopicId>) -> Vec<TopicId> {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        let ids = gone.entry(name.clone()).or_default();
        ids.extend(id);
        ids.clone()
    }

    /// The properties that the topic does not have from the brokers, once all that run and answer tell the same: one that has not heard of a
    /// change yet would bring back what is gone.
    async fn own_config(&self, name: &TopicName) -> Result<BTreeMap<String, String>, Outcome> {
        let resource = ConfigResource::Topic(name.clone());
        let agreed = self.to_do(|| async {
            let brokers = self.running_brokers().await?;
            let answers = join_all(brokers.iter().map(|(_, listener)| self.admin.configs_of(listener, &resource, None))).await;
            let mut told: Vec<BTreeMap<String, String>> = answers.into_iter().flatten().map(own).collect();
            told.dedup();
            Ok(told.pop().filter(|_| told.is_empty()))
        });
        let why = || {
            format!("running brokers tell different properties of topic {name}, or none answers: wait until they agree, or give `config`")
        };
        agreed.await?.ok_or_else(|| Outcome::Failed(why()))
    }

    async fn make_again(&self, new: &NewTopic) -> Result<(), Outcome> {
        let give_up_at = self.clock.now() + GONE_WITHIN;
        loop {
            match self.admin.create_topics(std::slice::from_ref(new)).await {
                Ok(()) => return Ok(()),
                Err(error) if error.code() == Some(EXISTS) && self.clock.now() < give_up_at => tokio::time::sleep(RETRY_AFTER).await,
                Err(error) => return Err(Outcome::Failed(format!("it is deleted, but could not be made again: {error}"))),
            }
        }
    }
}

/// What a topic does not have from the brokers.
fn own(configs: BTreeMap<String, ConfigValue>) -> BTreeMap<String, String> {
    configs.into_iter().filter(|(_, config)| config.is_own).filter_map(|(key, config)| Some((key, config.value?))).collect()
}

/// Where the new topic's replicas go: to the same brokers, unless something about them is to be otherwise.
fn placement(before: &TopicView, shape: &Reshape) -> Placement {
    let count = u32::try_from(before.partitions.len()).unwrap_or(u32::MAX);
    let replicas = before.partitions.iter().map(|partition| partition.replicas.len()).min().unwrap_or(1);
    let factor = u16::try_from(replicas).unwrap_or(u16::MAX);
    match (&shape.replication, shape.partitions) {
        (Some(Replication::Assignment(rows)), _) => Placement::Assigned(rows.clone()),
        (Some(Replication::Factor(factor)), partitions) => {
            Placement::Counted { partitions: partitions.unwrap_or(count), replication_factor: *factor }
        }
        (None, Some(partitions)) if partitions != count => Placement::Counted { partitions, replication_factor: factor },
        (None, _) => Placement::Assigned(before.partitions.iter().map(|partition| partition.replicas.clone()).collect()),
    }
}

impl Watch {
    /// Waits until every running broker shows a topic that is none of those that are gone, and all the same.
    pub(super) async fn recreated(
        &self,
        name: &TopicName,
        gone: &[TopicId],
        partitions: u32,
        within: Duration,
    ) -> Result<(Moment, String), String> {
        self.until(LOOK_EVERY, within, || async {
            let mut first = None;
            let seen = self.look_at_topic(name, |view| is_another(name, gone, partitions, &mut first, view)).await;
            match (seen, first) {
                (Look::Seen(seen), Some(now)) => Look::Seen(format!("{}, {seen}", ids(gone, now))),
                (seen, _) => seen,
            }
        })
        .await
    }
}

fn ids(gone: &[TopicId], now: TopicId) -> String {
    gone.last().map_or_else(|| format!("topic id {}", now.0), |before| format!("topic id {} -> {}", before.0, now.0))
}

/// Whether a broker shows another topic of this name, and the same as the `first` that was asked.
fn is_another(name: &TopicName, gone: &[TopicId], partitions: u32, first: &mut Option<TopicId>, view: &ClusterView) -> Result<(), String> {
    let topic = view.topic(name).ok_or_else(|| format!("does not show topic {name}"))?;
    let now = topic.id.ok_or_else(|| format!("does not tell the id of topic {name}"))?;
    if gone.contains(&now) {
        return Err(format!("still shows topic {name} with the id {}", now.0));
    }
    if *first.get_or_insert(now) != now {
        return Err(format!("shows topic {name} with another id than the brokers before it: {}", now.0));
    }
    let led = topic.partitions.iter().filter(|partition| partition.leader.is_some()).count();
    // More is as good: a later step may have grown it by now.
    if led < partitions as usize || led < topic.partitions.len() {
        return Err(format!("shows leaders for only {led} of {partitions} partitions of {name}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{BrokerId, PartitionIndex};
    use crate::kafka::admin::PartitionView;

    fn orders(id: u128, replicas: &[&[i32]]) -> TopicView {
        let partition = |(index, replicas): (usize, &&[i32])| PartitionView {
            partition: PartitionIndex(index as i32),
            error: None,
            leader: replicas.first().copied().map(BrokerId),
            leader_epoch: None,
            replicas: replicas.iter().copied().map(BrokerId).collect(),
            isr: vec![],
            offline: vec![],
        };
        let partitions = replicas.iter().enumerate().map(partition).collect();
        let id = (id > 0).then(|| TopicId(uuid::Uuid::from_u128(id)));
        TopicView { name: "orders".into(), id, is_internal: false, error: None, partitions }
    }

    #[test]
    fn what_is_not_said_is_as_it_was() {
        let before = orders(1, &[&[1, 2], &[2, 1]]);
        let rows = |rows: &[&[i32]]| rows.iter().map(|row| row.iter().copied().map(BrokerId).collect()).collect::<Vec<Vec<_>>>();
        let counted = |partitions, replication_factor| Placement::Counted { partitions, replication_factor };
        let cases = [
            (Reshape::default(), Placement::Assigned(rows(&[&[1, 2], &[2, 1]]))),
            (Reshape { partitions: Some(2), ..Reshape::default() }, Placement::Assigned(rows(&[&[1, 2], &[2, 1]]))),
            (Reshape { partitions: Some(1), ..Reshape::default() }, counted(1, 2)),
            (Reshape { replication: Some(Replication::Factor(3)), ..Reshape::default() }, counted(2, 3)),
            (
                Reshape { replication: Some(Replication::Assignment(rows(&[&[3]]))), ..Reshape::default() },
                Placement::Assigned(rows(&[&[3]])),
            ),
        ];
        for (shape, expected) in cases {
            assert_eq!(placement(&before, &shape), expected, "{shape:?}");
        }
    }

    #[test]
    fn another_topic_has_another_id_on_every_broker() {
        let gone = [1, 9].map(|id| TopicId(uuid::Uuid::from_u128(id)));
        let mut first = None;
        let mut seen = |topic: TopicView| {
            let view = ClusterView { topics: vec![topic], ..ClusterView::default() };
            is_another(&"orders".into(), &gone, 2, &mut first, &view).is_ok()
        };
        let two: &[&[i32]] = &[&[1], &[2]];
        assert!(!seen(orders(1, two)), "an old one");
        assert!(!seen(orders(9, two)), "the old one");
        assert!(!seen(orders(0, two)), "nobody knows");
        assert!(seen(orders(2, two)));
        assert!(!seen(orders(3, two)), "not the same as the broker before");
        assert!(!seen(orders(2, &[&[1]])), "a partition is missing");
        assert!(!seen(orders(2, &[&[1], &[]])), "a partition has no leader");
        assert!(seen(orders(2, &[&[1], &[2], &[3]])));
    }
}
