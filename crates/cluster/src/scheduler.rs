//! The scheduler: takes plans from clients and deals their tasks out to executors, which ask for
//! them.
//!
//! The engine's own scheduler does that. [`WatchedScheduler`] stands before it: it ends jobs whose
//! clients are gone, and those that lose an executor, which their clients start again.
//!
//! The engine would go on with such a job: it runs a stage again whose input was lost, and keeps
//! the results that other executors have of its first run. The stage after it reads both, so rows
//! come twice (seen in Ballista 55.0.0).

use crate::codec::ScanCodec;
use crate::files::{ClusterFiles, ClusterStores};
use crate::limits::{
    CLIENT_TIMEOUT, ENGINE_TIMEOUT, EXECUTOR_TIMEOUT, LOOK_EVERY, MESSAGE_BYTES_MAX, NO_EXECUTORS_MAX, REMOVE_AGAIN_AFTER,
    TASKS_MISSING_MAX,
};
use crate::trust::Trust;
use crate::version::check_version;
use ballista_core::JobId;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::scheduler_grpc_server::{SchedulerGrpc, SchedulerGrpcServer};
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult, CreateUpdateSessionParams,
    CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult, ExecutorRegistration, ExecutorStoppedParams,
    ExecutorStoppedResult, FailedJob, GetJobMetricsParams, GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult,
    HeartBeatParams, HeartBeatResult, JobStageMetrics, JobStatus, PollWorkParams, PollWorkResult, RegisterExecutorParams,
    RegisterExecutorResult, RemoveSessionParams, RemoveSessionResult, TaskStatus, UpdateTaskStatusParams, UpdateTaskStatusResult,
    execute_query_result, executor_resource, failed_task, job_status, task_status,
};
use ballista_scheduler::cluster::{BallistaCluster, JobState};
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use ballista_scheduler::scheduler_server::{JobIdGenerator, SchedulerServer};
use datafusion::common::Result;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use rorqual_query::{QueryShares, ScanContext};
use rorqual_shell::message;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

type Inner = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// Serves until `ended`.
///
/// # Errors
/// A sentence for people.
pub(crate) async fn serve(
    listener: TcpListener,
    address: SocketAddr,
    trust: &Trust,
    shares: QueryShares,
    ended: impl Future<Output = ()>,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("the scheduler: {error}");
    let watch = Arc::<Mutex<ClusterWatch>>::default();
    let names = Arc::new(WatchedNames(Arc::clone(&watch)));
    let config = Arc::new(SchedulerConfig { job_id_generator: Some(names), ..config(address, trust, shares) });
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(|error| failed(&error))?;
    let jobs = cluster.job_state();
    let inner = create_scheduler(cluster, config).await.map_err(|error| failed(&error))?;
    let scheduler = Arc::new(WatchedScheduler { inner, jobs, watch });
    let service = SchedulerGrpcServer::from_arc(Arc::clone(&scheduler))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let router = trust.server().map_err(|error| failed(&error))?.add_service(service);
    let served = router.serve_with_incoming_shutdown(TcpIncoming::from(listener), ended);
    tokio::select! {
        served = served => served.map_err(|error| failed(&error)),
        () = scheduler.keep_looking() => Ok(()),
    }
}

fn config(address: SocketAddr, trust: &Trust, shares: QueryShares) -> SchedulerConfig {
    let codec = Arc::new(ScanCodec::new(&ScanContext::of_tasks(shares, 0), ClusterFiles::Unopened));
    let endpoint = trust.clone();
    SchedulerConfig {
        bind_host: address.ip().to_string(),
        bind_port: address.port(),
        external_host: address.ip().to_string(),
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        executor_timeout_seconds: ENGINE_TIMEOUT.as_secs(),
        expire_dead_executor_interval_seconds: LOOK_EVERY.as_secs(),
        no_executors_grace_period_seconds: NO_EXECUTORS_MAX.as_secs(),
        // Both go with their client, and not while it still reads.
        finished_job_data_clean_up_interval_seconds: 0,
        finished_job_state_clean_up_interval_seconds: 0,
        grpc_server_max_decoding_message_size: MESSAGE_BYTES_MAX as u32,
        grpc_server_max_encoding_message_size: MESSAGE_BYTES_MAX as u32,
        grpc_client_max_message_size: MESSAGE_BYTES_MAX as u32,
        override_physical_codec: Some(codec),
        override_session_builder: Some(Arc::new(session)),
        override_create_grpc_client_endpoint: Some(Arc::new(move |to| endpoint.endpoint(&to))),
        use_tls: trust.has_key(),
        ..SchedulerConfig::default()
    }
}

