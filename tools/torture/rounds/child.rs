//! A `chaos` that is to be hit: its lines as they come, signals to it, its end within a bound.

use std::io::{BufRead as _, BufReader, PipeReader, pipe};
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;

/// How often its state is asked for.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A running `chaos`.
#[derive(Debug)]
pub(crate) struct Child {
    process: Process,
    /// Lines of standard error.
    lines: Receiver<String>,
    said: Arc<Mutex<String>>,
    /// Standard output: a summary, which fits into the pipe, so nobody need read it.
    output: Option<PipeReader>,
    is_deaf: Arc<AtomicBool>,
}

impl Child {
    /// Starts it.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let ((output, stdout), (stderr, stderr_end)) = (pipe()?, pipe()?);
        let process = command.stdin(Stdio::null()).stdout(stdout).stderr(stderr_end).spawn().context("cannot start chaos")?;
        // The command holds the writing ends, and a reader would never see the end.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let said = Arc::new(Mutex::new(String::new()));
        let is_deaf = Arc::new(AtomicBool::new(false));
        let (line, lines) = channel();
        let (heard, deaf) = (Arc::clone(&said), Arc::clone(&is_deaf));
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stderr);
            let mut text = String::new();
            while !deaf.load(Ordering::Relaxed) && matches!(reader.read_line(&mut text), Ok(1..)) {
                if let Ok(mut said) = heard.lock() {
                    said.push_str(&text);
                }
                // Nobody waits for a line any more once the moment has come.
                let _ = line.send(std::mem::take(&mut text));
            }
        });
        Ok(Self { process, lines, said, output: Some(output), is_deaf })
    }

    /// Its process id.
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// All that it has said on standard error.
    pub(crate) fn said(&self) -> String {
        self.said.lock().map(|said| said.clone()).unwrap_or_default()
    }

    /// Whether a line with this text comes before its end, within a bound.
    pub(crate) fn comes_to(&self, part: &str, within: Duration) -> bool {
        let looks = within.as_millis() / LOOK_EVERY.as_millis();
        let mut idle = 0;
        while idle < looks {
            match self.lines.recv_timeout(LOOK_EVERY) {
                Ok(line) if line.contains(part) => return true,
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => idle += 1,
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        false
    }

    /// Sends a signal, such as `INT`; to one that has ended, none.
    ///
    /// # Errors
    /// It could not be sent.
    pub(crate) fn signal(&mut self, name: &str) -> anyhow::Result<()> {
        if self.has_ended()? {
            return Ok(());
        }
        // Not reaped, so the id is still its own.
        let status = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status()?;
        anyhow::ensure!(status.success(), "kill -{name}: {status}");
        Ok(())
    }

    /// Nobody reads its standard output any more.
    pub(crate) fn close_output(&mut self) {
        self.output = None;
    }

    /// Nobody reads its standard error any more, from its next line on.
    pub(crate) fn close_errors(&mut self) {
        self.is_deaf.store(true, Ordering::Relaxed);
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.process.try_wait()?.is_some())
    }

    /// Waits for its end; `None`: it has not come within the bound.
    ///
    /// # Errors
    /// The system does not tell.
    pub(crate) fn end(&mut self, within: Duration) -> anyhow::Result<Option<ExitStatus>> {
        for _ in 0..within.as_millis() / LOOK_EVERY.as_millis() {
            if let Some(status) = self.process.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(self.process.try_wait()?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // One that hangs must not outlive the round; what it leaves, `chaos clean` removes.
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}
