//! The plan's list of producer properties and the producer itself agree on what has an effect.

use std::collections::BTreeMap;

use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::plan::producer_config::{Support, Value, settings};

/// A value that the plan's check takes for such a property.
fn sample(value: Value) -> String {
    match value {
        Value::Whole { min, max } => 200_000_i64.clamp(min, max).to_string(),
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
