//! Sets one key in the text of a plan, with all else left as it stands. The grammar says which keys there can be.
//!
//! Not here: whether the plan is still right afterwards (`check`).

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, RawString, TableLike, Value};

use super::path::{KeyPath, Segment};
use super::value::KeyValue;
use crate::plan::grammar::{self, Kind, Table};
use crate::plan::problem::nearest;

/// How many names a message lists.
const NAMES_SHOWN_MAX: usize = 12;

/// Why a path leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The plan has no such place; in words, with what there is instead.
    Nowhere(String),
    /// The path ends at a table or a list, where keys are.
    NoKey(String),
}

impl Miss {
    /// In words.
    pub(super) fn words(&self) -> &str {
        match self {
            Self::Nowhere(words) | Self::NoKey(words) => words,
        }
    }
}

/// Sets a key wherever the path leads.
pub(super) fn set(document: &mut DocumentMut, path: &KeyPath, value: &KeyValue) -> Result<(), Miss> {
    set_in(&grammar::PLAN, document.as_table_mut(), &path.0, value)
}

fn set_in(rules: &'static Table, table: &mut dyn TableLike, path: &[Segment], value: &KeyValue) -> Result<(), Miss> {
    let Some((first, rest)) = path.split_first() else {
        return Err(Miss::NoKey(format!("it names {}, not a key of it: {}", rules.name, names(&rules.names()))));
    };
    let Some(key) = rules.key(first.text()) else { return Err(unknown(&format!("{} has no", rules.name), first.text(), &rules.names())) };
    match &key.kind {
        Kind::Config { .. } if rest.is_empty() && !value.is_table() => {
            Err(Miss::NoKey(format!("it names a table of properties: go on with `.\"PROPERTY\"` after `{}`", key.name)))
        }
        Kind::Config { .. } if !rest.is_empty() => {
            // Properties have dots in their names, with quotes around them or without.
            let property = rest.iter().map(Segment::text).collect::<Vec<_>>().join(".");
            put(below(table, key.name)?, &property, value.property(&property));
            Ok(())
        }
        Kind::Table(inner) if !rest.is_empty() || !value.is_table() => set_in(inner, below(table, key.name)?, rest, value),
        Kind::Tables(inner) => set_in_list(inner, key.name, table.get_mut(key.name), rest, value),
        _ if rest.is_empty() => {
            put(table, key.name, value.plain());
            Ok(())
        }
        _ => Err(Miss::Nowhere(format!("`{}` has a value, and nothing below it", key.name))),
    }
}

/// The table under a key, made if it is absent.
fn below<'t>(table: &'t mut dyn TableLike, key: &str) -> Result<&'t mut dyn TableLike, Miss> {
    let item = table.entry(key).or_insert_with(|| Item::Value(Value::InlineTable(InlineTable::new())));
    item.as_table_like_mut().ok_or_else(|| Miss::Nowhere(format!("`{key}` is no table in this plan")))
}

/// Sets a key with the space and the comment that the value before it had.
fn put(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(before) => {
            *value.decor_mut() = before.decor().clone();
            *before = value;
        }
        None => {
            // In braces the last value holds the space before the closing one.
            if let Some(last) = table.iter_mut().last().and_then(|(_, item)| item.as_value_mut()) {
                let space = last.decor().suffix().and_then(RawString::as_str).unwrap_or_default().to_owned();
                if !space.is_empty() && space.trim().is_empty() {
                    last.decor_mut().set_suffix("");
                    value.decor_mut().set_suffix(space);
                }
            }
            table.insert(key, Item::Value(value));
        }
    }
}

fn set_in_list(rules: &'static Table, key: &str, list: Option<&mut Item>, path: &[Segment], value: &KeyValue) -> Result<(), Miss> {
    let mut entries = list.map(entries).unwrap_or_default();
    let known: Vec<String> = entries.iter().enumerate().map(|(index, entry)| name_of(*entry, index)).collect();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let Some((which, rest)) = path.split_first() else {
        return Err(Miss::NoKey(format!("it names a list: go on with `.*` or one of {} after `{key}`", names(&known))));
    };
    if entries.is_empty() {
        return Err(Miss::Nowhere(format!("the plan has no `{key}`")));
    }
    let chosen: Vec<usize> = match which {
        Segment::Every => (0..entries.len()).collect(),
        Segment::Word(word) => {
            let by_place = || word.parse().ok().filter(|place| *place < entries.len());
            let found = known.iter().position(|name| name == word).or_else(by_place);
            vec![found.ok_or_else(|| unknown(&format!("there is no `{key}`"), word, &known))?]
        }
    };
    for index in chosen {
        set_in(rules, &mut *entries[index], rest, value)?;
    }
    Ok(())
}

