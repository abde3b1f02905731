//! What the pages of results have in common: claims that are held against every run, ages and times in words, where it was measured.

pub(crate) mod max_age;
pub(crate) mod roll;

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::bail;

use crate::gather::Run;

/// What the pages do not show.
pub(crate) const CONTROLS: &str = "\
The controls of each comparison (its first setting once more, before the first round and after the last) show drift, and are in no figure of this page.";

/// Something that is claimed of every run.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) text: String,
    pub(crate) holds: usize,
    pub(crate) of: usize,
    /// The worst case, in words.
    pub(crate) worst: String,
}

impl Claim {
    fn is_kept(&self) -> bool {
        self.of > 0 && self.holds == self.of
    }
}

/// The claims as a table.
pub(crate) fn claims_table(claims: &[Claim]) -> String {
    let mut text = "| claim | holds in | worst case |\n|---|---|---|\n".to_owned();
    for claim in claims {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {} of {} | {} |", claim.text, claim.holds, claim.of, claim.worst);
    }
    text
}

/// Once the page says so, whoever made it must hear of it too.
///
/// # Errors
/// A claim is not kept, or nothing speaks for it.
pub(crate) fn hold_to(claims: &[Claim]) -> anyhow::Result<()> {
    let broken: Vec<String> = claims
        .iter()
        .filter(|claim| !claim.is_kept())
        .map(|claim| format!("{} ({} of {}; {})", claim.text, claim.holds, claim.of, claim.worst))
        .collect();
    if !broken.is_empty() {
        bail!("what the page claims does not hold: {}", broken.join("; "));
    }
    Ok(())
}

/// Versions and machine of all runs, which must be the same.
///
/// # Errors
/// They differ: the runs belong to no common page.
pub(crate) fn about<'r>(runs: impl Iterator<Item = &'r Run>) -> anyhow::Result<String> {
    let of = |run: &Run| {
        let version = |name: &str| run.started.versions.get(name).map_or("unknown", String::as_str).to_owned();
        let machine = |name: &str| run.started.machine.get(name).map_or("unknown", String::as_str).to_owned();
        format!(
            "chaos {}, Kafka {}, Linux {}; {} cores ({})",
            version("chaos"),
            version("kafka"),
            version("kernel"),
            machine("cores"),
            machine("cpu")
        )
    };
    let all: BTreeSet<String> = runs.map(of).collect();
    match all.len() {
        1 => Ok(all.into_iter().collect()),
        _ => bail!("the runs were not made with the same versions on the same machine: {all:?}"),
    }
}

/// `2 s`, `300 s`.
pub(crate) fn age(age_ms: u64) -> String {
    if age_ms.is_multiple_of(1000) { format!("{} s", age_ms / 1000) } else { format!("{age_ms} ms") }
}

/// Milliseconds with three digits that count: `0.35 s`, `9.8 s`, `30.4 s`.
pub(crate) fn seconds(ms: f64) -> String {
    let seconds = ms / 1000.0;
    if seconds.abs() < 1.0 { format!("{seconds:.2} s") } else { format!("{seconds:.1} s") }
}

/// A rate with three digits that count.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second < 10.0 { format!("{per_second:.2}") } else { format!("{per_second:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(holds: usize, of: usize) -> Claim {
        Claim { text: "it holds".to_owned(), holds, of, worst: "9 s".to_owned() }
    }

    #[test]
    fn a_page_is_held_to_what_it_claims_and_nothing_speaks_for_no_run() {
        assert!(hold_to(&[claim(5, 5)]).is_ok());
        let broken = hold_to(&[claim(5, 5), claim(4, 5), claim(0, 0)]).unwrap_err().to_string();
        assert_eq!(broken, "what the page claims does not hold: it holds (4 of 5; 9 s); it holds (0 of 0; 9 s)");
        assert!(claims_table(&[claim(4, 5)]).ends_with("| it holds | 4 of 5 | 9 s |\n"));
    }

    #[test]
    fn figures_have_as_many_digits_as_count() {
        assert_eq!([age(2000), age(1500)], ["2 s", "1500 ms"]);
        assert_eq!([seconds(-95.0), seconds(351.0), seconds(9_760.0)], ["-0.10 s", "0.35 s", "9.8 s"]);
        assert_eq!([rate(3.336), rate(503.2)], ["3.34", "503"]);
    }
}
