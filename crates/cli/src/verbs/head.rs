//! `rorqual head`

use crate::args::{Common, HeadArgs};
use crate::exit::Exit;
use crate::{message, rows};
use rorqual_pipe::Error;
use rorqual_rows::read::{Rows, Table};
use std::fs::File;
use std::path::Path;

pub(crate) fn run(common: &Common, args: &HeadArgs) -> Exit {
    let table = match open(&args.file) {
        Ok(table) => table,
        Err(exit) => return exit,
    };
    let printed = rows::print(common, &args.shown, &table, |columns| table.batches(columns, &Rows::Range(0..args.rows)));
    printed.map_or_else(|exit| exit, |_| Exit::Done)
}

/// Opens a file of columns, or says why not.
pub(crate) fn open(path: &Path) -> Result<Table, Exit> {
    let name = path.display().to_string();
    if name == "-" {
        return Err(message::error(&"-: rows are read from a file of columns at any place, which standard input has not"));
    }
    let file = File::open(path).map_err(|error| message::error(&Error::io(name.clone(), "cannot open", error)))?;
    let table = Table::open(file, &name).map_err(|error| message::error(&error))?;
    table.ok_or_else(|| message::error(&format!("{name}: neither a Parquet nor an Arrow file")))
}
