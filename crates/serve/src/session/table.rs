//! A session whose rows are those of a table: a file of the server, or an upload that was spooled
//! to a temporary file.

use super::phase::{Failure, Phase};
use super::runs::{FailOnUnwind, UploadRun};
use super::{Session, lock};
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::RowStore;
use rorqual_pipe::Control;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Recognises tables, of whose formats the server knows none, and opens them.
pub trait TableOpener: Send + Sync {
    /// The format of a table with that file name that begins with these bytes, for people; `None`
    /// where they begin none, or an access log.
    fn format(&self, name: &str, head: &[u8]) -> Option<String>;

    /// Refuses to read a table in so little memory.
    ///
    /// # Errors
    /// A sentence that says how much is needed.
    fn check(&self, memory_bytes: u64) -> Result<(), String>;

    /// The table in the file at `path`, which is called `name`; `None` where it is none.
    fn open(&self, name: &str, path: &Path) -> Option<Box<dyn TableSource>>;
}

/// A file of rows that is no access log.
pub trait TableSource: Send {
    /// Name of its format, for people.
    fn format(&self) -> String;

    /// A reader of the same file, at its start.
    fn reopened(&self) -> Box<dyn TableSource>;

    /// Its columns: of the start of the file at first, and of all of it after
    /// [`TableEnd::MoreColumns`]. From here on it is read in so many bytes of memory.
    ///
    /// # Errors
    /// A sentence with the name of the file.
    fn columns(&mut self, memory_bytes: u64, control: &Control) -> Result<Schema, String>;

    /// Gives all its rows to a store that has these columns.
    ///
    /// # Errors
    /// A sentence with the name of the file; the rows before it stay.
    fn record(&mut self, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String>;
}

/// End of the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableEnd {
    /// All were given, or it was stopped.
    Whole,
    /// A row has a value that none of the columns is for: they are to be told anew.
    MoreColumns,
}

impl Session {
    /// Reads a table of the server to its end. Blocks, for as long as another is read too.
    pub(crate) fn run_table(self: &Arc<Self>, table: Box<dyn TableSource>) {
        {
            let mut inner = self.lock();
            self.change(&mut inner, |phase| (phase.read(false), ()));
            if !matches!(inner.phase, Phase::Reading { .. }) {
                return;
            }
        }
        let guard = FailOnUnwind(self);
        let turn = self.shared.tables.turn_blocking();
        let failure = self.read_table(table, 0);
        // A checkpoint is written in the turn of a question, which comes before this one.
        drop(turn);
        if let Some(cached) = self.cached().filter(|_| failure.is_none() && !self.control.stopped()) {
            self.keep_table(cached);
        }
        self.end_table(failure);
        std::mem::forget(guard);
    }

    /// Reads a table that was uploaded, when no other is read any more.
    pub(crate) async fn run_uploaded_table(self: &Arc<Self>) {
        let turn = self.shared.tables.turn().await;
        let session = Arc::clone(self);
        let read = move || {
            let _turn = turn;
            session.read_uploaded_table();
        };
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(read).await;
    }

    fn read_uploaded_table(self: &Arc<Self>) {
        // To its end: who stopped it waits for that.
        let mut reading = lock(&self.reading);
        if self.is_over() {
            return;
        }
        let guard = FailOnUnwind(self);
        if let Some(UploadRun::Table { spooled, .. }) = reading.take() {
            self.lock().dedicated = false;
            match self.shared.tables.open(self.name(), spooled.path()) {
                Some(table) => {
                    let failure = self.read_table(table, spooled.bytes());
                    self.end_table(failure);
                }
                None => {
                    let message = format!("{}: it begins as a table does, and as a whole it is none", self.name());
                    let source = self.source_so_far(Some(message.clone()));
                    self.end(Some(Failure::BadInput { message }), vec![source]);
                }
            }
        }
        std::mem::forget(guard);
    }

    /// Reads a table to its end, beside so many bytes of its session in files; the failure that
    /// ended it early.
    fn read_table(&self, mut table: Box<dyn TableSource>, file_bytes: u64) -> Option<String> {
        self.lock().table = Some(table.format());
        self.record_table(&mut *table, file_bytes).err().filter(|_| !self.control.stopped())
    }

    fn end_table(self: &Arc<Self>, failure: Option<String>) {
        self.end(failure.clone().map(|message| Failure::BadInput { message }), vec![self.source_so_far(failure)]);
    }

    /// Counts the bytes of the file from here on.
    fn look_anew(&self) {
        self.looked[0].store(self.control.stored_bytes(), Ordering::Relaxed);
        self.looked[1].store(self.control.decoded_bytes(), Ordering::Relaxed);
    }

    fn record_table(&self, table: &mut dyn TableSource, file_bytes: u64) -> Result<(), String> {
        let tables = &self.shared.tables;
        loop {
            // Where all of it is looked at, progress begins anew with that, and with its rows.
            self.look_anew();
            let schema = table.columns(tables.reading_bytes(), &self.control)?;
            self.look_anew();
            let settings = tables.settings(schema, file_bytes)?;
            let make = || match self.cached() {
                Some(_) => self.stores.made(settings).map_err(|error| error.message().to_owned()),
                None => tables.store(settings),
            };
            let Some(store) = self.rows.replace(make).transpose()? else { return Ok(()) };
            self.lock().schema = store.schema();
            if table.record(&store, &self.control)? == TableEnd::Whole {
                return Ok(());
            }
        }
    }
}
