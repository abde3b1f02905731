//! The core's rules, one test per rule, with hand-made moments.

mod any_order;
mod lab;
mod leader_hints;
mod machine;
mod metadata_rules;
mod one_outcome;
mod partition_choice;
mod produce_rules;
mod producer_id_rules;
mod refresh_rules;
mod rows;
mod sequence_rules;
mod split_rules;
mod world;
