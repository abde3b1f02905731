//! What `chaos` gives a shell and its reader: completions and manual pages, checked by the shell and the reader themselves.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::chaos;

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What a program says of a text on its standard input; `None`: it is not installed.
fn given(program: &str, arguments: &[&str], text: &str) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().inspect_err(|_| eprintln!("skipped: no {program} here")).ok()?;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

/// Commands that a command's help lists.
fn commands_of(path: &[&str]) -> Vec<String> {
    let help = stdout(&chaos(&[path, &["--help"]].concat()).output().unwrap());
    let Some((_, listed)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let rows = listed.lines().take_while(|line| line.starts_with("  "));
    let names = rows.filter(|row| !row.starts_with("   ")).filter_map(|row| row.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn each_shells_script_completes_every_command() {
    for (shell, check) in [("bash", Some("bash")), ("zsh", Some("zsh")), ("fish", Some("fish")), ("elvish", None), ("powershell", None)] {
        let script = stdout(&chaos(&["completions", shell]).output().unwrap());
        for command in commands_of(&[]).iter().chain(&commands_of(&["plan"])) {
            assert!(script.contains(command.as_str()), "{shell} does not know {command}");
        }
        if let Some(parsed) = check.and_then(|program| given(program, &["-n"], &script)) {
            assert!(parsed.status.success(), "{shell}: {}", String::from_utf8_lossy(&parsed.stderr));
        }
    }
    assert_eq!(chaos(&["completions", "tcsh"]).output().unwrap().status.code(), Some(2));
}

/// What bash itself would offer after `chaos pl`.
#[test]
fn bash_completes_a_command() {
    let script = stdout(&chaos(&["completions", "bash"]).output().unwrap());
    let ask = "\nCOMP_WORDS=(chaos pl); COMP_CWORD=1; _chaos chaos pl chaos; printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    let Some(offered) = given("bash", &[], &(script + ask)) else { return };
    assert_eq!(stdout(&offered), "plan\n", "{}", String::from_utf8_lossy(&offered.stderr));
}

#[test]
fn every_command_has_a_manual_page_that_renders() {
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("man1");
    let said = stdout(&chaos(&["man", "--out", into.to_str().unwrap()]).output().unwrap());
    let mut expected = BTreeSet::from(["chaos.1".to_owned()]);
    for command in commands_of(&[]) {
        expected.extend(commands_of(&[&command]).iter().map(|below| format!("chaos-{command}-{below}.1")));
        expected.insert(format!("chaos-{command}.1"));
    }
    let pages: BTreeSet<String> =
        std::fs::read_dir(&into).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(pages, expected);
    assert!(said.starts_with(&format!("{} pages are in ", pages.len())), "{said}");
    for page in &pages {
        renders(&into, page);
    }
}

/// A page has the parts of one, names its options, and the reader of pages has nothing to complain of.
fn renders(folder: &Path, page: &str) {
    let text = std::fs::read_to_string(folder.join(page)).unwrap();
    for part in [".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS"] {
        assert!(text.contains(part), "{page} lacks {part}");
    }
    let Some(read) = given("man", &["--warnings", "-l", "-"], &text) else { return };
    let shown = String::from_utf8_lossy(&read.stdout);
    let name = page.trim_end_matches(".1");
    assert!(read.status.success() && read.stderr.is_empty() && shown.contains(name), "{page}: {}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn a_page_can_be_had_alone_and_one_that_is_not_there_is_said() {
    let page = stdout(&chaos(&["man", "plan", "check"]).output().unwrap());
    assert!(page.contains(".TH chaos-plan-check 1"), "{page}");
    let wrong = chaos(&["man", "plan", "chck"]).output().unwrap();
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert_eq!((wrong.status.code(), said.contains("`chaos plan` has no command `chck`: there are check")), (Some(2), true), "{said}");
}
