//! Rows as text: JSON, CSV, tables for people.

mod cells;
mod columns;
mod csv;
mod finite;
mod flat;
mod json;
mod rest;
mod table;
mod time;

pub use columns::RenderColumns;
pub use csv::Csv;
pub use finite::not_finite;
pub use flat::{FlatBatch, FlatColumns, FlatTexts};
pub use json::JsonRows;
pub use table::{TextTable, cut_to_width};
