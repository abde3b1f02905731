//! `chaos man`: manual pages, one for each command, made from the same types as the arguments.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, Command};
use clap_mangen::Man;

use super::{Exit, UsageError};

/// Arguments of `chaos man`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  chaos man | man -l -
  chaos man plan check | man -l -
  chaos man --out ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// The command whose page is printed, such as `plan check` [default: the program itself]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder instead; pages that are there are replaced
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Prints a page, or writes all of them.
///
/// # Errors
/// If `out` or a file cannot be written to.
pub(super) fn run(args: &ManArgs, program: Command, out: &mut dyn Write) -> anyhow::Result<Exit> {
    // Its pages would only say that there is --help.
    let mut program = program.disable_help_subcommand(true);
    // Gives every command its whole name, such as `chaos-plan-check`.
    program.build();
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let count = write_all(&program, folder)?;
        writeln!(out, "{count} pages are in {}", folder.display())?;
        return Ok(Exit::Success);
    }
    let mut command = &program;
    for name in &args.command {
        let Some(below) = command.find_subcommand(name) else {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let known = if known.is_empty() { "there is none".to_owned() } else { format!("there are {}", known.join(", ")) };
            return Err(UsageError(format!("`{}` has no command `{name}`: {known}", words(command))).into());
        };
        command = below;
    }
    out.write_all(&page(command)?)?;
    Ok(Exit::Success)
}

/// A command as it is typed.
fn words(command: &Command) -> &str {
    command.get_bin_name().unwrap_or(command.get_name())
}

/// Writes the pages of a command and of all below it; how many.
fn write_all(command: &Command, folder: &Path) -> anyhow::Result<usize> {
    let file = folder.join(Man::new(command.clone()).get_filename());
    std::fs::write(&file, page(command)?).with_context(|| format!("cannot write {}", file.display()))?;
    command.get_subcommands().try_fold(1, |count, below| Ok(count + write_all(below, folder)?))
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    // Else the foot of a page would name the command alone.
    Man::new(command.clone()).source(concat!("chaos ", env!("CARGO_PKG_VERSION"))).manual("chaos").render(&mut page)?;
    Ok(page)
}
