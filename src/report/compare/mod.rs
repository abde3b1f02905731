//! What a comparison leaves for people and programs: a page of text and one for browsers, tables, and everything as JSON.
//!
//! Whole contents, the same bytes for the same findings; nothing is computed or written to disk here. Used by who carries out comparisons.

pub mod csv;
pub mod html;
pub mod json;
pub mod text;

#[cfg(test)]
mod tests;
