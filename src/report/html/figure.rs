//! Places for pictures. A page's script fills them from its data; without it, the page says where the figures are.

use maud::{Markup, html};

/// A place for a picture. That it needs the script is said as long as no script says otherwise: a blocked script leaves no `noscript`.
pub(crate) fn figure(name: &str, caption: &str, file: &str) -> Markup {
    html! {
        figure class="chart" id={ "fig-" (name) } data-chart=(name) {
            figcaption { (caption) }
            div class="plot" {}
            p class="note without-script" { "This picture needs JavaScript. Its figures are in " (file) "." }
        }
    }
}
