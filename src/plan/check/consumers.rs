//! `[[consumers]]`.

use crate::ids::TopicName;
use crate::plan::model::ConsumerGroup;
use crate::plan::problem::Problem;
use crate::plan::raw::Fields;

use super::group_names::GroupNames;
use super::scene::Scene;

/// Reads all of them. `names` are those of the groups so far, and gets these too.
pub(super) fn read(sections: &[Fields<'_>], names: &mut GroupNames, scene: &Scene<'_>) -> Vec<ConsumerGroup> {
    let group = |fields: &Fields<'_>| ConsumerGroup { name: names.read(fields, scene), topics: topics(fields, scene) };
    sections.iter().map(group).collect()
}

fn topics(fields: &Fields<'_>, scene: &Scene<'_>) -> Vec<TopicName> {
    let names = fields.texts("topics").unwrap_or_default();
    if names.is_empty() && fields.is_list("topics") {
        let problem = Problem::error(fields.span_of("topics"), "`topics` names nothing");
        scene.report(problem.hint("a consumer reads at least one topic: `topics = [\"orders\"]`"));
    }
    names.iter().flat_map(|name| scene.topics_named(name)).map(|name| TopicName::from(name.as_str())).collect()
}
