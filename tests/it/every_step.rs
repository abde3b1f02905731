//! Steps on real brokers, many in one plan, because a cluster takes ten seconds to start. All that they leave in the controller's log is read
//! as Kafka's own tool reads it.

use std::process::Command;

use kafka_chaos::ids::HostPort;

use crate::program::{Kept, left_of, run_plan};
use crate::support;

/// What stands before the steps.
const HEAD: &str = r#"
name = "every-step"
about = "Steps one after the other, for tests."

[cluster]
kafka = "4.3.0"
brokers = 3
controllers = 1
# A node that is gone is to be missed soon, and what the controller writes to be seen at once.
config = { "broker.session.timeout.ms" = 3000, "broker.heartbeat.interval.ms" = 500, "controller.quorum.append.linger.ms" = 0 }

[[topic]]
name = "orders"
assignment = [[1, 2], [2, 3], [3, 1]]

[[producers]]
name = "steady"
count = 2
topics = ["orders"]
rate = "20/s"

[phases]
warmup = "1s"
steady = "2s"
recovery = "1s"
"#;

/// Each action, and what is seen of it from outside.
const STEPS: &[(&str, &str)] = &[
    ("limit = { broker = \"leader-of(orders/1)\", cpus = 0.5, memory = \"640 MiB\" }", "the engine says 0.5 cores, 640 MiB"),
    ("limit = { broker = 2, cpus = \"none\", memory = \"none\" }", "the engine says every core, 768 MiB"),
    (
        "config = { topic = \"orders\", set = { \"retention.ms\" = 600000, \"min.cleanable.dirty.ratio\" = \"0.40\" } }",
        "told by broker 1, 2, 3",
    ),
    ("wait = { for = \"1s\" }", ""),
    ("config = { broker = \"leader-of(orders/2)\", set = { \"num.io.threads\" = 6 } }", "told by broker 3"),
    ("config = { topic = \"orders\", unset = [\"retention.ms\"] }", "told by broker 1, 2, 3"),
    // What is made anew has the properties that the broker that is asked knows of.
    ("wait = { for = \"2s\" }", ""),
    ("recreate-topic = { topic = \"orders\" }", "topic id "),
    ("wait = { for = \"1s\" }", ""),
    ("recreate-topic = { topic = \"orders\", config = { \"min.insync.replicas\" = 1 } }", "topic id "),
    // Who leads a topic that was only just made, the broker that is asked may not know yet.
    ("wait = { for = \"2s\" }", ""),
    ("disconnect = { broker = \"leader-of(orders/0)\" }", "the engine says off its network"),
    ("wait = { for = \"1s\" }", ""),
    ("connect = { broker = 1 }", "answers"),
    ("add-broker = {}", "seen by broker 1, 2, 3, 5"),
    ("wait = { for = \"isr-full\" }", "seen by broker 1, 2, 3"),
    ("reassign = { topic = \"orders\", partition = 0, to = [5, 2] }", "seen by broker 1, 2, 3, 5"),
    ("wait = { for = \"isr-full\" }", "seen by broker 1, 2, 3, 5"),
    // Full for a moment before the old replicas go: another move must not overtake this one.
    ("wait = { for = \"2s\" }", ""),
    ("reassign = { topic = \"orders\", brokers = [2, 3, 5] }", "seen by broker 1, 2, 3, 5"),
    ("wait = { for = \"isr-full\" }", "seen by broker 1, 2, 3, 5"),
    ("wait = { for = \"2s\" }", ""),
    // Another order of the same replicas: who leads stays, who should lead does not.
    ("reassign = { topic = \"orders\", partition = 0, to = [3, 2] }", "seen by broker 1, 2, 3, 5"),
    ("elect-leaders = { topic = \"orders\" }", "seen by broker 1, 2, 3, 5"),
    // A partition without a leader: its last in-sync replica is down, and the other one lacks what came after it was lost.
    ("create-topic = { name = \"frail\", assignment = [[2, 3]] }", "seen by broker 1, 2, 3, 5"),
    ("wait = { for = \"2s\" }", ""),
    ("kill = { broker = 3 }", "exit code 137"),
    ("wait = { for = \"5s\" }", ""),
    ("kill = { broker = 2 }", "exit code 137"),
    ("start = { broker = 3 }", "answers"),
    // It takes 6 s and more until it is up, and the controller will have it as a leader.
    ("wait = { for = \"10s\" }", ""),
    ("elect-leaders = { topic = \"frail\", partition = 0, election = \"unclean\" }", "seen by broker 1, "),
    ("start = { broker = 2 }", "answers"),
    ("wait = { for = \"isr-full\" }", "seen by broker 1, 2, 3, 5"),
    ("add-partitions = { topic = \"orders\", to = 4 }", "seen by broker 1, 2, 3, 5"),
    ("wait = { for = \"1s\" }", ""),
    ("pause = { broker = 5 }", "the engine says paused"),
    ("unpause = { broker = 5 }", "answers"),
    ("link = { from = 5, to = 4, fault = \"black-hole\" }", "node 5 has no way to node 4"),
    ("link = { from = 5, to = 4, fault = \"none\" }", "node 5 has a way to node 4"),
    ("restart = { broker = 5, how = \"kill\", down = \"1s\" }", ""),
    ("wait = { for = \"isr-full\" }", "seen by broker 1, 2, 3, 5"),
    ("rolling = { restart = \"stop\", brokers = [5], down = \"1s\", then = \"isr-full\" }", ""),
    ("delete-topic = { topic = \"frail\" }", "seen by broker 1, 2, 3, 5"),
];

