//! `rorqual render`

mod data;
mod output;
mod query;
mod rows;
mod shards;

use crate::args::{Common, RenderArgs, SplitBy};
use crate::exit::ExitStatus;
use crate::message;
use crate::progress::Progress;
use crate::watchdog::MemoryWatchdog;
use crate::{fitting, interrupt};
pub(crate) use data::{context, file_parsed_bytes};
use output::{RenderOutput, RenderSummary, RenderedFile};
use rorqual_pipe::limits::{BLOCK_BYTES, PROGRAM_BYTES, THREAD_BYTES};
use rorqual_pipe::{Budget, BufferPool, Control, escaped_path, format_size, stats};
use rorqual_render::limits::{PARSED_BYTES_PER_BYTE, RENDERED_BYTES_MAX, TEMPLATES_BYTES_MAX, TEXT_BYTES_MAX};
use rorqual_render::{PageInput, RenderError, RenderedBy, Source, Templates, value_of};
pub(crate) use rows::RowSource;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// The sink's buffer.
const SINK_BUFFERS: usize = 1;

pub(crate) fn run(common: &Common, args: &RenderArgs) -> ExitStatus {
    let start = Instant::now();
    let job = match RenderJob::new(common, args) {
        Ok(job) => job,
        Err(error) => return message::error(&error),
    };
    interrupt::stop_on_interrupt(&job.page.control);
    let _guard = guard(job.memory_bytes);
    let progress = Progress::start(common.progress, &job.page.control, rows::stored_bytes(&args.rows));
    let mut total = Total::default();
    let result = job.all(args, &mut total);
    drop(progress);
    let exit = job.exit(result);
    if common.process.stats {
        job.print_stats(start, &total);
    }
    exit
}

/// Watchdog for values that no limit knows: `x|replace('a', x)`.
fn guard(memory_bytes: u64) -> MemoryWatchdog {
    let memory = format_size(memory_bytes);
    let why = "stopped before it took more. It builds a value that large: a list, a text, an included block. Give more --memory";
    MemoryWatchdog::start(memory_bytes, move || format!("the template needs more than --memory {memory}: {why}"))
}

/// The meaning of the arguments.
struct RenderJob {
    templates: Templates,
    name: String,
    page: PageInput,
    rows: Option<Arc<RowSource>>,
    output: RenderOutput,
    pool: BufferPool,
    memory_bytes: u64,
    threads: usize,
}

/// Totals of the output.
#[derive(Default)]
struct Total {
    written: RenderSummary,
    way: Option<RenderedBy>,
}

impl RenderJob {
    fn new(common: &Common, args: &RenderArgs) -> Result<Self, String> {
        let memory_bytes = common.process.memory_bytes();
        let with_rows = args.rows.rows.is_some() || args.rows.sql.is_some();
        if [&args.data, &args.rows.rows].into_iter().all(|path| path.as_ref().is_some_and(|path| path.as_os_str() == "-")) {
            return Err("--data and --rows are both standard input, which is read once".to_owned());
        }
        if !with_rows {
            fitting::threads(&common.process, |_| terms(memory_bytes, 0)).map_err(|error| error.to_string())?;
        }
        let output = RenderOutput::new(args)?;
        let (templates, name) = templates(args)?;
        let context = value_of(data::context(args.data.as_deref(), &args.define, memory_bytes)?);
        let rows = || RowSource::open_for(common, &args.rows, Some(&output), memory_bytes, own_bytes).map(Arc::new);
        let rows = with_rows.then(rows).transpose()?;
        let control = rows.as_ref().map_or_else(|| Control::with_rate_limit(common.limit_rate), |rows| rows.control());
        let threads = rows.as_ref().map_or(1, |rows| rows.threads());
        let source = rows.clone().map(|rows| rows as Arc<dyn Source>);
        let page = PageInput { context, rows: source, control };
        Ok(Self { templates, name, page, rows, output, pool: BufferPool::new(BLOCK_BYTES, SINK_BUFFERS), memory_bytes, threads })
    }

    fn all(&self, args: &RenderArgs, total: &mut Total) -> Result<(), RenderFailure> {
        match (args.split, &self.page.rows) {
            (Some(split), Some(rows)) => shards::all(self, split, rows, args.json, total),
            (Some(SplitBy::Rows(_) | SplitBy::Bytes(_)), None) => {
                Err(RenderFailure::Said("--split needs --rows or --sql".to_owned()))
            }
            (None, _) => self.one(args.json, total),
        }
    }

