//! Reports on logs: each task analyses a part of the files, and the client adds up the sums.
//!
//! A plan has a [`LogPartsExec`] over the list of the files, whose rows are parts of analyses as
//! bytes. Those of a task begin with its files, in order, and end with an empty one.

use crate::files::ClusterFiles;
use crate::limits::{REPORT_PART_BYTES_MIN, REPORT_ROWS_AHEAD};
use crate::version::{VERSION, check_plan};
use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};
use futures::stream::{BoxStream, StreamExt, TryStreamExt, unfold};
use object_store::ObjectStore;
use rorqual_accesslog::aggregate::{AnalysisPart, InputPart, SpanFilter};
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::format::formats_in_config;
use rorqual_accesslog::{LineFilter, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, Options, OwnColumns};
use rorqual_pipe::{Control, Error, ErrorClass, FileVersion, format_size};
use rorqual_query::{FilePlace, OpenPart, PartGuard, PartedFile, QueryShares, ScanContext};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use url::{Position, Url};

/// Settings of a report, as whoever asks for it writes them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReportSpec {
    /// Only lines at or after this time, in Unix microseconds.
    since_us: Option<i64>,
    until_us: Option<i64>,
    filter: Option<String>,
    /// A format, or its name in the configuration.
    format: Option<String>,
    /// A configuration with formats.
    config: Option<String>,
    line_bytes_max: usize,
    /// The inputs are several files.
    of_files: bool,
    /// Seed of estimates, which all tasks have.
    seed: u64,
}

impl ReportSpec {
    /// The same for several files, or for one.
    pub(crate) fn of_files(self, of_files: bool) -> Self {
        Self { of_files, ..self }
    }
}

/// A part of a file, or all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FilePart {
    /// Number of the file among all.
    number: u64,
    name: String,
    size_bytes: u64,
    /// State of a file, as a text.
    version: Option<String>,
    place: PartPlace,
    /// The lines that start in it; none of a whole file.
    range: Option<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum PartPlace {
    Path(PathBuf),
    /// By its address, with the tag of its content.
    Object(String, Option<String>),
}

/// The node of a plan, as bytes.
#[derive(Debug, Serialize, Deserialize)]
struct ReportMessage {
    version: String,
    spec: ReportSpec,
}

/// The files dealt out to so many tasks, in order, each about as many bytes.
pub(crate) fn deal(files: &[PartedFile], tasks: usize) -> Vec<Vec<FilePart>> {
    let total: u64 = files.iter().map(|file| file.size_bytes).sum();
    let each = total.div_ceil(tasks.max(1) as u64).max(REPORT_PART_BYTES_MIN);
    let mut dealt: Vec<Vec<FilePart>> = vec![Vec::new()];
    let mut room = each;
    for (number, file) in files.iter().enumerate() {
        let part = |range| FilePart {
            number: number as u64,
            name: file.name.clone(),
            size_bytes: file.size_bytes,
            version: file.version.as_ref().map(FileVersion::to_text),
            place: match &file.place {
                FilePlace::Path(path) => PartPlace::Path(path.clone()),
                FilePlace::Object(url, e_tag) => PartPlace::Object(url.to_string(), e_tag.clone()),
            },
            range,
        };
        let mut start = 0;
        while file.may_be_cut() && file.size_bytes - start > room + each / 2 {
            if room > each / 2 {
                dealt.last_mut().into_iter().for_each(|task| task.push(part(Some((start, start + room)))));
                start += room;
            }
            dealt.push(Vec::new());
            room = each;
        }
        let remaining = file.size_bytes - start;
        if remaining > room + each / 2 && room < each {
            dealt.push(Vec::new());
            room = each;
        }
        let range = (start > 0).then_some((start, file.size_bytes));
        dealt.last_mut().into_iter().for_each(|task| task.push(part(range)));
        room = room.saturating_sub(remaining);
        if room == 0 {
            dealt.push(Vec::new());
            room = each;
        }
    }
    dealt.retain(|task| !task.is_empty());
    dealt
}

/// Analyses parts of logs; its rows are the sums. The parts of each task are a row of its input,
/// as the engine knows how to give a task its share of such rows.
pub(crate) struct LogPartsExec {
    spec: ReportSpec,
    parts: Arc<dyn ExecutionPlan>,
    context: Arc<ScanContext>,
    files: ClusterFiles,
    properties: Arc<PlanProperties>,
}

