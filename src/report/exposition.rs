//! A run's figures in Prometheus' text format 0.0.4, for `chaos run --metrics`.
//!
//! Pure: makes text. Not here: what the figures mean (`analyze`) or who is given the text (`run`). What is unknown has no sample, never 0.
//! Names, labels and units are an interface; `docs/metrics.md` lists them, and a test holds it to that.

mod families;
#[cfg(test)]
mod tests;

use std::fmt::{Display, Write as _};

use crate::analyze::live::LiveGroup;
use crate::analyze::meters::{Classes, Meters};

/// The text's media type.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The whole page, with a line end after each line.
#[must_use]
pub fn text(meters: &Meters, live: &[LiveGroup]) -> String {
    let mut page = Page::default();
    families::run(&mut page, meters);
    families::records(&mut page, live);
    families::clients(&mut page, meters, live);
    families::requesters(&mut page, meters);
    families::steps(&mut page, meters);
    families::generator(&mut page, meters);
    page.text
}

/// One more counter of the page, for what is known only where the page is given away.
#[must_use]
pub fn counter(name: &str, help: &str, value: u64) -> String {
    let mut page = Page::default();
    page.family(name, "counter", help);
    page.sample(name, &[], value);
    page.text
}

/// The text as it grows. A family's samples follow its head without anything between.
#[derive(Debug, Default)]
struct Page {
    text: String,
}

impl Page {
    /// Begins a family. `kind`: `counter`, `gauge` or `histogram`.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.put(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.put(format_args!("{name}"));
        for (at, (label, text)) in labels.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            self.put(format_args!("{before}{label}=\"{}\"", escaped(text)));
        }
        let after = if labels.is_empty() { "" } else { "}" };
        self.put(format_args!("{after} {value}\n"));
    }

    /// A family of one sample without labels; nothing if the value is unknown.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.family(name, kind, help);
            self.sample(name, &[], value);
        }
    }

    /// A family with a sample for each group whose value is known.
    fn of_groups<'g, V: Display>(&mut self, name: &str, kind: &str, help: &str, values: impl Iterator<Item = (&'g str, Option<V>)>) {
        self.family(name, kind, help);
        for (group, value) in values {
            if let Some(value) = value {
                self.sample(name, &[("group", group)], value);
            }
        }
    }

    /// The samples of one histogram, in seconds.
    fn histogram(&mut self, name: &str, labels: &[(&str, &str)], classes: &Classes) {
        let bucket = format!("{name}_bucket");
        let bounds = classes.up_to().map(|(bound_us, count)| (seconds(bound_us).to_string(), count));
        for (bound, count) in bounds.chain([("+Inf".to_owned(), classes.count())]) {
            self.sample(&bucket, &[labels, &[("le", &bound)]].concat(), count);
        }
        self.sample(&format!("{name}_sum"), labels, seconds(classes.sum_us));
        self.sample(&format!("{name}_count"), labels, classes.count());
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(text);
    }
}

/// A label's value as it stands between quotes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
