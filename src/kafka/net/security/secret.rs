//! A value that nobody may see: passwords and private keys.

use std::fmt;
use std::sync::Arc;

use super::scram::{self, ScramError};

/// What stands in place of a secret wherever one would be shown.
const HIDDEN: &str = "[hidden]";

/// A secret. Neither `Debug` nor `Display` shows it, and nothing serialises it; it is read by [`Secret::expose`] alone, on the way to a connection or a broker's container.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Takes a value into keeping.
    #[must_use]
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    /// A password that nobody knows yet.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn made_up() -> Result<Self, ScramError> {
        scram::nonce().map(Self::new)
    }

    /// The value itself. What is made of it must not be logged or written down.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_never_shown() {
        let secret = Secret::new("pencil");
        assert_eq!(format!("{secret} {secret:?} {:#?}", Some(&secret)), "[hidden] [hidden] Some(\n    [hidden],\n)");
        assert_eq!(secret.expose(), "pencil");
    }
}
