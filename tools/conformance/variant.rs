//! A plan for one run that holds every client at once, derived from a plan with one client.
//!
//! Each producer group is cloned per client, on the same topics, so that all of them meet the same fault at the same moment. Pure: text
//! in, text out. Not here: running it (`measure`).

use std::time::Duration;

use anyhow::{Context as _, bail};
use kafka_chaos::plan;
use kafka_chaos::plan::model::{Action, Load, Plan, ProducerGroup};
use kafka_chaos::plan::timeline::Timeline;
use toml::{Table, Value};

/// One of the clients that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Client {
    /// Its name in tables and in the names of its groups.
    pub(crate) name: &'static str,
    /// The plan language's word for it.
    pub(crate) engine: &'static str,
}

/// The project's own.
pub(crate) const OURS: &str = "native";
/// What ours is held against.
pub(crate) const REFERENCE: &str = "java";
/// The reference a second time: how much it differs from itself.
pub(crate) const CONTROL: &str = "java-b";

/// All clients, in the order of tables.
pub(crate) const CLIENTS: [Client; 4] = [
    Client { name: OURS, engine: "native" },
    Client { name: "librdkafka", engine: "librdkafka" },
    Client { name: REFERENCE, engine: "java" },
    Client { name: CONTROL, engine: "java" },
];

/// Metrics that only our client can tell of itself: expected of others, they would make every verdict UNKNOWN.
const OURS_ONLY: [&str; 3] = ["metadata-requests.by-age.per-producer", "partitions.cached.min", "partitions.cached.max"];

/// A group of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VariantGroup {
    /// Its name in the variant.
    pub(crate) name: String,
    /// The client's name.
    pub(crate) client: &'static str,
    /// The group of the plan that it is a clone of.
    pub(crate) of: String,
    /// How many producers.
    pub(crate) count: usize,
}

/// A derived plan.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// The plan's name.
    pub(crate) plan: String,
    /// The derived plan.
    pub(crate) text: String,
    /// Its groups.
    pub(crate) groups: Vec<VariantGroup>,
    /// Clones that a client cannot make, with the reason: `librdkafka refuses steady: ...`.
    pub(crate) left_out: Vec<String>,
    /// Whether records have due times, which the load generator may be late for.
    pub(crate) has_due_times: bool,
    /// Whether a step takes a node away.
    pub(crate) takes_nodes_down: bool,
    /// The topic that the first step of the kind grows, and how many partitions it has before.
    pub(crate) growth: Option<(String, u32)>,
    /// What its load takes, from the first warm-up second to the last of the recovery.
    pub(crate) load: Duration,
}

/// Says why a client cannot make a plan's load; `None` if it can.
pub(crate) type Refusal<'a> = &'a dyn Fn(&ProducerGroup) -> Option<String>;

/// Derives the variant of a plan for these clients.
///
/// # Errors
/// The plan is not sound, or no client can make the load of one of its groups.
pub(crate) fn derive(text: &str, clients: &[Client], refusal: Refusal<'_>) -> anyhow::Result<Variant> {
    let mut plan: Table = text.parse().context("the plan is no TOML")?;
    let name = plan.get("name").and_then(Value::as_str).context("the plan has no name")?.to_owned();
    let originals = tables(&plan, "producers");
    let mut groups = Vec::new();
    let mut clones = Vec::new();
    let mut left_out = Vec::new();
    for original in &originals {
        let of = original.get("name").and_then(Value::as_str).context("a group has no name")?;
        let count = original.get("count").and_then(Value::as_integer).map_or(Ok(1), usize::try_from)?;
        // Rounded up, so that every client has one at least; the load is at most one producer per client above the plan's.
        let each = count.div_ceil(clients.len());
        for client in clients {
            let clone = clone_of(original, *client, of, each)?;
            if let Some(why) = refused(&plan, &clone, refusal)? {
                left_out.push(format!("{} cannot make `{of}`: {why}", client.name));
                continue;
            }
            groups.push(VariantGroup { name: group_name(*client, of), client: client.name, of: of.to_owned(), count: each });
            clones.push(Value::Table(clone));
        }
        if !groups.iter().any(|group| group.of == of) {
            bail!("no client can make the load of `{of}`: {}", left_out.join("; "));
        }
    }
    plan.insert("producers".to_owned(), Value::Array(clones));
    let expectations = expectations(&plan, &groups);
    plan.insert("expect".to_owned(), Value::Array(expectations));
    let text = toml::to_string(&plan)?;
    let checked = plan::parse("the derived plan", &text)?.plan;
    let takes_nodes_down = checked.steps.iter().any(|step| takes_a_node_away(&step.action));
    let has_due_times = checked.producers.iter().any(|group| matches!(group.load, Load::Open { .. }));
    let growth = growth(&checked);
    let load = Timeline::of(&checked).end_at.expected;
    Ok(Variant { plan: name, text, groups, left_out, has_due_times, takes_nodes_down, growth, load })
}

