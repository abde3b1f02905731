//! `chaos plan list`: the plans of a folder, with the time that each takes and what it shows.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::cli::Exit;
use crate::plan::timeline::Timeline;
use crate::plan::{self, units};
use crate::report::text::format::wrapped;
use crate::ui::colour::{Painter, Tone};

/// Widest line, whatever the terminal's width; also where there is none.
const WIDTH_MAX: usize = 140;
/// What a plan shows gets at least so many columns; else it stands below the plan's name.
const ABOUT_MIN: usize = 40;
/// How far it is set in then.
const INDENT: usize = 4;

/// A plan of the folder.
#[derive(Debug)]
struct Row {
    file: PathBuf,
    /// `None`: it has problems.
    sound: Option<Sound>,
}

#[derive(Debug)]
struct Sound {
    name: String,
    about: String,
    /// From the start of the load to its end, as far as can be known before.
    length: Duration,
}

/// Prints the list.
///
/// # Errors
/// The folder cannot be read, or `out` cannot be written to.
pub(super) fn run(dir: &Path, json: bool, out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    let rows = rows(dir)?;
    if json {
        writeln!(out, "{:#}", Value::from_iter(rows.iter().map(value)))?;
    } else if rows.is_empty() {
        writeln!(out, "no plans in {}; `chaos plan new NAME` writes one to start from", dir.display())?;
    } else {
        write!(out, "{}", text(&rows, width(), Painter { enabled: colour }))?;
    }
    Ok(Exit::Success)
}

fn rows(dir: &Path) -> anyhow::Result<Vec<Row>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot list the plans in {}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension() == Some(OsStr::new("toml")));
    files.sort();
    let sound = |file: &PathBuf| {
        let plan = plan::load(file).ok()?.plan;
        let length = Timeline::of(&plan).end_at.expected;
        Some(Sound { name: plan.name, about: plan.about, length })
    };
    Ok(files.into_iter().map(|file| Row { sound: sound(&file), file }).collect())
}

/// Columns of the terminal, within reason.
fn width() -> usize {
    console::Term::stdout().size_checked().map_or(WIDTH_MAX, |(_, columns)| usize::from(columns).min(WIDTH_MAX))
}

/// The list for people: file, time, and what the plan shows, wrapped to `width`.
fn text(rows: &[Row], width: usize, painter: Painter) -> String {
    let cells: Vec<[String; 3]> = rows.iter().map(Row::cells).collect();
    let widest = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let (files, lengths) = (widest(0), widest(1));
    let column = files + lengths + 4;
    let is_beside = width >= column + ABOUT_MIN;
    let (indent, room) = if is_beside { (column, width - column) } else { (INDENT, width.saturating_sub(INDENT).max(ABOUT_MIN)) };
    let mut text = String::new();
    for (row, [file, length, about]) in rows.iter().zip(&cells) {
        let tone = if row.sound.is_some() { Tone::Step } else { Tone::Bad };
        let padded = format!("{file:<files$}  {length:>lengths$}");
        let head = painter.paint(tone, padded.trim_end());
        let lines = wrapped(about, room);
        let mut lines = lines.iter();
        text.push_str(&head);
        if is_beside {
            let gap = column - padded.trim_end().chars().count();
            text.extend(lines.next().map(|first| format!("{:gap$}{first}", "")));
        }
        text.push('\n');
        text.extend(lines.map(|line| format!("{:indent$}{line}\n", "")));
    }
    text
}

impl Row {
    fn cells(&self) -> [String; 3] {
        let file = self.file.display().to_string();
        match &self.sound {
            Some(sound) => [file, format!("~{}", units::show_duration(Duration::from_secs(sound.length.as_secs()))), sound.about.clone()],
            None => {
                let remark = format!("has problems: see `chaos plan check {file}`");
                [file, String::new(), remark]
            }
        }
    }
}

/// A plan for scripts; what a plan with problems would say is null.
fn value(row: &Row) -> Value {
    let sound = row.sound.as_ref();
    json!({
        "file": row.file.display().to_string(),
        "ok": sound.is_some(),
        "name": sound.map(|sound| &sound.name),
        "about": sound.map(|sound| &sound.about),
        "expected_ms": sound.map(|sound| u64::try_from(sound.length.as_millis()).unwrap_or(u64::MAX)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Row; 2] {
        let about = "Who fails, and for how long does every partition stall? ".repeat(3).trim_end().to_owned();
        let sound = Sound { name: "roll".into(), about, length: Duration::from_millis(64_500) };
        [Row { file: "plans/roll.toml".into(), sound: Some(sound) }, Row { file: "plans/broken-plan.toml".into(), sound: None }]
    }

    #[test]
    fn what_a_plan_shows_stands_in_a_column_of_its_own() {
        let text = text(&rows(), 100, Painter { enabled: false });
        let expected = "\
plans/roll.toml         ~1m4s  Who fails, and for how long does every partition stall? Who fails,
                               and for how long does every partition stall? Who fails, and for how
                               long does every partition stall?
plans/broken-plan.toml         has problems: see `chaos plan check plans/broken-plan.toml`
";
        assert_eq!(text, expected);
    }

    #[test]
    fn on_a_narrow_terminal_it_stands_below() {
        let text = text(&rows(), 60, Painter { enabled: false });
        assert!(text.starts_with("plans/roll.toml         ~1m4s\n    Who fails, and"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn a_plan_with_problems_tells_scripts_nothing_else() {
        let value = Value::from_iter(rows().iter().map(value));
        assert_eq!((&value[0]["ok"], &value[0]["expected_ms"]), (&json!(true), &json!(64_500)));
        assert_eq!((&value[1]["ok"], &value[1]["about"]), (&json!(false), &Value::Null));
    }
}
