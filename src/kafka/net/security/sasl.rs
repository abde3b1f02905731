//! SASL over Kafka's protocol (KIP-152): ApiVersions, SaslHandshake, SaslAuthenticate until both sides are satisfied. Pure: frames in, frames out.
//!
//! Java's counterpart: `SaslClientAuthenticator`. As there, what is asked here is asked before the connection counts as ready, and ApiVersions is asked
//! once more by whoever uses the connection. Not here: the stream that the frames travel on (`mod`).

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::{Request, StrBytes};

use super::error::HandshakeError;
use super::scram::{Hash, Salted, Scram, ScramError, nonce};
use super::secret::Secret;
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::{WireError, correlation_id_of, decode_response, encode_request};
use crate::kafka::wire::messages::{API_VERSIONS_VERSION_MAX, ApiVersionsAnswer, decode_api_versions, encode_api_versions};
use crate::kafka::wire::versions::BrokerVersions;

/// The only version whose tokens travel in Kafka's own requests; every broker since 1.0 has it.
const HANDSHAKE_VERSION: i16 = 1;

/// How a user proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// The password itself: only behind TLS, or where nobody listens.
    Plain,
    /// A proof with SHA-256.
    ScramSha256,
    /// A proof with SHA-512.
    ScramSha512,
}

impl Mechanism {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plain, Self::ScramSha256, Self::ScramSha512];

    /// Kafka's name of it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::ScramSha256 => "SCRAM-SHA-256",
            Self::ScramSha512 => "SCRAM-SHA-512",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mechanism| mechanism.name() == name)
    }
}

/// A user with its password.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// How it is proven.
    pub mechanism: Mechanism,
    /// The user's name.
    pub user: String,
    /// Its password.
    pub password: Secret,
}

/// What is to be done next.
#[derive(Debug)]
pub(super) enum Step {
    /// Send this frame, and wait for its answer.
    Send(BytesMut),
    /// The broker is satisfied, and so is the client. It may want to hear of it again before this time is over (KIP-368).
    Done { lifetime: Option<Duration> },
}

/// One login.
#[derive(Debug)]
pub(super) struct Login<'a> {
    credentials: &'a Credentials,
    salted: &'a Salted,
    client_id: StrBytes,
    correlation_id: i32,
    versions: BrokerVersions,
    authenticate_version: i16,
    stage: Stage<'a>,
}

