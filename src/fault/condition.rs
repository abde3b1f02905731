//! What `wait` and `rolling ... then` wait for, seen from outside.

use std::time::Duration;

use super::watch::{Look, Watch};
use crate::clock::Moment;
use crate::ids::{BrokerId, TopicPartition};
use crate::kafka::admin::{ClusterView, QuorumView};
use crate::plan::model::Condition;

/// Pause between two looks. Longer than for observing a step: a wait may last a minute, and each look asks every broker for everything.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Watch {
    /// Waits until a condition holds: when, and what was seen. Else what was still missing when time was up.
    pub(super) async fn condition(&self, condition: &Condition, within: Duration) -> Result<(Moment, String), String> {
        match condition {
            Condition::IsrFull => self.until(LOOK_EVERY, within, || self.look_at_views(None, isr_full)).await,
            Condition::LeaderOf { partition, is } => {
                let topics = [partition.topic.clone()];
                self.until(LOOK_EVERY, within, || self.look_at_views(Some(&topics), |_, view| leads(partition, *is, view))).await
            }
            Condition::CaughtUp => self.caught_up(within).await,
            Condition::Elapsed(span) => {
                let until = self.clock.now() + *span;
                tokio::time::sleep_until(self.clock.instant_of(until)).await;
                Ok((self.clock.now(), String::new()))
            }
        }
    }

    /// Every running node has read what was committed when we first asked. The log grows all the time by itself, so a moving goal would
    /// never be reached by all at once.
    async fn caught_up(&self, within: Duration) -> Result<(Moment, String), String> {
        let give_up_at = self.clock.now() + within;
        let (asked_at, goal) = self
            .until(LOOK_EVERY, within, || async {
                match self.look_at_quorum().await {
                    Ok((_, quorum)) => Look::Seen(quorum.high_watermark),
                    Err(why) => Look::NotYet(why),
                }
            })
            .await?;
        self.until(LOOK_EVERY, give_up_at.since(asked_at), || async {
            match self.look_at_quorum().await.and_then(|(running, quorum)| have_read(goal, &running, &quorum)) {
                Ok(()) => Look::Seen(format!("all have read up to offset {goal}")),
                Err(why) => Look::NotYet(why),
            }
        })
        .await
    }

    /// Ids of all running nodes, and the quorum.
    async fn look_at_quorum(&self) -> Result<(Vec<BrokerId>, QuorumView), String> {
        let running = self.running().await.map_err(|error| error.to_string())?;
        let brokers: Vec<_> = running.iter().filter_map(|node| Some((node.id, node.client_listener.as_ref()?))).collect();
        let quorum = self.any_quorum(&brokers).await.ok_or("no running broker reaches the active controller")?;
        Ok((running.iter().map(|node| node.id).collect(), quorum))
    }
}

/// One broker's view: it lists every running broker, and every replica of every partition runs and is in the ISR. A killed broker stays
/// in the ISR until its session is over; that is not what "full" means.
fn isr_full(running: &[BrokerId], view: &ClusterView) -> Result<(), String> {
    if let Some(missing) = running.iter().find(|id| !view.lists(**id)) {
        return Err(format!("does not list broker {missing}"));
    }
    for topic in view.topics.iter().filter(|topic| !topic.is_internal) {
        if let Some(error) = topic.error {
            return Err(format!("topic {}: {error}", topic.name));
        }
        for partition in &topic.partitions {
            let named = format_args!("{}/{}", topic.name, partition.partition).to_string();
            if !partition.is_full() {
                return Err(format!("{named} has ISR {:?} of {:?}", numbers(&partition.isr), numbers(&partition.replicas)));
            }
            if let Some(down) = partition.replicas.iter().find(|replica| !running.contains(replica)) {
                return Err(format!("{named} has a replica on broker {down}, which does not run"));
            }
        }
    }
    Ok(())
}

fn leads(partition: &TopicPartition, is: Option<BrokerId>, view: &ClusterView) -> Result<(), String> {
    let shown = view.partition(partition).ok_or_else(|| format!("does not show {partition}"))?;
    match (shown.leader, is) {
        (None, _) => Err(format!("shows no leader of {partition}")),
        (Some(leader), Some(wanted)) if leader != wanted => Err(format!("shows broker {leader} as leader of {partition}")),
        (Some(_), _) => Ok(()),
    }
}

