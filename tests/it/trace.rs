//! `chaos trace` against a real cluster that is well, has a broker that hangs and one that is cut off, and loses its majority: the right sentence, in time.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Output;
use std::time::{Duration, Instant};

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{Cluster, DockerCluster};
use kafka_chaos::ids::{BrokerId, HostPort};
use kafka_chaos::kafka::admin::{Admin, NewTopic, Placement};
use kafka_chaos::plan::model::Layout;
use serde_json::Value;

use crate::program::{Running, chaos, signal};
use crate::support::{self, KAFKA, cluster_spec, run_id, up_options};

/// Topics of the large cluster, each with one partition.
const TOPICS: usize = 1_000;
/// Topics that are made with one request.
const AT_ONCE: usize = 250;
/// What an answer may take when all is well, and when nodes are dead or silent.
const WELL: Duration = Duration::from_secs(2);
const AT_WORST: Duration = Duration::from_secs(5);

/// An answer of the program.
struct Answer {
    code: Option<i32>,
    picture: Value,
    took: Duration,
}

impl Answer {
    fn causes(&self) -> Vec<&str> {
        self.picture["findings"].as_array().unwrap().iter().map(|finding| finding["cause"].as_str().unwrap()).collect()
    }

    fn sentence(&self) -> &str {
        self.picture["sentence"].as_str().unwrap()
    }

    /// Fails unless it came in time with this code, cause and words.
    fn expect(&self, what: &str, within: Duration, code: i32, cause: &str, words: &str) {
        eprintln!("  {what}: {:?}, exit {:?}: {}", self.took, self.code, self.sentence());
        eprintln!("    next: {}", self.picture["next"].as_str().unwrap());
        assert!(self.took < within, "{what}: took {:?}", self.took);
        assert_eq!(self.code, Some(code), "{what}: {:#}", self.picture);
        assert_eq!(self.causes().first().copied().unwrap_or(""), cause, "{what}: {:#}", self.picture["findings"]);
        assert!(self.sentence().contains(words), "{what}: {}", self.sentence());
    }
}

#[allow(clippy::disallowed_methods, reason = "times the program from outside")]
fn timed(arguments: &[&str]) -> (Output, Duration) {
    let began = Instant::now();
    let output = chaos(arguments).output().unwrap();
    (output, began.elapsed())
}

fn trace(arguments: &[&str]) -> Answer {
    let (output, took) = timed(&[&["trace", "--json"], arguments].concat());
    let text = String::from_utf8_lossy(&output.stdout);
    let picture = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)));
    Answer { code: output.status.code(), picture, took }
}

