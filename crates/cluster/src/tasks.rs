//! Tasks of an executor: each in its own share of the memory, with its notes, and its errors in
//! words.

use crate::limits::{ENDED_JOBS_KEPT, TASK_END_WITHIN};
use crate::report::LogPartsExec;
use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::{RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use rorqual_pipe::format_size;
use rorqual_query::{OpenMode, QueryShares, QueryWatchdog, RecordSource, TempFolder};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;
use tokio::sync::{Notify, Semaphore};

/// Marks of a message for people in an error of the engine, which writes errors for programmers.
const MARKS: (&str, &str) = ("rorqual-says<", ">");

/// An error whose message [`said`] finds again in whatever the engine makes of it.
pub(crate) fn marked(text: &str) -> DataFusionError {
    let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    DataFusionError::Execution(format!("{}{encoded}{}", MARKS.0, MARKS.1))
}

/// The message for people in an error of the engine, if it has one.
pub(crate) fn said(error: &str) -> Option<String> {
    let start = error.find(MARKS.0)? + MARKS.0.len();
    let encoded = &error[start..start + error[start..].find(MARKS.1)?];
    let decoded = url::form_urlencoded::parse(format!("text={encoded}").as_bytes()).next()?.1.into_owned();
    Some(decoded)
}

/// Reason of a task that ends with its job; nobody waits for it any more.
const JOB_ENDED: &str = "the query has ended";

/// Tasks that run in this process, and the watchdog of its memory, which looks while one does.
pub(crate) struct RunningTasks {
    tasks: Mutex<Vec<Weak<RunningTask>>>,
    watchdog: Mutex<Weak<QueryWatchdog>>,
    /// The time when a task was last asked to end, since the memory was short.
    asked: Mutex<Option<Instant>>,
    /// Jobs that ended, with the time when that was said.
    ended: Mutex<HashMap<String, Instant>>,
    shares: QueryShares,
    /// Shares of the memory, one for each thread.
    permits: Semaphore,
    temp: Arc<TempFolder>,
    /// Name of the executor in messages.
    name: String,
}

/// A task that can be asked to end.
struct RunningTask {
    job: String,
    pool: Arc<dyn MemoryPool>,
    watchdog: Arc<QueryWatchdog>,
    /// Reason for which it ends, once it is asked.
    reason: Mutex<Option<String>>,
    asked: Notify,
}

impl RunningTask {
    fn ask(&self, reason: &str) {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| reason.to_owned());
        self.asked.notify_one();
    }

    /// Ends when the task is asked to end.
    async fn asked(&self) -> String {
        self.asked.notified().await;
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default()
    }

    fn is_asked(&self) -> bool {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl RunningTasks {
    pub(crate) fn new(shares: QueryShares, temp: &Arc<TempFolder>, name: &str) -> Self {
        let (tasks, watchdog, asked, ended) = Default::default();
        let permits = Semaphore::new(shares.threads);
        Self { tasks, watchdog, asked, ended, shares, permits, temp: Arc::clone(temp), name: name.to_owned() }
    }

    fn add(&self, job: &str, context: &TaskContext) -> Arc<RunningTask> {
        let pool = Arc::clone(context.memory_pool());
        let task = Arc::new(RunningTask {
            job: job.to_owned(),
            pool,
            watchdog: self.watchdog(),
            reason: Mutex::default(),
            asked: Notify::new(),
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| task.strong_count() > 0);
        tasks.push(Arc::downgrade(&task));
        drop(tasks);
        // The end of its job may come before the task does: by another connection, and sooner.
        if self.ended.lock().unwrap_or_else(PoisonError::into_inner).contains_key(job) {
            task.ask(JOB_ENDED);
        }
        task
    }

    fn running(&self) -> Vec<Arc<RunningTask>> {
        let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.iter().filter_map(Weak::upgrade).filter(|task| !task.is_asked()).collect()
    }

    /// The watchdog that looks for all tasks that run.
    fn watchdog(&self) -> Arc<QueryWatchdog> {
        let mut looking = self.watchdog.lock().unwrap_or_else(PoisonError::into_inner);
        looking.upgrade().unwrap_or_else(|| {
            let started = Arc::new(QueryWatchdog::start(self.shares.memory_bytes, self.shares.threads, &self.temp));
            *looking = Arc::downgrade(&started);
            started
        })
    }

    /// Asks the task that holds most memory to end, unless another one was asked just now. All
    /// tasks call it when the memory is short.
    fn end_largest(&self) {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.is_some_and(|asked| asked.elapsed() < TASK_END_WITHIN) {
            return;
        }
        if let Some(largest) = self.running().into_iter().max_by_key(|task| task.pool.reserved()) {
            let memory = format_size(self.shares.memory_bytes);
            largest.ask(&format!("the executor at {} came near its --memory {memory}, and this part of the query held most of it: give it more, or fewer --threads", self.name));
            *asked = Some(Instant::now());
        }
    }

    /// Name of the executor in messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True if no task runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.running().is_empty()
    }

    /// A job has ended: its tasks end, those that come later as well.
    pub(crate) fn job_ended(&self, job: &str) {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain(|_, since| since.elapsed() < ENDED_JOBS_KEPT);
        ended.insert(job.to_owned(), Instant::now());
        drop(ended);
        self.end_job(job, JOB_ENDED);
    }

    /// Asks the tasks of a job to end.
    pub(crate) fn end_job(&self, job: &str, reason: &str) {
        self.running().iter().filter(|task| task.job == job).for_each(|task| task.ask(reason));
    }
}

/// Makes tasks of parts of plans.
pub(crate) struct TaskEngine {
    engine: DefaultExecutionEngine,
    shares: QueryShares,
    running: Arc<RunningTasks>,
}

impl TaskEngine {
    pub(crate) fn new(engine: DefaultExecutionEngine, shares: QueryShares, running: &Arc<RunningTasks>) -> Self {
        Self { engine, shares, running: Arc::clone(running) }
    }
}

impl ExecutionEngine for TaskEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let (scans, permits) = (scans(&plan), shares_wanted(&plan));
        let (job, place) =
            (job_id.to_string(), format!("on the executor at {}, in part {stage_id} of the query", self.running.name));
        let stage = self.engine.create_query_stage_exec(job_id, stage_id, task_id, partitions, plan, work_dir, config)?;
        Ok(Arc::new(StageTask { stage, job, place, scans, permits, shares: self.shares, running: Arc::clone(&self.running) }))
    }
}

