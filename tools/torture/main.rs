//! Does to `chaos` what `chaos` does to others: kills, stops, freezes, starves and deafens it at random moments, on a real cluster, and looks
//! at what is left.
//!
//! Not part of the product: `make torture` is its caller. A few rounds of it are in `tests/it/surviving`.

mod page;
mod rounds;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;

use self::rounds::Setting;

/// Rounds of `chaos` under blows.
#[derive(Debug, Parser)]
#[command(name = "torture")]
struct Args {
    /// The program
    #[arg(long, value_name = "FILE", default_value = "target/release/chaos")]
    chaos: PathBuf,
    /// Kafka's version
    #[arg(long, default_value = "4.3.0")]
    kafka: String,
    /// How many rounds
    #[arg(long, default_value_t = 60)]
    rounds: u32,
    /// What everything is drawn from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder of the page; none is written without it
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder for what the rounds leave, to be looked at afterwards; else a temporary one
    #[arg(long, value_name = "DIR")]
    work: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let temporary = tempfile::tempdir()?;
    let work = args.work.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(work).with_context(|| format!("cannot create {}", work.display()))?;
    let chaos = std::path::absolute(&args.chaos)?;
    anyhow::ensure!(chaos.exists(), "{} is not there: build it, or name it with --chaos", chaos.display());
    let setting = Setting { chaos: &chaos, kafka: &args.kafka, rounds: args.rounds, seed: args.seed, work };
    let outcomes = rounds::carry_out(&setting, &mut |outcome| say(&outcome.line()))?;
    let failed = outcomes.iter().filter(|outcome| !outcome.problems.is_empty()).count();
    say(&format!("{} rounds with seed {}, {failed} with problems", outcomes.len(), args.seed));
    if let Some(out) = &args.out {
        page::write(out, &page::About { seed: args.seed, kafka: &args.kafka }, &outcomes)?;
        say(&format!("the page is {}", out.join("README.md").display()));
    }
    anyhow::ensure!(failed == 0, "{failed} of {} rounds were not survived; the same again: --seed {}", outcomes.len(), args.seed);
    Ok(())
}

/// To standard output; whoever has closed it does not want it.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}
