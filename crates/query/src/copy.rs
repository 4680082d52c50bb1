//! Objects for the other verbs: `rorqual` has no client of object stores, and runs this program to
//! read one, as it does for SQL.

use crate::args::Args;
use crate::exit::ExitStatus;
use crate::limits::{OBJECT_PIECE_BYTES, PIECES_AHEAD_MAX};
use crate::message;
use crate::scan::{ObjectReader, PiecesAhead};
use crate::tables::remote::{make_store, object, object_address, objects};
use datafusion::error::DataFusionError;
use datafusion::object_store::ObjectStore;
use rorqual_pipe::reason;
use std::io::{self, Read, Write};
use std::sync::Arc;
use url::Url;

/// Reason for which objects could not be copied or listed.
enum CopyFault {
    Object(String),
    Output(io::Error),
}

impl From<DataFusionError> for CopyFault {
    fn from(error: DataFusionError) -> Self {
        Self::Object(error.message().into_owned())
    }
}

/// Copies or lists objects, where the arguments say so.
pub(crate) fn run(args: &Args) -> Option<ExitStatus> {
    if args.copy_object.is_none() && args.list_objects.is_none() {
        return None;
    }
    // Two threads for the requests; their number bounds nothing.
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match built {
        Ok(runtime) => runtime,
        Err(cause) => return Some(message::error(&format!("cannot start threads: {}", reason(&cause)))),
    };
    let done = match (&args.copy_object, &args.list_objects) {
        (Some(name), _) => runtime.block_on(copy(name)),
        (_, Some(name)) => runtime.block_on(list(name)),
        _ => Ok(()),
    };
    Some(match done {
        Ok(()) => ExitStatus::Done,
        Err(CopyFault::Object(text)) => message::error(&text),
        Err(CopyFault::Output(cause)) => message::print_error(&cause),
    })
}

/// Writes the bytes of the object at an address.
async fn copy(name: &str) -> Result<(), CopyFault> {
    let (url, store) = opened(name)?;
    // A listed key may have a `*` or a `[` in it.
    let meta = object(name, &url, store.as_ref()).await?;
    let reader = ObjectReader::new(store, meta, PiecesAhead::new(PIECES_AHEAD_MAX));
    let copied = tokio::task::spawn_blocking(move || copy_all(reader)).await;
    copied.unwrap_or_else(|error| Err(CopyFault::Object(error.to_string()))).map_err(|fault| match fault {
        CopyFault::Object(text) => CopyFault::Object(format!("{name}: {text}")),
        output @ CopyFault::Output(_) => output,
    })
}

fn copy_all(mut reader: ObjectReader) -> Result<(), CopyFault> {
    let (mut buffer, mut out) = (vec![0; OBJECT_PIECE_BYTES as usize / 4], io::stdout().lock());
    loop {
        let read = reader.read(&mut buffer).map_err(|cause| CopyFault::Object(reason(&cause)))?;
        if read == 0 {
            return out.flush().map_err(CopyFault::Output);
        }
        out.write_all(&buffer[..read]).map_err(CopyFault::Output)?;
    }
}

/// Writes the addresses of objects, in the order of their names.
async fn list(name: &str) -> Result<(), CopyFault> {
    let (url, store) = opened(name)?;
    let found = objects(name, &url, store.as_ref()).await?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = found.iter().try_for_each(|meta| write!(out, "{}\0", object_address(&url, meta)));
    written.and_then(|()| out.flush()).map_err(CopyFault::Output)
}

fn opened(name: &str) -> Result<(Url, Arc<dyn ObjectStore>), CopyFault> {
    let url = Url::parse(name).map_err(|error| CopyFault::Object(format!("{name}: {error}")))?;
    let store = make_store(&url)?;
    Ok((url, store))
}
