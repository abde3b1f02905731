//! The program itself is killed, stopped, frozen and starved: some rounds of `make torture`.

use std::path::Path;

use crate::support::{self, KAFKA};

#[path = "../../../tools/torture/rounds/mod.rs"]
mod rounds;

/// What they are drawn from. The rounds hold a kill while a broker is paused, an interruption, a freeze, and an output that nobody reads.
const SEED: u64 = 1;
const ROUNDS: u32 = 6;

#[tokio::test(flavor = "multi_thread")]
async fn blows_at_random_moments_lose_nothing_and_leave_nothing() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().to_owned();
    let carried_out = tokio::task::spawn_blocking(move || {
        let setting =
            rounds::Setting { chaos: Path::new(env!("CARGO_BIN_EXE_chaos")), kafka: KAFKA, rounds: ROUNDS, seed: SEED, work: &work };
        rounds::carry_out(&setting, &mut |outcome| eprintln!("  {}", outcome.line()))
    });
    for outcome in carried_out.await.unwrap().unwrap() {
        assert_eq!(outcome.problems, [""; 0], "{}", outcome.line());
    }
}
