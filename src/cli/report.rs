//! `chaos report DIR...`: a run's summary again, from its facts alone; also of a run that was interrupted or killed.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use crate::analyze::Analysis;
use crate::analyze::findings::Findings;
use crate::record::fact::Fact;
use crate::record::files::{FACTS, RowBudget};
use crate::record::read::FactReader;
use crate::report::{json, text};

/// Shows the summary of runs again.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// Folders of runs, as `chaos run` made them.
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    /// Print what `run.json` holds; of several runs, a list.
    #[arg(long)]
    json: bool,
}

/// Prints the summaries. Gives the exit code of the worst verdict.
///
/// # Errors
/// If a folder holds no readable facts, or the output cannot be written.
pub fn run(args: &ReportArgs, out: &mut dyn Write, colour: bool) -> anyhow::Result<u8> {
    let runs = args.dirs.iter().map(|dir| read(dir)).collect::<anyhow::Result<Vec<Run>>>()?;
    if args.json {
        let files = runs.iter().zip(&args.dirs).map(|(run, dir)| run.json(dir)).collect::<anyhow::Result<Vec<String>>>()?;
        match files.as_slice() {
            [file] => out.write_all(file.as_bytes())?,
            _ => writeln!(out, "[\n{}\n]", files.iter().map(|file| file.trim_end()).collect::<Vec<_>>().join(",\n"))?,
        }
    } else {
        for (at, (run, dir)) in runs.iter().zip(&args.dirs).enumerate() {
            let between = if at == 0 { "" } else { "\n\n" };
            write!(out, "{between}{}", text::render(run.analysis.run(), &run.findings, Some(dir), colour))?;
        }
    }
    Ok(runs.iter().map(|run| run.findings.verdict.exit_code()).max().unwrap_or(0))
}

/// A run as its facts tell it.
struct Run {
    analysis: Analysis,
    findings: Findings,
    metadata_rows_left_out: u64,
}

impl Run {
    fn json(&self, dir: &Path) -> anyhow::Result<String> {
        let run = self.analysis.run().ok_or_else(|| anyhow!("{} does not begin with the run itself", dir.join(FACTS).display()))?;
        Ok(json::run_file(run, &self.findings, self.metadata_rows_left_out)?)
    }
}

fn read(dir: &Path) -> anyhow::Result<Run> {
    let mut facts = FactReader::open(dir).with_context(|| format!("{} is not the folder of a run", dir.display()))?;
    let (mut analysis, mut budget) = (Analysis::new(), RowBudget::default());
    for stamped in facts.by_ref() {
        let stamped = stamped?;
        if let Fact::MetadataRequest { group, .. } = &stamped.fact {
            budget.admits(group, stamped.time_us);
        }
        analysis.fold(&stamped);
    }
    let mut findings = analysis.finish();
    if facts.was_cut() {
        findings.warnings.push(format!("the last line of {FACTS} is cut off: the run was killed while it wrote"));
    }
    Ok(Run { analysis, findings, metadata_rows_left_out: budget.left_out() })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::record::files::RUN;
    use crate::record::folder::RunFolder;
    use crate::record::sample::{Pair, Sample};
    use crate::report::results::Results;

    fn left_by_a_run(dir: &Path, end: bool) {
        let stream = Sample::new(&[("steady", 1)]).pairs("steady", 1, 2).load("steady", -2, 20).step(1, "kill", "2", 10_000).gap(
            Pair("steady", 0, 0),
            10_000,
            Some(19_000),
        );
        let stream = if end { stream.end(20_000) } else { stream };
        let mut results = Results::create(RunFolder::exactly(dir).unwrap()).unwrap();
        stream.facts.iter().for_each(|fact| results.write(fact).unwrap());
        results.finish().unwrap();
    }

    fn report(dirs: &[&Path], json: bool) -> anyhow::Result<(u8, String)> {
        let args = ReportArgs { dirs: dirs.iter().map(|dir| dir.to_path_buf()).collect(), json };
        let mut out = Vec::new();
        let code = run(&args, &mut out, false)?;
        Ok((code, String::from_utf8(out).unwrap()))
    }

    #[test]
    fn the_facts_alone_give_what_run_json_holds() {
        let root = tempfile::tempdir().unwrap();
        left_by_a_run(root.path(), true);
        let (code, text) = report(&[root.path()], true).unwrap();
        assert_eq!((code, text), (0, fs::read_to_string(root.path().join(RUN)).unwrap()));
    }

    #[test]
    fn several_runs_are_shown_one_after_the_other_and_the_worst_decides() {
        let root = tempfile::tempdir().unwrap();
        let (whole, killed) = (root.path().join("whole"), root.path().join("killed"));
        left_by_a_run(&whole, true);
        left_by_a_run(&killed, false);
        let (code, text) = report(&[&whole, &killed], false).unwrap();
        assert_eq!(code, 130);
        assert!(text.contains("sample  PASS") && text.contains("sample  INTERRUPTED"), "{text}");
        let (_, text) = report(&[&whole, &killed], true).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(list.as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn a_run_whose_last_line_is_cut_is_still_told() {
        let root = tempfile::tempdir().unwrap();
        left_by_a_run(root.path(), true);
        let facts = fs::read_to_string(root.path().join(FACTS)).unwrap();
        fs::write(root.path().join(FACTS), &facts[..facts.len() - 9]).unwrap();
        let (code, text) = report(&[root.path()], false).unwrap();
        assert_eq!(code, 130);
        assert!(text.contains("stalled up to 1 of 2") && text.contains("is cut off"), "{text}");
    }

    #[test]
    fn a_folder_without_facts_is_an_error_that_names_it() {
        let root = tempfile::tempdir().unwrap();
        let error = report(&[root.path()], false).unwrap_err();
        assert!(format!("{error:#}").contains("is not the folder of a run: cannot open"), "{error:#}");
    }
}
