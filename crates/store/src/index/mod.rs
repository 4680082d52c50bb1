//! The index: queries and changes, in the store's terms.

mod rows;
pub(crate) mod schema;

use crate::error::of_index;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::Error;
pub(crate) use rows::EntryRow;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};
use std::path::Path;
use std::sync::MutexGuard;

/// The open index, while it is used.
pub(crate) struct Index<'a> {
    pub(crate) connection: MutexGuard<'a, Connection>,
    pub(crate) path: &'a Path,
    pub(crate) algorithm: Algorithm,
}

impl Index<'_> {
    pub(crate) fn read_failed(&self, cause: rusqlite::Error) -> Error {
        of_index(self.path, "cannot read the index", cause)
    }

    pub(crate) fn write_failed(&self, cause: rusqlite::Error) -> Error {
        of_index(self.path, "cannot write the index", cause)
    }

    fn prepare(&self, sql: &str) -> Result<CachedStatement<'_>, Error> {
        self.connection.prepare_cached(sql).map_err(|cause| self.read_failed(cause))
    }

    /// The first row, if any.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, Error> {
        self.prepare(sql)?.query_row(params, read).optional().map_err(|cause| self.read_failed(cause))
    }

    /// All rows; the query has a limit.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Error> {
        let mut statement = self.prepare(sql)?;
        let rows = statement.query_map(params, read).map_err(|cause| self.read_failed(cause))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|cause| self.read_failed(cause))
    }

    /// A number that is always there.
    pub(crate) fn number(&self, sql: &str, params: impl Params) -> Result<u64, Error> {
        Ok(self.first(sql, params, |row| row.get(0))?.unwrap_or(0))
    }

    /// Changes rows; gives how many.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize, Error> {
        self.prepare(sql)?.execute(params).map_err(|cause| self.write_failed(cause))
    }

    /// The digest in column `column`.
    pub(crate) fn digest(&self, row: &Row<'_>, column: usize) -> rusqlite::Result<Digest> {
        let bytes = row.get_ref(column)?.as_blob()?;
        let wrong = || rusqlite::Error::InvalidColumnType(column, "digest".to_owned(), rusqlite::types::Type::Blob);
        Digest::from_bytes(self.algorithm, bytes).ok_or_else(wrong)
    }
}
