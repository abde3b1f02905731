//! A `chaos run` as a child: who does not want it any more interrupts it, and waits while it removes its cluster.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

/// How often it is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Looks after the interruption: a cluster is removed within a minute.
const LOOKS_TO_END: u32 = 600;

/// The child. Dropping it before its end interrupts it.
#[derive(Debug)]
pub(crate) struct Run(Child);

impl Run {
    /// Starts it in a group of its own: a terminal's Ctrl-C reaches this program alone, which passes it on once.
    pub(crate) fn start(mut command: Command) -> io::Result<Self> {
        command.process_group(0).spawn().map(Self)
    }

    /// Waits for its end.
    pub(crate) async fn ended(mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(status);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn interrupt(&mut self) -> io::Result<()> {
        if self.0.try_wait()?.is_some() {
            return Ok(());
        }
        Command::new("kill").args(["-INT", &self.0.id().to_string()]).status()?;
        for _ in 0..LOOKS_TO_END {
            if self.0.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.0.kill()?;
        self.0.wait()?;
        Err(io::Error::other("it had to be killed"))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Err(error) = self.interrupt() {
            // Nobody is left to hand the error to.
            let _ = writeln!(
                io::stderr(),
                "bench: a run could not be ended in order ({error}): `chaos clean` removes the containers it has left"
            );
        }
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

    #[tokio::test]
    async fn a_run_that_is_dropped_may_end_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (ready, done) = (folder.path().join("ready"), folder.path().join("done"));
        let script =
            format!("trap 'sleep 0.3; touch {}; exit 0' INT; touch {}; while :; do sleep 0.1; done", done.display(), ready.display());
        let run = Run::start(shell(&script)).unwrap();
        while !ready.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // As an interrupted measurement drops it: in the middle of the wait.
        tokio::time::timeout(Duration::from_millis(50), run.ended()).await.unwrap_err();
        assert!(done.exists());
    }

    #[tokio::test]
    async fn the_end_of_a_run_is_told() {
        assert_eq!(Run::start(shell("exit 4")).unwrap().ended().await.unwrap().code(), Some(4));
    }
}
