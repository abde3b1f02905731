//! The pages: `README.md` with what was found, and `details.md` with every figure behind it. Pure: tables in, Markdown out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;

use crate::judge::{Comparison, Counts, Range, Verdict};
use crate::rows::{Metric, RunRow, Store};
use crate::variant::{CLIENTS, OURS, REFERENCE};

/// A remark by a person: why something differs. From `notes.csv`, shown where plan and metric fit; an empty cell fits all.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct Note {
    plan: String,
    metric: Option<Metric>,
    note: String,
}

/// Metrics of one column of the summary.
const COLUMNS: [(&str, &[Metric]); 4] = [
    ("Metadata requests", &[Metric::MetadataRequests]),
    ("outages", &[Metric::OutageLongest, Metric::OutageMean]),
    ("failed, indeterminate", &[Metric::Failed, Metric::Indeterminate]),
    ("first use", &[Metric::FirstUseAfterRefresh]),
];

/// What the pages are made from.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Runs and figures.
    pub(crate) store: &'a Store,
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
        page += &self.conditions();
        page += "\n## Ours against Java\n\n";
        page += "*within*: ours differs from Java no more than Java's own producers do from each other; else how many comparisons do. *–*: nothing of the kind in this plan.\n\n";
        page += &self.overview();
        page += &self.outside();
        page += "\n## Metadata requests per producer, by the brokers' count\n\n";
        page += &self.clients_table(|comparison| comparison.subject.metric == Metric::MetadataRequests);
        page += "\n## Longest outage per producer, ms, by step\n\nOnly steps that stalled anybody.\n\n";
        page += &self.clients_table(|comparison| comparison.subject.metric == Metric::OutageLongest && is_ever_above_zero(comparison));
        page += "\n## Failed and indeterminate records per producer\n\nOnly where there were any.\n\n";
        let is_bad = |metric| matches!(metric, Metric::Failed | Metric::Indeterminate);
        page += &self.clients_table(|comparison| is_bad(comparison.subject.metric) && is_ever_above_zero(comparison));
        page += "\n## First use of a new partition, ms after it was there\n\n";
        page += &self.clients_table(|comparison| matches!(comparison.subject.metric, Metric::FirstUse | Metric::FirstUseAfterRefresh));
        page += "\n## Both counts of Metadata requests\n\n";
        page += "The client's own against the brokers': equal where no node is taken away, else brokers ≤ own ≤ brokers + cut off.\n\n";
        page += &self.identities();
        page += &self.remarks();
        page
    }

    /// `details.md`.
    pub(crate) fn details(&self) -> String {
        let mut page = String::from(
            "# Conformance: every figure\n\nMade by `make conformance`, not by hand. A cell is median (least–greatest) over producers and runs. ",
        );
        page += "*ours − Java* and *Java − Java* are differences within the same run, *spread* is what Java's values differ from their median in the same run.\n";
        let plans: BTreeSet<&str> = self.comparisons.iter().map(|comparison| comparison.subject.plan.as_str()).collect();
        for plan in plans {
            let _ = write!(page, "\n## {plan}\n\n| Kafka | group | metric | step |");
            CLIENTS.iter().for_each(|client| page.push_str(&format!(" {} |", client.name)));
            page += " ours − Java | java-b − java | spread | |\n|---|---|---|---|";
            page += &"---:|".repeat(CLIENTS.len() + 3);
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
             outside, {unknown} unknown. Our count of Metadata requests agrees with the brokers' in {good} of {} runs.**\n\n",
            within + outside + unknown,
            good + bad,
        )
    }

    fn conditions(&self) -> String {
        let all = |of: fn(&RunRow) -> &str| {
            let values: BTreeSet<&str> = self.store.runs.iter().map(of).collect();
            values.into_iter().collect::<Vec<_>>().join("; ")
        };
        let dates: BTreeSet<&str> = self.store.runs.iter().filter_map(|run| run.started_at.get(..10)).collect();
        let span = match (dates.first(), dates.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(first), _) => (*first).to_owned(),
            _ => "no runs".to_owned(),
        };
        format!(
            "* {} runs, {span}; Kafka {}; used are those whose load generator was late by {} ms at most (p99 in the baseline)\n* {}\n* chaos \
             {}; {}\n",
            self.store.runs.len(),
            all(|run| &run.kafka),
            self.store.late_ms_max,
            all(|run| &run.machine),
            all(|run| &run.build),
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
            let used = runs.iter().filter(|run| run.unused(self.store.late_ms_max).is_none()).count();
            let attempts: u32 = runs.iter().map(|run| run.attempts).sum();
            let _ = write!(page, "| {plan} | {kafka} | {used} of {attempts} |");
            for (_, metrics) in COLUMNS {
                let cell = if used == 0 { "unknown".to_owned() } else { self.column(plan, kafka, metrics) };
                let _ = write!(page, " {cell} |");
            }
            let _ = writeln!(page, " {} | {} |", self.agreement(plan, kafka), self.notes_of(plan));
        }
        page
    }

    fn column(&self, plan: &str, kafka: &str, metrics: &[Metric]) -> String {
        let here = self.comparisons.iter().filter(|comparison| {
            let subject = &comparison.subject;
            subject.plan == plan && subject.kafka == kafka && metrics.contains(&subject.metric)
        });
        let (mut all, mut outside, mut unknown) = (0, 0, 0);
        for comparison in here {
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
            not => format!("not in {not} of {} runs", agree.len()),
        }
    }

    fn notes_of(&self, plan: &str) -> String {
        let here = self.notes.iter().filter(|note| note.plan == plan);
        here.map(|note| note.note.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn outside(&self) -> String {
        let outside: Vec<&Comparison> = self.comparisons.iter().filter(|comparison| is_outside(comparison.verdict)).collect();
        if outside.is_empty() {
            return String::new();
        }
        let mut page = String::from("\n### Outside\n\n| plan | Kafka | group | what | ours | Java | ours − Java | Java's spread | why |\n");
        page += "|---|---|---|---|---:|---:|---:|---:|---|\n";
        for comparison in outside {
            let subject = &comparison.subject;
            let client = |name: &str| range(comparison.clients.get(name).copied());
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                subject.plan,
                subject.kafka,
                subject.group,
                what(comparison),
                client(OURS),
                client(REFERENCE),
                range(comparison.ours),
                spread(comparison),
                self.why(comparison),
            );
        }
        page
    }

    fn why(&self, comparison: &Comparison) -> String {
        let subject = &comparison.subject;
        let fits = |note: &&Note| (note.plan.is_empty() || note.plan == subject.plan) && note.metric == Some(subject.metric);
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
        let mut page = String::from("| client | runs | agree | do not | cannot be said |\n|---|---:|---:|---:|---:|\n");
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
        let bad: Vec<&Counts> = self.counts.iter().filter(|counts| counts.agree == Some(false)).collect();
        for counts in bad {
            let cut_off = counts.cut_off.map_or("unknown".to_owned(), |cut_off| cut_off.to_string());
            let own = counts.own.map_or("unknown".to_owned(), |own| own.to_string());
            let place = format!("{} on {}, run {}", counts.plan, counts.kafka, counts.repeat);
            let _ = write!(page, "\n* {place}: {} counts {own}, of which {cut_off} cut off; brokers {}", counts.client, counts.brokers);
        }
        if page.contains("\n* ") {
            page.push('\n');
        }
        page
    }

    fn remarks(&self) -> String {
        let mut lines = BTreeSet::new();
        for run in &self.store.runs {
            let place = format!("{} on {}, run {}", run.plan, run.kafka, run.repeat);
            if let Some(why) = run.unused(self.store.late_ms_max) {
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
    let verdict = match comparison.verdict {
        Verdict::Within => "within",
        Verdict::Below => "below",
        Verdict::Above => "above",
        Verdict::Unknown => "unknown",
        Verdict::NotJudged => "only shown",
    };
    format!(
        "| {} | {} | {} | {} |{clients} {} | {} | {} | {verdict} |\n",
        subject.kafka,
        subject.group,
        subject.metric.words(),
        subject.step,
        range(comparison.ours),
        range(comparison.control),
        spread(comparison),
    )
}

fn what(comparison: &Comparison) -> String {
    let subject = &comparison.subject;
    if subject.step.is_empty() { subject.metric.words().to_owned() } else { format!("{}: {}", subject.step, subject.metric.words()) }
}

fn is_ever_above_zero(comparison: &Comparison) -> bool {
    comparison.clients.values().any(|range| range.max > 0.0)
}

fn is_outside(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Below | Verdict::Above)
}

fn range(range: Option<Range>) -> String {
    match range {
        None => "unknown".to_owned(),
        Some(Range { median, min, max, .. }) if min == max => number(median),
        Some(Range { median, min, max, .. }) => format!("{} ({}–{})", number(median), number(min), number(max)),
    }
}

fn spread(comparison: &Comparison) -> String {
    comparison.spread.map_or("unknown".to_owned(), |spread| format!("±{}", number(spread)))
}

fn number(number: f64) -> String {
    match number {
        number if number == f64::INFINITY => "never".to_owned(),
        number if number == f64::NEG_INFINITY => "−never".to_owned(),
        number if number < 0.0 => format!("−{}", -number),
        number => format!("{number}"),
    }
}

#[cfg(test)]
mod tests;
