//! The reference of plans as a page in Markdown: every table, key and metric. Made from the grammar, like the schema, so that it cannot
//! fall behind.
//!
//! Not here: why one would want a key, and what follows from it; that is for `docs/plans.md`. Called by `chaos plan reference`;
//! `docs/plan-reference.md` is its output.

use std::fmt::Write as _;

use super::grammar::{CPU_THOUSANDTHS, Key, Kind, Need, OneOf, PLAN, Table};
use super::model::{Metric, Unit};
use super::problem::list;
use super::units::show_size;

const HEAD: &str = "\
# Plan reference

Every table, key and metric of a plan. What they are good for, with examples, is in [plans.md](plans.md).

This page is printed by `chaos plan reference`, which makes it from what the program itself reads plans by. Do not edit it.

";

/// What the words of the tables mean; the patterns behind them are in the schema.
const VALUES: &str = "\
## Values

| written here | in a plan |
|---|---|
| a duration | `\"500ms\"`, `\"30s\"`, `\"1m30s\"`, at most `\"24h\"` |
| a rate | `\"20/s\"`, `\"0.5/s\"`, `\"30/min\"`, `\"100/h\"`; of producers also `\"max\"` |
| a size | `\"100 B\"`, `\"16 KiB\"`, `\"384 MiB\"`, `\"1 MB\"`: kB, MB and GB are decimal |
| a name | letters, digits, `.`, `_` and `-`, at most 200 |
| a role | `\"leader-of(orders/0)\"`, `\"follower-of(orders/0)\"`, `\"controller\"`, `\"random\"`, `\"all\"`; looked up when the step fires |
| a condition | `\"isr-full\"`, `\"caught-up\"`, `\"leader-of(orders/0)\"`, or a duration |
| properties | `{ \"min.insync.replicas\" = 2 }`: names in quotes if they have dots; values are strings, numbers, `true` or `false` |
";

const METRICS: &str = "
## Metrics

What `metric` of an `[[expect]]` can name, and the window that is meant where none is given.

| metric | unit | window | |
|---|---|---|---|
";

/// The page, with a line end.
#[must_use]
pub fn text() -> String {
    let mut page = HEAD.to_owned();
    tables().into_iter().for_each(|table| section(&mut page, table));
    page.push_str(VALUES);
    page.push_str(METRICS);
    for info in Metric::all() {
        // A plan may write it with any unit of time.
        let unit = if info.unit == Unit::Ms { "a time" } else { info.unit.name() };
        row(&mut page, &[&format!("`{}`", info.name), unit, &format!("`{}`", info.window), info.about]);
    }
    page
}

/// All tables, each before those that it holds, as a reader meets them.
fn tables() -> Vec<&'static Table> {
    let mut found: Vec<&'static Table> = vec![&PLAN];
    let mut next = 0;
    while let Some(table) = found.get(next) {
        for below in table.keys.iter().filter_map(|key| below(&key.kind)) {
            if !found.iter().any(|known| known.id == below.id) {
                found.push(below);
            }
        }
        next += 1;
    }
    found
}

/// The table that a value is, or is a list of.
fn below(kind: &Kind) -> Option<&'static Table> {
    match kind {
        Kind::Table(table) | Kind::Tables(table) => Some(table),
        _ => None,
    }
}

fn section(page: &mut String, table: &Table) {
    page.push_str(&format!("## {}\n\n{}\n", title(table), table.about));
    let sentences: Vec<String> = table.choices.iter().map(choice).collect();
    if !sentences.is_empty() {
        page.push_str(&format!("\n{}\n", sentences.join(" ")));
    }
    if table.keys.is_empty() {
        page.push_str("\nIt has no keys: `{}`.\n\n");
        return;
    }
    page.push_str("\n| key | takes | if absent | for instance | |\n|---|---|---|---|---|\n");
    for key in table.keys {
        row(page, &[&format!("`{}`", key.name), &takes(&key.kind), &absent(key), &format!("`{}`", key.example), key.about]);
    }
    page.push('\n');
}

/// A row of a table; a bar inside a cell would end it.
fn row(page: &mut String, cells: &[&str]) {
    page.push('|');
    for cell in cells {
        let gap = if cell.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(page, "{gap}{} |", cell.replace('|', "\\|"));
    }
    page.push('\n');
}

/// A table's heading: as plans write it where they write it as a section.
fn title(table: &Table) -> String {
    match table.id {
        "plan" => "The top of the file".to_owned(),
        "step" => "`[[step]]`".to_owned(),
        _ if table.name.starts_with('[') => format!("`{}`", table.name),
        _ => table.name.to_owned(),
    }
}