    /// One output.
    fn one(&self, json: bool, total: &mut Total) -> Result<(), RenderFailure> {
        let mut file = self.output.create(None, &self.page.control, &self.pool)?;
        match self.templates.render(&self.name, &self.page, &mut file.gather) {
            Ok(way) => total.way = Some(way),
            Err(error) => {
                if self.output.is_stream() {
                    // The text before an error is for the reader of a pipe, as far as that can be
                    // written.
                    total.written.add(&file.finish(false).unwrap_or_default());
                }
                return Err(error.into());
            }
        }
        total.written.add(&self.finish(file)?);
        if json {
            println!("{}", self.output.described(None, &total.written, None));
        }
        Ok(())
    }

    /// Puts a file where it belongs; a template that was read is an input, too.
    fn finish(&self, file: RenderedFile) -> Result<RenderSummary, RenderFailure> {
        self.output.refuse_templates(&file, &self.templates.files())?;
        file.finish(true)
    }

    fn exit(&self, result: Result<(), RenderFailure>) -> ExitStatus {
        let bad = self.rows.as_ref().map_or(ExitStatus::Done, |rows| rows.say_bad());
        match result {
            Ok(()) => interrupt::exit_of(&self.page.control, bad),
            Err(_) if self.page.control.stopped() => {
                let exit_of = if self.output.is_stream() { interrupt::exit_of } else { interrupt::exit_of_nothing };
                exit_of(&self.page.control, ExitStatus::Interrupted)
            }
            Err(RenderFailure::Said(said)) => message::error(&said),
            // The reader had enough.
            Err(RenderFailure::Render(error)) if error.is_stop() => ExitStatus::Done,
            Err(RenderFailure::Render(error)) => message::error(&error),
        }
    }

    fn print_stats(&self, start: Instant, total: &Total) {
        let seconds = start.elapsed().as_secs_f64();
        let written = &total.written;
        let object = json!({
            "stored_bytes": self.page.control.stored_bytes(),
            "rows": self.rows.as_ref().map_or(0, |rows| rows.given()),
            "files": written.files,
            "bytes": written.bytes,
            "pieces": written.gather.pieces,
            "copied_bytes": written.gather.copied_bytes,
            "referenced_bytes": written.gather.shared_bytes,
            "writes": written.gather.writes,
            "engine": total.way.map(|way| match way { RenderedBy::Emitter => "emitter", RenderedBy::MiniJinja => "minijinja" }),
            "seconds": seconds,
            "bytes_per_second": written.bytes as f64 / seconds.max(1e-9),
            "threads": self.threads,
            "memory_max_bytes": self.memory_bytes,
            "peak_bytes": stats::peak_bytes(),
        });
        message::line(&object);
    }
}

/// Reason for which it ended.
enum RenderFailure {
    Render(RenderError),
    Said(String),
}

impl From<RenderError> for RenderFailure {
    fn from(error: RenderError) -> Self {
        Self::Render(error)
    }
}

impl From<String> for RenderFailure {
    fn from(said: String) -> Self {
        Self::Said(said)
    }
}

/// The template and those beside it.
fn templates(args: &RenderArgs) -> Result<(Templates, String), String> {
    let path = &args.template;
    let name = path.file_name().ok_or_else(|| format!("{}: is not a file", escaped_path(path)))?.to_string_lossy().into_owned();
    let folder = rorqual_pipe::whole_file::folder_of(path);
    let failed = |error: RenderError| error.to_string();
    let mut templates = Templates::in_folder(folder, args.lenient).map_err(failed)?;
    if Path::new(path).is_dir() {
        return Err(format!("{}: is a folder", escaped_path(path)));
    }
    templates.add_file(&name, path).map_err(failed)?;
    Ok((templates, name))
}

/// Sum of the memory without rows.
fn terms(memory_bytes: u64, threads: usize) -> Budget {
    let mut budget = Budget::new(memory_bytes);
    budget.reserve("program", PROGRAM_BYTES);
    budget.reserve("the guard's thread", THREAD_BYTES);
    budget.reserve(
        format!("templates, of {} of text, what they are parsed to, and variables", format_size(TEMPLATES_BYTES_MAX as u64)),
        own_bytes(memory_bytes, threads),
    );
    budget
}

/// Bytes that workers have rendered and nobody has written.
pub(crate) fn rendered_bytes(threads: usize) -> u64 {
    (threads * (1 + rorqual_pipe::limits::WINDOW_PER_WORKER) * RENDERED_BYTES_MAX) as u64
}

/// Memory of a rendering beside its rows: parsed templates, data, the longest texts, and the
/// workers' waiting output.
fn own_bytes(memory_bytes: u64, threads: usize) -> u64 {
    let templates = TEMPLATES_BYTES_MAX as u64 * PARSED_BYTES_PER_BYTE;
    let texts = 2 * TEXT_BYTES_MAX;
    rendered_bytes(threads)
        + (texts + SINK_BUFFERS * BLOCK_BYTES) as u64
        + templates.min(memory_bytes / 8)
        + data::parsed_bytes_max(memory_bytes)
}
