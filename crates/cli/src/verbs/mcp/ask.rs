//! Questions that processes of their own answer, each within its memory, its time and its length.

use crate::args::{Common, McpArgs};
use crate::verbs::query;
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rorqual_pipe::reason;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Longest text of warnings that is passed on, in bytes.
const NOTES_BYTES_MAX: usize = 4 << 10;

/// Questions that wait for their turn at most: each holds its text.
const WAITING_MAX: usize = 16;

/// Exit code for "nothing found", as of grep.
const NOTHING_FOUND: i32 = 1;

/// Form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerForm {
    /// One JSON document, which is no use without its end.
    Document,
    /// Lines, of which the first ones are of use.
    Lines,
}

/// The program that a question is put to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerProgram {
    /// This one.
    ThisProgram,
    /// `rorqual-query`.
    Query,
}

/// Runs a program for each question, one at a time.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    itself: PathBuf,
    /// Folder that names in SQL are relative to.
    folder: PathBuf,
    flags: Vec<OsString>,
    answer_bytes_max: usize,
    time_max: Duration,
    /// One question is answered at a time.
    permits: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

impl Asker {
    pub(super) fn new(common: &Common, args: &McpArgs, folder: PathBuf) -> Self {
        Self {
            itself: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("rorqual")),
            folder,
            flags: query::flags(&common.process),
            answer_bytes_max: usize::try_from(args.answer_max).unwrap_or(usize::MAX),
            time_max: Duration::from_secs(args.timeout.into()),
            permits: Arc::new(Semaphore::new(1)),
            places: Arc::new(Semaphore::new(1 + WAITING_MAX)),
        }
    }

    /// The answer of a program to `args`, or what it says of its failure.
    pub(super) async fn ask(
        &self,
        (program, form): (AnswerProgram, AnswerForm),
        args: Vec<OsString>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let Ok(_place) = self.places.try_acquire() else {
            return failed(format!("{WAITING_MAX} questions wait already: ask again after an answer"));
        };
        let answered = async {
            let _permit = self.permits.acquire().await;
            let limit = self.time_max;
            timeout(limit, self.run((program, form), args)).await.unwrap_or_else(|_| {
                let seconds = limit.as_secs();
                failed(format!(
                    "there was no answer within {seconds} seconds (--timeout): ask for less, as with a span or a filter"
                ))
            })
        };
        // What is dropped here ends its process.
        tokio::select! {
            answer = answered => answer,
            () = context.ct.cancelled() => failed("cancelled".to_owned()),
        }
    }

    async fn run(&self, (program, form): (AnswerProgram, AnswerForm), args: Vec<OsString>) -> CallToolResult {
        let path = match program {
            AnswerProgram::ThisProgram => self.itself.clone(),
            AnswerProgram::Query => query::program(),
        };
        match self.run_program(&path, args).await {
            Ok(ran) => self.result(form, ran),
            Err(cause) if program == AnswerProgram::Query => failed(query::query_not_started(&cause)),
            Err(cause) => failed(format!("{}: {}", path.display(), reason(&cause))),
        }
    }

    async fn run_program(&self, path: &Path, args: Vec<OsString>) -> io::Result<RanProgram> {
        let mut command = Command::new(path);
        command
            .args(&self.flags)
            .args(args)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        let (Some(mut out), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let answer = async {
            let (answer, is_cut) = read_to(&mut out, self.answer_bytes_max).await?;
            // It has no reader any more, and ends.
            drop(out);
            Ok::<_, io::Error>((answer, is_cut))
        };
        let notes = async {
            let (notes, _) = read_to(&mut errors, NOTES_BYTES_MAX).await?;
            // It is not kept waiting for a reader of the rest.
            tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
            Ok(notes)
        };
        let ((answer, is_cut), notes) = tokio::try_join!(answer, notes)?;
        let status = child.wait().await?;
        Ok(RanProgram { answer, is_cut, notes, status })
    }

    fn result(&self, form: AnswerForm, ran: RanProgram) -> CallToolResult {
        let RanProgram { mut answer, is_cut, notes, status } = ran;
        let notes = String::from_utf8_lossy(&notes).trim().to_owned();
        let limit = self.answer_bytes_max;
        if is_cut && form == AnswerForm::Document {
            return failed(format!(
                "the answer is longer than {limit} bytes (--answer-max): ask for fewer values, or a span or a filter"
            ));
        }
        let has_failed = !is_cut && !status.success() && status.code() != Some(NOTHING_FOUND);
        if has_failed && answer.is_empty() {
            return failed(if notes.is_empty() { format!("it failed: {status}") } else { notes });
        }
        if is_cut {
            // Whole lines; of a single one its beginning.
            answer.truncate(memchr::memrchr(b'\n', &answer).map_or(answer.len(), |newline| newline + 1));
        }
        let is_empty = answer.is_empty();
        let mut content = vec![ContentBlock::text(String::from_utf8_lossy(&answer))];
        if is_empty {
            content = vec![ContentBlock::text("nothing was found")];
        }
        if is_cut {
            content
                .push(ContentBlock::text(format!("Cut: the answer is longer than {limit} bytes (--answer-max). Ask for less.")));
        }
        if has_failed {
            // As where one of several files can't be read. First, so that it is not overlooked.
            content.insert(0, ContentBlock::text(format!("This answer is not of all that was asked for: {notes}")));
        } else if !notes.is_empty() {
            content.push(ContentBlock::text(notes));
        }
        CallToolResult::success(content)
    }
}

/// A program that has ended.
struct RanProgram {
    answer: Vec<u8>,
    /// There was more than was read.
    is_cut: bool,
    notes: Vec<u8>,
    status: ExitStatus,
}

/// A failure of the question, which the model is to read.
pub(super) fn failed(text: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The first `bytes_max` bytes, and whether there are more.
async fn read_to(input: &mut (impl AsyncRead + Unpin), bytes_max: usize) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    input.take(bytes_max as u64 + 1).read_to_end(&mut bytes).await?;
    let is_cut = bytes.len() > bytes_max;
    bytes.truncate(bytes_max);
    Ok((bytes, is_cut))
}
