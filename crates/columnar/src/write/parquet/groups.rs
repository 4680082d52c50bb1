//! The row group that gathers, the one that is encoded, and the file.

use super::columns::{LeafColumn, Split, columns, split};
use super::encoding::Encodings;
use super::file::ParquetFile;
use super::units::{file_schema, in_units_of};
use super::weight::ArrayWeight;
use crate::limits::{BATCH_BYTES_MAX, COLUMN_BYTES, ENCODER_BYTES, GROUP_ROWS_MAX};
use crate::write::failure::WriteFailure;
use crate::write::{WriteSettings, WriteSummary};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, IntervalUnit, SchemaRef};
use arrow_select::concat::concat;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use rorqual_pipe::{Error, ErrorClass};
use scopeguard::ScopeGuard;
use std::io::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// So many arrays of a column that are small become one, or fewer when they take much of a group:
/// an array of a few values takes more than they do.
const SMALL_ARRAYS: usize = 32;

/// Arrays below this mean size are small.
const SMALL_BYTES: usize = 4 << 10;

/// Most memory of a writer, see [`WriteSettings::bytes`].
pub(in crate::write) fn bytes(settings: &WriteSettings, schema: &SchemaRef, threads: usize) -> u64 {
    let columns = columns(schema).len();
    let groups = 2 * (settings.group_bytes_max + BATCH_BYTES_MAX);
    (groups + columns * COLUMN_BYTES + threads * ENCODER_BYTES + settings.footer_bytes_max) as u64
}

/// Writes row groups.
pub(in crate::write) struct Groups {
    name: String,
    /// The types of the file.
    schema: SchemaRef,
    group_bytes_max: usize,
    columns: Vec<LeafColumn>,
    encodings: Encodings,
    state: Mutex<GroupState>,
    /// The sealed group is written, or nothing will ever be.
    written: Condvar,
    file: Mutex<ParquetFile>,
}

#[derive(Default)]
struct GroupState {
    open: OpenGroup,
    sealed: Option<SealedGroup>,
    failed: Option<WriteFailure>,
}

/// The group that gathers.
#[derive(Default)]
struct OpenGroup {
    /// For each column, in the order of the rows.
    arrays: Vec<Vec<ArrayRef>>,
    rows: usize,
    bytes: usize,
    /// Number of the last arrays of each column that are small, and the bytes of all these.
    small: usize,
    small_bytes: usize,
}

/// The group that is encoded.
struct SealedGroup {
    /// Columns not taken yet, the largest last.
    tasks: Vec<Task>,
    /// Encoded columns.
    chunks: Vec<Option<Vec<ArrowColumnChunk>>>,
    /// Columns that are not encoded yet.
    left: usize,
}

struct Task {
    column: usize,
    arrays: Vec<ArrayRef>,
}

/// The path of a column that the library can't write, and why; it says so late, or panics.
fn without_place(field: &Field, path: &str) -> Option<(String, &'static str)> {
    let below = |field: &Field| without_place(field, &format!("{path}.{}", field.name()));
    let found = |what| Some((path.to_owned(), what));
    match field.data_type() {
        DataType::Union(..) => found("is a union"),
        DataType::Interval(IntervalUnit::MonthDayNano) => found("has intervals with nanoseconds"),
        DataType::Struct(fields) if fields.is_empty() => found("is a struct without fields"),
        DataType::Struct(fields) => fields.iter().find_map(|field| below(field)),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            without_place(item, path)
        }
        _ => None,
    }
}

impl Groups {
    pub(in crate::write) fn new(
        file: Box<dyn Write + Send>,
        name: &str,
        schema: &SchemaRef,
        settings: &WriteSettings,
    ) -> Result<Self, Error> {
        if let Some((path, what)) = schema.fields().iter().find_map(|field| without_place(field, field.name())) {
            let text = format!("Parquet has no place for the column '{path}': it {what}");
            return Err(Error::new(ErrorClass::Limit, name, text));
        }
        let schema = file_schema(schema);
        let columns = columns(&schema);
        check(name, &columns, &settings.index)?;
        let file =
            ParquetFile::new(file, &schema, settings.footer_bytes_max).map_err(|error| WriteFailure::from(error).error(name))?;
        Ok(Self {
            name: name.to_owned(),
            schema,
            group_bytes_max: settings.group_bytes_max,
            encodings: Encodings::new(settings),
            state: Mutex::default(),
            written: Condvar::new(),
            file: Mutex::new(file),
            columns,
        })
    }

    pub(in crate::write) fn split(&self, batch: RecordBatch) -> Result<Split, Error> {
        let batch = in_units_of(&self.schema, batch).map_err(|error| WriteFailure::from(error).error(&self.name))?;
        Ok(split(&self.columns, &batch))
    }

    pub(in crate::write) fn push(&self, split: Split) -> Result<(), Error> {
        let full = {
            let open = &mut self.state().open;
            open.add(split, self.group_bytes_max).map_err(|error| WriteFailure::from(error).error(&self.name))?;
            open.bytes >= self.group_bytes_max || open.rows >= GROUP_ROWS_MAX
        };
        if full { self.seal() } else { Ok(()) }
    }

    /// Makes tasks of the gathered arrays. The group before is written first.
    pub(in crate::write) fn seal(&self) -> Result<(), Error> {
        self.wait_until_written()?;
        let mut state = self.state();
        if state.open.rows > 0 {
            state.sealed = Some(std::mem::take(&mut state.open).seal());
        }
        Ok(())
    }