/// A session for the plans of a client. It opens no file.
fn session(config: SessionConfig) -> Result<SessionState> {
    let stores = ClusterStores::new(ClusterFiles::Below(None));
    let runtime = RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(stores)).build_arc()?;
    let state = SessionStateBuilder::new().with_config(config.upgrade_for_ballista()).with_runtime_env(runtime);
    let mut state = state.with_default_features().build();
    let (trunc, aggregates) = rorqual_query::functions();
    datafusion::execution::FunctionRegistry::register_udf(&mut state, Arc::new(trunc))?;
    for aggregate in aggregates {
        datafusion::execution::FunctionRegistry::register_udaf(&mut state, Arc::new(aggregate))?;
    }
    Ok(state)
}

/// The engine's scheduler, with an eye on clients and executors.
#[derive(Clone)]
struct WatchedScheduler {
    inner: Inner,
    /// Plans and places of results of jobs that ended, until they are removed.
    jobs: Arc<dyn JobState>,
    watch: Arc<Mutex<ClusterWatch>>,
}

/// Executors and jobs by their names.
#[derive(Default)]
struct ClusterWatch {
    executors: HashMap<String, WatchedExecutor>,
    jobs: HashMap<String, WatchedJob>,
    /// Jobs of executors that were lost: one that comes back has their files still.
    lost: HashMap<String, JobFolders>,
}

/// Jobs of which an executor may have files, with the time when it was first told to remove them.
type JobFolders = HashMap<String, Option<Instant>>;

struct WatchedExecutor {
    heard: Instant,
    /// Its address, for messages.
    name: String,
    threads: u32,
    /// Tasks that it has, by job, stage and number.
    tasks: HashSet<(String, u32, u32)>,
    /// Since when it has said that it works on fewer.
    missing_since: Option<Instant>,
    folders: JobFolders,
}

/// A poll of an executor, as far as it is watched.
struct WatchedPoll {
    id: String,
    name: String,
    threads: u32,
    /// Threads that work.
    busy: u32,
    /// Tasks that ended.
    ended: Vec<(String, u32, u32)>,
    /// Jobs of tasks that ended since they could not get the rows of another executor.
    broken: Vec<String>,
}

struct WatchedJob {
    session: String,
    /// The last question of its client.
    asked: Instant,
    /// Reason for which its client has to start it again.
    again: Option<String>,
}

/// Jobs and executors to be ended.
#[derive(Default)]
struct Endings {
    /// By name and session: the clients are gone.
    left: Vec<(String, String)>,
    /// Jobs that lost an executor.
    again: Vec<String>,
    /// Executors that are lost, or have lost tasks.
    executors: Vec<String>,
}

/// Start of the error of a job that its client has to start again.
pub(crate) const AGAIN: &str = "rorqual-again: ";

/// Name of no job, whose metrics are those of the cluster.
pub(crate) const NO_JOB: &str = "";

/// Lost executors of which the files are remembered, at most.
const LOST_MAX: usize = 1_000;

/// A job that was cancelled is in the list of those that ended after a moment: it is looked for so
/// often, with such pauses.
const FORGET_TRIES: usize = 20;
const FORGET_EVERY: Duration = Duration::from_millis(50);

/// Names of jobs, which are watched before the engine gives their first task.
struct WatchedNames(Arc<Mutex<ClusterWatch>>);

#[async_trait::async_trait]
impl JobIdGenerator for WatchedNames {
    async fn next_id(&self) -> String {
        let id = ballista_core::ids::new_instance_id();
        let job = WatchedJob { session: String::new(), asked: Instant::now(), again: None };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).jobs.insert(id.clone(), job);
        id
    }
}

