//! Compressed files that are read side by side: each is one stream, which one thread decodes.

use super::{FileEnd, ended, failed, notes_of};
use crate::{input, message};
use rorqual_accesslog::analyze::{AnalyzeError, AnalyzeSettings, Analyzer, InputLane, RunEnd};
use rorqual_accesslog::format::Detection;
use rorqual_pipe::{Control, Error, Input, each};
use std::path::{Path, PathBuf};

/// The compressed files that `files` begin with.
pub(super) fn compressed(files: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    files.iter().take_while(|path| is_compressed(path))
}

/// Number of files that could be read at a time: the most compressed ones that follow one another.
pub(super) fn inputs_max(settings: &AnalyzeSettings, files: &[PathBuf]) -> usize {
    let groups = files.chunk_by(|one, other| is_compressed(one) && is_compressed(other));
    groups.map(<[PathBuf]>::len).max().unwrap_or(1).min(settings.threads_max())
}

fn is_compressed(path: &Path) -> bool {
    // A pipe would lose what is read of it here.
    path.is_file() && Input::open(path).is_ok_and(|input| !input.is_file())
}

/// A file that was read, with the notes about it.
struct LaneEnd {
    notes: Vec<String>,
    ran: Result<Result<RunEnd, AnalyzeError>, Error>,
}

/// Runs files in lanes. Their ends are taken in the order of the files, each as soon as those
/// before it are.
pub(super) fn run<'a>(files: &'a [PathBuf], analyzer: &Analyzer, control: &Control, mut take: impl FnMut(FileEnd) + Send) {
    let begun = files.iter().take_while(|_| !control.stopped());
    let work = |lane: &mut InputLane, path: &'a PathBuf| (path, run_in_lane(lane, path, analyzer, control));
    let sink = |(path, end): (&'a PathBuf, LaneEnd)| {
        take(taken(path, end, analyzer));
        Ok(())
    };
    // Errors are those of a file, and taken with it.
    let _never = each(begun, &mut analyzer.lanes(files.len()), work, sink);
}

fn run_in_lane(lane: &InputLane, path: &Path, analyzer: &Analyzer, control: &Control) -> LaneEnd {
    let mut notes = Vec::new();
    let found = |detection: &Detection, head: &[u8]| notes = notes_of(path, detection, head, analyzer);
    let opened = input::open(path).map(Input::into_utf8);
    let ran = opened.map(|input| analyzer.run_in_lane(lane, input, control, found));
    LaneEnd { notes, ran }
}

fn taken(path: &Path, end: LaneEnd, analyzer: &Analyzer) -> FileEnd {
    end.notes.iter().for_each(|note| message::note(note));
    match end.ran {
        Ok(mut ran) => {
            ran.iter_mut().for_each(|ran| analyzer.take_in_turn(ran));
            ended(path, ran, analyzer)
        }
        Err(error) => failed(path, error.to_string()),
    }
}
