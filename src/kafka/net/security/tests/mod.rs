//! TLS and SASL against made-up brokers over in-memory pipes, with certificates that are made here.

mod broker;
mod certificates;
mod refusals;

use std::time::Duration;

use kafka_protocol::protocol::StrBytes;

use self::broker::{Broker, Server};
use self::certificates::{Authority, Validity};
use crate::clock::Clock;
use crate::kafka::net::rpc::Rpc;
use crate::kafka::net::traffic::Traffic;

use super::{ClientCertificate, Credentials, HandshakeError, Mechanism, Secret, Secured, Security, TlsSettings};

const USER: &str = "mallory";
const PASSWORD: &str = "correct horse";

fn credentials(mechanism: Mechanism, password: &str) -> Credentials {
    Credentials { mechanism, user: USER.to_owned(), password: Secret::new(password) }
}

fn trusting(authority: &Authority) -> TlsSettings {
    TlsSettings { authorities: authority.pem(), client: None, verifies_host: true }
}

/// Connects to a broker as to `host`.
async fn secure(security: &Security, broker: Broker, host: &str) -> Result<Secured<tokio::io::DuplexStream>, HandshakeError> {
    let client_id = StrBytes::from_static_str("test");
    security.secure(broker.start(), host, &client_id).await
}

#[tokio::test]
async fn every_mechanism_gets_in_with_and_without_tls() {
    let authority = Authority::new();
    for mechanism in Mechanism::ALL {
        for tls in [false, true] {
            let settings = tls.then(|| trusting(&authority));
            let security = Security::new(settings.as_ref(), Some(credentials(mechanism, PASSWORD))).unwrap();
            let mut broker = Broker::with_sasl(&[mechanism], PASSWORD);
            broker.tls = tls.then(|| Server::of(authority.server(&["localhost"], Validity::Now)));
            broker.lifetime_ms = 90_000;
            let secured = secure(&security, broker, "localhost").await.unwrap();
            assert_eq!(secured.lifetime, Some(Duration::from_secs(90)), "{mechanism:?}, TLS {tls}");
            assert_eq!(security.protocol(), if tls { "SASL_SSL" } else { "SASL_PLAINTEXT" });
        }
    }
}

#[tokio::test]
async fn a_broker_sees_the_clients_certificate() {
    let authority = Authority::new();
    let (chain, key) = authority.client("chaos");
    let settings = TlsSettings { client: Some(ClientCertificate { chain, key: Secret::new(key) }), ..trusting(&authority) };
    let security = Security::new(Some(&settings), None).unwrap();
    let server = Server::of(authority.server(&["127.0.0.1"], Validity::Now)).wanting_clients_of(&authority);
    let secured = secure(&security, Broker { tls: Some(server), ..Broker::default() }, "127.0.0.1").await.unwrap();
    assert_eq!((security.protocol(), secured.lifetime), ("SSL", None));
    assert!(broker::greets(secured.stream).await.is_ok(), "who was not accepted could not read");
}

#[tokio::test]
async fn a_connection_whose_session_is_nearly_over_is_not_used_again() {
    let security = Security::new(None, Some(credentials(Mechanism::Plain, PASSWORD))).unwrap();
    for (lifetime_ms, is_usable) in [(0, true), (60_000, true), (1, false)] {
        let broker = Broker { lifetime_ms, ..Broker::with_sasl(&[Mechanism::Plain], PASSWORD) }.listen().await;
        let (clock, client) = (Clock::real(), security.named("test"));
        let mut rpc = Rpc::connect(&broker, &client, Duration::from_secs(5), &clock, &Traffic::default()).await.unwrap();
        tokio::time::sleep_until(clock.instant_of(clock.now() + Duration::from_millis(2))).await;
        assert_eq!(rpc.is_usable(), is_usable, "{lifetime_ms} ms");
    }
}

#[test]
fn nothing_secret_is_shown() {
    let authority = Authority::new();
    let (chain, key) = authority.client("chaos");
    let body = key.lines().nth(1).unwrap().to_owned();
    let settings = TlsSettings { client: Some(ClientCertificate { chain, key: Secret::new(key) }), ..trusting(&authority) };
    let security = Security::new(Some(&settings), Some(credentials(Mechanism::ScramSha512, PASSWORD))).unwrap();
    let shown = format!("{settings:?} {security:?} {:#?}", security.named("x"));
    assert!(!shown.contains(PASSWORD) && !shown.contains(&body), "{shown}");
}

#[test]
fn what_is_no_pem_is_said_to_be_none() {
    let authority = Authority::new();
    let (chain, key) = authority.client("chaos");
    let client = |chain: &str, key: &str| Some(ClientCertificate { chain: chain.to_owned(), key: Secret::new(key) });
    let settings = |authorities: &str, client| TlsSettings { authorities: authorities.to_owned(), client, verifies_host: false };
    let (_, other) = authority.client("other");
    let rows = [
        (settings("", None), "the file of authorities to trust cannot be read as PEM: no CERTIFICATE section is in it"),
        (settings(&authority.pem(), client("x", &key)), "the client's certificate cannot be read as PEM"),
        (settings(&authority.pem(), client(&chain, "x")), "the client's key cannot be read as PEM: no PRIVATE KEY section"),
        (
            settings(
                &authority.pem(),
                client(&chain, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"),
            ),
            "the client's key cannot be read as PEM: it is encrypted",
        ),
        (settings(&authority.pem(), client(&chain, &other)), "the client's certificate and key cannot be used"),
    ];
    for (settings, expected) in rows {
        let error = Security::new(Some(&settings), None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
