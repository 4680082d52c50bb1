//! A session whose rows are those of a table, which the server reads itself.

use super::Session;
use super::phase::{Failure, Phase};
use super::runs::FailOnUnwind;
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::RowStore;
use rorqual_pipe::Control;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A file of rows that is no access log.
pub trait TableSource: Send {
    /// Name of its format, for people.
    fn format(&self) -> String;

    /// Its columns: of the start of the file at first, and of all of it after
    /// [`TableEnd::MoreColumns`].
    ///
    /// # Errors
    /// A sentence with the name of the file.
    fn columns(&mut self, control: &Control) -> Result<Schema, String>;

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
    /// Reads a table to its end, into a store that `make` makes for its columns. Blocks.
    pub(crate) fn run_table(
        self: &Arc<Self>,
        mut table: Box<dyn TableSource>,
        make: impl Fn(Schema) -> Result<Arc<RowStore>, String>,
    ) {
        {
            let mut inner = self.lock();
            self.change(&mut inner, |phase| (phase.read(false), ()));
            if !matches!(inner.phase, Phase::Reading { .. }) {
                return;
            }
            inner.table = Some(table.format());
        }
        let guard = FailOnUnwind(self);
        let failure = self.record_table(&mut *table, make).err().filter(|_| !self.control.stopped());
        self.end(failure.clone().map(|message| Failure::BadInput { message }), vec![self.source_so_far(failure)]);
        std::mem::forget(guard);
    }

    /// Counts the bytes of the file from here on.
    fn look_anew(&self) {
        self.looked[0].store(self.control.stored_bytes(), Ordering::Relaxed);
        self.looked[1].store(self.control.decoded_bytes(), Ordering::Relaxed);
    }

    fn record_table(
        &self,
        table: &mut dyn TableSource,
        make: impl Fn(Schema) -> Result<Arc<RowStore>, String>,
    ) -> Result<(), String> {
        loop {
            // Where all of it is looked at, progress begins anew with that, and with its rows.
            self.look_anew();
            let schema = table.columns(&self.control)?;
            self.look_anew();
            let Some(store) = self.rows.replace(|| make(schema)).transpose()? else { return Ok(()) };
            let schema = Arc::clone(store.schema());
            self.lock().schema = schema;
            if table.record(&store, &self.control)? == TableEnd::Whole {
                return Ok(());
            }
        }
    }
}
