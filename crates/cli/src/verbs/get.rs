//! `rorqual get`

use crate::args::{Common, GetArgs};
use crate::exit::Exit;
use crate::verbs::head::open;
use crate::{message, rows};

pub(crate) fn run(common: &Common, args: &GetArgs) -> Exit {
    let Some((column, value)) = args.condition.split_once('=') else {
        return message::error(&format!("'{}' is no COLUMN=VALUE", args.condition));
    };
    let table = match open(&args.file) {
        Ok(table) => table,
        Err(exit) => return exit,
    };
    let printed = rows::print(common, &args.shown, &table, |columns| table.find(column, value, columns));
    printed.map_or_else(|exit| exit, |rows| if rows > 0 { Exit::Done } else { Exit::Not })
}
