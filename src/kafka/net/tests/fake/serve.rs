//! One connection of a fake broker: requests in, answers out in the same order, each `latency` after its request.

use std::time::Duration;

use bytes::Bytes;
use kafka_protocol::messages::ApiKey;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::{Asked, FakeCluster, Reaction, answers};
use crate::clock::{Clock, Moment};

/// An answer on its way.
struct Answer {
    due: Moment,
    /// With its length prefix.
    bytes: Bytes,
    piece_bytes: usize,
    pause: Duration,
    then_close: bool,
}

/// Serves a connection until either side ends it.
pub(super) async fn serve(cluster: FakeCluster, node: i32, stream: DuplexStream) {
    let (reader, writer) = tokio::io::split(stream);
    let (queue, answers) = mpsc::unbounded_channel();
    let clock = cluster.clock.clone();
    tokio::select! {
        () = read(cluster, node, reader, queue) => {}
        () = write(clock, writer, answers) => {}
    }
}

async fn read(cluster: FakeCluster, node: i32, mut stream: ReadHalf<DuplexStream>, queue: mpsc::UnboundedSender<Answer>) {
    let mut extra = Duration::ZERO;
    while let Ok(length) = stream.read_i32().await {
        let mut frame = vec![0; usize::try_from(length).unwrap()];
        if stream.read_exact(&mut frame).await.is_err() {
            return;
        }
        let frame = Bytes::from(frame);
        let key = ApiKey::try_from(i16::from_be_bytes([frame[0], frame[1]])).unwrap();
        let version = i16::from_be_bytes([frame[2], frame[3]]);
        let at = cluster.clock.now();
        let (reaction, bytes, latency) = {
            let mut state = cluster.state();
            state.asked.push(Asked { at, node, api: key, version });
            let reaction = state.reaction(node, key);
            if matches!(reaction, Some(Reaction::Disconnect)) {
                return;
            }
            let bytes = answers::answer(&mut state, node, frame, reaction.as_ref());
            (reaction, bytes, state.latency)
        };
        // A Produce request with acks=0 has no answer.
        let Some(bytes) = bytes else { continue };
        let mut answer =
            Answer { due: at + latency + extra, piece_bytes: bytes.len().max(1), bytes, pause: Duration::ZERO, then_close: false };
        match reaction {
            Some(Reaction::Silence) => break,
            Some(Reaction::Delay(span)) => {
                extra += span;
                answer.due = answer.due + span;
            }
            Some(Reaction::CutAfter(bytes)) => {
                answer.bytes.truncate(bytes);
                answer.then_close = true;
            }
            Some(Reaction::Drip { bytes, every }) => (answer.piece_bytes, answer.pause) = (bytes, every),
            Some(Reaction::Raw(bytes)) => answer.bytes = bytes,
            _ => {}
        }
        if queue.send(answer).is_err() {
            return;
        }
    }
    // Silent from here on, but still there: takes bytes and lets the answers before go out, until the client goes.
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).await.is_ok_and(|bytes| bytes > 0) {}
}

async fn write(clock: Clock, mut stream: WriteHalf<DuplexStream>, mut answers: mpsc::UnboundedReceiver<Answer>) {
    while let Some(answer) = answers.recv().await {
        tokio::time::sleep_until(clock.instant_of(answer.due)).await;
        for (number, piece) in answer.bytes.chunks(answer.piece_bytes).enumerate() {
            if number > 0 {
                tokio::time::sleep(answer.pause).await;
            }
            if stream.write_all(piece).await.is_err() {
                return;
            }
        }
        if answer.then_close {
            return;
        }
    }
    std::future::pending::<()>().await;
}
