//! Rows as text: JSON, CSV, tables for people.

mod cells;
mod csv;
mod json;
mod rest;
mod table;
mod time;

pub use csv::Csv;
pub use json::Json;
pub use table::Table;
