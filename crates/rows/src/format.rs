//! Which format an input has, and what it takes to decode it.

use crate::{Decode, Infer, Unplaced, csv, json, log};
use arrow_schema::SchemaRef;
use rorqual_pipe::{Framing, Splitter};
use rorqual_table::format::Format as LogFormat;

/// A format that records are decoded from.
#[derive(Debug, Clone)]
pub enum Format {
    /// JSON documents.
    Json(json::Layout),
    /// Fields with separators.
    Csv(csv::Dialect),
    /// An access log.
    Log(LogFormat),
}

impl Format {
    /// How the input is cut for workers.
    #[must_use]
    pub fn framing(&self, record_bytes_max: usize) -> Framing {
        match self {
            Self::Json(json::Layout::Lines) | Self::Log(_) => Framing::Lines { line_bytes_max: record_bytes_max },
            Self::Json(_) | Self::Csv(_) => Framing::Records { record_bytes_max },
        }
    }

    /// Who finds the records, where it is not lines.
    #[must_use]
    pub fn splitter(&self) -> Option<Box<dyn Splitter>> {
        match self {
            Self::Json(json::Layout::Lines) | Self::Log(_) => None,
            Self::Json(layout) => Some(Box::new(json::RecordSplitter::new(layout))),
            Self::Csv(dialect) => Some(Box::new(csv::RecordSplitter::new(dialect))),
        }
    }

    /// Who finds out the columns; `None` where the format says them.
    #[must_use]
    pub fn infer(&self) -> Option<Box<dyn Infer>> {
        match self {
            Self::Json(layout) => Some(Box::new(json::Inferrer::new(layout))),
            Self::Log(_) => None,
            Self::Csv(_) => todo!(),
        }
    }

    /// Who decodes records to batches of `schema`. A value that has no place there is a misfit, or goes to the column `_rest` where the
    /// schema has it; `unplaced` says whether that holds for one whose key has no column.
    #[must_use]
    pub fn decoder(&self, schema: &SchemaRef, unplaced: Unplaced) -> Box<dyn Decode> {
        match self {
            Self::Json(layout) => Box::new(json::Decoder::new(layout, schema, unplaced)),
            Self::Log(format) => Box::new(log::Decoder::new(format, schema)),
            Self::Csv(_) => todo!(),
        }
    }
}
