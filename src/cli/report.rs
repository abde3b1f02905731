//! `chaos report DIR...`: a run's summary and page again, from its facts alone; also of a run that was interrupted or killed.

use std::io::Write;
use std::path::PathBuf;

use super::{Exit, junit};
use crate::analyze::findings::Verdict;
use crate::report::html::REPORT;
use crate::report::junit::document;
use crate::report::replay::Replay;

/// Arguments of `chaos report`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  chaos report results/2026-11-29T21-48-16Z-rolling-restart
  chaos report --no-html results/2026-11-29T21-48-16Z-rolling-restart
  chaos report --json results/* | jq '.[].verdict'")]
pub(super) struct ReportArgs {
    /// Folders of runs, as `chaos run` made them
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// What run.json holds; of several runs, a list. Writes no page
    #[arg(long)]
    json: bool,
    /// Also write the verdicts' checks as JUnit XML to this file, a suite per run
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Do not write DIR/report.html
    #[arg(long)]
    no_html: bool,
}

/// Prints the summaries and writes the pages, run by run: no more than one is in memory, for a run of hours is large. Gives the exit code of
/// the worst verdict: it says what the runs came to, so a page that cannot be written is only warned of.
///
/// # Errors
/// If a folder holds no readable facts, or the output cannot be written.
pub(super) fn run(args: &ReportArgs, out: &mut dyn Write, warnings: &mut dyn Write, colour: bool) -> anyhow::Result<Exit> {
    let (mut verdicts, mut suites, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for (at, dir) in args.dirs.iter().enumerate() {
        let run = Replay::read(dir)?;
        verdicts.push(run.findings().verdict);
        suites.extend(args.junit.is_some().then(|| run.suite().told()));
        if args.json {
            files.push(run.json()?);
        } else {
            let gap = if at == 0 { "" } else { "\n\n" };
            write!(out, "{gap}{}", run.text(!args.no_html && has_page(&run, warnings), colour))?;
        }
    }
    if let Some(file) = &args.junit {
        junit::write(file, &document(suites))?;
    }
    if args.json {
        write_json(&files, out)?;
    }
    Ok(worst(verdicts))
}

/// The exit code of the worst.
fn worst(verdicts: Vec<Verdict>) -> Exit {
    verdicts.into_iter().map(Exit::from).max_by_key(|exit| exit.code()).unwrap_or(Exit::Success)
}

/// Whether the page could be written.
fn has_page(run: &Replay, warnings: &mut dyn Write) -> bool {
    let written = run.write_page();
    if let Err(error) = &written {
        // Nobody can be told that nobody can be told.
        let _ = writeln!(warnings, "warning: there is no new {} in {}: {error}", REPORT, run.folder().display());
    }
    written.is_ok()
}

fn write_json(files: &[String], out: &mut dyn Write) -> anyhow::Result<()> {
    match files {
        [file] => write!(out, "{file}")?,
        _ => writeln!(out, "[\n{}\n]", files.iter().map(|file| file.trim_end()).collect::<Vec<_>>().join(",\n"))?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::report::replay::sample_run;

    fn report(dirs: &[&Path], json: bool) -> (Exit, String) {
        let args = ReportArgs { dirs: dirs.iter().map(|dir| dir.to_path_buf()).collect(), json, junit: None, no_html: false };
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        let code = run(&args, &mut out, &mut warnings, false).unwrap();
        assert_eq!(String::from_utf8(warnings).unwrap(), "");
        (code, String::from_utf8(out).unwrap())
    }

    #[test]
    fn several_runs_are_shown_one_after_the_other_and_the_worst_decides() {
        let root = tempfile::tempdir().unwrap();
        let (whole, killed) = (root.path().join("whole"), root.path().join("killed"));
        sample_run(&whole, true);
        sample_run(&killed, false);
        assert_eq!(report(&[&whole], false).0, Exit::Success);
        let (code, text) = report(&[&whole, &killed], false);
        assert_eq!(code, Exit::Interrupted);
        assert!(text.contains("sample  PASS") && text.contains("sample  INTERRUPTED"), "{text}");
    }

    /// Each run is told before the next one is read, so that one alone is in memory.
    #[test]
    fn what_came_before_a_folder_that_is_no_runs_is_told() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        std::fs::remove_file(root.path().join(REPORT)).unwrap();
        let dirs = vec![root.path().to_path_buf(), root.path().join("none")];
        let args = ReportArgs { dirs, json: false, junit: None, no_html: false };
        let mut out = Vec::new();
        let error = run(&args, &mut out, &mut Vec::new(), false).unwrap_err().to_string();
        assert!(error.contains("none is not the folder of a run"), "{error}");
        assert!(String::from_utf8(out).unwrap().starts_with("sample  PASS") && root.path().join(REPORT).exists());
    }

    #[test]
    fn junit_holds_a_suite_for_each_run_beside_the_summary() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        let dir = root.path().to_path_buf();
        let file = root.path().join("junit.xml");
        let args = ReportArgs { dirs: vec![dir.clone(), dir.clone()], json: false, junit: Some(file.clone()), no_html: true };
        let mut out = Vec::new();
        assert_eq!(run(&args, &mut out, &mut Vec::new(), false).unwrap(), Exit::Success);
        assert!(String::from_utf8(out).unwrap().contains("sample  PASS"));
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(text.matches("<testsuite ").count(), 2, "{text}");
        let args = ReportArgs { dirs: vec![dir], json: false, junit: Some(root.path().join("no/such/folder.xml")), no_html: true };
        let error = run(&args, &mut Vec::new(), &mut Vec::new(), false).unwrap_err().to_string();
        assert!(error.contains("no/such/folder.xml") && error.contains("--junit"), "{error}");
    }

    #[test]
    fn the_page_is_written_again_unless_told_otherwise() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), false);
        let page = root.path().join(REPORT);
        let write = |json, no_html| {
            let _ = std::fs::remove_file(&page);
            let (mut out, mut warnings) = (Vec::new(), Vec::new());
            let args = ReportArgs { dirs: vec![root.path().to_path_buf()], json, junit: None, no_html };
            let code = run(&args, &mut out, &mut warnings, false).unwrap();
            (code, String::from_utf8(out).unwrap().contains("report.html"), page.exists())
        };
        assert_eq!(write(false, false), (Exit::Interrupted, true, true));
        assert_eq!(write(false, true), (Exit::Interrupted, false, false));
        assert_eq!(write(true, false), (Exit::Interrupted, false, false));
    }

    #[test]
    fn a_page_that_cannot_be_written_is_warned_of_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        // A folder of that name is in the way, for whomever the tests run as.
        std::fs::remove_file(root.path().join(REPORT)).unwrap();
        std::fs::create_dir(root.path().join(REPORT)).unwrap();
        let args = ReportArgs { dirs: vec![root.path().to_path_buf()], json: false, junit: None, no_html: false };
        let (mut out, mut warnings) = (Vec::new(), Vec::new());
        assert_eq!(run(&args, &mut out, &mut warnings, false).unwrap(), Exit::Success);
        let (out, warnings) = (String::from_utf8(out).unwrap(), String::from_utf8(warnings).unwrap());
        assert!(out.starts_with("sample  PASS") && !out.contains("report.html"), "{out}");
        assert!(warnings.starts_with("warning: there is no new report.html in ") && warnings.contains("cannot replace"), "{warnings}");
    }

    #[test]
    fn json_is_an_object_of_one_run_and_a_list_of_several() {
        let root = tempfile::tempdir().unwrap();
        sample_run(root.path(), true);
        let one: serde_json::Value = serde_json::from_str(&report(&[root.path()], true).1).unwrap();
        let two: serde_json::Value = serde_json::from_str(&report(&[root.path(), root.path()], true).1).unwrap();
        assert_eq!(one["verdict"], "PASS");
        assert_eq!(two, serde_json::json!([one, one]));
    }
}
