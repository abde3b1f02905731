//! What those are told whom a broker refuses, or who refuse it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kafka_chaos::clock::{Clock, Moment};
use kafka_chaos::ids::{HostPort, TopicName};
use kafka_chaos::kafka::admin::Admin;
use kafka_chaos::kafka::core::config::ProducerConfig;
use kafka_chaos::kafka::event::{BatchDelivery, ClientEvent, ClientObserver};
use kafka_chaos::kafka::net::producer::{Producer, Record};
use kafka_chaos::kafka::net::security::{ClientCertificate, Credentials, Mechanism, Secret, Security, TlsSettings};
use kafka_protocol::protocol::StrBytes;
use tokio::net::TcpStream;

use super::secured::Secured;

/// What an admin client is told; it must not take its whole patience.
async fn refusal(security: &Security, broker: &HostPort) -> String {
    let clock = Clock::real();
    let began = clock.now();
    let admin = Admin::new(vec![broker.clone()], security.named("stranger"), clock.clone()).with_call_timeout(Duration::from_secs(10));
    let error = admin.describe_cluster().await.unwrap_err().to_string();
    eprintln!("  {error}");
    assert!(clock.now().since(began) < Duration::from_secs(9), "{error}");
    error
}

fn tls(secured: &Secured) -> TlsSettings {
    let parts = secured.parts();
    TlsSettings { authorities: parts.authority.unwrap(), client: parts.certificate, verifies_host: true }
}

/// TLS in which clients show certificates, until those of the brokers are over.
pub(super) async fn of_certificates(secured: &Secured) {
    let (broker, right) = (secured.broker(), tls(secured));
    let security = |settings: &TlsSettings| Security::new(Some(settings), None).unwrap();
    let without = refusal(&security(&TlsSettings { client: None, ..right.clone() }), &broker).await;
    assert!(without.contains("refused the TLS connection with the alert CertificateRequired: it wants a certificate"), "{without}");
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let stranger = TlsSettings { authorities: own.cert.pem(), ..right.clone() };
    assert!(refusal(&security(&stranger), &broker).await.ends_with("none of the trusted authorities has signed"));
    let unknown = ClientCertificate { chain: own.cert.pem(), key: Secret::new(own.signing_key.serialize_pem()) };
    let unknown = refusal(&security(&TlsSettings { client: Some(unknown), ..right.clone() }), &broker).await;
    assert!(unknown.contains("it does not accept the client's certificate"), "{unknown}");

    let stream = TcpStream::connect((&*broker.host, broker.port)).await.unwrap();
    let elsewhere = security(&right).secure(stream, "broker.example", &StrBytes::from_static_str("test")).await.unwrap_err().to_string();
    assert!(elsewhere.contains("is not for this host") && elsewhere.contains("127.0.0.1"), "{elsewhere}");
    let plain = Admin::new(vec![broker.clone()], "plain", Clock::real()).with_patience(Duration::ZERO);
    let plain = plain.describe_cluster().await.unwrap_err().to_string();
    assert!(plain.contains("TLS") || plain.contains("closed the connection"), "{plain}");

    let admin = |settings: &TlsSettings| {
        Admin::new(vec![broker.clone()], security(settings).named("late"), Clock::real()).with_patience(Duration::ZERO)
    };
    let expired = loop {
        match admin(&right).describe_cluster().await {
            Ok(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            Err(error) => break error.to_string(),
        }
    };
    eprintln!("  {expired}");
    assert!(expired.contains("shows a certificate that is not valid now"), "{expired}");
    let (code, picture) = secured.trace(Some(&secured.client_properties()), false);
    assert_eq!(code, Some(3), "{picture:#}");
    assert!(picture.to_string().contains("is not valid now"), "{picture:#}");
}

/// Users and passwords without TLS.
pub(super) async fn of_passwords(secured: &Secured) {
    let broker = secured.broker();
    let right = secured.parts().credentials.unwrap();
    let security = |credentials: Credentials| Security::new(None, Some(credentials)).unwrap();
    let wrong = security(Credentials { password: Secret::new("wrong-pencil"), ..right.clone() });
    let told = refusal(&wrong, &broker).await;
    assert!(told.ends_with("refused the credentials: Authentication failed: Invalid username or password"), "{told}");
    a_send_fails(&wrong, &broker, "Authentication failed: Invalid username or password").await;
    let other = security(Credentials { mechanism: Mechanism::ScramSha256, ..right });
    assert!(refusal(&other, &broker).await.ends_with("does not have the SASL mechanism SCRAM-SHA-256; it offers PLAIN"));
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let in_tls = Security::new(Some(&TlsSettings { authorities: own.cert.pem(), client: None, verifies_host: true }), None).unwrap();
    let admin = Admin::new(vec![broker.clone()], in_tls.named("in-tls"), Clock::real()).with_patience(Duration::ZERO);
    let told = admin.describe_cluster().await.unwrap_err().to_string();
    assert!(told.contains("in the TLS handshake, as a listener without TLS does"), "{told}");
    let (code, picture) = secured.trace(None, false);
    assert_eq!(code, Some(3), "a client that does not log in: {picture:#}");
}

/// Users and passwords in TLS.
pub(super) async fn of_either(secured: &Secured) {
    let (broker, right) = (secured.broker(), secured.parts().credentials.unwrap());
    let mechanism = right.mechanism.name();
    let wrong = Credentials { password: Secret::new("wrong-pencil"), ..right };
    let wrong = Security::new(Some(&tls(secured)), Some(wrong)).unwrap();
    let words = format!("Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}");
    assert!(refusal(&wrong, &broker).await.ends_with(&format!("refused the credentials: {words}")));
    a_send_fails(&wrong, &broker, &words).await;
    let properties = secured.client_properties().replace(secured.parts().credentials.unwrap().password.expose(), "wrong-pencil");
    let (code, picture) = secured.trace(Some(&properties), false);
    assert_eq!(code, Some(3), "{picture:#}");
    let text = picture.to_string();
    assert!(text.contains(&words) && !text.contains("wrong-pencil"), "{picture:#}");
}

#[derive(Debug)]
struct Nobody;

impl ClientObserver for Nobody {
    fn event(&self, _: Moment, _: &ClientEvent) {}
    fn delivered(&self, _: Moment, _: &BatchDelivery<'_>) {}
}

/// A producer is refused: what waits for metadata fails long before `max.block.ms`.
async fn a_send_fails(security: &Security, broker: &HostPort, words: &str) {
    let clock = Clock::real();
    let config = ProducerConfig::from_properties(&BTreeMap::new()).unwrap();
    let producer = Producer::start(config, vec![broker.clone()], security.named("stranger"), clock.clone(), 1, Arc::new(Nobody));
    let topic = TopicName::from("orders");
    let record = Record { topic: &topic, partition: None, key: None, value: b"x", timestamp_ms: 0, mark: 0, number: 0 };
    let began = clock.now();
    let failure = producer.send(&record).await.unwrap_err();
    assert_eq!((failure.kind.as_str(), failure.text.as_str()), ("SaslAuthenticationException", words));
    assert!(clock.now().since(began) < Duration::from_secs(10));
    producer.close(Duration::ZERO).await;
}
