//! One request, one response, over one connection: for admin work and probes.
//!
//! Versions are negotiated when the connection is made. Every wait has a bound; after any failure in mid-call the connection is spent,
//! because a late response could be taken for the next one's. Not the producer's way to its brokers: nothing is pipelined here.

use std::io;
use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Message, Request, StrBytes};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use crate::clock::{Clock, Moment};
use crate::ids::HostPort;
use crate::kafka::net::exhausted;
use crate::kafka::net::security::{HandshakeError, Identity, Stream, looks_like_tls};
use crate::kafka::net::traffic::{Traffic, api_name};
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::{FrameReader, WireError, correlation_id_of, decode_response, encode_request};
use crate::kafka::wire::versions::BrokerVersions;

/// The part of a session's lifetime after which the connection is not used again, as Java re-authenticates at 85 to 95 %.
const LIFETIME_SHARE: f64 = 0.85;
/// Bytes read from the socket at a time.
const READ_BYTES: usize = 16 * 1024;

/// Why a call brought no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RpcError {
    /// No connection: refused, unreachable, or a name that does not resolve.
    #[error("cannot connect to {address}: {source}")]
    Connect {
        /// Whom.
        address: HostPort,
        /// The system's reason.
        source: io::Error,
    },
    /// Either side refused the other before anything was asked.
    #[error("{address} {source}")]
    Handshake {
        /// Whom.
        address: HostPort,
        /// Why.
        source: HandshakeError,
    },
    /// Nothing came in time. A request that was sent may still be carried out.
    #[error("{address} did not answer {doing} within {waited:?}")]
    TimedOut {
        /// Whom.
        address: HostPort,
        /// What was going on.
        doing: String,
        /// The bound.
        waited: Duration,
    },
    /// The connection ended before the response came. A request that was sent may still be carried out.
    #[error("{address} closed the connection: {source}")]
    Closed {
        /// Whom.
        address: HostPort,
        /// The system's reason.
        source: io::Error,
    },
    /// What came back is not a response to what was asked.
    #[error("{address} sent a malformed response: {source}")]
    Malformed {
        /// Whom.
        address: HostPort,
        /// What is wrong with it.
        source: WireError,
    },
    /// A response came that belongs to another request.
    #[error("{address} answered request {told:?} instead of request {asked}")]
    OutOfOrder {
        /// Whom.
        address: HostPort,
        /// The request's correlation id.
        asked: i32,
        /// The response's.
        told: Option<i32>,
    },
    /// The request cannot be put in a version that both sides know.
    #[error("{address} has no version of {api} that this client speaks")]
    Unsupported {
        /// Whom.
        address: HostPort,
        /// Kafka's name of the request.
        api: String,
    },
    /// The request cannot be encoded.
    #[error("cannot ask {address}: {source}")]
    Unsendable {
        /// Whom.
        address: HostPort,
        /// Why.
        source: WireError,
    },
    /// The broker refused to say which versions it speaks.
    #[error("{address} refused ApiVersions: {code}")]
    Refused {
        /// Whom.
        address: HostPort,
        /// Its reason.
        code: ErrorCode,
    },
}

impl RpcError {
    /// What went wrong, in a word for tables.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "connect",
            Self::Handshake { .. } => "handshake",
            Self::TimedOut { .. } => "timed_out",
            Self::Closed { .. } => "disconnected",
            Self::Malformed { .. } | Self::OutOfOrder { .. } => "malformed",
            Self::Refused { .. } => "refused",
            Self::Unsupported { .. } | Self::Unsendable { .. } => "unsendable",
        }
    }

    /// Whether there was no connection, or it ended: no answer of the other side's, and none that was too late.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Closed { .. } => true,
            Self::Handshake { source, .. } => !source.is_authentication(),
            _ => false,
        }
    }

    /// Whether the request may have been carried out although no response came.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        matches!(self, Self::TimedOut { .. } | Self::Closed { .. } | Self::Malformed { .. } | Self::OutOfOrder { .. })
    }
}

