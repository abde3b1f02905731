//! `chaos plan check|show|schema|reference|list|new`: what can be said of plans without running them, and a plan to start from.

mod list;
mod new;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::Exit;
use crate::plan::{self, Severity, reference, schema, show};

/// Arguments of `chaos plan`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos plan list
  chaos plan new my-kill --from kill
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
    /// Prints all tables, keys and metrics of plans, in Markdown
    Reference,
    /// Lists the plans of a folder, with the time that each takes and what it shows
    List {
        /// Folder of plans
        #[arg(long, value_name = "DIR", default_value = "plans")]
        dir: PathBuf,
        /// As JSON, for scripts
        #[arg(long)]
        json: bool,
    },
    /// Writes a plan to start from, every line explained; never over a file that is there
    New(new::NewArgs),
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
        Command::Reference => {
            write!(out, "{}", reference::text())?;
            Ok(Exit::Success)
        }
        Command::List { dir, json } => list::run(&dir, json, out, colour),
        Command::New(arguments) => new::run(&arguments, out),
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
