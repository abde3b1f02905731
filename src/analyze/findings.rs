//! What the analysis says, as plain values: the text report shows them, `run.json` holds them.
//!
//! Field names are an interface: `docs/results.md` lists them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::analyze::audit::findings::AuditFinding;
use crate::analyze::layers::findings::{LayerFinding, ProbeFinding};
use crate::analyze::spread::Spread;
use crate::analyze::storm::findings::StormFinding;
use crate::record::fact::Totals;

/// The outcome of a run in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// Every expectation is met, every step was done and seen, everything recovered.
    Pass,
    /// An expectation is not met, or a step changed nothing, failed or was not seen.
    Fail,
    /// A producer's partition had not recovered by the end.
    Hang,
    /// The figures cannot be trusted, or an expectation could not be checked.
    Unknown,
    /// The run was stopped before its end.
    Interrupted,
}

impl Verdict {
    /// The word in files and on the screen.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::Hang => "HANG",
            Self::Unknown => "UNKNOWN",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// All findings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// The outcome in one word.
    pub verdict: Verdict,
    /// Why it is not PASS, the weightiest first.
    pub reasons: Vec<String>,
    /// What happened, in sentences.
    pub summary: Vec<String>,
    /// Records of all groups.
    pub totals: Totals,
    /// The plan's expectations, in its order.
    pub expectations: Vec<ExpectationFinding>,
    /// What the verdict depends on, each with its own.
    #[serde(default)]
    pub checks: Vec<CheckFinding>,
    /// Groups in plan order.
    pub groups: Vec<GroupFinding>,
    /// Requester groups in plan order.
    #[serde(default)]
    pub requesters: Vec<RequesterFinding>,
    /// Consumers in plan order.
    #[serde(default)]
    pub consumers: Vec<ConsumerFinding>,
    /// Metadata requests and CPU by part of the run: warm-up, baseline, and each step.
    #[serde(default)]
    pub storm: Vec<StormFinding>,
    /// Steps in the order of firing.
    pub steps: Vec<StepFinding>,
    /// Stalls that no step explains, by group; only groups that had any.
    pub outside_steps: Vec<OutageFigures>,
    /// Stalls that began in the warm-up, while brokers and clients were cold; no part of the baseline.
    pub warm_up_stalls: Vec<OutageFigures>,
    /// What each group's caches made of each step that added partitions.
    pub growth: Vec<GrowthFinding>,
    /// What the layers made of each step; empty if nobody saw the controller's log.
    pub layers: Vec<LayerFinding>,
    /// What looking at the layers has cost; `None`: nothing looked.
    pub probes: Option<ProbeFinding>,
    /// What the topics held afterwards, against what clients were told; `None`: they were not read back.
    #[serde(default)]
    pub audit: Option<AuditFinding>,
    /// The load generator's own health.
    pub generator: GeneratorFinding,
    /// Pairs and stretches without service that found no room.
    #[serde(default)]
    pub stretches_not_kept: u64,
    /// Nodes that were found otherwise than steps had left them.
    #[serde(default)]
    pub unplanned: Vec<UnplannedFinding>,
    /// Facts that did not fit into the stream.
    pub facts_lost: u64,
    /// Connections of clients that the relay before the brokers could not take or pass on: too many open files.
    pub relay_refused: u64,
    /// Remarks for the reader that do not change the verdict.
    pub warnings: Vec<String>,
    /// End of the run in milliseconds since the start of `steady`; `None`: it was cut off.
    pub ended_ms: Option<i64>,
}

/// An expectation and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpectationFinding {
    /// The expectation as the plan says it, such as `records.failed == 0 (steady) except step 1`.
    pub text: String,
    /// The metric's value; `None`: it could not be measured.
    pub value: Option<f64>,
    /// Whether it is met; `None`: could not be checked.
    pub met: Option<bool>,
    /// The value in words, such as `13204 ms`.
    pub value_in_words: String,
    /// Why it could not be measured; `None`: it was.
    #[serde(default)]
    pub unknown: Option<String>,
}

/// One of the things that the verdict depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinding {
    /// Of which kind.
    pub check: Check,
    /// What was checked, such as ``step 4 `kill 3` ``; of an expectation its text.
    pub name: String,
    /// What the verdict would be if it depended on nothing else.
    pub verdict: Verdict,
    /// Why it is not PASS, the weightiest first.
    pub reasons: Vec<String>,
    /// How long it took: of a step, from its request until it was seen from outside. `None`: it takes no time of its own, or never ended.
    pub for_ms: Option<i64>,
}

impl CheckFinding {
    /// Whether it is a step that was not what the plan wanted: what such a run suffered is not what its plan asks for.
    #[must_use]
    pub fn is_unconfirmed_step(&self) -> bool {
        self.check == Check::Step && self.verdict != Verdict::Pass
    }
}

/// Kinds of things that the verdict depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// That the run came to its end.
    End,
    /// That its figures can be trusted.
    Trust,
    /// That no pair of a group hangs, unless the plan allows it.
    Recovery,
    /// That a step was what the plan wanted.
    Step,
    /// That an expectation is met.
    Expect,
}

