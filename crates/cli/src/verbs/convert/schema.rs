//! `rorqual schema`, and the files it makes.

use super::{InputContent, KnownInput, given, said_schema, scan};
use crate::args::{Common, SchemaArgs};
use crate::exit::ExitStatus;
use crate::progress::Progress;
use crate::{input, interrupt, message};
use arrow_schema::SchemaRef;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::{Shape, format_schema, parse_schema};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{escaped_path, reason};
use std::io::Write;
use std::path::Path;

/// Largest file of `--schema`.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Reads a file that `rorqual schema` printed.
pub(super) fn read(path: &Path) -> Result<SchemaRef, String> {
    let (name, path) = (escaped_path(path), input::real_path(path));
    let size = std::fs::metadata(path).map_err(|error| format!("--schema {name}: {}", reason(&error)))?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("--schema {name}: has more than 16 MiB; is it a schema?"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| format!("--schema {name}: {}", reason(&error)))?;
    parse_schema(&text).map_err(|error| format!("--schema {name}: {error}"))
}

pub(crate) fn run(common: &Common, args: &SchemaArgs) -> ExitStatus {
    print(common, args).unwrap_or_else(|error| message::error(&error))
}

fn print(common: &Common, args: &SchemaArgs) -> Result<ExitStatus, String> {
    let memory_bytes = common.process.memory_bytes();
    let (threads, scan) = scan(common, &args.from, &args.files, memory_bytes, |_, _| 0)?;
    interrupt::stop_on_interrupt(&scan.control);
    let given = given(&args.from)?;
    let progress = Progress::start(common.progress, &scan.control, crate::input::stored_bytes(&args.files));
    let opened: Result<Vec<_>, _> = args
        .files
        .iter()
        .map(|path| {
            KnownInput::open(path.as_path().into(), &given, &scan, (memory_bytes, memory_bytes)).map(KnownInput::say_guesses)
        })
        .collect();
    let mut sources = match opened {
        // A head that a stop cut off tells no format, which is no fault of the input's.
        Err(_) if scan.control.stopped() => return Ok(interrupt::exit_of_nothing(&scan.control, ExitStatus::Done)),
        opened => opened?,
    };
    let mut shape = Shape::default();
    let mut exit = ExitStatus::Done;
    let said = said_schema(&sources, args.from.conflicts)?;
    for source in sources.iter_mut().filter(|_| said.is_none()) {
        let input = source.input()?;
        if let InputContent::Records(format, _) = &source.content {
            let (columns, error) = scan.infer(input, format, threads, SampleExtent::Whole);
            shape.merge(columns.shape);
            if let Some(said) = columns.bad.left_out(" of the columns") {
                exit = exit.max(message::error(&said));
            }
            exit = exit.max(error.map_or(ExitStatus::Done, |error| message::error(&error)));
        }
    }
    let schema = said.unwrap_or_else(|| shape.to_schema(false));
    drop(progress);
    let printed = OutputFd::stdout(&scan.control).and_then(|mut out| out.write_all(format_schema(&schema).as_bytes()));
    exit = interrupt::exit_of(&scan.control, exit);
    Ok(printed.map_or_else(|error| message::print_error(&error), |()| exit))
}