impl LogPartsExec {
    /// The node for so many tasks.
    ///
    /// # Errors
    /// When the engine does not take the parts, which would be a defect here.
    pub(crate) fn new(spec: ReportSpec, tasks: &[Vec<FilePart>], context: &Arc<ScanContext>) -> Result<Self> {
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("files", DataType::Utf8, false)]));
        let row = |parts: &Vec<FilePart>| {
            let json = serde_json::to_string(parts).map_err(|error| exec_datafusion_err!("{error}"))?;
            let column: ArrayRef = Arc::new(StringArray::from(vec![json]));
            Ok(vec![RecordBatch::try_new(Arc::clone(&schema), vec![column])?])
        };
        let rows = tasks.iter().map(row).collect::<Result<Vec<_>>>()?;
        let parts = MemorySourceConfig::try_new_exec(&rows, schema, None)?;
        Ok(Self::over(parts, spec, context, ClusterFiles::Unopened))
    }

    fn over(parts: Arc<dyn ExecutionPlan>, spec: ReportSpec, context: &Arc<ScanContext>, files: ClusterFiles) -> Self {
        let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("part", DataType::Binary, false)]));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(parts.properties().output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { spec, parts, context: Arc::clone(context), files, properties: Arc::new(properties) }
    }

    /// Shares of the executor's memory that a task of it needs; one if it can't have as many, which
    /// it says itself.
    pub(crate) fn shares_wanted(&self) -> u32 {
        shares_wanted(&self.spec, &self.context.shares).unwrap_or(1)
    }

    /// The node without its input, as bytes.
    pub(crate) fn to_bytes(&self) -> Result<Vec<u8>> {
        let message = ReportMessage { version: VERSION.to_owned(), spec: self.spec.clone() };
        serde_json::to_vec(&message).map_err(|error| exec_datafusion_err!("{error}"))
    }

    /// The node of these bytes over its input, for a process that reads `files` only.
    ///
    /// # Errors
    /// When they are none, or of another version.
    pub(crate) fn of_bytes(
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &Arc<ScanContext>,
        files: ClusterFiles,
    ) -> Result<Self> {
        let message: ReportMessage =
            serde_json::from_slice(bytes).map_err(|error| exec_datafusion_err!("a report of another version: {error}"))?;
        check_plan(&message.version)?;
        let [parts] = inputs else { return exec_err!("a report without files") };
        Ok(Self::over(Arc::clone(parts), message.spec, context, files))
    }
}

impl fmt::Debug for LogPartsExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogPartsExec").field("parts", &self.parts).finish_non_exhaustive()
    }
}

impl DisplayAs for LogPartsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogPartsExec")
    }
}

impl ExecutionPlan for LogPartsExec {
    fn name(&self) -> &'static str {
        "LogPartsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.parts]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [parts] = &children[..] else { return exec_err!("a report without files") };
        Ok(Arc::new(Self::over(Arc::clone(parts), self.spec.clone(), &self.context, self.files.clone())))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let parts = self.parts.execute(partition, Arc::clone(&context))?;
        let (spec, scans, files, schema) = (self.spec.clone(), Arc::clone(&self.context), self.files.clone(), self.schema());
        let begin = async move {
            let parts = opened(parts, &files, &context).await?;
            let (rows, receiver) = channel(REPORT_ROWS_AHEAD);
            let task = ReportTask { spec, parts, context: scans, control: Control::default(), rows, schema };
            Ok::<_, DataFusionError>(task.start(receiver, &context))
        };
        let rows = futures::stream::once(begin).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.boxed())))
    }
}

/// The parts of a task, and the places where they are opened.
async fn opened(mut rows: SendableRecordBatchStream, files: &ClusterFiles, context: &TaskContext) -> Result<Vec<TaskPart>> {
    let mut opened = Vec::new();
    while let Some(batch) = rows.next().await {
        for json in batch?.column(0).as_string_opt::<i32>().into_iter().flatten().flatten() {
            let parts: Vec<FilePart> =
                serde_json::from_str(json).map_err(|error| exec_datafusion_err!("a report of another version: {error}"))?;
            for part in parts {
                let place = part.opened(files, context)?;
                opened.push(TaskPart { part, place });
            }
        }
    }
    Ok(opened)
}

/// A part with the place where it is opened.
struct TaskPart {
    part: FilePart,
    place: TaskPlace,
}

enum TaskPlace {
    Path(PathBuf),
    Object(Url, Option<String>, Arc<dyn ObjectStore>),
}

