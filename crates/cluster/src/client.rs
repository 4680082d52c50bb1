//! The client: sends the plan of a query to the scheduler, asks until it is done, and takes its
//! rows from the executors.

use crate::codec::ScanCodec;
use crate::exchange::plain_keys;
use crate::files::ClusterFiles;
use crate::limits::{
    ASK_EVERY, END_MAX, FETCHES_MAX, FETCHING_BYTES_MAX, LOOK_EVERY, MESSAGE_BYTES_MAX, NO_EXECUTORS_MAX, PARTITIONS_MAX,
    PARTITIONS_PER_THREAD, QUERY_TRIES_MAX,
};
use crate::scheduler::{AGAIN, NO_JOB};
use crate::tasks::{self, said};
use crate::trust::{Trust, bracketed};
use crate::version::SendsVersion;
use async_trait::async_trait;
use ballista_core::client::BallistaClient;
use ballista_core::config::{
    BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, BALLISTA_SHUFFLE_READER_MAX_BLOCKS_PER_ADDRESS,
    BALLISTA_SHUFFLE_READER_MAX_BYTES_IN_FLIGHT, BALLISTA_SHUFFLE_READER_MAX_REQUESTS,
    BALLISTA_SHUFFLE_SORT_BASED_MEMORY_LIMIT_PER_TASK_BYTES,
};
use ballista_core::error::BallistaError;
use ballista_core::extension::{BallistaConfigGrpcEndpoint, SessionConfigExt};
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, CleanJobDataParams, ExecuteQueryParams, GetJobMetricsParams, GetJobStatusParams, KeyValuePair,
    PartitionLocation, RemoveSessionParams, execute_query_result, job_status,
};
use ballista_core::version::insert_version_header;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, exec_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::prelude::SessionConfig;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use futures::StreamExt;
use rorqual_query::{NoteRecord, ObjectStretches, PlanRunner, RecordSource, ScanContext};
use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::Sender;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};

/// Batches that wait for the output.
const BATCHES_AHEAD: usize = 2;

/// Flag of the key of a client.
const KEY_FLAG: &str = "--cluster-key";

/// A connection to the scheduler.
pub(crate) type SchedulerClient = SchedulerGrpcClient<InterceptedService<Channel, SendsVersion>>;

/// A client of a cluster.
pub(crate) struct ClusterClient {
    host: String,
    port: u16,
    trust: Trust,
    /// Partitions of a plan, where that was said.
    partitions: Option<usize>,
    session: String,
    /// The jobs that run or of which rows are taken.
    running: Arc<Mutex<Vec<String>>>,
}

impl ClusterClient {
    pub(crate) fn new((host, port): (String, u16), trust: Trust, partitions: Option<usize>) -> Self {
        let session = ballista_core::ids::new_instance_id();
        Self { host, port, trust, partitions, session, running: Arc::default() }
    }

    async fn connect(&self) -> Result<SchedulerClient> {
        let (host, port) = (&self.host, self.port);
        self.trust.check_scheduler(host).map_err(|error| exec_datafusion_err!("{error}"))?;
        let failed = |why: &dyn std::fmt::Display| exec_datafusion_err!("no connection to the scheduler at {host}:{port}: {why}");
        let endpoint = Endpoint::from_shared(self.trust.url(host, port)).map_err(|error| failed(&error))?;
        let endpoint = self.trust.endpoint(&endpoint).map_err(|error| failed(&error))?;
        endpoint.connect().await.map(scheduler_client).map_err(|error| failed(&last_cause(&error)))
    }

    fn name(&self) -> String {
        format!("{}:{}", bracketed(&self.host), self.port)
    }
}

/// The scheduler at the other end of a connection.
pub(crate) fn scheduler_client(channel: Channel) -> SchedulerClient {
    let client = SchedulerGrpcClient::with_interceptor(channel, SendsVersion);
    client.max_decoding_message_size(MESSAGE_BYTES_MAX).max_encoding_message_size(MESSAGE_BYTES_MAX)
}

