//! A broker that speaks TLS and SASL, and nothing behind them but ApiVersions.

use std::num::NonZeroU32;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::{Buf, Bytes, BytesMut};
use kafka_protocol::messages::api_versions_response::ApiVersion;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsResponse, RequestHeader, SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest,
    SaslHandshakeResponse,
};
use kafka_protocol::protocol::{Decodable, Encodable, StrBytes};
use ring::{digest, hmac, pbkdf2};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

use super::certificates::Authority;
use crate::ids::HostPort;
use crate::kafka::net::security::{Mechanism, Stream};
use crate::kafka::wire::messages::encode_api_versions;

const ITERATIONS: u32 = 4096;
const SALT: &[u8] = b"salt of the earth";

/// TLS as a server has it.
pub(super) struct Server {
    certificate: (String, String),
    clients: Option<String>,
}

impl Server {
    pub(super) fn of(certificate: (String, String)) -> Self {
        Self { certificate, clients: None }
    }

    /// Lets nobody in without a certificate of this authority.
    pub(super) fn wanting_clients_of(self, authority: &Authority) -> Self {
        Self { clients: Some(authority.pem()), ..self }
    }

    fn config(&self) -> ServerConfig {
        let provider = Arc::new(default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
                builder.with_client_cert_verifier(WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap())
            }
        };
        let (chain, key) = &self.certificate;
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>().unwrap();
        builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
    }
}

/// What a broker does.
#[derive(Default)]
pub(super) struct Broker {
    pub(super) tls: Option<Server>,
    /// Its mechanisms; none: it answers ApiVersions alone, and closes on anything else.
    pub(super) mechanisms: Vec<Mechanism>,
    pub(super) password: String,
    pub(super) lifetime_ms: i64,
    /// Says that all is well without a proof of its own.
    pub(super) is_impostor: bool,
}

impl Broker {
    pub(super) fn with_sasl(mechanisms: &[Mechanism], password: &str) -> Self {
        Self { mechanisms: mechanisms.to_vec(), password: password.to_owned(), ..Self::default() }
    }

    /// The client's end of a connection to it.
    pub(super) fn start(self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(16 * 1024);
        tokio::spawn(async move {
            match &self.tls {
                None => self.serve(far).await,
                Some(server) => {
                    if let Ok(stream) = TlsAcceptor::from(Arc::new(server.config())).accept(far).await {
                        self.serve(stream).await;
                    }
                }
            }
        });
        near
    }

    /// Where it listens for one connection.
    pub(super) async fn listen(self) -> HostPort {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = HostPort::new("127.0.0.1", listener.local_addr().unwrap().port());
        tokio::spawn(async move { self.serve(listener.accept().await.unwrap().0).await });
        address
    }

    /// `None` of an answer: the connection is closed.
    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(&self, mut stream: S) {
        let mut conversation = Conversation::default();
        while let Some((header, body)) = read_request(&mut stream).await {
            let Some(answer) = self.answer(&header, body, &mut conversation) else { return };
            let length = u32::try_from(answer.len()).unwrap();
            stream.write_u32(length).await.unwrap();
            stream.write_all(&answer).await.unwrap();
            stream.flush().await.unwrap();
        }
    }

    fn answer(&self, header: &RequestHeader, mut body: Bytes, conversation: &mut Conversation) -> Option<BytesMut> {
        let version = header.request_api_version;
        let mut frame = BytesMut::from(&header.correlation_id.to_be_bytes()[..]);
        match ApiKey::try_from(header.request_api_key).ok()? {
            ApiKey::ApiVersions => {
                let range = |key: ApiKey, max| ApiVersion::default().with_api_key(key as i16).with_max_version(max);
                let keys = vec![range(ApiKey::ApiVersions, 4), range(ApiKey::SaslHandshake, 1), range(ApiKey::SaslAuthenticate, 2)];
                ApiVersionsResponse::default().with_api_keys(keys).encode(&mut frame, version).unwrap();
            }
            ApiKey::SaslHandshake if !self.mechanisms.is_empty() => {
                let asked = SaslHandshakeRequest::decode(&mut body, version).unwrap().mechanism.to_string();
                conversation.mechanism = self.mechanisms.iter().copied().find(|mechanism| mechanism.name() == asked);
                let code = if conversation.mechanism.is_none() { 33 } else { 0 };
                let names = self.mechanisms.iter().map(|mechanism| StrBytes::from_static_str(mechanism.name())).collect();
                SaslHandshakeResponse::default().with_error_code(code).with_mechanisms(names).encode(&mut frame, version).unwrap();
            }
            ApiKey::SaslAuthenticate => {
                // A flexible version's header has tagged fields.
                if version >= 2 {
                    frame.extend_from_slice(&[0]);
                }
                let token = SaslAuthenticateRequest::decode(&mut body, version).unwrap().auth_bytes;
                let told = conversation.answer(self, std::str::from_utf8(&token).unwrap());
                let answer = match told {
                    Ok(token) => {
                        SaslAuthenticateResponse::default().with_auth_bytes(Bytes::from(token)).with_session_lifetime_ms(self.lifetime_ms)
                    }
                    Err(text) => {
                        SaslAuthenticateResponse::default().with_error_code(58).with_error_message(Some(StrBytes::from_string(text)))
                    }
                };
                answer.encode(&mut frame, version).unwrap();
            }
            _ => return None,
        }
        Some(frame)
    }
}

