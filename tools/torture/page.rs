//! The page of a torture: every round as a table, in Markdown and as CSV.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::Context as _;

use crate::rounds::Outcome;

/// What the rounds were made with.
#[derive(Debug)]
pub(crate) struct About<'a> {
    pub(crate) seed: u64,
    pub(crate) kafka: &'a str,
}

/// Writes `README.md` and `rounds.csv`.
///
/// # Errors
/// They cannot be written.
pub(crate) fn write(out: &Path, about: &About<'_>, outcomes: &[Outcome]) -> anyhow::Result<()> {
    let context = || format!("cannot write to {}", out.display());
    std::fs::create_dir_all(out).with_context(context)?;
    std::fs::write(out.join("README.md"), page(about, outcomes)).with_context(context)?;
    let mut rows = csv::Writer::from_path(out.join("rounds.csv")).with_context(context)?;
    outcomes.iter().try_for_each(|outcome| rows.serialize(outcome)).with_context(context)?;
    rows.flush().with_context(context)
}

fn page(about: &About<'_>, outcomes: &[Outcome]) -> String {
    let survived = outcomes.iter().filter(|outcome| outcome.problems.is_empty()).count();
    let (rounds, facts) = (outcomes.len(), outcomes.iter().map(|outcome| outcome.facts).sum::<usize>());
    let mut text = format!(
        "# What `chaos` survives\n\n\
         {survived} of {rounds} rounds were survived. Made by\n\n\
         ```console\n$ make torture\n```\n\n\
         on Kafka {}, with seed {}. In each round one `chaos run` or `chaos compare` on real brokers is hit once, at a moment that is drawn from the\n\
         seed. Afterwards `facts.jsonl` must hold every byte that was in it while the run went ({facts} facts in all; of a comparison's runs: at the\n\
         blow), `run.json` must be whole, exit code and verdict must be what the blow allows, and so must the reasons of a verdict that is no PASS;\n\
         `chaos report` must tell the same as the files of a complete run, and read those of any other; `chaos clean` must leave nothing of ours,\n\
         and a container, a network and a volume that are somebody else's must be as they were. What may be expected in each case is in\n\
         [docs/surviving.md](../../docs/surviving.md).\n\n\
         ## By what was done\n\n| blow | rounds | survived | exit codes | verdicts |\n|---|---|---|---|---|\n",
        about.kafka, about.seed
    );
    let mut blows: BTreeMap<&str, Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        blows.entry(outcome.blow).or_default().push(outcome);
    }
    for (blow, of_blow) in blows {
        let survived = of_blow.iter().filter(|outcome| outcome.problems.is_empty()).count();
        let (codes, verdicts) = (counted(of_blow.iter().map(|one| &*one.ended)), counted(of_blow.iter().map(|one| &*one.verdict)));
        // A string takes whatever is written.
        let _ = writeln!(text, "| {blow} | {} | {survived} | {codes} | {verdicts} |", of_blow.len());
    }
    text.push_str("\n## Every round\n\n");
    text.push_str(&table(outcomes));
    text.push_str(
        "\n*left to clean*: containers, networks and volumes that `chaos clean` found and removed; only SIGKILL leaves any. The verdict is that \
         of `run.json`,\nor of the last run of a comparison; *none*: there is none yet, for the load had not begun.\n",
    );
    text
}

/// Values with their numbers: `0 (3), 130 (2)`.
fn counted<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_iter().map(|(value, count)| format!("{value} ({count})")).collect::<Vec<_>>().join(", ")
}

/// Every round as a row.
fn table(outcomes: &[Outcome]) -> String {
    let mut text = "| round | command | blow | when | ended with | verdict | facts | left to clean | outcome |\n|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for one in outcomes {
        let outcome =
            if one.problems.is_empty() { "survived".to_owned() } else { one.problems.join("; ").replace('\n', " ").replace('|', "/") };
        let when = format!("{}, {} ms after", one.moment, one.after_ms);
        let (round, command, blow, ended) = (one.round, one.command, one.blow, &one.ended);
        // Every reason is in the other file.
        let verdict = one
            .reasons
            .first()
            .filter(|_| one.verdict == "UNKNOWN")
            .map_or_else(|| one.verdict.clone(), |reason| format!("UNKNOWN: {}", reason.split(", the limit").next().unwrap_or(reason)));
        let _ =
            writeln!(text, "| {round} | {command} | {blow} | {when} | {ended} | {verdict} | {} | {} | {outcome} |", one.facts, one.cleaned);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(round: u32, problem: Option<&str>) -> Outcome {
        Outcome {
            round,
            command: "run, 1 node",
            blow: "SIGKILL",
            moment: "drain",
            after_ms: 7,
            ended: "SIGKILL".to_owned(),
            verdict: "none".to_owned(),
            reasons: Vec::new(),
            facts: 3,
            cleaned: 2,
            problems: problem.map(str::to_owned).into_iter().collect(),
        }
    }

    #[test]
    fn the_page_counts_what_was_survived_and_shows_every_round() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &About { seed: 5, kafka: "4.3.0" }, &[outcome(1, None), outcome(2, Some("a | b\nc"))]).unwrap();
        let page = std::fs::read_to_string(folder.path().join("README.md")).unwrap();
        assert!(page.contains("1 of 2 rounds were survived") && page.contains("with seed 5"), "{page}");
        assert!(page.contains("| SIGKILL | 2 | 1 | SIGKILL (2) | none (2) |"), "{page}");
        assert!(page.contains("| 2 | run, 1 node | SIGKILL | drain, 7 ms after | SIGKILL | none | 3 | 2 | a / b c |"), "{page}");
        assert_eq!(
            std::fs::read_to_string(folder.path().join("rounds.csv")).unwrap().lines().count(),
            4,
            "a header, and two rows, one of two lines"
        );
    }
}
