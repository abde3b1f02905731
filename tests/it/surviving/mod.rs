//! What happens around the tool must not make it lie, hang or leave anything behind: a full disk, a container engine that restarts, a
//! container that somebody removes, too few open files, a clock that is set, brokers that talk nonsense, a very long outage.
//!
//! What becomes of a run when `chaos` itself is killed, frozen or starved is in `tools/torture`.

mod clock;
mod engine;
mod long_outage;
mod nonsense;
mod resources;
mod torture;

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use crate::program::{Results, Running, run_json};

/// A cluster of one node under a small load: `more` are tables after it.
fn one_node(folder: &Path, steady: &str, more: &str) -> PathBuf {
    let plan = folder.join("one-node.toml");
    let text = format!(
        r#"
name = "one-node"
about = "One node, for tests of what is survived."
seed = 1

[cluster]
kafka = "4.3.0"
nodes = 1

[[topic]]
name = "orders"
partitions = 2
replication = 1

[[producers]]
name = "lone"
count = 4
topics = ["orders"]
rate = "20/s"

[phases]
warmup = "2s"
steady = "{steady}"
recovery = "3s"
{more}"#
    );
    std::fs::write(&plan, text).unwrap();
    plan
}

/// The id of a run that goes on.
fn run_id_in(out: &Path) -> String {
    run_json(out)["run_id"].as_str().unwrap().to_owned()
}

/// A run that has come to its end.
fn ended(running: &mut Running, out: &Path) -> Results {
    let (status, stdout): (ExitStatus, String) = running.end();
    eprintln!("{stdout}");
    Results::of(out, status, stdout)
}

/// Fails unless the verdict is UNKNOWN, for a reason with these words.
fn assert_unknown(results: &Results, words: &str) {
    assert_eq!((results.code, results.run["verdict"].as_str()), (Some(4), Some("UNKNOWN")), "{}", results.stdout);
    let reasons = results.run["reasons"].as_array().unwrap();
    assert!(reasons.iter().any(|reason| reason.as_str().unwrap().contains(words)), "{words} is not in {reasons:?}");
}
