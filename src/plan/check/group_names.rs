//! Names of groups, of producers and of requesters alike: each may be there once. Called by the readers of both sections.

use crate::plan::problem::Problem;
use crate::plan::raw::Fields;

use super::scene::Scene;
use super::words;

/// The names so far.
#[derive(Clone, Debug)]
pub(super) struct GroupNames {
    known: Vec<String>,
    is_complete: bool,
}

impl GroupNames {
    pub(super) fn new() -> Self {
        Self { known: Vec::new(), is_complete: true }
    }

    /// Reads a group's name, which must be another one than those before it; empty if there is none.
    pub(super) fn read(&mut self, fields: &Fields<'_>, scene: &Scene<'_>) -> String {
        let name = fields.text("name").and_then(|name| words::name(&name, "name", scene.problems));
        let Some(name) = name else {
            self.is_complete = false;
            return String::new();
        };
        if self.known.iter().any(|other| other == name) {
            let problem = Problem::error(fields.span_of("name"), format!("a group `{name}` is already there"));
            scene.report(problem.label("second of this name").hint("client ids are made of the name: give each group its own"));
        }
        self.known.push(name.to_owned());
        name.to_owned()
    }

    /// All names; `None`: one could not be read, so no group can be called unknown.
    pub(super) fn all(&self) -> Option<&[String]> {
        self.is_complete.then_some(&self.known)
    }
}
