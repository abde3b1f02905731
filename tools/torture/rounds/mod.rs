//! Rounds: each is one `chaos` with one blow, all drawn from a seed, on real brokers.
//!
//! Not here: arguments, and the page of results. Called by the program `torture` and by `tests/it/surviving`.

mod blow;
mod checks;
mod child;
mod draw;
mod folder;
mod foreign;
mod round;
mod tail;

use std::path::Path;

use anyhow::Context as _;
use kafka_chaos::cluster::daemon::Daemon;
use kafka_chaos::cluster::image;

pub(crate) use self::round::Outcome;

use self::foreign::Foreign;
use self::round::Site;

/// What rounds are made with.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    /// The program.
    pub(crate) chaos: &'a Path,
    /// Kafka's version.
    pub(crate) kafka: &'a str,
    /// How many rounds.
    pub(crate) rounds: u32,
    /// What everything is drawn from.
    pub(crate) seed: u64,
    /// Folder for what the rounds leave.
    pub(crate) work: &'a Path,
}

/// Carries all rounds out; each is told as it ends.
///
/// # Errors
/// A round could not be made; what `chaos` does wrong is a problem of its outcome.
pub(crate) fn carry_out(setting: &Setting<'_>, tell: &mut dyn FnMut(&Outcome)) -> anyhow::Result<Vec<Outcome>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let image = runtime.block_on(async { image::find(&Daemon::connect().await?, setting.kafka).await })?;
    let foreign = Foreign::make(&image.with_context(|| format!("no image of Kafka {}: make setup KAFKA={0}", setting.kafka))?)?;
    let site = Site { chaos: setting.chaos, kafka: setting.kafka, work: setting.work, runtime: &runtime, foreign: &foreign };
    let mut outcomes = Vec::new();
    for trial in draw::trials(setting.seed, setting.rounds) {
        let outcome = round::carry_out(&trial, &site)?;
        tell(&outcome);
        outcomes.push(outcome);
    }
    Ok(outcomes)
}
