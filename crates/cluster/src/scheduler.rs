//! The scheduler: takes plans from clients and deals their tasks out to executors, which ask for
//! them.
//!
//! The engine's own scheduler does that. [`WatchedScheduler`] stands before it: it ends jobs whose
//! clients are gone, and those that lose one executor after the other, which the engine would give
//! to the next one for ever.

use crate::codec::ScanCodec;
use crate::files::{ClusterFiles, ClusterStores};
use crate::limits::{
    CLIENT_TIMEOUT, EXECUTOR_TIMEOUT, EXECUTORS_LOST_MAX, LOOK_EVERY, MESSAGE_BYTES_MAX, NO_EXECUTORS_MAX, RESULTS_KEPT,
};
use crate::trust::Trust;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::scheduler_grpc_server::{SchedulerGrpc, SchedulerGrpcServer};
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult, CreateUpdateSessionParams,
    CreateUpdateSessionResult, ExecuteQueryParams, ExecuteQueryResult, ExecutorRegistration, ExecutorStoppedParams,
    ExecutorStoppedResult, FailedJob, GetJobMetricsParams, GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult,
    HeartBeatParams, HeartBeatResult, JobStageMetrics, JobStatus, PollWorkParams, PollWorkResult, RegisterExecutorParams,
    RegisterExecutorResult, RemoveSessionParams, RemoveSessionResult, UpdateTaskStatusParams, UpdateTaskStatusResult,
    execute_query_result, executor_resource, job_status,
};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use ballista_scheduler::scheduler_server::SchedulerServer;
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
use std::time::Instant;
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
    let config = Arc::new(config(address, trust, shares));
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(|error| failed(&error))?;
    let inner = create_scheduler(cluster, config).await.map_err(|error| failed(&error))?;
    let scheduler = Arc::new(WatchedScheduler { inner, watch: Mutex::default() });
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
        executor_timeout_seconds: EXECUTOR_TIMEOUT.as_secs(),
        expire_dead_executor_interval_seconds: LOOK_EVERY.as_secs(),
        no_executors_grace_period_seconds: NO_EXECUTORS_MAX.as_secs(),
        finished_job_data_clean_up_interval_seconds: RESULTS_KEPT.as_secs(),
        finished_job_state_clean_up_interval_seconds: RESULTS_KEPT.as_secs(),
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
    let (trunc, sum) = rorqual_query::functions();
    datafusion::execution::FunctionRegistry::register_udf(&mut state, Arc::new(trunc))?;
    datafusion::execution::FunctionRegistry::register_udaf(&mut state, Arc::new(sum))?;
    Ok(state)
}

/// The engine's scheduler, with an eye on clients and executors.
struct WatchedScheduler {
    inner: Inner,
    watch: Mutex<ClusterWatch>,
}

/// Executors and jobs by their names.
#[derive(Default)]
struct ClusterWatch {
    executors: HashMap<String, WatchedExecutor>,
    jobs: HashMap<String, WatchedJob>,
}

struct WatchedExecutor {
    heard: Instant,
    /// Its address, for messages.
    name: String,
    threads: u32,
    /// Tasks that it has, by job, stage and number.
    tasks: HashSet<(String, u32, u32)>,
}

struct WatchedJob {
    session: String,
    /// The last question of its client.
    asked: Instant,
    executors_lost: usize,
    /// Reason for which it was ended.
    ended: Option<String>,
}

/// Jobs to be ended.
#[derive(Default)]
struct EndingJobs {
    /// By name and session: the clients are gone.
    left: Vec<(String, String)>,
    /// Jobs that lost too many executors.
    failed: Vec<String>,
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
    fn heard(&mut self, asked: &PollWorkParams) {
        let Some(metadata) = &asked.metadata else { return };
        let executor = self.executors.entry(metadata.id.clone()).or_insert_with(|| {
            let (name, threads) = (name(metadata), threads(metadata));
            message::note(&format!("executor {name}: {threads} threads"));
            WatchedExecutor { heard: Instant::now(), name, threads, tasks: HashSet::new() }
        });
        executor.heard = Instant::now();
        for task in &asked.task_status {
            executor.tasks.remove(&(task.job_id.clone(), task.stage_id, task.task_id));
        }
    }

    /// Finds out what was not heard of.
    fn look(&mut self) -> EndingJobs {
        let mut ending = EndingJobs::default();
        let lost: Vec<String> = self
            .executors
            .iter()
            .filter(|(_, executor)| executor.heard.elapsed() > EXECUTOR_TIMEOUT)
            .map(|(id, _)| id.clone())
            .collect();
        for executor in lost.iter().filter_map(|id| self.executors.remove(id)) {
            let name = &executor.name;
            message::note(&format!("executor {name}: lost; its tasks go to others"));
            let jobs: HashSet<&String> = executor.tasks.iter().map(|(job, ..)| job).collect();
            for id in jobs {
                let Some(job) = self.jobs.get_mut(id) else { continue };
                job.executors_lost += 1;
                let lost = job.executors_lost;
                if lost > EXECUTORS_LOST_MAX && job.ended.is_none() {
                    job.ended = Some(format!(
                        "{lost} executors were lost while they worked on the query, the last one {name}: it may be what ends them, \
                         so it is given to no other"
                    ));
                    ending.failed.push(id.clone());
                }
            }
        }
        self.jobs.retain(|id, job| {
            let is_left = job.asked.elapsed() > CLIENT_TIMEOUT;
            if is_left {
                ending.left.push((id.clone(), job.session.clone()));
            }
            !is_left
        });
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
            for job in ending.failed {
                self.end(&job).await;
            }
        }
    }

    /// Ends a job, and removes its files.
    async fn end(&self, job: &str) {
        if let Err(error) = self.inner.cancel_job(job.to_owned().into()).await {
            message::note(&format!("job {job}: cannot be ended: {error}"));
        }
    }
}

