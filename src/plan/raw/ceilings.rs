//! Limits of a step: a number or a size, or the word that takes the limit away.
//!
//! As in `values`: `None` for "absent" and for "wrong", which leaves a problem behind.

use toml::de::DeValue;

use super::Fields;
use crate::plan::grammar::{CPU_THOUSANDTHS, Key, Kind};
use crate::plan::model::Ceiling;
use crate::plan::problem::Problem;
use crate::plan::units;

/// Takes a limit away.
const NONE: &str = "none";

impl Fields<'_> {
    /// A size within the grammar's bounds, or "none".
    pub(in crate::plan) fn size_or_none(&self, key: &str) -> Option<Ceiling> {
        let Some((Key { kind: Kind::SizeOrNone { min, max }, .. }, Some(value))) = self.lookup(key) else { return None };
        let text = self.text(key)?;
        if text.value == NONE {
            return Some(Ceiling::Usual);
        }
        match units::size(text.value) {
            Ok(size) if (*min..=*max).contains(&size) => return Some(Ceiling::AtMost(size)),
            Ok(_) => {
                let message = format!("`{key}` lies between \"{}\" and \"{}\"", units::show_size(*min), units::show_size(*max));
                self.problems.push(Problem::error(value.span(), message).hint(self.instance(key)));
            }
            Err(error) => {
                let message = format!("`{key}` = \"{}\": {error}", text.value);
                self.problems.push(Problem::error(text.span, message).hint(format!("{}, or \"{NONE}\"", error.hint())));
            }
        }
        None
    }

    /// A number of cores in thousandths, or "none".
    pub(in crate::plan) fn cpus_or_none(&self, key: &str) -> Option<Ceiling> {
        let (rule, value) = self.lookup(key)?;
        let value = value?;
        let number = match value.get_ref() {
            DeValue::String(text) if text == NONE => return Some(Ceiling::Usual),
            DeValue::Integer(number) => number.to_string().parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => {
                self.wrong_type(rule.name, &rule.kind, value);
                return None;
            }
        };
        // Saturates, and makes a number that is none 0: both are out of bounds.
        let thousandths = number.map(|cores| (cores * 1000.0).round() as u64).filter(|cores| CPU_THOUSANDTHS.contains(cores));
        if thousandths.is_none() {
            let message = format!("`{key}` lies between {} and {}", cores(*CPU_THOUSANDTHS.start()), cores(*CPU_THOUSANDTHS.end()));
            self.problems.push(Problem::error(value.span(), message).hint(self.instance(key)));
        }
        thousandths.map(Ceiling::AtMost)
    }
}

fn cores(thousandths: u64) -> f64 {
    thousandths as f64 / 1000.0
}