/// What was said on one connection.
#[derive(Default)]
struct Conversation {
    mechanism: Option<Mechanism>,
    /// The client's first message without its head, and the broker's.
    scram: Option<(String, String)>,
}

impl Conversation {
    fn answer(&mut self, broker: &Broker, token: &str) -> Result<String, String> {
        let mechanism = self.mechanism.ok_or("no mechanism")?;
        let denied =
            || format!("Authentication failed during authentication due to invalid credentials with SASL mechanism {}", mechanism.name());
        if mechanism == Mechanism::Plain {
            return if token == format!("\0{}\0{}", super::USER, broker.password) { Ok(String::new()) } else { Err(denied()) };
        }
        let Some((bare, first)) = self.scram.take() else {
            let bare = token.strip_prefix("n,,").unwrap().to_owned();
            let nonce = bare.split_once(",r=").unwrap().1;
            let first = format!("r={nonce}brokers,s={},i={ITERATIONS}", BASE64.encode(SALT));
            self.scram = Some((bare, first.clone()));
            return Ok(first);
        };
        let (without_proof, proof) = token.split_once(",p=").unwrap();
        let auth_message = format!("{bare},{first},{without_proof}");
        let (hash, hmac_of, pbkdf) = match mechanism {
            Mechanism::ScramSha256 => (&digest::SHA256, hmac::HMAC_SHA256, pbkdf2::PBKDF2_HMAC_SHA256),
            _ => (&digest::SHA512, hmac::HMAC_SHA512, pbkdf2::PBKDF2_HMAC_SHA512),
        };
        let mut salted = vec![0; hash.output_len()];
        pbkdf2::derive(pbkdf, NonZeroU32::new(ITERATIONS).unwrap(), SALT, broker.password.as_bytes(), &mut salted);
        let sign = |key: &[u8], text: &[u8]| hmac::sign(&hmac::Key::new(hmac_of, key), text).as_ref().to_vec();
        let stored_key = digest::digest(hash, &sign(&salted, b"Client Key"));
        let signature = sign(stored_key.as_ref(), auth_message.as_bytes());
        let client_key: Vec<u8> =
            BASE64.decode(proof).unwrap().iter().zip(&signature).map(|(proof, signature)| proof ^ signature).collect();
        if digest::digest(hash, &client_key).as_ref() != stored_key.as_ref() {
            return Err(denied());
        }
        let server_key = if broker.is_impostor { b"made up".to_vec() } else { sign(&salted, b"Server Key") };
        Ok(format!("v={}", BASE64.encode(sign(&server_key, auth_message.as_bytes()))))
    }
}

async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<(RequestHeader, Bytes)> {
    let mut frame = vec![0; usize::try_from(stream.read_u32().await.ok()?).unwrap()];
    stream.read_exact(&mut frame).await.ok()?;
    let mut frame = Bytes::from(frame);
    let (key, version) = (i16::from_be_bytes([frame[0], frame[1]]), i16::from_be_bytes([frame[2], frame[3]]));
    let api = ApiKey::try_from(key).ok()?;
    let header = RequestHeader::decode(&mut frame, api.request_header_version(version)).ok()?;
    let rest = frame.copy_to_bytes(frame.remaining());
    Some((header, rest))
}

/// Whether a request is answered over this stream.
pub(super) async fn greets(mut stream: Stream<DuplexStream>) -> std::io::Result<u8> {
    let request = encode_api_versions(1, &StrBytes::from_static_str("test"), 4).unwrap();
    stream.write_all(&request).await?;
    stream.flush().await?;
    stream.read_u8().await
}
