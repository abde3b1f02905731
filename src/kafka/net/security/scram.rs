//! The client's half of SCRAM (RFC 5802, RFC 7677), as Kafka speaks it: no channel binding, and passwords as plain UTF-8.
//!
//! Pure but for the nonce. Kafka does not prepare names and passwords by SASLprep (its `ScramFormatter.normalize` takes the bytes as they are), which is
//! why no general library is used. Not here: how messages travel (`sasl`).

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::rand::SecureRandom;
use ring::{digest, hmac, pbkdf2};

use super::sasl::{Credentials, Mechanism};
use super::secret::Secret;

/// Fewer iterations are refused, as in Java.
const ITERATIONS_MIN: u32 = 4096;
/// More are refused: who takes a broker's place must not be able to keep this machine busy for long.
const ITERATIONS_MAX: u32 = 1_000_000;
/// Bytes of randomness in a nonce.
const NONCE_BYTES: usize = 24;

/// Why a conversation cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    /// A message without what belongs in it.
    #[error("the broker's SCRAM message lacks `{0}` or has it in a wrong form")]
    Malformed(char),
    /// The broker's nonce does not begin with the client's.
    #[error("the broker answered with a nonce of another conversation")]
    ForeignNonce,
    /// Too few iterations, or too many.
    #[error("the broker asks for {0} iterations; {ITERATIONS_MIN} to {ITERATIONS_MAX} are accepted")]
    Iterations(u32),
    /// The broker says that it failed.
    #[error("the broker says: {0}")]
    Told(String),
    /// The broker does not know the password either.
    #[error("the broker could not prove that it knows the password")]
    NotProven,
    /// A mechanism without SCRAM.
    #[error("{0} is none of its mechanisms")]
    OtherMechanism(&'static str),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    NoRandomness,
}

/// Which hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Hash {
    Sha256,
    Sha512,
}

/// The salted password of the last conversation. It is dear on purpose, and the same on all connections until somebody changes it at the brokers: made
/// anew for each, it would take the load generator's own time (RFC 5802 allows to keep it; a Java client, alone in its process, does not).
#[derive(Default)]
pub(super) struct Salted(Mutex<Option<Kept>>);

/// What was made of which salt, by how many iterations.
struct Kept {
    salt: Vec<u8>,
    iterations: NonZeroU32,
    salted: Vec<u8>,
}

impl std::fmt::Debug for Salted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[hidden]")
    }
}

impl Salted {
    /// The salted password; who comes meanwhile waits for it instead of making it, too.
    fn of(&self, hash: Hash, password: &Secret, salt: &[u8], iterations: NonZeroU32) -> Vec<u8> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(kept) if kept.salt == salt && kept.iterations == iterations => kept.salted.clone(),
            _ => {
                let salted = hash.salted(password, salt, iterations);
                *kept = Some(Kept { salt: salt.to_vec(), iterations, salted: salted.clone() });
                salted
            }
        }
    }
}

/// One conversation.
#[derive(Debug)]
pub(super) struct Scram<'a> {
    hash: Hash,
    password: &'a Secret,
    salted: &'a Salted,
    client_nonce: String,
    client_first_bare: String,
    /// What the broker must prove itself by; known once its first message was answered.
    expected: Option<Expected>,
}

struct Expected {
    server_key: hmac::Key,
    auth_message: String,
}

impl std::fmt::Debug for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[hidden]")
    }
}

/// What a broker keeps of a password: who has it can check the password, not know it.
pub struct ScramVerifier {
    /// Kafka's number of the mechanism.
    pub mechanism: i8,
    /// How often it was hashed.
    pub iterations: i32,
    /// What it was mixed with.
    pub salt: Vec<u8>,
    /// What came of that.
    pub salted_password: Vec<u8>,
}

impl std::fmt::Debug for ScramVerifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[hidden]")
    }
}

