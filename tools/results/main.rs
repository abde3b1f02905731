//! Makes the pages of `results/` out of the folders that `chaos compare` left: small tables, pictures, and what they show.
//!
//! What the documentation claims of `metadata.max.age.ms` is checked here on every run, not on medians. Not part of the product, and no
//! measurement: `make results` is its caller.

#[allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, reason = "it drives tests, which need more of it")]
#[path = "../../tests/it/page/browser.rs"]
mod browser;
mod curve;
mod gather;
mod kept;
mod max_age;
mod page;
mod picture;
mod roll;
#[path = "../stats.rs"]
mod stats;
#[path = "../svg.rs"]
mod svg;
mod table;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// Pages of results, from the folders of comparisons.
#[derive(Debug, Parser)]
#[command(name = "results")]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What metadata.max.age.ms decides, and what it costs
    MaxAge {
        /// The comparison of plans/max-age-growth.toml
        #[arg(long, value_name = "DIR")]
        growth: PathBuf,
        /// The comparison of plans/max-age-pause.toml
        #[arg(long, value_name = "DIR")]
        pause: PathBuf,
        /// Folder of the page
        #[arg(long, value_name = "DIR", default_value = "results/max-age")]
        out: PathBuf,
    },
    /// A rolling restart under two ages
    RollingRestart {
        /// The comparison of plans/rolling-restart.toml
        #[arg(long, value_name = "DIR")]
        compared: PathBuf,
        /// Folder of the page
        #[arg(long, value_name = "DIR", default_value = "results/rolling-restart")]
        out: PathBuf,
    },
    /// The top of a page, as CHAOS_TEST_BROWSER draws it
    Picture {
        /// The page
        #[arg(value_name = "HTML")]
        page: PathBuf,
        /// The picture
        #[arg(value_name = "PNG")]
        out: PathBuf,
    },
}

fn main() -> anyhow::Result<()> {
    match Args::parse().command {
        Command::MaxAge { growth, pause, out } => max_age::write(&growth, &pause, &out),
        Command::RollingRestart { compared, out } => roll::write(&compared, &out),
        Command::Picture { page, out } => picture::write(&page, &out),
    }
}
