//! The driver of one producer: moves bytes and timers for its core, in one task.
//!
//! A pass takes what every socket has, lets the core decide, and writes what it wants written. No decision of the protocol is made here. One task
//! per client, whatever the number of its connections; read buffers are shared per thread and no idle connection holds one.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::clock::Moment;
use crate::ids::BrokerId;
use crate::kafka::core::connections::{ConnectAttempt, ConnectionId};
use crate::kafka::core::output::{Action, Output};
use crate::kafka::event::Failure;
use crate::kafka::net::connector::Connector;
use crate::kafka::net::security::HandshakeError;
use crate::kafka::net::shared::Shared;
use crate::kafka::wire::frame::FrameReader;
use crate::kafka::wire::outgoing::OutgoingFrame;

/// Bytes taken from a socket at once.
const READ_BYTES: usize = 64 * 1024;

thread_local! {
    static READ_BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// What the network did, to be told to the core under one lock.
enum News {
    Connected(BrokerId, ConnectionId),
    ConnectFailed(BrokerId, ConnectionId),
    Refused(BrokerId, ConnectionId, Failure),
    Disconnected(BrokerId, ConnectionId),
    Written(BrokerId, ConnectionId),
    Frame(BrokerId, ConnectionId, Bytes),
    Malformed(BrokerId, ConnectionId),
}

/// One connection or attempt.
struct Link<S> {
    id: ConnectionId,
    node: BrokerId,
    state: LinkState<S>,
    is_over: bool,
}

type Connecting<S> = Pin<Box<dyn Future<Output = io::Result<S>> + Send>>;

enum LinkState<S> {
    Connecting(Connecting<S>),
    Open {
        stream: S,
        reader: FrameReader,
        outgoing: VecDeque<OutgoingFrame>,
        /// Whether the stream may still hold back what was written to it.
        is_unflushed: bool,
    },
}

/// Moves one client.
pub(super) struct Driver<C: Connector> {
    shared: Arc<Shared>,
    connector: C,
    links: Vec<Link<C::Stream>>,
    timer: Option<Pin<Box<Sleep>>>,
    timer_at: Option<Moment>,
}

impl<C: Connector> Driver<C> {
    pub(super) fn new(shared: Arc<Shared>, connector: C) -> Self {
        Self { shared, connector, links: Vec::new(), timer: None, timer_at: None }
    }

    /// Runs until the client is closed.
    pub(super) async fn run(mut self) {
        // Also if a pass panics: whoever waits for the end must not wait for ever.
        let _finished = self.shared.finished.clone().drop_guard();
        poll_fn(|context| self.poll(context)).await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            self.shared.register(context.waker());
            let mut news = Vec::new();
            for link in &mut self.links {
                link.poll(context, &mut news);
            }
            self.links.retain(|link| !link.is_over);
            let (output, next, is_done) = self.decide(news);
            let must_go_on = !output.actions.is_empty();
            self.shared.tell(output, |actions| perform(&self.connector, &mut self.links, actions));
            if is_done {
                return Poll::Ready(());
            }
            if !must_go_on && self.wait_until(next, context).is_pending() && !self.shared.is_woken() {
                return Poll::Pending;
            }
        }
    }

    /// Tells the core what happened and lets it decide.
    fn decide(&mut self, news: Vec<News>) -> (Output, Option<Moment>, bool) {
        let now = self.shared.clock.now();
        let mut core = self.shared.core();
        for item in news {
            match item {
                News::Connected(node, id) => core.on_connected(node, id, now),
                News::ConnectFailed(node, id) => core.on_connect_failed(node, id, now),
                News::Refused(node, id, failure) => core.on_refused(node, id, failure, now),
                News::Disconnected(node, id) => core.on_disconnected(node, id, now),
                News::Written(node, id) => core.on_written(node, id, now),
                News::Frame(node, id, frame) => core.on_frame(node, id, frame, now),
                News::Malformed(node, id) => core.on_malformed(node, id, now),
            }
        }
        let next = core.turn(now);
        let is_done = core.is_closing() && (core.is_drained() || self.shared.is_close_overdue(now));
        if is_done {
            core.shut_down(now);
        }
        (core.take_output(), next, is_done)
    }

    fn wait_until(&mut self, at: Option<Moment>, context: &mut Context<'_>) -> Poll<()> {
        let at = match (at, self.shared.close_deadline()) {
            (Some(at), Some(deadline)) => Some(at.min(deadline)),
            (at, deadline) => at.or(deadline),
        };
        let Some(at) = at else {
            self.timer_at = None;
            return Poll::Pending;
        };
        let deadline = self.shared.clock.instant_of(at);
        let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if self.timer_at != Some(at) {
            timer.as_mut().reset(deadline);
            self.timer_at = Some(at);
        }
        let result = timer.as_mut().poll(context);
        if result.is_ready() {
            self.timer_at = None;
        }
        result
    }
}

