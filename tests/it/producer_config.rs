//! The plan's list of producer properties and the producer itself agree on what has an effect.

use std::collections::BTreeMap;

use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::plan::producer_config::{Setting, Support, Value, reason, settings};

/// A value that the plan's check takes for such a property.
fn sample(value: Value) -> String {
    match value {
        Value::Whole { min, max } | Value::WholeOr { min, max, .. } => 200_000_i64.clamp(min, max).to_string(),
        Value::Number => "0.5".to_owned(),
        Value::Truth => "true".to_owned(),
        Value::Word { words, .. } => words[0].to_owned(),
        Value::Text => "text".to_owned(),
    }
}

#[test]
fn what_the_plan_calls_honoured_has_an_effect_and_nothing_else_has() {
    for setting in settings() {
        let value = sample(setting.value);
        // Without idempotence, every value of the others stands by itself.
        let pairs = [("enable.idempotence", "false"), (setting.name, value.as_str())];
        let given: BTreeMap<String, String> = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let read = ProducerConfig::from_properties(&given);
        if setting.name == "transactional.id" {
            assert!(read.is_err() && matches!(setting.support, Support::Refused(_)), "never ignored in silence");
            continue;
        }
        let config = read.unwrap_or_else(|error| panic!("{} = {value}: {error}", setting.name));
        let is_honoured = setting.support == Support::Honoured;
        assert_eq!(config.unused.is_empty(), is_honoured, "{}", setting.name);
    }
}

/// The values of a property as the page words them.
fn values(value: Value) -> String {
    let bounds = |min: i64, max: i64| match (min, max) {
        (i64::MIN, i64::MAX) => "a whole number".to_owned(),
        (min, i64::MAX) => format!("{min} or more"),
        (min, max) => format!("{min} to {max}"),
    };
    match value {
        Value::Whole { min, max } => bounds(min, max),
        Value::WholeOr { also, min, max } => format!("{}, or {also}", bounds(min, max)),
        Value::Number => "a number".to_owned(),
        Value::Truth => "true, false".to_owned(),
        Value::Word { words, .. } => words.join(", "),
        Value::Text => "any".to_owned(),
    }
}

fn row(setting: &Setting) -> String {
    let effect = match setting.support {
        Support::Honoured => "as in Java".to_owned(),
        Support::NotYet { like: Some(like) } => format!("none: it {}; as with {like}", reason(setting.name)),
        Support::NotYet { like: None } => format!("none: it {}", reason(setting.name)),
        Support::Refused(instead) => format!("refused: {instead}"),
        Support::Unknown => String::new(),
    };
    format!("| `{}` | {} | {effect} |", setting.name, values(setting.value))
}

#[test]
fn the_page_of_properties_is_up_to_date() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/producer-config.md")).unwrap();
    let told: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let rows: Vec<String> = settings().iter().map(row).collect();
    assert!(told == rows, "the table should read:\n{}", rows.join("\n"));
}
