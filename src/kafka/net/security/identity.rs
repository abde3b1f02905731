//! Who a client says it is, and how it proves it: what every connection of it needs beside an address.

use std::sync::Arc;

use super::Security;

/// A client's name with its security. A bare name is a client without any.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its `client.id`.
    pub client_id: Arc<str>,
    /// How its connections are secured.
    pub security: Security,
}

impl From<&str> for Identity {
    fn from(client_id: &str) -> Self {
        Self { client_id: Arc::from(client_id), security: Security::plaintext() }
    }
}

impl Security {
    /// A client of this name whose connections are secured so.
    #[must_use]
    pub fn named(&self, client_id: &str) -> Identity {
        Identity { client_id: Arc::from(client_id), security: self.clone() }
    }
}
