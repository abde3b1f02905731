//! Which sources a measurement was made with. Shared by the tools that keep figures.

use std::process::Command;

/// What a program said, if it ended well.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The commit of this checkout, with `+` if files of it have changed since, results aside.
pub(crate) fn commit() -> Option<String> {
    let mark = if is_changed(&[".", ":(exclude)results"])? { "+" } else { "" };
    said("git", &["rev-parse", "--short=12", "HEAD"]).map(|commit| format!("{commit}{mark}"))
}

/// Whether files at these paths have changed since the commit; `None`: git does not tell.
pub(crate) fn is_changed(paths: &[&str]) -> Option<bool> {
    let mut arguments = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    arguments.extend(paths);
    said("git", &arguments).map(|changes| !changes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_says_nothing() {
        assert_eq!(said("echo", &["a", "b"]).as_deref(), Some("a b"));
        assert_eq!(said("false", &[]), None);
        assert_eq!(said("no-such-program-here", &[]), None);
    }
}