impl WatchedPoll {
    /// The parts of a poll; `None` if it does not say who polls.
    fn of(poll: &PollWorkParams) -> Option<Self> {
        let metadata = poll.metadata.as_ref()?;
        let is_whole = metadata.host.is_some() && metadata.specification.is_some() && metadata.os_info.is_some();
        let threads = threads(metadata);
        let ended = poll.task_status.iter().map(|task| (task.job_id.clone(), task.stage_id, task.task_id)).collect();
        let busy = threads.saturating_sub(poll.num_free_vcores);
        let broken = poll.task_status.iter().filter(|task| has_lost_input(task)).map(|task| task.job_id.clone()).collect();
        is_whole.then(|| Self { id: metadata.id.clone(), name: name(metadata), threads, busy, ended, broken })
    }
}

/// True if a task ended since it could not get the rows of another executor.
fn has_lost_input(task: &TaskStatus) -> bool {
    let Some(task_status::Status::Failed(failed)) = &task.status else { return false };
    matches!(failed.failed_reason, Some(failed_task::FailedReason::FetchPartitionError(_)))
}

fn name(metadata: &ExecutorRegistration) -> String {
    format!("{}:{}", metadata.host.as_deref().unwrap_or_default(), metadata.port)
}

fn threads(metadata: &ExecutorRegistration) -> u32 {
    let resources = metadata.specification.iter().flat_map(|specification| &specification.resources);
    let threads = resources.filter_map(|resource| match resource.resource {
        Some(executor_resource::Resource::Vcores(threads)) => Some(threads),
        _ => None,
    });
    threads.sum()
}

impl ClusterWatch {
    /// An executor asks for work, and tells which tasks ended.
    fn heard(&mut self, poll: WatchedPoll) {
        let WatchedPoll { id, name, threads, busy, ended, .. } = poll;
        let lost = &mut self.lost;
        let executor = self.executors.entry(id).or_insert_with_key(|id| {
            message::note(&format!("executor {name}: {threads} threads"));
            let folders = lost.remove(id).unwrap_or_default();
            WatchedExecutor { heard: Instant::now(), name, threads, tasks: HashSet::new(), missing_since: None, folders }
        });
        executor.heard = Instant::now();
        for task in &ended {
            executor.tasks.remove(task);
        }
        executor.missing_since =
            if executor.tasks.len() > busy as usize { executor.missing_since.or(Some(executor.heard)) } else { None };
    }

    /// True if tasks of a job are of use.
    fn wants(&self, job: &str) -> bool {
        self.jobs.get(job).is_some_and(|job| job.again.is_none())
    }

    /// An executor is given tasks; the jobs whose files it is to remove.
    fn given(&mut self, id: &str, tasks: impl Iterator<Item = (String, u32, u32)>) -> Vec<String> {
        let Some(executor) = self.executors.get_mut(id) else { return Vec::new() };
        for task in tasks {
            executor.folders.insert(task.0.clone(), None);
            executor.tasks.insert(task);
        }
        let mut removed = Vec::new();
        let jobs = &self.jobs;
        executor.folders.retain(|job, told| {
            let is_due = !jobs.contains_key(job) && told.is_none_or(|told| told.elapsed() > REMOVE_AGAIN_AFTER);
            if is_due {
                removed.push(job.clone());
                // The second time is the last.
                return told.replace(Instant::now()).is_none();
            }
            true
        });
        removed
    }

    /// Removes an executor; the jobs that had tasks there, which are to be ended.
    fn remove(&mut self, id: &str, why: &str) -> Vec<String> {
        let Some(executor) = self.executors.remove(id) else { return Vec::new() };
        let name = &executor.name;
        message::note(&format!("executor {name}: {why}"));
        let jobs: Vec<String> = executor.folders.keys().cloned().collect();
        if !jobs.is_empty() && self.lost.len() < LOST_MAX {
            self.lost.insert(id.to_owned(), jobs.iter().map(|job| (job.clone(), None)).collect());
        }
        self.again(&jobs, &format!("the executor at {name} was lost"))
    }

