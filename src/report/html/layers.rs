//! Which layer held each step up: in words, as a table of stages, and as a picture.

use maud::{Markup, html};

use super::Content;
use super::figure::figure;
use super::steps::link;
use super::table::{Look, more, shortened, table};
use super::words::words;
use crate::analyze::findings::Findings;
use crate::analyze::layers::findings::{LayerFinding, Waterfall};
use crate::record::layer::Layer;
use crate::report::text::layers::{caches, end_of, held, held_longest, rows, title};
use crate::report::text::table::{Table, Titled};

/// Steps whose layers are shown; those that were held up longest.
const SHOWN_MAX: usize = 30;

/// Stages, and stretches of the longest wait, that are drawn of one step: more than a dozen nodes and as many groups have.
pub(super) const STAGES_MAX: usize = 60;

/// Rows of stages, and remarks, of one step: nodes that knew at about the same time share a row.
const ROWS_MAX: usize = 30;

/// The column of bars in the table on the screen: the picture has them.
const BARS: usize = 5;

/// The section.
pub(super) fn section(content: Content<'_>) -> Markup {
    let findings = content.findings;
    let shown = shown(findings);
    html! {
        @if shown.iter().any(|layers| layers.waterfall.is_some()) {
            (figure("layers", "From the fault to the first ack, layer by layer", "layers.csv"))
        }
        @for layers in &shown { (step(findings, layers)) }
        (more(findings.layers.len() - shown.len(), "steps, those held up for the shortest time,"))
    }
}

/// The findings that are shown, in the order of steps.
pub(super) fn shown(findings: &Findings) -> Vec<&LayerFinding> {
    held_longest(findings, SHOWN_MAX)
}

fn step(findings: &Findings, layers: &LayerFinding) -> Markup {
    let of_step = findings.steps.iter().find(|step| step.step == layers.step);
    let stages = layers.waterfall.iter().flat_map(|waterfall| &waterfall.stages);
    let of_clients = stages.filter(|stage| stage.layer == Layer::ClientCache).map(caches);
    let remarks: Vec<String> = of_clients.chain(layers.remarks.iter().cloned()).collect();
    html! {
        article class="step-layers" id={ "layers-" (layers.step) } {
            h3 { (link(findings, layers.step, &words(&shortened(&title(layers, of_step))))) }
            p class={ "held " (held_class(layers)) } { (words(&shortened(&held(layers)))) }
            @if let Some(waterfall) = &layers.waterfall { (stages_of(layers, waterfall)) }
            @if !remarks.is_empty() {
                ul class="remarks" { @for remark in remarks.iter().take(ROWS_MAX) { li { (words(&shortened(remark))) } } }
                (more(remarks.len().saturating_sub(ROWS_MAX), "remarks"))
            }
        }
    }
}

fn stages_of(layers: &LayerFinding, waterfall: &Waterfall) -> Markup {
    let rows = rows(layers, waterfall, end_of(layers, waterfall));
    html! {
        details class="stages" {
            summary { "Stages" }
            (table(&Titled::new("When each layer knew, since the fault", without_bars(&rows)), Look::NAMELESS))
            (more(rows.rows().len().saturating_sub(ROWS_MAX), "stages"))
        }
    }
}

fn held_class(layers: &LayerFinding) -> &'static str {
    match &layers.held {
        Some(held) if held.is_stuck => "held-stuck",
        Some(_) => "held-up",
        None if layers.unexplained > 0 => "held-unknown",
        None => "held-nothing",
    }
}

fn without_bars(bars: &Table) -> Table {
    let mut table = Table::new(&["<layer", "<who", "<what", "after", "within"]);
    bars.rows().iter().take(ROWS_MAX).for_each(|row| table.row(row[..BARS].iter().cloned()));
    table
}
