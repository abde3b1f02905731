//! When colours are used, and which.
//!
//! Pure: whether the output is a terminal and what the environment says is handed in.

/// What the user asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColourChoice {
    /// Colours on a terminal, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Colours in any case.
    Always,
    /// No colours.
    Never,
}

impl ColourChoice {
    /// Whether to use colours. `no_color` is the value of `NO_COLOR` (which counts when it is not empty).
    #[must_use]
    pub fn decide(self, no_color: Option<&str>, is_terminal: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && no_color.is_none_or(str::is_empty),
        }
    }
}

/// What a line is about; decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something that happens.
    Plain,
    /// Something ended well.
    Good,
    /// Something did not.
    Bad,
    /// Something to know.
    Warning,
    /// A change of the cluster that the plan asked for.
    Step,
    /// Less important than its surroundings.
    Faint,
}

/// Paints text, or leaves it alone.
#[derive(Clone, Copy, Debug)]
pub struct Painter {
    /// Whether it paints.
    pub enabled: bool,
}

impl Painter {
    /// The text in its tone's colour.
    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Warning => "33",
            Tone::Step => "36",
            Tone::Faint => "2",
        };
        if self.enabled { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_choice_then_no_color_then_the_terminal() {
        let rows = [
            (ColourChoice::Auto, None, true, true),
            (ColourChoice::Auto, None, false, false),
            (ColourChoice::Auto, Some("1"), true, false),
            (ColourChoice::Auto, Some(""), true, true),
            (ColourChoice::Always, Some("1"), false, true),
            (ColourChoice::Never, None, true, false),
        ];
        for (choice, no_color, is_terminal, expected) in rows {
            assert_eq!(choice.decide(no_color, is_terminal), expected, "{choice:?} {no_color:?} {is_terminal}");
        }
    }

    #[test]
    fn paint_is_undone_after_the_text() {
        assert_eq!(Painter { enabled: true }.paint(Tone::Bad, "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Painter { enabled: false }.paint(Tone::Bad, "x"), "x");
    }
}