fn unused<T>() -> Result<Response<T>, Status> {
    Err(Status::unimplemented("executors of rorqual ask for their tasks, and its clients ask about their jobs"))
}

#[async_trait::async_trait]
impl SchedulerGrpc for WatchedScheduler {
    type ExecuteQueryPushStream = <Inner as SchedulerGrpc>::ExecuteQueryPushStream;

    async fn poll_work(&self, request: Request<PollWorkParams>) -> Result<Response<PollWorkResult>, Status> {
        let Some(metadata) = &request.get_ref().metadata else { return Err(Status::invalid_argument("no executor")) };
        if metadata.host.is_none() || metadata.specification.is_none() || metadata.os_info.is_none() {
            return Err(Status::invalid_argument("an executor without its address"));
        }
        let executor = metadata.id.clone();
        self.watch().heard(request.get_ref());
        let answer = self.inner.poll_work(request).await?;
        let tasks = answer.get_ref().tasks.iter().map(|task| (task.job_id.clone(), task.stage_id, task.task_id));
        if let Some(executor) = self.watch().executors.get_mut(&executor) {
            executor.tasks.extend(tasks);
        }
        Ok(answer)
    }

    async fn execute_query(&self, request: Request<ExecuteQueryParams>) -> Result<Response<ExecuteQueryResult>, Status> {
        // Any other one would be planned here, with whatever a client puts into it.
        if !matches!(request.get_ref().query, Some(Query::PhysicalPlan(_))) {
            return Err(Status::invalid_argument("plans come from `rorqual query --cluster`"));
        }
        let answer = self.inner.execute_query(request).await?;
        if let Some(execute_query_result::Result::Success(started)) = &answer.get_ref().result {
            let session = started.session_id.clone();
            let job = WatchedJob { session, asked: Instant::now(), executors_lost: 0, ended: None };
            self.watch().jobs.insert(started.job_id.clone(), job);
        }
        Ok(answer)
    }

    async fn get_job_status(&self, request: Request<GetJobStatusParams>) -> Result<Response<GetJobStatusResult>, Status> {
        let id = request.get_ref().job_id.clone();
        let ended = {
            let mut watch = self.watch();
            let Some(job) = watch.jobs.get_mut(&id) else {
                return Err(Status::not_found(
                    "the scheduler does not know the query any more: it was started anew, or was not asked about it for long",
                ));
            };
            job.asked = Instant::now();
            job.ended.clone()
        };
        let Some(error) = ended else { return self.inner.get_job_status(request).await };
        let failed = job_status::Status::Failed(FailedJob { error, queued_at: 0, started_at: 0, ended_at: 0 });
        let status = JobStatus { job_id: id, job_name: String::new(), status: Some(failed) };
        Ok(Response::new(GetJobStatusResult { status: Some(status), flight_proxy: None }))
    }

    /// Metrics of a job; of none, the threads of the cluster as partitions of a stage, since the
    /// engine has no question for them.
    async fn get_job_metrics(&self, request: Request<GetJobMetricsParams>) -> Result<Response<GetJobMetricsResult>, Status> {
        if !request.get_ref().job_id.is_empty() {
            return self.inner.get_job_metrics(request).await;
        }
        let partitions = self.watch().executors.values().map(|executor| executor.threads).sum();
        let stage = JobStageMetrics { stage_id: 0, partitions, operators: Vec::new() };
        Ok(Response::new(GetJobMetricsResult { stages: vec![stage] }))
    }

    async fn executor_stopped(&self, request: Request<ExecutorStoppedParams>) -> Result<Response<ExecutorStoppedResult>, Status> {
        if let Some(executor) = self.watch().executors.remove(&request.get_ref().executor_id) {
            message::note(&format!("executor {}: ended", executor.name));
        }
        self.inner.executor_stopped(request).await
    }

    async fn cancel_job(&self, request: Request<CancelJobParams>) -> Result<Response<CancelJobResult>, Status> {
        self.watch().jobs.remove(&request.get_ref().job_id);
        SchedulerGrpc::cancel_job(&self.inner, request).await
    }

    async fn clean_job_data(&self, request: Request<CleanJobDataParams>) -> Result<Response<CleanJobDataResult>, Status> {
        self.watch().jobs.remove(&request.get_ref().job_id);
        self.inner.clean_job_data(request).await
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
