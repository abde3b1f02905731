//! Secrets and certificates of one run's cluster: made up or read when it is started, gone when it is.
//!
//! What nodes get of them is in `server`, how it gets there in `tarball`. Listeners of clients and controllers are secured alike; the one between
//! brokers is on the run's own network and stays as it is. Controllers cannot use SCRAM (its users are in the very log that they keep), so with SASL
//! they take the same user's password by PLAIN. Called by `docker::up`.

mod certificates;
mod server;
mod tarball;

use std::time::Duration;

pub(super) use tarball::tarball;

use self::certificates::Authority;
use super::{ClusterError, RunId};
use crate::ids::BrokerId;
use crate::kafka::net::security::{self, ClientCertificate, Credentials, Mechanism, Secret, Security, TlsSettings};
use crate::plan::model::{Login, PasswordSource, SecuritySpec};

/// The name in the certificate that clients show.
const CLIENT_NAME: &str = "chaos";

/// How clients of this machine get in.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// To the brokers' listeners.
    pub clients: Security,
    /// To the controllers' listeners.
    pub controllers: Security,
    /// What it is made of, for programs that are not this one; `None`: nothing is secured.
    pub parts: Option<AccessParts>,
}

/// What access to a secured cluster is made of.
#[derive(Clone, Debug)]
pub struct AccessParts {
    /// Certificate of the authority that signed the nodes' and the client's, PEM; `None`: there is no TLS.
    pub authority: Option<String>,
    /// The client's certificate and key; `None`: brokers want none.
    pub certificate: Option<ClientCertificate>,
    /// The user; `None`: there is no SASL.
    pub credentials: Option<Credentials>,
}

impl AccessParts {
    /// What a client of Kafka's own is told, beside where to go: properties, some of which are secret.
    #[must_use]
    pub fn java_properties(&self) -> Vec<(&'static str, Secret)> {
        let protocol = security::protocol(self.authority.is_some(), self.credentials.is_some());
        let mut properties = vec![("security.protocol", Secret::new(protocol))];
        if let Some(authority) = &self.authority {
            properties
                .extend([("ssl.truststore.type", Secret::new("PEM")), ("ssl.truststore.certificates", Secret::new(authority.as_str()))]);
        }
        if let Some(certificate) = &self.certificate {
            let chain = Secret::new(certificate.chain.as_str());
            properties.extend([("ssl.keystore.type", Secret::new("PEM")), ("ssl.keystore.certificate.chain", chain)]);
            properties.push(("ssl.keystore.key", certificate.key.clone()));
        }
        if let Some(credentials) = &self.credentials {
            properties.push(("sasl.mechanism", Secret::new(credentials.mechanism.name())));
            properties.push(("sasl.jaas.config", server::client_login(credentials)));
        }
        properties
    }
}

/// The secrets of a cluster that is being started.
#[derive(Debug)]
pub(super) struct Secrets {
    spec: SecuritySpec,
    authority: Option<Authority>,
    credentials: Option<Credentials>,
    /// What nodes know of each other.
    node_password: Secret,
    /// When the nodes' certificates end, since 1970.
    valid_until: Option<Duration>,
    access: Access,
}

impl Secrets {
    /// Reads or makes up what a cluster needs. `now`: since 1970.
    pub(super) fn prepare(spec: &SecuritySpec, now: Duration) -> Result<Self, ClusterError> {
        let authority = spec.tls.then(Authority::new).transpose()?;
        let certificate = match &authority {
            Some(authority) if spec.login.is_none() => Some(authority.client(CLIENT_NAME)?),
            _ => None,
        };
        let credentials = spec.login.as_ref().map(credentials_of).transpose()?;
        let tls = authority.as_ref().map(|authority| TlsSettings {
            authorities: authority.pem(),
            client: certificate.clone(),
            verifies_host: true,
        });
        let secured = |credentials: Option<Credentials>| {
            Security::new(tls.as_ref(), credentials)
                .map_err(|error| ClusterError::Secret { what: "certificates", reason: error.to_string() })
        };
        let by_password = credentials.clone().map(|credentials| Credentials { mechanism: Mechanism::Plain, ..credentials });
        let parts = AccessParts { authority: authority.as_ref().map(Authority::pem), certificate, credentials: credentials.clone() };
        let access = Access { clients: secured(credentials.clone())?, controllers: secured(by_password)?, parts: Some(parts) };
        let valid_until = spec.valid.map(|valid| now + valid);
        Ok(Self { spec: spec.clone(), authority, credentials, node_password: made_up()?, valid_until, access })
    }

    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    /// Whom the cluster must be told of once it runs: users of SCRAM are in its log.
    pub(super) fn to_enrol(&self) -> Option<&Credentials> {
        self.credentials.as_ref().filter(|credentials| credentials.mechanism != Mechanism::Plain)
    }