    /// Marks jobs that lost an executor; gives those that were not marked yet, to be ended.
    fn again(&mut self, jobs: &[String], reason: &str) -> Vec<String> {
        let mut ended = Vec::new();
        for id in jobs {
            if let Some(job) = self.jobs.get_mut(id).filter(|job| job.again.is_none()) {
                job.again = Some(reason.to_owned());
                ended.push(id.clone());
            }
        }
        self.drop_tasks(&ended);
        ended
    }

    /// A job has ended, or its client wants no more of it.
    fn forget(&mut self, job: &str) {
        self.jobs.remove(job);
        self.drop_tasks(&[job.to_owned()]);
    }

    /// Tasks of jobs that ended are not missed: an executor may be told to end one that it has not
    /// begun.
    fn drop_tasks(&mut self, jobs: &[String]) {
        for executor in self.executors.values_mut() {
            executor.tasks.retain(|(job, ..)| !jobs.contains(job));
        }
    }

    /// Finds out what was not heard of.
    fn look(&mut self) -> Endings {
        let mut ending = Endings::default();
        let silent = self.executors.iter().filter(|(_, executor)| executor.heard.elapsed() > EXECUTOR_TIMEOUT);
        let silent: Vec<String> = silent.map(|(id, _)| id.clone()).collect();
        let is_confused =
            |executor: &WatchedExecutor| executor.missing_since.is_some_and(|since| since.elapsed() > TASKS_MISSING_MAX);
        let confused = self.executors.iter().filter(|(id, executor)| is_confused(executor) && !silent.contains(id));
        let confused: Vec<String> = confused.map(|(id, _)| id.clone()).collect();
        for id in &silent {
            ending.again.extend(self.remove(id, "lost"));
        }
        for id in &confused {
            ending.again.extend(self.remove(id, "has lost tasks, as its connection broke"));
        }
        ending.executors = silent.into_iter().chain(confused).collect();
        let left = self.jobs.iter().filter(|(_, job)| job.asked.elapsed() > CLIENT_TIMEOUT);
        ending.left = left.map(|(id, job)| (id.clone(), job.session.clone())).collect();
        for (id, _) in &ending.left {
            self.forget(id);
        }
        ending
    }
}

impl WatchedScheduler {
    fn watch(&self) -> MutexGuard<'_, ClusterWatch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn keep_looking(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let ending = self.watch().look();
            for (job, session) in ending.left {
                self.end(&job).await;
                let _ended_anyway = self.inner.remove_session(Request::new(RemoveSessionParams { session_id: session })).await;
            }
            self.end_all(ending.again).await;
            for executor_id in ending.executors {
                // One that is still there asks again in a moment.
                let stopped = ExecutorStoppedParams { executor_id, reason: "it is lost".to_owned() };
                let _asked = self.inner.executor_stopped(Request::new(stopped)).await;
            }
        }
    }

    /// Ends jobs whose clients start them again. What they had can't be had any more: from now on
    /// their clients are told nothing else.
    async fn end_all(&self, jobs: Vec<String>) {
        let scheduler = self.clone();
        to_the_end(async move {
            for job in jobs {
                scheduler.end(&job).await;
            }
        })
        .await;
    }

    /// Ends a job, and removes its files.
    async fn end(&self, job: &str) {
        if let Err(error) = self.inner.cancel_job(job.to_owned().into()).await {
            message::note(&format!("job {job}: cannot be ended: {error}"));
        }
        self.forget(job).await;
    }

    /// Removes the plan of a job and the places of its results, once they are there. They take
    /// megabytes where it has many tasks.
    async fn forget(&self, job: &str) {
        let id: JobId = job.to_owned().into();
        for _ in 0..FORGET_TRIES {
            if self.jobs.get_execution_graph(&id).await.is_ok_and(|graph| graph.is_some()) {
                let _gone_already = self.jobs.remove_job(&id).await;
                return;
            }
            tokio::time::sleep(FORGET_EVERY).await;
        }
    }
}

/// Runs to its end, also if the caller does not wait for it: a call ends in the middle when its
/// client is gone, and an executor that stands still makes it wait.
async fn to_the_end(work: impl Future<Output = ()> + Send + 'static) {
    // Its panic has been printed.
    let _ = tokio::spawn(work).await;
}

