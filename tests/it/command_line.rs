//! The program from outside, without a cluster: help, arguments, exit codes, and environments that do not allow a run.

use crate::program::{chaos, text};

#[test]
fn a_junit_file_in_the_folder_of_the_results_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for path in [out.clone(), folder.path().join("other").join("..").join("out")] {
        let file = out.join("chaos.xml");
        let arguments = ["run", "plans/refresh-rate.toml", "--out", path.to_str().unwrap(), "--junit", file.to_str().unwrap()];
        let output = chaos(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains("name a file beside it"), "{}", text(&output));
        assert!(!out.exists());
    }
}

#[test]
fn a_plan_that_cannot_be_run_is_an_error_in_the_junit_file() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out, file) = (folder.path().join("bad.toml"), folder.path().join("out"), folder.path().join("chaos.xml"));
    std::fs::write(&plan, "name = \"bad\"\n").unwrap();
    // Through the folder and out again: that is no file in it.
    let beside = out.join("..").join("chaos.xml");
    let arguments = ["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap(), "--junit", beside.to_str().unwrap()];
    std::fs::create_dir(&out).unwrap();
    assert_eq!(chaos(&arguments).output().unwrap().status.code(), Some(2));
    let document = std::fs::read_to_string(&file).unwrap();
    assert!(document.contains("errors=\"1\"") && document.contains("<error"), "{document}");
}

#[test]
fn every_command_has_help_with_examples() {
    let top = chaos(&["--help"]).output().unwrap();
    let listed = String::from_utf8_lossy(&top.stdout).into_owned();
    for command in ["run", "compare", "plan", "cluster", "report", "doctor", "clean", "trace", "completions", "man"] {
        assert!(listed.lines().any(|line| line.trim_start().starts_with(command)), "{command} is not in:\n{listed}");
        let help = chaos(&[command, "--help"]).output().unwrap();
        assert!(help.status.success(), "{command}: {}", text(&help));
        assert!(text(&help).contains("Examples:"), "{command} has no examples:\n{}", text(&help));
    }
}

#[test]
fn wrong_arguments_end_with_2() {
    for arguments in [&["run"][..], &["run", "x.toml", "--no-such"], &["no-such"], &[], &["run", "no-such-plan.toml"]] {
        let output = chaos(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
    }
}

#[test]
fn a_plan_with_three_mistakes_shows_all_three() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("three.toml");
    std::fs::write(&plan, THREE_MISTAKES).unwrap();
    let output = chaos(&["run", plan.to_str().unwrap()]).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in ["durtion", "orderz", "5 parsecs"] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
}

#[test]
fn a_dry_run_needs_no_engine_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let dry = |arguments: &[&str]| {
        let arguments = [&["run", "--dry-run", "--out", out.to_str().unwrap()], arguments].concat();
        chaos(&arguments).env("DOCKER_HOST", "unix:///no/such.sock").output().unwrap()
    };
    let output = dry(&["plans/metadata-storm.toml"]);
    let said = text(&output);
    assert!(output.status.success() && said.contains("Time line") && said.contains("records/s"), "{said}");
    let output = dry(&["--json", "--seed", "9", "plans/metadata-storm.toml"]);
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &value["seed"], value["load"].as_array().map(Vec::len)), (Some(0), &9.into(), Some(1)));
    let broken = folder.path().join("three.toml");
    std::fs::write(&broken, THREE_MISTAKES).unwrap();
    let output = dry(&[broken.to_str().unwrap()]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(["durtion", "orderz", "5 parsecs"].iter().all(|part| said.contains(part)), "{said}");
    assert!(!out.exists(), "a dry run has made its folder");
}

#[test]
fn metrics_need_a_port_that_is_free_and_say_who_can_read_them() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let run = |metrics: &str| {
        let arguments = ["run", "plans/broker-kill.toml", metrics, "--out", out.to_str().unwrap()];
        let output = chaos(&arguments).env("DOCKER_HOST", "unix:///no/such.sock").output().unwrap();
        (output.status.code(), text(&output))
    };
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let (code, said) = run(&format!("--metrics={port}"));
    let expected = format!("error: cannot serve metrics at 127.0.0.1:{port}: ");
    assert!(code == Some(3) && said.contains(&expected) && !said.contains("starting"), "{said}");
    let (code, said) = run("--metrics=0.0.0.0:0");
    assert!(code == Some(3) && said.contains("there is no password") && said.contains("no/such.sock"), "{said}");
    let (_, said) = run("--metrics=0");
    assert!(said.contains("metrics are at http://127.0.0.1:") && !said.contains("password"), "{said}");
    let (code, said) = run("--metrics=localhost");
    assert!(code == Some(2) && said.contains("write --metrics=PORT"), "{said}");
    assert!(!out.exists(), "an empty folder was left");
    // Without an address the plan is not taken for one.
    let output = chaos(&["run", "--dry-run", "--metrics", "plans/broker-kill.toml"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn a_step_for_a_node_that_does_not_exist_is_a_bad_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("node-9.toml");
    std::fs::write(&plan, NODE_9_OF_3).unwrap();
    let output = chaos(&["run", plan.to_str().unwrap()]).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains('9') && said.contains("node-9.toml"), "{said}");
}

#[test]
fn without_an_engine_a_run_says_so_and_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let output = chaos(&["run", "plans/broker-kill.toml", "--out", out.to_str().unwrap()])
        .env("DOCKER_HOST", format!("unix://{}/no-such.sock", folder.path().display()))
        .output()
        .unwrap();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("no-such.sock") && said.contains("engine"), "{said}");
    assert!(!out.exists(), "an empty folder was left");
}

#[test]
fn an_output_folder_that_holds_something_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("precious"), "data").unwrap();
    let output = chaos(&["run", "plans/broker-kill.toml", "--out", folder.path().to_str().unwrap()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(folder.path().join("precious").exists());
}

#[test]
fn nobody_needs_to_read_what_a_command_says() {
    // A pipe without a reader, as `| head -1` leaves it.
    let unread = || std::io::pipe().unwrap().1;
    let rows: [(&[&str], i32); 7] = [
        (&["plan", "list"], 0),
        (&["plan", "check", "no-such-plan.toml"], 2),
        (&["run", "no-such-plan.toml"], 2),
        // Here it is clap that prints.
        (&["--help"], 0),
        (&["no-such-command"], 2),
        (&["completions", "bash"], 0),
        (&["man"], 0),
    ];
    for (arguments, code) in rows {
        let output = chaos(arguments).stdout(unread()).output().unwrap();
        assert_eq!((output.status.code(), text(&output).contains("Broken pipe")), (Some(code), false), "{arguments:?}: {}", text(&output));
        let status = chaos(arguments).stdout(unread()).stderr(unread()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?} without standard error");
    }
}

const THREE_MISTAKES: &str = r#"
name = "three"
about = "Three mistakes."

[cluster]
kafka = "4.3.0"
nodes = 3

[[topic]]
name = "orders"
partitions = 3
replication = 3

[[producers]]
name = "steady"
topics = ["orderz"]
rate = "10/s"

[phases]
steady = "5 parsecs"
durtion = "10s"
"#;

const NODE_9_OF_3: &str = r#"
name = "node-9"
about = "A step for a node that does not exist."

[cluster]
kafka = "4.3.0"
nodes = 3

[[topic]]
name = "orders"
partitions = 3
replication = 3

[[producers]]
name = "steady"
topics = ["orders"]
rate = "10/s"

[phases]
steady = "5s"
recovery = "5s"

[[step]]
at = "0s"
kill = { broker = 9 }
"#;
