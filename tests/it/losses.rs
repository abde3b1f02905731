//! Shipped plans on what acknowledgements are worth, on real brokers of three versions: what is lost, and where.
//!
//! Judged by what the audit found, not by the verdict: an unoptimised program on a busy machine may be late, and says UNKNOWN then.

use std::path::Path;

use serde_json::Value;

use crate::audit;
use crate::program::{Results, left_of, run_plan};
use crate::support;

fn run(plan: &str, kafka: &str) -> Results {
    let plan = Path::new(env!("CARGO_MANIFEST_DIR")).join("plans").join(plan);
    let results = run_plan(&plan, &["--kafka", kafka]);
    assert_eq!(left_of(&results.run), [""; 0]);
    audit::everything_was_read(&results);
    results
}

/// What a group has lost.
fn lost(results: &Results, group: &str) -> u64 {
    let groups = results.run["audit"]["groups"].as_array().unwrap();
    groups.iter().find(|audited| audited["name"] == group).unwrap()["lost"].as_u64().unwrap()
}

/// The places where most was lost.
fn places(results: &Results) -> &Vec<Value> {
    results.run["audit"]["lost"].as_array().unwrap()
}

#[tokio::test]
async fn one_acknowledgement_is_worth_nothing_when_the_leader_dies() {
    let Some(_brokers) = support::brokers().await else { return };
    let results = run("acks-1-loss.toml", "3.9.2");
    // 200 records a second while the follower is frozen and the leader lives.
    let steps = results.rows("steps.csv");
    let time_ms = |action: &str, column: &str| steps.iter().find(|step| step["action"] == action).unwrap()[column].parse::<f64>().unwrap();
    let most = 0.2 * (time_ms("kill", "acknowledged_ms") - time_ms("pause", "requested_ms")) + 40.0;
    let least = 0.2 * (time_ms("kill", "requested_ms") - time_ms("pause", "acknowledged_ms")) * 0.75;
    let lost_by_hasty = u32::try_from(lost(&results, "hasty")).unwrap();
    assert!((least..=most).contains(&f64::from(lost_by_hasty)), "{lost_by_hasty}, not {least} to {most}: {}", results.stdout);
    assert_eq!(lost(&results, "patient"), 0, "{}", results.stdout);
    let place = &places(&results)[0];
    assert_eq!((&place["topic"], &place["leader"], &place["is_unclean"]), (&"hasty".into(), &2.into(), &false.into()), "{place}");
    let sum: u64 = results.rows("lost.csv").iter().map(|row| row["records"].parse::<u64>().unwrap()).sum();
    assert_eq!(sum, lost(&results, "hasty"), "lost.csv tells each of them");
}

#[tokio::test]
async fn an_unclean_election_loses_what_all_had_acknowledged_and_says_so() {
    let Some(_brokers) = support::brokers().await else { return };
    let results = run("unclean-election.toml", "4.0.2");
    assert!(lost(&results, "unclean") > 100, "{}", results.stdout);
    assert_eq!(lost(&results, "clean"), 0, "{}", results.stdout);
    for place in places(&results) {
        assert_eq!((&place["topic"], &place["leader"], &place["is_unclean"]), (&"unclean".into(), &2.into(), &true.into()), "{place}");
        assert!(place["in_words"].as_str().unwrap().contains("although it was not in sync"), "{place}");
    }
}

#[tokio::test]
async fn a_full_log_directory_loses_nothing_and_stalls_what_it_only_follows() {
    let Some(_brokers) = support::brokers().await else { return };
    let results = run("disk-full.toml", "4.3.0");
    assert_eq!((lost(&results, "steady"), &results.run["totals"]["failed"]), (0, &0.into()), "{}", results.stdout);
    let longest = results.run["outside_steps"][0]["outage_ms"]["max"].as_i64().unwrap();
    assert!((25_000..50_000).contains(&longest), "as long as the replicas stay in the ISR: {longest} ms");
}
