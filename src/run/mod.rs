//! The conductor: the only module that knows all others.
pub mod machine;
pub mod phases;
pub mod stop;
