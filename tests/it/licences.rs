//! The licences of everything that the program is made of, against a list. Offline: from what cargo knows of the packages that it has.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

/// Licences that may be in the program.
const ALLOWED: [&str; 8] = ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Zlib"];

/// Whether an expression of SPDX can be kept to with these licences. `AND` binds closer than `OR`; a slash is an old `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let mut tokens = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    tokens = tokens.replace(" WITH ", "\u{0}WITH\u{0}");
    let tokens: Vec<String> = tokens.split_whitespace().map(|token| token.replace('\u{0}', " ")).collect();
    let mut rest = tokens.as_slice();
    any_of(&mut rest, allowed).is_some_and(|fits| fits && rest.is_empty())
}

fn any_of(rest: &mut &[String], allowed: &[&str]) -> Option<bool> {
    let mut fits = all_of(rest, allowed)?;
    while rest.first().is_some_and(|token| token == "OR") {
        *rest = &rest[1..];
        fits |= all_of(rest, allowed)?;
    }
    Some(fits)
}

fn all_of(rest: &mut &[String], allowed: &[&str]) -> Option<bool> {
    let mut fits = one(rest, allowed)?;
    while rest.first().is_some_and(|token| token == "AND") {
        *rest = &rest[1..];
        fits &= one(rest, allowed)?;
    }
    Some(fits)
}

fn one(rest: &mut &[String], allowed: &[&str]) -> Option<bool> {
    let (first, behind) = rest.split_first()?;
    *rest = behind;
    if first != "(" {
        return Some(allowed.contains(&first.as_str()));
    }
    let fits = any_of(rest, allowed)?;
    let (last, behind) = rest.split_first()?;
    *rest = behind;
    (last == ")").then_some(fits)
}

/// The system that is built for, as cargo calls it.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let rows = [
        ("MIT", true),
        ("MIT OR GPL-3.0-only", true),
        ("MIT AND GPL-3.0-only", false),
        ("MIT/GPL-3.0", true),
        ("(MIT OR GPL-3.0-only) AND ISC", true),
        ("(MIT AND GPL-3.0-only) OR ISC", true),
        ("GPL-3.0-only OR MIT AND GPL-2.0-only", false),
        ("Apache-2.0 WITH LLVM-exception OR MIT", true),
        ("Apache-2.0 WITH Commons-Clause", false),
        ("(MIT", false),
        ("", false),
    ];
    for (expression, expected) in rows {
        assert_eq!(is_allowed(expression, &ALLOWED), expected, "{expression}");
    }
}

#[test]
fn all_that_the_program_is_made_of_may_be_given_away() {
    // What other systems and other features need is not here, and cannot be asked for without a network.
    let features: Vec<&str> = [("librdkafka", cfg!(feature = "librdkafka")), ("zstd", cfg!(feature = "zstd"))]
        .into_iter()
        .filter(|(_, is_on)| *is_on)
        .map(|(name, _)| name)
        .collect();
    let (features, host) = (features.join(","), host());
    let arguments = ["metadata", "--format-version", "1", "--offline", "--locked", "--features", &features, "--filter-platform", &host];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "only {} packages: the list is broken", packages.len());
    let mut refused = Vec::new();
    for package in packages.iter().filter(|package| used.contains(package["id"].as_str().unwrap())) {
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_allowed(licence, &ALLOWED) {
            refused.push(format!("{} {}: {licence}", package["name"], package["version"]));
        }
    }
    assert!(refused.is_empty(), "licences that tests/it/licences.rs does not allow:\n{}", refused.join("\n"));
}
