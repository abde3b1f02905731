//! What is settled before a run's load: which engine makes each group's load, and the facts that open the stream.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use super::load::GroupWithEngine;
use super::{RunError, machine, scope};
use crate::cluster::{DockerCluster, RunId};
use crate::engine::registry;
use crate::plan::model::{ConsumerGroup, Plan, RequesterGroup, TopicList};
use crate::record::fact::{ConsumerInfo, GroupInfo, RequesterInfo, RunStarted};

/// Each group with its engine, and remarks on their configurations.
///
/// # Errors
/// A group could not be started with its configuration.
pub(super) fn groups(plan: &Plan) -> Result<(Vec<GroupWithEngine<'_>>, Vec<String>), RunError> {
    let mut groups = Vec::with_capacity(plan.producers.len());
    let mut warnings = Vec::new();
    for group in &plan.producers {
        let engine = registry::engine(group.engine)?;
        warnings.extend(engine.check(group)?.into_iter().map(|warning| format!("{}: {warning}", group.name)));
        groups.push((group, engine));
    }
    Ok((groups, warnings))
}

/// What a run of this plan would remark before it starts anything: properties without effect in an engine, and topics beyond what is watched.
///
/// # Errors
/// A group could not be started with its configuration, or by this build.
pub fn remarks(plan: &Plan) -> Result<Vec<String>, RunError> {
    let (_, mut remarks) = groups(plan)?;
    remarks.extend(scope::watched(plan).1.into_iter().chain(scope::followed(plan).1));
    Ok(remarks)
}

/// The fact that opens the stream.
pub(super) fn fact(
    plan: &Plan,
    groups: &[GroupWithEngine<'_>],
    id: &RunId,
    cluster: Option<&DockerCluster>,
    warnings: &[String],
    steady_at: SystemTime,
) -> RunStarted {
    let mut versions = versions(plan, cluster);
    versions.extend(groups.iter().filter_map(|(group, engine)| Some((group.engine.name().to_owned(), engine.version()?))));
    let groups = plan.producers.iter().map(|group| GroupInfo {
        name: group.name.clone(),
        engine: group.engine.name().to_owned(),
        producers: group.count,
        share: group.share,
    });
    RunStarted {
        run_id: id.to_string(),
        plan: plan.name.clone(),
        plan_text: plan.source.text.clone(),
        plan_sha256: plan.source.sha256.clone(),
        plan_path: plan.source.path.clone(),
        seed: plan.seed,
        steady_at: jiff::Timestamp::try_from(steady_at).unwrap_or_default().to_string(),
        versions,
        machine: machine::machine(),
        phases_us: [plan.phases.warmup, plan.phases.steady, plan.phases.recovery].map(micros),
        groups: groups.collect(),
        requesters: plan.requesters.iter().map(requesters).collect(),
        consumers: plan.consumers.iter().map(consumers).collect(),
        warnings: warnings.to_vec(),
    }
}

fn consumers(group: &ConsumerGroup) -> ConsumerInfo {
    ConsumerInfo { name: group.name.clone(), topics: group.topics.iter().map(ToString::to_string).collect() }
}

fn requesters(group: &RequesterGroup) -> RequesterInfo {
    let list = match &group.list {
        TopicList::All => "all".to_owned(),
        TopicList::Nothing => "none".to_owned(),
        TopicList::Named(topics) if topics.len() == 1 => "1 topic".to_owned(),
        TopicList::Named(topics) => format!("{} topics", topics.len()),
    };
    RequesterInfo { name: group.name.clone(), requesters: group.count, list }
}

fn versions(plan: &Plan, cluster: Option<&DockerCluster>) -> BTreeMap<String, String> {
    let mut versions =
        BTreeMap::from([("chaos".to_owned(), env!("CARGO_PKG_VERSION").to_owned()), ("kafka".to_owned(), plan.cluster.kafka.clone())]);
    if let Some(cluster) = cluster {
        versions.insert("image".to_owned(), cluster.image().to_owned());
        versions.insert("docker".to_owned(), cluster.daemon().version().to_owned());
    }
    versions.extend(machine::kernel().map(|kernel| ("kernel".to_owned(), kernel)));
    versions
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}
