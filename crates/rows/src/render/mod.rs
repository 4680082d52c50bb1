//! Rows as text: JSON, and CSV.

mod cells;
mod csv;
mod json;
mod rest;
mod time;

pub use csv::Csv;
pub use json::Json;