#[derive(Debug)]
enum Stage<'a> {
    Versions { asked: i16 },
    Handshake,
    Plain,
    ScramFirst(Scram<'a>),
    ScramLast(Scram<'a>),
}

impl<'a> Login<'a> {
    /// A login, and its first frame. `salted` belongs to the credentials.
    pub(super) fn begin(
        credentials: &'a Credentials,
        salted: &'a Salted,
        client_id: &StrBytes,
    ) -> Result<(Self, BytesMut), HandshakeError> {
        let asked = API_VERSIONS_VERSION_MAX;
        let frame = encode_api_versions(0, client_id, asked)?;
        let login = Self {
            credentials,
            salted,
            client_id: client_id.clone(),
            correlation_id: 0,
            versions: BrokerVersions::default(),
            authenticate_version: 0,
            stage: Stage::Versions { asked },
        };
        Ok((login, frame))
    }

    /// Takes the answer to the frame that was sent last.
    pub(super) fn answered(&mut self, frame: Bytes) -> Result<Step, HandshakeError> {
        if correlation_id_of(&frame) != Some(self.correlation_id) {
            return Err(HandshakeError::SaslRefused(ErrorCode::ILLEGAL_SASL_STATE));
        }
        match std::mem::replace(&mut self.stage, Stage::Handshake) {
            Stage::Versions { asked } => self.versions_told(frame, asked),
            Stage::Handshake => self.mechanism_accepted(frame),
            Stage::Plain => {
                let (_, lifetime) = self.accepted(frame)?;
                Ok(Step::Done { lifetime })
            }
            Stage::ScramFirst(mut scram) => {
                let (token, _) = self.accepted(frame)?;
                let last = scram.last(text(&token)?)?;
                self.stage = Stage::ScramLast(scram);
                self.send_token(&last)
            }
            Stage::ScramLast(scram) => {
                let (token, lifetime) = self.accepted(frame)?;
                scram.verify(text(&token)?)?;
                Ok(Step::Done { lifetime })
            }
        }
    }

    fn versions_told(&mut self, frame: Bytes, asked: i16) -> Result<Step, HandshakeError> {
        match decode_api_versions(frame, asked)? {
            ApiVersionsAnswer::AskAgain(lower) => {
                self.stage = Stage::Versions { asked: lower };
                self.correlation_id += 1;
                Ok(Step::Send(encode_api_versions(self.correlation_id, &self.client_id, lower)?))
            }
            ApiVersionsAnswer::Refused(code) => Err(HandshakeError::SaslRefused(code)),
            ApiVersionsAnswer::Versions { versions, .. } => {
                self.versions = versions;
                let known = self.versions.highest_common::<SaslHandshakeRequest>();
                let authenticate = self.versions.highest_common::<SaslAuthenticateRequest>();
                let (Some(HANDSHAKE_VERSION..), Some(version)) = (known, authenticate) else {
                    return Err(HandshakeError::SaslRefused(ErrorCode::UNSUPPORTED_VERSION));
                };
                self.authenticate_version = version;
                let mechanism = StrBytes::from_static_str(self.credentials.mechanism.name());
                self.send(&SaslHandshakeRequest::default().with_mechanism(mechanism), HANDSHAKE_VERSION)
            }
        }
    }

    fn mechanism_accepted(&mut self, frame: Bytes) -> Result<Step, HandshakeError> {
        let answer = decode_response::<SaslHandshakeRequest>(frame, HANDSHAKE_VERSION)?;
        let Credentials { mechanism, user, password } = self.credentials;
        match ErrorCode::from_wire(answer.error_code) {
            None => {}
            Some(ErrorCode::UNSUPPORTED_SASL_MECHANISM) => {
                let offered = answer.mechanisms.iter().map(ToString::to_string).collect();
                return Err(HandshakeError::MechanismRefused { mechanism: mechanism.name(), offered });
            }
            Some(code) => return Err(HandshakeError::SaslRefused(code)),
        }
        let hash = match mechanism {
            Mechanism::Plain => {
                self.stage = Stage::Plain;
                return self.send_token(&format!("\0{user}\0{}", password.expose()));
            }
            Mechanism::ScramSha256 => Hash::Sha256,
            Mechanism::ScramSha512 => Hash::Sha512,
        };
        let scram = Scram::new(hash, user, password, self.salted, nonce()?);
        let first = scram.first();
        self.stage = Stage::ScramFirst(scram);
        self.send_token(&first)
    }

    /// The token of an answer to SaslAuthenticate, and for how long the broker is satisfied.
    fn accepted(&self, frame: Bytes) -> Result<(Bytes, Option<Duration>), HandshakeError> {
        let answer = decode_response::<SaslAuthenticateRequest>(frame, self.authenticate_version)?;
        if let Some(code) = ErrorCode::from_wire(answer.error_code) {
            let words = answer.error_message.map(|words| words.to_string()).filter(|words| !words.is_empty());
            return Err(HandshakeError::Denied(words.unwrap_or_else(|| code.default_message().to_owned())));
        }
        let lifetime = u64::try_from(answer.session_lifetime_ms).ok().filter(|ms| *ms > 0).map(Duration::from_millis);
        Ok((answer.auth_bytes, lifetime))
    }

    fn send_token(&mut self, token: &str) -> Result<Step, HandshakeError> {
        let token = Bytes::copy_from_slice(token.as_bytes());
        self.send(&SaslAuthenticateRequest::default().with_auth_bytes(token), self.authenticate_version)
    }

    fn send<R: Request>(&mut self, request: &R, version: i16) -> Result<Step, HandshakeError> {
        self.correlation_id += 1;
        let frame = encode_request(self.correlation_id, &self.client_id, version, request);
        // A codec's words could hold what was to be encoded.
        let hidden = |error| match error {
            WireError::Encode { api, version, .. } => WireError::Encode { api, version, reason: "it does not fit".to_owned() },
            other => other,
        };
        Ok(Step::Send(frame.map_err(hidden)?))
    }
}

fn text(token: &[u8]) -> Result<&str, ScramError> {
    std::str::from_utf8(token).map_err(|_| ScramError::Malformed('r'))
}
