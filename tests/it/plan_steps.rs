//! What `plan::parse` says of steps that cannot do anything, one action after the other.

use kafka_chaos::ids::BrokerId;
use kafka_chaos::plan;

use crate::plan_check::{BASE, ROLLING, problems, spoiled};

/// As [`spoiled`], with the last step of the base replaced; several actions follow each other.
fn instead(actions: &[&[&str]]) -> String {
    let texts: Vec<String> = actions.iter().map(|actions| actions.join("\n[[step]]\nat = \"30s\"\n")).collect();
    let cases: Vec<_> = texts.iter().map(|text| (ROLLING, text.as_str())).collect();
    spoiled(&cases)
}

#[test]
fn add_broker() {
    insta::assert_snapshot!(instead(&[
        &["kill = { broker = 4 }", "add-broker = {}"],
        &["add-broker = {}", "kill = { broker = 4 }", "kill = { broker = 6 }"],
        &["add-broker = {}", "create-topic = { name = \"wide\", partitions = 1, replication = 5 }"],
        &["add-broker = { id = 7 }"],
        &["repeat = { times = 98, steps = [{ at = \"0s\", add-broker = {} }] }"],
    ]));
    let sound = ["repeat = { times = 3, steps = [{ at = \"0s\", add-broker = {} }] }", "kill = { broker = 6 }"];
    let text = BASE.replacen(ROLLING, &sound.join("\n[[step]]\nat = \"30s\"\n"), 1);
    let plan = plan::parse("plan.toml", &text).unwrap().plan;
    assert_eq!(plan.cluster.joiners(), [4, 5, 6].map(BrokerId));
}

#[test]
fn limit() {
    insta::assert_snapshot!(instead(&[
        &["limit = { broker = 2 }"],
        &["limit = { broker = 2, cpus = \"half\" }"],
        &["limit = { broker = 2, cpus = 0.001 }"],
        &["limit = { broker = 2, memory = \"1 MiB\" }"],
        &["limit = { broker = 2, memory = 512 }"],
        &["limit = { broker = 2, memory = \"512\" }"],
        &["limit = { broker = 2, memory = \"384 MiB\" }"],
        &["limit = { broker = 2, cpus = \"none\" }"],
        &["limit = { broker = 2, cpus = 1 }", "limit = { broker = 2, cpus = 1.0 }"],
        &["limit = { cpus = 1 }"],
    ]));
}

#[test]
fn disconnect_and_connect() {
    insta::assert_snapshot!(instead(&[
        &["connect = { broker = 2 }"],
        &["connect = { broker = \"random\" }"],
        &["disconnect = { broker = 3 }", "disconnect = { broker = 3 }"],
        &["disconnect = { broker = \"random\" }", "connect = { broker = \"all\" }"],
        &["disconnect = { broker = 3 }", "disconnect = { broker = 2 }"],
        &["disconnect = { node = 4 }"],
    ]));
    let on_host = BASE.replacen("nodes = 3", "nodes = 3\nnetwork = \"host\"", 1).replacen(ROLLING, "disconnect = { broker = 2 }", 1);
    insta::assert_snapshot!("on_the_hosts_network", problems(&on_host));
}