/// The scans of records in a plan.
pub(crate) fn scans(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    let mut found: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().flat_map(scans).collect();
    if scan(plan).is_some() {
        found.push(Arc::clone(plan));
    }
    found
}

/// Shares of an executor's memory that a task of a plan needs.
fn shares_wanted(plan: &Arc<dyn ExecutionPlan>) -> u32 {
    let own = plan.downcast_ref::<LogPartsExec>().map_or(1, LogPartsExec::shares_wanted);
    plan.children().into_iter().map(shares_wanted).max().unwrap_or(1).max(own)
}

/// The scan of records that a node of a plan is, if it is one.
fn scan(plan: &Arc<dyn ExecutionPlan>) -> Option<(&FileScanConfig, &RecordSource)> {
    let config = plan.downcast_ref::<DataSourceExec>()?.data_source().downcast_ref::<FileScanConfig>()?;
    Some((config, config.file_source().downcast_ref::<RecordSource>()?))
}

/// True if the scan has files that are read in order, by blocks of their own.
fn has_streams(config: &FileScanConfig) -> bool {
    let is_range =
        |mode: Option<&OpenMode>, has_range: bool| has_range && matches!(mode, Some(OpenMode::Local { is_plain: true, .. }));
    let mut files = config.file_groups.iter().flat_map(|group| group.files());
    !files.all(|file| is_range(file.extension::<OpenMode>(), file.range.is_some()))
}

/// A part of a plan that runs here.
struct StageTask {
    stage: Arc<dyn QueryStageExecutor>,
    job: String,
    /// Its place, for messages.
    place: String,
    scans: Vec<Arc<dyn ExecutionPlan>>,
    /// Shares of the memory that it needs.
    permits: u32,
    shares: QueryShares,
    running: Arc<RunningTasks>,
}

impl StageTask {
    /// Takes the memory of the streams that its scans read from its share. Each partition reads one
    /// of them at a time.
    fn reserve(&self, context: &TaskContext) -> Result<Vec<MemoryReservation>> {
        let streams = self.scans.iter().filter(|plan| scan(plan).is_some_and(|(config, _)| has_streams(config)));
        let reserve = |_: &Arc<dyn ExecutionPlan>| {
            let reservation = MemoryConsumer::new("blocks, decoder and rows of a stream").register(context.memory_pool());
            let bytes = self.shares.as_operators(self.shares.stream_bytes(1));
            reservation.try_grow(usize::try_from(bytes).unwrap_or(usize::MAX))?;
            Ok(reservation)
        };
        streams.map(reserve).collect()
    }

    /// The context of a task with the sorts of this process: the client has counted theirs from a
    /// memory that is not that of an executor.
    fn sized(&self, context: &TaskContext) -> TaskContext {
        TaskContext::new(
            context.task_id(),
            context.session_id(),
            context.session_config().clone().with_sort_spill_reservation_bytes(self.shares.sort_merge_bytes()),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            context.runtime_env(),
        )
    }

    /// The error as it goes to the client. Those by which the engine decides what to run again stay
    /// as they are.
    fn told(&self, error: DataFusionError) -> DataFusionError {
        let root = root(&error);
        let may_pass = match root {
            DataFusionError::IoError(_) => true,
            DataFusionError::ObjectStore(cause) => matches!(cause.as_ref(), object_store::Error::Generic { .. }),
            DataFusionError::External(cause) => match cause.downcast_ref::<BallistaError>() {
                Some(BallistaError::ArrowError(cause)) => return self.placed(&cause.to_string()),
                other => other.is_some(),
            },
            _ => false,
        };
        if may_pass { error } else { self.placed(&rorqual_query::describe(root, &self.shares)) }
    }