/// The tables of a list, however it is written.
fn entries(list: &mut Item) -> Vec<&mut dyn TableLike> {
    match list {
        Item::ArrayOfTables(tables) => ArrayOfTables::iter_mut(tables).map(|table| table as &mut dyn TableLike).collect(),
        Item::Value(Value::Array(values)) => {
            let tables = Array::iter_mut(values).filter_map(Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        _ => Vec::new(),
    }
}

/// What an entry of a list is called: its name, or its place.
fn name_of(entry: &dyn TableLike, index: usize) -> String {
    entry.get("name").and_then(Item::as_str).map_or_else(|| index.to_string(), str::to_owned)
}

fn unknown(what: &str, word: &str, known: &[&str]) -> Miss {
    let hint = match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`? there are {}", names(known)),
        None => format!("there are {}", names(known)),
    };
    Miss::Nowhere(format!("{what} `{word}`: {hint}"))
}

/// Names in backquotes, the first few of many.
fn names(names: &[&str]) -> String {
    let shown = names.iter().take(NAMES_SHOWN_MAX).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_SHOWN_MAX { format!("{shown} and {} more", names.len() - NAMES_SHOWN_MAX) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::vary::{path, value};

    const PLAN: &str = r#"# a plan
name = "p"

[cluster]
nodes = 3   # small

[[topic]]
name = "orders"
partitions = 6
replication = 3

[[producers]]
name = "steady"
topics = ["orders"]
rate = "10/s"
config = { acks = "all", "metadata.max.age.ms" = 2000 }

[[producers]]
name = "other"
topics = ["orders"]
rate = "10/s"

[[step]]
at = "0s"
kill = { broker = 2 }

[[step]]
at = "4s"
repeat = { times = 2, steps = [{ at = "0s", start = { broker = 2 } }] }
"#;

    fn set_to(path: &str, value: &str) -> Result<String, Miss> {
        let mut document: DocumentMut = PLAN.parse().unwrap();
        set(&mut document, &path::read(path).unwrap(), &value::list(value).unwrap()[0])?;
        Ok(document.to_string())
    }

    /// Lines that a change adds to the plan; those that it takes away with a minus.
    fn changed(path: &str, value: &str) -> Vec<String> {
        let text = set_to(path, value).unwrap();
        let added = text.lines().filter(|line| !PLAN.lines().any(|before| before == *line)).map(str::to_owned);
        let removed = PLAN.lines().filter(|line| !text.lines().any(|after| after == *line)).map(|line| format!("-{line}"));
        added.chain(removed).collect()
    }

    #[test]
    fn a_key_is_set_and_all_else_stays() {
        let rows: [(&str, &str, &[&str]); 11] = [
            ("cluster.nodes", "5", &["nodes = 5   # small", "-nodes = 3   # small"]),
            ("cluster.kafka", "4.0.2", &["kafka = \"4.0.2\""]),
            ("topic.orders.partitions", "12", &["partitions = 12", "-partitions = 6"]),
            (
                "producers.steady.config.\"metadata.max.age.ms\"",
                "10s",
                &[
                    "config = { acks = \"all\", \"metadata.max.age.ms\" = 10000 }",
                    "-config = { acks = \"all\", \"metadata.max.age.ms\" = 2000 }",
                ],
            ),
            (
                "producers.0.config.metadata.max.age.ms",
                "10s",
                &[
                    "config = { acks = \"all\", \"metadata.max.age.ms\" = 10000 }",
                    "-config = { acks = \"all\", \"metadata.max.age.ms\" = 2000 }",
                ],
            ),
            ("producers.other.config.\"linger.ms\"", "5", &["config = { \"linger.ms\" = 5 }"]),
            ("phases.recovery", "12s", &["phases = { recovery = \"12s\" }"]),
            (
                "producers.steady.config.\"linger.ms\"",
                "5ms",
                &[
                    "config = { acks = \"all\", \"metadata.max.age.ms\" = 2000, \"linger.ms\" = 5 }",
                    "-config = { acks = \"all\", \"metadata.max.age.ms\" = 2000 }",
                ],
            ),
            ("step.0.kill", "{ broker = 3 }", &["kill = { broker = 3 }", "-kill = { broker = 2 }"]),
            ("step.0.kill.broker", "1", &["kill = { broker = 1 }", "-kill = { broker = 2 }"]),
            (
                "step.1.repeat.steps.0.at",
                "2s",
                &[
                    "repeat = { times = 2, steps = [{ at = \"2s\", start = { broker = 2 } }] }",
                    "-repeat = { times = 2, steps = [{ at = \"0s\", start = { broker = 2 } }] }",
                ],
            ),
        ];
        for (path, value, expected) in rows {
            assert_eq!(changed(path, value), expected, "{path}={value}");
        }
    }

    #[test]
    fn a_star_sets_every_entry() {
        let text = set_to("producers.*.config.\"metadata.max.age.ms\"", "10s").unwrap();
        assert_eq!(text.matches("\"metadata.max.age.ms\" = 10000").count(), 2, "{text}");
    }

    #[test]
    fn what_leads_nowhere_is_told_with_what_there_is() {
        let rows = [
            ("produsers.*.count", "the plan has no `produsers`: did you mean `producers`? there are `name`,"),
            ("producers.stedy.count", "there is no `producers` `stedy`: did you mean `steady`? there are `steady`, `other`"),
            ("producers.*.cuont", "[[producers]] has no `cuont`: did you mean `count`?"),
            ("step.7.at", "there is no `step` `7`: there are `0`, `1`"),
            ("requesters.*.count", "the plan has no `requesters`"),
            ("phases", "it names [phases], not a key of it: `warmup`, `steady`, `recovery`"),
            ("producers", "it names a list: go on with `.*` or one of `steady`, `other` after `producers`"),
            ("producers.*", "it names [[producers]], not a key of it"),
            ("producers.*.config", "it names a table of properties"),
            ("phases.recovery.x", "`recovery` has a value, and nothing below it"),
        ];
        for (path, expected) in rows {
            let miss = set_to(path, "5").unwrap_err();
            assert!(miss.words().starts_with(expected), "{path}: {}", miss.words());
        }
    }
}
