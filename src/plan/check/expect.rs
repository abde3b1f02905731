//! `[[expect]]`.

use crate::plan::model::{Expectation, Metric, Unit};
use crate::plan::problem::Problem;
use crate::plan::raw::{At, Fields};
use crate::plan::units;

use super::scene::Scene;
use super::words;

/// Reads all expectations. `groups` is `None` where a group's name could not be read.
pub(super) fn read(sections: &[Fields<'_>], groups: Option<&[String]>, scene: &Scene<'_>) -> Vec<Expectation> {
    let mut expectations = Vec::new();
    for fields in sections {
        let metric = metric(fields, scene);
        let group = fields.text("group");
        if let (Some(group), Some(groups)) = (&group, groups) {
            check_group(group, groups, scene);
        }
        let comparison = fields.text("is").and_then(|text| comparison(&text, metric, scene));
        if let (Some(metric), Some((comparison, value))) = (metric, comparison) {
            let group = group.map(|group| group.value.to_owned());
            let window = metric.info().window.clone();
            let except = Vec::new();
            expectations.push(Expectation { metric, group, window, except, comparison, value, line: scene.line(&fields.span) });
        }
    }
    expectations
}

fn metric(fields: &Fields<'_>, scene: &Scene<'_>) -> Option<Metric> {
    let text = fields.text("metric")?;
    let found = Metric::find(text.value);
    if found.is_none() {
        let problem = Problem::error(text.span, format!("there is no metric `{}`", text.value));
        scene.report(problem.did_you_mean(text.value, Metric::all().iter().map(|info| info.name)));
    }
    found
}

fn check_group(group: &At<&str>, groups: &[String], scene: &Scene<'_>) {
    if !groups.iter().any(|name| name == group.value) {
        let problem = Problem::error(group.span.clone(), format!("there is no group `{}`", group.value));
        scene.report(problem.did_you_mean(group.value, groups.iter().map(String::as_str)));
    }
}

/// The bound of a time may have a unit, else it is in milliseconds.
fn comparison(text: &At<&str>, metric: Option<Metric>, scene: &Scene<'_>) -> Option<(crate::plan::model::Comparison, f64)> {
    let Some((comparison, bound)) = words::comparison(text.value) else {
        let problem = Problem::error(text.span.clone(), format!("`is` = \"{}\" is no comparison", text.value));
        scene.report(problem.hint("write ==, !=, <, <=, > or >= and then a value, such as \"== 0\""));
        return None;
    };
    let number = bound.parse::<f64>().ok().filter(|number| number.is_finite());
    let time = units::duration(bound).ok().filter(|_| metric.is_none_or(is_time)).map(|time| time.as_secs_f64() * 1000.0);
    let value = number.or(time);
    if value.is_none() {
        let problem = Problem::error(text.span.clone(), format!("\"{bound}\" is nothing to compare with"));
        scene.report(match metric {
            Some(metric) if is_time(metric) => problem.hint("write a duration such as \"<= 15s\", or milliseconds"),
            _ => problem.hint("write a plain number, such as \"== 0\""),
        });
    }
    Some((comparison, value?))
}

/// Whether a metric is in milliseconds.
fn is_time(metric: Metric) -> bool {
    metric.info().unit == Unit::Ms
}
