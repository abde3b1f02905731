//! `docs/plans.md` against the language: its plans are sound, and it names every key, action, metric and honoured property.

use kafka_chaos::plan::model::Metric;
use kafka_chaos::plan::producer_config::{Support, librdkafka, settings};
use kafka_chaos::plan::{self, schema};

fn page() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/plans.md")).unwrap()
}

/// The TOML of the page: a whole plan, and pieces that fit at its end.
fn examples(page: &str) -> Vec<String> {
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_examples_are_sound() {
    let examples = examples(&page());
    let whole = &examples[0];
    assert!(plan::parse("plan.toml", whole).is_ok_and(|checked| checked.warnings.is_empty()));
    let start = whole.find("[[step]]").unwrap();
    let end = whole.find("[[expect]]").unwrap();
    for piece in &examples[1..] {
        let text = format!("{}{piece}\n{}", &whole[..start], &whole[end..]);
        if let Err(problems) = plan::parse("plan.toml", &text) {
            panic!("{problems}");
        }
    }
}

#[test]
fn the_page_names_everything() {
    let page = page();
    let schema = schema::schema();
    let tables = std::iter::once(&schema).chain(schema["$defs"].as_object().unwrap().values());
    let keys = tables.flat_map(|table| table["properties"].as_object().unwrap().keys());
    let missing: Vec<&String> = keys.filter(|key| !page.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for metric in Metric::all() {
        assert!(page.contains(&format!("`{}`", metric.name)), "{}", metric.name);
    }
    for setting in settings().iter().filter(|setting| setting.support == Support::Honoured) {
        assert!(page.contains(&format!("`{}`", setting.name)), "{}", setting.name);
    }
}

/// The actions in the page's table, each put into the plan.
#[test]
fn the_actions_are_sound() {
    let page = page();
    let whole = &examples(&page)[0];
    let start = whole.find("rolling =").unwrap();
    let end = whole.find("[[expect]]").unwrap();
    let down = "kill = { broker = 2 }\n\n[[step]]\nat = \"1s\"\n";
    let frozen = "pause = { broker = 2 }\n\n[[step]]\nat = \"1s\"\n";
    let cut_off = "disconnect = { broker = 2 }\n\n[[step]]\nat = \"1s\"\n";
    let cells = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |").map(|(cell, _)| cell));
    let actions: Vec<&str> = cells.filter(|cell| cell.contains(" = {") && !cell.contains("...")).collect();
    assert!(actions.len() >= 11, "{actions:?}");
    for action in actions {
        let before = if action.starts_with("start") {
            down
        } else if action.starts_with("unpause") {
            frozen
        } else if action.starts_with("connect") {
            cut_off
        } else {
            ""
        };
        let action = action.replace("to = 6", "to = 7");
        let text = format!("{}{before}{action}\n\n{}", &whole[..start], &whole[end..]);
        if let Err(problems) = plan::parse("plan.toml", &text) {
            panic!("{problems}");
        }
    }
}

#[test]
fn the_engines_page_holds_librdkafkas_table() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/engines.md")).unwrap();
    let lines: Vec<&str> = page.lines().collect();
    let rows_after = |head: &str| -> Vec<&str> {
        let start = lines.iter().position(|line| *line == head).unwrap_or_else(|| panic!("no table {head}"));
        lines[start + 2..].iter().take_while(|line| line.starts_with('|')).copied().collect()
    };
    let line = |cells: &[String]| format!("| {} |", cells.join(" | ")).replace("|  |", "| |");
    let expected: Vec<String> = librdkafka::table().iter().map(|row| line(row)).collect();
    assert_eq!(rows_after("| property | librdkafka's | takes | |"), expected, "write:\n{}", expected.join("\n"));
    let always: Vec<String> = librdkafka::ALWAYS.iter().map(|(key, value, why)| format!("| `{key}` | `{value}` | {why} |")).collect();
    assert_eq!(rows_after("| librdkafka's | value | why |"), always, "write:\n{}", always.join("\n"));
}
