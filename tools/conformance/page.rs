//! The pages: `README.md` with what was found, and `details.md` with every figure behind it. Pure: tables in, Markdown out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
use serde::de::{Deserializer, Error as _};

use crate::judge::{Comparison, Counts, FAR_MAX, PAIRS_MIN, Said, Verdict};
use crate::rows::{Cell, Metric, RunRow, Store};
use crate::stats::Spread;
use crate::variant::{CLIENTS, CONTROL, OURS, REFERENCE};

/// A remark by a person: why something differs. From `notes.csv`, shown where something of this plan and one of these metrics is outside; one without
/// metrics, of the plan as a whole, stands in the overview.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Note {
    plan: String,
    #[serde(deserialize_with = "metrics_of_a_cell")]
    metrics: Vec<Metric>,
    note: String,
}

/// Metrics of one column of the summary.
const COLUMNS: [(&str, &[Metric]); 4] = [
    ("Metadata requests", &[Metric::MetadataRequests]),
    ("outages", &[Metric::OutageLongest, Metric::OutageMean, Metric::PartitionsStalled]),
    ("failed, indeterminate", &[Metric::Failed, Metric::Indeterminate]),
    ("first use", &[Metric::FirstUseAfterRefresh]),
];

/// Lines of one list of exceptions; the rest is counted.
const LINES_MAX: usize = 30;

/// What the pages are made from.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Runs and figures.
    pub(crate) store: &'a Store,
    /// Runs that were asked for, whether the tables hold them or not.
    pub(crate) asked: &'a [Cell],
    /// What was compared.
    pub(crate) comparisons: &'a [Comparison],
    /// The counts.
    pub(crate) counts: &'a [Counts],
    /// Remarks.
    pub(crate) notes: &'a [Note],
}