impl Check {
    /// The name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Trust => "trust",
            Self::Recovery => "recovery",
            Self::Step => "step",
            Self::Expect => "expect",
        }
    }
}

/// What one group did and saw. `None` where its client cannot tell: unknown is not 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupFinding {
    /// Its name.
    pub name: String,
    /// The client that made its load.
    pub engine: String,
    /// How many producers.
    pub producers: u32,
    /// Its records, warm-up included.
    pub totals: Totals,
    /// Those of the warm-up alone.
    pub warmup_totals: Totals,
    /// Its Metadata requests.
    pub metadata_requests: RequestFinding,
    /// From a producer's construction to its first acknowledged record, over the producers that got there.
    pub first_ack_ms: Option<Spread>,
    /// The stages of that way.
    pub first_ack_stages_ms: StageFinding,
    /// Latencies by window.
    pub latency: LatencyFinding,
    /// A stretch without service must be longer than this to be an outage: 500 ms above the baseline's p99.
    pub outage_threshold_ms: i64,
    /// Time that sends waited for metadata, over all producers.
    pub blocked_metadata_ms: Option<u64>,
    /// Time that sends waited for memory.
    pub blocked_memory_ms: Option<u64>,
    /// What its clients' own process used; `None`: they are part of this one.
    pub process: Option<ProcessFinding>,
    /// Least and greatest partition count of any producer's topic in its cache at the end.
    pub cached_partitions: Option<(u32, u32)>,
    /// Remarks, such as settings without effect.
    pub warnings: Vec<String>,
}

/// What one consumer has read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsumerFinding {
    /// Its name.
    pub name: String,
    /// What it read.
    pub topics: Vec<String>,
    /// Records that arrived.
    pub records: u64,
    /// Those of them that do not say when they were due.
    pub undated: u64,
    /// Bytes that came.
    pub bytes: u64,
    /// Most records that could be read and were not yet, at the end of any second; `None`: no leader has ever said anything.
    pub behind_max: Option<u64>,
    /// Those at the end.
    pub behind_at_end: Option<u64>,
    /// What went wrong, by kind.
    pub errors: BTreeMap<String, u64>,
    /// From due time to arrival, in the warm-up.
    pub warmup: Option<Quantiles>,
    /// In the baseline.
    pub baseline: Option<Quantiles>,
    /// After it.
    pub after: Option<Quantiles>,
}

/// What one group of requesters did: Metadata requests that are no producer's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequesterFinding {
    /// Its name.
    pub name: String,
    /// How many requesters.
    pub requesters: u32,
    /// What they asked for: `all`, `none`, or how many topics by name.
    pub list: String,
    /// Requests that became due.
    pub due: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that were answered.
    pub ok: u64,
    /// Requests that were sent and not answered.
    pub failed: u64,
    /// Most that were sent in one second.
    pub sent_per_second_max: u64,
    /// Bytes sent.
    pub request_bytes: u64,
    /// Bytes received.
    pub response_bytes: u64,
    /// Bytes of an answer, on average; `None` without any.
    pub response_bytes_per_answer: Option<u64>,
    /// Most topics in an answer; `None` without any.
    #[serde(default)]
    pub topics_max: Option<u32>,
    /// Most partitions in an answer.
    #[serde(default)]
    pub partitions_max: Option<u32>,
    /// Requests by the node that was asked.
    pub by_node: BTreeMap<String, u64>,
    /// What went wrong, by kind or code.
    pub errors: BTreeMap<String, u64>,
    /// From send to answer in the warm-up.
    pub warmup_round_trip: Option<Quantiles>,
    /// The same in the baseline.
    pub baseline_round_trip: Option<Quantiles>,
    /// The same after it.
    pub after_round_trip: Option<Quantiles>,
    /// From due time to answer, over the whole load.
    pub response: Option<Quantiles>,
}

/// What the process of a group's clients used over its whole life, its own start included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessFinding {
    /// CPU time.
    pub cpu_seconds: f64,
    /// Greatest resident memory.
    pub rss_bytes_max: u64,
    /// Greatest number of threads.
    pub threads_max: u64,
}

/// A group's Metadata requests over its producers' whole lives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestFinding {
    /// All of them; `None`: the client does not count them.
    pub total: Option<u64>,
    /// By reason; under `unknown` those of a client that does not say why.
    pub by_reason: BTreeMap<String, u64>,
    /// Over producers.
    pub per_producer: Option<Spread>,
    /// Those sent for age alone, over producers.
    pub by_age_per_producer: Option<Spread>,
    /// Bytes sent.
    pub request_bytes: Option<u64>,
    /// Bytes received.
    pub response_bytes: Option<u64>,
    /// How they ended.
    pub by_outcome: Option<BTreeMap<String, u64>>,
}

/// Stages from construction, each counted from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageFinding {
    /// The first connection is up.
    pub connected: Option<Spread>,
    /// Its ApiVersions are answered.
    pub ready: Option<Spread>,
    /// The first topic is in the snapshot.
    pub metadata: Option<Spread>,
    /// The producer id is there; `None` without idempotence.
    pub producer_id: Option<Spread>,
    /// The first record is acknowledged.
    pub acknowledged: Option<Spread>,
}