fn unused<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("executors of rorqual ask for their tasks, and its clients ask about their jobs"))
}

#[async_trait::async_trait]
impl SchedulerGrpc for WatchedScheduler {
    type ExecuteQueryPushStream = <Inner as SchedulerGrpc>::ExecuteQueryPushStream;

    async fn poll_work(&self, request: Request<PollWorkParams>) -> Result<Response<PollWorkResult>, Status> {
        check_version(request.metadata())?;
        let Some(poll) = WatchedPoll::of(request.get_ref()) else {
            return Err(Status::invalid_argument("an executor without its address"));
        };
        let (id, broken) = (poll.id.clone(), poll.broken.clone());
        let again = self.watch().again(&broken, "rows of a lost executor could not be had");
        self.end_all(again).await;
        let mut answer = self.inner.poll_work(request).await?;
        let given = answer.get_mut();
        let mut watch = self.watch();
        watch.heard(poll);
        // The client of a job may have left while the engine chose.
        given.tasks.retain(|task| watch.wants(&task.job_id));
        let tasks = given.tasks.iter().map(|task| (task.job_id.clone(), task.stage_id, task.task_id));
        let removed =
            watch.given(&id, tasks).into_iter().map(|job_id| CleanJobDataParams { job_id, remove_stage_ids: Vec::new() });
        given.jobs_to_clean.extend(removed);
        Ok(answer)
    }

    async fn execute_query(&self, request: Request<ExecuteQueryParams>) -> Result<Response<ExecuteQueryResult>, Status> {
        check_version(request.metadata())?;
        // Any other one would be planned here, with whatever a client puts into it.
        if !matches!(request.get_ref().query, Some(Query::PhysicalPlan(_))) {
            return Err(Status::invalid_argument("plans come from `rorqual query --cluster`"));
        }
        let answer = self.inner.execute_query(request).await?;
        if let Some(execute_query_result::Result::Success(started)) = &answer.get_ref().result
            && let Some(job) = self.watch().jobs.get_mut(&started.job_id)
        {
            job.session.clone_from(&started.session_id);
        }
        Ok(answer)
    }

    async fn get_job_status(&self, request: Request<GetJobStatusParams>) -> Result<Response<GetJobStatusResult>, Status> {
        let id = request.get_ref().job_id.clone();
        let again = {
            let mut watch = self.watch();
            let Some(job) = watch.jobs.get_mut(&id) else {
                return Err(Status::not_found(
                    "the scheduler does not know the query any more: it was started anew, or was not asked about it for long",
                ));
            };
            job.asked = Instant::now();
            job.again.clone()
        };
        let Some(reason) = again else { return self.inner.get_job_status(request).await };
        let error = format!("{AGAIN}{reason}");
        let failed = job_status::Status::Failed(FailedJob { error, queued_at: 0, started_at: 0, ended_at: 0 });
        let status = JobStatus { job_id: id, job_name: String::new(), status: Some(failed) };
        Ok(Response::new(GetJobStatusResult { status: Some(status), flight_proxy: None }))
    }

    /// Metrics of a job; of [`NO_JOB`], the threads of the cluster as partitions of a stage, since
    /// the engine has no question for them.
    async fn get_job_metrics(&self, request: Request<GetJobMetricsParams>) -> Result<Response<GetJobMetricsResult>, Status> {
        check_version(request.metadata())?;
        if request.get_ref().job_id != NO_JOB {
            return self.inner.get_job_metrics(request).await;
        }
        let partitions = self.watch().executors.values().map(|executor| executor.threads).sum();
        let stage = JobStageMetrics { stage_id: 0, partitions, operators: Vec::new() };
        Ok(Response::new(GetJobMetricsResult { stages: vec![stage] }))
    }

    async fn executor_stopped(&self, request: Request<ExecutorStoppedParams>) -> Result<Response<ExecutorStoppedResult>, Status> {
        let again = self.watch().remove(&request.get_ref().executor_id, "ended");
        self.end_all(again).await;
        self.inner.executor_stopped(request).await
    }