impl ScramVerifier {
    /// Of a user's password, with a new salt.
    ///
    /// # Errors
    /// The mechanism is not one of SCRAM, or there is no randomness.
    pub fn of(credentials: &Credentials) -> Result<Self, ScramError> {
        let (mechanism, hash) = match credentials.mechanism {
            Mechanism::ScramSha256 => (1, Hash::Sha256),
            Mechanism::ScramSha512 => (2, Hash::Sha512),
            Mechanism::Plain => return Err(ScramError::OtherMechanism(Mechanism::Plain.name())),
        };
        let salt = nonce()?.into_bytes();
        let salted_password = hash.salted(&credentials.password, &salt, NonZeroU32::MIN.saturating_add(ITERATIONS_MIN - 1));
        Ok(Self { mechanism, iterations: ITERATIONS_MIN.cast_signed(), salt, salted_password })
    }
}

/// A nonce: printable, without a comma.
pub(super) fn nonce() -> Result<String, ScramError> {
    let mut bytes = [0; NONCE_BYTES];
    ring::rand::SystemRandom::new().fill(&mut bytes).map_err(|_| ScramError::NoRandomness)?;
    Ok(BASE64.encode(bytes))
}

impl<'a> Scram<'a> {
    /// `salted` belongs to the password, and to no other.
    pub(super) fn new(hash: Hash, user: &str, password: &'a Secret, salted: &'a Salted, client_nonce: String) -> Self {
        let user = user.replace('=', "=3D").replace(',', "=2C");
        let client_first_bare = format!("n={user},r={client_nonce}");
        Self { hash, password, salted, client_nonce, client_first_bare, expected: None }
    }

    /// The client's first message.
    pub(super) fn first(&self) -> String {
        format!("n,,{}", self.client_first_bare)
    }

    /// The client's last message, to the broker's first.
    pub(super) fn last(&mut self, server_first: &str) -> Result<String, ScramError> {
        if let Some(told) = field(server_first, 'e') {
            return Err(ScramError::Told(told.to_owned()));
        }
        let nonce = field(server_first, 'r').ok_or(ScramError::Malformed('r'))?;
        if !nonce.starts_with(&self.client_nonce) || nonce.len() == self.client_nonce.len() {
            return Err(ScramError::ForeignNonce);
        }
        let salt = field(server_first, 's').and_then(|salt| BASE64.decode(salt).ok()).ok_or(ScramError::Malformed('s'))?;
        let iterations: u32 = field(server_first, 'i').and_then(|count| count.parse().ok()).ok_or(ScramError::Malformed('i'))?;
        let accepted = Some(iterations).filter(|count| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(count)).and_then(NonZeroU32::new);
        let salted = self.salted.of(self.hash, self.password, &salt, accepted.ok_or(ScramError::Iterations(iterations))?);
        let salted = self.hash.key(&salted);

        let without_proof = format!("c=biws,r={nonce}");
        let auth_message = format!("{},{server_first},{without_proof}", self.client_first_bare);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = self.hash.key(digest::digest(self.hash.digest(), client_key.as_ref()).as_ref());
        let signature = hmac::sign(&stored_key, auth_message.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, signature)| key ^ signature).collect();
        let server_key = self.hash.key(hmac::sign(&salted, b"Server Key").as_ref());
        self.expected = Some(Expected { server_key, auth_message });
        Ok(format!("{without_proof},p={}", BASE64.encode(proof)))
    }

    /// Whether the broker's last message proves that it knows the password.
    pub(super) fn verify(&self, server_last: &str) -> Result<(), ScramError> {
        if let Some(told) = field(server_last, 'e') {
            return Err(ScramError::Told(told.to_owned()));
        }
        let signature = field(server_last, 'v').and_then(|signature| BASE64.decode(signature).ok()).ok_or(ScramError::Malformed('v'))?;
        let expected = self.expected.as_ref().ok_or(ScramError::NotProven)?;
        // Compares in constant time.
        hmac::verify(&expected.server_key, expected.auth_message.as_bytes(), &signature).map_err(|_| ScramError::NotProven)
    }
}

impl Hash {
    fn salted(self, password: &Secret, salt: &[u8], iterations: NonZeroU32) -> Vec<u8> {
        let (algorithm, length) = match self {
            Self::Sha256 => (pbkdf2::PBKDF2_HMAC_SHA256, digest::SHA256_OUTPUT_LEN),
            Self::Sha512 => (pbkdf2::PBKDF2_HMAC_SHA512, digest::SHA512_OUTPUT_LEN),
        };
        let mut salted = vec![0; length];
        pbkdf2::derive(algorithm, iterations, salt, password.expose().as_bytes(), &mut salted);
        salted
    }

