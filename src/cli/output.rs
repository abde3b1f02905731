//! Standard output for commands: a reader that has left, such as `head`, ends no command.
//!
//! What a command does and what it comes to are the same whether or not somebody reads on. Not here: colours, and what is printed.

use std::io::{ErrorKind, Result, Stdout, Write};

/// Writes until nobody reads any more; what comes after that is dropped.
#[derive(Debug)]
pub(super) struct Output<W> {
    inner: W,
    is_closed: bool,
}

impl Output<Stdout> {
    /// The process's own standard output.
    pub(super) fn stdout() -> Self {
        Self::of(std::io::stdout())
    }
}

impl<W: Write> Output<W> {
    fn of(inner: W) -> Self {
        Self { inner, is_closed: false }
    }

    /// Whether nobody reads any more, as far as the last write has shown.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes "nobody reads" for done.
    fn done<T>(&mut self, outcome: Result<T>, all: T) -> Result<T> {
        match outcome {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(all)
            }
            outcome => outcome,
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.is_closed {
            return Ok(bytes.len());
        }
        let outcome = self.inner.write(bytes);
        self.done(outcome, bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        if self.is_closed {
            return Ok(());
        }
        let outcome = self.inner.flush();
        self.done(outcome, ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes so many writes, then says `kind`.
    struct Pipe {
        left: usize,
        kind: ErrorKind,
    }

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.left = self.left.checked_sub(1).ok_or(self.kind)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_left_is_no_error_and_a_full_disk_is() {
        let mut output = Output::of(Pipe { left: 1, kind: ErrorKind::BrokenPipe });
        for _ in 0..3 {
            output.write_all(b"line\n").unwrap();
        }
        assert!(output.is_closed && output.flush().is_ok());
        let mut output = Output::of(Pipe { left: 0, kind: ErrorKind::StorageFull });
        assert_eq!(output.write_all(b"line\n").unwrap_err().kind(), ErrorKind::StorageFull);
    }
}
