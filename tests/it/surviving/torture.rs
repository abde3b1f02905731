//! The program itself is killed, stopped, frozen and starved: some rounds of `make torture`.

use std::path::Path;

use crate::support::{self, KAFKA};

#[path = "../../../tools/torture/rounds/mod.rs"]
mod rounds;

/// What they are drawn from.
const SEED: u64 = 241;
/// What is drawn from it: command, blow, moment.
const ROUNDS: [[&str; 3]; 6] = [
    ["run, 1 node", "SIGKILL", "a broker is paused"],
    ["run, 1 node", "SIGSTOP, 3 s, SIGCONT", "a broker is paused"],
    ["run, 1 node", "SIGTERM", "cluster is removed"],
    ["run, 3 nodes", "standard output closed", "topics are made"],
    ["compare", "SIGINT twice", "drain"],
    ["run, 1 node", "SIGINT", "a broker is disconnected"],
];

#[tokio::test(flavor = "multi_thread")]
async fn blows_at_random_moments_lose_nothing_and_leave_nothing() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().to_owned();
    let carried_out = tokio::task::spawn_blocking(move || {
        let setting = rounds::Setting { chaos: Path::new(env!("CARGO_BIN_EXE_chaos")), kafka: KAFKA, rounds: 6, seed: SEED, work: &work };
        rounds::carry_out(&setting, &mut |outcome| eprintln!("  {}", outcome.line()))
    });
    let outcomes = carried_out.await.unwrap().unwrap();
    assert_eq!(outcomes.iter().map(|outcome| [outcome.command, outcome.blow, outcome.moment]).collect::<Vec<_>>(), ROUNDS);
    for outcome in outcomes {
        assert_eq!(outcome.problems, [""; 0], "{}", outcome.line());
    }
}
