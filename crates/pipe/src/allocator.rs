//! Settings of the C library's allocator, for programs whose threads come and go: it keeps what each of them gave back, up to tens of mebibytes,
//! in no sum.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Sees to it that the program runs with these settings: names of the environment, as `mallopt(3)` has them, and values. The allocator reads them when a program
/// starts, so one that lacks some starts itself again with them. Those that somebody has set stay as they are.
///
/// # Errors
/// When the program can't be found or started again; for people.
pub fn settle(settings: &[(&str, &str)]) -> Result<(), String> {
    let unset = settings.iter().filter(|(name, _)| std::env::var_os(name).is_none()).copied();
    if unset.clone().next().is_none() {
        return Ok(());
    }
    let itself = std::env::current_exe().map_err(|cause| format!("cannot find this program: {cause}"))?;
    let cause = Command::new(itself).args(std::env::args_os().skip(1)).envs(unset).exec();
    Err(format!("cannot start this program again: {cause}"))
}
