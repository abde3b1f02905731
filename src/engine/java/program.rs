//! The Java producer program, running in its container: what is said to it, what it says.
//!
//! Not here: what its lines mean (`book`), the group's life (`handle`).

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bytes::BytesMut;
use futures_util::TryStreamExt;
use futures_util::stream::BoxStream;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use crate::clock::Clock;
use crate::cluster::ClusterError;
use crate::cluster::guest::{Guest, GuestEnd, GuestOutput};
use crate::engine::java::line::{self, LINE_BYTES_MAX, Line};
use crate::engine::java::timeline::{Offset, Round};

/// Longest wait for the program's first words: on a busy machine a JVM takes its time.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Longest silence of a program that runs: it speaks five times a second at least.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Longest wait until it takes what it is told; that fits into buffers on the way.
const TELL_WITHIN: Duration = Duration::from_secs(10);
/// Longest wait for the exit code of a program whose output has ended.
const EXIT_WITHIN: Duration = Duration::from_secs(5);
/// Rounds of questions for the clock.
const CLOCK_ROUNDS: u64 = 25;
/// What is kept of its standard error: so many lines, so much of each.
const ERROR_LINES: usize = 20;
const ERROR_LINE_BYTES: usize = 400;

/// Why there is no (more) word from it, or none that can be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    /// The client refuses the group's configuration.
    #[error("{0}")]
    Refused(String),
    /// The program ended before it was told to.
    #[error("the Java program ended{}{}", code_words(*code), last_words(said))]
    Ended { code: Option<i64>, said: String },
    /// It says nothing.
    #[error("the Java program has said nothing for {} s{}", within.as_secs(), last_words(said))]
    Silent { within: Duration, said: String },
    /// It was told to finish, and has not.
    #[error(
        "the Java program has not closed its clients and told what became of their records within {} s; the machine may be too busy",
        within.as_secs()
    )]
    NotFinished { within: Duration },
    /// It says what nobody understands.
    #[error("the Java program wrote a line that cannot be read ({source}): {start}")]
    Malformed { start: String, source: serde_json::Error },
    /// It writes a line without end.
    #[error("the Java program wrote a line of more than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// It has spoken of something that is not there.
    #[error("the Java program told of {0}, which there is not")]
    Unknown(String),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] ClusterError),
    /// Nothing can be said to it.
    #[error("the Java program cannot be spoken to: {0}")]
    Input(#[from] std::io::Error),
}

fn code_words(code: Option<i64>) -> String {
    code.map_or_else(String::new, |code| format!(" with code {code}"))
}

fn last_words(said: &str) -> String {
    if said.is_empty() { "; it said nothing more".to_owned() } else { format!("; it said:\n{said}") }
}

/// The program's voice.
pub(super) struct Voice {
    output: BoxStream<'static, Result<GuestOutput, ClusterError>>,
    partial: BytesMut,
    /// How much of `partial` is known to hold no end of a line.
    searched: usize,
    errors: Tail,
}

/// The program's ear.
pub(super) struct Ear(Pin<Box<dyn AsyncWrite + Send>>);

/// A program that is ready to start its group.
pub(super) struct Program {
    pub(super) voice: Voice,
    pub(super) ear: Ear,
    pub(super) end: GuestEnd,
    pub(super) offset: Offset,
    /// Version of Kafka's client.
    pub(super) version: String,
    /// The JVM.
    pub(super) java: String,
    /// Its heap's limit.
    pub(super) heap_bytes: u64,
    /// Whether the client tells how long sends wait for metadata, and for memory.
    pub(super) tells_waits: (bool, bool),
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("version", &self.version).finish_non_exhaustive()
    }
}

impl Program {
    /// Gives a program that has just been started its settings, waits until it is ready, and compares clocks.
    pub(super) async fn greet(guest: Guest, settings: &str, clock: &Clock) -> Result<Self, ProgramError> {
        let Guest { input, output, mut end } = guest;
        let mut voice = Voice { output, partial: BytesMut::new(), searched: 0, errors: Tail::default() };
        let mut ear = Ear(input);
        ear.tell(settings).await?;
        let first = voice.line(READY_WITHIN, &mut end).await?;
        if let Some(because) = first.refused {
            return Err(ProgramError::Refused(because));
        }
        let Some((version, java, heap_bytes, on_metadata, on_memory)) = first.ready else {
            return Err(ProgramError::Unknown("a start".to_owned()));
        };
        let offset = compare_clocks(&mut voice, &mut ear, &mut end, clock).await?;
        Ok(Self { voice, ear, end, offset, version, java, heap_bytes, tells_waits: (on_metadata == 1, on_memory == 1) })
    }
}

async fn compare_clocks(voice: &mut Voice, ear: &mut Ear, end: &mut GuestEnd, clock: &Clock) -> Result<Offset, ProgramError> {
    let mut rounds = Vec::new();
    for number in 0..CLOCK_ROUNDS {
        let asked = clock.now();
        ear.tell(&format!("clock {number}\n")).await?;
        let answer = voice.line(SILENCE_MAX, end).await?;
        let answered = clock.now();
        match answer.clock {
            Some((of, nanos)) if of == number => rounds.push(Round { asked, answered, nanos }),
            _ => return Err(ProgramError::Unknown("another clock".to_owned())),
        }
    }
    Offset::of(&rounds).ok_or_else(|| ProgramError::Unknown("no clock".to_owned()))
}