    /// The file that a node reads its properties from, beside those in its environment.
    pub(super) fn server_properties(&self, run: &RunId, node: BrokerId) -> Result<Secret, ClusterError> {
        let names = [run.container_name(node), "127.0.0.1".to_owned(), "localhost".to_owned()];
        let certificate = self.authority.as_ref().map(|authority| authority.node(&names, self.valid_until)).transpose()?;
        let of_authority = self.authority.as_ref().map(Authority::pem);
        let identity = certificate.as_ref().zip(of_authority.as_deref());
        let users = self.credentials.as_ref().map(|credentials| (credentials, &self.node_password));
        Ok(server::properties(&self.spec, identity, users))
    }
}

fn credentials_of(login: &Login) -> Result<Credentials, ClusterError> {
    let mechanism = Mechanism::named(login.mechanism)
        .ok_or_else(|| ClusterError::Secret { what: "mechanism", reason: format!("{} is not known", login.mechanism) })?;
    Ok(Credentials { mechanism, user: login.user.clone(), password: password_of(&login.password)? })
}

fn password_of(source: &PasswordSource) -> Result<Secret, ClusterError> {
    let failed = |reason: String| ClusterError::Secret { what: "password", reason };
    let (found, place) = match source {
        PasswordSource::MadeUp => return made_up(),
        PasswordSource::Env(name) => {
            let value = std::env::var(name).map_err(|_| failed(format!("the environment has no variable {name} (or it is not UTF-8)")))?;
            (value, format!("the variable {name}"))
        }
        PasswordSource::File(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| failed(format!("{}: {error}", path.display())))?;
            (
                text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text)).unwrap_or(&text).to_owned(),
                path.display().to_string(),
            )
        }
    };
    if found.is_empty() { Err(failed(format!("{place} is empty"))) } else { Ok(Secret::new(found)) }
}

fn made_up() -> Result<Secret, ClusterError> {
    Secret::made_up().map_err(|error| ClusterError::Secret { what: "password", reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(password: PasswordSource) -> SecuritySpec {
        SecuritySpec { tls: true, login: Some(Login { mechanism: "SCRAM-SHA-256", user: "chaos".into(), password }), valid: None }
    }

    #[test]
    fn a_password_is_read_from_a_file_without_its_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        for (text, expected) in [("a b\n", "a b"), ("a b\r\n", "a b"), ("a b", "a b"), ("\na\n", "\na")] {
            std::fs::write(&path, text).unwrap();
            let secrets = Secrets::prepare(&spec(PasswordSource::File(path.clone())), Duration::ZERO).unwrap();
            assert_eq!(secrets.to_enrol().unwrap().password.expose(), expected);
        }
        std::fs::write(&path, "\n").unwrap();
        for (source, words) in [
            (PasswordSource::File(path), "is empty"),
            (PasswordSource::File(folder.path().join("none")), "No such file"),
            (PasswordSource::Env("CHAOS_NO_SUCH_VARIABLE".into()), "has no variable CHAOS_NO_SUCH_VARIABLE"),
        ] {
            let error = Secrets::prepare(&spec(source), Duration::ZERO).unwrap_err();
            assert!(error.to_string().contains(words) && !error.is_request_fault(), "{error}");
        }
    }

    #[test]
    fn made_up_passwords_differ_and_are_not_shown() {
        let both = [0, 1].map(|_| Secrets::prepare(&spec(PasswordSource::MadeUp), Duration::ZERO).unwrap());
        let passwords = both.each_ref().map(|secrets| secrets.to_enrol().unwrap().password.expose().to_owned());
        assert_ne!(passwords[0], passwords[1]);
        let file = both[0].server_properties(&RunId::new("r1").unwrap(), BrokerId(1)).unwrap();
        let shown = format!("{:?} {file:?}", both[0]);
        assert!(!shown.contains(&passwords[0]) && !shown.contains("PRIVATE KEY"), "{shown}");
        assert!(file.expose().contains("PRIVATE KEY"));
    }
}
