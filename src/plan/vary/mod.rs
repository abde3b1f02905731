//! One plan as many: keys with the values that they take, and the plan's text with each combination of them.
//!
//! ```text
//! --vary PATH=V1,V2   -> path, value \
//! --along PATH=V1,V2  -> path, value  > axes -> cells: patch the text, parse and check it like any other plan
//! ```
//!
//! Pure. A cell is a plan of its own: its text is what its runs keep. Not here: running cells. Called by `cli` and `run::compare`.

mod patch;
mod path;
mod value;

use std::collections::BTreeSet;
use std::fmt;

use toml_edit::DocumentMut;

use self::path::KeyPath;
use self::value::KeyValue;
use super::{Checked, Problems};

/// How many cells a comparison may have.
pub const CELLS_MAX: usize = 100;

/// How a key varies, as the command line says it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// By itself: `PATH=V1,V2`.
    Vary(String),
    /// With the one before it, value for value.
    Along(String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vary(text) => write!(f, "--vary '{text}'"),
            Self::Along(text) => write!(f, "--along '{text}'"),
        }
    }
}

/// A key of the plan and its value in a cell.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Setting {
    /// Where the key is.
    pub path: String,
    /// Its value, as the command line says it.
    pub value: String,
}

/// A plan with one value for each key that varies.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The values of what varies by itself, joined with `, `; empty if it is the only cell.
    pub name: String,
    /// Every key that varies, in the order of the command line.
    pub settings: Vec<Setting>,
    /// The plan.
    pub checked: Checked,
}

/// Why a plan cannot be varied so. The arguments' fault, all of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VaryError {
    /// An argument cannot be read.
    #[error("{change}: {why}\n  write PATH=VALUE,VALUE, for instance --vary 'producers.*.config.\"metadata.max.age.ms\"=5s,60s'")]
    Unreadable {
        /// The argument.
        change: String,
        /// What is wrong with it.
        why: String,
    },
    /// An argument does not go with the others.
    #[error("{change}: {why}")]
    Unfit {
        /// The argument.
        change: String,
        /// Why not.
        why: String,
    },
    /// Paths that lead nowhere in this plan; all of them.
    #[error("{}", misses.join("\n"))]
    Nowhere {
        /// Each with what there is instead.
        misses: Vec<String>,
    },
    /// There are too many combinations.
    #[error("{cells} combinations of values are more than {CELLS_MAX}: vary fewer keys, or let some go --along with others")]
    TooMany {
        /// How many.
        cells: usize,
    },
    /// Cells whose plans have problems; all of them.
    #[error("{}", rendered(problems, false))]
    Invalid {
        /// The problems of each cell that has some.
        problems: Vec<Problems>,
    },
}

impl From<Problems> for VaryError {
    fn from(problems: Problems) -> Self {
        Self::Invalid { problems: vec![problems] }
    }
}

impl VaryError {
    /// The error for a terminal. No line end after the last.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        match self {
            Self::Invalid { problems } => rendered(problems, colour),
            other => format!("error: {other}"),
        }
    }
}

fn rendered(problems: &[Problems], colour: bool) -> String {
    problems.iter().map(|problems| problems.render(colour)).collect::<Vec<_>>().join("\n\n")
}

/// A key with its values.
#[derive(Debug)]
struct Varied {
    path: KeyPath,
    values: Vec<KeyValue>,
}

/// Keys that change together: the first by itself, the others along with it.
#[derive(Debug)]
struct Axis(Vec<Varied>);

/// Every combination of values as a plan of its own; the last key of the command line changes fastest. `path` is what problems call the plan.
/// A plan of which nothing varies is the only cell.
///
/// # Errors
/// What is wrong with the arguments, or with the plans that they make; of the latter everything.
pub fn cells(plan_path: &str, text: &str, changes: &[Change]) -> Result<Vec<Cell>, VaryError> {
    let axes = axes(changes)?;
    let count = axes.iter().fold(1_usize, |count, axis| count.saturating_mul(axis.0[0].values.len()));
    if count > CELLS_MAX {
        return Err(VaryError::TooMany { cells: count });
    }
    let (mut cells, mut misses, mut problems) = (Vec::new(), BTreeSet::new(), Vec::new());
    for combination in 0..count {
        let chosen = chosen(&axes, combination);
        match patched(text, &axes, &chosen) {
            Ok(varied) => match cell(plan_path, &varied, &axes, &chosen) {
                Ok(cell) => cells.push(cell),
                Err(found) => problems.push(found),
            },
            Err(nowhere) => misses.extend(nowhere),
        }
    }
    if !misses.is_empty() {
        return Err(VaryError::Nowhere { misses: misses.into_iter().collect() });
    }
    if !problems.is_empty() {
        return Err(VaryError::Invalid { problems });
    }
    Ok(cells)
}

