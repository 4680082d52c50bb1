//! Objects of stores as inputs. `rorqual-query` has the clients of stores, so that this program
//! needs none; it reads the objects, and this program its output, as with SQL.

use crate::verbs::query::{SiblingOutput, program, query_not_started};
use rorqual_pipe::{Error, ErrorClass, Input, escaped_path};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Beginnings of addresses that are read as objects.
const SCHEMES: [&str; 5] = ["s3://", "gs://", "az://", "http://", "https://"];

/// True if an input is named by its address, and is no file.
pub(crate) fn is_address(path: &Path) -> bool {
    SCHEMES.iter().any(|scheme| path.as_os_str().as_bytes().starts_with(scheme.as_bytes()))
}

/// Opens an object as a stream of its stored bytes; where it can't be read, reading fails.
///
/// # Errors
/// When the program that reads it does not start.
pub(crate) fn open(address: &Path) -> Result<Input, Error> {
    let name = address.to_string_lossy().into_owned();
    let mut command = Command::new(program());
    command.arg("--copy-object").arg(address).stderr(Stdio::piped());
    // Ctrl-C reaches this program alone, which ends the other: or a run that is stopped would tell
    // of an object that could not be read.
    command.process_group(0);
    match SiblingOutput::start(&mut command, &name) {
        Ok(output) => Ok(Input::from_reader(name, Box::new(output))),
        Err(cause) => Err(Error::new(ErrorClass::Io, name, query_not_started(&cause))),
    }
}

/// The inputs with the objects that an address with a wildcard, or one that ends in `/`, stands for
/// in its place.
///
/// # Errors
/// When there are none, or the store does not tell them.
pub(crate) fn expand(inputs: Vec<PathBuf>) -> Result<Vec<PathBuf>, String> {
    let mut expanded = Vec::with_capacity(inputs.len());
    for input in inputs {
        if is_address(&input) && stands_for_many(&input) { expanded.extend(list(&input)?) } else { expanded.push(input) }
    }
    Ok(expanded)
}

fn stands_for_many(address: &Path) -> bool {
    let bytes = address.as_os_str().as_bytes();
    bytes.iter().any(|byte| b"*[".contains(byte)) || bytes.ends_with(b"/")
}

fn list(address: &Path) -> Result<Vec<PathBuf>, String> {
    let ran = Command::new(program()).arg("--list-objects").arg(address).stdin(Stdio::null()).output();
    let ran = ran.map_err(|cause| query_not_started(&cause))?;
    if !ran.status.success() {
        return Err(SiblingOutput::said(&ran.stderr).unwrap_or_else(|| format!("{}: cannot be listed", escaped_path(address))));
    }
    let names = ran.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| OsString::from_vec(name.to_vec()).into()).collect())
}
