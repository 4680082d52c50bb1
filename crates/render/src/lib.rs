//! Templates to outputs of any size: rows in, pieces out, nothing held in between.
//!
//! * [`Templates`] are Jinja's, as MiniJinja has them.
//! * A [`Source`] gives rows, batch after batch; a template loops over them as `rows`.
//! * A [`Sink`] takes the pieces of the output.
//!
//! This crate starts no threads, opens no socket, and prints nothing.

mod chains;
mod compile;
mod emit;
mod error;
mod escape;
mod folder;
pub mod limits;
mod objects;
mod plan;
mod rows;
mod templates;
mod vm;

pub use error::{RenderError, TemplateError, TemplatePosition};
pub use minijinja::{AutoEscape, ErrorKind, Value};
pub use objects::value_of;
pub use rorqual_pipe::Sink;
pub use rows::{LoopBody, RowBatch, RowCell, RowSequence, Source};
pub use templates::{PageInput, RenderedBy, Templates};
