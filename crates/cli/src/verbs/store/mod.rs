//! `rorqual store`

pub(crate) mod context;
mod copy;
mod lease;
mod list;
mod maintenance;
mod put;

use crate::args::{Addressing, Common, StoreArgs, StoreCommand};
use crate::exit::ExitStatus;
use crate::interrupt::{self, stop_on_interrupt};
use crate::message;
use context::StoreContext;
use rorqual_digest::Algorithm;
use rorqual_pipe::{Error, ErrorClass};
use rorqual_store::Store;
use serde_json::json;

pub(crate) fn run(common: &Common, args: &StoreArgs) -> ExitStatus {
    let session = match StoreContext::new(common, args) {
        Ok(session) => session,
        Err(refusal) => return message::error(&refusal),
    };
    stop_on_interrupt(&session.control);
    let exit = match dispatch(&session, &args.command) {
        Ok(exit) => exit,
        Err(error) => failed(&session, &error),
    };
    if common.process.stats {
        crate::stats::print(session.start, session.memory_bytes, session.threads, &session.control, &session.pool);
    }
    exit
}

fn dispatch(session: &StoreContext, command: &StoreCommand) -> Result<ExitStatus, Error> {
    match command {
        StoreCommand::Init { algorithm, max_size } => init(session, *algorithm, *max_size),
        StoreCommand::Put { file, name, lease } => put::put(session, file, name.as_deref(), lease),
        StoreCommand::Get { key, output, force, verify, lease } => {
            let (output, force, verify) = (output.as_deref(), *force, *verify);
            copy::get(session, &copy::EntryQuery { key, output, force, verify, lease })
        }
        StoreCommand::Path { key, lease } => copy::path(session, key, lease),
        StoreCommand::Ls => list::entries(session),
        StoreCommand::Rm { keys, force } => maintenance::remove(session, keys, *force),
        StoreCommand::Gc { rebuild, max_size } => maintenance::gc(session, *rebuild, *max_size),
        StoreCommand::Verify { repair } => maintenance::verify(session, *repair),
        StoreCommand::Stat { key: None } => list::usage(session),
        StoreCommand::Stat { key: Some(key) } => list::entry(session, key),
        StoreCommand::Lease { command } => lease::lease(session, command),
    }
}

/// Exit status after an error. Ctrl-C and a closed output are not reported as errors.
fn failed(session: &StoreContext, error: &Error) -> ExitStatus {
    match error.kind() {
        ErrorClass::Stopped if session.control.stopped() => {
            message::note(error);
            ExitStatus::Interrupted
        }
        ErrorClass::Stopped => interrupt::exit_of_closed(),
        _ => message::error(error),
    }
}

fn init(session: &StoreContext, algorithm: Option<Addressing>, max_size: Option<u64>) -> Result<ExitStatus, Error> {
    let algorithm = algorithm.map(|algorithm| match algorithm {
        Addressing::Sha256 => Algorithm::Sha256,
        Addressing::Blake3 => Algorithm::Blake3,
    });
    let usage = Store::init(&session.settings, algorithm, max_size)?.usage()?;
    let dir = session.settings.dir.display().to_string();
    let object = json!({
        "schema": "rorqual.store.init/1", "dir": dir, "algorithm": usage.algorithm.name(), "bytes_max": usage.bytes_max,
    });
    session.say(&object, || dir.clone())?;
    Ok(ExitStatus::Done)
}