    async fn cancel_job(&self, request: Request<CancelJobParams>) -> Result<Response<CancelJobResult>, Status> {
        let job = request.into_inner().job_id;
        self.watch().forget(&job);
        self.end_all(vec![job]).await;
        Ok(Response::new(CancelJobResult { cancelled: true }))
    }

    /// The client has all rows and notes of a job.
    async fn clean_job_data(&self, request: Request<CleanJobDataParams>) -> Result<Response<CleanJobDataResult>, Status> {
        let job = request.get_ref().job_id.clone();
        self.watch().forget(&job);
        let answer = self.inner.clean_job_data(request).await;
        let scheduler = self.clone();
        to_the_end(async move { scheduler.forget(&job).await }).await;
        answer
    }

    async fn remove_session(&self, request: Request<RemoveSessionParams>) -> Result<Response<RemoveSessionResult>, Status> {
        self.inner.remove_session(request).await
    }

    async fn create_update_session(
        &self,
        _: Request<CreateUpdateSessionParams>,
    ) -> Result<Response<CreateUpdateSessionResult>, Status> {
        unused()
    }

    async fn execute_query_push(&self, _: Request<ExecuteQueryParams>) -> Result<Response<Self::ExecuteQueryPushStream>, Status> {
        unused()
    }

    async fn register_executor(&self, _: Request<RegisterExecutorParams>) -> Result<Response<RegisterExecutorResult>, Status> {
        unused()
    }

    async fn heart_beat_from_executor(&self, _: Request<HeartBeatParams>) -> Result<Response<HeartBeatResult>, Status> {
        unused()
    }

