//! Security as Java's clients are told of it: a file of properties, such as Kafka's own tools take by `--command-config`.
//!
//! Stores must be PEM: Java's own formats are not read. A property about security that is not known here is refused, for a connection that is less
//! secure than its owner believes is worse than none; other properties are nobody's business here. Pure but for the files that it names. Called by `cli`.

use std::collections::BTreeMap;
use std::io;

use super::sasl::{Credentials, Mechanism};
use super::secret::Secret;
use super::tls::{ClientCertificate, TlsSettings};
use super::{Security, SecurityError};

/// Why such a file cannot be followed. No message shows a value that may be secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PropertiesError {
    /// A property's value cannot be used.
    #[error("`{name}` {wrong}")]
    Property {
        /// Which.
        name: &'static str,
        /// What is wrong, as it reads behind the name.
        wrong: String,
    },
    /// A property about security without support here.
    #[error("`{0}` is not supported")]
    Unsupported(String),
    /// A property that must be there.
    #[error("`{name}` is missing: {why}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What it is needed for.
        why: &'static str,
    },
    /// A file that the properties name.
    #[error("`{name}`: {path}: {source}")]
    File {
        /// The property.
        name: &'static str,
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// What they make up cannot be used.
    #[error(transparent)]
    Security(#[from] SecurityError),
}

const PROTOCOL: &str = "security.protocol";
const MECHANISM: &str = "sasl.mechanism";
const JAAS: &str = "sasl.jaas.config";
const HOST_CHECK: &str = "ssl.endpoint.identification.algorithm";
const TRUST_TYPE: &str = "ssl.truststore.type";
const TRUST_FILE: &str = "ssl.truststore.location";
const TRUST: &str = "ssl.truststore.certificates";
const KEY_TYPE: &str = "ssl.keystore.type";
const KEY_FILE: &str = "ssl.keystore.location";
const CHAIN: &str = "ssl.keystore.certificate.chain";
const KEY: &str = "ssl.keystore.key";
const KNOWN: [&str; 11] = [PROTOCOL, MECHANISM, JAAS, HOST_CHECK, TRUST_TYPE, TRUST_FILE, TRUST, KEY_TYPE, KEY_FILE, CHAIN, KEY];

/// Properties by name.
struct Properties(BTreeMap<String, Secret>);

impl Security {
    /// Security as the text of a properties file says. `read` gives the text of a file that it names.
    ///
    /// # Errors
    /// What cannot be followed.
    pub fn of_java_properties(text: &str, read: impl Fn(&str) -> io::Result<String>) -> Result<Self, PropertiesError> {
        let properties = Properties(parse(text));
        for name in properties.0.keys() {
            let concerns = ["security.", "sasl.", "ssl."].iter().any(|prefix| name.starts_with(prefix));
            if concerns && !KNOWN.contains(&name.as_str()) {
                return Err(PropertiesError::Unsupported(name.clone()));
            }
        }
        let protocol = properties.get(PROTOCOL).unwrap_or("PLAINTEXT").to_ascii_uppercase();
        let (tls, sasl) = match protocol.as_str() {
            "PLAINTEXT" => (false, false),
            "SSL" => (true, false),
            "SASL_PLAINTEXT" => (false, true),
            "SASL_SSL" => (true, true),
            _ => return Err(wrong(PROTOCOL, "is none of PLAINTEXT, SSL, SASL_PLAINTEXT and SASL_SSL")),
        };
        let tls = if tls { Some(properties.tls(&read)?) } else { None };
        let credentials = if sasl { Some(properties.credentials()?) } else { None };
        Ok(Self::new(tls.as_ref(), credentials)?)
    }
}

fn wrong(name: &'static str, wrong: impl Into<String>) -> PropertiesError {
    PropertiesError::Property { name, wrong: wrong.into() }
}

impl Properties {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(Secret::expose)
    }

    fn tls(&self, read: &impl Fn(&str) -> io::Result<String>) -> Result<TlsSettings, PropertiesError> {
        let file = |name: &'static str, type_name: &'static str| -> Result<Option<String>, PropertiesError> {
            let Some(path) = self.get(name) else { return Ok(None) };
            if !self.get(type_name).is_some_and(|kind| kind.eq_ignore_ascii_case("PEM")) {
                return Err(wrong(type_name, "must be PEM: Java's own formats of stores are not read (keytool and openssl convert them)"));
            }
            read(path).map(Some).map_err(|source| PropertiesError::File { name, path: path.to_owned(), source })
        };
        let authorities = match self.get(TRUST) {
            Some(pem) => Some(pem.to_owned()),
            None => file(TRUST_FILE, TRUST_TYPE)?,
        };
        let why =
            "TLS needs to know whom to trust; for the system's authorities name their file, such as /etc/ssl/certs/ca-certificates.crt";
        let authorities = authorities.ok_or(PropertiesError::Missing { name: TRUST_FILE, why })?;
        let client = match (self.get(CHAIN), self.get(KEY), file(KEY_FILE, KEY_TYPE)?) {
            (Some(chain), Some(key), _) => Some(ClientCertificate { chain: chain.to_owned(), key: Secret::new(key) }),
            (Some(_), None, _) => return Err(PropertiesError::Missing { name: KEY, why: "a certificate is of no use without its key" }),
            (None, Some(_), _) => return Err(PropertiesError::Missing { name: CHAIN, why: "a key is of no use without its certificate" }),
            // One file with both, as Java takes it.
            (None, None, Some(pem)) => Some(ClientCertificate { chain: pem.clone(), key: Secret::new(pem) }),
            (None, None, None) => None,
        };
        let verifies_host = match self.get(HOST_CHECK) {
            None => true,
            Some("") => false,
            Some(name) if name.eq_ignore_ascii_case("https") => true,
            Some(_) => return Err(wrong(HOST_CHECK, "is neither https nor empty")),
        };
        Ok(TlsSettings { authorities, client, verifies_host })
    }

    fn credentials(&self) -> Result<Credentials, PropertiesError> {
        let name =
            self.get(MECHANISM).ok_or(PropertiesError::Missing { name: MECHANISM, why: "Java's default, GSSAPI, is not supported" })?;
        let mechanism = Mechanism::named(name).ok_or_else(|| {
            let known: Vec<&str> = Mechanism::ALL.into_iter().map(Mechanism::name).collect();
            wrong(MECHANISM, format!("is none of {}", known.join(", ")))
        })?;
        let jaas = self.get(JAAS).ok_or(PropertiesError::Missing { name: JAAS, why: "it holds the user's name and password" })?;
        let mut options =
            jaas_options(jaas).ok_or_else(|| wrong(JAAS, "does not read `MODULE required username=\"...\" password=\"...\";`"))?;
        let mut take = |name: &str| options.remove(name).ok_or_else(|| wrong(JAAS, format!("has no {name}")));
        let (user, password) = (take("username")?, take("password")?);
        Ok(Credentials { mechanism, user, password: Secret::new(password) })
    }
}

