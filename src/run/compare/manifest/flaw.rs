//! What makes a manifest none, though it reads as one: it was cut, edited, or put together by hand. Pure.
//!
//! Folders are made, read and set aside by what it says, so nothing of it may lead out of the comparison's folder.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::{Manifest, RunEntry};

/// The first flaw, in words; `None`: there is none.
pub(super) fn flaw(manifest: &Manifest) -> Option<String> {
    if manifest.cells.is_empty() {
        return Some("it has no cells".to_owned());
    }
    if manifest.runs.is_empty() {
        return Some("it has no runs".to_owned());
    }
    let of_run = |(place, run): (u32, &RunEntry)| {
        let RunEntry { number, cell, folder, .. } = run;
        if *number != place {
            return Some(format!("its run {place} is numbered {number}"));
        }
        if *cell >= manifest.cells.len() {
            return Some(format!("its run {place} is of cell {cell}, and it has {}, counted from 0", manifest.cells.len()));
        }
        if !is_plain(folder) {
            return Some(format!("the folder of its run {place}, `{folder}`, is no plain name"));
        }
        None
    };
    (1..).zip(&manifest.runs).find_map(of_run).or_else(|| twice(manifest))
}

/// A folder that two runs have.
fn twice(manifest: &Manifest) -> Option<String> {
    let mut folders = BTreeSet::new();
    let run = manifest.runs.iter().find(|run| !folders.insert(run.folder.as_str()))?;
    Some(format!("two of its runs have the folder `{}`", run.folder))
}

/// Whether a name is that of an entry of the folder that it is looked for in.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(only)), None) if only == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, vary};
    use crate::run::compare::Design;

    const PLAN: &str = "name = \"p\"\n[[topic]]\nname = \"a\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"g\"\ntopics = [\"a\"]\nrate = \"1/s\"\n";

    type Row = (fn(&mut Manifest), &'static str);

    #[test]
    fn a_manifest_that_leads_astray_is_none() {
        let plan = plan::parse("p.toml", PLAN).unwrap().plan;
        let cells = vary::cells("p.toml", PLAN, &[]).unwrap();
        let whole = Manifest::new(Design { plan: &plan, changes: &[], repeats: 3, seed: None }, &cells);
        assert_eq!(flaw(&whole), None);
        let rows: [Row; 8] = [
            (|manifest| manifest.cells.clear(), "it has no cells"),
            (|manifest| manifest.runs.clear(), "it has no runs"),
            (|manifest| drop(manifest.runs.remove(1)), "its run 2 is numbered 3"),
            (|manifest| manifest.runs[0].cell = 7, "its run 1 is of cell 7, and it has 1, counted from 0"),
            (
                |manifest| manifest.runs[1].folder = "../../precious".to_owned(),
                "the folder of its run 2, `../../precious`, is no plain name",
            ),
            (|manifest| manifest.runs[1].folder = "..".to_owned(), "the folder of its run 2, `..`, is no plain name"),
            (|manifest| manifest.runs[1].folder = String::new(), "the folder of its run 2, ``, is no plain name"),
            (|manifest| manifest.runs[1].folder = "001".to_owned(), "two of its runs have the folder `001`"),
        ];
        for (damage, expected) in rows {
            let mut damaged = whole.clone();
            damage(&mut damaged);
            assert_eq!(flaw(&damaged).as_deref(), Some(expected));
        }
    }
}
