//! The connection to the container engine: found, negotiated, bounded in time.
//!
//! Not here: what is asked of it (`docker`, `image`, `inventory`). The engine is the one that `DOCKER_HOST` names, or the local one.

use std::future::Future;
use std::time::Duration;

use bollard::Docker;
use bollard::errors::Error;

use super::ClusterError;
use super::error::root_of;

/// Where the engine listens if `DOCKER_HOST` names no other place.
const DEFAULT_ADDRESS: &str = "unix:///var/run/docker.sock";
/// Longest wait for the engine's first answer.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Longest wait for an answer to any later request; streams and graceful stops have their own bounds.
const REQUEST_WITHIN: Duration = Duration::from_secs(60);

/// A container engine that has answered.
#[derive(Clone, Debug)]
pub struct Daemon {
    docker: Docker,
    address: String,
    version: String,
    api_version: String,
}

impl Daemon {
    /// Connects to the engine of this environment.
    ///
    /// # Errors
    /// [`ClusterError::EngineUnreachable`] if none answers.
    pub async fn connect() -> Result<Self, ClusterError> {
        let address = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
        Self::connect_to(address.as_deref().unwrap_or(DEFAULT_ADDRESS)).await
    }

    /// Connects to the engine at an address in `DOCKER_HOST`'s form, and agrees on a version of its API.
    ///
    /// # Errors
    /// [`ClusterError::EngineUnreachable`] if none answers there.
    pub async fn connect_to(address: &str) -> Result<Self, ClusterError> {
        let unreachable = |reason| ClusterError::EngineUnreachable { address: address.to_owned(), reason };
        let negotiate = async {
            // Without negotiation an engine that is older than the client's own version refuses every request.
            let docker = Docker::connect_with_host(address)?.with_timeout(REQUEST_WITHIN).negotiate_version().await?;
            let answer = docker.version().await?;
            Ok::<_, Error>((docker, answer))
        };
        let (docker, answer) = tokio::time::timeout(CONNECT_WITHIN, negotiate)
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", CONNECT_WITHIN.as_secs())))?
            .map_err(|error| unreachable(root_of(&error)))?;
        let api_version = docker.client_version().to_string();
        Ok(Self { docker, address: address.to_owned(), version: answer.version.unwrap_or_default(), api_version })
    }

    /// Its address, in `DOCKER_HOST`'s form.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The engine's own version.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The version of its API that was agreed on.
    #[must_use]
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// Memory of the machine that the engine runs on; `None` if it does not say.
    ///
    /// # Errors
    /// If the engine does not answer.
    pub async fn memory_bytes(&self) -> Result<Option<u64>, ClusterError> {
        let info = self.docker.info().await.map_err(could_not("tell its memory"))?;
        Ok(info.mem_total.and_then(|bytes| u64::try_from(bytes).ok()))
    }

    /// The client, for one request.
    pub(crate) fn client(&self) -> &Docker {
        &self.docker
    }

    /// A client whose requests may take `extra` longer than usual.
    pub(crate) fn patient_client(&self, extra: Duration) -> Docker {
        self.docker.clone().with_timeout(REQUEST_WITHIN + extra)
    }
}

/// Bounds something that is asked of the engine in several requests or as a stream.
pub(crate) async fn bounded<T>(
    within: Duration,
    doing: &str,
    work: impl Future<Output = Result<T, ClusterError>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(within, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(ClusterError::EngineTooSlow { doing: doing.to_owned(), within }),
    }
}

/// Puts what was asked beside the engine's answer.
pub(crate) fn could_not(doing: impl Into<String>) -> impl FnOnce(Error) -> ClusterError {
    let doing = doing.into();
    move |source| ClusterError::Engine { doing, source: Box::new(source) }
}

/// The HTTP status of an engine's refusal.
pub(crate) fn status_of(error: &Error) -> Option<u16> {
    match error {
        Error::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::FakeEngine;

    #[tokio::test]
    async fn an_old_engine_is_spoken_to_in_its_own_version() {
        let engine = FakeEngine::start(|_| None);
        let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
        assert_eq!((daemon.version(), daemon.api_version()), ("20.10.24", "1.41"));
        let asked = engine.asked();
        assert_eq!(asked.len(), 2, "negotiated once, then asked for its version: {asked:?}");
        assert!(asked.iter().all(|path| path == "/version" || path == "/v1.41/version"), "{asked:?}");
    }

    #[tokio::test]
    async fn without_an_engine_the_error_says_where_it_was_looked_for() {
        let error = Daemon::connect_to("unix:///nowhere/engine.sock").await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("unix:///nowhere/engine.sock") && text.contains("systemctl start docker"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_never_answers_is_given_up() {
        let folder = tempfile::tempdir().unwrap();
        let _listener = tokio::net::UnixListener::bind(folder.path().join("engine.sock")).unwrap();
        let address = format!("unix://{}", folder.path().join("engine.sock").display());
        let error = Daemon::connect_to(&address).await.unwrap_err();
        assert!(error.to_string().contains("no answer within 10 s"), "{error}");
    }
}