    fn placed(&self, text: &str) -> DataFusionError {
        marked(&format!("{text} ({})", self.place))
    }
}

/// The error of the engine that others of it, and of the distributed engine, are around.
fn root(error: &DataFusionError) -> &DataFusionError {
    let found = error.find_root();
    match found {
        DataFusionError::External(cause) => match cause.downcast_ref::<BallistaError>() {
            Some(BallistaError::DataFusionError(inner)) => root(inner),
            _ => found,
        },
        _ => found,
    }
}

impl fmt::Debug for StageTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stage.fmt(f)
    }
}

impl fmt::Display for StageTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.stage)
    }
}

#[async_trait]
impl QueryStageExecutor for StageTask {
    async fn execute_query_stage(&self, task_id: usize, context: Arc<TaskContext>) -> Result<Vec<ShuffleWritePartition>> {
        let context = Arc::new(self.sized(&context));
        let run = async {
            let task = self.running.add(&self.job, &context);
            if task.is_asked() {
                return Err(exec_datafusion_err!("{}", task.asked().await));
            }
            let stage = async {
                // All at once, in order: so no two tasks wait for each other.
                let permits = self.running.permits.acquire_many(self.permits).await;
                let _permits = permits.map_err(|error| exec_datafusion_err!("{error}"))?;
                let _streams = self.reserve(&context)?;
                self.stage.execute_query_stage(task_id, Arc::clone(&context)).await
            };
            tokio::pin!(stage);
            loop {
                tokio::select! {
                    ended = &mut stage => return ended,
                    reason = task.asked() => return Err(exec_datafusion_err!("{reason}")),
                    () = task.watchdog.exceeded() => self.running.end_largest(),
                }
            }
        };
        let ended = run.await;
        for (_, source) in self.scans.iter().filter_map(scan) {
            source.publish_notes();
        }
        ended.map_err(|error| self.told(error))
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.stage.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.stage.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.stage.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.stage.collect_column_stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_shell::args::ProcessArgs;
    use std::time::Duration;
    use tokio::sync::oneshot;

    /// A stage that tells that it has begun, and never ends.
    #[derive(Debug)]
    struct PendingStage(Mutex<Option<oneshot::Sender<()>>>);

    impl fmt::Display for PendingStage {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("pending")
        }
    }

    #[async_trait]
    impl QueryStageExecutor for PendingStage {
        async fn execute_query_stage(&self, _: usize, _: Arc<TaskContext>) -> Result<Vec<ShuffleWritePartition>> {
            self.0.lock().expect("no panic").take().expect("it begins once").send(()).expect("somebody waits for it");
            std::future::pending().await
        }

        fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
            Vec::new()
        }
    }

    fn task(job: &str, running: &Arc<RunningTasks>) -> (StageTask, oneshot::Receiver<()>) {
        let (begun, begins) = oneshot::channel();
        let stage = Arc::new(PendingStage(Mutex::new(Some(begun))));
        let (job, place, running, shares) = (job.to_owned(), "here".to_owned(), Arc::clone(running), running.shares);
        (StageTask { stage, job, place, scans: Vec::new(), permits: 1, shares, running }, begins)
    }

    /// A task ends with its job, and one that comes after the end does not begin.
    #[tokio::test]
    async fn tasks_end_with_their_job() {
        let process = ProcessArgs { memory: None, threads: Some(2), stats: false };
        let shares = QueryShares::of_process(&process, None).expect("the default memory is enough");
        let temp = Arc::new(TempFolder::create(None).expect("a folder"));
        let running = Arc::new(RunningTasks::new(shares, &temp, "here"));
        let ((first, begun), (other, other_begun)) = (task("job", &running), task("other", &running));
        let first = tokio::spawn(async move { first.execute_query_stage(0, Arc::default()).await });
        let other = tokio::spawn(async move { other.execute_query_stage(0, Arc::default()).await });
        for begun in [begun, other_begun] {
            begun.await.expect("it begins");
        }
        running.job_ended("job");
        let within = Duration::from_secs(20);
        let ended = tokio::time::timeout(within, first).await.expect("it ends").expect("no panic");
        assert!(said(&ended.expect_err("its job has ended").to_string()).expect("words").contains(JOB_ENDED));
        let (late, mut begun) = task("job", &running);
        let ended = tokio::time::timeout(within, late.execute_query_stage(0, Arc::default())).await.expect("it ends");
        assert!(said(&ended.expect_err("its job has ended").to_string()).expect("words").contains(JOB_ENDED));
        assert!(begun.try_recv().is_err(), "it did not begin");
        assert!(!other.is_finished());
        other.abort();
    }
}