fn joined<T: ToString>(addresses: &[T]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Asks until the first finding is this one: what the cluster itself needs time for.
async fn until(arguments: &[&str], cause: &str) -> Answer {
    for _ in 0..40 {
        let answer = trace(arguments);
        assert!(answer.took < AT_WORST, "took {:?} while waiting for {cause}", answer.took);
        if answer.causes().first() == Some(&cause) {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    panic!("no {cause}");
}

/// Waits until nothing is wrong any more: a thousand topics take their time, on a slow machine all the more.
async fn settled(arguments: &[&str]) {
    for _ in 0..60 {
        let answer = trace(arguments);
        assert!(answer.took < AT_WORST, "took {:?} while waiting for the cluster", answer.took);
        if answer.code == Some(0) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("the cluster has not become well: {:#}", trace(arguments).picture["findings"]);
}

/// Topics with one replica, spread over the nodes, and `orders` with one on each.
async fn fill(bootstrap: Vec<HostPort>) {
    let admin = Admin::new(bootstrap, "test-admin", Clock::real()).with_call_timeout(Duration::from_secs(60));
    let on = |name: &str, brokers: &[i32]| NewTopic {
        name: name.into(),
        placement: Placement::Assigned(vec![brokers.iter().copied().map(BrokerId).collect()]),
        config: BTreeMap::new(),
    };
    let mut topics: Vec<NewTopic> = (1..TOPICS).map(|index| on(&format!("topic-{index}"), &[[1], [2], [3]][index % 3])).collect();
    topics.push(on("orders", &[3, 1, 2]));
    for some in topics.chunks(AT_ONCE) {
        admin.create_topics(some).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_layer_is_asked_and_the_stuck_one_named() {
    let Some(_guard) = support::brokers().await else { return };
    let mut spec = cluster_spec(KAFKA, Layout::Combined { nodes: 3 });
    spec.links.nodes = true;
    let cluster = DockerCluster::up(&spec, &run_id("trace"), &up_options()).await.unwrap();
    let bootstrap = joined(&cluster.bootstrap());
    let controllers: Vec<_> = cluster.nodes().iter().filter_map(|node| node.controller_listener).collect();
    let controllers = joined(&controllers);
    fill(cluster.bootstrap()).await;
    healthy(&bootstrap, &controllers).await;

    // Without an election among the controllers less has to be waited for.
    let active = trace(&["--bootstrap", &bootstrap]).picture["quorum"]["leader"].as_i64().unwrap();
    let [other, killed] = [[2, 3], [1, 3], [1, 2]][usize::try_from(active).unwrap() - 1];
    a_broker_hangs(&cluster, &bootstrap, other).await;

    cluster.cut_links(BrokerId(other), &[BrokerId(i32::try_from(active).unwrap())]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    let cut = trace(&["--bootstrap", &bootstrap]);
    cut.expect("a link is cut", AT_WORST, 1, "not_fetching", &format!("Broker {other} no longer fetches the controller's log"));

    cluster.kill(BrokerId(killed)).await.unwrap();
    let stuck = until(&["--bootstrap", &bootstrap, "--controller", &controllers], "no_active_controller").await;
    stuck.expect("no majority", AT_WORST, 1, "no_active_controller", "There is no active controller");
    assert_eq!(stuck.picture["quorum"], Value::Null, "nobody could tell");
    cluster.down().await.unwrap();
}

/// Pauses a broker until it is fenced, and a little longer, while somebody watches.
async fn a_broker_hangs(cluster: &DockerCluster, bootstrap: &str, paused: i32) {
    let all = ["--bootstrap", bootstrap];
    // Nobody reads before the end, so all that is told must fit into the pipe: of one topic it does.
    let mut watching = Running::start(&["trace", "--bootstrap", bootstrap, "--topic", "orders", "--watch", "--json"]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster.pause(BrokerId(paused)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    trace(&all).expect("a paused broker", AT_WORST, 1, "undetected", &format!("Broker {paused} does not answer (silent"));

    let fenced = until(&all, "no_leader_all_replicas_down").await;
    let words = "have no leader: all replicas are down";
    fenced.expect("it is fenced", AT_WORST, 1, "no_leader_all_replicas_down", words);
    assert_eq!(fenced.picture["findings"][0]["partition_count"], (TOPICS - 1) / 3);
    let one = until(&["--bootstrap", bootstrap, "--topic", "orders"], "down").await;
    one.expect("it is fenced, by a topic that has other replicas", AT_WORST, 1, "down", &format!("Broker {paused} is down"));
    assert!(one.causes().contains(&"out_of_sync"), "{:?}", one.causes());

    cluster.unpause(BrokerId(paused)).await.unwrap();
    settled(&all).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    watched(&mut watching, paused);
}

async fn healthy(bootstrap: &str, controllers: &str) {
    let all = ["--bootstrap", bootstrap, "--controller", controllers];
    settled(&all).await;
    let answer = trace(&all);
    answer.expect("1,000 topics, healthy", WELL, 0, "", "1,000 partitions in 1,000 topics");
    assert_eq!((answer.picture["partitions_seen"].as_u64(), answer.picture["partitions_notable"].as_u64()), (Some(1_000), Some(0)));
    let active = answer.picture["controllers"].as_array().unwrap().iter().filter(|controller| controller["active"] == true);
    assert_eq!(active.count(), 1, "{:#}", answer.picture["controllers"]);

    let one = trace(&["--bootstrap", bootstrap, "--topic", "orders"]);
    one.expect("one topic", WELL, 0, "", "1 partition in 1 topic");
    assert_eq!(one.picture["partitions"][0]["versions"].as_array().unwrap().len(), 1);
    assert_eq!(one.picture["partitions"][0]["elr"], serde_json::json!([]), "asked for, and nobody is");
    let missing = trace(&["--bootstrap", bootstrap, "--topic", "ordrs"]);
    missing.expect("a topic that does not exist", WELL, 1, "unknown_topic", "knows a topic `ordrs`");
    let beyond = trace(&["--bootstrap", bootstrap, "--topic", "orders", "--partition", "9"]);
    beyond.expect("a partition that does not exist", WELL, 1, "unknown_partition", "knows this partition of it");
    let first = controllers.split(',').next().unwrap();
    let wrong = trace(&["--bootstrap", first]);
    wrong.expect("a controller's listener as bootstrap", AT_WORST, 3, "nobody_answers", "does not answer as a broker");
    assert!(wrong.picture["next"].as_str().unwrap().contains("--controller"), "{:#}", wrong.picture);
}

/// Ends a watch with Ctrl-C, and reads what it has told.
fn watched(watching: &mut Running, paused: i32) {
    watching.signal("INT");
    let (status, stdout) = watching.end();
    assert_eq!(status.code(), Some(130), "{stdout}");
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["kind"], "picture", "{stdout}");
    let told: Vec<&str> = lines.iter().filter_map(|line| line["text"].as_str()).collect();
    for part in [
        format!("node {paused}: answers yes -> silent"),
        format!("node {paused}: fenced no -> yes"),
        format!("now: Broker {paused} does not answer"),
        "now: All that was asked agrees".to_owned(),
    ] {
        assert!(told.iter().any(|text| text.contains(&part)), "no `{part}` in {told:#?}");
    }
}

#[test]
fn where_nobody_is_it_says_so_within_its_time() {
    let (output, took) = timed(&["trace", "--bootstrap", "127.0.0.1:1,[::1]:1"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(text.starts_with("UNREACHABLE\nNone of the 2 addresses answers as a broker: 127.0.0.1:1 (no connection)"), "{text}");
    assert!(took < AT_WORST, "{took:?}");
}

/// A reader that stands still, such as a pager or a terminal after Ctrl-S.
#[test]
fn a_watch_that_nobody_reads_from_ends_with_a_signal_all_the_same() {
    for name in ["INT", "TERM"] {
        let (_reader, mut full) = UnixStream::pair().unwrap();
        full.set_nonblocking(true).unwrap();
        while full.write(&[0; 4_096]).is_ok() {}
        full.set_nonblocking(false).unwrap();
        let mut watch = chaos(&["trace", "--bootstrap", "127.0.0.1:1", "--watch"]);
        let mut watching = watch.stdout(OwnedFd::from(full)).spawn().unwrap();
        // By then it has asked, and waits with its page.
        std::thread::sleep(Duration::from_secs(2));
        signal(&watching, name);
        let ended = (0..100).find_map(|_| {
            std::thread::sleep(Duration::from_millis(100));
            watching.try_wait().unwrap()
        });
        let _ = watching.kill();
        assert_eq!(ended.and_then(|status| status.code()), Some(130), "{name}");
    }
}

#[test]
fn its_arguments_are_checked() {
    let rows: [&[&str]; 6] = [
        &[],
        &["--bootstrap", "nonsense"],
        &["--bootstrap", "a:1", "--partition", "1"],
        &["--bootstrap", "a:1", "--topic", "t", "--partition", "-1"],
        &["--bootstrap", "a:1", "--controller", "b"],
        &["--bootstrap", "a:1", "--command-config", "no/such/file"],
    ];
    for arguments in rows {
        let output = chaos(&[&["trace"], arguments].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn what_a_file_of_properties_has_wrong_is_told_without_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.properties");
    std::fs::write(&path, "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=pencil\n").unwrap();
    let output = chaos(&["trace", "--bootstrap", "a:1", "--command-config", path.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("client.properties: cannot be followed") && said.contains("`sasl.jaas.config` does not read"), "{said}");
    assert!(!said.contains("pencil"), "{said}");
}
