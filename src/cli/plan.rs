//! `chaos plan check|show|schema|list`: what can be said of plans without running them.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::Exit;
use crate::plan::{self, Severity, schema, show};

/// Arguments of `chaos plan`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos plan list
  chaos plan check plans/*.toml
  chaos plan show plans/broker-kill.toml
  chaos plan schema > plans/plan.schema.json")]
pub struct PlanArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks plans and prints all problems, each with its place and a hint
    Check {
        /// Plans (TOML)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Shows what a plan will do, and when
    Show {
        /// A plan (TOML)
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Prints the JSON Schema of plans, for editors
    Schema,
    /// Lists the plans of a folder
    List {
        /// Folder of plans
        #[arg(long, value_name = "DIR", default_value = "plans")]
        dir: PathBuf,
    },
}

/// Runs the command; tells how it ended.
///
/// # Errors
/// If `out` cannot be written to, or a folder cannot be read.
pub fn run(args: PlanArgs, out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    match args.command {
        Command::Check { files } => check(&files, out, colour),
        Command::Show { file, json } => show_plan(&file, json, out, colour),
        Command::Schema => {
            write!(out, "{}", schema::text())?;
            Ok(Exit::Success)
        }
        Command::List { dir } => list(&dir, out),
    }
}

fn check(files: &[PathBuf], out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    let mut exit = Exit::Success;
    for file in files {
        let path = file.display();
        match plan::load(file) {
            Ok(checked) => {
                if !checked.warnings.is_empty() {
                    writeln!(out, "{}\n", checked.warnings.render(colour))?;
                }
                writeln!(out, "{path}: ok{}", counted(", ", checked.warnings.count(Severity::Warning), "warning"))?;
            }
            Err(error) => {
                exit = Exit::Usage;
                writeln!(out, "{}", error.render(colour))?;
                if let plan::PlanError::Invalid(problems) = error {
                    let (errors, warnings) = (problems.count(Severity::Error), problems.count(Severity::Warning));
                    writeln!(out, "\n{path}: {}{}", counted("", errors, "error"), counted(", ", warnings, "warning"))?;
                }
            }
        }
    }
    Ok(exit)
}

/// `, 2 warnings`; nothing for none.
fn counted(before: &str, count: usize, noun: &str) -> String {
    match count {
        0 => String::new(),
        1 => format!("{before}1 {noun}"),
        _ => format!("{before}{count} {noun}s"),
    }
}

fn show_plan(file: &Path, json: bool, out: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    match plan::load(file) {
        Ok(checked) if json => {
            let mut value = show::json(&checked.plan);
            value["warnings"] = checked.warnings.lines().into();
            writeln!(out, "{value:#}")?;
        }
        Ok(checked) => {
            write!(out, "{}", show::text(&checked.plan))?;
            if !checked.warnings.is_empty() {
                writeln!(out, "\n{}", checked.warnings.render(colour))?;
            }
        }
        Err(error) => {
            writeln!(out, "{}", error.render(colour))?;
            return Ok(Exit::Usage);
        }
    }
    Ok(Exit::Success)
}

fn list(dir: &Path, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot list the plans in {}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension() == Some(OsStr::new("toml")));
    files.sort();
    if files.is_empty() {
        writeln!(out, "no plans in {}", dir.display())?;
    }
    for file in files {
        let about = match plan::load(&file) {
            Ok(checked) => checked.plan.about,
            Err(_) => format!("has problems: see `chaos plan check {}`", file.display()),
        };
        writeln!(out, "{}\n    {about}", file.display())?;
    }
    Ok(Exit::Success)
}
