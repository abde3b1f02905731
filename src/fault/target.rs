//! Who is meant: a plan's target becomes node ids when the step fires.
//!
//! Pure: what brokers said is passed in. Asking them is `lookup`'s.

use rand::RngExt;
use rand_chacha::ChaCha12Rng;

use crate::ids::{BrokerId, TopicPartition};
use crate::kafka::admin::{ClusterView, PartitionView};
use crate::plan::model::Target;

/// What is known of the cluster when a step is about to fire.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// Ids of all nodes.
    pub nodes: Vec<BrokerId>,
    /// Ids of the nodes that are brokers, in order.
    pub brokers: Vec<BrokerId>,
    /// Brokers that the engine says are running, in order.
    pub running: Vec<BrokerId>,
    /// The active controller, if one could be found.
    pub controller: Option<BrokerId>,
    /// A running broker's view of all topics, if one answered.
    pub view: Option<ClusterView>,
}

/// A node that a target stands for, and what it was just before the step fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedNode {
    /// Its id.
    pub id: BrokerId,
    /// Whether it was the active controller; `None`: nobody could tell in time, or nobody was asked (a start).
    pub was_controller: Option<bool>,
    /// How many partitions it led; `None`: the same.
    pub led: Option<usize>,
}

/// A target that stands for nobody.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// No node has this id.
    #[error("node {0} does not exist")]
    NoSuchNode(BrokerId),
    /// No running broker could be asked.
    #[error("no running broker answered, so {0} is not known")]
    NobodyAnswered(String),
    /// The partition does not exist.
    #[error("partition {0} does not exist")]
    NoSuchPartition(TopicPartition),
    /// The partition has no leader.
    #[error("partition {0} has no leader")]
    NoLeader(TopicPartition),
    /// The partition's ISR holds its leader at most.
    #[error("partition {0} has no follower in its ISR")]
    NoFollower(TopicPartition),
    /// There is no active controller, or nobody knows it.
    #[error("no running broker knows an active controller")]
    NoController,
    /// A link from a node to itself.
    #[error("node {0} has no link to itself")]
    NoLinkToItself(BrokerId),
    /// Nobody is up.
    #[error("no broker is running")]
    NobodyRuns,
    /// Every broker that was made for it has joined.
    #[error("no broker is left that could join the cluster")]
    NobodyJoins,
}

/// The nodes that `target` stands for; at least one.
///
/// # Errors
/// It stands for nobody.
pub fn resolve(target: &Target, sight: &Sight, rng: &mut ChaCha12Rng) -> Result<Vec<ResolvedNode>, TargetError> {
    let ids = match target {
        Target::Node(node) if sight.nodes.contains(node) => vec![*node],
        Target::Node(node) => return Err(TargetError::NoSuchNode(*node)),
        Target::LeaderOf(partition) => {
            let view = partition_of(partition, sight)?;
            vec![view.leader.ok_or_else(|| TargetError::NoLeader(partition.clone()))?]
        }
        Target::FollowerOf(partition) => {
            let view = partition_of(partition, sight)?;
            let mut followers = view.replicas.iter().filter(|replica| view.isr.contains(replica) && Some(**replica) != view.leader);
            vec![*followers.next().ok_or_else(|| TargetError::NoFollower(partition.clone()))?]
        }
        Target::Controller => vec![sight.controller.ok_or(TargetError::NoController)?],
        Target::Random if sight.running.is_empty() => return Err(TargetError::NobodyRuns),
        Target::Random => vec![sight.running[rng.random_range(0..sight.running.len())]],
        Target::All if sight.brokers.is_empty() => return Err(TargetError::NobodyRuns),
        Target::All => sight.brokers.clone(),
    };
    Ok(ids.into_iter().map(|id| describe(id, sight)).collect())
}

fn partition_of<'a>(partition: &TopicPartition, sight: &'a Sight) -> Result<&'a PartitionView, TargetError> {
    let view = sight.view.as_ref().ok_or_else(|| TargetError::NobodyAnswered(partition.to_string()))?;
    view.partition(partition).ok_or_else(|| TargetError::NoSuchPartition(partition.clone()))
}

