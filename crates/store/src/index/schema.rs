//! The index's tables, and how it is opened.

use crate::error::of_index;
use crate::limits::{BUSY_TIMEOUT, INDEX_CACHE_KIB, JOURNAL_BYTES_MAX, LOG_BYTES_KEPT};
use rorqual_digest::Algorithm;
use rorqual_pipe::{Error, ErrorClass};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The schema's number, in `user_version`.
const VERSION: i64 = 1;

/// `used` is a counter, not a time. `total` spares every put a sum over all entries. `evicted_name`
/// has the names that ended for a put in flight, which gets them back if it puts their bytes.
const SCHEMA: &str = "
    CREATE TABLE setting (name TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
    CREATE TABLE entry (digest BLOB PRIMARY KEY, bytes INTEGER NOT NULL, stored_ms INTEGER NOT NULL,
                        accessed_ms INTEGER NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX entry_used ON entry (used);
    CREATE INDEX entry_bytes ON entry (bytes);
    CREATE TABLE name (name TEXT PRIMARY KEY, digest BLOB NOT NULL REFERENCES entry ON DELETE CASCADE) WITHOUT ROWID;
    CREATE INDEX name_digest ON name (digest, name);
    CREATE TABLE lease (id TEXT PRIMARY KEY, digest BLOB NOT NULL REFERENCES entry ON DELETE CASCADE, holder TEXT NOT NULL,
                        taken_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX lease_digest ON lease (digest, expires_ms);
    CREATE INDEX lease_expires ON lease (expires_ms);
    CREATE TABLE reservation (temp TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE evicted_name (temp TEXT NOT NULL REFERENCES reservation ON DELETE CASCADE, digest BLOB NOT NULL, name TEXT NOT NULL,
                               PRIMARY KEY (temp, digest, name)) WITHOUT ROWID;
    CREATE TABLE total (entries INTEGER NOT NULL, bytes INTEGER NOT NULL);
    INSERT INTO total VALUES (0, 0);
    CREATE TRIGGER entry_comes AFTER INSERT ON entry BEGIN
        UPDATE total SET entries = entries + 1, bytes = bytes + NEW.bytes; END;
    CREATE TRIGGER entry_goes AFTER DELETE ON entry BEGIN
        UPDATE total SET entries = entries - 1, bytes = bytes - OLD.bytes; END;";

/// Makes a new index at `path`; one of an earlier try is removed. The caller has the store's lock.
pub(crate) fn create(path: &Path, algorithm: Algorithm, bytes_max: u64, fsync: bool) -> Result<(), Error> {
    remove_index(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let make = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.pragma_update(None, "synchronous", if fsync { "FULL" } else { "OFF" })?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        let transaction = connection.unchecked_transaction()?;
        connection.execute_batch(SCHEMA)?;
        connection.execute("INSERT INTO setting VALUES ('algorithm', ?1)", params![algorithm.name()])?;
        connection.execute("INSERT INTO setting VALUES ('bytes_max', ?1)", params![bytes_max])?;
        connection.pragma_update(None, "user_version", VERSION)?;
        transaction.commit()
    };
    make().map_err(|cause| of_index(path, "cannot make the index", cause))
}

/// Removes an index and the files that SQLite keeps beside it. The index goes first: without its
/// log it would be an older one.
pub(crate) fn remove_index(path: &Path) -> Result<(), Error> {
    remove(path)?;
    remove(&beside(path, "-wal"))?;
    remove(&beside(path, "-shm"))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut file = path.as_os_str().to_owned();
    file.push(suffix);
    file.into()
}

fn remove(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(Error::io(path.to_string_lossy(), "cannot remove", cause)),
        _ => Ok(()),
    }
}

/// Opens the index of a store.
pub(crate) fn open(path: &Path, writable: bool) -> Result<Connection, Error> {
    let what = if log_bytes(path) > 0 && !writable {
        "cannot open the index, whose log (-wal, -shm) is read where it may be written: `rorqual store gc` there"
    } else {
        "cannot open the index"
    };
    let failed = |cause| of_index(path, what, cause);
    let connection = if writable { open_writable(path) } else { open_read_only(path) }.map_err(failed)?;
    match version(&connection).map_err(failed)? {
        VERSION => Ok(connection),
        0 => Err(Error::new(ErrorClass::Corrupt, path.to_string_lossy(), "this is not the index of a store")),
        newer => Err(Error::new(
            ErrorClass::Corrupt,
            path.to_string_lossy(),
            format!("the index has version {newer}, and this program knows {VERSION}: use a newer one"),
        )),
    }
}

fn open_writable(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    set_up(&connection)?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_BYTES_MAX)?;
    Ok(connection)
}

/// Prepares the end of a writable connection, the last of which writes the log into the index and
/// removes it. While the log is short that is left to a later one: a process that puts one file
/// would pay for it with four syncs, and the next reads the log again instead.
pub(crate) fn before_close(connection: &Connection, path: &Path) {
    let is_short = log_bytes(path) < LOG_BYTES_KEPT;
    // Otherwise it ends as SQLite has it.
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, is_short);
}

/// Without the right to write: as usual where the log and its map are beside the index, and as a
/// file that nobody changes when there is no log (SQLite would make one).
fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let shared = Connection::open_with_flags(path, flags).and_then(|connection| {
        set_up(&connection)?;
        version(&connection).map(|_| connection)
    });
    let Err(cause) = shared else { return shared };
    let refused = matches!(cause.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
    if !refused || log_bytes(path) > 0 {
        return Err(cause);
    }
    let connection =
        Connection::open_with_flags(format!("file:{}?immutable=1", escaped(path)), flags | OpenFlags::SQLITE_OPEN_URI)?;
    set_up(&connection)?;
    Ok(connection)
}

/// Length of the log ahead of the index, in which a part of it may be.
fn log_bytes(path: &Path) -> u64 {
    std::fs::metadata(beside(path, "-wal")).map_or(0, |log| log.len())
}

/// A path as a URI has it.
fn escaped(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    let escape = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.as_os_str().as_bytes().iter().map(|byte| escape(*byte)).collect()
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(32);
    connection.pragma_update(None, "cache_size", -INDEX_CACHE_KIB)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "foreign_keys", true)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