/// The options of a line of JAAS: `module flag name="value" ... ;`.
fn jaas_options(line: &str) -> Option<BTreeMap<String, String>> {
    let rest = line.trim().strip_suffix(';')?.trim();
    let (_module, rest) = rest.split_once(char::is_whitespace)?;
    let (_flag, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let mut options = BTreeMap::new();
    let mut chars = rest.chars().peekable();
    loop {
        while chars.next_if(|next| next.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            return Some(options);
        }
        let name = token(&mut chars)?;
        while chars.next_if(|next| next.is_whitespace()).is_some() {}
        chars.next_if_eq(&'=')?;
        while chars.next_if(|next| next.is_whitespace()).is_some() {}
        options.insert(name, token(&mut chars)?);
    }
}

/// A word, or what stands between quotes.
fn token(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    let Some(quote) = chars.next_if(|next| *next == '"' || *next == '\'') else {
        while let Some(next) = chars.next_if(|next| !next.is_whitespace() && *next != '=') {
            text.push(next);
        }
        return (!text.is_empty()).then_some(text);
    };
    loop {
        match chars.next()? {
            end if end == quote => return Some(text),
            '\\' => text.push(match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            }),
            other => text.push(other),
        }
    }
}

/// Lines of `name=value` as Java's `Properties.load` reads them: comments, escapes, lines that go on behind a backslash.
fn parse(text: &str) -> BTreeMap<String, Secret> {
    let mut properties = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut logical = line.trim_start().to_owned();
        if logical.is_empty() || logical.starts_with(['#', '!']) {
            continue;
        }
        while logical.chars().rev().take_while(|last| *last == '\\').count() % 2 == 1 {
            logical.pop();
            let Some(next) = lines.next() else { break };
            logical.push_str(next.trim_start());
        }
        let (name, value) = split(&logical);
        properties.insert(unescaped(name), Secret::new(unescaped(value)));
    }
    properties
}

/// Name and value: parted by the first `=`, `:` or white space that no backslash hides.
fn split(line: &str) -> (&str, &str) {
    let mut hidden = false;
    let end = line.char_indices().find(|(_, next)| {
        let parts = !hidden && (matches!(next, '=' | ':') || next.is_whitespace());
        hidden = !hidden && *next == '\\';
        parts
    });
    let Some((end, _)) = end else { return (line, "") };
    let rest = line[end..].trim_start();
    (&line[..end], rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start())
}

