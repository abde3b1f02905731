//! `[[producers]]`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::ids::{HostPort, TopicName};
use crate::plan::model::{Active, Arrivals, EngineKind, Load, ProducerGroup, RecordSpec};
use crate::plan::problem::{Problem, Severity};
use crate::plan::producer_config;
use crate::plan::raw::{At, Fields, Property};
use crate::plan::units::{self, Rate};

use super::group_names::GroupNames;
use super::scene::Scene;
use super::words;

/// Reads all groups, and their names.
pub(super) fn read(sections: &[Fields<'_>], scene: &Scene<'_>) -> (Vec<ProducerGroup>, GroupNames) {
    let mut names = GroupNames::new();
    let groups = sections.iter().map(|fields| group(&names.read(fields, scene), fields, scene)).collect();
    (groups, names)
}

fn group(name: &str, fields: &Fields<'_>, scene: &Scene<'_>) -> ProducerGroup {
    let count = fields.integer("count").and_then(|count| u32::try_from(count).ok()).unwrap_or(1);
    let engine = fields.choice("engine").and_then(EngineKind::of_name).unwrap_or(EngineKind::Native);
    let active = active(fields, scene);
    ProducerGroup {
        name: name.to_owned(),
        count,
        engine,
        share: share(count, fields, scene),
        topics: topics(fields, scene),
        load: load(fields, scene),
        record: record(fields),
        active,
        ramp: ramp(active, fields, scene),
        config: config(&fields.config("config"), engine, scene),
        bootstrap: bootstrap(fields, scene),
    }
}

fn share(count: u32, fields: &Fields<'_>, scene: &Scene<'_>) -> Option<NonZeroU32> {
    let share = fields.integer("share").and_then(|share| u32::try_from(share).ok()).and_then(NonZeroU32::new)?;
    if share.get() > count {
        let message = format!("{share} producers cannot share a client: the group has {count}");
        scene.report(Problem::error(fields.span_of("share"), message).hint("raise `count`, or lower `share`"));
    }
    Some(share)
}

fn topics(fields: &Fields<'_>, scene: &Scene<'_>) -> Vec<TopicName> {
    let mut topics: Vec<TopicName> = Vec::new();
    let Some(names) = fields.texts("topics") else { return topics };
    let missing = missing(fields, &names, scene);
    if names.is_empty() {
        let problem = Problem::error(fields.span_of("topics"), "`topics` names nothing to write to");
        scene.report(problem.hint("for instance `topics = [\"orders\"]`"));
    }
    for name in names {
        let known = if missing.contains(&name.value) { vec![name.value.to_owned()] } else { scene.topics_named(&name) };
        for topic in known {
            let topic = TopicName::from(topic.as_str());
            if topics.contains(&topic) {
                scene.report(Problem::error(name.span.clone(), format!("topic `{topic}` is listed twice")).hint("leave one of them out"));
                break;
            }
            topics.push(topic);
        }
    }
    topics
}

/// Those of `topics` that nobody makes, on purpose.
fn missing<'p>(fields: &Fields<'p>, topics: &[At<&str>], scene: &Scene<'_>) -> Vec<&'p str> {
    let listed = if fields.has("missing") { fields.texts("missing").unwrap_or_default() } else { Vec::new() };
    for name in &listed {
        if !topics.iter().any(|topic| topic.value == name.value) {
            let problem = Problem::error(name.span.clone(), format!("`{}` is not among the group's `topics`", name.value));
            scene.report(problem.hint("`missing` says which of `topics` are missing on purpose: list it in both"));
        } else if scene.topics.is_ever_made(name.value) {
            let problem = Problem::error(name.span.clone(), format!("`{}` is not missing: this plan makes it", name.value));
            scene.report(problem.hint("leave it out of `missing`"));
        } else {
            words::name(name, "missing", scene.problems);
        }
    }
    listed.iter().map(|name| name.value).collect()
}

fn load(fields: &Fields<'_>, scene: &Scene<'_>) -> Load {
    let arrivals = match fields.choice("arrivals") {
        Some("poisson") => Arrivals::Poisson,
        _ => Arrivals::Constant,
    };
    let rate = fields.rate("rate").map(|rate| rate.value);
    let closed = fields.table("closed").map(|closed| Load::Closed {
        wait: closed.duration("wait").unwrap_or_default(),
        every: closed.duration("every").unwrap_or_default(),
    });
    if fields.has("arrivals") && (closed.is_some() || rate == Some(Rate::Max)) {
        let problem = Problem::error(fields.key_span("arrivals"), "`arrivals` spaces the due times of a `rate` such as \"20/s\"");
        scene.report(problem.hint("leave it out here: the next record follows the one before"));
    }
    match (rate, closed) {
        (Some(Rate::PerSecond(rate_per_second)), _) => Load::Open { rate_per_second, arrivals },
        (_, Some(closed)) => closed,
        (_, None) => Load::Max,
    }
}

fn record(fields: &Fields<'_>) -> RecordSpec {
    let Some(record) = fields.table("record") else { return RecordSpec { size_bytes: 100, keys: None } };
    RecordSpec {
        size_bytes: record.size("size").and_then(|size| usize::try_from(size).ok()).unwrap_or_default(),
        keys: record.integer("keys").and_then(|keys| u32::try_from(keys).ok()).and_then(NonZeroU32::new),
    }
}

/// When a group is at work.
pub(super) fn active(fields: &Fields<'_>, scene: &Scene<'_>) -> Active {
    let always = Active { from: Duration::ZERO, until: None };
    let Some(active) = fields.table("active") else { return always };
    let from = active.duration("from");
    let Some(text) = active.text("until").filter(|text| text.value != "end") else {
        return Active { from: from.unwrap_or_default(), until: None };
    };
    match units::duration(text.value) {
        Ok(until) => {
            if from.is_some_and(|from| from >= until) {
                let message = format!("`until` = \"{}\" is not after `from`: the group would never send", text.value);
                scene.report(Problem::error(text.span, message).hint("both count from the start of the load, warm-up included"));
            }
            Active { from: from.unwrap_or_default(), until: Some(until) }
        }
        Err(error) => {
            let problem = Problem::error(text.span, format!("`until` = \"{}\": {error}", text.value));
            scene.report(problem.hint("write \"end\", or a number with its unit, such as \"10s\""));
            always
        }
    }
}

/// The last producer has to start before the group ends.
fn ramp(active: Active, fields: &Fields<'_>, scene: &Scene<'_>) -> Duration {
    let ramp = fields.duration("ramp").unwrap_or_default();
    if active.until.is_some_and(|until| until > active.from && ramp >= until - active.from) {
        let message = "`ramp` is not shorter than the time for which the group is active: its last producer would never send";
        scene.report(Problem::error(fields.span_of("ramp"), message).hint("shorten it, or let `active` last longer"));
    }
    ramp
}

fn config(properties: &[Property<'_>], engine: EngineKind, scene: &Scene<'_>) -> BTreeMap<String, String> {
    let config: BTreeMap<String, String> = properties.iter().map(|property| (property.key.to_owned(), property.value.clone())).collect();
    for finding in producer_config::examine(&config, engine) {
        let Some(property) = properties.iter().find(|property| property.key == finding.key) else { continue };
        let span = if finding.about_value { property.value_span.clone() } else { property.key_span.clone() };
        let problem = match finding.severity {
            Severity::Error => Problem::error(span, finding.message),
            Severity::Warning => Problem::warning(span, finding.message),
        };
        scene.report(problem.hint(finding.hint));
    }
    config
}

fn bootstrap(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Vec<HostPort>> {
    let texts = fields.texts("bootstrap")?;
    if texts.is_empty() {
        scene.report(
            Problem::error(fields.span_of("bootstrap"), "`bootstrap` names no address").hint("leave it out for the cluster's own list"),
        );
    }
    let mut addresses = Vec::new();
    for text in texts {
        match words::host_port(text.value) {
            Some(address) => addresses.push(address),
            None => {
                let problem = Problem::error(text.span, format!("\"{}\" is no address", text.value));
                scene.report(problem.hint("write host:port, as in \"127.0.0.1:9092\" or \"[::1]:9092\""));
            }
        }
    }
    Some(addresses)
}