fn have_read(goal: i64, running: &[BrokerId], quorum: &QuorumView) -> Result<(), String> {
    for id in running {
        let replica = quorum.replicas().find(|replica| replica.id == *id);
        match replica.and_then(|replica| replica.log_end_offset) {
            Some(offset) if offset >= goal => {}
            Some(offset) => return Err(format!("node {id} has read up to offset {offset} of {goal}")),
            None => return Err(format!("the active controller does not know node {id}")),
        }
    }
    Ok(())
}

pub(super) fn numbers(ids: &[BrokerId]) -> Vec<i32> {
    ids.iter().map(|id| id.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HostPort, LeaderEpoch, PartitionIndex};
    use crate::kafka::admin::{BrokerView, PartitionView, ReplicaView, TopicView};

    fn ids(of: &[i32]) -> Vec<BrokerId> {
        of.iter().copied().map(BrokerId).collect()
    }

    fn view(listed: &[i32], isr: &[i32], is_internal: bool) -> ClusterView {
        let broker = |id| BrokerView { id, listener: HostPort::new("127.0.0.1", 1), rack: None, is_fenced: false };
        let partition = PartitionView {
            partition: PartitionIndex(0),
            error: None,
            leader: isr.first().copied().map(BrokerId),
            leader_epoch: None,
            replicas: ids(&[1, 2]),
            isr: ids(isr),
            offline: vec![],
        };
        ClusterView {
            brokers: ids(listed).into_iter().map(broker).collect(),
            topics: vec![TopicView { name: "orders".into(), id: None, is_internal, error: None, partitions: vec![partition] }],
            ..ClusterView::default()
        }
    }

    #[test]
    fn isr_full_needs_every_replica_running_and_in_sync() {
        let rows = [
            (&[1, 2][..], view(&[1, 2], &[2, 1], false), ""),
            (&[1, 2], view(&[1, 2], &[1], false), "orders/0 has ISR [1] of [1, 2]"),
            (&[1, 2], view(&[1, 2], &[1], true), ""),
            (&[1, 2], view(&[1], &[1, 2], false), "does not list broker 2"),
            // Just killed: the controller has not noticed, and every view still says "full".
            (&[1], view(&[1, 2], &[1, 2], false), "orders/0 has a replica on broker 2, which does not run"),
        ];
        for (running, view, why) in rows {
            assert_eq!(isr_full(&ids(running), &view).err().unwrap_or_default(), why);
        }
    }

    #[test]
    fn leader_of_takes_anyone_or_the_one_named() {
        let orders = |partition| TopicPartition { topic: "orders".into(), partition: PartitionIndex(partition) };
        let rows = [
            (orders(0), None, view(&[], &[2], false), ""),
            (orders(0), Some(BrokerId(2)), view(&[], &[2], false), ""),
            (orders(0), Some(BrokerId(1)), view(&[], &[2], false), "shows broker 2 as leader of orders/0"),
            (orders(0), None, view(&[], &[], false), "shows no leader of orders/0"),
            (orders(1), None, view(&[], &[2], false), "does not show orders/1"),
        ];
        for (partition, is, view, why) in rows {
            assert_eq!(leads(&partition, is, &view).err().unwrap_or_default(), why);
        }
    }

    #[test]
    fn caught_up_asks_only_for_nodes_that_run() {
        let replica = |id, offset| ReplicaView { id: BrokerId(id), log_end_offset: offset, last_fetch_ms: None, last_caught_up_ms: None };
        let quorum = QuorumView {
            leader: BrokerId(1),
            leader_epoch: LeaderEpoch(1),
            high_watermark: 60,
            voters: vec![replica(1, Some(60)), replica(2, Some(10))],
            observers: vec![replica(4, Some(50)), replica(5, None)],
        };
        assert_eq!(have_read(50, &ids(&[1, 4]), &quorum), Ok(()));
        assert_eq!(have_read(50, &ids(&[1, 2]), &quorum), Err("node 2 has read up to offset 10 of 50".to_owned()));
        assert_eq!(have_read(50, &ids(&[5]), &quorum), Err("the active controller does not know node 5".to_owned()));
        assert_eq!(have_read(50, &ids(&[6]), &quorum), Err("the active controller does not know node 6".to_owned()));
    }
}
