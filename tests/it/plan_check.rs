//! What `plan::parse` says of wrong plans: each kind of problem once, several at a time, and never a panic.

use std::fmt::Write as _;

use kafka_chaos::plan::model::{Action, Condition, Down, LinkNeeds, Load, Target, TopicList};
use kafka_chaos::plan::{self, Problems, Severity};
use proptest::prelude::*;

/// A plan without problems, which each case spoils in one place.
pub(crate) const BASE: &str = r#"name = "base"
about = "A plan to spoil."
seed = 7

[cluster]
kafka = "4.3.0"
nodes = 3
memory = "768 MiB"
config = { "broker.session.timeout.ms" = 9000 }

[[topic]]
name = "orders"
partitions = 6
replication = 3
config = { "min.insync.replicas" = 2 }

[[topic]]
name = "audit"
count = 3
partitions = 1
replication = 1

[[producers]]
name = "steady"
count = 5
topics = ["orders"]
rate = "20/s"
arrivals = "poisson"
record = { size = "100 B", keys = 10 }
active = { from = "0s", until = "end" }
config = { acks = "all" }

[phases]
warmup = "5s"

[[step]]
at = "0s"
kill = { broker = 2 }

[[step]]
at = "10s"
start = { broker = 2 }

[[step]]
at = "20s"
rolling = { restart = "kill", then = "isr-full", within = "60s" }

[[expect]]
metric = "records.failed"
is = "== 0"
"#;

pub(crate) fn problems(text: &str) -> Problems {
    match plan::parse("plan.toml", text) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    }
}

/// Spoils the base by each pair and shows what is said. Each case has exactly one problem: consequences are not reported.
pub(crate) fn spoiled(cases: &[(&str, &str)]) -> String {
    let mut report = String::new();
    for (from, to) in cases {
        let text = BASE.replacen(from, to, 1);
        assert_ne!(text, BASE, "{from:?} is not in the base, or not spoiled");
        let found = problems(&text);
        assert_eq!(found.iter().count(), 1, "{to:?}:\n{found}");
        assert!(found.iter().all(|problem| !problem.hints.is_empty()), "no hint:\n{found}");
        writeln!(report, "{found}\n").unwrap();
    }
    report
}

pub(crate) const KILL: &str = "kill = { broker = 2 }";
pub(crate) const ROLLING: &str = "rolling = { restart = \"kill\", then = \"isr-full\", within = \"60s\" }";

#[test]
fn the_base_has_no_problem() {
    assert!(problems(BASE).is_empty(), "{}", problems(BASE));
}