/// A connection with its versions negotiated.
#[derive(Debug)]
pub struct Rpc {
    address: HostPort,
    client_id: StrBytes,
    clock: Clock,
    stream: Stream<TcpStream>,
    /// From when on the broker wants to hear again who asks: then another connection is made.
    stale_at: Option<Moment>,
    frames: FrameReader,
    versions: BrokerVersions,
    traffic: Traffic,
    correlation_id: i32,
    spent: bool,
}

impl Rpc {
    /// Connects, secures the connection and asks for the broker's versions, all within `timeout`. What is asked and answered on it from then on
    /// is counted in `traffic`.
    ///
    /// # Errors
    /// Any [`RpcError`] but [`RpcError::Unsupported`].
    pub async fn connect(
        address: &HostPort,
        identity: &Identity,
        timeout: Duration,
        clock: &Clock,
        traffic: &Traffic,
    ) -> Result<Self, RpcError> {
        let deadline = clock.instant_of(clock.now() + timeout);
        let connecting = async {
            let stream = TcpStream::connect((&*address.host, address.port)).await?;
            exhausted::leave_room(&stream).map(|()| stream)
        };
        let stream = match timeout_at(deadline, connecting).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(source)) => {
                exhausted::note(&source);
                return Err(RpcError::Connect { address: address.clone(), source });
            }
            Err(_) => return Err(RpcError::TimedOut { address: address.clone(), doing: "a connection".to_owned(), waited: timeout }),
        };
        stream.set_nodelay(true).map_err(|source| RpcError::Connect { address: address.clone(), source })?;
        let client_id = StrBytes::from_string(identity.client_id.to_string());
        let securing = identity.security.secure(stream, &address.host, &client_id);
        let secured = match timeout_at(deadline, securing).await {
            Ok(secured) => secured.map_err(|source| RpcError::Handshake { address: address.clone(), source })?,
            Err(_) => {
                let doing = format!("the {} handshake", identity.security.protocol());
                return Err(RpcError::TimedOut { address: address.clone(), doing, waited: timeout });
            }
        };
        let mut rpc = Self {
            address: address.clone(),
            client_id,
            clock: clock.clone(),
            stream: secured.stream,
            stale_at: secured.lifetime.map(|lifetime| clock.now() + lifetime.mul_f64(LIFETIME_SHARE)),
            frames: FrameReader::default(),
            versions: BrokerVersions::default(),
            traffic: traffic.clone(),
            correlation_id: 0,
            spent: false,
        };
        rpc.versions = rpc.negotiate(deadline, timeout).await?;
        Ok(rpc)
    }

    /// What the broker said it speaks.
    #[must_use]
    pub fn versions(&self) -> &BrokerVersions {
        &self.versions
    }

    /// Whether another call can be made: none failed on the way, and the peer is not known to have closed.
    #[must_use]
    pub fn is_usable(&mut self) -> bool {
        let mut byte = [0];
        let mut context = Context::from_waker(Waker::noop());
        !self.spent
            && self.stale_at.is_none_or(|at| self.clock.now() < at)
            && Pin::new(&mut self.stream).poll_read(&mut context, &mut ReadBuf::new(&mut byte)).is_pending()
    }

    /// Asks in the highest version that both sides know.
    ///
    /// # Errors
    /// Any [`RpcError`]; after all but [`RpcError::Unsupported`] and [`RpcError::Unsendable`] the connection is spent.
    pub async fn call<R: Request>(&mut self, request: &R, timeout: Duration) -> Result<R::Response, RpcError> {
        let version = self.highest::<R>()?;
        self.call_version(request, version, timeout).await
    }

    /// The same, and the response is left as it came: a frame that begins with the request's correlation id, and the version that it is in.
    ///
    /// # Errors
    /// As [`Rpc::call`], but a response that cannot be decoded is none.
    pub async fn call_undecoded<R: Request>(&mut self, request: &R, timeout: Duration) -> Result<(Bytes, i16), RpcError> {
        let version = self.highest::<R>()?;
        let deadline = self.clock.instant_of(self.clock.now() + timeout);
        Ok((self.exchange(request, version, deadline, timeout).await?, version))
    }

    /// Asks in a given version, whatever the broker said.
    ///
    /// # Errors
    /// As [`Rpc::call`].
    pub async fn call_version<R: Request>(&mut self, request: &R, version: i16, timeout: Duration) -> Result<R::Response, RpcError> {
        let deadline = self.clock.instant_of(self.clock.now() + timeout);
        let frame = self.exchange(request, version, deadline, timeout).await?;
        decode_response::<R>(frame, version).map_err(|source| {
            self.spent = true;
            self.malformed(source)
        })
    }

    fn highest<R: Request>(&self) -> Result<i16, RpcError> {
        let unsupported = || RpcError::Unsupported { address: self.address.clone(), api: api_name(R::KEY) };
        self.versions.highest_common::<R>().ok_or_else(unsupported)
    }

    /// Asks for versions in the newest form; a broker that does not know it answers error 35 in the oldest, with its range.
    async fn negotiate(&mut self, deadline: Instant, timeout: Duration) -> Result<BrokerVersions, RpcError> {
        let newest = <ApiVersionsRequest as Message>::VERSIONS.max;
        let mut version = newest;
        loop {
            let request = match version {
                3.. => ApiVersionsRequest::default()
                    .with_client_software_name(StrBytes::from_static_str(env!("CARGO_PKG_NAME")))
                    .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION"))),
                _ => ApiVersionsRequest::default(),
            };
            let frame = self.exchange(&request, version, deadline, timeout).await?;
            let refused = is_unsupported_version(&frame);
            let response: ApiVersionsResponse =
                decode_response::<ApiVersionsRequest>(frame, if refused { 0 } else { version }).map_err(|source| self.malformed(source))?;
            match ErrorCode::from_wire(response.error_code) {
                None => return Ok(BrokerVersions::from_response(&response)),
                Some(ErrorCode::UNSUPPORTED_VERSION) if version == newest => {
                    version = BrokerVersions::from_response(&response).highest_common::<ApiVersionsRequest>().unwrap_or(0).min(newest - 1);
                }
                Some(code) => return Err(RpcError::Refused { address: self.address.clone(), code }),
            }
        }
    }

    /// Sends a request and waits for the frame that answers it.
    async fn exchange<R: Request>(&mut self, request: &R, version: i16, deadline: Instant, timeout: Duration) -> Result<Bytes, RpcError> {
        if self.spent {
            return Err(self.closed(io::ErrorKind::NotConnected.into()));
        }
        self.correlation_id = self.correlation_id.wrapping_add(1);
        let asked = self.correlation_id;
        let frame = encode_request(asked, &self.client_id, version, request)
            .map_err(|source| RpcError::Unsendable { address: self.address.clone(), source })?;
        // Spent until the response is there: a caller may also drop this future half-way.
        self.spent = true;
        self.traffic.sent(R::KEY, frame.len());
        let answer = match timeout_at(deadline, self.write_and_read(&frame)).await {
            Ok(answer) => answer?,
            Err(_) => {
                return Err(RpcError::TimedOut { address: self.address.clone(), doing: api_name(R::KEY), waited: timeout });
            }
        };
        let told = correlation_id_of(&answer);
        if told != Some(asked) {
            return Err(RpcError::OutOfOrder { address: self.address.clone(), asked, told });
        }
        self.spent = false;
        Ok(answer)
    }

    async fn write_and_read(&mut self, frame: &[u8]) -> Result<Bytes, RpcError> {
        self.stream.write_all(frame).await.map_err(|source| self.ended(source))?;
        self.stream.flush().await.map_err(|source| self.ended(source))?;
        let mut chunk = BytesMut::with_capacity(READ_BYTES);
        loop {
            match self.frames.next_frame() {
                Ok(Some(answer)) => return Ok(answer),
                Ok(None) => {}
                Err(source) => return Err(self.unreadable(source)),
            }
            match self.stream.read_buf(&mut chunk).await {
                Ok(0) => return Err(self.closed(io::ErrorKind::UnexpectedEof.into())),
                Ok(bytes) => {
                    self.traffic.received(bytes);
                    self.frames.push(&chunk);
                }
                Err(source) => return Err(self.ended(source)),
            }
            chunk.clear();
        }
    }

    /// In TLS 1.3 a broker refuses a client's certificate only when the client has sent its first request.
    fn ended(&self, source: io::Error) -> RpcError {
        match HandshakeError::refusal_in(&source) {
            Some(refusal) => RpcError::Handshake { address: self.address.clone(), source: refusal },
            None => self.closed(source),
        }
    }

    fn unreadable(&self, source: WireError) -> RpcError {
        if looks_like_tls(&source) {
            return RpcError::Handshake { address: self.address.clone(), source: HandshakeError::UnexpectedTls };
        }
        self.malformed(source)
    }

    fn closed(&self, source: io::Error) -> RpcError {
        RpcError::Closed { address: self.address.clone(), source }
    }

    fn malformed(&self, source: WireError) -> RpcError {
        RpcError::Malformed { address: self.address.clone(), source }
    }
}

