//! A run's folder as it was left: which of its files are whole, and what they say.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// What a folder holds.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    /// `facts.jsonl`.
    pub(crate) bytes: Vec<u8>,
    /// Its whole lines.
    pub(crate) facts: usize,
    /// Whether the last fact of a run is among them.
    pub(crate) has_ended: bool,
    /// `run.json`.
    pub(crate) run: Vec<u8>,
    /// Its verdict; `none`: there is no such file.
    pub(crate) verdict: String,
    /// Why the verdict is none that passes.
    pub(crate) reasons: Vec<String>,
    /// Whether `run.json` was made from all facts.
    pub(crate) is_complete: bool,
    /// Files that were to replace others.
    pub(crate) parts: Vec<String>,
    /// What is broken.
    pub(crate) problems: Vec<String>,
}

/// Reads a folder, which need not be there.
pub(crate) fn read(path: &Path) -> Folder {
    let mut folder = Folder { verdict: "none".to_owned(), ..Folder::default() };
    folder.bytes = fs::read(path.join("facts.jsonl")).unwrap_or_default();
    for line in folder.bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
        folder.facts += 1;
        match serde_json::from_slice::<Value>(line) {
            Ok(fact) if fact["fact"].is_string() && fact["time_us"].is_i64() => folder.has_ended |= fact["fact"] == "run_ended",
            Ok(_) => folder.problems.push(format!("line {} of facts.jsonl is no fact", folder.facts)),
            Err(error) => folder.problems.push(format!("line {} of facts.jsonl: {error}", folder.facts)),
        }
    }
    if let Ok(run) = fs::read(path.join("run.json")) {
        match serde_json::from_slice::<Value>(&run) {
            Ok(said) => {
                folder.verdict = said["verdict"].as_str().unwrap_or("not told").to_owned();
                let reasons = said["reasons"].as_array().into_iter().flatten();
                folder.reasons = reasons.filter_map(Value::as_str).map(str::to_owned).collect();
                folder.is_complete = folder.has_ended && !said["ended_at"].is_null();
            }
            Err(error) => folder.problems.push(format!("run.json: {error}")),
        }
        folder.run = run;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    folder.parts = names.filter(|name| name.ends_with(".part")).collect();
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: &str = "{\"time_us\":1,\"fact\":\"run_ended\"}\n";

    fn folder(facts: &str, run: Option<&str>) -> Folder {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("facts.jsonl"), facts).unwrap();
        if let Some(run) = run {
            fs::write(folder.path().join("run.json"), run).unwrap();
        }
        read(folder.path())
    }

    #[test]
    fn a_cut_last_line_is_no_problem_and_a_broken_one_before_it_is() {
        let cut = folder(&format!("{END}{{\"time"), Some(r#"{"verdict":"PASS","ended_at":"now"}"#));
        assert_eq!((cut.facts, cut.has_ended, cut.is_complete, cut.problems.len()), (1, true, true, 0));
        assert_eq!(folder(&format!("x\n{END}"), None).problems.len(), 1);
        assert_eq!(folder(END, Some("{")).problems.len(), 1);
        assert_eq!(read(Path::new("/nowhere")).verdict, "none");
    }
}