impl FilePart {
    fn opened(&self, files: &ClusterFiles, context: &TaskContext) -> Result<TaskPlace> {
        match &self.place {
            PartPlace::Path(path) => files.checked(path).map(TaskPlace::Path),
            PartPlace::Object(address, e_tag) => {
                let url = Url::parse(address).map_err(|error| exec_datafusion_err!("{address}: {error}"))?;
                let store = ObjectStoreUrl::parse(&url[..Position::BeforePath])?;
                Ok(TaskPlace::Object(url, e_tag.clone(), context.runtime_env().object_store(store)?))
            }
        }
    }
}

/// A task of a report, on a thread that may wait.
struct ReportTask {
    spec: ReportSpec,
    parts: Vec<TaskPart>,
    context: Arc<ScanContext>,
    control: Control,
    rows: Sender<RecordBatch>,
    schema: SchemaRef,
}

impl ReportTask {
    /// Runs on a thread that may wait; gives its rows.
    fn start(self, receiver: Receiver<RecordBatch>, context: &TaskContext) -> BoxStream<'static, Result<RecordBatch>> {
        let stop = scopeguard::guard(self.control.clone(), |control| control.stop());
        let memory = MemoryConsumer::new("tables of a report").register(context.memory_pool());
        let running = tokio::task::spawn_blocking(move || self.run(&memory));
        unfold((receiver, stop, Some(running)), |(mut receiver, stop, mut running)| async move {
            let row = match receiver.recv().await {
                Some(batch) => Ok(batch),
                // Half a report must not look whole.
                None => Err(match running.take()?.await {
                    Ok(Ok(())) => return None,
                    Ok(Err(error)) => error,
                    Err(error) => exec_datafusion_err!("reading the log failed inside: {error}"),
                }),
            };
            Some((row, (receiver, stop, running)))
        })
        .boxed()
    }

    fn run(self, memory: &MemoryReservation) -> Result<()> {
        let shares = &self.context.shares;
        // The others that it takes have permits.
        memory.try_grow(usize::try_from(shares.as_operators(shares.task_bytes())).unwrap_or(usize::MAX))?;
        let analyzer = analyzer(&self.spec, shares).map_err(|error| exec_datafusion_err!("{error}"))?;
        for part in &self.parts {
            if let Some(input) = self.part(&analyzer, part).map_err(external)? {
                self.part_given(&AnalysisPart::of_input(input))?;
            }
        }
        analyzer.analysis().parts(|part| self.part_given(&part))?;
        self.give(b"")
    }

    /// Analyses a part; `None` where no line starts in it, or the file can't be cut: its first part
    /// reads all of it.
    fn part(&self, analyzer: &Analyzer, TaskPart { part, place }: &TaskPart) -> Result<Option<InputPart>, Error> {
        let (open, guard) = match place {
            TaskPlace::Path(path) => {
                let version = part.version.as_deref().map(|text| FileVersion::of_text(text, &part.name)).transpose()?;
                OpenPart::of_path(&part.name, version, path)?
            }
            TaskPlace::Object(url, e_tag, store) => {
                let open = OpenPart::of_object(&part.name, part.size_bytes, url, e_tag.clone(), Arc::clone(store))?;
                (open, PartGuard::default())
            }
        };
        let whole = |open: OpenPart| Some(open.whole(&self.context)).transpose();
        let (format, input) = match part.range {
            None => (None, whole(open)?),
            Some((start, end)) => match open.plain_head()?.and_then(|head| analyzer.format_of_parts(&head)) {
                Some(format) => ((start > 0).then_some(format), open.lines(start..end, &self.context)?),
                // It can't be cut: its first part stands for all.
                None => (None, if start == 0 { whole(open)? } else { None }),
            },
        };
        let ran = input.map(|input| analyzer.run_part(part.number, format, input, &self.control)).transpose()?;
        guard.check().map(|()| ran)
    }

    fn part_given(&self, part: &AnalysisPart) -> Result<()> {
        match part.to_bytes() {
            // That would be the end.
            bytes if bytes.is_empty() => exec_err!("a part of the report can't be written"),
            bytes => self.give(&bytes),
        }
    }

    fn give(&self, bytes: &[u8]) -> Result<()> {
        let column: ArrayRef = Arc::new(BinaryArray::from_vec(vec![bytes]));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![column])?;
        self.rows.blocking_send(batch).map_err(|_| exec_datafusion_err!("nobody wants the report any more"))
    }
}

fn external(error: Error) -> DataFusionError {
    if error.kind() == ErrorClass::Stopped { exec_datafusion_err!("stopped") } else { DataFusionError::External(Box::new(error)) }
}

