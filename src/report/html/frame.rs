//! The document around the sections of any page: head, policy, contents, data and scripts. What stands in them each page says itself.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::assets::{STYLES, Scripts, policy};

/// A part of a page with a heading of its own.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) body: Markup,
}

/// A page before it is put together.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    /// The window's title.
    pub(crate) title: String,
    /// Version of chaos that is told to programs.
    pub(crate) version: &'a str,
    /// Above everything: heading and what it is about.
    pub(crate) masthead: Markup,
    /// In order; those without anything to say are left out.
    pub(crate) sections: Vec<Section>,
    /// Below everything.
    pub(crate) colophon: Markup,
    /// What the scripts draw: JSON that [`inert`] has made harmless.
    pub(crate) data: &'a str,
    /// The scripts.
    pub(crate) scripts: Scripts,
}

/// The whole document.
pub(crate) fn document(page: Page<'_>) -> Markup {
    let sections: Vec<Section> = page.sections.into_iter().filter(|section| !section.body.0.is_empty()).collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy(page.scripts));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "chaos " (page.version) };
                title { (page.title) }
                @for style in STYLES { style { (PreEscaped(style)) } }
            }
            body {
                a class="skip" href="#main" { "Skip to the report" }
                header class="masthead" { (page.masthead) }
                nav class="contents" aria-label="Contents" {
                    ul { @for section in &sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                }
                main id="main" {
                    @for section in &sections {
                        section id=(section.id) class="part" aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer class="colophon" { p { (page.colophon) } }
                script type="application/json" id="chaos-data" { (PreEscaped(page.data)) }
                @for script in page.scripts { script { (PreEscaped(script)) } }
            }
        }
    }
}

/// JSON as text that may stand within a `script` element: in JSON these characters stand within strings only, where their escapes mean the
/// same.
pub(crate) fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", u32::from(character))),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_end_the_element_and_means_the_same() {
        let hostile = "</script><script>alert(1)</script>&amp;\u{2028}\u{2029}<!--";
        let text = inert(&serde_json::to_string(hostile).unwrap());
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), hostile);
    }
}
