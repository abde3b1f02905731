//! What was heard of a cluster in one round of questions: plain values, without a judgement.
//!
//! Every question has its own answer, or the reason why there is none. Made by `ask`; read by everything else here.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::ids::{BrokerId, HostPort, PartitionIndex, TopicId, TopicName, TopicPartition};
use crate::kafka::admin::{AdminError, BrokerView, ClusterDescription, EligibleReplicas, ErrorCode, QuorumView, RpcError, TopicView};
use crate::kafka::raft::image::{Image, Partition};

/// An answer, or why there is none.
pub type Heard<T> = Result<T, Unheard>;

/// A leader's answer to whether it serves each partition: where it ends for consumers, or why it is refused.
pub type Served = BTreeMap<TopicPartition, Result<i64, ErrorCode>>;

/// What is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only this topic; `None`: all.
    pub topic: Option<TopicName>,
    /// Only this partition of it; `None`: all.
    pub partition: Option<PartitionIndex>,
}

/// One round of questions, all asked at about the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// What was asked for.
    pub scope: Scope,
    /// When the round ended, since 1970.
    pub ended_at: Duration,
    /// How long it took.
    pub took: Duration,
    /// The addresses that were given to begin with.
    pub bootstrap: Vec<HostPort>,
    /// Everybody who was asked as a broker, by address.
    pub voices: Vec<Voice>,
    /// Controllers' listeners that were given, and what each says of the quorum.
    pub controllers: Vec<(HostPort, Heard<QuorumView>)>,
    /// What the controllers' log itself says; not asked where no controller's listener was given.
    pub log: Heard<ControllerLog>,
    /// The same as it was before any broker was asked; `None`: it was not read by then.
    pub log_before: Option<Arc<Image>>,
    /// What each leader says of the partitions that it is shown to lead.
    pub served: BTreeMap<BrokerId, Heard<Served>>,
    /// Eligible leader replicas of partitions that were worth the question.
    pub eligible: Heard<BTreeMap<TopicPartition, EligibleReplicas>>,
    /// Topics that were worth it, too, and that were left out, since so many are not asked for at once.
    pub topics_left_out: usize,
    /// Brokers that were left out, since so many are not asked at once.
    pub brokers_left_out: usize,
    /// Partitions whose leader was not asked about them, since so many are not asked for at once.
    pub partitions_left_out: usize,
}

/// What the controllers' log says in all, as far as it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerLog {
    /// The cluster by its records.
    pub image: Arc<Image>,
    /// Offset of the last record that is in it.
    pub offset: i64,
    /// The active controller that it was read from.
    pub controller: BrokerId,
    /// Records that have come after it, and of which it is not known yet whether they are committed. Brokers may know.
    pub pending: usize,
}

/// What one address answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// Whom.
    pub address: HostPort,
    /// Its own Metadata.
    pub view: Heard<View>,
    /// Its own DescribeCluster.
    pub cluster: Heard<ClusterDescription>,
    /// What the active controller says of the quorum, asked through it.
    pub quorum: Heard<QuorumView>,
}

/// One broker's own Metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The cluster's id.
    pub cluster_id: Option<String>,
    /// Brokers that it shows to clients, by id.
    pub brokers: Vec<BrokerView>,
    /// Topics that it knows, or was asked for, by name. Equal ones are shared between brokers and rounds.
    pub topics: Vec<Arc<TopicView>>,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheard {
    /// The kind of reason.
    pub why: Silence,
    /// In words.
    pub detail: String,
}

/// Kinds of reasons for no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It was not asked.
    NotAsked,
    /// Nothing came in time.
    Silent,
    /// No connection: refused, no route, or a name that does not resolve.
    Unreachable,
    /// TLS or SASL failed: one side refused the other.
    Insecure,
    /// It took the connection and closed it.
    Closed,
    /// It does not know the question.
    Unsupported,
    /// It may not tell us.
    Denied,
    /// It answered with an error.
    Refused(ErrorCode),
    /// What it sent is no answer.
    Malformed,
}

/// TOPIC_, GROUP_ and CLUSTER_AUTHORIZATION_FAILED, SASL_AUTHENTICATION_FAILED
const DENIALS: [i16; 4] = [29, 30, 31, 58];

impl Unheard {
    /// Nobody was asked, and why not.
    #[must_use]
    pub fn not_asked(detail: &str) -> Self {
        Self { why: Silence::NotAsked, detail: detail.to_owned() }
    }

    /// Nothing came within the bound.
    #[must_use]
    pub fn silent(within: Duration) -> Self {
        Self { why: Silence::Silent, detail: format!("no answer within {:.1} s", within.as_secs_f64()) }
    }