    async fn update_task_status(&self, _: Request<UpdateTaskStatusParams>) -> Result<Response<UpdateTaskStatusResult>, Status> {
        unused()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ballista_core::serde::protobuf::{
        ExecutionError, ExecutorOperatingSystemSpecification, ExecutorResource, ExecutorSpecification, FailedTask,
        FetchPartitionError,
    };

    fn params(id: &str, free: u32) -> PollWorkParams {
        let threads = executor_resource::Resource::Vcores(2);
        let specification = ExecutorSpecification { resources: vec![ExecutorResource { resource: Some(threads) }] };
        let metadata = ExecutorRegistration {
            id: id.to_owned(),
            host: Some("host".to_owned()),
            specification: Some(specification),
            os_info: Some(ExecutorOperatingSystemSpecification::default()),
            ..ExecutorRegistration::default()
        };
        PollWorkParams { metadata: Some(metadata), num_free_vcores: free, task_status: Vec::new() }
    }

    fn poll(id: &str, free: u32) -> WatchedPoll {
        WatchedPoll::of(&params(id, free)).expect("it says who polls")
    }

    fn task(job: &str, number: u32) -> (String, u32, u32) {
        (job.to_owned(), 1, number)
    }

    fn long_ago() -> Instant {
        Instant::now()
            .checked_sub(EXECUTOR_TIMEOUT.max(CLIENT_TIMEOUT) + Duration::from_secs(1))
            .expect("a machine that runs for a while")
    }

    fn job(watch: &mut ClusterWatch, id: &str) {
        let job = WatchedJob { session: "session".to_owned(), asked: Instant::now(), again: None };
        watch.jobs.insert(id.to_owned(), job);
    }

    /// The jobs that had a task on a lost executor are started again, and no other; one that had
    /// ended there as well, as its results are gone.
    #[test]
    fn jobs_that_lose_an_executor_are_started_again() {
        let mut watch = ClusterWatch::default();
        for id in ["running", "ended there", "elsewhere"] {
            job(&mut watch, id);
        }
        watch.heard(poll("lost", 0));
        watch.heard(poll("other", 0));
        let _ = watch.given("lost", [task("running", 1), task("ended there", 1)].into_iter());
        let _ = watch.given("other", [task("elsewhere", 1), task("running", 2)].into_iter());
        let mut ended = params("lost", 1);
        let job_id = "ended there".to_owned();
        ended.task_status.push(TaskStatus { job_id, stage_id: 1, task_id: 1, ..TaskStatus::default() });
        watch.heard(WatchedPoll::of(&ended).expect("it says who polls"));
        assert!(watch.look().again.is_empty());
        watch.executors.get_mut("lost").expect("it is there").heard = long_ago();
        let mut ending = watch.look();
        ending.again.sort_unstable();
        assert_eq!(
            (ending.again, ending.executors),
            (vec!["ended there".to_owned(), "running".to_owned()], vec!["lost".to_owned()])
        );
        assert!(watch.jobs["running"].again.as_deref().expect("a reason").contains("host:0"));
        assert_eq!(watch.jobs["elsewhere"].again, None);
        assert!(watch.look().again.is_empty());
    }

    /// A task that could not get the rows of another one has its job started again at once.
    #[test]
    fn lost_rows_are_seen_before_their_executor_is_missed() {
        let mut polled = params("executor", 2);
        let lost = failed_task::FailedReason::FetchPartitionError(FetchPartitionError::default());
        for (job, failed_reason) in
            [("broken", Some(lost)), ("wrong", Some(failed_task::FailedReason::ExecutionError(ExecutionError {})))]
        {
            let status = Some(task_status::Status::Failed(FailedTask { failed_reason, ..FailedTask::default() }));
            polled.task_status.push(TaskStatus { job_id: job.to_owned(), status, ..TaskStatus::default() });
        }
        assert_eq!(WatchedPoll::of(&polled).expect("it says who polls").broken, ["broken"]);
    }

    #[test]
    fn a_job_that_nobody_asks_about_is_ended() {
        let mut watch = ClusterWatch::default();
        job(&mut watch, "left");
        job(&mut watch, "asked");
        watch.jobs.get_mut("left").expect("it is there").asked = long_ago();
        assert_eq!(watch.look().left, [("left".to_owned(), "session".to_owned())]);
        assert_eq!(watch.jobs.keys().collect::<Vec<_>>(), ["asked"]);
    }

    /// An executor that says it is idle for seconds while it has a task never got it, or never told
    /// of its end.
    #[test]
    fn tasks_that_an_executor_does_not_know_are_given_again() {
        let mut watch = ClusterWatch::default();
        job(&mut watch, "job");
        watch.heard(poll("executor", 2));
        let _ = watch.given("executor", [task("job", 1)].into_iter());
        // It has just been given the task.
        watch.heard(poll("executor", 1));
        assert_eq!(watch.executors["executor"].missing_since, None);
        watch.heard(poll("executor", 2));
        assert!(watch.look().executors.is_empty());
        watch.executors.get_mut("executor").expect("it is there").missing_since = Some(long_ago());
        // One poll that knows the task starts the time anew.
        watch.heard(poll("executor", 1));
        assert!(watch.look().executors.is_empty());
        watch.heard(poll("executor", 2));
        watch.executors.get_mut("executor").expect("it is there").missing_since = Some(long_ago());
        let ending = watch.look();
        assert_eq!((ending.executors, ending.again), (vec!["executor".to_owned()], vec!["job".to_owned()]));
        assert!(watch.executors.is_empty() && watch.look().executors.is_empty());
    }

    /// Files are removed when their job ended, once more after a while, and also by an executor
    /// that was lost meanwhile.
    #[test]
    fn files_of_jobs_are_removed_twice_and_by_those_that_come_back() {
        let mut watch = ClusterWatch::default();
        job(&mut watch, "job");
        watch.heard(poll("executor", 2));
        assert!(watch.given("executor", [task("job", 1)].into_iter()).is_empty());
        watch.executors.get_mut("executor").expect("it is there").heard = long_ago();
        let _ = watch.look();
        watch.jobs.remove("job");
        watch.heard(poll("executor", 2));
        assert_eq!(watch.given("executor", std::iter::empty()), ["job"]);
        assert!(watch.given("executor", std::iter::empty()).is_empty());
        watch.executors.get_mut("executor").expect("it is there").folders.insert("job".to_owned(), Some(long_ago()));
        assert_eq!(watch.given("executor", std::iter::empty()), ["job"]);
        assert!(watch.executors["executor"].folders.is_empty());
    }
}
