//! What `plan::parse` says of steps that cannot do anything, one action after the other.

use crate::plan_check::{BASE, ROLLING, problems, spoiled};

/// As [`spoiled`], with the last step of the base replaced; several actions follow each other.
fn instead(actions: &[&[&str]]) -> String {
    let texts: Vec<String> = actions.iter().map(|actions| actions.join("\n[[step]]\nat = \"30s\"\n")).collect();
    let cases: Vec<_> = texts.iter().map(|text| (ROLLING, text.as_str())).collect();
    spoiled(&cases)
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
