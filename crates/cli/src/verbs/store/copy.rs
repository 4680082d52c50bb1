//! `rorqual store get` and `path`: an entry's bytes, and where they are.

use super::context::{StoreContext, lease_json, print_failed, terms, time};
use crate::args::LeaseArgs;
use crate::exit::ExitStatus;
use crate::message;
use crate::progress::Progress;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::whole_file::{self, OutputPath, folder_of};
use rorqual_pipe::{Error, ErrorClass, gather};
use rorqual_store::{EntryReader, Store};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// Bytes copied between two looks at Ctrl-C. The kernel copies: none of them passes through our
/// memory.
const STEP_BYTES: u64 = 4 << 20;

/// Query for an entry.
pub(super) struct EntryQuery<'a> {
    pub(super) key: &'a str,
    pub(super) output: Option<&'a Path>,
    pub(super) force: bool,
    pub(super) verify: bool,
    pub(super) lease: &'a LeaseArgs,
}

pub(super) fn get(session: &StoreContext, asked: &EntryQuery<'_>) -> Result<ExitStatus, Error> {
    let EntryQuery { key, force, verify, lease, .. } = *asked;
    let output = asked.output.filter(|path| path.as_os_str() != "-");
    if let Some(path) = output {
        let checked = OutputPath { flag: "-o", path, force }.check([]);
        if let Err(said) = checked {
            return Ok(message::error(&said));
        }
    }
    if session.json && output.is_none() {
        return Err(Error::new(ErrorClass::Limit, "--json", "the bytes go to standard output; give -o FILE"));
    }
    let store = session.open()?;
    let Some(reader) = open(session, &store, key, lease)? else { return Ok(ExitStatus::Not) };
    if verify && !sound(session, &store, &reader)? {
        message::note(&format!("{}: the bytes have another digest; nothing was written", reader.digest));
        return Ok(ExitStatus::Not);
    }
    match output {
        Some(path) => write_file(session, &reader, path)?,
        None => write_stdout(session, &reader)?,
    }
    report(session, &reader)?;
    Ok(ExitStatus::Done)
}

fn open(session: &StoreContext, store: &Store, key: &str, lease: &LeaseArgs) -> Result<Option<EntryReader>, Error> {
    let Some(digest) = session.find(store, key)? else { return Ok(None) };
    let reader = store.get(&digest, terms(lease).as_ref())?;
    if reader.is_none() {
        message::note(&format!("{key}: was evicted just now"));
    }
    Ok(reader)
}

fn sound(session: &StoreContext, store: &Store, reader: &EntryReader) -> Result<bool, Error> {
    let _progress = Progress::start(session.progress, &session.control, Some(2 * reader.bytes));
    store.verify_reader(reader, &session.pool, &session.control)
}

fn report(session: &StoreContext, reader: &EntryReader) -> Result<(), Error> {
    let lease = reader.lease.as_ref();
    if session.json {
        let object = json!({
            "schema": "rorqual.store.get/1", "digest": reader.digest.to_string(), "bytes": reader.bytes, "lease": lease.map(lease_json),
        });
        return session.say(&object, String::new);
    }
    if let Some(lease) = lease {
        message::note(&format!("lease {} until {}", lease.id, time(lease.expires_ms)));
    }
    Ok(())
}

fn write_stdout(session: &StoreContext, reader: &EntryReader) -> Result<(), Error> {
    let out = gather::OutputFd::stdout(&session.control).map_err(print_failed)?;
    // Into a file the kernel copies; a pipe is waited for, and may have no reader.
    if out.file().metadata().is_ok_and(|data| data.is_file()) {
        let mut file = out.file().try_clone().map_err(print_failed)?;
        return copy(session, reader, &mut file, print_failed);
    }
    // A block as the pool has them, of which a get takes none.
    copy(session, reader, &mut BufWriter::with_capacity(BLOCK_BYTES, out), print_failed)
}

/// Writes a file without a name, and puts it in place when it is on the disk.
fn write_file(session: &StoreContext, reader: &EntryReader, path: &Path) -> Result<(), Error> {
    let name = path.to_string_lossy();
    let failed = |cause| Error::io(&*name, "cannot write", cause);
    let (mut file, place) = whole_file::create(path, &session.control).map_err(failed)?;
    if reader.reflink(&file) {
        session.control.stored(reader.bytes);
        session.control.decoded(reader.bytes);
    } else {
        copy(session, reader, &mut file, failed)?;
    }
    if session.settings.fsync { place.put_for_good(&file) } else { place.put(&file) }.map_err(failed)?;
    let folder = folder_of(path);
    if session.settings.fsync { File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed) } else { Ok(()) }
}

fn copy(
    session: &StoreContext,
    reader: &EntryReader,
    target: &mut impl Write,
    failed: impl Fn(io::Error) -> Error,
) -> Result<(), Error> {
    let control = &session.control;
    let _progress = Progress::start(session.progress, control, Some(control.stored_bytes() + reader.bytes));
    let mut copied = 0;
    while copied < reader.bytes {
        if control.stopped() {
            return Err(Error::new(ErrorClass::Stopped, reader.digest.to_string(), "stopped before its end").at(copied));
        }
        let step = io::copy(&mut (&reader.file).take(STEP_BYTES), target).map_err(&failed)?;
        if step == 0 {
            return Err(
                Error::new(ErrorClass::Truncated, reader.digest.to_string(), "the entry's file was cut meanwhile").at(copied)
            );
        }
        copied += step;
        control.stored(step);
        control.decoded(step);
    }
    target.flush().map_err(failed)
}

pub(super) fn path(session: &StoreContext, key: &str, lease: &LeaseArgs) -> Result<ExitStatus, Error> {
    let store = session.open()?;
    // Opened, so that a path is only printed of a readable file, and this counts as a use.
    let Some(reader) = open(session, &store, key, lease)? else { return Ok(ExitStatus::Not) };
    let path = store.path(&reader.digest);
    let path = std::path::absolute(&path).map_err(|cause| Error::io(path.to_string_lossy(), "cannot tell where it is", cause))?;
    let object = json!({
        "schema": "rorqual.store.path/1",
        "digest": reader.digest.to_string(),
        "bytes": reader.bytes,
        "path": path.to_string_lossy(),
        "lease": reader.lease.as_ref().map(lease_json),
    });
    session.say(&object, || match &reader.lease {
        Some(lease) => format!("{}\t{}", path.display(), lease.id),
        None => path.display().to_string(),
    })?;
    Ok(ExitStatus::Done)
}
