//! The built program as a child process: its lines as they come, signals to it, what it leaves.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::Value;

/// Longest wait for a line or an end; far above what any of them takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// `chaos` with its arguments, run from the package's root.
pub(crate) fn chaos(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chaos"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).env("NO_COLOR", "1");
    command
}

/// All that a command has said.
pub(crate) fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Sends a signal, such as `INT`.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// A `chaos` that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
    /// All that it has said on standard error so far.
    pub(crate) said: String,
}

impl Running {
    /// Starts `chaos`.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of(&mut chaos(arguments))
    }

    /// Starts a command that is, or becomes, `chaos`.
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (tx, lines) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| tx.send(line)));
        Self { child, lines, said: String::new() }
    }

    /// Waits until a line holds `part`.
    pub(crate) fn wait_for(&mut self, part: &str) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    eprintln!("  {line}");
                    self.said.push_str(&line);
                    self.said.push('\n');
                    if line.contains(part) {
                        return;
                    }
                }
                Err(why @ (RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) => panic!("no `{part}` ({why}) in:\n{}", self.said),
            }
        }
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for the end; the exit status, and what it has printed on standard output.
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            eprintln!("  {line}");
            self.said.push_str(&line);
            self.said.push('\n');
        }
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        (self.child.wait().unwrap(), stdout)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failed test must not leave a cluster: ask for the orderly end, then see to it.
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
            let _ = self.child.wait();
        }
    }
}

/// The cluster of a run that was told to keep it; goes when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept(pub(crate) String);

impl Drop for Kept {
    fn drop(&mut self) {
        let is_down = chaos(&["cluster", "down", &self.0]).status().is_ok_and(|status| status.success());
        assert!(is_down || std::thread::panicking(), "the cluster {} is still there", self.0);
    }
}

/// A finished run with its results.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) folder: PathBuf,
    pub(crate) run: Value,
    pub(crate) code: Option<i32>,
    /// The summary.
    pub(crate) stdout: String,
    /// The progress.
    pub(crate) said: String,
    keep: tempfile::TempDir,
}

/// `run.json` of a run, which may still go on.
pub(crate) fn run_json(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("run.json")).unwrap()).unwrap()
}

impl Results {
    /// What a run has left here.
    pub(crate) fn of(folder: &Path, status: ExitStatus, stdout: String) -> Self {
        let (run, code) = (run_json(folder), status.code());
        Self { run, folder: folder.to_path_buf(), code, stdout, said: String::new(), keep: tempfile::tempdir().unwrap() }
    }

    /// What a run that was no program of its own has left; its code is that of its verdict.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let run = run_json(folder);
        let code = Some(i32::from(run["verdict"] != "PASS"));
        Self { run, folder: folder.to_path_buf(), code, stdout: String::new(), said: String::new(), keep: tempfile::tempdir().unwrap() }
    }
}

/// Runs a plan to its end.
pub(crate) fn run_plan(plan: &Path, more: &[&str]) -> Results {
    let keep = tempfile::tempdir().unwrap();
    let folder = keep.path().join("out");
    let mut arguments = vec!["run", plan.to_str().unwrap(), "--out", folder.to_str().unwrap()];
    arguments.extend(more);
    let mut running = Running::start(&arguments);
    let (status, stdout) = running.end();
    let said = std::mem::take(&mut running.said);
    eprintln!("{stdout}");
    Results { run: run_json(&folder), folder, code: status.code(), stdout, said, keep }
}

impl Results {
    /// The rows of one of its tables, each cell by its column's name.
    pub(crate) fn rows(&self, file: &str) -> Vec<std::collections::BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_path(self.folder.join(file)).unwrap();
        reader.deserialize().map(|row| row.unwrap()).collect()
    }

    /// Leaves the folder for whoever wants to know why; where it is.
    pub(crate) fn leave(self) -> PathBuf {
        self.keep.keep().join("out")
    }

    /// A group of `run.json`.
    pub(crate) fn group(&self, name: &str) -> &Value {
        self.run["groups"].as_array().unwrap().iter().find(|group| group["name"] == name).unwrap()
    }

    /// The text of a file.
    pub(crate) fn text(&self, file: &str) -> String {
        std::fs::read_to_string(self.folder.join(file)).unwrap()
    }
}

/// Containers and networks that carry a run's label.
pub(crate) fn left_of(run: &Value) -> Vec<String> {
    left_of_by(&|| Command::new("docker"), run)
}

/// The same at another container engine.
pub(crate) fn left_of_at(host: &str, run: &Value) -> Vec<String> {
    let docker = || {
        let mut docker = Command::new("docker");
        docker.args(["--host", host]);
        docker
    };
    left_of_by(&docker, run)
}

fn left_of_by(docker: &dyn Fn() -> Command, run: &Value) -> Vec<String> {
    let label = format!("label=io.kafka-chaos.run={}", run["run_id"].as_str().unwrap());
    let list = |arguments: &[&str]| {
        let output = docker().args(arguments).output().unwrap();
        assert!(output.status.success(), "docker {arguments:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let containers = list(&["ps", "-a", "--filter", &label, "--format", "{{.Names}}"]);
    let networks = list(&["network", "ls", "--filter", &label, "--format", "{{.Name}}"]);
    containers.lines().chain(networks.lines()).map(str::to_owned).collect()
}

/// Metadata requests by client id, as the brokers' own request logs have them.
pub(crate) fn requests_in_logs(results: &Results, group: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for row in results.rows("requests.csv").into_iter().filter(|row| row["request"] == "METADATA") {
        if row["client"].strip_prefix(group).is_some_and(|rest| rest.starts_with('-')) {
            *counts.entry(row["client"].clone()).or_default() += row["count"].parse::<u64>().unwrap();
        }
    }
    counts
}
