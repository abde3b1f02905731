//! The conductor: the only module that knows all others.
mod error;
mod intake;
mod live;
mod load;
pub mod machine;
mod narrate;
pub mod phases;
mod steps;
pub mod stop;
mod topics;
pub use error::RunError;
