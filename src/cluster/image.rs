//! Which image a Kafka version runs from: the official one, or the one that this repository builds.

use std::time::Duration;

use bollard::query_parameters::CreateImageOptionsBuilder;
use futures_util::TryStreamExt;

use super::ClusterError;
use super::daemon::{Daemon, could_not, status_of};

/// Images that can run a Kafka version, best first.
#[must_use]
pub fn candidates(version: &str) -> [String; 2] {
    [format!("apache/kafka:{version}"), format!("chaos-kafka:{version}")]
}

/// The image of a Kafka version that is here; `None` if there is none.
///
/// # Errors
/// If the engine does not answer.
pub async fn find(daemon: &Daemon, version: &str) -> Result<Option<String>, ClusterError> {
    for image in candidates(version) {
        match daemon.client().inspect_image(&image).await {
            Ok(_) => return Ok(Some(image)),
            Err(error) if status_of(&error) == Some(404) => {}
            Err(error) => return Err(could_not(format!("look for the image {image}"))(error)),
        }
    }
    Ok(None)
}

/// Pulls the official image.
///
/// # Errors
/// [`ClusterError::ImageMissing`] if that fails or takes longer than `within`; the message names the command that builds one.
pub async fn pull(daemon: &Daemon, version: &str, within: Duration) -> Result<String, ClusterError> {
    let [image, _] = candidates(version);
    let missing = |reason: String| ClusterError::ImageMissing { version: version.to_owned(), reason };
    let options = CreateImageOptionsBuilder::new().from_image("apache/kafka").tag(version).build();
    let client = daemon.patient_client(within);
    let layers = client.create_image(Some(options), None, None).try_for_each(|_| std::future::ready(Ok(())));
    match tokio::time::timeout(within, layers).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(missing(error.to_string())),
        Err(_) => return Err(missing(format!("not done within {} s", within.as_secs()))),
    }
    // The stream can end well although nothing came; only the image itself counts.
    match find(daemon, version).await? {
        Some(image) => Ok(image),
        None => Err(missing(format!("the engine reported no error, but {image} is not here"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::fake::FakeEngine;

    const IMAGE: &str = r#"{"Id":"sha256:0"}"#;

    fn has(path: &str, names: &[&str]) -> Option<(&'static str, String)> {
        names.iter().any(|name| path == format!("/images/{name}/json")).then(|| ("200 OK", IMAGE.to_owned()))
    }

    #[tokio::test]
    async fn the_official_image_comes_first() {
        let cases = [
            (FakeEngine::start(|path| has(path, &["apache/kafka:4.3.0", "chaos-kafka:4.3.0"])), Some("apache/kafka:4.3.0")),
            (FakeEngine::start(|path| has(path, &["chaos-kafka:4.3.0"])), Some("chaos-kafka:4.3.0")),
            (FakeEngine::start(|path| has(path, &["chaos-kafka:4.0.2"])), None),
        ];
        for (engine, expected) in cases {
            let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
            assert_eq!(find(&daemon, "4.3.0").await.unwrap().as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn a_pull_that_fails_names_the_reason_and_the_command_that_builds() {
        let refuses =
            FakeEngine::start(|path| path.starts_with("/images/create").then(|| ("500 Error", r#"{"message":"no route"}"#.into())));
        // As engines do when the network fails in the middle: success, and the error in the stream.
        let breaks_off = FakeEngine::start(|path| {
            path.starts_with("/images/create").then(|| ("200 OK", r#"{"errorDetail":{"message":"no route"},"error":"no route"}"#.into()))
        });
        let brings_nothing =
            FakeEngine::start(|path| path.starts_with("/images/create").then(|| ("200 OK", r#"{"status":"done"}"#.into())));
        for (engine, reason) in [(refuses, "no route"), (breaks_off, "no route"), (brings_nothing, "reported no error")] {
            let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
            let text = pull(&daemon, "4.3.0", Duration::from_secs(5)).await.unwrap_err().to_string();
            assert!(text.contains(reason) && text.contains("make image KAFKA=4.3.0"), "{text}");
        }
    }
}
