//! The commands that the documents show: every `$ ` line of a `console` block is run, by the rules in CONTRIBUTING.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What is done with a command of a document.
#[derive(Debug, PartialEq, Eq)]
enum Rule<'a> {
    /// Run in any case.
    Cheap,
    /// Run if real brokers may be started.
    Brokers,
    /// Run; the cluster that it looks at need not be there, and it must say so.
    Answers,
    /// `make TARGET`: only checked to exist.
    MakeTarget(&'a str),
    /// Not run from within a test.
    Skip,
    /// Nobody has said.
    None,
}

fn rule_of(command: &str) -> Rule<'_> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words[..] {
        ["chaos", ..] if words.contains(&"--help") => Rule::Cheap,
        ["chaos", "run", ..] if words.contains(&"--dry-run") => Rule::Cheap,
        ["chaos", "trace", ..] => Rule::Answers,
        ["chaos", "compare", ..] if words.contains(&"--dry-run") => Rule::Cheap,
        ["chaos", "run" | "compare" | "cluster" | "doctor" | "clean" | "report", ..] => Rule::Brokers,
        ["chaos", ..] => Rule::Cheap,
        ["make", target, ..] => Rule::MakeTarget(target),
        ["cargo", ..] => Rule::Skip,
        _ => Rule::None,
    }
}

#[tokio::test]
async fn commands_in_documents_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let makefile = fs::read_to_string(root.join("Makefile")).unwrap();
    let brokers = crate::support::brokers().await;
    let mut seen = 0;
    for document in documents(root) {
        let text = fs::read_to_string(&document).unwrap();
        // A folder for each: two documents may make files of one name.
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.join("plans"), folder.path().join("plans")).unwrap();
        for command in commands(&text) {
            let place = format!("{}: {command}", document.display());
            seen += 1;
            match rule_of(&command) {
                Rule::Cheap => succeed(&command, folder.path(), &place),
                Rule::Answers => answer(&command, folder.path(), &place),
                Rule::Brokers if brokers.is_some() => succeed(&command, folder.path(), &place),
                Rule::Brokers => eprintln!("skipped: {place}"),
                Rule::MakeTarget(target) => {
                    let start = format!("\n{target}:");
                    assert!(makefile.contains(&start), "{place}: no such target");
                }
                Rule::Skip => {}
                Rule::None => panic!("{place}: no rule says whether to run it"),
            }
        }
    }
    assert!(seen > 0, "no commands found: the search is broken");
}

#[test]
fn console_blocks_are_found() {
    let text = "$ no\n```console\n$ chaos plan list\noutput\n$ make \\\n  demo\n```\n$ no\n```sh\n$ no\n```\n";
    assert_eq!(commands(text), ["chaos plan list", "make demo"]);
    assert_eq!(rule_of("make demo"), Rule::MakeTarget("demo"));
    assert_eq!(rule_of("chaos run --help"), Rule::Cheap);
    assert_eq!(rule_of("chaos run x.toml"), Rule::Brokers);
    assert_eq!(rule_of("chaos run --dry-run x.toml"), Rule::Cheap);
    assert_eq!(rule_of("chaos trace --bootstrap x:1"), Rule::Answers);
    assert_eq!(rule_of("chaos compare x.toml --vary seed=1,2"), Rule::Brokers);
    assert_eq!(rule_of("chaos compare x.toml --vary seed=1,2 --dry-run"), Rule::Cheap);
    assert_eq!(rule_of("rm -r x"), Rule::None);
}

/// Every document that may show commands.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let pages = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    found.extend(pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")));
    found
}

/// The `$ ` lines of a text's `console` blocks; one that ends with a backslash goes on in the next.
fn commands(text: &str) -> Vec<String> {
    let (mut inside, mut goes_on) = (false, false);
    let mut found: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| inside) {
            found.push(command.trim_end_matches('\\').to_owned());
        } else if let Some(command) = found.last_mut().filter(|_| goes_on) {
            command.push_str(line.trim_start().trim_end_matches('\\'));
        }
        goes_on = inside && line.ends_with('\\');
    }
    found
}

/// Runs a command in the folder, with the built `chaos` on the path.
fn run(command: &str, folder: &Path) -> Output {
    let chaos = Path::new(env!("CARGO_BIN_EXE_chaos"));
    let path = format!("{}:{}", chaos.parent().unwrap().display(), std::env::var("PATH").unwrap());
    Command::new("sh").args(["-c", command]).current_dir(folder).env("PATH", path).output().unwrap()
}

/// Runs `chaos trace`, which answers whether or not there is a cluster: only its arguments can be wrong.
fn answer(command: &str, folder: &Path, place: &str) {
    let output = run(command, folder);
    let is_answer = matches!(output.status.code(), Some(0 | 1 | 3 | 4)) && !output.stdout.is_empty();
    assert!(is_answer, "{place}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}

fn succeed(command: &str, folder: &Path, place: &str) {
    let output = run(command, folder);
    // `doctor` has done its work also where it found something.
    let is_finding = command.starts_with("chaos doctor") && output.status.code() == Some(3);
    assert!(
        output.status.success() || is_finding,
        "{place}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
