//! `[[expect]]`.

use crate::plan::model::{AuditSpec, Expectation, Groups, Metric, Step, Unit};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields};
use crate::plan::units;

use super::expect_windows::PlanWindows;
use super::scene::Scene;
use super::words;

/// Names of the plan's groups. `None` where one could not be read: then no name can be called unknown.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupLists<'a> {
    pub(super) producers: Option<&'a [String]>,
    pub(super) consumers: &'a [String],
    /// Those of producers, of requesters and of consumers.
    pub(super) all: Option<&'a [String]>,
}

/// Reads all expectations. `steps` is `None` where a step could not be read.
pub(super) fn read(
    sections: &[Fields<'_>],
    groups: GroupLists<'_>,
    steps: Option<&[Step]>,
    audit: AuditSpec,
    scene: &Scene<'_>,
) -> Vec<Expectation> {
    let windows = PlanWindows::of(steps);
    let mut expectations = Vec::new();
    for fields in sections {
        let metric = metric(fields, audit, scene);
        let group = fields.text("group");
        if let Some(group) = &group {
            check_group(group, metric, groups, scene);
        }
        let window = windows.read(fields, metric, scene);
        let except = windows.read_exceptions(fields, metric, window.as_ref(), scene);
        let comparison = fields.text("is").and_then(|text| comparison(&text, metric, scene));
        if let (Some(metric), Some(window), Some((comparison, value))) = (metric, window, comparison) {
            let group = group.map(|group| group.value.to_owned());
            expectations.push(Expectation { metric, group, window, except, comparison, value, line: scene.line(&fields.span) });
        }
    }
    expectations
}

fn metric(fields: &Fields<'_>, audit: AuditSpec, scene: &Scene<'_>) -> Option<Metric> {
    let text = fields.text("metric")?;
    let found = Metric::find(text.value);
    if found.is_none() {
        let problem = Problem::error(text.span.clone(), format!("there is no metric `{}`", text.value));
        scene.report(problem.did_you_mean(text.value, Metric::all().iter().map(|info| info.name)));
    }
    if matches!(found, Some(Metric::Audited(_))) && !audit.is_on {
        let problem = Problem::error(text.span, format!("`{}` is known only of topics that are read back", text.value));
        scene.report(problem.hint("take `read = \"none\"` out of [audit]"));
    }
    found
}

fn check_group(group: &At<&str>, metric: Option<Metric>, groups: GroupLists<'_>, scene: &Scene<'_>) {
    let kind = metric.map_or(Groups::Producers, |metric| metric.info().groups);
    let (Some(producers), Some(all)) = (groups.producers, groups.all) else { return };
    let (noun, known): (&str, Vec<&str>) = match kind {
        Groups::None => {
            let name = metric.map_or("", Metric::name);
            let problem = Problem::error(group.span.clone(), format!("`{name}` is of no group"));
            return scene.report(problem.hint("take `group` away: the figure is the whole cluster's, or the generator's"));
        }
        Groups::Producers => ("group", producers.iter().map(String::as_str).collect()),
        Groups::Consumers => ("consumer", groups.consumers.iter().map(String::as_str).collect()),
        Groups::Requesters => {
            let is_other = |name: &&String| !producers.contains(name) && !groups.consumers.contains(name);
            ("group of requesters", all.iter().filter(is_other).map(String::as_str).collect())
        }
    };
    if !known.contains(&group.value) {
        let problem = Problem::error(group.span.clone(), format!("there is no {noun} `{}`", group.value));
        scene.report(problem.did_you_mean(group.value, known));
    }
}

/// The bound of a time may have a unit, else it is in milliseconds; so may one of bytes.
fn comparison(text: &At<&str>, metric: Option<Metric>, scene: &Scene<'_>) -> Option<(crate::plan::model::Comparison, f64)> {
    let Some((comparison, bound)) = words::comparison(text.value) else {
        let problem = Problem::error(text.span.clone(), format!("`is` = \"{}\" is no comparison", text.value));
        scene.report(problem.hint("write ==, !=, <, <=, > or >= and then a value, such as \"== 0\""));
        return None;
    };
    let unit = metric.map(|metric| metric.info().unit);
    let number = bound.parse::<f64>().ok().filter(|number| number.is_finite());
    let time = units::duration(bound).ok().filter(|_| matches!(unit, None | Some(Unit::Ms))).map(|time| time.as_secs_f64() * 1000.0);
    let size = units::size(bound).ok().filter(|_| matches!(unit, None | Some(Unit::Bytes))).map(|bytes| bytes as f64);
    let value = number.or(time).or(size);
    if value.is_none() {
        let problem = Problem::error(text.span.clone(), format!("\"{bound}\" is nothing to compare with"));
        scene.report(problem.hint(match unit {
            Some(Unit::Ms) => "write a duration such as \"<= 15s\", or milliseconds",
            Some(Unit::Bytes) => "write a size such as \"<= 1 MiB\", or bytes",
            Some(Unit::Percent) => "write a plain number of per cent, such as \"<= 50\"",
            _ => "write a plain number, such as \"== 0\"",
        }));
    }
    Some((comparison, value?))
}
