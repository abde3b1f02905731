//! `chaos completions`: the script with which a shell completes commands and options. Made from the same types as the arguments, so it
//! knows them all.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use super::Exit;

/// Arguments of `chaos completions`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  source <(chaos completions bash)                                              (for the shell at hand alone)
  chaos completions bash > ~/.local/share/bash-completion/completions/chaos     (needs the package bash-completion)
  chaos completions zsh > ~/.zfunc/_chaos                                       (with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc)
  chaos completions fish > ~/.config/fish/completions/chaos.fish
  chaos completions elvish >> ~/.config/elvish/rc.elv
  chaos completions powershell >> $PROFILE")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script.
///
/// # Errors
/// If `out` cannot be written to.
pub(super) fn run(args: &CompletionsArgs, mut program: Command, out: &mut dyn Write) -> anyhow::Result<Exit> {
    // Through memory: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "chaos", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Success)
}
