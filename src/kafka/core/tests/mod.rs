//! The core's rules, one test per rule, with hand-made moments.

mod lab;
mod leader_hints;
mod metadata_rules;
mod one_outcome;
mod partition_choice;
mod produce_rules;
mod producer_id_rules;
mod refresh_rules;
mod sequence_rules;
mod split_rules;
