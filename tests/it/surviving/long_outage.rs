//! An outage of 90 s reads as 90 s: nothing on the way clamps it, gives up, or loses what waited.

use super::{ended, one_node};
use crate::program::{Running, left_of};
use crate::support;

/// Records go to every partition all the time, and may wait for it: the clients' usual two minutes of delivery are enough. (Left to themselves,
/// they give up their metadata after 30 s, for no broker answers, and then block in `send` for a minute at most.)
const LOAD: &str = "rate = \"20/s\"\nrecord = { keys = 100 }\nconfig = { \"metadata.recovery.strategy\" = \"none\" }";

/// The only broker is frozen for 90 s.
const STEPS: &str = r#"
[[step]]
at = "0s"
pause = { broker = 1 }

[[step]]
at = "90s"
unpause = { broker = 1 }

[[expect]]
metric = "records.failed"
is = "== 0"
"#;

#[tokio::test]
async fn ninety_seconds_of_outage_read_as_ninety_seconds() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (one_node(folder.path(), "5s", STEPS), folder.path().join("out"));
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("rate = \"20/s\"", LOAD)).unwrap();
    let mut running = Running::start(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let results = ended(&mut running, &out);
    let steps = results.rows("steps.csv");
    let time = |step: usize, column: &str| steps[step][column].parse::<f64>().unwrap();
    // Frozen at some moment of the pause's call, thawed at some moment of the other.
    let least = time(1, "requested_ms") - time(0, "acknowledged_ms");
    let most = time(1, "acknowledged_ms") - time(0, "requested_ms");
    assert!((89_000.0..91_000.0).contains(&least) && most - least < 1_000.0, "{least} to {most} ms");
    let rows = results.rows("recovery.csv");
    let outages: Vec<f64> = rows.iter().filter(|row| row["step"] == "1").map(|row| row["outage_ms"].parse().unwrap()).collect();
    assert_eq!(outages.len(), 4 * 2, "one for each producer and partition: {rows:?}");
    for outage in &outages {
        // A record may have been due just before, and after the thaw a client connects again within its backoff of a second.
        assert!((least - 250.0..most + 1_500.0).contains(outage), "{outage} ms, frozen for {least} to {most} ms");
    }
    let longest_us = results.group("lone")["latency"]["after"]["response"]["max_us"].as_u64().unwrap();
    assert!(longest_us >= 89_500_000, "the histogram holds it, too: {longest_us} us");
    let totals = &results.run["totals"];
    assert_eq!((&totals["ok"], &totals["failed"], &totals["indeterminate"]), (&totals["due"], &0.into(), &0.into()));
    let audited = &results.run["audit"]["totals"];
    assert_eq!((&audited["lost"], &audited["duplicated"]), (&0.into(), &0.into()), "{audited}");
    assert!(results.stdout.contains("The pause of node 1 stalled every partition for"), "{}", results.stdout);
    assert_eq!(left_of(&results.run), [""; 0]);
}
