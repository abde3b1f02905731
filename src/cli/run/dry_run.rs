//! `chaos run --dry-run`: what a run would do and need, without starting or writing anything.
//!
//! The time line and the figures are `plan`'s; here they become text and JSON.

use std::io::Write;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::Exit;
use crate::cluster::ports_wanted;
use crate::digits::{bytes, grouped};
use crate::plan::forecast::{Forecast, GroupForecast, RequesterForecast};
use crate::plan::model::{Action, EngineKind, NetworkMode, Plan, Step};
use crate::plan::timeline::{Estimate, Timeline};
use crate::plan::{show, units};
use crate::report::text::format::wrapped;
use crate::report::text::style::Style;
use crate::report::text::table::{Table, WIDTH};

/// What figures that come from the plan alone do not hold.
const IN_PEACE: &str = "Metadata requests are those of a run in which nothing happens: one for each topic and client, and those for age. \
                        What the steps cause, and what a missing topic costs, comes on top.";

/// Prints it.
///
/// # Errors
/// If `out` cannot be written to.
pub(super) fn run(plan: &Plan, warnings: &[String], json: bool, out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    if json {
        writeln!(out, "{:#}", value(plan, warnings))?;
    } else {
        write!(out, "{}", text(plan, warnings, Style { colour }))?;
    }
    Ok(Exit::Success)
}

fn text(plan: &Plan, warnings: &[String], style: Style) -> String {
    let forecast = Forecast::of(plan);
    let mut lines = vec![style.heading(&format!("{}: a dry run; nothing is started or written", plan.name))];
    lines.push(format!("{}, seed {}, Kafka {}: {}", plan.source.path, plan.seed, plan.cluster.kafka, plan.cluster.layout));
    lines.extend(wrapped(&needs(plan, &forecast), WIDTH));
    part(&mut lines, "Time line, from the start of the load", time_line(plan).lines(style), style);
    part(&mut lines, "Load", load(&forecast).lines(style), style);
    part(&mut lines, "Requesters", requesters(&forecast).lines(style), style);
    let expected = plan.expectations.iter().map(|expectation| format!("  {expectation}")).collect();
    part(&mut lines, "Expectations", expected, style);
    lines.push(String::new());
    lines.extend(wrapped(IN_PEACE, WIDTH));
    for warning in warnings {
        lines.extend(wrapped(&format!("warning: {warning}"), WIDTH));
    }
    lines.join("\n") + "\n"
}

/// A part of the page; nothing if it has no lines.
fn part(lines: &mut Vec<String>, title: &str, body: Vec<String>, style: Style) {
    if !body.is_empty() {
        lines.extend([String::new(), style.heading(title)]);
        lines.extend(body);
    }
}

fn needs(plan: &Plan, forecast: &Forecast) -> String {
    let ports = ports_wanted(&plan.cluster);
    let network = match plan.cluster.network {
        NetworkMode::Bridge => "a network of its own",
        NetworkMode::Host => "this machine's network",
    };
    let mut text = format!(
        "It needs {} nodes of Kafka with up to {} MiB of memory together, {network} and {ports} ports of 127.0.0.1; {} clients make up to {} \
         connections.",
        forecast.nodes,
        forecast.memory_bytes >> 20,
        grouped(forecast.clients()),
        grouped(forecast.connections_max()),
    );
    let foreign: Vec<&str> =
        plan.producers.iter().filter(|group| group.engine == EngineKind::Java).map(|group| group.name.as_str()).collect();
    if !foreign.is_empty() {
        text.push_str(&format!(" The clients of {} run in JVMs of their own, whose memory comes on top.", foreign.join(", ")));
    }
    text
}

fn time_line(plan: &Plan) -> Table {
    let timeline = Timeline::of(plan);
    let mut table = Table::new(&["expected", "<range", "<what"]);
    let row = |at: Estimate, what: String| [about(at), range(at), what];
    table.row(row(Estimate::default(), format!("warm-up of {}", units::show_duration(plan.phases.warmup))));
    let steady = format!("steady for {}: the baseline", units::show_duration(plan.phases.steady));
    table.row(row(Estimate::exactly(timeline.steady_at), steady));
    for ((at, step), number) in timeline.steps.iter().zip(1..) {
        table.row(row(*at, format!("{} (step {number}, line {})", step.action, step.line)));
        rounds(&mut table, step, 1);
    }
    table.row(row(timeline.recovery_at, format!("recovery of {}", units::show_duration(plan.phases.recovery))));
    table.row(row(timeline.end_at, "end of the load".to_owned()));
    table
}

/// Steps inside `repeat`, with their times within a round.
fn rounds(table: &mut Table, step: &Step, depth: usize) {
    let Action::Repeat { steps, .. } = &step.action else { return };
    for inner in steps {
        let what = format!("{:width$}{} (line {})", "", inner.action, inner.line, width = 2 * depth);
        table.row([format!("+{}", units::show_duration(inner.at)), "in each round".to_owned(), what]);
        rounds(table, inner, depth + 1);
    }
}

