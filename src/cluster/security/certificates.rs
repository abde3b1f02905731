//! An authority of one run, and the certificates that it signs.

use std::fmt;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd};

use crate::cluster::ClusterError;
use crate::kafka::net::security::{ClientCertificate, Secret};

/// Signs certificates; its key is nowhere but here.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// A new one.
    pub(super) fn new() -> Result<Self, ClusterError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "chaos: the authority of one run");
        let key = KeyPair::generate().map_err(failed)?;
        let pem = params.self_signed(&key).map_err(failed)?.pem();
        Ok(Self { issuer: Issuer::new(params, key), pem })
    }

    /// Its own certificate.
    pub(super) fn pem(&self) -> String {
        self.pem.clone()
    }

    /// A node's, for these names and addresses. Nodes are each other's clients, too.
    pub(super) fn node(&self, names: &[String], valid_until: Option<Duration>) -> Result<ClientCertificate, ClusterError> {
        let mut params = CertificateParams::new(names).map_err(failed)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        if let Some(until) = valid_until {
            params.not_after = date_time_ymd(1970, 1, 1) + until;
        }
        self.sign(params, "chaos-node")
    }

    /// A client's.
    pub(super) fn client(&self, name: &str) -> Result<ClientCertificate, ClusterError> {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, name)
    }

    fn sign(&self, mut params: CertificateParams, name: &str) -> Result<ClientCertificate, ClusterError> {
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let chain = params.signed_by(&key, &self.issuer).map_err(failed)?.pem();
        Ok(ClientCertificate { chain, key: Secret::new(key.serialize_pem()) })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "what `map_err` takes")]
fn failed(error: rcgen::Error) -> ClusterError {
    ClusterError::Secret { what: "certificates", reason: error.to_string() }
}
