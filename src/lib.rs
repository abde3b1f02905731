//! `chaos` shows, on real Kafka brokers, what clients lose when the cluster changes under them, for how long, and in which layer
//! the change is stuck.
//!
//! ```text
//! plan -> cluster -> (fault || load || probe) -> record -> analyze -> report        joined by run/
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`plan`] | the plan language: parsing, checking, the checked model |
//! | [`kafka`] | the producer (a sans-IO core and its driver), the wire, admin requests; knows no plans, Docker or reports |
//! | [`cluster`] | Kafka nodes in containers: up, ready, down, faults on a node |
//! | [`fault`] | steps as values: inject, confirm from outside, heal |
//! | [`load`] | due times, keys and payloads (pure) |
//! | [`audit`] | whether topics hold what clients were told, record by record |
//! | [`engine`] | which client makes a group's load, and its figures |
//! | [`probe`] | asks brokers what they believe, each for itself |
//! | [`record`] | facts, histograms, the run's folder and files |
//! | [`analyze`] | incremental folds over facts: outages, counts, verdict |
//! | [`report`] | what a person reads at the end |
//! | [`ui`] | progress while the run goes |
//! | [`run`] | the conductor: the only one that knows all; comparisons, run by run |
//! | [`cli`] | one file per command |

pub mod analyze;
pub mod audit;
pub mod cli;
pub mod clock;
pub mod cluster;
pub mod digits;
pub mod engine;
pub mod fault;
pub mod ids;
pub mod kafka;
pub mod load;
pub mod plan;
pub mod probe;
pub mod record;
pub mod report;
pub mod run;
pub mod ui;
