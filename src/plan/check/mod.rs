//! From raw values to a checked plan: everything that needs more than one value to be found out.
//!
//! Pure. Each part reads its section, adds to the same bag of problems and goes on; what a broken section would have told the others
//! stays unknown to them, so that one mistake is reported once. Called by `plan::parse` alone.

mod actions;
mod client_links;
mod cluster;
mod consumers;
mod dynamic;
mod expect;
mod expect_windows;
mod extent;
mod group_names;
mod links;
mod nodes;
mod producers;
mod ramps;
mod requesters;
mod scene;
mod security;
mod steps;
mod targets;
mod topic_actions;
mod topics;
mod words;

use std::time::Duration;

use toml::de::DeTable;

use super::grammar::{AUDIT, CLUSTER, PHASES};
use super::model::{AuditSpec, Phases, Plan, PlanSource, Step};
use super::problem::Problem;
use super::raw::Fields;

use scene::Scene;

pub(super) use cluster::kafka_version;
pub(super) use words::host_port;

/// Checks a whole plan. What could not be read has a stand-in: the result counts only if no error was found.
pub(super) fn check(root: &Fields<'_>, source: PlanSource) -> Plan {
    let empty = DeTable::new();
    let cluster_fields = root.table("cluster").unwrap_or_else(|| Fields::new(&CLUSTER, &empty, 0..0, root.problems));
    let mut cluster = cluster::read(&cluster_fields);
    let layout = cluster.layout.filter(|_| root.table("cluster").is_some() || !root.has("cluster"));
    let phase_fields = root.table("phases").unwrap_or_else(|| Fields::new(&PHASES, &empty, 0..0, root.problems));
    let audit_fields = root.table("audit").unwrap_or_else(|| Fields::new(&AUDIT, &empty, 0..0, root.problems));
    let audit = audit(&audit_fields);

    let mut scene = Scene::new(root.problems, &source.text, layout, &cluster);
    let topics = topics::read(&root.tables("topic"), &mut scene);
    scene.topics.complete &= root.has("topic") == root.is_list("topic");
    let step_fields = root.tables("step");
    let steps = steps::read(&step_fields, &mut scene);
    cluster.spec.links = links::needs(&steps);
    // More than fit is a problem by now.
    cluster.spec.joining = u16::try_from(steps::joining(&steps)).unwrap_or(u16::MAX);
    let producer_fields = root.tables("producers");
    let (producers, group_names) = producers::read(&producer_fields, &scene);
    let mut all_names = group_names.clone();
    let requesters = requesters::read(&root.tables("requesters"), &mut all_names, &scene);
    let consumers = consumers::read(&root.tables("consumers"), &mut all_names, &scene);
    client_links::check_groups(&mut scene, all_names.all());
    let consumer_names: Vec<String> = consumers.iter().map(|consumer| consumer.name.clone()).collect();
    let groups = expect::GroupLists { producers: group_names.all(), consumers: &consumer_names, all: all_names.all() };
    let all_read = steps.len() == step_fields.len() && root.has("step") == root.is_list("step");
    let expectations = expect::read(&root.tables("expect"), groups, all_read.then_some(&steps), audit, &scene);
    let plan = Plan {
        name: root.text("name").and_then(|name| words::name(&name, "name", root.problems)).unwrap_or_default().to_owned(),
        about: root.text("about").map(|text| text.value.to_owned()).unwrap_or_default(),
        seed: root.integer("seed").unwrap_or_default(),
        cluster: cluster.spec,
        topics,
        producers,
        requesters,
        consumers,
        phases: phases(&phase_fields, &steps),
        steps,
        expectations,
        audit,
        source,
    };
    security::check(&plan, &cluster_fields, &producer_fields);
    ramps::check(&plan, &producer_fields, root.problems);
    plan
}

fn audit(fields: &Fields<'_>) -> AuditSpec {
    let is_on = fields.choice("read") != Some("none");
    AuditSpec { is_on, within: fields.duration("within").unwrap_or_default() }
}

fn phases(fields: &Fields<'_>, steps: &[Step]) -> Phases {
    let length = |key| fields.duration(key);
    let (warmup, steady, recovery) = (length("warmup"), length("steady"), length("recovery"));
    if steady == Some(Duration::ZERO) {
        let problem = Problem::warning(fields.span_of("steady"), "without `steady` there is no baseline to hold anything against");
        fields.problems.push(problem.hint("a few seconds are enough, such as `steady = \"10s\"`"));
    }
    if recovery == Some(Duration::ZERO) && !steps.is_empty() {
        let problem = Problem::warning(fields.span_of("recovery"), "without `recovery` nobody sees what the last step did");
        fields.problems.push(problem.hint("a killed broker is noticed after 9 s: `recovery = \"15s\"` or more"));
    }
    Phases { warmup: warmup.unwrap_or_default(), steady: steady.unwrap_or_default(), recovery: recovery.unwrap_or_default() }
}
