//! Why a connection cannot be made as securely as asked for: settings that do not fit, and brokers that refuse or are refused.

use std::io;

use tokio_rustls::rustls;
use tokio_rustls::rustls::CertificateError;

use super::scram::ScramError;
use crate::kafka::event::Failure;
use crate::kafka::wire::error::ErrorCode;
use crate::kafka::wire::frame::WireError;

/// Settings that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// A text without a PEM section of the kind that is needed, or with a broken one.
    #[error("{what} cannot be read as PEM: {reason}")]
    Pem {
        /// What it was to be.
        what: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A certificate without its key, or a key that is not its.
    #[error("the client's certificate and key cannot be used: {0}")]
    ClientCertificate(rustls::Error),
}

/// Why a connection did not come to be ready: TLS or SASL failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HandshakeError {
    /// The connection ended while TLS was agreed on. So does one to a listener without TLS, to which the client's greeting is a request of absurd size.
    #[error("closed the connection in the TLS handshake, as a listener without TLS does: {0}")]
    TlsClosed(io::Error),
    /// What came is not TLS.
    #[error("does not speak TLS: is its listener a plaintext one?")]
    NotTls,
    /// No trusted authority has signed the broker's certificate.
    #[error("shows a certificate that none of the trusted authorities has signed")]
    UnknownAuthority,
    /// The broker's certificate is for other names.
    #[error("shows a certificate that is not for this host: {0}")]
    WrongHost(String),
    /// The broker's certificate is out of its time.
    #[error("shows a certificate that is not valid now: {0}")]
    OutOfTime(String),
    /// The broker ended the handshake, or refused the client's certificate behind it.
    #[error("refused the TLS connection with the alert {0}{hint}", hint = alert_hint(.0))]
    Alert(String),
    /// Anything else that TLS found wrong.
    #[error("cannot agree on TLS: {0}")]
    Tls(String),
    /// The connection ended while SASL went on.
    #[error("closed the connection during SASL: {0}")]
    SaslClosed(io::Error),
    /// The broker does not have the mechanism.
    #[error("does not have the SASL mechanism {mechanism}; it offers {offered}", offered = list(.offered))]
    MechanismRefused {
        /// Which was asked for.
        mechanism: &'static str,
        /// Which it has.
        offered: Vec<String>,
    },
    /// The broker does not speak SASL on this listener, or refused to begin.
    #[error("refused SASL: {0}: is its listener one with SASL?")]
    SaslRefused(ErrorCode),
    /// The broker does not accept the credentials.
    #[error("refused the credentials: {0}")]
    Denied(String),
    /// The broker's part of SCRAM is not right.
    #[error("cannot be authenticated: {0}")]
    Scram(#[from] ScramError),
    /// A message that cannot be read or made.
    #[error("broke the protocol during SASL: {0}")]
    Wire(#[from] WireError),
    /// A listener without TLS was expected, and what came looks like TLS.
    #[error("answered with TLS: its listener is not a plaintext one")]
    UnexpectedTls,
}

impl HandshakeError {
    /// Whether trying again as before cannot help: what Java calls an `AuthenticationException`. A connection that merely ended is none.
    #[must_use]
    pub fn is_authentication(&self) -> bool {
        !matches!(self, Self::TlsClosed(_) | Self::SaslClosed(_) | Self::Wire(_))
    }

    /// The failure of those who wait for the connection, in the Java client's words.
    #[must_use]
    pub fn to_failure(&self) -> Failure {
        let (kind, code, text) = match self {
            Self::MechanismRefused { .. } => {
                ("UnsupportedSaslMechanismException", Some(ErrorCode::UNSUPPORTED_SASL_MECHANISM), format!("The broker {self}"))
            }
            Self::Denied(text) => ("SaslAuthenticationException", Some(ErrorCode::SASL_AUTHENTICATION_FAILED), text.clone()),
            Self::Scram(_) | Self::SaslRefused(_) => ("SaslAuthenticationException", None, format!("The broker {self}")),
            _ => ("SslAuthenticationException", None, format!("SSL handshake failed: the broker {self}")),
        };
        Failure { kind: kind.to_owned(), code, text }
    }

    /// What an error of a TLS stream means.
    #[must_use]
    pub fn of_tls(error: io::Error) -> Self {
        match tls_error(&error) {
            Some(error) => Self::of_rustls(error),
            None => Self::TlsClosed(error),
        }
    }

    fn of_rustls(error: &rustls::Error) -> Self {
        use rustls::Error;
        match error {
            Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature) => Self::UnknownAuthority,
            Error::InvalidCertificate(error @ (CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })) => {
                Self::WrongHost(error.to_string())
            }
            Error::InvalidCertificate(
                error @ (CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. }),
            ) => Self::OutOfTime(error.to_string()),
            Error::AlertReceived(alert) => Self::Alert(format!("{alert:?}")),
            Error::InvalidMessage(_) => Self::NotTls,
            other => Self::Tls(other.to_string()),
        }
    }

    /// What an error of a stream that is in use says of authentication: in TLS 1.3 a broker refuses a client's certificate only behind the handshake.
    #[must_use]
    pub fn refusal_in(error: &io::Error) -> Option<Self> {
        if let Some(rustls::Error::AlertReceived(alert)) = tls_error(error) {
            return Some(Self::Alert(format!("{alert:?}")));
        }
        None
    }
}

fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref::<rustls::Error>()
}

fn alert_hint(alert: &str) -> &'static str {
    match alert {
        "CertificateRequired" => ": it wants a certificate of the client",
        "BadCertificate" | "UnknownCA" | "CertificateUnknown" | "CertificateExpired" => ": it does not accept the client's certificate",
        _ => "",
    }
}

fn list(offered: &[String]) -> String {
    if offered.is_empty() { "none".to_owned() } else { offered.join(", ") }
}
