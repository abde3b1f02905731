//! A `chaos run` as a child: looked at, and, if nobody wants it any more, interrupted, so that it removes its cluster.
//!
//! Shared by the tools that make runs. Not here: what is run, how long it may take, and what its files say.

use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// How often it is looked at.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks after the interruption: a cluster is removed within a minute.
const LOOKS_TO_END: u32 = 600;

/// The child. Dropping it before its end interrupts it.
#[derive(Debug)]
pub(crate) struct Run(Child);

impl Run {
    /// Starts it in a group of its own: a terminal's Ctrl-C reaches this program alone, which passes it on once.
    pub(crate) fn start(command: &mut Command) -> io::Result<Self> {
        command.process_group(0).spawn().map(Self)
    }

    /// Its status, if it has ended.
    pub(crate) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// Interrupts it and waits for its end, a minute at most; then kills it: a status without a code, whose containers are left.
    pub(crate) fn end(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status()? {
            return Ok(status);
        }
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status()?;
        for _ in 0..LOOKS_TO_END {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.0.kill()?;
        self.0.wait()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if matches!(self.status(), Ok(Some(_))) {
            return;
        }
        let problem = match self.end() {
            Ok(status) if status.code().is_some() => return,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        // Nobody is left to hand the error to.
        let _ = writeln!(io::stderr(), "a run could not be ended in order ({problem}): `chaos clean` removes the containers it has left");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    /// A run that takes its time over its end, once it has said that it is ready.
    fn slow_to_end(folder: &std::path::Path) -> Run {
        let (ready, done) = (folder.join("ready"), folder.join("done"));
        let script =
            format!("trap 'sleep 0.3; touch {}; exit 130' INT; touch {}; while :; do sleep 0.1; done", done.display(), ready.display());
        let run = Run::start(&mut shell(&script)).unwrap();
        while !ready.exists() {
            std::thread::sleep(Duration::from_millis(10));
        }
        run
    }

    #[test]
    fn a_run_that_is_told_to_end_or_dropped_may_end_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let ended = slow_to_end(folder.path()).end().unwrap();
        assert_eq!(ended.code(), Some(130));
        std::fs::remove_file(folder.path().join("ready")).unwrap();
        std::fs::remove_file(folder.path().join("done")).unwrap();
        drop(slow_to_end(folder.path()));
        assert!(folder.path().join("done").exists());
    }
}