fn unescaped(text: &str) -> String {
    let mut units = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    let push = |units: &mut Vec<u16>, next: char| units.extend_from_slice(next.encode_utf16(&mut [0; 2]));
    while let Some(next) = chars.next() {
        if next != '\\' {
            push(&mut units, next);
            continue;
        }
        match chars.next() {
            Some('n') => push(&mut units, '\n'),
            Some('r') => push(&mut units, '\r'),
            Some('t') => push(&mut units, '\t'),
            Some('f') => push(&mut units, '\u{c}'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
            }
            Some(other) => push(&mut units, other),
            None => {}
        }
    }
    String::from_utf16_lossy(&units)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing(_: &str) -> io::Result<String> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn read(text: &str) -> Result<Security, PropertiesError> {
        Security::of_java_properties(text, nothing)
    }

    const LOGIN: &str = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.jaas.config=";

    #[test]
    fn properties_are_read_as_java_reads_them() {
        let text = "# a comment\n! another\n\n  a = b c \nlong: one \\\n   two\npath\\ with\\=signs value\nunicode=\\u20ac\\n\\\\\nempty\n";
        let read: Vec<(String, String)> = parse(text).into_iter().map(|(name, value)| (name, value.expose().to_owned())).collect();
        let expected = [("a", "b c "), ("empty", ""), ("long", "one two"), ("path with=signs", "value"), ("unicode", "€\n\\")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_line_of_jaas_gives_user_and_password() {
        let module = "org.apache.kafka.common.security.scram.ScramLoginModule";
        let rows = [
            (format!("{module} required username=\"ann\" password=\"a \\\"b\\\\ = ;\";"), Some(("ann", "a \"b\\ = ;"))),
            (format!("{module} required \\\n  username='ann' \\\n  password=plain ;"), Some(("ann", "plain"))),
            (format!("{module} required username=\"ann\" password=\"open;"), None),
            (format!("{module} required username=\"ann\" password=\"x\""), None),
            (format!("{module};"), None),
        ];
        for (line, expected) in rows {
            let line = line.replace("\\\n", " ");
            let options = jaas_options(&line);
            let found = options.as_ref().map(|options| (options["username"].as_str(), options["password"].as_str()));
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn a_login_is_understood() {
        let security = read(&format!("{LOGIN}module required username=\"ann\" password=\"pencil\";\nclient.id=x\n")).unwrap();
        assert_eq!(security.protocol(), "SASL_PLAINTEXT");
        assert!(!format!("{security:?}").contains("pencil"));
        assert_eq!(read("client.id=x").unwrap().protocol(), "PLAINTEXT");
    }

    #[test]
    fn what_cannot_be_followed_is_refused_without_showing_a_secret() {
        let rows = [
            ("security.protocol=TLS", "`security.protocol` is none of PLAINTEXT, SSL"),
            ("security.protocol=SSL", "`ssl.truststore.location` is missing: TLS needs to know whom to trust"),
            ("security.protocol=SSL\nssl.truststore.location=a.jks", "`ssl.truststore.type` must be PEM"),
            ("security.protocol=SSL\nssl.truststore.type=PEM\nssl.truststore.location=a", "`ssl.truststore.location`: a: "),
            ("security.protocol=SSL\nssl.truststore.certificates=x", "the file of authorities to trust cannot be read as PEM"),
            ("ssl.truststore.password=pencil", "`ssl.truststore.password` is not supported"),
            (
                "security.protocol=SSL\nssl.truststore.certificates=x\nssl.keystore.key=pencil",
                "`ssl.keystore.certificate.chain` is missing",
            ),
            ("security.protocol=SASL_SSL\nssl.truststore.certificates=x", "`sasl.mechanism` is missing: Java's default, GSSAPI"),
            ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI", "`sasl.mechanism` is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
            ("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN", "`sasl.jaas.config` is missing"),
            (&format!("{LOGIN}module required username=pencil;"), "`sasl.jaas.config` has no password"),
            (&format!("{LOGIN}pencil"), "`sasl.jaas.config` does not read"),
            (
                "security.protocol=SSL\nssl.truststore.certificates=x\nssl.endpoint.identification.algorithm=ldap",
                "`ssl.endpoint.identification.algorithm` is",
            ),
        ];
        for (text, expected) in rows {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected) && !error.contains("pencil"), "{text}: {error}");
        }
    }
}