/// Threads of the cluster. Executors may be on their way when there is none.
async fn threads(scheduler: &mut SchedulerClient, name: &str, has_key: bool) -> Result<usize> {
    let begun = Instant::now();
    loop {
        let asked = scheduler.get_job_metrics(GetJobMetricsParams { job_id: NO_JOB.to_owned() }).await;
        let stages = asked.map_err(|status| refused(name, &status, has_key, KEY_FLAG))?.into_inner().stages;
        match stages.first() {
            Some(stage) if stage.partitions > 0 => return Ok(stage.partitions as usize),
            _ if begun.elapsed() > NO_EXECUTORS_MAX => return exec_err!("the scheduler at {name} has no executors"),
            _ => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

/// The last cause of an error of a connection, which tells more than those around it.
pub(crate) fn last_cause(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// The error of a call to the scheduler, for a process whose key is given by a flag.
pub(crate) fn refused(name: &str, status: &Status, has_key: bool, flag: &str) -> DataFusionError {
    let key = if has_key { format!("and is {flag} that of the cluster") } else { format!("and does it want a key ({flag})") };
    let is_broken = matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Cancelled);
    match status.code() {
        _ if is_broken || status.message().starts_with("h2 protocol error") => {
            let cause = status.source().map_or_else(|| status.message().to_owned(), last_cause);
            exec_datafusion_err!("the connection to the scheduler at {name} broke: {cause}. Is it up, {key}?")
        }
        _ if status.message().is_empty() => exec_datafusion_err!("what answers at {name} is no scheduler: {}", status.code()),
        _ => exec_datafusion_err!("the scheduler at {name}: {}", told(status.message())),
    }
}

/// An error as a sentence before another one.
fn sentence(error: &DataFusionError) -> String {
    let text = error.message();
    text.strip_suffix('.').unwrap_or(&text).to_owned() + "."
}

/// An error of the engine in words, as far as it has some of ours.
fn told(error: &str) -> String {
    said(error).unwrap_or_else(|| error.to_owned())
}

#[async_trait]
impl PlanRunner for ClusterClient {
    async fn config(&self, config: SessionConfig) -> Result<SessionConfig> {
        let partitions = match self.partitions {
            Some(partitions) => partitions,
            None => {
                let threads = threads(&mut self.connect().await?, &self.name(), self.trust.has_key()).await?;
                (threads * PARTITIONS_PER_THREAD).min(PARTITIONS_MAX.max(threads))
            }
        };
        let config = config.with_extension(Arc::new(ObjectStretches)).upgrade_for_ballista();
        Ok(config
            .with_target_partitions(partitions)
            // A task is one partition: it has the memory of a thread, and a lost one costs little.
            .set_usize(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1)
            // Rows are held in the task's pool, and not beside it.
            .set_usize(BALLISTA_SHUFFLE_SORT_BASED_MEMORY_LIMIT_PER_TASK_BYTES, 0)
            .set_usize(BALLISTA_SHUFFLE_READER_MAX_REQUESTS, FETCHES_MAX)
            .set_usize(BALLISTA_SHUFFLE_READER_MAX_BLOCKS_PER_ADDRESS, FETCHES_MAX)
            .set_usize(BALLISTA_SHUFFLE_READER_MAX_BYTES_IN_FLIGHT, FETCHING_BYTES_MAX))
    }

    async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &SessionConfig,
        scans: &Arc<ScanContext>,
    ) -> Result<SendableRecordBatchStream> {
        let codec = ScanCodec::new(scans, ClusterFiles::Unopened);
        let mut bytes = Vec::new();
        let sent = plain_keys(Arc::clone(&plan))?;
        let encoded = PhysicalPlanNode::try_from_physical_plan(Arc::clone(&sent), &codec);
        encoded.map_err(|error| exec_datafusion_err!("{}", told(&error.message())))?.try_encode(&mut bytes)?;
        let entries = config.options().entries();
        let settings = entries.into_iter().map(|entry| KeyValuePair { key: entry.key, value: entry.value }).collect();
        let job = ClusterJob {
            scheduler: self.connect().await?,
            name: self.name(),
            session: self.session.clone(),
            plan: bytes,
            settings,
            trust: self.trust.clone(),
            running: Arc::clone(&self.running),
            scans: Arc::clone(scans),
            scans_expected: tasks::scans(&sent).len(),
        };
        let mut builder = RecordBatchReceiverStreamBuilder::new(plan.schema(), BATCHES_AHEAD);
        let sender = builder.tx();
        builder.spawn(async move { job.run(&sender).await });
        Ok(builder.build())
    }

    async fn end(&self) {
        let ended = async {
            let Ok(mut scheduler) = self.connect().await else { return };
            let jobs = std::mem::take(&mut *self.running.lock().unwrap_or_else(PoisonError::into_inner));
            for job_id in jobs {
                let _ended_by_itself = scheduler.cancel_job(CancelJobParams { job_id }).await;
            }
            let _gone_already = scheduler.remove_session(RemoveSessionParams { session_id: self.session.clone() }).await;
        };
        // The scheduler ends jobs that nobody asks about.
        let _ = tokio::time::timeout(END_MAX, ended).await;
    }
}

/// The parts of a result in the order of the plan: they come in that of the tasks' ends.
fn in_order(mut places: Vec<PartitionLocation>) -> Vec<PartitionLocation> {
    places.sort_by_key(|place| place.partition_id.as_ref().map(|id| id.partition_id));
    places
}

/// A query that runs.
struct ClusterJob {
    scheduler: SchedulerClient,
    /// Name of the scheduler in messages.
    name: String,
    session: String,
    plan: Vec<u8>,
    settings: Vec<KeyValuePair>,
    trust: Trust,
    running: Arc<Mutex<Vec<String>>>,
    scans: Arc<ScanContext>,
    /// Scans of records in the plan.
    scans_expected: usize,
}

/// An executor is gone with results of which some were given.
#[derive(Debug)]
pub(crate) struct LostResults(String);

impl fmt::Display for LostResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for LostResults {}

/// Reason for which rows end early.
enum FetchFault {
    /// An executor is gone with its results.
    Lost(DataFusionError),
    Other(DataFusionError),
}

impl ClusterJob {
    async fn run(mut self, rows: &Sender<Result<RecordBatch>>) -> Result<()> {
        let mut has_given = false;
        for tries in 1.. {
            let job = self.submit().await?;
            self.running().push(job.clone());
            let ran = self.finish(&job, rows, &mut has_given).await;
            if ran.is_ok() {
                self.take_notes(&job).await?;
            }
            let _kept_for_a_while =
                self.scheduler.clean_job_data(CleanJobDataParams { job_id: job.clone(), remove_stage_ids: Vec::new() }).await;
            self.running().retain(|running| *running != job);
            match ran {
                // Not a row was given: the query starts again.
                Err(FetchFault::Lost(error)) if !has_given && tries < QUERY_TRIES_MAX => {
                    let there = threads(&mut self.scheduler, &self.name, self.trust.has_key()).await;
                    there.map_err(|none| exec_datafusion_err!("{} Now {}", sentence(&error), none.message()))?;
                }
                Err(FetchFault::Lost(error)) if !has_given => {
                    return exec_err!(
                        "{} The query has lost executors {tries} times: it may be what ends them, by the memory that it takes",
                        sentence(&error)
                    );
                }
                Err(FetchFault::Lost(error)) => {
                    return Err(DataFusionError::External(Box::new(LostResults(error.message().into_owned()))));
                }
                Err(FetchFault::Other(error)) => return Err(error),
                Ok(()) => break,
            }
        }
        Ok(())
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refused(&self, status: &Status) -> DataFusionError {
        refused(&self.name, status, self.trust.has_key(), KEY_FLAG)
    }

    /// Sends the plan; gives the name of the job.
    async fn submit(&mut self) -> Result<String> {
        let params = ExecuteQueryParams {
            session_id: self.session.clone(),
            settings: self.settings.clone(),
            operation_id: ballista_core::ids::new_instance_id(),
            query: Some(Query::PhysicalPlan(self.plan.clone())),
        };
        let mut request = Request::new(params);
        insert_version_header(request.metadata_mut());
        let answer = self.scheduler.execute_query(request).await.map_err(|status| self.refused(&status))?;
        match answer.into_inner().result {
            Some(execute_query_result::Result::Success(started)) => Ok(started.job_id),
            Some(execute_query_result::Result::Failure(failure)) => {
                exec_err!("the scheduler at {}: {}", self.name, told(&format!("{failure:?}")))
            }
            None => exec_err!("the scheduler at {} gave no answer", self.name),
        }
    }

    /// Waits for the job, and takes its rows.
    async fn finish(&self, job: &str, rows: &Sender<Result<RecordBatch>>, has_given: &mut bool) -> Result<(), FetchFault> {
        let places = self.wait(job).await?;
        tokio::select! {
            fetched = self.fetch(places, rows, has_given) => fetched,
            error = self.keep_asking(job) => Err(FetchFault::Other(error)),
        }
    }

    /// Asks until the job is done; gives the places of its results, in order.
    async fn wait(&self, job: &str) -> Result<Vec<PartitionLocation>, FetchFault> {
        let mut scheduler = self.scheduler.clone();
        let mut pause = ASK_EVERY.0;
        let mut known = Instant::now();
        loop {
            let asked = scheduler.get_job_status(GetJobStatusParams { job_id: job.to_owned() }).await;
            let status = asked.map_err(|status| FetchFault::Other(self.refused(&status)))?.into_inner().status;
            match status.and_then(|status| status.status) {
                Some(job_status::Status::Successful(done)) => return Ok(in_order(done.partition_location)),
                Some(job_status::Status::Failed(failed)) => {
                    return Err(match failed.error.strip_prefix(AGAIN) {
                        Some(reason) => FetchFault::Lost(exec_datafusion_err!("{reason}")),
                        None => FetchFault::Other(exec_datafusion_err!("{}", told(&failed.error))),
                    });
                }
                Some(job_status::Status::Queued(_) | job_status::Status::Running(_)) => known = Instant::now(),
                None if known.elapsed() > NO_EXECUTORS_MAX => {
                    return Err(FetchFault::Other(exec_datafusion_err!("the scheduler at {} has lost the query", self.name)));
                }
                None => {}
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(ASK_EVERY.1);
        }
    }

    /// Asks about the job, which ends where nobody does, until that fails.
    async fn keep_asking(&self, job: &str) -> DataFusionError {
        let mut scheduler = self.scheduler.clone();
        loop {
            tokio::time::sleep(2 * LOOK_EVERY).await;
            if let Err(status) = scheduler.get_job_status(GetJobStatusParams { job_id: job.to_owned() }).await {
                return self.refused(&status);
            }
        }
    }

    async fn fetch(
        &self,
        places: Vec<PartitionLocation>,
        rows: &Sender<Result<RecordBatch>>,
        has_given: &mut bool,
    ) -> Result<(), FetchFault> {
        for place in places {
            let mut part = self.part(place).await?;
            while let Some(batch) = part.next().await {
                let batch = batch.map_err(FetchFault::Lost)?;
                *has_given |= batch.num_rows() > 0;
                if rows.send(Ok(batch)).await.is_err() {
                    return Err(FetchFault::Other(exec_datafusion_err!("nobody wants more rows")));
                }
            }
        }
        Ok(())
    }

    /// Rows of one part of the result.
    async fn part(&self, place: PartitionLocation) -> Result<SendableRecordBatchStream, FetchFault> {
        let layout = place.layout();
        let (Some(executor), Some(partition)) = (place.executor_meta, place.partition_id) else {
            return Err(FetchFault::Other(exec_datafusion_err!("a part of the result has no place")));
        };
        let name = format!("{}:{}", executor.host, executor.port);
        let lost = |error: BallistaError| {
            let error = told(&error.to_string());
            FetchFault::Lost(exec_datafusion_err!("the executor at {name} does not give its part of the result: {error}"))
        };
        let (host, port) = (executor.host.as_str(), executor.port as u16);
        let trust = self.trust.clone();
        let endpoint = Arc::new(BallistaConfigGrpcEndpoint::new(Arc::new(move |to| trust.endpoint(&to))));
        let (tries, wait_ms, window) = (1, 100, 0);
        let client = BallistaClient::try_new(
            host,
            port,
            MESSAGE_BYTES_MAX,
            self.trust.has_key(),
            Some(endpoint),
            tries,
            wait_ms,
            window,
            window,
        );
        let mut client = client.await.map_err(lost)?;
        let stream = client.fetch_partition(&executor.id, &partition.into(), place.file_id, layout, true).await;
        stream.map_err(lost)
    }

    /// Takes the notes of the job's scans. Each task of a scan has said that it ended: where one is
    /// missing, so may be its notes.
    async fn take_notes(&mut self, job: &str) -> Result<()> {
        let asked = self.scheduler.get_job_metrics(GetJobMetricsParams { job_id: job.to_owned() }).await;
        let stages = asked.map_err(|status| self.refused(&status))?.into_inner().stages;
        let mut scans = 0;
        for (stage, operator) in stages.iter().flat_map(|stage| stage.operators.iter().map(move |operator| (stage, operator))) {
            let counts = || {
                operator.metrics.iter().filter_map(|metric| match &metric.metric {
                    Some(Metric::Count(count)) => Some((count.name.as_str(), metric.partition)),
                    _ => None,
                })
            };
            let ended = counts().filter(|(name, _)| *name == RecordSource::ENDED_METRIC);
            let ended: HashSet<Option<u32>> = ended.map(|(_, partition)| partition).collect();
            if ended.is_empty() {
                continue;
            }
            scans += usize::from(ended.len() >= stage.partitions as usize);
            self.scans.tallies.add_records(counts().filter_map(|(name, _)| NoteRecord::of_metric(name)));
        }
        if scans < self.scans_expected {
            return exec_err!("the cluster did not tell which records were left out, so its answer may lack some");
        }
        Ok(())
    }
}