/// The analysis of a task.
fn analyzer(spec: &ReportSpec, shares: &QueryShares) -> Result<Analyzer, String> {
    let count = shares_wanted(spec, shares)?;
    let memory_bytes = u64::from(count) * shares.task_bytes();
    let (settings, beside) = settings(spec, memory_bytes)?;
    let shares_of_task = settings.shares_of_task(shares.memory_bytes, &beside).map_err(|error| error.to_string())?;
    let only = spec.filter.as_deref().map(|text| LineFilter::new("--where", text));
    let options = Options { only, of_files: spec.of_files, estimates_seed: Some(spec.seed), ..Options::default() };
    Ok(Analyzer::new(&settings, shares_of_task, options))
}

/// Shares of the executor's memory, of which each thread has one, that a task needs.
///
/// # Errors
/// When it has not as many, or the settings are none.
fn shares_wanted(spec: &ReportSpec, shares: &QueryShares) -> Result<u32, String> {
    let (settings, beside) = settings(spec, 0)?;
    let least = settings.shares_of_task(shares.memory_bytes, &beside).map_or_else(|error| error.least_bytes(), |_| 0);
    let count = least.div_ceil(shares.task_bytes().max(1)).max(1);
    if count > shares.threads as u64 {
        let all = shares.threads as u64 * shares.task_bytes();
        let [memory, all, least] = [shares.memory_bytes, all, least].map(format_size);
        return Err(format!("of --memory {memory} of the executor {all} are for reports, and one needs {least}: give it more"));
    }
    Ok(count as u32)
}

/// Settings of the analysis of a task in so much memory, and holders beside it.
fn settings(spec: &ReportSpec, memory_bytes: u64) -> Result<(AnalyzeSettings, Vec<(String, u64)>), String> {
    let named = spec.config.as_deref().map(formats_in_config).unwrap_or_default();
    let named = named.into_iter().filter_map(|(name, format)| Some((name, format.ok()?))).collect();
    let formats = Formats::new(spec.format.as_deref(), named).map_err(|error| format!("--format: {error}"))?;
    let filter = spec.filter.as_deref().map(filter).transpose()?;
    let beside = filter.map(|filter| ("filter and its regular expressions (--where)".to_owned(), filter.bytes(1)));
    let settings = AnalyzeSettings {
        memory_bytes,
        threads: Some(1),
        line_bytes_max: spec.line_bytes_max,
        span: SpanFilter { since_us: spec.since_us, until_us: spec.until_us },
        formats,
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    Ok((settings, beside.into_iter().collect()))
}

fn filter(text: &str) -> Result<Filter, String> {
    let own = OwnColumns::new(&[], OWN_TEXTS_MAX, OWN_NUMBERS_MAX);
    own.schema().filter_of_any(text).map_err(|error| format!("--where: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, size_bytes: u64) -> PartedFile {
        PartedFile { name: name.to_owned(), size_bytes, version: None, place: FilePlace::Path(name.into()) }
    }

    /// Each byte of each file is in one part, in order, and tasks are about as large.
    #[test]
    fn files_are_dealt_out_in_order() {
        let mib = 1 << 20;
        let sizes = [0, 1, 7 * mib, 300 * mib, 12 * mib + 5, 90 * mib];
        for tasks in [1, 2, 3, 8, 40] {
            for cut in [true, false] {
                let name = |number: usize| if cut { format!("{number}.log") } else { format!("{number}.log.gz") };
                let files: Vec<PartedFile> = sizes.iter().enumerate().map(|(number, size)| file(&name(number), *size)).collect();
                let dealt = deal(&files, tasks);
                assert!(dealt.len() <= tasks + 1 && dealt.iter().all(|task| !task.is_empty()), "{} of {tasks}", dealt.len());
                let mut at = (0, 0);
                for part in dealt.iter().flatten() {
                    let (start, end) = part.range.unwrap_or((0, part.size_bytes));
                    assert_eq!((part.number, start), at);
                    assert!(part.range.is_none() || cut);
                    at = if end == part.size_bytes { (part.number + 1, 0) } else { (part.number, end) };
                }
                assert_eq!(at, (sizes.len() as u64, 0));
                let bytes = |task: &Vec<FilePart>| -> u64 {
                    task.iter().map(|part| part.range.map_or(part.size_bytes, |(start, end)| end - start)).sum()
                };
                let each = (409 * mib / tasks as u64).max(REPORT_PART_BYTES_MIN);
                assert!(!cut || dealt.iter().all(|task| bytes(task) <= each * 2), "{tasks}");
            }
        }
    }
}
