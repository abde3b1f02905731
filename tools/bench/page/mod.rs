//! The page of results: `README.md` and its pictures, made from the files beside it and from nothing else.

mod bars;
mod many;
mod micro;
mod producers;
mod snapshot;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use kafka_chaos::digits::grouped;
use serde::de::DeserializeOwned;

use crate::about::About;
use crate::stats::Spread;

use bars::Bar;

/// A section of the page, and what it has to say to the bars.
#[derive(Default)]
struct Section {
    text: String,
    bars: Vec<Bar>,
}

/// Makes it.
pub(crate) fn write(folder: &Path) -> anyhow::Result<()> {
    let about = About::read(folder)?;
    let sections = [producers::section(folder)?, many::section(folder, &about)?, snapshot::section(folder)?, micro::section(folder)?];
    let mut page = head(&about);
    page.push_str(&bars::table(sections.iter().flat_map(|section| &section.bars)));
    for section in &sections {
        page.push_str(&section.text);
    }
    fs::write(folder.join("README.md"), page)?;
    Ok(())
}

fn head(about: &About) -> String {
    let memory = about.memory_bytes.map_or_else(|| "unknown".to_owned(), |bytes| format!("{:.0} GiB", bytes as f64 / 1_073_741_824.0));
    format!(
        "# Benchmarks\n\nMade by `{}`, begun {}, commit {}. {}, {} cores, {memory} of memory, {}, {}. Brokers and clients share the \
         machine.\nWhat is measured and how: [docs/benchmarks.md](../../docs/benchmarks.md). Figures are medians, with the range in parentheses.\n\n",
        about.command, about.began_at, about.commit, about.processor, about.cores, about.kernel, about.rustc
    )
}

/// The rows of a file; `None` if there is none.
fn rows<T: DeserializeOwned>(folder: &Path, file: &str) -> anyhow::Result<Option<Vec<T>>> {
    let path = folder.join(file);
    if !path.exists() {
        return Ok(None);
    }
    let rows = csv::Reader::from_path(&path)?.into_deserialize().collect::<Result<Vec<T>, _>>();
    Ok(Some(rows.with_context(|| format!("cannot read {}", path.display()))?))
}

/// A table in Markdown; the first column is text, the others are figures.
fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|---|{}\n", columns.join(" | "), "--:|".repeat(columns.len().saturating_sub(1)));
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text.push('\n');
    text
}

/// `median (min to max)`, each by `show`.
fn ranged(spread: Option<Spread>, show: impl Fn(f64) -> String) -> String {
    spread.map_or_else(|| "unknown".to_owned(), |spread| format!("{} ({} to {})", show(spread.median), show(spread.min), show(spread.max)))
}

/// Three significant digits, thousands apart; whole numbers below a thousand as they are.
fn three_digits(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e3 {
        return format!("{value:.0}");
    }
    let magnitude = if value > 0.0 { value.log10().floor() as i32 } else { 0 };
    let decimals = usize::try_from((2 - magnitude).clamp(0, 4)).unwrap_or(0);
    if magnitude < 3 {
        return format!("{value:.decimals$}");
    }
    let step = 10_f64.powi(magnitude - 2);
    grouped(((value / step).round() * step) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let rows = [
            (0.0, "0"),
            (3.0, "3"),
            (0.012_34, "0.0123"),
            (0.7, "0.700"),
            (12.345, "12.3"),
            (999.4, "999"),
            (57_126.5, "57,100"),
            (1_234_567.0, "1,230,000"),
        ];
        for (value, text) in rows {
            assert_eq!(three_digits(value), text);
        }
    }

    #[test]
    fn a_page_says_what_was_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path()).unwrap_err().to_string().contains("bench about"));
        About::now("make bench").unwrap().write(folder.path()).unwrap();
        write(folder.path()).unwrap();
        let page = fs::read_to_string(folder.path().join("README.md")).unwrap();
        let bars = page.lines().filter(|line| line.ends_with("| - | not measured |")).count();
        assert_eq!(bars, 9, "every bar is shown:\n{page}");
        assert!(!page.contains("| met |"), "{page}");
    }
}
