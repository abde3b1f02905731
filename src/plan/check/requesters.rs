//! `[[requesters]]`.

use crate::ids::TopicName;
use crate::plan::model::{RequesterGroup, TopicList};
use crate::plan::problem::Problem;
use crate::plan::raw::{Fields, TextsOrText};
use crate::plan::units::Rate;

use super::group_names::GroupNames;
use super::producers;
use super::scene::Scene;

/// Reads all groups. `names` are those of the groups so far, and gets these too.
pub(super) fn read(sections: &[Fields<'_>], names: &mut GroupNames, scene: &Scene<'_>) -> Vec<RequesterGroup> {
    let group = |fields: &Fields<'_>| RequesterGroup {
        name: names.read(fields, scene),
        count: fields.integer("count").and_then(|count| u32::try_from(count).ok()).unwrap_or(1),
        rate_per_second: rate(fields, scene),
        list: list(fields, scene),
        active: producers::active(fields, scene),
    };
    sections.iter().map(group).collect()
}

fn rate(fields: &Fields<'_>, scene: &Scene<'_>) -> f64 {
    match fields.rate("rate").map(|rate| (rate.value, rate.span)) {
        Some((Rate::PerSecond(rate), _)) => rate,
        Some((Rate::Max, span)) => {
            let problem = Problem::error(span, "`rate` = \"max\" is for producers: a requester asks at times that are given");
            scene.report(problem.hint("write requests per time, such as \"5/s\", and raise `count` for more"));
            1.0
        }
        None => 1.0,
    }
}

fn list(fields: &Fields<'_>, scene: &Scene<'_>) -> TopicList {
    match fields.texts_or_text("list") {
        Some(TextsOrText::Text(word)) if word.value == "all" => TopicList::All,
        Some(TextsOrText::Text(word)) if word.value == "none" => TopicList::Nothing,
        Some(TextsOrText::Text(word)) => {
            let problem = Problem::error(word.span, format!("`list` cannot be \"{}\"", word.value));
            scene.report(problem.hint("\"all\", \"none\", or topics in brackets: `list = [\"orders\"]`"));
            TopicList::All
        }
        Some(TextsOrText::Texts(names)) => {
            if names.is_empty() {
                let problem = Problem::error(fields.span_of("list"), "`list` names nothing");
                scene.report(problem.hint("for an empty list in the request write \"none\""));
            }
            let named = names.iter().flat_map(|name| scene.topics_named(name));
            TopicList::Named(named.map(|name| TopicName::from(name.as_str())).collect())
        }
        None => TopicList::All,
    }
}
