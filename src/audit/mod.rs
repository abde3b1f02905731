//! Whether the topics hold what the clients were told: every record by its identity, after the run.
//!
//! ```text
//! engine: outcomes --> ledger --+
//!                               +--> check (one partition, pure) --> facts
//! kafka::fetch: batches --------+
//! ```
//!
//! A client's last word on a record goes to the [`Ledger`]: acknowledged, failed or indeterminate, by producer, partition and number. Once the
//! load is over, [`reader`] reads every partition to its end, and [`check`] sets what is there against the ledger. Sets of numbers are kept as
//! [`Sequences`], of which 10^8 fit into memory.
//!
//! Not here: what records hold (`load::payload`), what lost records mean and where they went (`analyze`). Called by `engine`, which fills
//! the ledger, and by `run`.

pub mod check;
pub mod facts;
pub mod ledger;
mod log;
mod lost;
pub mod reader;
pub mod sequences;
#[cfg(test)]
mod tests;

pub use check::{PartitionCheck, PartitionFindings};
pub use ledger::{Index, Ledger, Outcomes, PairOutcomes, ProducerEntry};
pub use sequences::Sequences;