fn growth(plan: &Plan) -> Option<(String, u32)> {
    plan.steps.iter().find_map(|step| {
        let Action::AddPartitions { topic, .. } = &step.action else { return None };
        let before = plan.topics.iter().find(|spec| spec.name == *topic)?;
        Some((topic.to_string(), before.partitions))
    })
}

fn takes_a_node_away(action: &Action) -> bool {
    match action {
        Action::AddPartitions { .. } | Action::CreateTopic { .. } | Action::DeleteTopic { .. } | Action::Wait { .. } => false,
        Action::Repeat { steps, .. } => steps.iter().any(|step| takes_a_node_away(&step.action)),
        _ => true,
    }
}

fn tables(plan: &Table, key: &str) -> Vec<Table> {
    let entries = plan.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    entries.iter().filter_map(|entry| entry.as_table().cloned()).collect()
}

fn group_name(client: Client, of: &str) -> String {
    format!("{}-{of}", client.name)
}

fn clone_of(original: &Table, client: Client, of: &str, count: usize) -> anyhow::Result<Table> {
    let mut clone = original.clone();
    clone.insert("name".to_owned(), group_name(client, of).into());
    clone.insert("engine".to_owned(), client.engine.into());
    clone.insert("count".to_owned(), i64::try_from(count)?.into());
    Ok(clone)
}

/// Why a client refuses a group: asked with a plan that has no other group.
fn refused(plan: &Table, clone: &Table, refusal: Refusal<'_>) -> anyhow::Result<Option<String>> {
    let mut alone = plan.clone();
    alone.insert("producers".to_owned(), Value::Array(vec![Value::Table(clone.clone())]));
    alone.remove("expect");
    match plan::parse("the derived plan", &toml::to_string(&alone)?) {
        Ok(checked) => Ok(checked.plan.producers.first().and_then(refusal)),
        Err(problems) => Ok(Some(problems.lines().join("; "))),
    }
}

