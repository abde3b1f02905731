//! What pictures have in common: they stand on white and on black alike, and say in words what they show. Shared by the tools.

/// A grey with a contrast of 4 or more to white and to black alike.
pub(crate) const TEXT: &str = "#7d8590";

/// The opening tag. `description` is for those who cannot see the picture.
pub(crate) fn begin(width: f64, height: f64, description: &str) -> String {
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="13" fill="{TEXT}" role="img" aria-label="{}">"#,
        escaped(description)
    )
}

/// A text between tags or in quotes.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_the_language_are_text() {
        assert_eq!(escaped("a < \"b\" & c > d"), "a &lt; &quot;b&quot; &amp; c &gt; d");
        assert!(begin(10.0, 5.5, "\"x\"").contains(r#"viewBox="0 0 10 5.5" width="10" height="5.5""#));
        assert!(begin(10.0, 5.5, "\"x\"").ends_with(r#"aria-label="&quot;x&quot;">"#));
    }
}
