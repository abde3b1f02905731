//! The document around the sections: head, policy, contents, data and scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::assets::{SCRIPTS, STYLES, policy};
use super::{Content, Section};
use crate::analyze::findings::Verdict;
use crate::record::fact::RunStarted;

/// The whole document.
pub(super) fn document(content: Content<'_>, sections: &[Section], data: &str) -> Markup {
    let Content { run, findings, .. } = content;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "chaos " (version(run, "chaos")) };
                title { (run.plan) ": " (findings.verdict.word()) }
                @for style in STYLES { style { (PreEscaped(style)) } }
            }
            body {
                a class="skip" href="#main" { "Skip to the report" }
                header class="masthead" {
                    h1 { (run.plan) }
                    p class={ "verdict " (verdict_class(findings.verdict)) } { (findings.verdict.word()) }
                    p class="facts" { (facts(run)) }
                }
                nav class="contents" aria-label="Contents" {
                    ul { @for section in sections { li { a href={ "#" (section.id) } { (section.title) } } } }
                }
                main id="main" {
                    @for section in sections {
                        section id=(section.id) class="part" aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer class="colophon" {
                    p {
                        "Made by chaos " (version(run, "chaos")) " from the run's own facts; "
                        code { "chaos report" } " makes it again. Pictures: uPlot, MIT licence."
                    }
                }
                script type="application/json" id="chaos-data" { (PreEscaped(data)) }
                @for script in SCRIPTS { script { (PreEscaped(script)) } }
            }
        }
    }
}

fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "verdict-pass",
        Verdict::Fail => "verdict-fail",
        Verdict::Hang => "verdict-hang",
        Verdict::Unknown => "verdict-unknown",
        Verdict::Interrupted => "verdict-interrupted",
    }
}

/// `plans/x.toml, seed 7, Kafka 4.3.0, baseline from 2026-11-29 10:00:02 UTC`.
fn facts(run: &RunStarted) -> String {
    let at = run.steady_at.get(..19).unwrap_or(&run.steady_at).replace('T', " ");
    format!("{}, seed {}, Kafka {}, baseline from {at} UTC", run.plan_path, run.seed, version(run, "kafka"))
}

fn version<'a>(run: &'a RunStarted, of: &str) -> &'a str {
    run.versions.get(of).map_or("(version unknown)", String::as_str)
}