/// An expectation of one group becomes one of each of its clones that can be asked; of all groups, it stays.
fn expectations(plan: &Table, groups: &[VariantGroup]) -> Vec<Value> {
    let mut all = Vec::new();
    for expectation in tables(plan, "expect") {
        let ours_only = expectation.get("metric").and_then(Value::as_str).is_some_and(|metric| OURS_ONLY.contains(&metric));
        let Some(of) = expectation.get("group").and_then(Value::as_str) else {
            all.push(Value::Table(expectation));
            continue;
        };
        for group in groups.iter().filter(|group| group.of == of && (!ours_only || group.client == OURS)) {
            let mut clone = expectation.clone();
            clone.insert("group".to_owned(), group.name.clone().into());
            all.push(Value::Table(clone));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kafka_chaos::plan::model::Step;

    use super::*;

    fn shipped() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let plans = files.filter(|file| file.extension().is_some_and(|extension| extension == "toml"));
        plans.map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    /// Steps, those within repeats too, wherever they stand in their file.
    fn without_lines(steps: &[Step]) -> Vec<Step> {
        let mut steps = steps.to_vec();
        for step in &mut steps {
            step.line = 0;
            if let Action::Repeat { steps, .. } = &mut step.action {
                *steps = without_lines(steps);
            }
        }
        steps
    }

    #[test]
    fn variants_of_all_shipped_plans_pass_the_check_and_keep_the_rest_of_the_plan() {
        let plans = shipped();
        assert!(plans.len() >= 7);
        for text in plans {
            let variant = derive(&text, &CLIENTS, &|_| None).unwrap();
            let (original, derived) = (plan::parse("original", &text).unwrap().plan, plan::parse("derived", &variant.text).unwrap().plan);
            // The C client is built without TLS and SASL.
            let (left_out, clients) =
                if original.cluster.security.is_some() { (original.producers.len(), CLIENTS.len() - 1) } else { (0, CLIENTS.len()) };
            assert_eq!(variant.left_out.len(), left_out, "{}: {:?}", variant.plan, variant.left_out);
            assert!(
                variant.left_out.iter().all(|why| why.ends_with("the engine librdkafka cannot speak SASL_SSL")),
                "{:?}",
                variant.left_out
            );
            assert_eq!(derived.producers.len(), original.producers.len() * clients);
            assert_eq!((&derived.cluster, &derived.topics, derived.phases), (&original.cluster, &original.topics, original.phases));
            assert_eq!(without_lines(&derived.steps), without_lines(&original.steps));
            for (clone, told) in derived.producers.iter().zip(&variant.groups) {
                let source = original.producers.iter().find(|group| group.name == told.of).unwrap();
                assert_eq!(clone.name, format!("{}-{}", told.client, told.of));
                assert_eq!(
                    (clone.load, clone.record, clone.active, &clone.config),
                    (source.load, source.record, source.active, &source.config)
                );
                assert_eq!(clone.count as usize, told.count);
            }
            let producers = |plan: &Plan| plan.producers.iter().map(|group| group.count).sum::<u32>();
            let (before, now) = (producers(&original), producers(&derived));
            let groups = original.producers.len() as u32;
            assert!(
                left_out > 0 || before <= now && now < before + CLIENTS.len() as u32 * groups,
                "{}: {before} producers became {now}",
                variant.plan
            );
        }
    }

    const PLAN: &str = r#"
name = "small"
[[topic]]
name = "orders"
partitions = 1
replication = 1
[[producers]]
name = "steady"
count = 10
topics = ["orders"]
rate = "20/s"
[[expect]]
metric = "records.failed"
group = "steady"
is = "== 0"
[[expect]]
metric = "partitions.cached.min"
group = "steady"
is = "== 1"
"#;

    #[test]
    fn expectations_of_a_group_follow_its_clones_where_clients_can_be_asked() {
        let variant = derive(PLAN, &CLIENTS, &|_| None).unwrap();
        let plan = plan::parse("derived", &variant.text).unwrap().plan;
        let groups = |metric: &str| {
            let told = plan.expectations.iter().map(ToString::to_string).filter(|text| text.starts_with(metric));
            told.collect::<Vec<_>>()
        };
        assert_eq!(groups("records.failed").len(), CLIENTS.len());
        assert_eq!(groups("partitions.cached.min").len(), 1);
        assert_eq!(variant.groups.iter().map(|group| group.count).collect::<Vec<_>>(), [3, 3, 3, 3]);
    }

    #[test]
    fn a_client_that_refuses_is_left_out_with_its_reason() {
        let refusal = |group: &ProducerGroup| (group.engine.name() == "librdkafka").then(|| "no such key".to_owned());
        let variant = derive(PLAN, &CLIENTS, &refusal).unwrap();
        assert_eq!(variant.left_out, ["librdkafka cannot make `steady`: no such key"]);
        assert_eq!(variant.groups.len(), 3);
        assert!(!variant.text.contains("librdkafka"));
        assert!(derive(PLAN, &CLIENTS, &|_| Some("no".to_owned())).is_err());
    }

    #[test]
    fn the_growth_of_a_topic_counts_from_what_the_plan_gives_it() {
        let growth = |text: &str| derive(text, &CLIENTS, &|_| None).unwrap().growth;
        assert_eq!(growth(PLAN), None);
        assert_eq!(
            growth(&format!("{PLAN}[[step]]\nat = '0s'\nadd-partitions = {{ topic = 'orders', to = 6 }}\n")),
            Some(("orders".to_owned(), 1))
        );
    }

    #[test]
    fn only_steps_on_nodes_take_nodes_away() {
        let with = |step: &str| {
            let text = format!("{PLAN}[[step]]\nat = '0s'\n{step}\n");
            derive(&text, &CLIENTS, &|_| None).unwrap().takes_nodes_down
        };
        assert!(!with("add-partitions = { topic = 'orders', to = 6 }"));
        assert!(with("kill = { broker = 2 }"));
        assert!(with("repeat = { times = 2, steps = [{ at = '0s', restart = { broker = 1, down = '4s' } }] }"));
    }
}
