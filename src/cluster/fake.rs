//! An engine for tests: a unix socket that answers requests by their path and remembers them.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// What an engine of API 1.41 says of itself.
const VERSION: &str = r#"{"Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12"}"#;

/// Status and body for a path without the version before it; `None` is status 404.
type Answer = dyn Fn(&str) -> Option<(&'static str, String)> + Send + Sync;

/// The engine; gone when it is dropped.
#[derive(Debug)]
pub(super) struct FakeEngine {
    folder: tempfile::TempDir,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeEngine {
    /// Starts one of API 1.41.
    pub(super) fn start(answer: impl Fn(&str) -> Option<(&'static str, String)> + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("engine.sock")).unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&asked);
        let answer: Arc<Answer> = Arc::new(answer);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&told)));
            }
        });
        Self { folder, asked }
    }

    /// Where it listens, in `DOCKER_HOST`'s form.
    pub(super) fn address(&self) -> String {
        format!("unix://{}", self.folder.path().join("engine.sock").display())
    }

    /// The paths that were asked for, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn serve(stream: UnixStream, answer: Arc<Answer>, asked: Arc<Mutex<Vec<String>>>) {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    stream.read_line(&mut request).await.unwrap();
    let mut header = String::new();
    while stream.read_line(&mut header).await.unwrap() > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let plain = path.strip_prefix("/v1.41").unwrap_or(&path);
    let (status, body) = if plain == "/version" {
        ("200 OK", VERSION.to_owned())
    } else if plain.starts_with("/v1.") {
        // What a real engine does with a client that is too new.
        ("400 Bad Request", r#"{"message":"client version is too new. Maximum supported API version is 1.41"}"#.to_owned())
    } else {
        answer(plain).unwrap_or(("404 Not Found", r#"{"message":"no such thing"}"#.to_owned()))
    };
    asked.lock().unwrap().push(path);
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}");
    // A client that has gone away is no failure of the engine's.
    let _ = stream.get_mut().write_all(answer.as_bytes()).await;
}
