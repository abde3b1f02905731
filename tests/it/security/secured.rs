//! A secured cluster of one node, runs on it, and `chaos trace` with what it takes to get in.

use std::path::PathBuf;
use std::sync::Arc;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{AccessParts, Cluster, DockerCluster};
use kafka_chaos::ids::HostPort;
use kafka_chaos::plan;
use kafka_chaos::run::{Request, Stop, run};
use kafka_chaos::ui::{Screen, Style};
use serde_json::Value;

use crate::program::{Results, chaos};
use crate::support::{run_id, up_options};

/// The cluster.
pub(super) struct Secured {
    pub(super) cluster: Arc<DockerCluster>,
    folder: tempfile::TempDir,
    security: String,
    config: String,
}

/// A plan for one node whose listeners are secured like this.
pub(super) fn plan_text(security: &str, config: &str, recovery: &str) -> String {
    format!(
        r#"
name = "secured"
[cluster]
nodes = 1
config = {{ {config} }}
[cluster.security]
{security}
[[topic]]
name = "orders"
partitions = 2
replication = 1
[[producers]]
name = "steady"
count = 2
topics = ["orders"]
rate = "20/s"
config = {{ "metadata.max.age.ms" = 1000 }}
[audit]
within = "5s"
[phases]
warmup = "2s"
steady = "2s"
recovery = "{recovery}"
[[step]]
at = "0s"
add-partitions = {{ topic = "orders", to = 4 }}
"#
    )
}

impl Secured {
    pub(super) async fn up(test: &str, security: &str, config: &str) -> Self {
        let (security, config) = (security.to_owned(), config.to_owned());
        let checked = plan::parse("secured.toml", &plan_text(&security, &config, "1s")).unwrap();
        let cluster = DockerCluster::up(&checked.plan.cluster, &run_id(test), &up_options()).await.unwrap();
        Self { cluster: Arc::new(cluster), folder: tempfile::tempdir().unwrap(), security, config }
    }

    /// A run on it that lasts so long behind its step.
    pub(super) async fn run(&self, recovery: &str) -> Results {
        let clock = Clock::real();
        let checked = plan::parse("secured.toml", &plan_text(&self.security, &self.config, recovery)).unwrap();
        let out = self.folder.path().join(format!("run-{recovery}"));
        let request = Request {
            plan: checked.plan,
            warnings: Vec::new(),
            out: Some(out.clone()),
            keep: false,
            reuse: false,
            lent: Some(Arc::clone(&self.cluster)),
            request_log: false,
            metrics: None,
        };
        let screen = Screen::new(Style::Lines, false, clock.clone());
        let ended = run(&request, &screen, &clock, &Stop::default()).await.unwrap();
        drop(ended);
        Results::in_folder(&out)
    }

    pub(super) fn broker(&self) -> HostPort {
        self.cluster.bootstrap().remove(0)
    }

    pub(super) fn parts(&self) -> AccessParts {
        self.cluster.access().parts.unwrap()
    }

    /// What Kafka's own tools would take by `--command-config`, right in all.
    pub(super) fn client_properties(&self) -> String {
        let AccessParts { authority, certificate, credentials } = self.parts();
        let mut lines = vec![format!("security.protocol={}", self.cluster.access().clients.protocol())];
        if let Some(authority) = authority {
            lines.extend(["ssl.truststore.type=PEM".to_owned(), format!("ssl.truststore.location={}", self.write("ca.pem", &authority))]);
        }
        if let Some(certificate) = certificate {
            let both = format!("{}{}", certificate.key.expose(), certificate.chain);
            lines.extend(["ssl.keystore.type=PEM".to_owned(), format!("ssl.keystore.location={}", self.write("client.pem", &both))]);
        }
        if let Some(credentials) = credentials {
            let (user, password) = (&credentials.user, credentials.password.expose());
            lines.push(format!("sasl.mechanism={}", credentials.mechanism.name()));
            lines.push(format!("sasl.jaas.config=any.LoginModule required username=\"{user}\" password=\"{password}\";"));
        }
        lines.join("\n") + "\n"
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// What `chaos trace` answers with these properties, and its exit code.
    pub(super) fn trace(&self, properties: Option<&str>, with_controllers: bool) -> (Option<i32>, Value) {
        let broker = self.broker().to_string();
        let controllers: Vec<String> = self.cluster.nodes().iter().filter_map(|node| Some(node.controller_listener?.to_string())).collect();
        let controllers = controllers.join(",");
        let mut arguments = vec!["trace", "--json", "--bootstrap", &broker];
        if with_controllers {
            arguments.extend(["--controller", &controllers]);
        }
        let path = properties.map(|text| self.write("client.properties", text));
        if let Some(path) = &path {
            arguments.extend(["--command-config", path]);
        }
        let output = chaos(&arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let picture =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code(), picture)
    }
}

/// A run has passed, or would have if this machine had had time for it.
pub(super) fn assert_passed(run: &Value) {
    let reasons: Vec<&str> = run["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
    let was_busy = run["verdict"] == "UNKNOWN" && reasons.iter().all(|reason| reason.starts_with("the load generator was late"));
    assert!(run["verdict"] == "PASS" || was_busy, "{}: {reasons:?}", run["verdict"]);
    let totals = &run["totals"];
    assert!(totals["ok"].as_u64() > Some(0) && totals["ok"] == totals["due"], "{totals:#}");
}
