//! Plans to start from: those built in, and how a plan gets another name.
//!
//! Pure: makes text. Not here: files (`cli`). What comes out is as sound as what went in: only the name and the schema's line change.

use toml::de::DeTable;

use super::grammar::NAME_BYTES_MAX;
use super::problem::nearest;

/// A plan to start from.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// What it is called, and the name of its plan.
    pub name: &'static str,
    /// The plan, every line explained.
    pub text: &'static str,
}

/// All that are built in, the simplest first.
pub const ALL: [Template; 4] = [
    Template { name: "kill", text: include_str!("templates/kill.toml") },
    Template { name: "pause", text: include_str!("templates/pause.toml") },
    Template { name: "roll", text: include_str!("templates/roll.toml") },
    Template { name: "growth", text: include_str!("templates/growth.toml") },
];

/// The first line of a plan that lies beside its schema: editors complete and check keys then.
pub const SCHEMA_LINE: &str = "#:schema ./plan.schema.json\n";

/// The template of that name; `None`: there is none.
#[must_use]
pub fn find(name: &str) -> Option<Template> {
    ALL.into_iter().find(|template| template.name == name)
}

/// The template's name that a misspelt one is most like; `None`: it is like none.
#[must_use]
pub fn nearest_to(name: &str) -> Option<&'static str> {
    nearest(name, &ALL.map(|template| template.name))
}

/// Whether a new plan, and its file, may have this name: what plans allow, and no beginning that hides a file or looks like an option.
///
/// # Errors
/// What is wrong with it, and a name that would do where one is near.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_odd = |character: char| !(character.is_ascii_alphanumeric() || "._-".contains(character));
    if name.is_empty() {
        return Err("a plan's name is not empty: give one such as `broker-kill`".to_owned());
    }
    if name.len() > NAME_BYTES_MAX {
        return Err(format!("a plan's name has {NAME_BYTES_MAX} characters at most, and this has {}", name.chars().count()));
    }
    if !name.contains(is_odd) && name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Ok(());
    }
    let stem = name.rsplit('/').next().unwrap_or(name);
    let words: Vec<&str> = stem.split(is_odd).map(|word| word.trim_matches(['.', '_', '-'])).filter(|word| !word.is_empty()).collect();
    let near = if words.is_empty() { String::new() } else { format!(": `{}` would do", words.join("-").trim_end_matches(".toml")) };
    let folder = if name.contains('/') { "; a folder is given with --out" } else { "" };
    Err(format!(
        "`{name}` is no name for a plan: it takes letters, digits, `.`, `_` and `-`, and begins with a letter or a digit{near}{folder}"
    ))
}

/// The text of a plan under another name, with the schema's line if the schema lies beside it.
///
/// The text must be that of a sound plan; where it has no name, it is returned as it is.
#[must_use]
pub fn renamed(text: &str, name: &str, beside_schema: bool) -> String {
    let body = text.strip_prefix(SCHEMA_LINE).unwrap_or(text);
    let place = DeTable::parse(body).ok().and_then(|tree| tree.get_ref().get("name").map(toml::Spanned::span));
    let body = match place {
        Some(place) => format!("{}\"{name}\"{}", &body[..place.start], &body[place.end..]),
        None => body.to_owned(),
    };
    if beside_schema { format!("{SCHEMA_LINE}{body}") } else { body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{parse, timeline::Timeline};

    #[test]
    fn templates_are_sound_plans_without_a_warning() {
        for template in ALL {
            let checked = parse(template.name, template.text).unwrap_or_else(|problems| panic!("{problems}"));
            assert_eq!((checked.plan.name.as_str(), checked.warnings.is_empty()), (template.name, true));
            assert!(!checked.plan.about.is_empty() && !checked.plan.expectations.is_empty());
            assert!(Timeline::of(&checked.plan).end_at.expected.as_secs() < 150, "{}", template.name);
        }
    }

    /// A line is explained beside it or by the line before it; a key that has been explained further up needs no more words.
    #[test]
    fn every_line_of_a_template_is_explained() {
        for template in ALL {
            let lines: Vec<&str> = template.text.lines().collect();
            let mut known: Vec<&str> = Vec::new();
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
                let word = line.split([' ', '=']).next().unwrap_or_default();
                let is_explained = line.contains("# ") || at > 0 && lines[at - 1].starts_with('#');
                assert!(is_explained || known.contains(&word), "{}: {line}", template.name);
                known.push(word);
            }
        }
    }

    #[test]
    fn a_plan_gets_another_name_and_the_schemas_line_where_the_schema_is() {
        let text = format!("{SCHEMA_LINE}# name = \"no\"\nname = 'old' # why\n[[topic]]\nname = \"orders\"\n");
        assert_eq!(renamed(&text, "new", false), "# name = \"no\"\nname = \"new\" # why\n[[topic]]\nname = \"orders\"\n");
        assert_eq!(renamed("name = \"old\"\n", "new", true), format!("{SCHEMA_LINE}name = \"new\"\n"));
    }

    #[test]
    fn odd_names_are_refused_with_one_that_would_do() {
        for name in ["kill", "kill-2.of_3", "9"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let rows = [
            ("my plan", "`my-plan` would do"),
            ("plans/my plan.toml", "`my-plan` would do; a folder is given with --out"),
            (".hidden", "`hidden` would do"),
            ("-x", "`x` would do"),
            ("..", "begins with a letter"),
            ("kühl", "`k-hl` would do"),
            ("", "not empty"),
        ];
        for (name, expected) in rows {
            let said = check_name(name).unwrap_err();
            assert!(said.contains(expected), "{name}: {said}");
        }
        assert!(check_name(&"x".repeat(201)).is_err());
    }

    #[test]
    fn a_misspelt_template_has_one_near() {
        assert_eq!((find("kill").map(|found| found.name), find("kil").is_none()), (Some("kill"), true));
        assert_eq!((nearest_to("grwth"), nearest_to("something-else")), (Some("growth"), None));
    }
}
