//! `rorqual get`

use crate::args::{Common, GetArgs};
use crate::exit::ExitStatus;
use crate::watchdog::MemoryWatchdog;
use crate::{message, rows};
use rorqual_columnar::read::TableFile;
use rorqual_pipe::{Control, Error, escaped_path};
use std::fs::File;
use std::path::Path;

pub(crate) fn run(common: &Common, args: &GetArgs) -> ExitStatus {
    let Some((column, value)) = args.condition.split_once('=') else {
        return message::error(&format!("'{}' is not COLUMN=VALUE", args.condition));
    };
    let table = match open(&args.file, common.process.memory_bytes()) {
        Ok(table) => table,
        Err(exit) => return exit,
    };
    // Nothing here hears Ctrl-C: it ends the process at once.
    let printed = rows::print(common, &args.shown, &table, &Control::default(), |columns| table.find(column, value, columns));
    printed.map_or_else(|exit| exit, |rows| if rows > 0 { ExitStatus::Done } else { ExitStatus::Not })
}

/// Opens a file of columns, or says why not.
fn open(path: &Path, memory_bytes: u64) -> Result<TableFile, ExitStatus> {
    let name = escaped_path(path);
    if name == "-" {
        return Err(message::error(&"-: rows are read from a file of columns at any place, which standard input has not"));
    }
    let file = File::open(path).map_err(|error| message::error(&Error::io(name.clone(), "cannot open", error)))?;
    let _guard = MemoryWatchdog::reading(&name, memory_bytes);
    let table = TableFile::open(file, &name, memory_bytes).map_err(|error| message::error(&error))?;
    let other = || {
        message::error(&format!(
            "{name}: neither a Parquet nor an Arrow file; `rorqual convert` makes one, `rorqual query` searches any"
        ))
    };
    table.ok_or_else(other)
}