/// The place that a link to a table names: its heading's letters.
fn anchor(table: &Table) -> String {
    let letters = title(table).to_lowercase().replace(' ', "-");
    letters.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').collect()
}

/// Keys of which one is chosen.
fn choice(choice: &OneOf) -> String {
    let keys = list(choice.keys);
    match (choice.required, choice.keys.len()) {
        (true, 0..=3) => format!("Exactly one of {keys} is there."),
        (true, _) => format!("Exactly one of these is there: {keys}."),
        (false, _) => format!("At most one of {keys} is there."),
    }
}

fn absent(key: &Key) -> String {
    match (key.need, &key.kind) {
        (Need::Required, _) => "required".to_owned(),
        (Need::Optional, _) => String::new(),
        (Need::Default(default), Kind::Integer { .. }) => default.to_owned(),
        (Need::Default(default), _) => format!("`\"{default}\"`"),
    }
}

/// What a key takes, for the reader of the table.
fn takes(kind: &Kind) -> String {
    match kind {
        Kind::Integer { min, max } if *max == i64::MAX as u64 => format!("a whole number, {min} or more"),
        Kind::Integer { min, max } => format!("a whole number, {min} to {max}"),
        Kind::Duration => "a duration".to_owned(),
        Kind::Size { min, max } => format!("a size, `\"{}\"` to `\"{}\"`", show_size(*min), show_size(*max)),
        Kind::SizeOrNone { min, max } => format!("a size, `\"{}\"` to `\"{}\"`, or `\"none\"`", show_size(*min), show_size(*max)),
        Kind::CpusOrNone => {
            let cores = |thousandths: &u64| *thousandths as f64 / 1000.0;
            format!("a number of cores, {} to {}, or `\"none\"`", cores(CPU_THOUSANDTHS.start()), cores(CPU_THOUSANDTHS.end()))
        }
        Kind::Choice { words, .. } => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        Kind::List(item) => match **item {
            Kind::List(_) => "a list of lists of whole numbers".to_owned(),
            _ => format!("a list, each {}", takes(item)),
        },
        Kind::Table(table) => format!("a table, [below](#{})", anchor(table)),
        Kind::Tables(table) => format!("tables, [below](#{})", anchor(table)),
        Kind::Metric => "[a metric](#metrics)".to_owned(),
        Kind::Config { producer: true } => "[properties of the producer](producer-config.md)".to_owned(),
        Kind::Config { producer: false } => "properties".to_owned(),
        Kind::Text { .. }
        | Kind::Target
        | Kind::Sender
        | Kind::Brokers
        | Kind::TopicList
        | Kind::PartitionOrAll
        | Kind::Replicas
        | Kind::Window => kind.what().replace(" in quotes", ""),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_table_has_one_heading_and_every_link_leads_to_one() {
        let page = text();
        let anchors: Vec<String> = tables().into_iter().map(anchor).collect();
        let different: BTreeSet<&String> = anchors.iter().collect();
        assert_eq!(different.len(), anchors.len(), "{anchors:?}");
        let links: BTreeSet<&str> = page.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        assert!(links.len() > 20, "{links:?}");
        for link in links {
            let is_section = page.to_lowercase().contains(&format!("\n## {link}\n"));
            assert!(is_section || anchors.iter().any(|anchor| anchor == link), "#{link}");
        }
    }

    #[test]
    fn every_row_has_the_cells_of_its_table() {
        let page = text();
        for table in page.split("\n\n").filter(|block| block.starts_with('|')) {
            let cells = |row: &str| row.replace("\\|", "").matches('|').count();
            let expected = table.lines().next().map_or(0, cells);
            assert!(table.lines().all(|row| cells(row) == expected), "{table}");
        }
    }

    #[test]
    fn a_key_is_told_with_its_bounds_and_default() {
        let page = text();
        for row in [
            "| `count` | a whole number, 1 to 100000 | 1 | `count = 50` | How many producers. |",
            "| `grace` | a duration | `\"30s\"` | `grace = \"30s\"` | Time for a controlled shutdown; past it the node is killed. |",
            "| `memory` | a size, `\"256 MiB\"` to `\"64 GiB\"` | `\"768 MiB\"` | `memory = \"768 MiB\"` | Memory limit of each node. |",
        ] {
            assert!(page.lines().any(|line| line == row), "no {row}");
        }
        assert!(page.contains("Exactly one of `rate`, `closed` is there."));
    }
}
