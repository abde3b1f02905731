//! `[[step]]` and `repeat`: steps in the order in which they fire, each seeing what the ones before it did.

use std::time::Duration;

use crate::plan::grammar::STEP;
use crate::plan::model::{Action, Step};
use crate::plan::problem::Problem;
use crate::plan::raw::Fields;

use super::actions;
use super::scene::Scene;

/// How deep `repeat` may stand inside `repeat`: each level is walked twice.
const REPEAT_DEPTH_MAX: usize = 3;

/// Reads the steps of the plan.
pub(super) fn read(steps: &[Fields<'_>], scene: &mut Scene<'_>) -> Vec<Step> {
    walk(steps, scene, 0)
}

/// How many brokers steps add.
pub(super) fn joining(steps: &[Step]) -> u32 {
    let of = |step: &Step| match &step.action {
        Action::AddBroker => 1,
        Action::Repeat { times, steps } => joining(steps).saturating_mul(*times),
        _ => 0,
    };
    steps.iter().map(of).fold(0, u32::saturating_add)
}

fn walk(steps: &[Fields<'_>], scene: &mut Scene<'_>, depth: usize) -> Vec<Step> {
    let mut timed: Vec<(Duration, &Fields<'_>)> = Vec::new();
    for step in steps {
        // Where the time is wrong, the step keeps its place in the file, so that no wrong order follows from it.
        let before = timed.last().map_or(Duration::ZERO, |(at, _)| *at);
        timed.push((step.duration("at").unwrap_or(before), step));
    }
    timed.sort_by_key(|(at, _)| *at);
    timed
        .into_iter()
        .filter_map(|(at, step)| Some(Step { at, action: action(step, scene, depth)?, line: scene.line(&step.span) }))
        .collect()
}

fn action(step: &Fields<'_>, scene: &mut Scene<'_>, depth: usize) -> Option<Action> {
    let mut names = STEP.names().into_iter().filter(|name| *name != "at" && step.has(name));
    // More than one is reported by the grammar; the first one is looked into all the same.
    let Some((name, arguments)) = names.next().and_then(|name| Some((name, step.table(name)?))) else {
        scene.nodes.forget_all();
        scene.links.forget_all();
        scene.client_links.forget_all();
        return None;
    };
    if name == "repeat" { repeat(&arguments, scene, depth + 1) } else { actions::read(name, &arguments, scene) }
}

/// Walks the body twice, if it runs more than once: what the first round leaves behind may not suit the second.
fn repeat(arguments: &Fields<'_>, scene: &mut Scene<'_>, depth: usize) -> Option<Action> {
    if depth > REPEAT_DEPTH_MAX {
        let message = format!("`repeat` stands inside `repeat` at most {REPEAT_DEPTH_MAX} deep");
        scene.report(Problem::error(arguments.span.clone(), message).hint("multiply the outer `times` instead"));
        return None;
    }
    let times = arguments.integer("times").and_then(|times| u32::try_from(times).ok());
    let body = arguments.tables("steps");
    if body.is_empty() && arguments.has("steps") {
        scene.report(
            Problem::error(arguments.span_of("steps"), "`steps` holds no step")
                .hint("for instance `{ at = \"0s\", kill = { broker = 2 } }`"),
        );
    }
    let steps = walk(&body, scene, depth);
    if times.is_some_and(|times| times > 1) {
        walk(&body, scene, depth);
    }
    // What joins in the rounds that are not walked is there afterwards all the same.
    let more = u64::from(times?.saturating_sub(2)).saturating_mul(u64::from(joining(&steps)));
    if more > 0 && scene.layout.is_some() {
        actions::join(usize::try_from(more).unwrap_or(usize::MAX), arguments.span_of("times"), scene)?;
    }
    Some(Action::Repeat { times: times?, steps })
}