fn describe(id: BrokerId, sight: &Sight) -> ResolvedNode {
    let led_in = |view: &ClusterView| {
        view.topics.iter().flat_map(|topic| &topic.partitions).filter(|partition| partition.leader == Some(id)).count()
    };
    ResolvedNode { id, was_controller: sight.controller.map(|controller| controller == id), led: sight.view.as_ref().map(led_in) }
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::ids::PartitionIndex;
    use crate::kafka::admin::TopicView;

    fn ids(of: &[i32]) -> Vec<BrokerId> {
        of.iter().copied().map(BrokerId).collect()
    }

    fn orders(partition: i32) -> TopicPartition {
        TopicPartition { topic: "orders".into(), partition: PartitionIndex(partition) }
    }

    fn partition(index: i32, leader: Option<i32>, isr: &[i32]) -> PartitionView {
        PartitionView {
            partition: PartitionIndex(index),
            error: None,
            leader: leader.map(BrokerId),
            leader_epoch: None,
            replicas: ids(&[3, 1, 2]),
            isr: ids(isr),
            offline: vec![],
        }
    }

    fn sight() -> Sight {
        let partitions = vec![partition(0, Some(3), &[2, 3, 1]), partition(1, None, &[1]), partition(2, Some(3), &[3])];
        let orders = TopicView { name: "orders".into(), id: None, is_internal: false, error: None, partitions };
        Sight {
            nodes: ids(&[1, 2, 3, 4]),
            brokers: ids(&[1, 2, 3]),
            running: ids(&[1, 3]),
            controller: Some(BrokerId(4)),
            view: Some(ClusterView { topics: vec![orders], ..ClusterView::default() }),
        }
    }

    fn resolved(target: &Target, sight: &Sight) -> Result<Vec<i32>, TargetError> {
        let nodes = resolve(target, sight, &mut ChaCha12Rng::seed_from_u64(7))?;
        Ok(nodes.iter().map(|node| node.id.0).collect())
    }

    #[test]
    fn a_role_becomes_a_node() {
        let rows = [
            (Target::Node(BrokerId(2)), vec![2]),
            (Target::LeaderOf(orders(0)), vec![3]),
            // Replicas in their order, not the ISR's: which follower is meant must not depend on who rejoined last.
            (Target::FollowerOf(orders(0)), vec![1]),
            (Target::Controller, vec![4]),
            (Target::All, vec![1, 2, 3]),
        ];
        for (target, nodes) in rows {
            assert_eq!(resolved(&target, &sight()), Ok(nodes), "{target:?}");
        }
    }

    #[test]
    fn a_target_that_stands_for_nobody_is_an_error() {
        let rows = [
            (Target::Node(BrokerId(9)), TargetError::NoSuchNode(BrokerId(9))),
            (Target::LeaderOf(orders(7)), TargetError::NoSuchPartition(orders(7))),
            (Target::LeaderOf(orders(1)), TargetError::NoLeader(orders(1))),
            (Target::FollowerOf(orders(2)), TargetError::NoFollower(orders(2))),
        ];
        for (target, error) in rows {
            assert_eq!(resolved(&target, &sight()), Err(error));
        }
        let blind = Sight { nodes: ids(&[1]), ..Sight::default() };
        let rows = [
            (Target::LeaderOf(orders(0)), TargetError::NobodyAnswered("orders/0".to_owned())),
            (Target::Controller, TargetError::NoController),
            (Target::Random, TargetError::NobodyRuns),
            (Target::All, TargetError::NobodyRuns),
        ];
        for (target, error) in rows {
            assert_eq!(resolved(&target, &blind), Err(error));
        }
    }

    #[test]
    fn random_takes_only_running_brokers_and_repeats_with_its_seed() {
        let draw = |seed| {
            let mut rng = ChaCha12Rng::seed_from_u64(seed);
            (0..32).map(|_| resolve(&Target::Random, &sight(), &mut rng).unwrap()[0].id.0).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).contains(&1) && draw(7).contains(&3) && !draw(7).contains(&2));
    }

    #[test]
    fn a_resolved_node_tells_what_it_was() {
        let mut rng = ChaCha12Rng::seed_from_u64(7);
        let node = resolve(&Target::Node(BrokerId(3)), &sight(), &mut rng).unwrap()[0];
        assert_eq!(node, ResolvedNode { id: BrokerId(3), was_controller: Some(false), led: Some(2) });
        let blind = Sight { nodes: ids(&[3]), ..Sight::default() };
        let node = resolve(&Target::Node(BrokerId(3)), &blind, &mut rng).unwrap()[0];
        assert_eq!(node, ResolvedNode { id: BrokerId(3), was_controller: None, led: None });
    }
}