    pub(in crate::write) fn help(&self) -> Result<(), Error> {
        while let Some(task) = self.take() {
            // Others wait for this column: after a panic they must not wait for ever.
            let guard = scopeguard::guard(self, |groups| {
                let text = "a column could not be encoded".to_owned();
                groups.fail(WriteFailure::Format { kind: ErrorClass::Corrupt, text });
            });
            let done = self.columns[task.column].encode(task.arrays, &self.encodings);
            let done = done.map_err(WriteFailure::from).and_then(|chunks| self.put(task.column, chunks));
            ScopeGuard::into_inner(guard);
            done.map_err(|failure| self.fail(failure))?;
        }
        self.failure()
    }

    pub(in crate::write) fn finish(self) -> Result<WriteSummary, Error> {
        self.seal()?;
        self.wait_until_written()?;
        let file = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        file.finish().map_err(|error| WriteFailure::from(error).error(&self.name))
    }

    /// The largest column not taken yet.
    fn take(&self) -> Option<Task> {
        let mut state = self.state();
        if state.failed.is_some() { None } else { state.sealed.as_mut()?.tasks.pop() }
    }

    /// Puts an encoded column in its place, and writes the group when it was the last one.
    fn put(&self, column: usize, chunks: Vec<ArrowColumnChunk>) -> Result<(), WriteFailure> {
        let mut state = self.state();
        let Some(sealed) = state.sealed.as_mut() else { return Ok(()) };
        sealed.chunks[column] = Some(chunks);
        sealed.left -= 1;
        if sealed.left > 0 {
            return Ok(());
        }
        let chunks = std::mem::take(&mut sealed.chunks);
        drop(state);
        self.file.lock().unwrap_or_else(PoisonError::into_inner).append(chunks.into_iter().flatten().flatten())?;
        self.state().sealed = None;
        self.written.notify_all();
        Ok(())
    }

    /// Helps, and waits for the other helpers, until no sealed group is left.
    fn wait_until_written(&self) -> Result<(), Error> {
        self.help()?;
        let mut state = self.state();
        while state.sealed.is_some() && state.failed.is_none() {
            state = self.written.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        self.failure()
    }

    fn fail(&self, failure: WriteFailure) -> Error {
        let error = failure.error(&self.name);
        self.state().failed.get_or_insert(failure);
        self.written.notify_all();
        error
    }

    fn failure(&self) -> Result<(), Error> {
        self.state().failed.as_ref().map_or(Ok(()), |failure| Err(failure.error(&self.name)))
    }

    fn state(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenGroup {
    /// Adds rows to a group of at most `bytes_max`.
    fn add(&mut self, split: Split, bytes_max: usize) -> Result<(), arrow_schema::ArrowError> {
        if split.rows == 0 {
            return Ok(());
        }
        self.arrays.resize_with(split.arrays.len(), Vec::new);
        self.rows += split.rows;
        self.bytes += split.bytes;
        if split.bytes < SMALL_BYTES * split.arrays.len() {
            self.small += 1;
            self.small_bytes += split.bytes;
        } else {
            (self.small, self.small_bytes) = (0, 0);
        }
        self.arrays.iter_mut().zip(split.arrays).for_each(|(arrays, array)| arrays.push(array));
        let many = self.small == SMALL_ARRAYS || (self.small > 1 && self.small_bytes > bytes_max / 4);
        if many { self.join_small() } else { Ok(()) }
    }

    fn join_small(&mut self) -> Result<(), arrow_schema::ArrowError> {
        let mut joined_bytes = 0;
        for arrays in &mut self.arrays {
            let small = arrays.split_off(arrays.len() - self.small);
            let joined = concat(&small.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?;
            joined_bytes += ArrayWeight::of([&joined]);
            arrays.push(joined);
        }
        self.bytes = self.bytes - self.small_bytes + joined_bytes;
        let small = joined_bytes < SMALL_BYTES * self.arrays.len();
        (self.small, self.small_bytes) = if small { (1, joined_bytes) } else { (0, 0) };
        Ok(())
    }

    fn seal(self) -> SealedGroup {
        let columns = self.arrays.len();
        let tasks = self.arrays.into_iter().enumerate().map(|(column, arrays)| Task { column, arrays });
        let mut tasks: Vec<Task> = tasks.collect();
        tasks.sort_by_cached_key(|task| task.arrays.iter().map(|array| array.get_array_memory_size()).sum::<usize>());
        SealedGroup { tasks, chunks: (0..columns).map(|_| None).collect(), left: columns }
    }
}

/// True if there is something to write, and checks the columns to be indexed.
fn check(name: &str, columns: &[LeafColumn], index: &[String]) -> Result<(), Error> {
    if columns.is_empty() {
        return Err(Error::new(ErrorClass::Corrupt, name, "there are no columns, and Parquet has no rows without them"));
    }
    for wanted in index {
        if !columns.iter().any(|column| column.path == *wanted) {
            return Err(Error::new(ErrorClass::Corrupt, name, no_column(wanted, columns)));
        }
    }
    Ok(())
}

fn no_column(wanted: &str, columns: &[LeafColumn]) -> String {
    let near = crate::suggest::nearest(wanted, columns.iter().map(|column| column.path.as_str()));
    format!("there is no column '{wanted}' to index; its columns include: {}", near.join(", "))
}