#[test]
fn three_mistakes_are_all_shown() {
    let text = BASE.replacen("rate = \"20/s\"", "rte = \"20/s\"", 1).replacen("warmup = \"5s\"", "warmup = 5", 1).replacen(
        "start = { broker = 2 }",
        "start = { broker = 9 }",
        1,
    );
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn mistakes_of_syntax_and_of_meaning_are_shown_together() {
    let text = BASE.replacen("rate = \"20/s\"", "rate = 20/s", 1).replacen("seed = 7", "seed = 7\nseed = 8", 1).replacen(
        "kill = { broker = 2 }",
        "kill = { broker = 9 }",
        1,
    );
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn broken_structure_is_reported_alone() {
    let text = BASE.replacen("topics = [\"orders\"]", "topics = [\"orders\"", 1).replacen("seed = 7", "sed = 7", 1);
    insta::assert_snapshot!(problems(&text));
    assert_eq!(problems("").iter().count(), 2, "name and producers are missing:\n{}", problems(""));
}

#[test]
fn whole_plan() {
    insta::assert_snapshot!(spoiled(&[
        ("name = \"base\"\n", ""),
        ("name = \"base\"", "name = \"my plan\""),
        ("name = \"base\"", "name = 3"),
        ("seed = 7", "seed = -7"),
        ("[phases]", "[phase]"),
        ("[[expect]]", "[expect]"),
        ("warmup = \"5s\"", "warmup = \"5\""),
        ("warmup = \"5s\"", "warmup = \"25h\""),
        ("warmup = \"5s\"", "warm-up = \"5s\""),
        ("warmup = \"5s\"", "steady = \"0s\""),
        ("warmup = \"5s\"", "recovery = \"0s\""),
    ]));
}

#[test]
fn cluster() {
    insta::assert_snapshot!(spoiled(&[
        ("kafka = \"4.3.0\"", "kafka = \"4.3\""),
        ("kafka = \"4.3.0\"", "kafka = \"3.8.1\""),
        ("kafka = \"4.3.0\"", "kafka = 4.3"),
        ("nodes = 3", "nodes = \"3\""),
        ("nodes = 3", "nodes = 0"),
        ("nodes = 3", "brokers = 3"),
        ("nodes = 3", "nodes = 3\ncontrollers = 1"),
        ("memory = \"768 MiB\"", "memory = \"300 MiB\""),
        ("memory = \"768 MiB\"", "memory = \"768 MIB\""),
        ("memory = \"768 MiB\"", "memory = \"1 MiB\""),
        ("memory = \"768 MiB\"", "network = \"overlay\""),
        ("\"broker.session.timeout.ms\" = 9000", "broker.session.timeout.ms = 9000"),
        ("\"broker.session.timeout.ms\" = 9000", "\"node.id\" = 7"),
        ("\"broker.session.timeout.ms\" = 9000", "a = [1]"),
    ]));
}

#[test]
fn topics() {
    insta::assert_snapshot!(spoiled(&[
        ("name = \"audit\"\ncount = 3", "name = \"orders\""),
        ("partitions = 6\n", ""),
        ("replication = 3\n", ""),
        ("replication = 3", "replication = 4"),
        ("replication = 3", "replication = 1"),
        ("replication = 3", "replication = 3\nassignment = [[1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 3]]"),
        ("replication = 3", "assignment = [[1, 2], [2, 3]]"),
        ("partitions = 6\nreplication = 3", "assignment = [[1, 2], [2, 9]]"),
        ("partitions = 6\nreplication = 3", "assignment = [[1, 2], [2, 2]]"),
        ("partitions = 6\nreplication = 3", "assignment = [[1, 2], [1, 2, 3]]"),
        ("partitions = 6\nreplication = 3", "assignment = []"),
        ("partitions = 6\nreplication = 3", "assignment = [1, [2, 3]]"),
        ("\"min.insync.replicas\" = 2", "\"min.insync.replicas\" = \"two\""),
        ("\"broker.session.timeout.ms\" = 9000", "\"min.insync.replicas\" = 2"),
    ]));
}

#[test]
fn producers() {
    insta::assert_snapshot!(spoiled(&[
        ("topics = [\"orders\"]", "topics = [\"order\"]"),
        ("topics = [\"orders\"]", "topics = [\"audit\", \"audit-1\"]"),
        ("topics = [\"orders\"]", "topics = [\"oders\"]\nmissing = [\"oders\", \"order\"]"),
        ("topics = [\"orders\"]", "topics = [\"orders\"]\nmissing = [\"orders\"]"),
        ("topics = [\"orders\"]", "topics = []"),
        ("topics = [\"orders\"]", "topics = \"orders\""),
        ("topics = [\"orders\"]", "topics = [\"orders\"]\nengine = \"librdkafk\""),
        ("topics = [\"orders\"]", "topics = [\"orders\"]\nshare = 6"),
        ("topics = [\"orders\"]", "topics = [\"orders\"]\nbootstrap = [\"localhost\"]"),
        ("rate = \"20/s\"\n", ""),
        ("rate = \"20/s\"", "rate = \"20\""),
        ("rate = \"20/s\"", "rate = \"0/s\""),
        ("rate = \"20/s\"", "rate = \"max\""),
        ("rate = \"20/s\"\narrivals = \"poisson\"", "rate = \"20/s\"\nclosed = { wait = \"4s\" }"),
        ("rate = \"20/s\"\narrivals = \"poisson\"", "closed = { every = \"1s\" }"),
        ("size = \"100 B\"", "size = \"100\""),
        ("size = \"100 B\"", "size = \"8 B\""),
        ("until = \"end\"", "until = \"0s\""),
        ("active = { from = \"0s\", until = \"end\" }", "active = { from = \"5s\", until = \"15s\" }\nramp = \"10s\""),
        ("until = \"end\"", "until = \"never\""),
        ("acks = \"all\"", "aks = \"all\""),
        ("acks = \"all\"", "acks = 2"),
        ("acks = \"all\"", "\"bootstrap.servers\" = \"x:1\""),
        ("acks = \"all\"", "\"delivery.timeout.ms\" = 1000"),
        ("acks = \"all\"", "\"metrics.num.samples\" = 3"),
        ("[phases]", "[[producers]]\nname = \"steady\"\ntopics = [\"orders\"]\nrate = \"max\"\n[phases]"),
    ]));
}

#[test]
fn targets() {
    insta::assert_snapshot!(spoiled(&[
        (KILL, "kill = { broker = 9 }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = { node = 9 }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = { broker = \"2\" }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = { broker = \"leader-of(order/0)\" }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = { broker = \"leader-of(orders/6)\" }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = { broker = \"leader-of(audit/0)\" }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = { broker = \"contoller\" }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = {}\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "pause = 2\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
        (KILL, "start = { broker = \"random\" }\n[[step]]\nat = \"1s\"\nkill = { broker = 2 }"),
    ]));
}

#[test]
fn steps() {
    insta::assert_snapshot!(spoiled(&[
        ("at = \"20s\"\n", ""),
        (ROLLING, ""),
        (ROLLING, "roling = { restart = \"kill\" }"),
        (ROLLING, "wait = { for = \"5s\" }\ndelete-topic = { topic = \"orders\" }"),
        (ROLLING, "rolling = { restart = \"kill\", grace = \"5s\" }"),
        (ROLLING, "rolling = { within = \"5s\" }"),
        (ROLLING, "rolling = { brokers = [1, 1] }"),
        (ROLLING, "rolling = { brokers = [] }"),
        (ROLLING, "rolling = { brokers = \"some\" }"),
        (ROLLING, "rolling = { then = \"isr-ful\" }"),
        (ROLLING, "restart = { broker = 2, how = \"reboot\" }"),
        (ROLLING, "kill = { broker = 2, grace = \"1s\" }"),
        (ROLLING, "start = { broker = 2 }"),
        (ROLLING, "unpause = { broker = 2 }"),
        ("start = { broker = 2 }", "wait = { for = \"1s\" }\n#"),
        (ROLLING, "add-partitions = { topic = \"orders\", to = 6 }"),
        (ROLLING, "add-partitions = { topic = \"orders\" }"),
        (ROLLING, "create-topic = { name = \"orders\", partitions = 1, replication = 1 }"),
        (ROLLING, "delete-topic = { topic = \"orders\" }\n[[step]]\nat = \"21s\"\nadd-partitions = { topic = \"orders\", to = 9 }"),
        (ROLLING, "wait = { for = \"isr-full\", is = 2 }"),
        (ROLLING, "wait = { for = \"5s\", within = \"6s\" }"),
        (ROLLING, "wait = { for = \"leader-of(orders/0)\", is = 9 }"),
        (ROLLING, "repeat = { times = 2, steps = [] }"),
        (ROLLING, "repeat = { times = 2, steps = [{ at = \"0s\", kill = { broker = 3 } }] }"),
        (ROLLING, "repeat = { times = 2, steps = [{ at = \"0s\", create-topic = { name = \"late\", partitions = 1, replication = 1 } }] }"),
    ]));
}

#[test]
fn links_between_nodes() {
    insta::assert_snapshot!(spoiled(&[
        (ROLLING, "link = { from = 2, to = 9, fault = \"black-hole\" }"),
        (ROLLING, "link = { from = 2, to = 2, fault = \"black-hole\" }"),
        (ROLLING, "link = { from = 2, fault = \"black-hole\" }"),
        (ROLLING, "link = { from = 2, to = 3 }"),
        (ROLLING, "link = { from = \"all\", to = 3, fault = \"black-hole\" }"),
        (ROLLING, "link = { from = \"contoller\", to = 3, fault = \"black-hole\" }"),
        (ROLLING, "link = { from = 2, to = 3, fault = \"blackhole\" }"),
        (ROLLING, "link = { from = 2, to = 3, fault = \"black-hole\", for = \"0s\" }"),
        (ROLLING, "link = { from = 2, to = 3, fault = \"none\" }"),
        (ROLLING, "link = { from = 2, to = \"controller\", fault = \"none\" }"),
        (ROLLING, "repeat = { times = 2, steps = [{ at = \"0s\", link = { from = 2, to = \"all\", fault = \"black-hole\" } }] }"),
        (
            ROLLING,
            "link = { from = 2, to = 3, fault = \"black-hole\" }\n[[step]]\nat = \"21s\"\nlink = { from = 2, to = 3, fault = \"black-hole\", for = \"1s\" }",
        ),
        (
            "start = { broker = 2 }",
            "start = { broker = 2 }\n[[step]]\nat = \"11s\"\nlink = { from = 2, to = 3, fault = \"none\", for = \"1s\" }\n[[step]]\nat = \"1s\"\nlink = { from = 2, to = 3, fault = \"black-hole\" }"
        ),
    ]));
}

#[test]
fn requesters() {
    let of = |keys: &str| format!("[[requesters]]\n{keys}\n[phases]");
    let cases = [
        of("name = \"storm\"\nlist = \"all\""),
        of("name = \"storm\"\nrate = \"5/s\""),
        of("name = \"storm\"\nrate = \"max\"\nlist = \"all\""),
        of("name = \"storm\"\nrate = \"5/s\"\nlist = \"every\""),
        of("name = \"storm\"\nrate = \"5/s\"\nlist = [\"order\"]"),
        of("name = \"storm\"\nrate = \"5/s\"\nlist = []"),
        of("name = \"storm\"\nrate = \"5/s\"\nlist = 5"),
        of("name = \"steady\"\nrate = \"5/s\"\nlist = \"none\""),
        of("name = \"storm\"\nrate = \"5/s\"\nlist = \"none\"\nactive = { from = \"5s\", until = \"5s\" }"),
        of("name = \"storm\"\nrate = \"5/s\"\nlist = \"none\"\ntopics = [\"orders\"]"),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|case| ("[phases]", case.as_str())).collect();
    insta::assert_snapshot!(spoiled(&cases));
    let sound = of("name = \"storm\"\ncount = 20\nrate = \"30/min\"\nlist = [\"audit\", \"orders\"]");
    let text = BASE.replacen("[phases]", &sound, 1).replacen(
        ROLLING,
        "link = { from = \"clients\", to = 2, group = \"storm\", fault = \"reset\" }",
        1,
    );
    let plan = plan::parse("plan.toml", &text).unwrap().plan;
    let [storm] = &plan.requesters[..] else { panic!() };
    assert_eq!((storm.count, storm.rate_per_second), (20, 0.5));
    assert!(matches!(&storm.list, TopicList::Named(topics) if topics.len() == 4));
}

#[test]
fn links_from_clients() {
    let link = |arguments: &str| format!("link = {{ from = \"clients\", {arguments} }}");
    let then = |first: &str, second: &str| format!("{}\n[[step]]\nat = \"21s\"\n{}", link(first), link(second));
    let cases = [
        link("to = 9, delay = \"50ms\""),
        link("to = 2"),
        link("to = 2, fault = \"black-hole\", delay = \"50ms\""),
        link("to = 2, fault = \"reset\", rate = \"64 KiB/s\""),
        link("to = 2, fault = \"slow\""),
        link("to = 2, jitter = \"5ms\", rate = \"64 KiB/s\""),
        link("to = 2, delay = \"5ms\", jitter = \"6ms\""),
        link("to = 2, delay = \"0s\""),
        link("to = 2, rate = \"64 KiB\""),
        link("to = 2, rate = \"0 B/s\""),
        link("to = 2, group = \"stedy\", fault = \"half-open\""),
        link("to = 2, fault = \"none\""),
        link("to = \"leader-of(orders/0)\", fault = \"none\""),
        then("to = 2, fault = \"reset\"", "to = 2, fault = \"reset\", group = \"steady\""),
        then("to = 2, fault = \"reset\"", "to = 2, fault = \"none\", for = \"1s\""),
        "link = { from = 2, to = 3, fault = \"reset\" }".to_owned(),
        "link = { from = 2, to = 3, delay = \"50ms\" }".to_owned(),
        "link = { from = 2, to = 3, fault = \"black-hole\", group = \"steady\" }".to_owned(),
    ];
    let cases: Vec<(&str, &str)> = cases.iter().map(|case| (ROLLING, case.as_str())).collect();
    insta::assert_snapshot!(spoiled(&cases));
    let sound =
        then("to = \"all\", group = \"steady\", delay = \"50ms\", jitter = \"50ms\", rate = \"1 MB/s\"", "to = \"all\", fault = \"none\"");
    let plan = plan::parse("plan.toml", &BASE.replacen(ROLLING, &sound, 1)).unwrap().plan;
    assert_eq!(plan.cluster.links, LinkNeeds { nodes: false, clients: true });
    assert_eq!(plan.steps[2].action.to_string(), "link from clients of steady to all brokers: delay 50ms, jitter 50ms, rate 1000000 B/s");
}

#[test]
fn links_on_the_hosts_network_are_refused() {
    let text = BASE.replacen(ROLLING, "link = { from = 2, to = 3, fault = \"black-hole\" }", 1);
    assert!(problems(&text).is_empty(), "{}", problems(&text));
    let text = text.replacen("nodes = 3", "nodes = 3\nnetwork = \"host\"", 1);
    insta::assert_snapshot!(problems(&text));
}

#[test]
fn a_ramp_that_reaches_into_the_baseline_or_beyond_the_run_is_a_warning() {
    let with = |ramp: &str| problems(&BASE.replacen("rate = \"20/s\"", &format!("rate = \"20/s\"\nramp = \"{ramp}\""), 1)).to_string();
    // The last of five starts after four fifths of it; the warm-up takes 5 s.
    assert_eq!(with("6250ms"), "");
    assert!(with("6500ms").contains("producers of `steady` still start in the baseline"), "{}", with("6500ms"));
    assert!(with("1h").contains("before the last producer of `steady` starts"), "{}", with("1h"));
}

#[test]
fn a_lost_quorum_is_a_warning_and_not_with_dedicated_controllers() {
    let both = BASE.replacen(ROLLING, "kill = { broker = 3 }\n[[step]]\nat = \"20s\"\nkill = { broker = 1 }", 1);
    let checked = plan::parse("plan.toml", &both).unwrap();
    assert_eq!(checked.warnings.count(Severity::Warning), 1);
    insta::assert_snapshot!(checked.warnings);
    let dedicated = both.replacen("nodes = 3", "brokers = 3\ncontrollers = 1", 1);
    assert!(plan::parse("plan.toml", &dedicated).unwrap().warnings.is_empty());
}

#[test]
fn a_plan_becomes_what_it_says() {
    let plan = plan::parse("plan.toml", BASE).unwrap().plan;
    let topics: Vec<&str> = plan.topics.iter().map(|topic| topic.name.as_str()).collect();
    assert_eq!(topics, ["orders", "audit-0", "audit-1", "audit-2"]);
    assert!(matches!(plan.producers[0].load, Load::Open { rate_per_second: 20.0, .. }));
    assert_eq!(plan.producers[0].config["acks"], "all");
    assert!(matches!(plan.steps[0].action, Action::Kill { target: Target::Node(_) }));
    let Action::Rolling { brokers, how, down, then, within } = &plan.steps[2].action else { panic!("{:?}", plan.steps[2]) };
    assert!(brokers.is_empty() && *how == Down::Kill && *then == Some(Condition::IsrFull));
    assert_eq!((down.as_secs(), within.as_secs()), (4, 60));
    assert_eq!(plan.steps[0].line, BASE.lines().position(|line| line == "[[step]]").unwrap() + 1);
    assert_eq!(plan.source.sha256.len(), 64);
}

#[test]
fn a_controller_is_named_as_a_node() {
    let dedicated = BASE.replacen("nodes = 3", "brokers = 3\ncontrollers = 2", 1);
    let text = dedicated.replacen(ROLLING, "kill = { node = 5 }", 1);
    assert_eq!(problems(&text).count(Severity::Error), 0, "{}", problems(&text));
    let found = problems(&dedicated.replacen(ROLLING, "kill = { broker = 5 }", 1));
    insta::assert_snapshot!(found);
}

#[test]
fn steps_are_in_order_of_time_not_of_the_file() {
    let text = BASE.replacen("at = \"0s\"\nkill", "at = \"12s\"\nkill", 1).replacen("at = \"10s\"\nstart", "at = \"13s\"\nstart", 1);
    let text = text.replacen("at = \"20s\"", "at = \"1s\"", 1);
    let plan = plan::parse("plan.toml", &text).unwrap().plan;
    let order: Vec<&str> = plan.steps.iter().map(|step| step.action.name()).collect();
    assert_eq!(order, ["rolling", "kill", "start"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn parse_never_panics_on_a_spoiled_plan(cuts in proptest::collection::vec((0..BASE.len(), 0..12_usize, "[\\PC\n]{0,6}"), 1..6)) {
        let mut text = BASE.to_owned();
        for (at, length, insert) in cuts {
            let start = at.min(text.len());
            let end = (start + length).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, &insert);
            }
        }
        if let Err(problems) = plan::parse("plan.toml", &text) {
            prop_assert!(!problems.render(true).is_empty() && !problems.lines().is_empty());
        }
    }

    #[test]
    fn parse_never_panics_on_swapped_values(from in 0..40_usize, to in 0..40_usize) {
        let mut lines: Vec<&str> = BASE.lines().collect();
        let (from, to) = (from % lines.len(), to % lines.len());
        lines.swap(from, to);
        let _ = plan::parse("plan.toml", &lines.join("\n"));
    }
}
