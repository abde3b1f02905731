//! The import rule: which module may use which. Reads every file in `src/` and fails on an edge that the table does not hold.
//!
//! Paths are found in the text with comments and string literals blanked: `use crate::...` with its groups, and `crate::x::...` in code.
//! A chain of `super::` that leaves the module is refused, because it would hide an edge.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest file that needs no reason.
const LINES_MAX: usize = 500;

/// Modules that everyone may use.
const COMMON: [&str; 3] = ["clock", "ids", "digits"];

/// Module -> paths that it may use besides its own and [`COMMON`]. An entry allows everything below it.
const ALLOWED: [(&str, &[&str]); 20] = [
    ("clock", &[]),
    ("ids", &[]),
    ("digits", &[]),
    ("record", &[]),
    ("plan", &[]),
    ("kafka", &[]),
    ("cluster", &["kafka", "plan::model"]),
    ("fault", &["cluster", "kafka::admin", "plan::model"]),
    ("load", &["plan::model"]),
    ("audit", &["kafka", "load", "record"]),
    ("engine", &["audit", "kafka", "load", "record", "plan::model", "plan::producer_config", "cluster"]),
    ("probe", &["kafka", "record"]),
    ("analyze", &["record", "plan::model", "kafka::wire::error"]),
    ("report", &["analyze", "record"]),
    ("ui", &["analyze"]),
    ("run", &["audit", "plan", "cluster", "fault", "kafka", "load", "engine", "probe", "record", "analyze", "report", "ui"]),
    ("cli", &["run", "plan", "analyze", "report", "ui", "cluster", "probe", "kafka"]),
    ("main", &["cli"]),
    ("lib", &[]),
    ("docs", &[]),
];

/// The same inside `kafka`: the wire knows nobody, the core no sockets.
const ALLOWED_IN_KAFKA: [(&str, &[&str]); 8] = [
    ("wire", &[]),
    ("event", &["wire"]),
    ("metadata", &["wire"]),
    ("core", &["wire", "event", "metadata"]),
    ("net", &["wire", "event", "metadata", "core"]),
    ("admin", &["wire", "metadata", "net"]),
    ("raft", &["wire", "net", "admin"]),
    ("mod", &["wire", "event", "metadata", "core", "net", "admin", "raft"]),
];

#[test]
fn modules_import_only_what_the_table_allows() {
    let mut offences = Vec::new();
    let files = sources();
    assert!(files.len() > 20, "only {} files found: the walk is broken", files.len());
    for (file, text) in &files {
        offences.extend(check(file, text));
    }
    assert!(offences.is_empty(), "imports that docs/architecture.md does not allow:\n{}", offences.join("\n"));
}

