//! The JSON Schema of plans, for editors: made from the grammar, so that both know the same keys.
//!
//! It says what a schema can say: names, types, bounds, which keys exclude each other. Whether a topic exists is for `chaos plan check`.
//! Called by `chaos plan schema`; `plans/plan.schema.json` is its output.

use serde_json::{Map, Value, json};

use super::grammar::{
    CPU_THOUSANDTHS, DURATION_PATTERN, Key, Kind, NAME_PATTERN, Need, PARTITION_MAX, PLAN, ROLE_PATTERN, SENDER_PATTERN, SIZE_PATTERN,
    STEP, Table,
};
use super::model::{Metric, Window};
use super::producer_config::{self, Support};

/// The schema as a JSON value.
#[must_use]
pub fn schema() -> Value {
    let mut definitions = Map::new();
    let mut root = table(&PLAN, &mut definitions);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("A plan of chaos");
    root["$defs"] = Value::Object(definitions);
    root
}

/// The schema as text, with a line end.
#[must_use]
pub fn text() -> String {
    format!("{:#}\n", schema())
}

fn table(grammar: &Table, definitions: &mut Map<String, Value>) -> Value {
    let properties: Map<String, Value> = grammar.keys.iter().map(|key| (key.name.to_owned(), property(key, definitions))).collect();
    let required: Vec<&str> = grammar.keys.iter().filter(|key| matches!(key.need, Need::Required)).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "description": grammar.about,
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let choices: Vec<Value> = grammar.choices.iter().map(|choice| one_of(choice.keys, choice.required)).collect();
    if !choices.is_empty() {
        schema["allOf"] = Value::Array(choices);
    }
    schema
}

/// Exactly one of the keys, or not two of them.
fn one_of(keys: &[&str], required: bool) -> Value {
    if required {
        return json!({ "oneOf": keys.iter().map(|key| json!({ "required": [key] })).collect::<Vec<_>>() });
    }
    json!({ "not": { "required": keys } })
}

fn property(key: &Key, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = value(&key.kind, definitions);
    schema["description"] = json!(key.about);
    if let Need::Default(default) = key.need {
        schema["default"] = match key.kind {
            Kind::Integer { .. } => default.parse::<u64>().map_or(Value::Null, Value::from),
            _ => json!(default),
        };
    }
    schema
}

fn value(kind: &Kind, definitions: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Text { pattern: "", .. } => json!({ "type": "string" }),
        Kind::Text { pattern, .. } => json!({ "type": "string", "pattern": pattern }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Duration => json!({ "type": "string", "pattern": DURATION_PATTERN }),
        Kind::Size { .. } => json!({ "type": "string", "pattern": SIZE_PATTERN }),
        Kind::SizeOrNone { .. } => json!({ "anyOf": [{ "const": "none" }, { "type": "string", "pattern": SIZE_PATTERN }] }),
        Kind::CpusOrNone => {
            let cores = |thousandths: &u64| *thousandths as f64 / 1000.0;
            let (least, most) = (cores(CPU_THOUSANDTHS.start()), cores(CPU_THOUSANDTHS.end()));
            json!({ "anyOf": [{ "const": "none" }, { "type": "number", "minimum": least, "maximum": most }] })
        }
        Kind::Choice { words, .. } => json!({ "enum": words }),
        Kind::Metric => json!({ "enum": Metric::all().iter().map(|info| info.name).collect::<Vec<_>>() }),
        Kind::Window => {
            let actions = STEP.keys.iter().map(|key| key.name).filter(|name| !matches!(*name, "at" | "wait"));
            let words: Vec<&str> = Window::NAMES.into_iter().chain(actions).collect();
            json!({ "anyOf": [{ "enum": words }, { "type": "string", "pattern": "^step [1-9][0-9]*$" }] })
        }
        Kind::Target => json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": ROLE_PATTERN }] }),
        Kind::Sender => json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": SENDER_PATTERN }] }),
        Kind::Brokers => {
            json!({ "anyOf": [{ "const": "all" }, { "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 1 } }] })
        }
        Kind::TopicList => {
            json!({ "anyOf": [{ "enum": ["all", "none"] }, { "type": "array", "minItems": 1, "items": { "type": "string", "pattern": NAME_PATTERN } }] })
        }
        Kind::PartitionOrAll => json!({ "anyOf": [{ "const": "all" }, { "type": "integer", "minimum": 0, "maximum": PARTITION_MAX }] }),
        Kind::Replicas => {
            let brokers = json!({ "type": "array", "minItems": 1, "items": { "type": "integer", "minimum": 1 } });
            json!({ "anyOf": [brokers, { "type": "array", "minItems": 1, "items": brokers }] })
        }
        Kind::List(item) => json!({ "type": "array", "minItems": 1, "items": value(item, definitions) }),
        Kind::Table(grammar) => reference(grammar, definitions),
        Kind::Tables(grammar) => json!({ "type": "array", "minItems": 1, "items": reference(grammar, definitions) }),
        Kind::Config { producer: false } => json!({ "type": "object", "additionalProperties": property_value() }),
        Kind::Config { producer: true } => producer_properties(),
    }
}

fn property_value() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

/// A reference to a table, whose definition is added if it is new: `repeat` holds steps, which hold `repeat`.
fn reference(grammar: &Table, definitions: &mut Map<String, Value>) -> Value {
    if !definitions.contains_key(grammar.id) {
        definitions.insert(grammar.id.to_owned(), Value::Null);
        let definition = table(grammar, definitions);
        definitions.insert(grammar.id.to_owned(), definition);
    }
    json!({ "$ref": format!("#/$defs/{}", grammar.id) })
}

fn producer_properties() -> Value {
    let mut properties = Map::new();
    for setting in producer_config::settings() {
        let mut schema = property_value();
        match setting.support {
            Support::Honoured => {}
            Support::NotYet { .. } => schema["description"] = json!("Known, but not honoured by the native producer."),
            Support::Refused(_) | Support::Unknown => continue,
        }
        properties.insert(setting.name.to_owned(), schema);
    }
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_defined_once_and_closed() {
        let schema = schema();
        let definitions = schema["$defs"].as_object().unwrap();
        for id in ["cluster", "topic", "producers", "closed", "phases", "step", "kill", "rolling", "repeat", "wait", "expect"] {
            assert_eq!(definitions[id]["additionalProperties"], json!(false), "{id}");
        }
        assert_eq!(schema["required"], json!(["name", "producers"]));
    }
}
