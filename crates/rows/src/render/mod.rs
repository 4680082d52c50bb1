//! Rows as text: JSON, and CSV.

mod cells;
mod columns;
mod csv;
mod finite;
mod json;
mod rest;
mod time;

pub use columns::{Cell, Columns};
pub use csv::Csv;
pub use finite::not_finite;
pub use json::Json;
