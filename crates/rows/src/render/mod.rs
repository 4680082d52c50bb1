//! Rows as text: JSON, and CSV.

mod cells;
mod columns;
mod csv;
mod json;
mod rest;
mod time;

pub use columns::{Cell, Columns};
pub use csv::Csv;
pub use json::Json;