impl Found<'_> {
    /// `README.md`.
    pub(crate) fn summary(&self) -> String {
        let mut page = String::from(
            "# Conformance\n\nMade by `make conformance`, not by hand. How it is measured: [docs/conformance.md](../../docs/conformance.md). ",
        );
        page += "Every figure: [details.md](details.md).\n\n";
        page += &self.outcome();
        page += &self.missing();
        page += &self.conditions();
        page += "\n## Ours against Java\n\n";
        page += &rule();
        page += &self.overview();
        page += &self.outside();
        page += "\n## Metadata requests per producer, by the brokers' count\n\n";
        page += &self.clients_table(|comparison| comparison.subject.metric == Metric::MetadataRequests);
        page += "\n## Longest outage per producer, ms, by step\n\nOnly steps that stalled anybody.\n\n";
        page += &self.clients_table(|comparison| comparison.subject.metric == Metric::OutageLongest && is_ever_above_zero(comparison));
        page += "\n## Partitions stalled per producer, % of those in use, by step\n\nOnly steps that stalled anybody.\n\n";
        page += &self.clients_table(|comparison| comparison.subject.metric == Metric::PartitionsStalled && is_ever_above_zero(comparison));
        page += "\n## Failed and indeterminate records per producer\n\nOnly where there were any.\n\n";
        let is_bad = |metric| matches!(metric, Metric::Failed | Metric::Indeterminate);
        page += &self.clients_table(|comparison| is_bad(comparison.subject.metric) && is_ever_above_zero(comparison));
        page += "\n## First use of a new partition, ms after it was there\n\n";
        page += &self.clients_table(|comparison| matches!(comparison.subject.metric, Metric::FirstUse | Metric::FirstUseAfterRefresh));
        page += "\n## Both counts of Metadata requests\n\n";
        page += "Each producer's own in each run against the brokers': equal where no node is taken away, else brokers ≤ own ≤ brokers + cut off.\n\n";
        page += &self.identities();
        page += &self.remarks();
        page
    }

    /// `details.md`.
    pub(crate) fn details(&self) -> String {
        let mut page = String::from(
            "# Conformance: every figure\n\nMade by `make conformance`, not by hand. A cell is median (least–greatest) over producers and runs. ",
        );
        page += "*had a value*: producers of ours and of both Java groups that had one, over all runs; and to how many it never happened. *ours − Java* and \
                 *java-b − java* are differences within the same run; *far* and *spread* are what 95 % of pairs of the same run differ by at most: of ours \
                 with Java's, and of Java's with each other.\n";
        let plans: BTreeSet<&str> = self.comparisons.iter().map(|comparison| comparison.subject.plan.as_str()).collect();
        for plan in plans {
            let _ = write!(page, "\n## {plan}\n\n| Kafka | group | metric | step |");
            CLIENTS.iter().for_each(|client| page.push_str(&format!(" {} |", client.name)));
            page += " had a value | ours − Java | java-b − java | far | spread | |\n|---|---|---|---|";
            page += &"---:|".repeat(CLIENTS.len() + 5);
            page += "---|\n";
            for comparison in self.comparisons.iter().filter(|comparison| comparison.subject.plan == plan) {
                page += &detail(comparison);
            }
        }
        page
    }

    fn outcome(&self) -> String {
        let count = |wanted: fn(Verdict) -> bool| self.comparisons.iter().filter(|comparison| wanted(comparison.verdict)).count();
        let outside = count(is_outside);
        let unknown = count(|verdict| verdict == Verdict::Unknown);
        let within = count(|verdict| verdict == Verdict::Within);
        let idle =
            self.comparisons.iter().filter(|comparison| comparison.verdict == Verdict::Within && !is_ever_above_zero(comparison)).count();
        let of_ours = self.counts.iter().filter(|counts| counts.client == OURS);
        let (good, bad) = of_ours.fold((0, 0), |(good, bad), counts| match counts.agree {
            Some(true) => (good + 1, bad),
            _ => (good, bad + 1),
        });
        format!(
            "**Of {} comparisons with Java, {within} are within Java's own spread (in {idle} of them nothing happened to any client), {outside} \
             outside, {unknown} unknown. Our count of Metadata requests agrees with the brokers' for {good} of {} producers.**\n\n",
            within + outside + unknown,
            good + bad,
        )
    }

    /// What was asked for and is not there, or not of the newest build.
    fn missing(&self) -> String {
        let mut lines: Vec<String> = self.store.missing(self.asked).into_iter().map(place).collect();
        let old = self.store.runs.iter().filter(|run| Some(run.build.as_str()) != self.store.newest_build());
        lines.extend(old.map(|run| format!("{}: only with an older build, chaos {}, and not used", place(&run.cell()), run.build)));
        if lines.is_empty() {
            return String::new();
        }
        format!("**Not measured: {} runs.**\n\n{}\n", lines.len(), list(&lines))
    }

    fn conditions(&self) -> String {
        let newest = || self.store.runs.iter().filter(|run| Some(run.build.as_str()) == self.store.newest_build());
        let all = |of: fn(&RunRow) -> &str| {
            let values: BTreeSet<&str> = newest().map(of).collect();
            values.into_iter().collect::<Vec<_>>().join("; ")
        };
        let dates: BTreeSet<&str> = newest().filter_map(|run| run.started_at.get(..10)).collect();
        let span = match (dates.first(), dates.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(first), _) => (*first).to_owned(),
            _ => "no runs".to_owned(),
        };
        format!(
            "* {} runs, {span}; Kafka {}; used are those whose load generator was late by {} ms at most (p99 in the baseline)\n* {}\n* chaos \
             {}, commits {}; {}\n",
            newest().count(),
            all(|run| &run.kafka),
            self.store.late_ms_max,
            all(|run| &run.machine),
            all(|run| &run.build),
            all(|run| &run.commit),
            all(|run| &run.clients),
        )
    }

    fn overview(&self) -> String {
        let mut page = String::from("| plan | Kafka | runs used |");
        COLUMNS.iter().for_each(|(name, _)| page.push_str(&format!(" {name} |")));
        page += " counts agree | notes |\n|---|---|---:|---|---|---|---|---|---|\n";
        let cells: BTreeSet<(&str, &str)> = self.store.runs.iter().map(|run| (run.plan.as_str(), run.kafka.as_str())).collect();
        for (plan, kafka) in cells {
            let runs: Vec<&RunRow> = self.store.runs.iter().filter(|run| run.plan == plan && run.kafka == kafka).collect();
            let used = runs.iter().filter(|run| self.store.unused(run).is_none()).count();
            let attempts: u32 = runs.iter().map(|run| run.attempts).sum();
            let _ = write!(page, "| {plan} | {kafka} | {used} of {attempts} |");
            for (_, metrics) in COLUMNS {
                let cell = if used == 0 { "unknown".to_owned() } else { self.column(plan, kafka, metrics) };
                let _ = write!(page, " {cell} |");
            }
            let _ = writeln!(page, " {} | {} |", self.agreement(plan, kafka), self.notes_of(plan, kafka));
        }
        page
    }

    fn comparisons_of(&self, plan: &str, kafka: &str, metrics: &[Metric]) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(move |comparison| {
            let subject = &comparison.subject;
            subject.plan == plan && subject.kafka == kafka && metrics.contains(&subject.metric)
        })
    }

    fn column(&self, plan: &str, kafka: &str, metrics: &[Metric]) -> String {
        let (mut all, mut outside, mut unknown) = (0, 0, 0);
        for comparison in self.comparisons_of(plan, kafka, metrics) {
            all += 1;
            outside += u32::from(is_outside(comparison.verdict));
            unknown += u32::from(comparison.verdict == Verdict::Unknown);
        }
        match (all, outside, unknown) {
            (0, ..) => "–".to_owned(),
            (_, 0, 0) => "within".to_owned(),
            (_, 0, _) => format!("{unknown} of {all} unknown"),
            (_, _, 0) => format!("{outside} of {all} outside"),
            _ => format!("{outside} outside, {unknown} unknown, of {all}"),
        }
    }

    fn agreement(&self, plan: &str, kafka: &str) -> String {
        let ours = self.counts.iter().filter(|counts| counts.plan == plan && counts.kafka == kafka && counts.client == OURS);
        let agree: Vec<Option<bool>> = ours.map(|counts| counts.agree).collect();
        match agree.iter().filter(|agree| **agree != Some(true)).count() {
            _ if agree.is_empty() => "unknown".to_owned(),
            0 => "yes".to_owned(),
            not => format!("not for {not} of {} producers", agree.len()),
        }
    }

    /// What is to be said of a plan as a whole, and why something is outside there.
    fn notes_of(&self, plan: &str, kafka: &str) -> String {
        let explains = |note: &Note| self.comparisons_of(plan, kafka, &note.metrics).any(|comparison| is_outside(comparison.verdict));
        let here = self.notes.iter().filter(|note| note.plan == plan && (note.metrics.is_empty() || explains(note)));
        here.map(|note| note.note.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn outside(&self) -> String {
        let outside: Vec<&Comparison> = self.comparisons.iter().filter(|comparison| is_outside(comparison.verdict)).collect();
        if outside.is_empty() {
            return String::new();
        }
        let mut page =
            String::from("\n### Outside\n\n| plan | Kafka | group | what | ours | Java | ours − Java | far | Java's spread | | why |\n");
        page += "|---|---|---|---|---:|---:|---:|---:|---:|---|---|\n";
        for comparison in outside {
            let subject = &comparison.subject;
            let client = |name: &str| range(comparison.clients.get(name).copied());
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                subject.plan,
                subject.kafka,
                subject.group,
                what(comparison),
                client(OURS),
                client(REFERENCE),
                range(comparison.ours),
                bound(comparison.far),
                bound(comparison.spread),
                verdict(comparison),
                self.why(comparison),
            );
        }
        page
    }

    fn why(&self, comparison: &Comparison) -> String {
        let subject = &comparison.subject;
        let fits = |note: &&Note| note.plan == subject.plan && note.metrics.contains(&subject.metric);
        self.notes.iter().filter(fits).map(|note| note.note.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn clients_table(&self, wanted: impl Fn(&Comparison) -> bool) -> String {
        let mut page = String::from("| plan | group | Kafka | what |");
        CLIENTS.iter().for_each(|client| page.push_str(&format!(" {} |", client.name)));
        page += &format!("\n|---|---|---|---|{}\n", "---:|".repeat(CLIENTS.len()));
        let rows: Vec<&Comparison> = self.comparisons.iter().filter(|comparison| wanted(comparison)).collect();
        if rows.is_empty() {
            return "None.\n".to_owned();
        }
        for comparison in rows {
            let subject = &comparison.subject;
            let _ = write!(page, "| {} | {} | {} | {} |", subject.plan, subject.group, subject.kafka, what(comparison));
            CLIENTS.iter().for_each(|client| page.push_str(&format!(" {} |", range(comparison.clients.get(client.name).copied()))));
            page.push('\n');
        }
        page
    }

    fn identities(&self) -> String {
        let mut page = String::from("| client | producers | agree | do not | cannot be said |\n|---|---:|---:|---:|---:|\n");
        let mut clients: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
        for counts in self.counts {
            let place = match counts.agree {
                Some(true) => 0,
                Some(false) => 1,
                None => 2,
            };
            clients.entry(&counts.client).or_default()[place] += 1;
        }
        for (client, [agree, not, unknown]) in clients {
            let _ = writeln!(page, "| {client} | {} | {agree} | {not} | {unknown} |", agree + not + unknown);
        }
        let bad = self.counts.iter().filter(|counts| counts.agree == Some(false));
        let told = |count: Option<f64>| count.map_or("unknown".to_owned(), |count| count.to_string());
        let lines: Vec<String> = bad
            .map(|counts| {
                let Counts { plan, kafka, repeat, client, group, producer, brokers, .. } = counts;
                let (own, cut_off) = (told(counts.own), told(counts.cut_off));
                format!(
                    "{plan} on {kafka}, run {repeat}, {group}: producer {producer} of {client} counts {own}, of which {cut_off} cut off; brokers \
                     {brokers}"
                )
            })
            .collect();
        if lines.is_empty() { page } else { format!("{page}\n{}", list(&lines)) }
    }

    fn remarks(&self) -> String {
        let mut lines = BTreeSet::new();
        for run in &self.store.runs {
            let place = place(&run.cell());
            if let Some(why) = self.store.unused(run) {
                lines.insert(format!("* {place} is not used: {why}"));
            } else if run.verdict != "PASS" {
                lines.insert(format!("* {place}: {}: {}", run.verdict, run.reasons));
            }
            if !run.left_out.is_empty() {
                lines.insert(format!("* {}: {}", run.plan, run.left_out));
            }
        }
        if lines.is_empty() {
            return String::new();
        }
        format!("\n## Remarks on runs\n\n{}\n", lines.into_iter().collect::<Vec<_>>().join("\n"))
    }
}

fn detail(comparison: &Comparison) -> String {
    let subject = &comparison.subject;
    let clients: String = CLIENTS.iter().map(|client| format!(" {} |", range(comparison.clients.get(client.name).copied()))).collect();
    format!(
        "| {} | {} | {} | {} |{clients} {} | {} | {} | {} | {} | {} |\n",
        subject.kafka,
        subject.group,
        subject.metric.words(),
        subject.step,
        had_a_value(comparison),
        range(comparison.ours),
        range(comparison.control),
        bound(comparison.far),
        bound(comparison.spread),
        verdict(comparison),
    )
}

fn verdict(comparison: &Comparison) -> &'static str {
    match comparison.verdict {
        Verdict::Within => "within",
        Verdict::Below => "below",
        Verdict::Above => "above",
        Verdict::Scattered => "scattered",
        Verdict::Unknown => "unknown",
        Verdict::NotJudged => "only shown",
    }
}

/// Of ours, then of both Java groups.
fn had_a_value(comparison: &Comparison) -> String {
    let of = |client: &str| comparison.said.get(client).copied().unwrap_or_default();
    let text = |said: Said| {
        let nevers = if said.nevers == 0 { String::new() } else { format!(", {} never", said.nevers) };
        format!("{} of {}{nevers}", said.known(), said.known() + said.unknown)
    };
    format!("{}; {}", text(of(OURS)), text(of(REFERENCE).and(of(CONTROL))))
}

/// How it is judged.
fn rule() -> String {
    format!(
        "*within*: over all pairs of producers of the same run, ours differ from Java's in the median by no more than 95 % of Java's pairs differ by \
         (*spread*; of fewer than 20 pairs the greatest), and 95 % of ours by no more than {FAR_MAX} times that (*far*; else *scattered*); and the share \
         of producers to which it never happened differs from Java's by no more than those of the two Java groups differ. With fewer than {PAIRS_MIN} \
         pairs on a side it is *unknown*; *–*: nothing of the kind in this plan.\n\n"
    )
}

fn place(cell: &Cell) -> String {
    format!("{} on {}, run {}", cell.plan, cell.kafka, cell.repeat)
}

fn list(lines: &[String]) -> String {
    let mut text: String = lines.iter().take(LINES_MAX).map(|line| format!("* {line}\n")).collect();
    if lines.len() > LINES_MAX {
        let _ = writeln!(text, "* and {} more", lines.len() - LINES_MAX);
    }
    text
}

fn what(comparison: &Comparison) -> String {
    let subject = &comparison.subject;
    if subject.step.is_empty() { subject.metric.words().to_owned() } else { format!("{}: {}", subject.step, subject.metric.words()) }
}

fn is_ever_above_zero(comparison: &Comparison) -> bool {
    comparison.clients.values().any(|range| range.max > 0.0)
}

/// Metrics with spaces between.
fn metrics_of_a_cell<'de, D: Deserializer<'de>>(cell: D) -> Result<Vec<Metric>, D::Error> {
    let metric = |word| Metric::deserialize(StrDeserializer::<Error>::new(word)).map_err(D::Error::custom);
    String::deserialize(cell)?.split_whitespace().map(metric).collect()
}

fn is_outside(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Below | Verdict::Above | Verdict::Scattered)
}

fn range(range: Option<Spread>) -> String {
    match range {
        None => "unknown".to_owned(),
        Some(Spread { median, min, max, .. }) if min == max => number(median),
        Some(Spread { median, min, max, .. }) => format!("{} ({}–{})", number(median), number(min), number(max)),
    }
}

fn bound(bound: Option<f64>) -> String {
    bound.map_or("unknown".to_owned(), |bound| format!("±{}", number(bound)))
}

fn number(number: f64) -> String {
    match number {
        number if number == f64::INFINITY => "never".to_owned(),
        number if number < 0.0 => format!("−{}", -number),
        number => format!("{number}"),
    }
}

#[cfg(test)]
mod tests;
