//! Memory and files for tables: their stores, and uploads that are spooled until they are read.

use super::memory::SessionMemory;
use super::table_source::{TableOpener, TableSource};
use crate::admission::{Admission, PermitGuard, PermitKind, PermitPool};
use crate::limits::TABLE_READING_SHARE;
use crate::setting::SESSIONS;
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::limits::{
    RECORDER_BYTES, SEGMENT_ROWS_MIN, STORE_BYTES_MIN, TABLE_NUMBERS_BYTES, table_columns_bytes, table_recorder_bytes,
    table_segment_bytes, table_segment_rows,
};
use rorqual_crossfilter::{RowStore, RowStoreSettings};
use rorqual_pipe::setting::{TEMP_DIR, TEMP_MAX};
use rorqual_pipe::{Setting, format_size, reason};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Means to read tables, the same for all sessions.
pub(crate) struct TableResources {
    memory: SessionMemory,
    sessions_max: usize,
    /// Memory for reading a table that is apart from the sessions' shares. Without it each takes a
    /// part of the share of its session.
    reading_bytes: Option<u64>,
    /// Folder for rows, and for uploads that are to be read, with the most bytes of each session.
    spill: Option<(PathBuf, u64)>,
    /// Opens uploads; `None` where only logs are taken.
    opener: Option<Arc<dyn TableOpener>>,
    /// The permit to read one.
    turn: PermitPool,
}

/// An uploaded table, in a temporary file without a name: a table is read more than once where its
/// columns turn up late, and some formats from their end.
pub(crate) struct SpooledTable {
    file: File,
    bytes: u64,
    bytes_max: u64,
    path: PathBuf,
}

impl TableResources {
    /// Means within the memory of `sessions_max` sessions, which share the folder's bytes.
    pub(crate) fn new(
        memory: SessionMemory,
        reading_bytes: Option<u64>,
        spill: Option<&(PathBuf, u64)>,
        opener: Option<Arc<dyn TableOpener>>,
        admission: &Admission,
    ) -> Self {
        let sessions_max = admission.count(PermitKind::Session);
        let spill = spill.map(|(folder, bytes)| (folder.clone(), bytes / sessions_max as u64));
        Self { memory, sessions_max, reading_bytes, spill, opener, turn: admission.pool(PermitKind::Table) }
    }

    /// Memory shared out for the sessions.
    pub(crate) fn memory(&self) -> SessionMemory {
        self.memory
    }

    /// The right to read a table, of which one is read at a time.
    pub(crate) async fn turn(&self) -> PermitGuard {
        self.turn.acquire().await
    }

    /// The same for a thread that may block.
    pub(crate) fn turn_blocking(&self) -> PermitGuard {
        Handle::current().block_on(self.turn())
    }

    /// True if the memory of tables is apart from the sessions' shares.
    pub(crate) fn has_memory(&self) -> bool {
        self.reading_bytes.is_some()
    }

    /// Memory in which a table is read.
    pub(crate) fn reading_bytes(&self) -> u64 {
        self.reading_bytes.unwrap_or(self.memory.shares.tables_bytes / TABLE_READING_SHARE)
    }

    /// Memory and threads that a table is read with, by which records may be too long.
    pub(crate) fn read_with(&self) -> (u64, usize) {
        (self.reading_bytes(), self.memory.shares.threads)
    }

    /// The format of a table that begins so; `None` where only logs are taken.
    pub(crate) fn format(&self, name: &str, head: &[u8]) -> Option<String> {
        self.opener.as_ref()?.format(name, head)
    }

    /// The table in a file; `None` where it is none.
    pub(crate) fn open(&self, name: &str, path: &Path) -> Option<Box<dyn TableSource>> {
        self.opener.as_ref()?.open(name, path)
    }

    /// The table in a file that is followed; `None` where it is none that can be.
    pub(crate) fn follow(&self, path: &Path) -> Option<Box<dyn TableSource>> {
        self.opener.as_ref()?.follow(path)
    }

    /// A file for an upload, or a stream, which can be read later.
    ///
    /// # Errors
    /// A sentence for its sender.
    pub(crate) fn spool(&self) -> Result<SpooledTable, String> {
        let Some((folder, bytes_max)) = &self.spill else {
            return Err(format!("a table is in a temporary file until it is read, and this server writes none ({TEMP_MAX} 0)"));
        };
        self.opener.as_ref().map_or(Ok(()), |opener| opener.check(self.reading_bytes()))?;
        SpooledTable::new(folder, *bytes_max).map_err(|cause| no_file(TEMP_DIR, &folder.display().to_string(), &cause))
    }

