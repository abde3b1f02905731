//! Command lines that a document shows, taken out of it so that tests can see whether the programs take them. Shared by the tools.

/// The words of each `NAME=WORD` and `NAME='WORD WORD ...'`.
pub(crate) fn flags(text: &str, name: &str) -> Vec<Vec<String>> {
    let value = |rest: &str| {
        let is_end = |sign: char| sign.is_whitespace() || sign == '`';
        match rest.strip_prefix('\'') {
            Some(quoted) => words(quoted.split('\'').next()),
            None => words(rest.split(is_end).next()),
        }
    };
    text.split(&format!("{name}=")).skip(1).map(value).collect()
}

/// The words of each line that come after `start`.
pub(crate) fn commands(text: &str, start: &str) -> Vec<Vec<String>> {
    text.lines().filter_map(|line| line.split_once(start)).map(|(_, rest)| words(Some(rest))).collect()
}

fn words(text: Option<&str>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_commands_are_found_wherever_they_stand() {
        let text = "`A_FLAGS='--x 1 --y'\nB_FLAGS=--z` and `A_FLAGS=--x`\n$ make it\n$ cargo run -- go --far\n";
        assert_eq!(flags(text, "A_FLAGS"), [vec!["--x", "1", "--y"], vec!["--x"]]);
        assert_eq!(flags(text, "B_FLAGS"), [["--z"]]);
        assert_eq!(commands(text, "cargo run -- "), [["go", "--far"]]);
        assert_eq!((flags(text, "C_FLAGS"), commands(text, "cargo test")), (vec![], vec![]));
    }
}
