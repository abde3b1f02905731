//! The image that the Java producer program runs from: Kafka's own with the program on top. Built by `clients/java/build`, never by this
//! program; here it is found, and told from one that another version of the sources was built into.

use sha2::{Digest, Sha256};

use super::ClusterError;
use super::daemon::{Daemon, could_not, status_of};
use super::labels::hex;

/// The label that holds the digest of the sources.
const SOURCES_LABEL: &str = "io.kafka-chaos.java-client";

macro_rules! sources {
    ($($file:literal),+ $(,)?) => { [$(($file, include_str!(concat!("../../clients/java/", $file)))),+] };
}

/// All that goes into the image, and the values that it must make as this program does, in the order in which the digest is made.
const SOURCES: [(&str, &str); 26] = sources![
    "Dockerfile",
    "build",
    "run",
    "src/io/kafkachaos/client/ChaCha12.java",
    "src/io/kafkachaos/client/Client.java",
    "src/io/kafkachaos/client/Delivery.java",
    "src/io/kafkachaos/client/DueTimes.java",
    "src/io/kafkachaos/client/Errors.java",
    "src/io/kafkachaos/client/Group.java",
    "src/io/kafkachaos/client/Json.java",
    "src/io/kafkachaos/client/KafkaLogger.java",
    "src/io/kafkachaos/client/Lateness.java",
    "src/io/kafkachaos/client/Main.java",
    "src/io/kafkachaos/client/MetadataLog.java",
    "src/io/kafkachaos/client/Outcomes.java",
    "src/io/kafkachaos/client/Output.java",
    "src/io/kafkachaos/client/Payload.java",
    "src/io/kafkachaos/client/Reporter.java",
    "src/io/kafkachaos/client/Seeds.java",
    "src/io/kafkachaos/client/Sender.java",
    "src/io/kafkachaos/client/Settings.java",
    "src/io/kafkachaos/client/Time.java",
    "src/io/kafkachaos/client/WaitClock.java",
    "src/io/kafkachaos/client/Waits.java",
    "src/org/slf4j/impl/StaticLoggerBinder.java",
    "test/golden.txt",
];

/// What there is of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JavaImage {
    /// It is here, and from the sources that this program was built with.
    Ready(String),
    /// It is here, but from other sources.
    Stale(String),
    /// It is not here.
    Missing(String),
}

impl JavaImage {
    /// The image for a version of Kafka.
    ///
    /// # Errors
    /// If the engine does not answer.
    pub async fn find(daemon: &Daemon, kafka: &str) -> Result<Self, ClusterError> {
        let image = format!("chaos-java-client:{kafka}");
        match daemon.client().inspect_image(&image).await {
            Ok(found) => {
                let labels = found.config.and_then(|config| config.labels).unwrap_or_default();
                let is_ready = labels.get(SOURCES_LABEL) == Some(&sources_digest());
                Ok(if is_ready { Self::Ready(image) } else { Self::Stale(image) })
            }
            Err(error) if status_of(&error) == Some(404) => Ok(Self::Missing(image)),
            Err(error) => Err(could_not(format!("look for the image {image}"))(error)),
        }
    }

    /// The command that builds it.
    #[must_use]
    pub fn mend(kafka: &str) -> String {
        format!("make java KAFKA={kafka}")
    }
}

fn sources_digest() -> String {
    let mut digest = Sha256::new();
    for (_, text) in SOURCES {
        digest.update(text);
    }
    hex(&digest.finalize()[..8])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::cluster::fake::FakeEngine;

    fn files_below(folder: &Path, root: &Path, into: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files_below(&path, root, into);
            } else {
                into.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }

    #[test]
    fn the_digest_is_of_all_files_that_the_build_script_takes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/java");
        let mut files: Vec<String> = ["Dockerfile", "build", "run", "test/golden.txt"].map(str::to_owned).to_vec();
        files_below(&root.join("src"), &root, &mut files);
        files.sort();
        assert_eq!(SOURCES.map(|(file, _)| file).to_vec(), files);
    }

    fn labelled(path: &str, digest: &str) -> Option<(&'static str, String)> {
        let body = format!(r#"{{"Id":"sha256:0","Config":{{"Labels":{{"{SOURCES_LABEL}":"{digest}"}}}}}}"#);
        (path == "/images/chaos-java-client:4.3.0/json").then_some(("200 OK", body))
    }

    #[tokio::test]
    async fn an_image_of_other_sources_is_not_taken() {
        let name = "chaos-java-client:4.3.0".to_owned();
        for (engine, expected) in [
            (FakeEngine::start(|path| labelled(path, &sources_digest())), JavaImage::Ready(name.clone())),
            (FakeEngine::start(|path| labelled(path, "0123")), JavaImage::Stale(name.clone())),
            (FakeEngine::start(|_| None), JavaImage::Missing(name)),
        ] {
            let daemon = Daemon::connect_to(&engine.address()).await.unwrap();
            assert_eq!(JavaImage::find(&daemon, "4.3.0").await.unwrap(), expected);
        }
    }
}
