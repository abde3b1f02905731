//! What a comparison will do and for how long, before anything is started. Makes text, prints nothing.

use std::time::Duration;

use crate::analyze::compare::runs_needed;
use crate::plan::vary::Cell;
use crate::run::compare::{Manifest, Pace, Role, load_of, time_words};

/// Main figures that most plans have.
const MAIN_FIGURES: f64 = 15.0;

/// The text, with a line end.
pub(super) fn text(manifest: &Manifest, cells: &[Cell]) -> String {
    let loads: Vec<Duration> = cells.iter().map(|cell| load_of(&cell.checked.plan)).collect();
    let all = Pace::new(manifest.one_cluster).expects(manifest.runs.iter().map(|run| loads[run.cell]), true);
    let controls = match manifest.runs.iter().filter(|run| run.role == Role::Control).count() {
        0 => String::new(),
        controls => format!(" and {controls} controls"),
    };
    let mut lines = vec![
        format!(
            "{}: {} {} x {} runs{controls} are {} runs, about {}",
            manifest.plan,
            cells.len(),
            if cells.len() == 1 { "cell" } else { "cells" },
            manifest.repeats,
            manifest.runs.len(),
            time_words(all)
        ),
        match manifest.one_cluster {
            true => "All runs use one cluster, which is made whole between them; each has fresh topics.".to_owned(),
            false => "Each run starts a cluster of its own: cells differ in theirs, or brokers join it.".to_owned(),
        },
        String::new(),
        "Cells, the first of them the baseline".to_owned(),
    ];
    for (cell, load) in cells.iter().zip(&loads) {
        let settings: Vec<String> = cell.settings.iter().map(|setting| format!("{} = {}", setting.path, setting.value)).collect();
        let settings = if settings.is_empty() { "as the plan says".to_owned() } else { settings.join(", ") };
        lines.push(format!("  {}  {settings}; load for about {}", name_of(&cell.name), time_words(*load)));
    }
    lines.extend([String::new(), format!("Order, by seed {}", manifest.seed)]);
    for block in manifest.runs.chunk_by(|before, after| before.role == after.role) {
        let role = match block[0].role {
            Role::Control => "control".to_owned(),
            Role::Round(round) => format!("round {round}"),
        };
        let names: Vec<&str> = block.iter().map(|run| name_of(&cells[run.cell].name)).collect();
        lines.push(format!("  {role:<9} {}", names.join("  ")));
    }
    lines.extend(advice(manifest.repeats, cells.len()));
    lines.join("\n") + "\n"
}

/// What so few runs cannot show; `None`: they are enough, or nothing is held against anything.
fn advice(repeats: u32, cells: usize) -> Option<String> {
    let pairs = cells.checked_sub(1).filter(|pairs| *pairs > 0)?;
    let questions = 2.0 * MAIN_FIGURES * f64::from(u32::try_from(pairs).unwrap_or(u32::MAX));
    let needed = runs_needed(questions, pairs);
    let is_few = usize::try_from(repeats).is_ok_and(|repeats| repeats < needed);
    let text = format!(
        "\nWith {repeats} runs of each cell only gross differences show: one of two standard deviations takes about {needed} (docs/compare.md)."
    );
    is_few.then_some(text)
}

/// A cell without a name is the plan itself.
fn name_of(name: &str) -> &str {
    if name.is_empty() { "the plan" } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, vary};
    use crate::run::compare::Design;

    const PLAN: &str = "name = \"p\"\n[[topic]]\nname = \"a\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"g\"\ntopics = [\"a\"]\nrate = \"1/s\"\n";

    fn text_of(changes: &[vary::Change]) -> String {
        let (plan, cells) = (plan::parse("p.toml", PLAN).unwrap().plan, vary::cells("p.toml", PLAN, changes).unwrap());
        text(&Manifest::new(Design { plan: &plan, changes, repeats: 2, seed: Some(3) }, &cells), &cells)
    }

    #[test]
    fn cells_order_and_time_are_told() {
        let changes = [vary::Change::Vary("topic.a.partitions=1,2".into()), vary::Change::Along("phases.recovery=30s,90s".into())];
        let text = text_of(&changes);
        let lines: Vec<&str> = text.lines().collect();
        let head = [
            "p: 2 cells x 2 runs and 2 controls are 6 runs, about 7 min",
            "All runs use one cluster, which is made whole between them; each has fresh topics.",
            "",
            "Cells, the first of them the baseline",
            "  1  topic.a.partitions = 1, phases.recovery = 30s; load for about 45 s",
            "  2  topic.a.partitions = 2, phases.recovery = 90s; load for about 2 min",
            "",
            "Order, by seed 3",
            "  control   1",
        ];
        assert_eq!(lines[..9], head);
        for (line, round) in lines[9..11].iter().zip(["  round 1   ", "  round 2   "]) {
            assert!(["1  2", "2  1"].contains(&line.strip_prefix(round).unwrap()), "{line}");
        }
        assert_eq!(lines[11..13], ["  control   1", ""]);
        assert!(lines[13].starts_with("With 2 runs of each cell only gross differences show: one of two standard deviations takes about "));
    }

    #[test]
    fn a_plan_that_does_not_vary_is_run_again_and_again() {
        let text = text_of(&[]);
        assert!(text.starts_with("p: 1 cell x 2 runs are 2 runs, about 2 min\n"), "{text}");
        assert!(
            text.ends_with(
                "\n  the plan  as the plan says; load for about 45 s\n\nOrder, by seed 3\n  round 1   the plan\n  round 2   the plan\n"
            ),
            "{text}"
        );
    }
}
