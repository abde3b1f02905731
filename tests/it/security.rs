//! Runs and `chaos trace` on real brokers whose listeners are secured: who gets in, who does not and is told why, and that no secret is left anywhere.

mod acl;
mod nowhere;
mod refusals;
mod secured;

use kafka_chaos::cluster::Cluster;

use self::secured::Secured;
use crate::support;

/// What a plan says of each way, and of the brokers' properties; and whether `chaos trace` can read the controllers' log with what brokers ask for.
const WAYS: [(&str, &str, bool); 4] = [
    ("protocol = \"SSL\"\nvalid = \"60s\"", "", true),
    ("protocol = \"SASL_PLAINTEXT\"\nmechanism = \"PLAIN\"\nuser = \"load\"", acl::AUTHORIZER, true),
    ("protocol = \"SASL_SSL\"\nmechanism = \"SCRAM-SHA-256\"", "", false),
    ("protocol = \"SASL_SSL\"\nmechanism = \"SCRAM-SHA-512\"", "", false),
];

#[tokio::test(flavor = "multi_thread")]
async fn with_each_way_of_securing_a_run_passes_and_trace_answers() {
    let Some(_guard) = support::brokers().await else { return };
    for (security, config, log_is_read) in WAYS {
        eprintln!("{security}");
        let secured = Secured::up("secured", security, config).await;
        let results = secured.run("2s").await;
        secured::assert_passed(&results.run);
        assert_eq!(results.run["probes"]["gave_up"], serde_json::json!([]));
        let layers: std::collections::BTreeSet<String> = results.rows("layers.csv").into_iter().map(|row| row["layer"].clone()).collect();
        for layer in ["detected", "committed", "fetched", "broker_cache", "servable", "client_cache", "route", "delivery"] {
            assert!(layers.contains(layer), "nothing is told of {layer}: {layers:?}");
        }

        let properties = secured.client_properties();
        let traced = secured.trace(Some(&properties), log_is_read);
        assert_eq!(traced.0, Some(0), "{:#}", traced.1);
        assert_eq!(traced.1["controller_log_offset"].is_number(), log_is_read, "{:#}", traced.1);
        let node = &traced.1["nodes"][0];
        assert_eq!(node["node"], 1, "{:#}", traced.1);
        match secured.cluster.access().clients.protocol() {
            "SSL" => refusals::of_certificates(&secured).await,
            "SASL_PLAINTEXT" => {
                refusals::of_passwords(&secured).await;
                acl::a_right_that_is_taken_away_in_mid_run_ends_in_clear_errors(&secured).await;
            }
            _ => refusals::of_either(&secured).await,
        }
        secured.cluster.down().await.unwrap();
    }
}
