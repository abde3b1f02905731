//! That no secret is left in results, in what is said, or in anybody's arguments.

use std::path::Path;
use std::process::Stdio;

use super::secured::plan_text;
use crate::program::{chaos, run_json};
use crate::support;

/// Would be found anywhere, and needs every kind of escape on its way to the brokers.
const PASSWORD: &str = "n\"o\\w€here-7f3b9";

/// What may nowhere be found: a part of the password, however it is escaped, and what begins a private key.
const TRACES: [&str; 2] = ["here-7f3b9", "PRIVATE KEY"];

fn arguments_of_all() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().map_while(Result::ok);
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).collect()
}

fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_secret_is_nowhere_to_be_found_after_a_run() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let Some(_guard) = runtime.block_on(support::brokers()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (folder.path().join("secured.toml"), folder.path().join("out"));
    let security = "protocol = \"SASL_SSL\"\nmechanism = \"SCRAM-SHA-512\"\npassword = { env = \"CHAOS_TEST_SECRET\" }";
    // Kafka's own client must be told how to get in, too.
    let java = "[[producers]]\nname = \"java\"\nengine = \"java\"\ntopics = [\"orders\"]\nrate = \"10/s\"\n";
    std::fs::write(&plan, plan_text(security, "", "1s") + java).unwrap();
    // All that can be said is said, and the nodes' logs are saved, too.
    let arguments = ["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap(), "-vvv", "--request-log"];
    let mut child = chaos(&arguments).env("CHAOS_TEST_SECRET", PASSWORD).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let said = child.stderr.take().unwrap();
    let said = std::thread::spawn(move || std::io::read_to_string(said).unwrap());
    let mut seen = Vec::new();
    while child.try_wait().unwrap().is_none() {
        seen.extend(arguments_of_all().into_iter().filter(|line| TRACES.iter().any(|trace| line.contains(trace))));
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let output = child.wait_with_output().unwrap();
    let said = said.join().unwrap();
    // All that tracing may make the load late; what is told then is enough for this.
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{}{}",
        said.lines().last().unwrap_or(""),
        String::from_utf8_lossy(&output.stdout)
    );
    assert_eq!(seen, Vec::<String>::new(), "in the arguments of a process");
    let run = run_json(&out);
    for group in run["groups"].as_array().unwrap() {
        let totals = &group["totals"];
        assert!(totals["ok"].as_u64() > Some(0) && totals["failed"] == 0, "{}: {totals:#}", group["name"]);
    }
    let files = files_below(&out);
    assert!(
        files.iter().any(|file| file.ends_with("run.json")) && files.iter().any(|file| file.starts_with(out.join("logs"))),
        "{files:?}"
    );
    let texts =
        files.into_iter().map(|file| (file.display().to_string(), String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned()));
    let printed = [("stderr".to_owned(), said), ("stdout".to_owned(), String::from_utf8_lossy(&output.stdout).into_owned())];
    for (place, text) in texts.chain(printed) {
        for trace in TRACES {
            assert!(!text.contains(trace), "{trace} is in {place}");
        }
    }
}

#[test]
fn a_password_that_is_not_there_is_told_before_anything_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("secured.toml");
    let security = "protocol = \"SASL_SSL\"\nmechanism = \"PLAIN\"\npassword = { env = \"CHAOS_TEST_NO_SUCH\" }";
    std::fs::write(&plan, plan_text(security, "", "1s")).unwrap();
    let out = folder.path().join("out");
    let output = chaos(&["run", plan.to_str().unwrap(), "--out", out.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the cluster's password cannot be had: the environment has no variable CHAOS_TEST_NO_SUCH"), "{said}");
}
