//! `rorqual head`

use crate::args::{Common, HeadArgs};
use crate::exit::Exit;
use crate::rows::records::{Opened, open, print_head};
use crate::{message, rows};
use rorqual_columnar::read::Rows;

pub(crate) fn run(common: &Common, args: &HeadArgs) -> Exit {
    let printed = match open(common, &args.from, &args.shown, &args.file) {
        Ok(Opened::Table(table)) => {
            let printed = rows::print(common, &args.shown, &table, |columns| table.batches(columns, &Rows::Range(0..args.rows)));
            return printed.map_or_else(|exit| exit, |_| Exit::Done);
        }
        Ok(Opened::Records(_)) if args.rows == 0 => Ok(Exit::Done),
        Ok(Opened::Records(mut records)) => print_head(common, &args.shown, &mut records, args.rows),
        Err(error) => Err(error),
    };
    printed.unwrap_or_else(|error| message::error(&error))
}
