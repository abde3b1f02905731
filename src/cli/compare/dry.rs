//! What a comparison will do and for how long, before anything is started. Makes text, prints nothing.

use std::time::Duration;

use crate::analyze::compare::runs_needed;
use crate::plan::vary::Cell;
use crate::run::compare::{Manifest, Pace, Role, RunEntry, State, load_of, time_words};

/// Main figures that most plans have.
const MAIN_FIGURES: f64 = 15.0;

/// The text, with a line end. `states` are those of the runs that are there, empty if it was not begun; `again`: those that cannot be used are
/// made anew.
pub(super) fn text(manifest: &Manifest, cells: &[Cell], states: &[State], again: bool) -> String {
    let loads: Vec<Duration> = cells.iter().map(|cell| load_of(&cell.checked.plan)).collect();
    let is_left = |run: &RunEntry| states.get(place(run)).is_none_or(|state| state.is_missing(again));
    let left: Vec<Duration> = manifest.runs.iter().filter(|run| is_left(run)).map(|run| loads[run.cell]).collect();
    let time = if left.is_empty() { Duration::ZERO } else { Pace::new(manifest.one_cluster).expects(left.iter().copied(), true) };
    let controls = match manifest.runs.iter().filter(|run| run.role == Role::Control).count() {
        0 => String::new(),
        controls => format!(" and {controls} controls"),
    };
    let mut lines = vec![
        format!(
            "{}: {} {} x {} runs{controls} are {} runs{}, about {}",
            manifest.plan,
            cells.len(),
            if cells.len() == 1 { "cell" } else { "cells" },
            manifest.repeats,
            manifest.runs.len(),
            there(states, left.len(), again),
            time_words(time)
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
    let in_brackets = if left.len() < manifest.runs.len() { "; in brackets what is there" } else { "" };
    lines.extend([String::new(), format!("Order, by seed {}{in_brackets}", manifest.seed)]);
    for block in manifest.runs.chunk_by(|before, after| before.role == after.role) {
        let role = match block[0].role {
            Role::Control => "control".to_owned(),
            Role::Round(round) => format!("round {round}"),
        };
        let name = |run: &RunEntry| name_of(&cells[run.cell].name).to_owned();
        let names: Vec<String> = block.iter().map(|run| if is_left(run) { name(run) } else { format!("[{}]", name(run)) }).collect();
        lines.push(format!("  {role:<9} {}", names.join("  ")));
    }
    lines.extend(advice(manifest.repeats, cells.len()));
    lines.join("\n") + "\n"
}

/// A run's place among all of them, from 0.
fn place(run: &RunEntry) -> usize {
    usize::try_from(run.number).map_or(usize::MAX, |number| number.saturating_sub(1))
}

/// `; 4 are there, 2 are left`: what was begun. Empty: nothing was.
fn there(states: &[State], left: usize, again: bool) -> String {
    let count = |is_it: fn(&State) -> bool| states.iter().filter(|state| is_it(state)).count();
    if count(|state| *state == State::Missing) == states.len() {
        return String::new();
    }
    let mut text = format!("; {} are there, {left} are left", states.len() - left);
    let (broken, unusable) = (count(|state| *state == State::Broken), count(|state| matches!(state, State::Unusable(_))));
    if broken > 0 {
        text.push_str(&format!(", of which {broken} did not end the last time"));
    }
    if unusable > 0 {
        let what = if again { "and are made anew" } else { "(--again makes them anew)" };
        text.push_str(&format!("; {unusable} cannot be used {what}"));
    }
    text
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
    use crate::analyze::findings::Verdict;
    use crate::plan::{self, vary};
    use crate::run::compare::Design;

    const PLAN: &str = "name = \"p\"\n[[topic]]\nname = \"a\"\npartitions = 1\nreplication = 1\n[[producers]]\nname = \"g\"\ntopics = [\"a\"]\nrate = \"1/s\"\n";

    fn text_of(changes: &[vary::Change]) -> String {
        text_with(changes, &[], false)
    }

    fn text_with(changes: &[vary::Change], states: &[State], again: bool) -> String {
        let (plan, cells) = (plan::parse("p.toml", PLAN).unwrap().plan, vary::cells("p.toml", PLAN, changes).unwrap());
        text(&Manifest::new(Design { plan: &plan, changes, repeats: 2, seed: Some(3) }, &cells), &cells, states, again)
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
    fn of_a_comparison_that_was_begun_it_tells_what_is_left() {
        let (done, unusable) = (State::Finished(Verdict::Pass), State::Unusable(Verdict::Unknown));
        let changes = [vary::Change::Vary("topic.a.partitions=1,2".into())];
        let states = [done, unusable, done, State::Broken, State::Missing, State::Missing];
        let text = text_with(&changes, &states, false);
        let expected =
            "; 3 are there, 3 are left, of which 1 did not end the last time; 1 cannot be used (--again makes them anew), about 3 min";
        assert!(text.lines().next().unwrap().ends_with(expected), "{text}");
        assert!(text.contains("Order, by seed 3; in brackets what is there\n  control   [1]\n"), "{text}");
        let rounds: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  round ")).collect();
        assert!(rounds[0].matches('[').count() == 2 && rounds[1].matches('[').count() == 0, "{text}");
        let text = text_with(&changes, &states, true);
        assert!(
            text.lines().next().unwrap().contains("; 2 are there, 4 are left, ") && text.contains("; 1 cannot be used and are made anew"),
            "{text}"
        );
        let text = text_with(&changes, &[done; 6], false);
        assert!(text.lines().next().unwrap().ends_with("; 6 are there, 0 are left, about 0 s"), "{text}");
        assert_eq!(text_with(&changes, &[State::Missing; 6], false), text_of(&changes));
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