    fn key(self, bytes: &[u8]) -> hmac::Key {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::Key::new(algorithm, bytes)
    }

    fn digest(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha512 => &digest::SHA512,
        }
    }
}

/// The value of `name=value` among parts that are separated by commas.
fn field(message: &str, name: char) -> Option<&str> {
    message.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT_NONCE: &str = "rOprNGfwEbeRWgbNEkqO";
    const SERVER_FIRST: &str = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
    const SERVER_LAST: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

    /// A password with its salted form, which nothing is known of yet.
    fn pencil() -> (Secret, Salted) {
        (Secret::new("pencil"), Salted::default())
    }

    fn conversation((password, salted): &(Secret, Salted)) -> Scram<'_> {
        Scram::new(Hash::Sha256, "user", password, salted, CLIENT_NONCE.to_owned())
    }

    #[test]
    fn the_example_of_rfc_7677_comes_out() {
        let pencil = pencil();
        let mut scram = conversation(&pencil);
        assert_eq!(scram.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        assert_eq!(
            scram.last(SERVER_FIRST).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(scram.verify(SERVER_LAST), Ok(()));
    }

    #[test]
    fn a_broker_that_does_not_know_the_password_is_found_out() {
        let pencil = pencil();
        let mut scram = conversation(&pencil);
        assert_eq!(scram.verify(SERVER_LAST), Err(ScramError::NotProven), "before anything was said");
        scram.last(SERVER_FIRST).unwrap();
        assert_eq!(scram.verify(&SERVER_LAST.replace("6rri", "7rri")), Err(ScramError::NotProven));
        assert_eq!(scram.verify("e=other-error"), Err(ScramError::Told("other-error".to_owned())));
        assert_eq!(scram.verify(""), Err(ScramError::Malformed('v')));
    }

    #[test]
    fn a_first_message_is_not_believed_blindly() {
        let rows = [
            ("r=other,s=W22Z,i=4096", ScramError::ForeignNonce),
            ("r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096", ScramError::ForeignNonce),
            ("s=W22Z,i=4096", ScramError::Malformed('r')),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096", ScramError::Malformed('s')),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=many", ScramError::Malformed('i')),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=4095", ScramError::Iterations(4095)),
            ("r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=4000000000", ScramError::Iterations(4_000_000_000)),
            ("e=unknown-user", ScramError::Told("unknown-user".to_owned())),
        ];
        for (message, expected) in rows {
            assert_eq!(conversation(&pencil()).last(message), Err(expected), "{message}");
        }
    }

    #[test]
    fn names_are_escaped_nonces_differ_and_nothing_secret_is_shown() {
        let (password, salted) = pencil();
        let scram = Scram::new(Hash::Sha512, "a,b=c", &password, &salted, "x".to_owned());
        assert_eq!(scram.first(), "n,,n=a=2Cb=3Dc,r=x");
        let nonces = [nonce().unwrap(), nonce().unwrap()];
        assert!(nonces[0] != nonces[1] && !nonces[0].contains(','), "{nonces:?}");
        let pencil = pencil();
        let mut scram = conversation(&pencil);
        scram.last(SERVER_FIRST).unwrap();
        assert!(!format!("{scram:?}").contains("pencil"));
    }

    #[test]
    fn a_salted_password_is_kept_until_its_salt_or_iterations_change() {
        let (password, salted) = pencil();
        let of = |salt: &[u8], iterations| salted.of(Hash::Sha256, &password, salt, NonZeroU32::new(iterations).unwrap());
        let fresh = |salt: &[u8], iterations| Hash::Sha256.salted(&password, salt, NonZeroU32::new(iterations).unwrap());
        for (salt, iterations) in [(b"one", 1), (b"one", 1), (b"two", 1), (b"two", 2), (b"one", 1)] {
            assert_eq!(of(salt, iterations), fresh(salt, iterations));
        }
        assert_eq!(format!("{salted:?}"), "[hidden]");
    }
}