/// The only controller; brokers come first.
const CONTROLLER: i32 = 4;

impl Kept {
    /// Where a node's listener with this port is on this machine.
    fn listener(&self, node: i32, port: &str) -> HostPort {
        let anchor = format!("chaos-{}-{node}-anchor", self.0);
        let output = Command::new("docker").args(["port", &anchor, port]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let (host, port) = text.lines().next().and_then(|line| line.rsplit_once(':')).unwrap_or_else(|| panic!("{output:?}"));
        HostPort::new(host, port.parse().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_is_done_and_seen() {
    let Some(_brokers) = support::brokers().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("every-step.toml");
    let steps: String = STEPS.iter().map(|(action, _)| format!("[[step]]\nat = \"0s\"\n{action}\n")).collect();
    std::fs::write(&plan, format!("{HEAD}\n{steps}")).unwrap();
    let results = run_plan(&plan, &["--keep"]);
    let kept = Kept(results.run["run_id"].as_str().unwrap().to_owned());
    let (parts, rows): (Vec<_>, Vec<_>) = results.rows("steps.csv").into_iter().partition(|row| !row["parent"].is_empty());
    for part in &parts {
        assert_eq!(part["outcome"], "done", "{part:?}");
    }
    let acts: Vec<_> = parts.iter().filter(|part| part["action"] != "wait").map(|part| part["action"].as_str()).collect();
    assert_eq!(acts, ["kill", "start", "stop", "start"], "parts of restart and rolling");
    for ((action, seen), row) in STEPS.iter().zip(&rows) {
        assert_eq!(row["outcome"], "done", "{action}: {row:?}");
        assert!(row["detail"].contains(seen), "{action}: {row:?}");
        if action.starts_with("restart") || action.starts_with("rolling") {
            // Only their parts are acknowledged and seen.
            continue;
        }
        let [requested, acknowledged, observed] =
            ["requested_ms", "acknowledged_ms", "observed_ms"].map(|name| row[name].parse::<f64>().unwrap());
        assert!(requested <= acknowledged && acknowledged <= observed, "{action}: {row:?}");
    }
    assert_eq!(rows.len(), STEPS.len(), "{rows:?}");
    let (bootstrap, controller) = (kept.listener(1, "9094/tcp"), kept.listener(CONTROLLER, "9093/tcp"));
    crate::tail::assert_as_dumped(bootstrap, controller, &format!("chaos-{}-{CONTROLLER}", kept.0)).await;
    drop(kept);
    assert_eq!(left_of(&results.run), [""; 0]);
}
