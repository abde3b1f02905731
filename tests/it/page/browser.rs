//! A headless Chromium that a test drives over pipes: its DevTools protocol as JSON messages that end with a zero byte. No port is opened and
//! nothing is fetched. Not a general client: what the tests of pages need, and no more.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest wait for an answer or an event; far above what any of them takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest wait for something in the page, shorter, so that the page itself says what did not become true.
const PATIENCE_IN_PAGE_MS: u32 = 20_000;

/// Names under which distributions install it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// One browser at a time: a test measures how fast a page opens.
static BROWSER: Mutex<()> = Mutex::new(());

/// The program that `CHAOS_TEST_BROWSER` names, or one that is installed if it is 1; `None` (and a line that says so) if it is not set.
///
/// # Panics
/// If it is 1 and none is installed: whoever asked for the test must not believe that it has passed.
fn program() -> Option<String> {
    match std::env::var("CHAOS_TEST_BROWSER").as_deref() {
        Err(_) | Ok("" | "0") => {
            eprintln!("skipped: needs a browser; set CHAOS_TEST_BROWSER=1 (make test does)");
            None
        }
        Ok("1") => {
            let paths: Vec<_> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
            let found = NAMES.iter().find(|name| paths.iter().any(|path| path.join(name).is_file()));
            Some((*found.expect("no Chromium is installed: scripts/setup browser")).to_owned())
        }
        Ok(program) => Some(program.to_owned()),
    }
}

/// A browser with one tab. Ends with its pipes, whatever becomes of the test.
#[derive(Debug)]
pub(crate) struct Browser {
    child: Child,
    requests: Option<ChildStdin>,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    session: Option<String>,
    next_id: u64,
    _profile: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Browser {
    /// Starts one; `None` if no test may.
    pub(crate) fn start() -> Option<Self> {
        let program = program()?;
        let alone = BROWSER.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let profile = tempfile::tempdir().unwrap();
        // The protocol's pipes are the files 3 and 4, which only a shell can make of standard input and output without unsafe code.
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$@" 3<&0 4>&1 >&2"#, "sh", &program])
            .args([
                "--headless",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--no-default-browser-check",
                "--disable-gpu",
                "--disable-sync",
            ])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-quic", "--disable-extensions"])
            // Containers and root have no sandbox to offer; the pages are our own.
            .args(["--no-sandbox", "--disable-dev-shm-usage", &format!("--user-data-dir={}", profile.path().display())])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (tx, messages) = channel();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while answers.read_until(0, &mut message).is_ok_and(|bytes| bytes > 0) {
                message.pop();
                if tx.send(serde_json::from_slice(&message).unwrap()).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let requests = child.stdin.take();
        let mut browser =
            Self { child, requests, messages, events: VecDeque::new(), session: None, next_id: 1, _profile: profile, _alone: alone };
        browser.open_tab();
        Some(browser)
    }

    fn open_tab(&mut self) {
        let target = self.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let session = self.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        self.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Calls a method of the protocol and waits for its result.
    ///
    /// # Panics
    /// If the browser refuses, ends, or does not answer in time.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        let mut request = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let pipe = self.requests.as_mut().unwrap();
        pipe.write_all(request.to_string().as_bytes()).and_then(|()| pipe.write_all(&[0])).and_then(|()| pipe.flush()).unwrap();
        loop {
            let mut message = self.receive(method);
            if message["id"] == json!(id) {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
            self.events.push_back(message);
        }
    }

    fn receive(&self, what: &str) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap_or_else(|why| panic!("waiting for {what}: {why}"))
    }

    /// Opens a file and waits until it is loaded. Events of the page before are forgotten.
    pub(crate) fn open(&mut self, page: &Path) {
        self.events.clear();
        let result = self.call("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        assert!(result.get("errorText").is_none(), "{result}");
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.receive("the page to load");
            self.events.push_back(event);
        }
    }

    /// Sets the window's width in CSS pixels.
    pub(crate) fn resize(&mut self, width: u32) {
        self.call("Emulation.setDeviceMetricsOverride", &json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}));
    }

    /// Runs a function's body in the page, waits for its promise if it gives one, and gives what it returned.
    ///
    /// # Panics
    /// If it throws.
    pub(crate) fn run(&mut self, body: &str) -> Value {
        let expression = format!("(async () => {{ {body} }})()");
        let result = self.call("Runtime.evaluate", &json!({"expression": expression, "awaitPromise": true, "returnByValue": true}));
        assert!(result.get("exceptionDetails").is_none(), "{body}\n{}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_until(&mut self, expression: &str) {
        let polling = format!(
            "const end = performance.now() + {PATIENCE_IN_PAGE_MS};
             while (!({expression})) {{
               if (performance.now() > end) return false;
               await new Promise((next) => setTimeout(next, 20));
             }}
             return true;"
        );
        assert_eq!(self.run(&polling), true, "never true: {expression}");
    }

    /// Drags the mouse along a line, in CSS pixels of the window.
    pub(crate) fn drag(&mut self, from: (f64, f64), to: (f64, f64)) {
        let mut mouse = |kind: &str, (x, y): (f64, f64), buttons: u32| {
            let button = if buttons == 0 && kind == "mouseMoved" { "none" } else { "left" };
            let event =
                json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": u32::from(kind != "mouseMoved")});
            self.call("Input.dispatchMouseEvent", &event);
        };
        mouse("mouseMoved", from, 0);
        mouse("mousePressed", from, 1);
        mouse("mouseMoved", ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0), 1);
        mouse("mouseMoved", to, 1);
        mouse("mouseReleased", to, 0);
    }

    /// Presses a key, such as `ArrowRight` or `+`.
    pub(crate) fn press(&mut self, key: &str) {
        let mut down = json!({"type": "keyDown", "key": key});
        if key.chars().count() == 1 {
            down["text"] = json!(key);
        }
        self.call("Input.dispatchKeyEvent", &down);
        self.call("Input.dispatchKeyEvent", &json!({"type": "keyUp", "key": key}));
    }

    /// What the page should not have done since it was opened: lines on the console above info, exceptions, dialogs, requests for
    /// anything but itself.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        // An answer comes after all events before it.
        self.run("return null;");
        self.events.iter().filter_map(complaint).collect()
    }
}

fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    let bad = match event["method"].as_str()? {
        "Runtime.consoleAPICalled" => matches!(parameters["type"].as_str()?, "error" | "warning" | "assert"),
        "Log.entryAdded" => matches!(parameters["entry"]["level"].as_str()?, "error" | "warning"),
        "Runtime.exceptionThrown" | "Page.javascriptDialogOpening" => true,
        "Network.requestWillBeSent" => parameters["type"] != "Document" || !parameters["request"]["url"].as_str()?.starts_with("file://"),
        _ => false,
    };
    bad.then(|| event.to_string())
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends when it is asked to, or its pipe does; if not, it is ended.
        if let Some(mut pipe) = self.requests.take() {
            let _ = pipe.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        }
        for _ in 0..100 {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