fn axes(changes: &[Change]) -> Result<Vec<Axis>, VaryError> {
    let (mut axes, mut seen): (Vec<Axis>, Vec<String>) = (Vec::new(), Vec::new());
    for change in changes {
        let (Change::Vary(text) | Change::Along(text)) = change;
        let unreadable = |why: &str| VaryError::Unreadable { change: change.to_string(), why: why.to_owned() };
        let unfit = |why: String| VaryError::Unfit { change: change.to_string(), why };
        let (path, values) = split(text).ok_or_else(|| unreadable("there is no `=` after the path"))?;
        let varied = Varied {
            path: path::read(path).map_err(unreadable)?,
            values: value::list(values).ok_or_else(|| unreadable("a value is empty"))?,
        };
        let path = varied.path.to_string();
        if seen.contains(&path) {
            return Err(unfit(format!("`{path}` varies already")));
        }
        seen.push(path);
        match change {
            Change::Vary(_) => {
                let texts: Vec<&str> = varied.values.iter().map(|value| value.text.as_str()).collect();
                if let Some(twice) = texts.iter().enumerate().find_map(|(at, text)| texts[..at].contains(text).then_some(text)) {
                    return Err(unfit(format!("the value `{twice}` is there twice; --repeat runs each more than once")));
                }
                axes.push(Axis(vec![varied]));
            }
            Change::Along(_) => {
                let axis = axes.last_mut().ok_or_else(|| unfit("there is no --vary before it to go along with".to_owned()))?;
                let (wanted, found) = (axis.0[0].values.len(), varied.values.len());
                if wanted != found {
                    return Err(unfit(format!("it has {found} values, and `{}`, which it goes along with, {wanted}", axis.0[0].path)));
                }
                axis.0.push(varied);
            }
        }
    }
    Ok(axes)
}

/// The argument at its first `=` outside quotes.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    let at = text.char_indices().find_map(|(at, character)| {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '=') => return Some(at),
            _ => {}
        }
        None
    })?;
    Some((&text[..at], &text[at + 1..]))
}

/// Which value of each axis a combination has.
fn chosen(axes: &[Axis], combination: usize) -> Vec<usize> {
    let mut left = combination;
    let mut chosen: Vec<usize> = axes
        .iter()
        .rev()
        .map(|axis| {
            let count = axis.0[0].values.len();
            let index = left % count;
            left /= count;
            index
        })
        .collect();
    chosen.reverse();
    chosen
}

/// The keys of a combination with their values, in the order of the command line.
fn settings<'a>(axes: &'a [Axis], chosen: &'a [usize]) -> impl Iterator<Item = (&'a KeyPath, &'a KeyValue)> {
    axes.iter().zip(chosen).flat_map(|(axis, index)| axis.0.iter().map(move |varied| (&varied.path, &varied.values[*index])))
}

/// The text of a combination; paths that lead nowhere, if there are any.
fn patched(text: &str, axes: &[Axis], chosen: &[usize]) -> Result<String, Vec<String>> {
    let mut document: DocumentMut = text.parse().map_err(|error| vec![format!("the plan cannot be edited: {error}")])?;
    let set = |(path, value): (&KeyPath, &KeyValue)| {
        patch::set(&mut document, path, value).err().map(|miss| format!("`{path}` cannot vary: {}", miss.words()))
    };
    let misses: Vec<String> = settings(axes, chosen).filter_map(set).collect();
    if misses.is_empty() { Ok(document.to_string()) } else { Err(misses) }
}

fn cell(plan_path: &str, text: &str, axes: &[Axis], chosen: &[usize]) -> Result<Cell, Problems> {
    // A key with a single value tells no cells apart.
    let telling = axes.iter().zip(chosen).filter(|(axis, _)| axis.0[0].values.len() > 1);
    let name = telling.map(|(axis, index)| axis.0[0].values[*index].text.clone()).collect::<Vec<_>>().join(", ");
    let shown = if name.is_empty() { plan_path.to_owned() } else { format!("{plan_path} with {name}") };
    let mut checked = super::parse(&shown, text)?;
    plan_path.clone_into(&mut checked.plan.source.path);
    let settings = settings(axes, chosen).map(|(path, value)| Setting { path: path.to_string(), value: value.text.clone() }).collect();
    Ok(Cell { name, settings, checked })
}

#[cfg(test)]
mod tests;
