//! A session whose rows are those of a table: a file of the server, or an upload that was spooled
//! to a temporary file.

use super::Session;
use super::cached_file::CachedFile;
use super::locks::lock;
use super::outcome::Failure;
use super::runs::FailOnUnwind;
use super::table_resources::SpooledTable;
use super::table_source::{TableEnd, TableSource};
use super::upload_run::UploadRun;
use crate::admission::PermitGuard;
use crate::saved_schema::SavedSchema;
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::RowStore;
use rorqual_pipe::limits::FOLLOW_EVERY;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Reads a table of the server to its end. Blocks, for as long as another is read too.
    pub(crate) fn run_table(self: &Arc<Self>, table: Box<dyn TableSource>) {
        if !self.begin_reading(table.followed().into_iter().collect()) {
            return;
        }
        let guard = FailOnUnwind(self);
        let failure = self.read_table(table, 0, self.shared.tables.turn_blocking());
        self.end_table(failure);
        std::mem::forget(guard);
    }

    /// Reads a table that was uploaded, when no other is read any more.
    pub(crate) async fn run_uploaded_table(self: &Arc<Self>) {
        let turn = self.shared.tables.turn().await;
        let session = Arc::clone(self);
        let read = move || session.read_uploaded_table(turn);
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(read).await;
    }

    fn read_uploaded_table(self: &Arc<Self>, turn: PermitGuard) {
        // To its end: who stopped it waits for that.
        let mut reading = lock(&self.reading);
        if self.is_over() {
            return;
        }
        let guard = FailOnUnwind(self);
        if let Some(UploadRun::Table { spooled, .. }) = reading.take() {
            self.lock().dedicated = false;
            self.read_spooled(&spooled, turn);
        }
        std::mem::forget(guard);
    }

    /// Reads a table to its end that is in a temporary file.
    pub(super) fn read_spooled(self: &Arc<Self>, spooled: &SpooledTable, turn: PermitGuard) {
        match self.shared.tables.open(self.name(), spooled.path()) {
            Some(table) => {
                let failure = self.read_table(table, spooled.bytes(), turn);
                self.end_table(failure);
            }
            None => {
                let message = format!("{}: it begins as a table does, and as a whole it is none", self.name());
                let source = self.source_so_far(Some(message.clone()));
                self.end(Some(Failure::BadInput { message }), vec![source]);
            }
        }
    }

    /// Reads a table in that turn to its end, or for as long as it is followed, beside so many
    /// bytes of its session in files; the failure that ended it early.
    fn read_table(&self, mut table: Box<dyn TableSource>, file_bytes: u64, turn: PermitGuard) -> Option<String> {
        self.lock().table = Some(table.format());
        let read = self.record_table(&mut *table, file_bytes, turn).and_then(|()| self.follow_table(&mut *table));
        read.err().filter(|_| !self.control.stopped())
    }

    fn end_table(self: &Arc<Self>, failure: Option<String>) {
        self.end(failure.clone().map(|message| Failure::BadInput { message }), vec![self.source_so_far(failure)]);
    }

    /// Counts the bytes of the file from here on.
    fn look_anew(&self) {
        self.looked[0].store(self.control.stored_bytes(), Ordering::Relaxed);
        self.looked[1].store(self.control.decoded_bytes(), Ordering::Relaxed);
    }

    fn record_table(&self, table: &mut dyn TableSource, file_bytes: u64, mut turn: PermitGuard) -> Result<(), String> {
        let mut has_columns = self.go_on_with_table(table);
        loop {
            if !has_columns && !self.begin_table(table, file_bytes)? {
                return Ok(());
            }
            let Some(store) = self.rows.store() else { return Ok(()) };
            let resumed = std::mem::take(&mut has_columns);
            match table.record(&store, &self.control) {
                Ok(TableEnd::MoreColumns) => continue,
                Ok(TableEnd::Whole) => {}
                // The columns of the cache may be those of another table.
                Err(error) if resumed && !self.control.stopped() => {
                    tracing::info!(session = self.id, error, "the rows of the cache do not go on");
                    continue;
                }
                Err(error) => return Err(error),
            }
            let is_whole = table.followed().is_none() && !self.control.stopped();
            if is_whole && self.cached().is_some_and(|cached| !cached.is_as_begun()) {
                return Err(self.changed().to_string());
            }
            let point = table.point();
            let is_kept = point.as_ref().is_some_and(|point| point.offset == self.kept_bytes());
            if let Some(cached) = self.cached().filter(|_| !is_kept && !self.control.stopped()) {
                // A checkpoint is written in the turn of a question, which comes before this one.
                drop(turn);
                self.keep_table(cached, point);
                turn = self.shared.tables.turn_blocking();
            }
            if table.record_rest(&store, &self.control)? == TableEnd::Whole {
                return Ok(());
            }
        }
    }

    /// Goes on with a table of which the cache has the first rows; false where it is to be read
    /// from its start.
    fn go_on_with_table(&self, table: &mut dyn TableSource) -> bool {
        let Some(point) = self.cached().and_then(CachedFile::point) else { return false };
        // An error of the file is met again from its start.
        let columns = table.go_on(&point, self.shared.tables.reading_bytes(), &self.control).ok().flatten();
        let is_same = |columns: Schema, store: &RowStore| SavedSchema::of(&columns) == SavedSchema::of(&store.schema());
        columns.zip(self.rows.store()).is_some_and(|(columns, store)| is_same(columns, &store))
    }

    /// Begins a table from its start, with a store for its columns; false where it is over.
    fn begin_table(&self, table: &mut dyn TableSource, file_bytes: u64) -> Result<bool, String> {
        let tables = &self.shared.tables;
        if self.kept_bytes() > 0 {
            let session = &self.id;
            tracing::info!(session, "the table that the cache has is read anew, with the columns that all of it has");
            self.cached().into_iter().for_each(CachedFile::forget_taken);
        }
        // Where all of it is looked at, progress begins anew with that, and with its rows.
        self.look_anew();
        let schema = table.columns(tables.reading_bytes(), &self.control)?;
        self.look_anew();
        let settings = tables.settings(schema, file_bytes)?;
        let make = || match self.cached() {
            Some(_) => self.stores.made(settings).map_err(|error| error.message().to_owned()),
            None => tables.store(settings),
        };
        let Some(store) = self.rows.replace(make).transpose()? else { return Ok(false) };
        self.lock().schema = store.schema();
        Ok(true)
    }

    /// Takes the lines that are appended to a table that is followed, until it is stopped.
    fn follow_table(&self, table: &mut dyn TableSource) -> Result<(), String> {
        if table.followed().is_none() {
            return Ok(());
        }
        while !self.control.stopped_within(FOLLOW_EVERY) {
            let Some(store) = self.rows.store() else { return Ok(()) };
            if table.has_appended()? {
                let _turn = self.shared.tables.turn_blocking();
                table.record_appended(&store)?;
            }
        }
        Ok(())
    }
}
