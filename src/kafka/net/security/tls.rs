//! What TLS is told: whom to trust, which certificate to show, whether the host's name must fit. Makes rustls' configuration of it.

use std::fmt;
use std::sync::Arc;

use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use super::error::SecurityError;
use super::secret::Secret;

/// How to secure connections by TLS.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// Certificates of the authorities to trust, PEM.
    pub authorities: String,
    /// The client's certificate, if brokers want one.
    pub client: Option<ClientCertificate>,
    /// Whether the broker's certificate must be for the host that was connected to (Java: `ssl.endpoint.identification.algorithm`).
    pub verifies_host: bool,
}

/// A certificate that the client shows.
#[derive(Clone, Debug)]
pub struct ClientCertificate {
    /// Its chain, PEM.
    pub chain: String,
    /// Its private key, PEM (PKCS #8, not encrypted).
    pub key: Secret,
}

/// The configuration that connections share. rustls' own provider is named, so that no process-wide default matters.
pub(super) fn client_config(settings: &TlsSettings) -> Result<Arc<ClientConfig>, SecurityError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in certificates("the file of authorities to trust", &settings.authorities)? {
        let refused = |error: rustls::Error| SecurityError::Pem { what: "an authority's certificate", reason: error.to_string() };
        roots.add(certificate).map_err(refused)?;
    }
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = versions.map_err(SecurityError::ClientCertificate)?;
    let builder = if settings.verifies_host {
        builder.with_root_certificates(roots)
    } else {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyHost::new(roots, &provider)?))
    };
    let config = match &settings.client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let chain = certificates("the client's certificate", &client.chain)?;
            let key = private_key(&client.key)?;
            builder.with_client_auth_cert(chain, key).map_err(SecurityError::ClientCertificate)?
        }
    };
    Ok(Arc::new(config))
}

fn certificates(what: &'static str, pem: &str) -> Result<Vec<CertificateDer<'static>>, SecurityError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let found = found.map_err(|error| SecurityError::Pem { what, reason: error.to_string() })?;
    if found.is_empty() {
        return Err(SecurityError::Pem { what, reason: "no CERTIFICATE section is in it".to_owned() });
    }
    Ok(found)
}

fn private_key(pem: &Secret) -> Result<PrivateKeyDer<'static>, SecurityError> {
    // The parser's own words could hold parts of the key, so they are not passed on.
    PrivateKeyDer::from_pem_slice(pem.expose().as_bytes()).map_err(|_| {
        let reason = if pem.expose().contains("BEGIN ENCRYPTED PRIVATE KEY") {
            "it is encrypted, which is not supported"
        } else {
            "no PRIVATE KEY section that can be read is in it"
        };
        SecurityError::Pem { what: "the client's key", reason: reason.to_owned() }
    })
}

/// Accepts a certificate for any host, if it is right otherwise.
struct AnyHost(Arc<WebPkiServerVerifier>);

impl AnyHost {
    fn new(roots: RootCertStore, provider: &Arc<CryptoProvider>) -> Result<Self, SecurityError> {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
        verifier.map(Self).map_err(|error| SecurityError::Pem { what: "the file of authorities to trust", reason: error.to_string() })
    }
}

impl fmt::Debug for AnyHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyHost")
    }
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        // The name is what the verifier looks at last: trust and time were found right.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })) => {
                Ok(ServerCertVerified::assertion())
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