/// The expected time, to the second where it is only expected.
fn about(at: Estimate) -> String {
    if at.least == at.most { units::show_duration(at.expected) } else { format!("~{}", whole(at.expected)) }
}

/// Between what it lies; empty for a time that is known.
fn range(at: Estimate) -> String {
    if at.least == at.most { String::new() } else { format!("{} to {}", whole(at.least), whole(at.most)) }
}

fn whole(time: Duration) -> String {
    units::show_duration(Duration::from_secs(time.as_secs()))
}

fn load(forecast: &Forecast) -> Table {
    let mut table = Table::new(&[
        "<group",
        "producers",
        "clients",
        "records/s",
        "bytes/s",
        "records",
        "connections",
        "Metadata requests",
        "<sends for",
    ]);
    for group in &forecast.groups {
        let per_second = |figure: Option<f64>, show: fn(u64) -> String| figure.map_or("?".to_owned(), |figure| show(figure.round() as u64));
        table.row([
            group.name.clone(),
            grouped(group.producers.into()),
            grouped(group.clients.into()),
            per_second(group.records_per_second, grouped),
            per_second(group.bytes_per_second, bytes),
            per_second(group.records, grouped),
            format!("<= {}", grouped(group.connections_max)),
            group.metadata_requests.map_or("?".to_owned(), |count| format!("~{}", grouped(count))),
            format!("~{}", whole(group.sends_for)),
        ]);
    }
    table
}

fn requesters(forecast: &Forecast) -> Table {
    let mut table = Table::new(&["<group", "requesters", "requests/s", "requests"]);
    for group in &forecast.requesters {
        let rounded = |figure: f64| grouped(figure.round() as u64);
        let of_run = format!("~{}", rounded(group.metadata_requests));
        table.row([group.name.clone(), grouped(group.requesters.into()), rounded(group.requests_per_second), of_run]);
    }
    table
}

/// What `chaos plan show --json` says, and beside it the figures.
fn value(plan: &Plan, warnings: &[String]) -> Value {
    let forecast = Forecast::of(plan);
    let mut value = show::json(plan);
    value["warnings"] = warnings.into();
    value["needs"] = json!({
        "nodes": forecast.nodes,
        "memory_bytes": forecast.memory_bytes,
        "ports": ports_wanted(&plan.cluster),
        "clients": forecast.clients(),
        "connections_max": forecast.connections_max(),
    });
    value["load"] = forecast.groups.iter().map(group_value).collect();
    value["requests"] = forecast.requesters.iter().map(requester_value).collect();
    value
}

fn group_value(group: &GroupForecast) -> Value {
    json!({
        "group": group.name,
        "producers": group.producers,
        "clients": group.clients,
        "records_per_second": group.records_per_second,
        "bytes_per_second": group.bytes_per_second,
        "records": group.records,
        "connections_max": group.connections_max,
        "metadata_requests": group.metadata_requests,
        "sends_for_ms": u64::try_from(group.sends_for.as_millis()).unwrap_or(u64::MAX),
    })
}

fn requester_value(group: &RequesterForecast) -> Value {
    json!({
        "group": group.name,
        "requesters": group.requesters,
        "requests_per_second": group.requests_per_second,
        "metadata_requests": group.metadata_requests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    const PLAN: &str = r#"name = "dry"

[[topic]]
name = "orders"
partitions = 3
replication = 3

[[producers]]
name = "steady"
count = 50
topics = ["orders"]
rate = "20/s"
config = { "metadata.max.age.ms" = 10000 }

[[producers]]
name = "fast"
topics = ["orders"]
rate = "max"

[[requesters]]
name = "storm"
count = 2
rate = "5/s"
list = "all"

[[step]]
at = "0s"
rolling = { down = "4s", then = "isr-full" }

[[step]]
at = "1s"
repeat = { times = 2, steps = [{ at = "3s", pause = { broker = 2 } }, { at = "4s", unpause = { broker = 2 } }] }

[[expect]]
metric = "records.failed"
is = "== 0"
"#;

    fn plan() -> Plan {
        plan::parse("plans/dry.toml", PLAN).unwrap_or_else(|problems| panic!("{problems}")).plan
    }

    #[test]
    fn the_page_has_times_with_ranges_load_and_needs() {
        let text = text(&plan(), &["a remark".to_owned()], Style { colour: false });
        insta::assert_snapshot!(text);
    }

    #[test]
    fn scripts_get_the_same_and_null_for_what_is_unknown() {
        let value = value(&plan(), &["a remark".to_owned()]);
        assert_eq!(
            value["needs"],
            json!({ "nodes": 3, "memory_bytes": 3_u64 * (768 << 20), "ports": 6, "clients": 53, "connections_max": 206 })
        );
        assert_eq!((&value["load"][0]["records_per_second"], &value["load"][1]["records_per_second"]), (&json!(1000.0), &Value::Null));
        assert_eq!((&value["steps"][0]["at_ms"]["expected"], &value["warnings"][0]), (&json!(15_000), &json!("a remark")));
    }
}
