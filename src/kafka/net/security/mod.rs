//! How connections to brokers are secured: TLS, SASL, both or neither. Every connection of this program goes through [`Security::secure`]: the producer's by
//! `connector`, all others by `rpc`.
//!
//! Authentication is part of making a connection: whoever uses one sees it when it is done, so no rule of the producer knows of it. Not here: where
//! settings come from (`cli`, `cluster`), what a refusal means to waiting records (`core`).

mod error;
mod identity;
mod java;
mod sasl;
mod scram;
mod secret;
mod stream;
#[cfg(test)]
mod tests;
mod tls;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use kafka_protocol::protocol::StrBytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

pub use error::{HandshakeError, SecurityError};
pub use identity::Identity;
pub use java::PropertiesError;
pub use sasl::{Credentials, Mechanism};
pub use scram::{ScramError, ScramVerifier};
pub use secret::Secret;
pub use stream::Stream;
pub use tls::{ClientCertificate, TlsSettings};

use self::sasl::{Login, Step};
use self::scram::Salted;
use crate::kafka::wire::frame::{FrameReader, WireError};

/// Bytes read at a time while SASL goes on; its messages are short.
const READ_BYTES: usize = 2 * 1024;

/// How connections are secured. Cheap to clone; shows no secret.
#[derive(Clone, Debug, Default)]
pub struct Security(Option<Arc<Settings>>);

#[derive(Debug)]
struct Settings {
    tls: Option<Arc<ClientConfig>>,
    credentials: Option<Credentials>,
    /// Of the credentials' password.
    salted: Salted,
}

/// Kafka's name of a protocol (`security.protocol`).
#[must_use]
pub fn protocol(tls: bool, sasl: bool) -> &'static str {
    match (tls, sasl) {
        (false, false) => "PLAINTEXT",
        (true, false) => "SSL",
        (false, true) => "SASL_PLAINTEXT",
        (true, true) => "SASL_SSL",
    }
}

/// A stream on which requests may be made.
#[derive(Debug)]
pub struct Secured<S> {
    /// The stream.
    pub stream: Stream<S>,
    /// For how long the broker is satisfied; `None`: for ever.
    pub lifetime: Option<Duration>,
}

impl Security {
    /// Neither TLS nor SASL.
    #[must_use]
    pub fn plaintext() -> Self {
        Self(None)
    }

    /// TLS, SASL or both.
    ///
    /// # Errors
    /// What is wrong with the certificates or the key.
    pub fn new(tls: Option<&TlsSettings>, credentials: Option<Credentials>) -> Result<Self, SecurityError> {
        let tls = tls.map(tls::client_config).transpose()?;
        Ok(if tls.is_none() && credentials.is_none() {
            Self(None)
        } else {
            Self(Some(Arc::new(Settings { tls, credentials, salted: Salted::default() })))
        })
    }

    /// Kafka's name of the protocol (`security.protocol`).
    #[must_use]
    pub fn protocol(&self) -> &'static str {
        self.0.as_deref().map_or("PLAINTEXT", |settings| protocol(settings.tls.is_some(), settings.credentials.is_some()))
    }

    /// Makes a connection to `host` ready for requests: TLS, then SASL. Waits for the broker without a bound of its own: whoever calls has one.
    ///
    /// # Errors
    /// Either side refused the other, or the connection ended.
    pub async fn secure<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        host: &str,
        client_id: &StrBytes,
    ) -> Result<Secured<S>, HandshakeError> {
        let Some(settings) = self.0.as_deref() else { return Ok(Secured { stream: Stream::Plain(stream), lifetime: None }) };
        let mut stream = match &settings.tls {
            None => Stream::Plain(stream),
            Some(config) => {
                let name = ServerName::try_from(host.to_owned()).map_err(|error| HandshakeError::Tls(format!("{host}: {error}")))?;
                let connecting = TlsConnector::from(Arc::clone(config)).connect(name, stream);
                Stream::Tls(Box::new(connecting.await.map_err(HandshakeError::of_tls)?))
            }
        };
        let lifetime = match &settings.credentials {
            None => None,
            Some(credentials) => log_in(&mut stream, credentials, &settings.salted, client_id).await?,
        };
        Ok(Secured { stream, lifetime })
    }
}

async fn log_in<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut Stream<S>,
    credentials: &Credentials,
    salted: &Salted,
    client_id: &StrBytes,
) -> Result<Option<Duration>, HandshakeError> {
    let (mut login, mut frame) = Login::begin(credentials, salted, client_id)?;
    let mut frames = FrameReader::default();
    loop {
        let answer = exchange(stream, &mut frames, &frame).await?;
        match login.answered(answer)? {
            Step::Send(next) => frame = next,
            Step::Done { lifetime } => return Ok(lifetime),
        }
    }
}

async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut Stream<S>,
    frames: &mut FrameReader,
    frame: &[u8],
) -> Result<bytes::Bytes, HandshakeError> {
    stream.write_all(frame).await.map_err(ended)?;
    stream.flush().await.map_err(ended)?;
    let mut chunk = BytesMut::with_capacity(READ_BYTES);
    loop {
        match frames.next_frame() {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(error) if looks_like_tls(&error) => return Err(HandshakeError::UnexpectedTls),
            Err(error) => return Err(error.into()),
        }
        chunk.clear();
        if stream.read_buf(&mut chunk).await.map_err(ended)? == 0 {
            return Err(ended(io::ErrorKind::UnexpectedEof.into()));
        }
        frames.push(&chunk);
    }
}

fn ended(error: io::Error) -> HandshakeError {
    HandshakeError::refusal_in(&error).unwrap_or(HandshakeError::SaslClosed(error))
}

/// Whether a frame's impossible length is the head of a TLS alert: a listener with TLS was spoken to without.
pub(crate) fn looks_like_tls(error: &WireError) -> bool {
    matches!(error, WireError::FrameLength(length) if length >> 16 == 0x1503)
}
