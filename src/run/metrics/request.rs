//! What an HTTP request asks for, and the head of what it is answered with. Pure, and strict: what is not plainly a GET of the page is refused.

/// What is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The figures; without a body if only the head was asked for.
    Figures {
        /// Whether the body is sent.
        body: bool,
    },
    /// Nothing lives at that path.
    NotFound,
    /// Another method than GET and HEAD.
    MethodNotAllowed,
    /// No request at all.
    BadRequest,
    /// The head does not end within the bound.
    TooLarge,
    /// It did not come in time.
    TooLate,
}

/// Answers a head, given without the empty line that ends it.
pub(super) fn answer(head: &[u8]) -> Answer {
    let Ok(head) = std::str::from_utf8(head) else { return Answer::BadRequest };
    let mut lines = head.split("\r\n");
    let line: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = line[..] else { return Answer::BadRequest };
    let is_field = |line: &str| line.split_once(':').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(is_token));
    if method.is_empty() || !method.bytes().all(is_token) || !target.starts_with('/') || !lines.all(is_field) {
        return Answer::BadRequest;
    }
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    match (method, path) {
        ("GET", "/metrics") => Answer::Figures { body: true },
        ("HEAD", "/metrics") => Answer::Figures { body: false },
        ("GET" | "HEAD", _) => Answer::NotFound,
        _ => Answer::MethodNotAllowed,
    }
}

/// Letters of methods and of names of fields.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

impl Answer {
    /// Whether it is a refusal.
    pub(super) fn is_refusal(self) -> bool {
        !matches!(self, Self::Figures { .. })
    }

    /// The whole answer; `figures` is the page.
    pub(super) fn text(self, media_type: &str, figures: &str) -> String {
        let (status, more) = match self {
            Self::Figures { .. } => ("200 OK", ""),
            Self::NotFound => ("404 Not Found", ""),
            Self::MethodNotAllowed => ("405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
            Self::BadRequest => ("400 Bad Request", ""),
            Self::TooLarge => ("431 Request Header Fields Too Large", ""),
            Self::TooLate => ("408 Request Timeout", ""),
        };
        let (media_type, body, is_sent) = match self {
            Self::Figures { body } => (media_type, figures, body),
            _ => ("text/plain; charset=utf-8", "the figures are at /metrics\n", true),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n{more}Connection: close\r\n\r\n"
        );
        if is_sent { head + body } else { head }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_get_of_the_page_is_answered_with_it() {
        let figures = Answer::Figures { body: true };
        let rows = [
            ("GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\nAccept: */*", figures),
            ("GET /metrics HTTP/1.0", figures),
            ("GET /metrics?format=x HTTP/1.1\r\nX-Empty:", figures),
            ("HEAD /metrics HTTP/1.1", Answer::Figures { body: false }),
            ("GET / HTTP/1.1", Answer::NotFound),
            ("GET /metrics/ HTTP/1.1", Answer::NotFound),
            ("POST /metrics HTTP/1.1\r\nContent-Length: 3", Answer::MethodNotAllowed),
            ("get /metrics HTTP/1.1", Answer::MethodNotAllowed),
            ("GET  /metrics HTTP/1.1", Answer::BadRequest),
            ("GET /metrics HTTP/2", Answer::BadRequest),
            ("GET /metrics", Answer::BadRequest),
            ("GET metrics HTTP/1.1", Answer::BadRequest),
            ("GET /metrics HTTP/1.1\r\nno field", Answer::BadRequest),
            ("GET /metrics HTTP/1.1\r\n folded: x", Answer::BadRequest),
            ("\u{16}\u{3}\u{1}", Answer::BadRequest),
            ("", Answer::BadRequest),
        ];
        for (head, expected) in rows {
            assert_eq!(answer(head.as_bytes()), expected, "{head:?}");
        }
        assert_eq!(answer(b"GET /metrics HTTP/1.1\r\nX: \xff"), Answer::BadRequest);
    }

    #[test]
    fn an_answer_says_how_long_it_is_and_a_head_has_no_body() {
        let whole = Answer::Figures { body: true }.text("text/x", "a 1\n");
        assert!(whole.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 4\r\n") && whole.ends_with("\r\n\r\na 1\n"));
        let head = Answer::Figures { body: false }.text("text/x", "a 1\n");
        assert!(head.contains("Content-Length: 4\r\n") && head.ends_with("\r\n\r\n"));
        let refused = Answer::MethodNotAllowed.text("text/x", "a 1\n");
        assert!(refused.contains("\r\nAllow: GET, HEAD\r\n") && !refused.contains("a 1"));
    }
}
