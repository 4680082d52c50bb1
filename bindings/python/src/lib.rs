//! The module `rorqual._rorqual`: arguments, errors and streams of Python around `rorqual-embed`.

mod calls;
mod failures;
mod page;
mod rows;
mod sources;
mod store;
mod waiting;

use pyo3::prelude::*;

/// The native part of the package `rorqual`.
#[pymodule]
mod _rorqual {
    #[pymodule_export]
    use crate::calls::{Digester, LineMatches, count, fetch, grep, hash, report};
    #[pymodule_export]
    use crate::page::{Pieces, render};
    #[pymodule_export]
    use crate::rows::{RowBatches, RowsSchema, SingleBatch, scan};
    #[pymodule_export]
    use crate::store::ContentStore;
}
