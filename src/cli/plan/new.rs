//! `chaos plan new`: a plan to start from, built in or copied from another one, written under a new name.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use crate::cli::Exit;
use crate::cli::exit::UsageError;
use crate::plan::{self, template};

/// Name of the schema's file, which editors look for beside a plan.
const SCHEMA_FILE: &str = "plan.schema.json";

/// Arguments of `chaos plan new`.
#[derive(Args, Debug)]
#[command(after_help = "\
Plans that are built in:
  kill     a broker is killed and comes back
  pause    a broker freezes, and nobody is told
  roll     each broker in turn is stopped and started
  growth   a topic gets more partitions

Examples:
  chaos plan new
  chaos plan new my-kill
  chaos plan new upgrade --from roll --out plans/upgrade.toml
  chaos plan new churn-2 --from plans/churn.toml")]
pub(super) struct NewArgs {
    /// The new plan's name [default: that of what it is made from]
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// A plan that is built in, or a plan's file
    #[arg(long, value_name = "PLAN", default_value = "kill")]
    from: String,
    /// The file to write; `-` is standard output [default: NAME.toml]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Writes the plan, and says what to do with it.
///
/// # Errors
/// The name is odd, there is nothing to start from, or the file is there already or cannot be written.
pub(super) fn run(args: &NewArgs, out: &mut dyn Write) -> anyhow::Result<Exit> {
    let (old_name, text) = source(&args.from)?;
    let name = args.name.as_deref().unwrap_or(&old_name);
    template::check_name(name).map_err(UsageError)?;
    let file = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    if file == Path::new("-") {
        write!(out, "{}", template::renamed(&text, name, false))?;
        return Ok(Exit::Success);
    }
    let is_beside_schema = file.parent().is_some_and(|folder| folder.join(SCHEMA_FILE).is_file());
    write_new(&file, &template::renamed(&text, name, is_beside_schema))?;
    let file = file.display();
    writeln!(out, "{file} is written; what next:\n  chaos plan check {file}\n  chaos run --dry-run {file}\n  chaos run {file}")?;
    Ok(Exit::Success)
}

/// Name and text of the plan to start from: a template's, or a file's, which must be sound.
fn source(from: &str) -> anyhow::Result<(String, String)> {
    if let Some(template) = template::find(from) {
        return Ok((template.name.to_owned(), template.text.to_owned()));
    }
    if !Path::new(from).exists() {
        let hint = match template::nearest_to(from) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("built in are {}", template::ALL.map(|template| template.name).join(", ")),
        };
        return Err(UsageError(format!("there is no plan `{from}` to start from, built in or as a file; {hint}")).into());
    }
    let plan = plan::load(Path::new(from))?.plan;
    Ok((plan.name, plan.source.text))
}

/// Writes a file that is not there yet.
fn write_new(file: &Path, text: &str) -> anyhow::Result<()> {
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(file);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    let shown = file.display();
    match written.as_ref().map_err(io::Error::kind) {
        Err(ErrorKind::AlreadyExists) => {
            Err(UsageError(format!("{shown} is there already, and stays as it is; give another name, or another file with --out")).into())
        }
        Err(ErrorKind::NotFound) => {
            let folder = file.parent().unwrap_or(Path::new("")).display();
            Err(UsageError(format!("{shown} cannot be written: there is no folder {folder}")).into())
        }
        _ => written.with_context(|| format!("cannot write {shown}")),
    }
}
