//! What each kind of refusal is called.

use tokio::io::AsyncWriteExt;

use super::broker::greets;
use super::*;

async fn refusal(security: &Security, broker: Broker, host: &str) -> HandshakeError {
    secure(security, broker, host).await.unwrap_err()
}

#[tokio::test]
async fn a_broker_whose_certificate_is_not_right_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let security = Security::new(Some(&trusting(&authority)), None).unwrap();
    let broker = |certificate| Broker { tls: Some(Server::of(certificate)), ..Broker::default() };
    let refused = async |certificate| refusal(&security, broker(certificate), "localhost").await;

    let stranger = refused(other.server(&["localhost"], Validity::Now)).await;
    assert!(matches!(stranger, HandshakeError::UnknownAuthority) && stranger.is_authentication(), "{stranger}");
    let elsewhere = refused(authority.server(&["broker.example"], Validity::Now)).await;
    assert!(matches!(&elsewhere, HandshakeError::WrongHost(text) if text.contains("broker.example")), "{elsewhere}");
    for validity in [Validity::LongAgo, Validity::MuchLater] {
        let error = refused(authority.server(&["localhost"], validity)).await;
        assert!(matches!(error, HandshakeError::OutOfTime(_)) && error.is_authentication(), "{error}");
    }

    let any_host = Security::new(Some(&TlsSettings { verifies_host: false, ..trusting(&authority) }), None).unwrap();
    let right = broker(authority.server(&["broker.example"], Validity::Now));
    assert!(secure(&any_host, right, "localhost").await.is_ok());
    let stranger = refusal(&any_host, broker(other.server(&["localhost"], Validity::Now)), "localhost").await;
    assert!(matches!(stranger, HandshakeError::UnknownAuthority), "trust is asked for whatever the host: {stranger}");
}

#[tokio::test]
async fn a_client_without_a_certificate_is_told_that_one_is_wanted() {
    let authority = Authority::new();
    let security = Security::new(Some(&trusting(&authority)), None).unwrap();
    let server = Server::of(authority.server(&["localhost"], Validity::Now)).wanting_clients_of(&authority);
    // In TLS 1.3 the client is done before the broker has looked at its certificate.
    let secured = secure(&security, Broker { tls: Some(server), ..Broker::default() }, "localhost").await.unwrap();
    let error = HandshakeError::refusal_in(&greets(secured.stream).await.unwrap_err()).unwrap();
    assert_eq!(error.to_string(), "refused the TLS connection with the alert CertificateRequired: it wants a certificate of the client");
    assert_eq!(error.to_failure().kind, "SslAuthenticationException");
}

#[tokio::test]
async fn a_listener_without_tls_shows() {
    let security = Security::new(Some(&trusting(&Authority::new())), None).unwrap();
    let client_id = StrBytes::from_static_str("test");
    let (near, far) = tokio::io::duplex(1024);
    drop(far);
    let closed = security.secure(near, "localhost", &client_id).await.unwrap_err();
    assert!(matches!(closed, HandshakeError::TlsClosed(_)) && !closed.is_authentication(), "{closed}");
    let (near, mut far) = tokio::io::duplex(1024);
    far.write_all(b"\0\0\0\x10 no TLS for you").await.unwrap();
    let error = security.secure(near, "localhost", &client_id).await.unwrap_err();
    assert!(matches!(error, HandshakeError::NotTls), "{error}");
}

#[tokio::test]
async fn a_listener_with_tls_shows_to_a_client_without() {
    let security = Security::new(None, Some(credentials(Mechanism::Plain, PASSWORD))).unwrap();
    let (near, mut far) = tokio::io::duplex(1024);
    far.write_all(&[0x15, 3, 3, 0, 2, 2, 80]).await.unwrap();
    let error = security.secure(near, "localhost", &StrBytes::from_static_str("test")).await.unwrap_err();
    assert!(matches!(error, HandshakeError::UnexpectedTls), "{error}");
}

#[tokio::test]
async fn a_wrong_password_fails_in_the_brokers_words() {
    for mechanism in Mechanism::ALL {
        let security = Security::new(None, Some(credentials(mechanism, "wrong"))).unwrap();
        let error = refusal(&security, Broker::with_sasl(&[mechanism], PASSWORD), "localhost").await;
        let words =
            format!("Authentication failed during authentication due to invalid credentials with SASL mechanism {}", mechanism.name());
        assert_eq!(error.to_string(), format!("refused the credentials: {words}"));
        let failure = error.to_failure();
        assert_eq!(
            (failure.kind.as_str(), failure.code.map(|code| code.0), failure.text),
            ("SaslAuthenticationException", Some(58), words)
        );
    }
}

#[tokio::test]
async fn a_mechanism_that_is_not_offered_fails_with_those_that_are() {
    let security = Security::new(None, Some(credentials(Mechanism::ScramSha512, PASSWORD))).unwrap();
    let broker = Broker::with_sasl(&[Mechanism::Plain, Mechanism::ScramSha256], PASSWORD);
    let error = refusal(&security, broker, "localhost").await;
    assert_eq!(error.to_string(), "does not have the SASL mechanism SCRAM-SHA-512; it offers PLAIN, SCRAM-SHA-256");
    assert_eq!(error.to_failure().kind, "UnsupportedSaslMechanismException");
    let without = refusal(&security, Broker::default(), "localhost").await;
    assert!(matches!(without, HandshakeError::SaslClosed(_)), "{without}");
}

#[tokio::test]
async fn who_only_says_that_it_knows_the_password_is_refused() {
    let security = Security::new(None, Some(credentials(Mechanism::ScramSha256, PASSWORD))).unwrap();
    let impostor = Broker { is_impostor: true, ..Broker::with_sasl(&[Mechanism::ScramSha256], PASSWORD) };
    let error = refusal(&security, impostor, "localhost").await;
    assert!(matches!(error, HandshakeError::Scram(_)) && error.is_authentication(), "{error}");
}
