//! The cluster that all subjects send to: three nodes on the host's own network, and a fresh topic for each run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{DockerCluster, RunId, UpOptions};
use kafka_chaos::ids::TopicName;
use kafka_chaos::kafka::admin::{Admin, NewTopic, PartitionView, Placement};

/// Partitions of a topic.
pub(crate) const PARTITIONS: u32 = 6;
/// Replicas of each.
pub(crate) const REPLICATION_FACTOR: u16 = 3;
/// Longest wait until every broker knows a topic with full ISRs.
const KNOWN_WITHIN: Duration = Duration::from_secs(60);
/// Pause between two questions.
const ROUND: Duration = Duration::from_millis(100);

/// A running cluster; removed when it is dropped.
#[derive(Debug)]
pub(crate) struct BenchCluster {
    docker: DockerCluster,
    admin: Admin,
    clock: Clock,
    topics_made: u32,
}

impl BenchCluster {
    /// Starts it.
    pub(crate) async fn up(kafka: &str) -> anyhow::Result<Self> {
        let text = format!(
            "name = 'bench'\n[cluster]\nkafka = '{kafka}'\nnodes = 3\nnetwork = 'host'\nmemory = '1536 MiB'\nheap = '768 MiB'\n\
             [[topic]]\nname = 'x'\npartitions = 1\nreplication = 1\n[[producers]]\nname = 'x'\ntopics = ['x']\nrate = 'max'\n"
        );
        let plan = kafka_chaos::plan::parse("bench", &text).map_err(|problems| anyhow::anyhow!("{}", problems.render(false)))?.plan;
        let clock = Clock::real();
        let options = UpOptions::new(clock.clone(), Arc::new(|_| {}));
        let docker = DockerCluster::up(&plan.cluster, &RunId::fresh(&clock), &options).await.context("the cluster does not start")?;
        let admin = Admin::new(docker.bootstrap(), "bench-admin", clock.clone());
        Ok(Self { docker, admin, clock, topics_made: 0 })
    }

    /// Listeners, comma-separated.
    pub(crate) fn bootstrap(&self) -> String {
        self.docker.bootstrap().iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    /// The image of its nodes.
    pub(crate) fn image(&self) -> &str {
        self.docker.image()
    }

    /// The run's id, which labels all that belongs to it.
    pub(crate) fn run_id(&self) -> &str {
        self.docker.run_id().as_str()
    }

    /// Makes a topic that nobody has written to, and waits until every broker knows it.
    pub(crate) async fn fresh_topic(&mut self) -> anyhow::Result<TopicName> {
        self.topics_made += 1;
        let name = TopicName::from(format!("bench-{}", self.topics_made).as_str());
        let placement = Placement::Counted { partitions: PARTITIONS, replication_factor: REPLICATION_FACTOR };
        // What a deleted topic holds would else stay on the disk for a minute.
        let config = [("min.insync.replicas", "2"), ("file.delete.delay.ms", "1000")];
        let config: BTreeMap<_, _> = config.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        self.admin.create_topics(&[NewTopic { name: name.clone(), placement, config }]).await?;
        let give_up_at = self.clock.now() + KNOWN_WITHIN;
        while !self.is_known_everywhere(&name).await {
            ensure!(self.clock.now() < give_up_at, "not every broker knows {name} within {} s", KNOWN_WITHIN.as_secs());
            tokio::time::sleep(ROUND).await;
        }
        Ok(name)
    }

    async fn is_known_everywhere(&self, name: &TopicName) -> bool {
        for broker in self.docker.bootstrap() {
            let Ok(view) = self.admin.metadata_of(&broker, None).await else { return false };
            let is_full = view
                .topic(name)
                .is_some_and(|topic| topic.partitions.len() == PARTITIONS as usize && topic.partitions.iter().all(PartitionView::is_full));
            if !is_full {
                return false;
            }
        }
        true
    }

    /// Deletes a topic, so that the disk does not fill.
    pub(crate) async fn delete_topic(&self, name: TopicName) -> anyhow::Result<()> {
        self.admin.delete_topics(&[name]).await.context("a topic cannot be deleted")
    }

    /// Removes the cluster.
    pub(crate) async fn down(self) -> anyhow::Result<()> {
        self.docker.down().await.context("the cluster cannot be removed: chaos clean")
    }
}
