//! Rows as the verbs get and print them.

mod printer;
pub(crate) mod recorded;
pub(crate) mod records;

use crate::args::{Common, ShownArgs};
use crate::exit::ExitStatus;
use crate::watchdog::MemoryWatchdog;
use crate::{fitting, interrupt, message};
pub(crate) use printer::BatchPrinter;
use rorqual_columnar::read::{ReadBatches, TableFile};
use rorqual_pipe::limits::PROGRAM_BYTES;
use rorqual_pipe::{Budget, Control, Error, stats};
use serde_json::json;
use std::io;
use std::time::Instant;

/// Prints the rows that `choose` reads of a table, and returns their number. A stop of `control`
/// ends it with those read by then.
pub(crate) fn print(
    common: &Common,
    args: &ShownArgs,
    table: &TableFile,
    control: &Control,
    choose: impl FnOnce(Option<&[String]>) -> Result<ReadBatches, Error>,
) -> Result<u64, ExitStatus> {
    let start = Instant::now();
    let columns = args.columns.as_deref();
    let memory_bytes = common.process.memory_bytes();
    fits(table, memory_bytes)?;
    let _guard = MemoryWatchdog::reading(table.name(), memory_bytes);
    let batches = choose(columns).map_err(|error| message::error(&error))?;
    let mut printer = BatchPrinter::new(args, control).map_err(|error| message::print_error(&error))?;
    let (mut rows, mut failed) = (0, None);
    for batch in batches {
        let batch = match batch {
            _ if control.stopped() => break,
            Ok(batch) => batch,
            Err(error) => {
                failed = Some(error);
                break;
            }
        };
        rows += batch.num_rows() as u64;
        printer.batch(&batch).map_err(|error| message::print_error(&error))?;
    }
    // Rows read before an error are printed, and then that.
    printer.finish().map_err(|error| message::print_error(&error))?;
    if control.stopped() {
        return Err(interrupt::exit_of(control, ExitStatus::Done));
    }
    if let Some(error) = failed {
        return Err(message::error(&error));
    }
    if common.process.stats {
        print_stats(start, memory_bytes, rows, table);
    }
    Ok(rows)
}

/// Refuses a file if its footer, pages and rows do not fit the memory.
fn fits(table: &TableFile, memory_bytes: u64) -> Result<(), ExitStatus> {
    let sum = |bytes| {
        let mut budget = Budget::new(memory_bytes);
        budget.reserve("program", PROGRAM_BYTES);
        budget.reserve("footer of the file", table.footer_bytes());
        budget.reserve(
            "pages and rows that are read (an 8th of --memory each)",
            TableFile::reading_bytes(bytes, table.large_page_bytes()),
        );
        budget
    };
    fitting::least(memory_bytes, sum).check().map_err(|error| message::error(&error))
}

fn print_stats(start: Instant, memory_max_bytes: u64, rows: u64, table: &TableFile) {
    let object = json!({
        "stored_bytes": table.bytes_read(),
        "file_bytes": table.file_bytes(),
        "rows": rows,
        "seconds": start.elapsed().as_secs_f64(),
        "memory_max_bytes": memory_max_bytes,
        "peak_bytes": stats::peak_bytes(),
    });
    message::line(&object);
}

/// An error of rows that have no text.
fn unprintable(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
