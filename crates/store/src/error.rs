//! The index's failures in the words of the pipe's errors.

use crate::setting::GC_REBUILD;
use rorqual_pipe::{Error, ErrorClass};
use rusqlite::ErrorCode;
use std::io;
use std::path::Path;

/// Error of SQLite during the step `what` ("cannot read the index").
pub(crate) fn of_index(path: &Path, what: &str, cause: rusqlite::Error) -> Error {
    let name = path.to_string_lossy();
    match cause.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::new(
            ErrorClass::Corrupt,
            name,
            format!("the index is damaged ({cause}); {GC_REBUILD} makes a new one from the files, without names and leases"),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::new(ErrorClass::Io, name, format!("{what}: another program holds the index for too long"))
        }
        Some(ErrorCode::DiskFull) => Error::io(name, what, io::ErrorKind::StorageFull.into()),
        _ => Error::io(name, what, io::Error::other(cause)),
    }
}
