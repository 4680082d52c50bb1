//! Settings of the C library's allocator, for programs whose threads come and go: it keeps the
//! freed memory of each of them, up to tens of mebibytes, in no sum.

use nix::unistd::execve;
use std::env::{args_os, current_exe, var, var_os, vars_os};
use std::ffi::{CString, NulError, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// Names of the environment, as `mallopt(3)` has them, and values.
pub type AllocatorSettings<'a> = [(&'a str, &'a str)];

/// Mark of a process that was started again: its number, which `exec` keeps. Child processes have
/// other numbers, and so ignore it. The loader drops the settings from programs with capabilities,
/// but not this variable.
const SETTLED: &str = "RORQUAL_SETTLED";

/// Sees to it that the program runs with these settings. The allocator reads them when a program
/// starts, so one that lacks some starts itself again with them, once. Those that somebody has set
/// stay as they are.
///
/// # Errors
/// When the program can't be found or started again, which costs memory and nothing else; for
/// people.
pub fn settle(settings: &AllocatorSettings<'_>) -> Result<(), String> {
    let number = std::process::id().to_string();
    let unset: Vec<_> = settings.iter().filter(|(name, _)| var_os(name).is_none()).copied().collect();
    if unset.is_empty() || var(SETTLED).is_ok_and(|settled| settled == number) {
        return Ok(());
    }
    let cannot =
        |cause: &dyn std::fmt::Display| format!("cannot start this program again with settings of the allocator: {cause}");
    start_again(&unset, &number).map_err(|cause| cannot(&cause))
}

/// Comes back only with an error, and leaves the process as it was then, which [`Command`] does
/// not: it would end by `SIGPIPE` from then on.
fn start_again(unset: &AllocatorSettings<'_>, number: &str) -> Result<(), std::io::Error> {
    let itself = c_text(current_exe()?.as_os_str())?;
    let args = args_os().map(|arg| c_text(&arg)).collect::<Result<Vec<_>, _>>()?;
    let set = unset.iter().copied().chain([(SETTLED, number)]).map(|(name, value)| (name.into(), value.into()));
    let kept = vars_os().filter(|(name, _)| name != SETTLED);
    let environment = kept.chain(set).map(|(name, value): (OsString, OsString)| c_text(&[name, value].join(OsStr::new("="))));
    let environment = environment.collect::<Result<Vec<_>, _>>()?;
    execve(&itself, &args, &environment).map(|never| match never {}).map_err(std::io::Error::from)
}

fn c_text(text: &OsStr) -> Result<CString, NulError> {
    CString::new(text.as_bytes())
}

/// Takes the settings from a program that is started: they are this one's.
pub fn unsettle(command: &mut Command, settings: &AllocatorSettings<'_>) {
    command.env_remove(SETTLED);
    for (name, value) in settings {
        if var_os(name).is_some_and(|set| set == *value) {
            command.env_remove(name);
        }
    }
}
