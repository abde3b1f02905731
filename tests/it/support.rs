//! What tests share: permission to use real brokers, one test at a time.

use std::sync::Arc;
use std::time::Duration;

use kafka_chaos::clock::Clock;
use kafka_chaos::cluster::{Progress, ProgressFn, RunId, UpOptions};
use kafka_chaos::plan::model::{ClusterSpec, Layout, LinkNeeds, NetworkMode};
use tokio::sync::{Mutex, MutexGuard};

/// One cluster at a time within this binary; `machine_lock` does the same between binaries.
static BROKERS: Mutex<()> = Mutex::const_new(());

/// Holds the machine's brokers until it is dropped.
#[derive(Debug)]
pub(crate) struct Guard {
    _within: MutexGuard<'static, ()>,
    #[cfg(target_os = "linux")]
    _between: std::os::unix::net::UnixListener,
}

/// Waits for the turn to use real brokers; `None` (and a line that says so) if `CHAOS_TEST_BROKERS` is not 1.
pub(crate) async fn brokers() -> Option<Guard> {
    if std::env::var("CHAOS_TEST_BROKERS").as_deref() != Ok("1") {
        eprintln!("skipped: needs real brokers; set CHAOS_TEST_BROKERS=1 (make test does)");
        return None;
    }
    Some(Guard {
        _within: BROKERS.lock().await,
        #[cfg(target_os = "linux")]
        _between: machine_lock().await,
    })
}

/// A socket in the abstract namespace: only one process can have it, and it goes with the process, however that ends.
#[cfg(target_os = "linux")]
async fn machine_lock() -> std::os::unix::net::UnixListener {
    use std::os::linux::net::SocketAddrExt;
    let address = std::os::unix::net::SocketAddr::from_abstract_name("kafka-chaos-test-brokers").unwrap();
    loop {
        match std::os::unix::net::UnixListener::bind_addr(&address) {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// Kafka's version for tests that need only one.
pub(crate) const KAFKA: &str = "4.3.0";

/// A small cluster for tests.
pub(crate) fn cluster_spec(kafka: &str, layout: Layout) -> ClusterSpec {
    ClusterSpec {
        kafka: kafka.to_owned(),
        layout,
        config: [("broker.session.timeout.ms".to_owned(), "9000".to_owned())].into(),
        memory_bytes: 768 << 20,
        heap_bytes: 384 << 20,
        network: NetworkMode::Bridge,
        joining: 0,
        links: LinkNeeds::default(),
        disk: None,
        security: None,
    }
}

/// Options whose progress goes to standard error, where a failed test shows it.
pub(crate) fn up_options() -> UpOptions {
    UpOptions::new(Clock::real(), print_progress())
}

fn print_progress() -> Arc<ProgressFn> {
    Arc::new(|progress: Progress| eprintln!("{progress}"))
}

/// A run's id that no other test has.
pub(crate) fn run_id(test: &str) -> RunId {
    RunId::new(&format!("test-{test}-{}", RunId::fresh(&Clock::real()))).unwrap()
}
