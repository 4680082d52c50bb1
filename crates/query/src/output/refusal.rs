//! Outputs that no query may cost its own input.

use crate::args::Args;
use crate::output::output;
use crate::tables::TableOptions;
use datafusion::common::{Result, plan_err};
use rorqual_pipe::whole_file::{OutputPath, folder_of};
use std::path::{Path, PathBuf};

/// Refuses an output that would cost a file that the query reads, its own text among them: the
/// query's output, and that of a program that reads its rows. `force` says that the query's own
/// output may be replaced whatever the flags say.
///
/// # Errors
/// A sentence for people.
pub(crate) fn refuse_loss(args: &Args, known: &TableOptions, force: bool) -> Result<()> {
    let text = args.sql.is_none().then(|| args.file.as_deref().unwrap_or(Path::new("-")));
    let refuse = |output: &OutputPath<'_>| {
        let inputs = known.inputs();
        output.check(inputs.values().map(PathBuf::as_path).chain(text)).or_else(|said| plan_err!("{}", said))
    };
    if let Some(output) = output(args) {
        refuse(&OutputPath { force: output.force || force, ..output })?;
    }
    // The caller itself refuses files that are there already.
    caller_outputs(args).iter().try_for_each(|path| refuse(&OutputPath { flag: "-o", path, force: true }))
}

/// The files that the reader of the rows may replace.
fn caller_outputs(args: &Args) -> Vec<PathBuf> {
    let Some(path) = &args.caller_output else { return Vec::new() };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // All numbers in a name are the same.
    let around = args.caller_splits.then(|| name.split_once("{}")).flatten();
    let Some((before, after)) = around else { return vec![path.clone()] };
    let is_numbered = |name: &str| {
        let rest = name.strip_prefix(before).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        (0..=digits).any(|end| end > 0 && rest[end..] == after.replace("{}", &rest[..end]))
    };
    let entries = std::fs::read_dir(folder_of(path)).into_iter().flatten().flatten();
    entries.filter(|entry| is_numbered(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}
