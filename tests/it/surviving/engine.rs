//! The container engine restarts under a run. Its own engine, beside the machine's, which others use.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kafka_chaos::cluster::daemon::Daemon;
use kafka_chaos::cluster::image;

use super::{assert_unknown, ended, one_node};
use crate::program::{Results, Running, chaos, left_of_at, signal};
use crate::support::{self, KAFKA};

/// Looks at the engine's socket, 100 ms apart, until it answers or is gone.
const LOOKS: u32 = 300;

/// What becomes of containers when their engine ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    LiveOn,
    End,
}

/// A container engine of this test's own. Without networks: nodes are on the host's.
struct Engine {
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Engine {
    /// `None` if none can be started here: there is no such program, or it gives up by itself.
    fn start(fate: Fate) -> Option<Self> {
        let mut engine = Self { folder: tempfile::tempdir().unwrap(), process: None };
        if engine.up(fate) {
            return Some(engine);
        }
        let has_given_up = engine.process.as_mut().is_none_or(|process| process.try_wait().unwrap().is_some());
        assert!(has_given_up, "the engine lives, but has not answered in time");
        None
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn host(&self) -> String {
        format!("unix://{}", self.path("engine.sock").display())
    }

    /// Starts its process, and waits until it answers.
    fn up(&mut self, fate: Fate) -> bool {
        let log = File::options().create(true).append(true).open(self.path("log")).unwrap();
        let mut dockerd = Command::new("dockerd");
        dockerd.args(["--bridge=none", "--iptables=false", "--ip6tables=false"]);
        dockerd.arg(format!("--live-restore={}", fate == Fate::LiveOn));
        dockerd.arg("--host").arg(self.host());
        for (option, name) in [("--data-root", "data"), ("--exec-root", "exec"), ("--pidfile", "pid")] {
            dockerd.arg(option).arg(self.path(name));
        }
        let Ok(process) = dockerd.stdout(log.try_clone().unwrap()).stderr(log).spawn() else { return false };
        self.process = Some(process);
        self.comes_to(|engine| engine.docker(&["version"]).output().is_ok_and(|output| output.status.success()))
    }

    /// Ends its process as a package's update does.
    fn down(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        signal(&process, "TERM");
        assert!(self.comes_to(|engine| UnixStream::connect(engine.path("engine.sock")).is_err()), "the engine goes on");
        process.wait().unwrap();
    }

    fn comes_to(&self, is_there: impl Fn(&Self) -> bool) -> bool {
        (0..LOOKS).any(|_| {
            is_there(self) || {
                std::thread::sleep(Duration::from_millis(100));
                false
            }
        })
    }

    fn docker(&self, arguments: &[&str]) -> Command {
        let mut docker = Command::new("docker");
        docker.arg("--host").arg(self.host()).args(arguments);
        docker
    }

    /// Gives it an image of the machine's engine.
    fn load(&self, image: &str) {
        let mut saving = Command::new("docker").args(["save", image]).stdout(Stdio::piped()).spawn().unwrap();
        let loaded = self.docker(&["load"]).stdin(saving.stdout.take().unwrap()).output().unwrap();
        assert!(loaded.status.success() && saving.wait().unwrap().success(), "{loaded:?}");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Containers may outlive it, and what is in the middle of a restart when a test fails leaves none that could remove them.
        if self.process.is_some() || self.up(Fate::End) {
            let listed = self.docker(&["ps", "-aq"]).output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
            for container in listed.unwrap_or_default().lines() {
                let _ = self.docker(&["rm", "-f", container]).output();
            }
        }
        self.down();
        // What it mounts it leaves to the next of its kind, and the folder could not be removed.
        for mounted in ["exec/netns/default", "data"] {
            let _ = Command::new("umount").arg(self.path(mounted)).stderr(Stdio::null()).status();
        }
    }
}

fn plan(folder: &Path) -> PathBuf {
    let plan = one_node(folder, "12s", "");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replace("nodes = 1", "nodes = 1\nnetwork = \"host\"")).unwrap();
    plan
}

#[tokio::test]
async fn an_engine_that_restarts_under_a_run_is_survived_with_and_without_its_containers() {
    let Some(_brokers) = support::brokers().await else { return };
    let Some(mut engine) = Engine::start(Fate::LiveOn) else {
        eprintln!("skipped: no container engine of our own can be started here");
        return;
    };
    engine.load(&image::find(&Daemon::connect().await.unwrap(), KAFKA).await.unwrap().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let lived_on = restarted_under_a_run(&mut engine, Fate::LiveOn, &folder.path().join("lived-on"));
    let totals = &lived_on.run["totals"];
    assert!(totals["due"].as_u64() > Some(0) && totals["ok"] == totals["due"], "nobody needs it under load: {totals}");
    assert_eq!(lived_on.run["unplanned"], serde_json::json!([]));
    let states: Vec<String> = lived_on.rows("brokers.csv").into_iter().map(|mut row| row.remove("state").unwrap()).collect();
    assert!(states.iter().any(String::is_empty) && states.iter().any(|state| state == "running"), "unknown while it was away: {states:?}");

    engine.down();
    assert!(engine.up(Fate::End));
    let ended = restarted_under_a_run(&mut engine, Fate::End, &folder.path().join("ended"));
    assert_unknown(&ended, "the container of node 1 ended (seen at");
}

/// A run whose engine goes away for some seconds of the load. Nothing is left of it.
fn restarted_under_a_run(engine: &mut Engine, fate: Fate, folder: &Path) -> Results {
    std::fs::create_dir(folder).unwrap();
    let (plan, out) = (plan(folder), folder.join("out"));
    let mut program = chaos(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    let mut running = Running::of(program.env("DOCKER_HOST", engine.host()));
    running.wait_for("steady");
    engine.down();
    running.wait_for("sent");
    assert!(engine.up(fate));
    let results = ended(&mut running, &out);
    assert_eq!(left_of_at(&engine.host(), &results.run), [""; 0]);
    results
}