impl Ear {
    /// Says something to the program.
    pub(super) async fn tell(&mut self, text: &str) -> Result<(), ProgramError> {
        let told = async {
            self.0.write_all(text.as_bytes()).await?;
            self.0.flush().await
        };
        let in_time = tokio::time::timeout(TELL_WITHIN, told).await;
        Ok(in_time.unwrap_or_else(|_| Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "it does not listen")))?)
    }
}

impl Voice {
    /// The program's next line, within the time that a running one needs at most.
    pub(super) async fn next(&mut self, end: &mut GuestEnd) -> Result<Line, ProgramError> {
        self.line(SILENCE_MAX, end).await
    }

    async fn line(&mut self, within: Duration, end: &mut GuestEnd) -> Result<Line, ProgramError> {
        match tokio::time::timeout(within, self.text()).await {
            Err(_) => Err(ProgramError::Silent { within, said: self.errors.text() }),
            Ok(Ok(Some(text))) => line::parse(&text).map_err(|source| ProgramError::Malformed {
                start: String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned(),
                source,
            }),
            Ok(Ok(None)) => {
                let code = tokio::time::timeout(EXIT_WITHIN, end.exit_code()).await.ok().flatten();
                Err(ProgramError::Ended { code, said: self.errors.text() })
            }
            Ok(Err(error)) => Err(error),
        }
    }

    /// The next line without its end; `None`: there is no more, and what was begun is no line.
    async fn text(&mut self) -> Result<Option<BytesMut>, ProgramError> {
        loop {
            if let Some(at) = self.partial[self.searched..].iter().position(|byte| *byte == b'\n') {
                let mut line = self.partial.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.partial.len();
            if self.partial.len() > LINE_BYTES_MAX {
                return Err(ProgramError::TooLong);
            }
            match self.output.try_next().await? {
                Some(GuestOutput::Out(piece)) => self.partial.extend_from_slice(&piece),
                Some(GuestOutput::Err(piece)) => self.errors.push(&piece),
                None => return Ok(None),
            }
        }
    }
}

/// The last lines of standard error.
#[derive(Debug, Default)]
struct Tail {
    lines: VecDeque<String>,
    partial: Vec<u8>,
}

impl Tail {
    fn push(&mut self, piece: &[u8]) {
        for byte in piece {
            if *byte == b'\n' {
                self.end_line();
            } else if self.partial.len() < ERROR_LINE_BYTES {
                self.partial.push(*byte);
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&std::mem::take(&mut self.partial)).into_owned();
        self.lines.push_back(line);
        if self.lines.len() > ERROR_LINES {
            self.lines.pop_front();
        }
    }

    fn text(&mut self) -> String {
        if !self.partial.is_empty() {
            self.end_line();
        }
        self.lines.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::StreamExt;
    use futures_util::stream;

    use super::*;

    fn voice(pieces: Vec<GuestOutput>) -> Voice {
        let output = stream::iter(pieces.into_iter().map(Ok)).boxed();
        Voice { output, partial: BytesMut::new(), searched: 0, errors: Tail::default() }
    }

    fn out(text: &'static str) -> GuestOutput {
        GuestOutput::Out(Bytes::from_static(text.as_bytes()))
    }

    #[tokio::test]
    async fn lines_are_put_together_from_pieces_and_half_a_line_at_the_end_is_none() {
        let errors = GuestOutput::Err(Bytes::from_static(b"java.lang.Error: oh\n  at"));
        let mut voice = voice(vec![out("{\"t\""), errors, out(":[1,1]}\n{\"t\":[2,3]}\n{\"t\""), out(":[3,3]}")]);
        let mut told = Vec::new();
        while let Some(text) = voice.text().await.unwrap() {
            told.push(line::parse(&text).unwrap().t);
        }
        assert_eq!(told, [Some((1, 1)), Some((2, 3))]);
        assert_eq!(voice.errors.text(), "  java.lang.Error: oh\n    at");
    }

    #[tokio::test]
    async fn a_line_without_end_is_refused() {
        let endless = std::iter::repeat_with(|| GuestOutput::Out(Bytes::from(vec![b'x'; 1 << 20]))).take(18).collect();
        assert!(matches!(voice(endless).text().await, Err(ProgramError::TooLong)));
    }

    #[test]
    fn of_standard_error_the_end_is_kept() {
        let mut tail = Tail::default();
        (0..100).for_each(|number| tail.push(format!("line {number} {}\n", "x".repeat(1_000)).as_bytes()));
        let text = tail.text();
        assert_eq!(text.lines().count(), ERROR_LINES);
        assert!(text.starts_with("  line 80 x") && text.lines().all(|line| line.len() <= ERROR_LINE_BYTES + 2));
    }
}
