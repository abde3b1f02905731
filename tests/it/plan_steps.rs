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
fn recreate_topic() {
    insta::assert_snapshot!(instead(&[
        &["recreate-topic = { topic = \"order\" }"],
        &["recreate-topic = { topic = \"orders\", replication = 4 }"],
        &["recreate-topic = { topic = \"orders\", assignment = [[1, 2], [2, 2]] }"],
        &["recreate-topic = { topic = \"orders\", assignment = [[1, 2]], replication = 2 }"],
        &["recreate-topic = { topic = \"orders\", partitions = 2 }", "add-partitions = { topic = \"orders\", to = 2 }"],
        &["delete-topic = { topic = \"orders\" }", "recreate-topic = { topic = \"orders\" }"],
    ]));
}

#[test]
fn elect_leaders() {
    insta::assert_snapshot!(instead(&[
        &["elect-leaders = { topic = \"order\" }"],
        &["elect-leaders = { topic = \"orders\", partition = 6 }"],
        &["elect-leaders = { topic = \"orders\", partition = \"0\" }"],
        &["elect-leaders = { topic = \"orders\", election = \"clean\" }"],
    ]));
}

#[test]
fn reassign() {
    insta::assert_snapshot!(instead(&[
        &["reassign = { topic = \"orders\" }"],
        &["reassign = { topic = \"orders\", to = [2, 1] }"],
        &["reassign = { topic = \"orders\", partition = 0, to = [[2, 1], [1, 2]] }"],
        &["reassign = { topic = \"orders\", to = [[2, 1], [1, 2]] }"],
        &["reassign = { topic = \"orders\", partition = 6, to = [2, 1] }"],
        &["reassign = { topic = \"orders\", partition = 0, to = [2, 2] }"],
        &["reassign = { topic = \"orders\", partition = 0, to = [2, 4] }"],
        &["reassign = { topic = \"orders\", partition = 0, to = [] }"],
        &["reassign = { topic = \"orders\", partition = 0, to = \"2, 1\" }"],
        &["reassign = { topic = \"orders\", brokers = [1, 2] }"],
        &["reassign = { topic = \"orders\", brokers = [1, 2, 2, 3] }"],
        &["reassign = { topic = \"orders\", partition = 0, brokers = \"all\" }"],
    ]));
}

#[test]
fn config() {
    insta::assert_snapshot!(instead(&[
        &["config = { topic = \"orders\" }"],
        &["config = { topic = \"orders\", set = {} }"],
        &["config = { set = { a = 1 } }"],
        &["config = { topic = \"orders\", broker = 2, set = { a = 1 } }"],
        &["config = { topic = \"order\", set = { a = 1 } }"],
        &["config = { topic = \"orders\", set = { a = 1 }, unset = [\"a\"] }"],
        &["config = { broker = 2, set = { \"node.id\" = 7 } }"],
        &["config = { broker = 2, set = { \"broker.session.timeout.ms\" = 7000 } }"],
        &["config = { broker = 7, set = { \"num.io.threads\" = 4 } }"],
    ]));
    let dedicated = BASE.replacen("nodes = 3", "brokers = 3\ncontrollers = 1", 1);
    let of_controller = dedicated.replacen(ROLLING, "config = { broker = \"controller\", set = { \"num.io.threads\" = 4 } }", 1);
    insta::assert_snapshot!("a_controller_alone_takes_no_properties", problems(&of_controller));
}

#[test]
fn steps_are_shown_in_words() {
    let actions = [
        "add-broker = {}",
        "recreate-topic = { topic = \"orders\" }",
        "recreate-topic = { topic = \"orders\", partitions = 3, replication = 2, config = { \"min.insync.replicas\" = 1 } }",
        "elect-leaders = { topic = \"orders\", partition = 0, election = \"unclean\" }",
        "elect-leaders = { topic = \"orders\" }",
        "reassign = { topic = \"orders\", partition = 0, to = [4, 1] }",
        "reassign = { topic = \"orders\", to = [[1, 2], [2, 3], [3, 1]] }",
        "reassign = { topic = \"orders\", brokers = \"all\", within = \"2m\" }",
        "config = { topic = \"orders\", set = { \"retention.ms\" = 60000 }, unset = [\"segment.bytes\"] }",
        "config = { broker = \"leader-of(orders/0)\", set = { \"num.io.threads\" = 4 } }",
        "limit = { broker = \"random\", cpus = 0.5, memory = \"512 MiB\" }",
        "limit = { broker = \"all\", cpus = \"none\" }",
        "disconnect = { broker = \"follower-of(orders/0)\" }",
    ];
    let text = BASE.replacen(ROLLING, &actions.join("\n[[step]]\nat = \"30s\"\n"), 1);
    let plan = plan::parse("plan.toml", &text).unwrap().plan;
    insta::assert_snapshot!(plan.steps.iter().map(|step| step.action.to_string()).collect::<Vec<_>>().join("\n"));
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
