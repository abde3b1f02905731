//! What the documentation shows is what the program takes.

use clap::Parser;

use crate::{Arguments, documented};

#[test]
fn every_command_line_of_the_documentation_is_taken() {
    let text = include_str!("../../docs/conformance.md");
    let (flags, commands) = (documented::flags(text, "CONFORMANCE_FLAGS"), documented::commands(text, "--example conformance -- "));
    assert!(!flags.is_empty() && !commands.is_empty(), "the documentation shows none any more");
    for words in flags.into_iter().chain(commands) {
        let arguments = Arguments::try_parse_from(std::iter::once("conformance".to_owned()).chain(words.clone()));
        let arguments = arguments.unwrap_or_else(|error| panic!("{words:?}: {error}"));
        assert!(arguments.plans.iter().all(|plan| plan.exists()), "{words:?}: no such plan");
    }
}
