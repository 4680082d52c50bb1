//! `rorqual head`

use crate::args::{Common, HeadArgs};
use crate::exit::ExitStatus;
use crate::rows::records::{OpenedRows, open, print_head};
use crate::shared_offset::SharedOffset;
use crate::{message, rows};
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::read::RowChoice;

pub(crate) fn run(common: &Common, args: &HeadArgs) -> ExitStatus {
    let place = if args.file.as_os_str() == "-" { SharedOffset::of_stdin() } else { None };
    let (printed, end) = match open(common, &args.from, &args.shown, &args.file, (0, SampleExtent::Prefix)) {
        Ok(OpenedRows::Table(table, control)) => {
            let first = |columns: Option<&[String]>| table.batches(columns, &RowChoice::Range(0..args.rows));
            let printed = rows::print(common, &args.shown, &table, &control, first);
            return printed.map_or_else(|exit| exit, |_| ExitStatus::Done);
        }
        Ok(OpenedRows::Records(_)) if args.rows == 0 => (Ok(ExitStatus::Done), Some(0)),
        Ok(OpenedRows::Records(mut records)) => {
            if place.is_some() {
                records.watch_end();
            }
            (print_head(common, &args.shown, &mut records, args.rows), records.end())
        }
        Err(exit) => return exit,
    };
    if let Some(place) = place {
        place.leave_at(end);
    }
    printed.unwrap_or_else(|error| message::error(&error))
}