    /// Settings of a store for the rows of a table, in the share of a session of which `file_bytes`
    /// of the files are taken.
    ///
    /// # Errors
    /// A sentence where there are too many columns.
    pub(crate) fn settings(&self, schema: Schema, file_bytes: u64) -> Result<RowStoreSettings, String> {
        let SessionMemory { shares, question_bytes, segment_rows, recorders } = self.memory;
        let recorders = |threads: usize| recorders.min(threads).max(1);
        let (texts, numbers) = (schema.own_texts(), schema.own_numbers());
        // Beside its rows a session without memory for reading apart has that, a recorder, and the
        // numbers of a question.
        let apart = |threads: usize| match self.reading_bytes {
            Some(_) => 0,
            None => self.reading_bytes() + RECORDER_BYTES + threads as u64 * TABLE_NUMBERS_BYTES,
        };
        // There is room for recorders of logs, and in the shares for the other parts of the threads
        // of a question.
        let beside = |rows: usize, threads: usize| {
            let more = table_recorder_bytes(rows, texts, numbers).saturating_sub(RECORDER_BYTES);
            let columns_bytes = threads as u64 * table_columns_bytes(texts, numbers);
            apart(threads) + recorders(threads) as u64 * more + columns_bytes
        };
        let needed = |rows: usize, threads: usize| {
            beside(rows, threads) + STORE_BYTES_MIN.max(4 * table_segment_bytes(rows, texts, numbers))
        };
        let share_bytes = shares.tables_bytes;
        let rows_max = segment_rows.min(table_segment_rows(share_bytes, texts, numbers));
        let fitting = (1..=shares.threads).rev().find_map(|threads| {
            let sizes = std::iter::successors(Some(rows_max), |rows| Some(rows / 2)).take_while(|rows| *rows >= SEGMENT_ROWS_MIN);
            sizes.map(|rows| (rows, threads)).find(|(rows, threads)| needed(*rows, *threads) <= share_bytes)
        });
        let Some((segment_rows, threads)) = fitting else {
            // Of what is added a part goes to the reading of tables, and other parts to questions
            // and exports; and it may suffice for one more recorder.
            let lacking_bytes = needed(SEGMENT_ROWS_MIN, 1).saturating_sub(share_bytes);
            let lacking = 7 * self.sessions_max as u64 * lacking_bytes.max(1) + 3 * RECORDER_BYTES;
            return Err(format!(
                "{} columns take more than the {} that a session has: start the server with {} more memory, or with fewer sessions",
                texts + numbers,
                format_size(share_bytes),
                format_size(lacking.next_multiple_of(1 << 20))
            ));
        };
        let spill = self.spill.as_ref().map(|(folder, bytes)| (folder.clone(), bytes.saturating_sub(file_bytes)));
        Ok(RowStoreSettings {
            segment_rows,
            schema: Arc::new(schema),
            spill,
            recorders: recorders(threads),
            ..RowStoreSettings::new(share_bytes - beside(segment_rows, threads), question_bytes, threads)
        })
    }

    /// An empty store of those settings.
    ///
    /// # Errors
    /// A sentence where there can be no file.
    pub(crate) fn store(&self, settings: RowStoreSettings) -> Result<Arc<RowStore>, String> {
        let folder = || self.spill.as_ref().map_or_else(String::new, |(folder, _)| folder.display().to_string());
        RowStore::new(settings).map_err(|cause| no_file(TEMP_DIR, &folder(), &cause))
    }
}

/// Sentence about a file for rows that there can't be.
pub(crate) fn no_file(setting: Setting, folder: &str, cause: &io::Error) -> String {
    format!("{folder}: there can be no file for rows ({setting}): {}", reason(cause))
}

impl SpooledTable {
    fn new(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        // Each opening has an offset of its own.
        let path = PathBuf::from(format!("/dev/fd/{}", file.as_raw_fd()));
        Ok(Self { file, bytes: 0, bytes_max, path })
    }

    /// Adds the next bytes.
    ///
    /// # Errors
    /// A sentence for their sender.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.bytes_max {
            return Err(format!(
                "a table is in a temporary file until it is read, and a session's files have at most {} here \
                 ({TEMP_MAX}, divided by {SESSIONS}): send it compressed",
                format_size(self.bytes_max)
            ));
        }
        self.file.write_all(bytes).map_err(|cause| {
            let reason = reason(&cause);
            format!("cannot write the temporary file in which a table is until it is read ({TEMP_DIR}): {reason}")
        })
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Name under which the file can be opened while this is there.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
