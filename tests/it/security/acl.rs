//! A right that is taken away while a run goes.

use std::process::Command;

use super::secured::Secured;

/// Properties of brokers that ask who may do what; everybody everything, as long as nobody says otherwise.
pub(super) const AUTHORIZER: &str = r#""authorizer.class.name" = "org.apache.kafka.metadata.authorizer.StandardAuthorizer", "super.users" = "User:ANONYMOUS;User:chaos-node", "allow.everyone.if.no.acl.found" = "true""#;

/// The clients' user must not write any more (nor do anything else with the topic, which has rules of its own from then on).
pub(super) async fn a_right_that_is_taken_away_in_mid_run_ends_in_clear_errors(secured: &Secured) {
    let container = secured.cluster.run_id().container_name(kafka_chaos::ids::BrokerId(1));
    let denying = async {
        // The tool's own start takes longer than the run's baseline; the run goes on long enough behind it.
        let deny = move || {
            let script = format!(
                "KAFKA_OPTS= KAFKA_HEAP_OPTS=-Xmx128M /opt/kafka/bin/kafka-run-class.sh org.apache.kafka.tools.AclCommand --bootstrap-server {container}:9092 --add --deny-principal User:load --operation Write --topic orders"
            );
            Command::new("docker").args(["exec", &container, "/bin/sh", "-c", &script]).output().unwrap()
        };
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        tokio::task::spawn_blocking(deny).await.unwrap()
    };
    let (results, denied) = tokio::join!(secured.run("15s"), denying);
    assert!(denied.status.success(), "{}", String::from_utf8_lossy(&denied.stderr));
    let errors = results.rows("errors.csv");
    let refused = errors.iter().find(|row| row["kind"] == "TopicAuthorizationException").unwrap_or_else(|| panic!("{errors:?}"));
    assert_eq!(refused["code"], "29", "{refused:?}");
    assert!(refused["text"].ends_with("Not authorized to access topics: [orders]"), "{refused:?}");
    let failed = results.run["totals"]["failed"].as_u64().unwrap();
    assert!(failed > 0, "{:#}", results.run["totals"]);
}
