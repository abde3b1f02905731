//! Somebody sets the machine's clock in mid-run: figures come from a clock that nobody can set, and say so.

use std::path::Path;
use std::process::Command;

use super::{ended, one_node};
use crate::program::{Running, chaos, left_of};
use crate::support;

/// Where Debian and its like have the library that stands before the C library's clock.
const LIBRARIES: [&str; 2] =
    ["/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"];

#[tokio::test]
async fn a_clock_that_is_set_in_mid_run_changes_no_figure() {
    let Some(_brokers) = support::brokers().await else { return };
    let Some(library) = LIBRARIES.into_iter().find(|library| Path::new(library).exists()) else {
        assert!(std::env::var_os("CI").is_none(), "a build machine has it (apt-get install libfaketime)");
        eprintln!("skipped: no libfaketime here");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out, offset) = (one_node(folder.path(), "8s", ""), folder.path().join("out"), folder.path().join("offset"));
    std::fs::write(&offset, "+0").unwrap();
    let program = chaos(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let mut misled = Command::new(program.get_program());
    misled.args(program.get_args()).env("NO_COLOR", "1").env("LD_PRELOAD", library);
    // The wall clock alone, and set whenever the file says so.
    misled.env("FAKETIME_TIMESTAMP_FILE", &offset).env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let mut running = Running::of(&mut misled);
    running.wait_for("steady");
    std::fs::write(&offset, "-2h").unwrap();
    running.wait_for("sent");
    std::fs::write(&offset, "+3h").unwrap();
    let results = ended(&mut running, &out);
    assert_eq!(left_of(&results.run), [""; 0]);

    let totals = &results.run["totals"];
    // 80 records a second for 2, 8 and 3 s.
    let due = totals["due"].as_u64().unwrap();
    assert!((80 * 12..=80 * 14).contains(&due) && totals["ok"] == totals["due"], "{totals}");
    let ended_ms = results.run["ended_ms"].as_i64().unwrap();
    assert!((11_000..25_000).contains(&ended_ms), "{ended_ms} ms from the start of `steady`");
    let response = &results.group("lone")["latency"]["baseline"]["response"];
    assert!(response["max_us"].as_u64() < Some(5_000_000), "{response}");
    let warnings = results.run["warnings"].to_string();
    assert!(warnings.contains("this machine's clock was set"), "{warnings}");
}
