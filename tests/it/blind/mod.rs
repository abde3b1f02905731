//! The blind test: each round sticks one layer, hides from the analysis which, and reads its answer.
//!
//! One round per layer is part of the tests; `make blind` plays twenty of them, and ten in which nothing is stuck.

mod answer;
mod rounds;

use rounds::{Round, Stuck};

use crate::program::run_plan;
use crate::support;

/// Seed of the rounds, unless `CHAOS_BLIND_SEED` says otherwise.
const SEED: u64 = 20_261_130;

#[tokio::test]
async fn the_stuck_layer_is_named_by_an_analysis_that_is_not_told() {
    let Some(_brokers) = support::brokers().await else { return };
    let number_of = |variable: &str| std::env::var(variable).ok().map(|text| text.parse::<u64>().unwrap());
    let seed = number_of("CHAOS_BLIND_SEED").unwrap_or(SEED);
    let [stuck, nothing] = [("CHAOS_BLIND_ROUNDS", 4), ("CHAOS_BLIND_ROUNDS_OF_NOTHING", 1)]
        .map(|(variable, default)| number_of(variable).unwrap_or(default) as usize);
    eprintln!("blind: seed {seed}");
    let rounds =
        (0..stuck).map(|number| Round::draw(seed, number, false)).chain((0..nothing).map(|number| Round::draw(seed, number, true)));
    let told: Vec<(Stuck, bool, String)> = rounds.map(|round| play(&round)).collect();
    for (stuck, is_right, words) in &told {
        eprintln!("blind: {} {stuck:?}: {words}", if *is_right { "right" } else { "WRONG" });
    }
    let right = |of_nothing: bool| told.iter().filter(|(stuck, is_right, _)| *is_right && (*stuck == Stuck::Nothing) == of_nothing).count();
    eprintln!("blind: {} of {stuck} right, and with nothing stuck {} of {nothing}", right(false), right(true));
    assert_eq!((right(false), right(true)), (stuck, nothing));
}

fn play(round: &Round) -> (Stuck, bool, String) {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("blind.toml");
    std::fs::write(&plan, &round.plan).unwrap();
    let results = run_plan(&plan, &[]);
    let answer = answer::read(&results.folder);
    let is_right = answer::is_right(round.stuck, answer.stuck.as_ref());
    let mut words = answer.in_words();
    if !is_right {
        words.push_str(&format!(" (see {})", results.leave().display()));
    }
    (round.stuck, is_right, words)
}