#[test]
fn files_are_short() {
    let long: Vec<_> = sources()
        .into_iter()
        .map(|(file, text)| (file, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(file, lines)| format!("{}: {lines} lines", file.display()))
        .collect();
    assert!(long.is_empty(), "files above {LINES_MAX} lines:\n{}", long.join("\n"));
}

#[test]
fn only_the_clock_reads_time() {
    let readers: Vec<_> = sources()
        .into_iter()
        .filter(|(file, _)| file != Path::new("clock.rs"))
        .filter(|(_, text)| {
            let code = code_of(text);
            code.contains("Instant::now") || code.contains("SystemTime::now")
        })
        .map(|(file, _)| file.display().to_string())
        .collect();
    assert!(readers.is_empty(), "only clock.rs may read time, not {readers:?}");
}

/// The checker itself: each row is a file, its text, and the offences that it must name.
#[test]
fn the_checker_sees_bad_edges() {
    let rows: [(&str, &str, &[&str]); 15] = [
        ("kafka/net/driver.rs", "use crate::plan::model::Plan;", &["plan::model::Plan"]),
        ("kafka/core/sender.rs", "use crate::kafka::net::Driver;", &["kafka::net::Driver"]),
        ("kafka/core/sender.rs", "use crate::kafka::wire::Frame; use crate::clock::Moment;", &[]),
        ("plan/check.rs", "use crate::{ids::BrokerId, cluster::{Node, docker}};", &["cluster::Node", "cluster::docker"]),
        ("ui/screen.rs", "fn f() { crate::record::fact::Phase::Drain; }", &["record::fact::Phase::Drain"]),
        ("ui/screen.rs", "// crate::record::fact\n/* use crate::run; */ fn f() -> &'static str { \"crate::run::x\" }", &[]),
        ("ui/screen.rs", "const C: char = '\"'; use crate::run::X;", &["run::X"]),
        ("ui/screen.rs", "fn f<'a>(x: &'a str) { let _ = r#\"crate::run\"#; }", &[]),
        ("fault/kill.rs", "use crate::kafka::wire::error::ErrorCode;", &["kafka::wire::error::ErrorCode"]),
        ("fault/kill.rs", "use crate::kafka::admin::Admin; use crate::plan::model::Step;", &[]),
        ("fault/kill.rs", "use crate::plan::parse;", &["plan::parse"]),
        ("fault/kill.rs", "use super::super::record::fact;", &["super::super"]),
        ("plan/grammar/steps.rs", "use super::super::units::Rate;", &[]),
        ("load/mod.rs", "use super::engine::Engine;", &["engine::Engine"]),
        ("main.rs", "use kafka_chaos::run::Run;", &["run::Run"]),
    ];
    for (file, text, expected) in rows {
        let found = check(Path::new(file), text);
        assert_eq!(found.len(), expected.len(), "{file}: {text}: {found:?}");
        for path in expected {
            assert!(found.iter().any(|offence| offence.contains(path)), "{file}: {path} not named in {found:?}");
        }
    }
}

#[test]
fn an_unknown_module_is_an_offence() {
    let found = check(Path::new("sideways/mod.rs"), "use crate::ids::BrokerId;");
    assert_eq!(found.len(), 1, "{found:?}");
}

/// Every file below `src/`, by its path there.
fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push((path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// The offences of one file, in words.
fn check(file: &Path, text: &str) -> Vec<String> {
    let parts: Vec<String> = file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let module = parts[0].as_str();
    let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == module) else {
        return vec![format!("{}: module `{module}` is not in the table", file.display())];
    };
    let code = code_of(text);
    let mut offences = Vec::new();
    let depth = parts.iter().filter(|part| *part != "mod").count();
    let supers = longest_super_chain(&code);
    if supers > 1 && supers >= depth {
        offences.push(format!("{}: super::super:: leaves the module: write crate::...", file.display()));
    }
    let at_top = depth == 1;
    for path in paths_of(&code, at_top) {
        let (first, rest) = path.split_once("::").unwrap_or((&path, ""));
        if first == module && module == "kafka" {
            let inside = parts.get(1).map_or("mod", String::as_str);
            let inside_allowed = ALLOWED_IN_KAFKA.iter().find(|(name, _)| *name == inside).map(|(_, allowed)| *allowed);
            let target = rest.split("::").next().unwrap_or("");
            if target != inside && !inside_allowed.is_some_and(|allowed| allowed.contains(&target)) {
                offences.push(format!("{}: {inside} uses {path}", file.display()));
            }
        } else if first != module && !COMMON.contains(&first) && !allowed.iter().any(|entry| is_below(&path, entry)) {
            offences.push(format!("{}: {module} uses {path}", file.display()));
        }
    }
    offences
}

/// Length of the longest `super::super::...` in the code.
fn longest_super_chain(code: &str) -> usize {
    (1..).take_while(|length| code.contains(&"super::".repeat(*length))).last().unwrap_or(0)
}

/// Whether `path` is `entry` or lies below it.
fn is_below(path: &str, entry: &str) -> bool {
    path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Every path below the crate's root that the code names, groups written out.
fn paths_of(code: &str, at_top: bool) -> BTreeSet<String> {
    let mut heads = vec!["crate::", "kafka_chaos::"];
    if at_top {
        heads.push("super::");
    }
    let mut found = BTreeSet::new();
    for head in heads {
        for (start, _) in code.match_indices(head) {
            if code[..start].ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == ':' || before == '$') {
                continue;
            }
            let mut paths = Vec::new();
            expand(&code[start + head.len()..], "", &mut paths);
            // In a file at the top, `super::name` names a module only if the table knows it.
            paths.retain(|path| head != "super::" || ALLOWED.iter().any(|(name, _)| is_below(path, name)));
            found.extend(paths);
        }
    }
    found
}

/// Reads one `a::b::{c, d::e}` from the start of `text` into written-out paths; returns what follows it.
fn expand<'a>(text: &'a str, prefix: &str, into: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut group) = text.strip_prefix('{') {
        loop {
            group = group.trim_start();
            if let Some(rest) = group.strip_prefix('}') {
                return rest;
            }
            let before = group.len();
            group = expand(group, prefix, into).trim_start();
            group = group.strip_prefix(',').unwrap_or(group);
            if group.len() == before {
                return group;
            }
        }
    }
    let end = text.find(|character: char| !(character.is_alphanumeric() || character == '_')).unwrap_or(text.len());
    let path = [prefix, &text[..end]].concat();
    let mut rest = &text[end..];
    if let Some(more) = rest.strip_prefix("::") {
        if more.trim_start().starts_with(|next: char| next.is_alphanumeric() || next == '_' || next == '{') {
            return expand(more, &[&path, "::"].concat(), into);
        }
        rest = more.trim_start_matches('*');
    }
    if let Some(alias) = rest.trim_start().strip_prefix("as ") {
        rest = alias.trim_start().trim_start_matches(|character: char| character.is_alphanumeric() || character == '_');
    }
    into.push(path);
    rest
}

/// The text with comments, string and character literals blanked.
fn code_of(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = literal_or_comment(rest, &code);
        if skipped > 0 {
            code.push(' ');
            rest = &rest[skipped..];
        } else {
            code.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    code
}

/// Bytes of the comment or literal that `rest` begins with; 0 if it begins with code. `before` tells a raw string from a name.
fn literal_or_comment(rest: &str, before: &str) -> usize {
    let until = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return until("\n", 0);
    }
    if rest.starts_with("/*") {
        return until("*/", 2);
    }
    let in_name = before.ends_with(|character: char| character.is_alphanumeric() || character == '_');
    if let Some(raw) = rest.strip_prefix('r').filter(|_| !in_name) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return until(&["\"", &"#".repeat(hashes)].concat(), hashes + 2);
        }
    }
    if rest.starts_with('"') {
        return string_bytes(rest);
    }
    rest.strip_prefix('\'').map_or(0, character_bytes)
}

/// Bytes of the string literal that `rest` begins with.
fn string_bytes(rest: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Bytes of the character literal whose opening quote has been taken off `rest`; 0 for a lifetime.
fn character_bytes(rest: &str) -> usize {
    let mut characters = rest.char_indices();
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((_, escape))) => rest[1 + escape.len_utf8()..].find('\'').map_or(0, |at| at + escape.len_utf8() + 3),
        (Some(_), Some((at, '\''))) => at + 2,
        _ => 0,
    }
}
