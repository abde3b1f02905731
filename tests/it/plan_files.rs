//! The plans and the schema that the repository ships.

use std::path::PathBuf;
use std::time::Duration;

use kafka_chaos::plan::timeline::Timeline;
use kafka_chaos::plan::{self, reference, schema};

/// From `chaos run` until the load begins.
const CLUSTER_START: Duration = Duration::from_secs(20);

/// How long a shipped plan may take, the cluster's start included.
const WHOLE_RUN_MAX: Duration = Duration::from_secs(150);

/// Plans that lose the majority of controllers on purpose, of which they are warned.
const LOSES_ITS_QUORUM: [&str; 1] = ["controller-loss"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("plans")
}

fn shipped() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    assert!(files.len() >= 7, "{files:?}");
    files
}

#[test]
fn shipped_plans_are_sound_say_what_they_show_and_end_in_time() {
    for file in shipped() {
        let checked = plan::load(&file).unwrap_or_else(|error| panic!("{}", error.render(false)));
        let plan = checked.plan;
        assert_eq!(
            checked.warnings.iter().count() > 0,
            LOSES_ITS_QUORUM.contains(&plan.name.as_str()),
            "{}",
            checked.warnings.render(false)
        );
        assert_eq!(Some(plan.name.as_str()), file.file_stem().and_then(|stem| stem.to_str()), "the plan is named like its file");
        assert!(!plan.about.is_empty() && !plan.expectations.is_empty(), "{}", plan.name);
        let whole = Timeline::of(&plan).end_at.expected + CLUSTER_START;
        assert!(whole <= WHOLE_RUN_MAX, "{} takes {whole:?}", plan.name);
        assert!(plan.source.text.starts_with("#:schema ./plan.schema.json\n"), "{} lacks its schema", plan.name);
    }
}

#[test]
fn the_committed_schema_is_the_generated_one() {
    let committed = std::fs::read_to_string(folder().join("plan.schema.json")).unwrap();
    let committed: serde_json::Value = serde_json::from_str(&committed).unwrap();
    assert!(committed == schema::schema(), "mend it with: cargo run -- plan schema > plans/plan.schema.json");
}

#[test]
fn the_committed_reference_is_the_generated_one() {
    let committed = std::fs::read_to_string(folder().join("../docs/plan-reference.md")).unwrap();
    assert!(committed == reference::text(), "mend it with: cargo run -- plan reference > docs/plan-reference.md");
}

#[test]
fn shipped_plans_validate_against_the_schema() {
    let validator = jsonschema::validator_for(&schema::schema()).unwrap();
    for file in shipped() {
        let text = std::fs::read_to_string(&file).unwrap();
        let value: toml::Table = toml::from_str(&text).unwrap();
        let problems: Vec<String> = validator.iter_errors(&serde_json::to_value(value).unwrap()).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", file.display());
    }
}

/// What the schema refuses, `check` refuses too, and the other way round where a schema can know it.
#[test]
fn the_schema_refuses_what_check_refuses() {
    let validator = jsonschema::validator_for(&schema::schema()).unwrap();
    let base = std::fs::read_to_string(folder().join("broker-kill.toml")).unwrap();
    let edits = [
        ("name = \"broker-kill\"", "nam = \"broker-kill\""),
        ("rate = \"10/s\"", "rate = \"10 per second\""),
        ("rate = \"10/s\"", "rate = \"10/s\"\nclosed = { wait = \"4s\" }"),
        ("nodes = 3", "nodes = 3\nbrokers = 3"),
        ("warmup = \"5s\"", "warmup = 5"),
        ("kill = { broker = 2 }", "kill = { broker = \"leader(orders/0)\" }"),
        ("kill = { broker = 2 }", "kill = { broker = 2 }\nwait = { for = \"5s\" }"),
        ("kill = { broker = 2 }", ""),
        ("acks = 1", "aks = 1"),
        ("size = \"100 B\"", "size = 100"),
    ];
    for (from, to) in edits {
        let text = base.replacen(from, to, 1);
        assert_ne!(text, base, "{from}");
        let value: toml::Table = toml::from_str(&text).unwrap();
        assert!(!validator.is_valid(&serde_json::to_value(value).unwrap()), "the schema takes {to:?}");
        assert!(plan::parse("plan.toml", &text).is_err(), "check takes {to:?}");
    }
}
