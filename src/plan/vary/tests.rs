//! Cells of a plan: every combination once, each checked.

use super::*;

const PLAN: &str = r#"name = "p"

[[topic]]
name = "orders"
partitions = 6
replication = 3

[[producers]]
name = "steady"
topics = ["orders"]
rate = "10/s"
config = { "metadata.max.age.ms" = 2000 }

[phases]
recovery = "10s"
"#;

const AGE: &str = "producers.*.config.\"metadata.max.age.ms\"=2s,10s";

fn vary(text: &str) -> Change {
    Change::Vary(text.to_owned())
}

fn along(text: &str) -> Change {
    Change::Along(text.to_owned())
}

fn cells_of(changes: &[Change]) -> Result<Vec<Cell>, VaryError> {
    cells("p.toml", PLAN, changes)
}

fn error_of(changes: &[Change]) -> String {
    cells_of(changes).unwrap_err().render(false)
}

#[test]
fn every_combination_is_a_plan_of_its_own() {
    let cells = cells_of(&[vary(AGE), along("phases.recovery=12s,20s"), vary("topic.orders.partitions=3,6,12")]).unwrap();
    let names: Vec<&str> = cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["2s, 3", "2s, 6", "2s, 12", "10s, 3", "10s, 6", "10s, 12"]);
    let last = &cells[5];
    let plan = &last.checked.plan;
    assert_eq!(plan.producers[0].config["metadata.max.age.ms"], "10000");
    assert_eq!((plan.phases.recovery.as_secs(), plan.topics[0].partitions), (20, 12));
    let settings: Vec<(&str, &str)> = last.settings.iter().map(|setting| (setting.path.as_str(), setting.value.as_str())).collect();
    assert_eq!(
        settings,
        [("producers.*.config.\"metadata.max.age.ms\"", "10s"), ("phases.recovery", "20s"), ("topic.orders.partitions", "12")]
    );
    assert!(plan.source.text.contains("\"metadata.max.age.ms\" = 10000"), "{}", plan.source.text);
    let hashes: BTreeSet<&str> = cells.iter().map(|cell| cell.checked.plan.source.sha256.as_str()).collect();
    assert_eq!((hashes.len(), plan.source.path.as_str()), (6, "p.toml"));
}

#[test]
fn without_a_change_the_plan_is_the_only_cell() {
    let cells = cells_of(&[]).unwrap();
    assert_eq!((cells.len(), cells[0].checked.plan.source.text.as_str()), (1, PLAN));
}

#[test]
fn a_key_with_one_value_is_set_and_is_in_no_name() {
    let cells = cells_of(&[vary("cluster.kafka=4.0.2"), vary("topic.orders.partitions=3,6")]).unwrap();
    assert_eq!(cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>(), ["3", "6"]);
    assert!(cells.iter().all(|cell| cell.checked.plan.cluster.kafka == "4.0.2" && cell.settings.len() == 2));
}

#[test]
fn wrong_arguments_are_told() {
    let rows = [
        (vec![vary("topic.orders.partitions")], "there is no `=` after the path"),
        (vec![vary("topic..partitions=1")], "a part between two dots is empty"),
        (vec![vary("topic.orders.partitions=1,,2")], "a value is empty"),
        (vec![vary("topic.orders.partitions=3,6,3")], "the value `3` is there twice"),
        (vec![along("phases.recovery=1s")], "there is no --vary before it"),
        (vec![vary(AGE), along("phases.recovery=1s")], "it has 1 values, and `producers.*.config.\"metadata.max.age.ms\"`, which"),
        (vec![vary("seed=1,2"), vary("seed=3,4")], "`seed` varies already"),
    ];
    for (changes, expected) in rows {
        let said = error_of(&changes);
        assert!(said.contains(expected), "{changes:?}: {said}");
    }
    let many: String = (0..=CELLS_MAX).map(|seed| format!(",{seed}")).collect();
    assert!(error_of(&[vary(&format!("seed={}", &many[1..]))]).starts_with("error: 101 combinations"));
}

#[test]
fn all_paths_that_lead_nowhere_are_told_once() {
    let said = error_of(&[vary("topic.oders.partitions=3,6"), vary("phases.recovry=1s,2s")]);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines.iter().any(|line| line.contains("did you mean `orders`")) && said.contains("did you mean `recovery`"), "{said}");
}

#[test]
fn problems_of_every_cell_are_told_with_the_cell() {
    let said = error_of(&[vary("topic.orders.partitions=3,0,many"), along("phases.recovery=5s,5s,5 parsecs")]);
    for part in ["p.toml with 0:5:14", "p.toml with many:5:14", "5 parsecs"] {
        assert!(said.contains(part), "{part} is not in:\n{said}");
    }
    assert!(!said.contains("with 3:"), "{said}");
}