    /// What an address that does not answer is like, in a word or two.
    #[must_use]
    pub fn word(&self) -> String {
        match self.why {
            Silence::NotAsked => "not asked".to_owned(),
            Silence::Silent => "silent".to_owned(),
            Silence::Unreachable => "no connection".to_owned(),
            Silence::Insecure => "no handshake".to_owned(),
            Silence::Closed => "closes".to_owned(),
            Silence::Unsupported => "not known there".to_owned(),
            Silence::Denied => "denied".to_owned(),
            Silence::Refused(code) => code.name(),
            Silence::Malformed => "no Kafka answer".to_owned(),
        }
    }
}

impl fmt::Display for Unheard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl From<AdminError> for Unheard {
    fn from(error: AdminError) -> Self {
        let why = match &error {
            AdminError::Rpc(RpcError::Connect { .. }) => Silence::Unreachable,
            AdminError::Rpc(RpcError::Handshake { .. }) => Silence::Insecure,
            AdminError::Rpc(RpcError::TimedOut { .. }) => Silence::Silent,
            AdminError::Rpc(RpcError::Closed { .. }) => Silence::Closed,
            AdminError::Rpc(RpcError::Unsupported { .. } | RpcError::Unsendable { .. }) => Silence::Unsupported,
            AdminError::Rpc(RpcError::Refused { code, .. }) | AdminError::Refused { code, .. } if DENIALS.contains(&code.0) => {
                Silence::Denied
            }
            AdminError::Rpc(RpcError::Refused { code, .. }) | AdminError::Refused { code, .. } => Silence::Refused(*code),
            _ => Silence::Malformed,
        };
        Self { why, detail: error.to_string() }
    }
}

impl Sighting {
    /// What the voices that answered say, with their addresses.
    pub fn views(&self) -> impl Iterator<Item = (&HostPort, &View)> {
        self.voices.iter().filter_map(|voice| Some((&voice.address, voice.view.as_ref().ok()?)))
    }

    /// The latest word on the quorum, from whomever it came; `None`: nobody had one.
    #[must_use]
    pub fn quorum(&self) -> Option<&QuorumView> {
        let told = self.voices.iter().map(|voice| &voice.quorum).chain(self.controllers.iter().map(|(_, told)| told));
        told.filter_map(|told| told.as_ref().ok()).max_by_key(|view| (view.leader_epoch, view.leader_time_ms()))
    }

    /// A partition by the controllers' log; `None`: it is not there, or the log was not read.
    #[must_use]
    pub fn logged(&self, partition: &TopicPartition) -> Option<(TopicId, &Partition)> {
        logged_in(&self.log.as_ref().ok()?.image, partition)
    }

    /// The same before any broker was asked.
    #[must_use]
    pub fn logged_before(&self, partition: &TopicPartition) -> Option<(TopicId, &Partition)> {
        logged_in(self.log_before.as_ref()?, partition)
    }

    /// A partition by the log if it was so all the while that brokers were asked: only then is a broker that shows something else behind.
    #[must_use]
    pub fn logged_throughout(&self, partition: &TopicPartition) -> Option<(TopicId, &Partition)> {
        // A broker that shows what is pending here is not behind but ahead.
        self.log.as_ref().ok().filter(|log| log.pending == 0)?;
        let logged = self.logged(partition)?;
        (self.logged_before(partition) == Some(logged)).then_some(logged)
    }

    /// Who else may lead a partition: by a broker's word, or by the controllers' log; `None`: unknown.
    #[must_use]
    pub fn eligible(&self, partition: &TopicPartition) -> Option<EligibleReplicas> {
        let told = self.eligible.as_ref().ok().and_then(|eligible| eligible.get(partition).cloned());
        let logged =
            |(_, logged): (TopicId, &Partition)| EligibleReplicas { elr: logged.elr.clone(), last_known: logged.last_known_elr.clone() };
        told.or_else(|| self.logged(partition).map(logged))
    }

    /// What a leader says of a partition; `None`: it was not asked, or did not answer.
    #[must_use]
    pub fn served(&self, leader: BrokerId, partition: &TopicPartition) -> Option<Result<i64, ErrorCode>> {
        self.served.get(&leader)?.as_ref().ok()?.get(partition).copied()
    }
}

fn logged_in<'a>(image: &'a Image, partition: &TopicPartition) -> Option<(TopicId, &'a Partition)> {
    let (id, topic) = image.topic(&partition.topic)?;
    Some((id, topic.partitions.get(&partition.partition)?))
}