/// Whether a response frame to ApiVersions starts with error 35 behind its correlation id; such a response is always of version 0.
fn is_unsupported_version(frame: &Bytes) -> bool {
    let mut rest = frame.get(4..).unwrap_or_default();
    rest.len() >= 2 && rest.get_i16() == ErrorCode::UNSUPPORTED_VERSION.0
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::api_versions_response::ApiVersion;
    use kafka_protocol::messages::{ApiKey, MetadataRequest};
    use kafka_protocol::protocol::Encodable;
    use tokio::net::TcpListener;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(1);

    /// A peer that answers ApiVersions, and the next request with these bytes (and then nothing more).
    async fn connected(then: &'static [u8]) -> (Rpc, tokio::task::JoinHandle<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = HostPort::new("127.0.0.1", listener.local_addr().unwrap().port());
        let peer = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let metadata = ApiVersion::default().with_api_key(ApiKey::Metadata as i16).with_max_version(13);
            let mut answer = BytesMut::from(&[0, 0, 0, 1][..]);
            ApiVersionsResponse::default().with_api_keys(vec![metadata]).encode(&mut answer, 4).unwrap();
            read_request(&mut stream).await;
            stream.write_i32(i32::try_from(answer.len()).unwrap()).await.unwrap();
            stream.write_all(&answer).await.unwrap();
            read_request(&mut stream).await;
            stream.write_all(then).await.unwrap();
            stream
        });
        (Rpc::connect(&address, &"test".into(), TIMEOUT, &Clock::real(), &Traffic::default()).await.unwrap(), peer)
    }

    async fn read_request(stream: &mut TcpStream) {
        let mut frame = vec![0; usize::try_from(stream.read_i32().await.unwrap()).unwrap()];
        stream.read_exact(&mut frame).await.unwrap();
    }

    #[tokio::test]
    async fn a_request_that_the_broker_does_not_know_leaves_the_connection_usable() {
        let (mut rpc, _peer) = connected(&[]).await;
        let refused = rpc.call(&ApiVersionsRequest::default(), TIMEOUT).await.unwrap_err();
        assert!(matches!(refused, RpcError::Unsupported { .. }) && !refused.is_ambiguous());
        assert!(rpc.is_usable());
    }

    #[tokio::test]
    async fn after_a_failed_call_the_connection_is_spent() {
        let rows: [(&'static [u8], &str); 4] = [
            (&[], "did not answer Metadata within 1s"),
            (&[0, 0, 0, 4, 0, 0, 0, 9], "answered request Some(9) instead of request 2"),
            (&[0, 0, 0, 5, 0, 0, 0, 2, 0], "malformed response: cannot decode the response to Metadata version 13"),
            (&[0, 0, 0, 1], "malformed response: a frame of 1 bytes was announced"),
        ];
        for (bytes, text) in rows {
            let (mut rpc, _peer) = connected(bytes).await;
            let error = rpc.call(&MetadataRequest::default(), TIMEOUT).await.unwrap_err();
            assert!(error.to_string().contains(text), "{error}");
            assert!(error.is_ambiguous(), "{error}");
            assert!(!rpc.is_usable(), "{error}");
        }
    }

    #[tokio::test]
    async fn a_peer_that_closes_is_told_from_one_that_is_silent() {
        let (mut rpc, peer) = connected(&[]).await;
        let request = MetadataRequest::default();
        let (outcome, ()) = tokio::join!(rpc.call(&request, TIMEOUT), async { drop(peer.await) });
        assert!(matches!(outcome, Err(RpcError::Closed { .. })), "{outcome:?}");
    }
}
