//! A comparison: the same plan with other values, each of them run several times, in an order that gives drift of the machine no say.
//!
//! ```text
//! plan::vary (cells) -> manifest (order) -> folder (new or resumed) -> series -> run::run, once per run
//!                                                                         \-> state: what is finished, what is set aside
//! folders of runs -> load -> analyze::compare::model
//! ```
//!
//! Not here: what the figures mean together (`analyze::compare`) and how that is shown (`report::compare`). Called by `cli`.

mod error;
mod figures;
mod folder;
mod grouping;
mod line;
mod load;
mod lock;
mod manifest;
mod order;
mod pace;
mod seconds;
mod series;
mod state;

pub use error::CompareError;
pub use folder::{Opened, begun, empty_folder};
pub use grouping::{CellOfFolders, of_cells, of_folders};
pub use load::{Loaded, load};
pub use manifest::{CellEntry, Design, MANIFEST, Manifest, RUNS, RunEntry};
pub use order::Role;
pub use pace::{Pace, load_of, words as time_words};
pub use series::Series;
pub use state::{State, count_set_aside, states};
