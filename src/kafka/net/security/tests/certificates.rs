//! Certificates of a made-up authority.

use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, date_time_ymd};

/// When a certificate is valid.
#[derive(Clone, Copy, Debug)]
pub(super) enum Validity {
    Now,
    LongAgo,
    MuchLater,
}

/// Signs certificates.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "test authority");
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    pub(super) fn pem(&self) -> String {
        self.pem.clone()
    }

    /// A server's certificate and key, PEM.
    pub(super) fn server(&self, names: &[&str], validity: Validity) -> (String, String) {
        let mut params = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        match validity {
            Validity::Now => {}
            Validity::LongAgo => params.not_after = date_time_ymd(2001, 1, 1),
            Validity::MuchLater => params.not_before = date_time_ymd(3001, 1, 1),
        }
        self.sign(&params)
    }

    /// A client's certificate and key, PEM.
    pub(super) fn client(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, name);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }
}