/// A group's latencies by window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyFinding {
    /// Before the baseline.
    pub warmup: WindowFinding,
    /// `steady`.
    pub baseline: WindowFinding,
    /// From the end of `steady` to the end of the load.
    pub after: WindowFinding,
}

/// Latencies of one window; `None` without any record of the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowFinding {
    /// Acknowledgement minus due time.
    pub response: Option<Quantiles>,
    /// Acknowledgement minus send.
    pub service: Option<Quantiles>,
    /// Response time of records that failed or are indeterminate.
    pub response_bad: Option<Quantiles>,
}

/// Quantiles of a histogram, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quantiles {
    /// How many values.
    pub count: u64,
    /// The median.
    pub p50_us: u64,
    /// 99 % are not above it.
    pub p99_us: u64,
    /// The greatest, exact.
    pub max_us: u64,
}

/// A step and what it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepFinding {
    /// Its number.
    pub step: u32,
    /// The step whose part it is.
    pub parent: Option<u32>,
    /// Round or position, from 1.
    pub round: Option<u32>,
    /// Such as `kill`.
    pub action: String,
    /// As the plan says it.
    pub target: String,
    /// What the target was resolved to.
    pub nodes: Vec<i32>,
    /// Whether the node was the active controller.
    pub was_controller: Option<bool>,
    /// Just before the call.
    pub requested_ms: i64,
    /// The call returned.
    pub acknowledged_ms: Option<i64>,
    /// Confirmed from outside.
    pub observed_ms: Option<i64>,
    /// How it ended; `None`: it did not.
    pub outcome: Option<String>,
    /// In words.
    pub detail: String,
    /// Whether other steps are parts of it; its outages are then theirs.
    pub has_parts: bool,
    /// What it did to each group that sent at the time.
    pub outages: Vec<OutageFigures>,
}

/// Outages of one group at one step. A *pair* is a producer and a partition that it uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutageFigures {
    /// The group.
    pub group: String,
    /// Pairs in use at the time; for a step with parts: pairs times rounds.
    pub pairs: u64,
    /// Those with an outage.
    pub stalled: u64,
    /// Those whose outage had begun before the step.
    pub began_before: u64,
    /// The longest outage of each pair, over all pairs, 0 for those without.
    pub outage_ms: Option<Spread>,
    /// The same over the pairs whose outage began with this step.
    pub own_ms: Option<Spread>,
    /// From the step's request to the first ok that ended an outage, over the pairs that recovered.
    pub request_to_ok_ms: Option<Spread>,
    /// Pairs without any ok after it.
    pub never_recovered: u64,
}

/// What one group's caches made of a step that added partitions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrowthFinding {
    /// The step.
    pub step: u32,
    /// The topic.
    pub topic: String,
    /// Partitions before, where known.
    pub from: Option<u32>,
    /// Partitions since.
    pub to: u32,
    /// The group.
    pub group: String,
    /// Producers that had the topic in their caches before the step.
    pub producers: u64,
    /// Producers whose cache never showed the new count.
    pub never: u64,
    /// From the step's observation (or else its acknowledgement, or request) to the cache showing it; negative: the cache was first.
    pub cached_ms: Option<Spread>,
    /// By which request they learned, by reason.
    pub by_reason: BTreeMap<String, u64>,
    /// From the cache showing it to the first acknowledged record on a new partition, over the producers that got there.
    pub first_use_ms: Option<Spread>,
}

/// A node that somebody or something else than a step has stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnplannedFinding {
    /// The node.
    pub node: i32,
    /// `exited`, `paused` or `absent`, as the container engine says.
    pub state: String,
    /// End of the second in which it was first seen so, in milliseconds since the start of `steady`.
    pub seen_ms: i64,
}

/// The load generator's own health.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorFinding {
    /// Lateness of sends over the whole load: median.
    pub lateness_p50_us: Option<u64>,
    /// 99 % were not later.
    pub lateness_p99_us: Option<u64>,
    /// The latest.
    pub lateness_max_us: Option<u64>,
    /// CPU time of the process, over all workers.
    pub cpu_seconds: f64,
    /// Greatest resident memory of any worker.
    pub rss_bytes_max: u64,
    /// Greatest number of threads of any worker.
    pub threads_max: u64,
    /// Lateness in the baseline alone.
    pub baseline_lateness: Option<Quantiles>,
    /// Lateness after the baseline alone.
    pub after_lateness: Option<Quantiles>,
    /// The longest time that the whole process stood still, in the baseline and after it: a frozen or starved machine.
    #[serde(default)]
    pub standstill_max_us: u64,
    /// The greatest step of the machine's wall clock from one second to the next.
    #[serde(default)]
    pub clock_step_max_us: u64,
    /// Connections to brokers that could not be made for want of open files.
    #[serde(default)]
    pub refused_connections: u64,
    /// CPU time in the baseline, in percent of one core, over all workers.
    pub baseline_cpu_percent: Option<f64>,
}