fn perform<C: Connector>(connector: &C, links: &mut Vec<Link<C::Stream>>, actions: Vec<Action>) {
    for action in actions {
        match action {
            Action::Connect(ConnectAttempt { id, node, address, attempt }) => {
                let connecting = Box::pin(connector.connect(address, attempt));
                links.push(Link { id, node, state: LinkState::Connecting(connecting), is_over: false });
            }
            Action::Write { connection, frame } => {
                let link = links.iter_mut().find(|link| link.id == connection);
                if let Some(Link { state: LinkState::Open { outgoing, .. }, .. }) = link {
                    outgoing.push_back(frame);
                }
            }
            Action::Close { connection } => links.retain(|link| link.id != connection),
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Link<S> {
    fn poll(&mut self, context: &mut Context<'_>, news: &mut Vec<News>) {
        let (node, id) = (self.node, self.id);
        if let LinkState::Connecting(connecting) = &mut self.state {
            match connecting.as_mut().poll(context) {
                Poll::Pending => return,
                Poll::Ready(Ok(stream)) => {
                    self.state = LinkState::Open { stream, reader: FrameReader::default(), outgoing: VecDeque::new(), is_unflushed: false };
                    news.push(News::Connected(node, id));
                }
                Poll::Ready(Err(error)) => {
                    self.is_over = true;
                    news.push(match refusal_in(&error) {
                        Some(failure) => News::Refused(node, id, failure),
                        None => News::ConnectFailed(node, id),
                    });
                    return;
                }
            }
        }
        let LinkState::Open { stream, reader, outgoing, is_unflushed } = &mut self.state else { return };
        // As in Java: what has come is read first, so that a write that fails does not lose answers.
        let read = poll_read(stream, reader, context, |frame| news.push(News::Frame(node, id, frame)));
        match read.and_then(|()| poll_write(stream, outgoing, is_unflushed, context, || news.push(News::Written(node, id)))) {
            Ok(()) => {}
            Err(LinkEnd::Lost) => {
                self.is_over = true;
                news.push(News::Disconnected(node, id));
            }
            Err(LinkEnd::Refused(failure)) => {
                self.is_over = true;
                news.push(News::Refused(node, id, failure));
            }
            Err(LinkEnd::Malformed) => news.push(News::Malformed(node, id)),
        }
    }
}

enum LinkEnd {
    Lost,
    Refused(Failure),
    Malformed,
}

impl From<io::Error> for LinkEnd {
    fn from(error: io::Error) -> Self {
        refusal_in(&error).map_or(Self::Lost, Self::Refused)
    }
}

/// Why the other side was refused, or refused, if it is that which ended a connection.
fn refusal_in(error: &io::Error) -> Option<Failure> {
    let at_connect = error.get_ref().and_then(|inner| inner.downcast_ref::<HandshakeError>());
    match at_connect {
        Some(refusal) => refusal.is_authentication().then(|| refusal.to_failure()),
        None => HandshakeError::refusal_in(error).map(|refusal| refusal.to_failure()),
    }
}

/// Pieces that one system call takes.
const PIECES_PER_WRITE: usize = 64;

fn poll_write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    outgoing: &mut VecDeque<OutgoingFrame>,
    is_unflushed: &mut bool,
    context: &mut Context<'_>,
    mut written: impl FnMut(),
) -> Result<(), LinkEnd> {
    if outgoing.is_empty() && !*is_unflushed {
        return Ok(());
    }
    while !outgoing.is_empty() {
        let result = {
            let mut slices = [IoSlice::new(&[]); PIECES_PER_WRITE];
            let mut filled = 0;
            for frame in &*outgoing {
                filled += frame.fill(&mut slices[filled..]);
            }
            Pin::new(&mut *stream).poll_write_vectored(context, &slices[..filled])
        };
        let mut bytes = match result {
            Poll::Pending => return Ok(()),
            Poll::Ready(Ok(0)) => return Err(LinkEnd::Lost),
            Poll::Ready(Err(error)) => return Err(error.into()),
            Poll::Ready(Ok(bytes)) => bytes,
        };
        *is_unflushed = true;
        while let Some(frame) = outgoing.front_mut() {
            let part = bytes.min(frame.bytes());
            frame.advance(part);
            bytes -= part;
            if frame.bytes() > 0 {
                break;
            }
            outgoing.pop_front();
            written();
        }
    }
    if let Poll::Ready(flushed) = Pin::new(stream).poll_flush(context) {
        flushed?;
        *is_unflushed = false;
    }
    Ok(())
}

fn poll_read<S: AsyncRead + Unpin>(
    stream: &mut S,
    reader: &mut FrameReader,
    context: &mut Context<'_>,
    mut frame: impl FnMut(Bytes),
) -> Result<(), LinkEnd> {
    READ_BUFFER.with_borrow_mut(|buffer| {
        loop {
            let mut chunk = ReadBuf::new(buffer);
            match Pin::new(&mut *stream).poll_read(context, &mut chunk) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(error.into()),
                Poll::Ready(Ok(())) if chunk.filled().is_empty() => return Err(LinkEnd::Lost),
                Poll::Ready(Ok(())) => reader.push(chunk.filled()),
            }
            loop {
                match reader.next_frame() {
                    Ok(Some(bytes)) => frame(bytes),
                    Ok(None) => break,
                    Err(_) => return Err(LinkEnd::Malformed),
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A socket with bytes that came before its end, into which nothing can be written any more.
    struct Reset(&'static [u8]);

    impl AsyncRead for Reset {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if self.0.is_empty() {
                return Poll::Pending;
            }
            buffer.put_slice(std::mem::take(&mut self.0));
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Reset {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn an_answer_that_came_before_the_end_is_read_though_a_write_fails() {
        let outgoing = VecDeque::from([OutgoingFrame::from(bytes::BytesMut::from(&b"a request"[..]))]);
        let state = LinkState::Open { stream: Reset(b"\0\0\0\x04good"), reader: FrameReader::default(), outgoing, is_unflushed: false };
        let mut link = Link { id: ConnectionId(1), node: BrokerId(1), state, is_over: false };
        let mut news = Vec::new();
        link.poll(&mut Context::from_waker(std::task::Waker::noop()), &mut news);
        assert!(matches!(&news[..], [News::Frame(_, _, frame), News::Disconnected(..)] if &frame[..] == b"good"));
    }

    /// A stream that keeps what is written until it is flushed, as TLS may, and cannot be flushed at first.
    #[derive(Default)]
    struct Holding {
        held: Vec<u8>,
        sent: Vec<u8>,
        can_send: bool,
    }

    impl AsyncRead for Holding {
        fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    impl AsyncWrite for Holding {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            self.held.extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            if !self.can_send {
                return Poll::Pending;
            }
            let held = std::mem::take(&mut self.held);
            self.sent.extend_from_slice(&held);
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn what_a_stream_holds_back_is_flushed_later_though_nothing_more_is_written() {
        let mut outgoing = VecDeque::from([OutgoingFrame::from(bytes::BytesMut::from(&b"a request"[..]))]);
        let (mut stream, mut is_unflushed) = (Holding::default(), false);
        let mut context = Context::from_waker(std::task::Waker::noop());
        for can_send in [false, true] {
            stream.can_send = can_send;
            assert!(poll_write(&mut stream, &mut outgoing, &mut is_unflushed, &mut context, || {}).is_ok());
            assert_eq!((outgoing.len(), is_unflushed), (0, !can_send));
        }
        assert_eq!(stream.sent, b"a request");
    }
}
