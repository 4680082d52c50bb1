//! An executor: asks the scheduler for tasks, works on them in its memory, and serves their results
//! to other executors and to clients, on one port.

use crate::client::{SchedulerClient, refused, scheduler_client};
use crate::codec::ScanCodec;
use crate::files::{ClusterFiles, ClusterStores};
use crate::limits::{LOOK_EVERY, MESSAGE_BYTES_MAX, PIECES_AHEAD, SHUFFLE_LOOK_EVERY};
use crate::results::{JobResults, is_job};
use crate::scheduler::NO_JOB;
use crate::tasks::{RunningTasks, TaskEngine};
use crate::trust::{Trust, bracketed};
use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::BallistaLogicalExtensionCodec;
use ballista_core::serde::protobuf::executor_grpc_server::{ExecutorGrpc, ExecutorGrpcServer};
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, ExecutorOperatingSystemSpecification, ExecutorRegistration, ExecutorResource,
    ExecutorSpecification, ExecutorStoppedParams, GetJobMetricsParams, LaunchMultiTaskParams, LaunchMultiTaskResult,
    LaunchTaskParams, LaunchTaskResult, RemoveJobDataParams, RemoveJobDataResult, StopExecutorParams, StopExecutorResult,
    executor_resource,
};
use ballista_core::{BALLISTA_PROTOCOL_VERSION, ids::new_instance_id};
use ballista_executor::execution_engine::DefaultExecutionEngine;
use ballista_executor::execution_loop::poll_loop;
use ballista_executor::executor::Executor;
use ballista_executor::health::ExecutorHealth;
use ballista_executor::metrics::LoggingMetricsCollector;
use ballista_executor::runtime_cache::DefaultSessionRuntimeCache;
use datafusion::common::Result;
use datafusion::config::SpillCompression;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use rorqual_pipe::format_size;
use rorqual_query::{QueryShares, ScanContext, TempFolder, operators_pool};
use rorqual_shell::message;
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tonic::transport::Endpoint;
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};

/// Settings of an executor.
pub(crate) struct ExecutorSettings {
    /// Host and port of the scheduler.
    pub(crate) scheduler: (String, u16),
    /// Name under which other machines reach this one.
    pub(crate) host: String,
    pub(crate) trust: Trust,
    pub(crate) shares: QueryShares,
    pub(crate) files: ClusterFiles,
    pub(crate) temp: Arc<TempFolder>,
    pub(crate) temp_bytes_max: u64,
}

/// Works until `ended`, or until the scheduler refuses it.
///
/// # Errors
/// A sentence for people.
pub(crate) async fn work(
    listener: TcpListener,
    address: SocketAddr,
    settings: &ExecutorSettings,
    ended: impl Future<Output = ()>,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("the executor: {error}");
    let shuffle = settings.temp.path().join("shuffle");
    std::fs::create_dir(&shuffle).map_err(|cause| failed(&rorqual_pipe::reason(&cause)))?;
    let running = Arc::new(RunningTasks::new(settings.shares, &settings.temp, &format!("{}:{}", settings.host, address.port())));
    let executor = Arc::new(executor(address, settings, &shuffle, &running)?);
    let mut scheduler = connect(settings)?;
    let mut server = settings.trust.server().map_err(|error| failed(&error))?;
    let flight = FlightServiceServer::new(JobResults::new(shuffle.display().to_string()))
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX);
    let control = ExecutorGrpcServer::new(TaskControl {
        executor: Arc::clone(&executor),
        shuffle: shuffle.clone(),
        running: Arc::clone(&running),
    });
    let served = server.add_service(flight).add_service(control).serve_with_incoming(TcpIncoming::from(listener));
    let context = ScanContext::of_tasks(settings.shares, PIECES_AHEAD * settings.shares.threads);
    let scans = Arc::new(ScanCodec::new(&context, settings.files.clone()));
    let codec: BallistaCodec<LogicalPlanNode, PhysicalPlanNode> =
        BallistaCodec::new(Arc::new(BallistaLogicalExtensionCodec::default()), scans);
    let polled = poll_loop(scheduler.clone(), Arc::clone(&executor), codec, None, None, ExecutorHealth::new());
    let (host, port) = &settings.scheduler;
    let name = format!("{}:{port}", bracketed(host));
    let watched = watch_scheduler(scheduler.clone(), &name, settings.trust.has_key());
    let bounded = keep_bound(settings, &shuffle, &running);
    let outcome = tokio::select! {
        served = served => served.map_err(|error| failed(&error)),
        polled = polled => polled.map_err(|error| failed(&error)),
        reason = watched => Err(failed(&reason)),
        () = bounded => Ok(()),
        () = ended => Ok(()),
    };
    // A scheduler that hears nothing more waits for this executor for seconds.
    let said = ExecutorStoppedParams { executor_id: executor.metadata.id.clone(), reason: "ended".to_owned() };
    let _gone_anyway = tokio::time::timeout(LOOK_EVERY, scheduler.executor_stopped(said)).await;
    outcome
}

/// A connection to the scheduler. It is made once it is needed, and again when it broke: machines
/// start in any order.
fn connect(settings: &ExecutorSettings) -> Result<SchedulerClient, String> {
    let (host, port) = &settings.scheduler;
    settings.trust.check_scheduler(host)?;
    let url = settings.trust.url(host, *port);
    let endpoint = Endpoint::from_shared(url).map_err(|error| format!("--scheduler {host}:{port}: {error}"))?;
    let endpoint = settings.trust.endpoint(&endpoint).map_err(|error| error.to_string())?;
    Ok(scheduler_client(endpoint.connect_lazy()))
}

/// Asks the scheduler whether it answers, as the engine waits for it without a word. Says once that
/// it does not; ends with the reason for which it refuses this executor for ever.
async fn watch_scheduler(mut scheduler: SchedulerClient, name: &str, has_key: bool) -> String {
    let mut is_told = false;
    loop {
        match scheduler.get_job_metrics(GetJobMetricsParams { job_id: NO_JOB.to_owned() }).await {
            Ok(_) => is_told = false,
            Err(status) if status.code() == Code::FailedPrecondition => return status.message().to_owned(),
            Err(status) => {
                if !std::mem::replace(&mut is_told, true) {
                    message::note(&refused(name, &status, has_key, "--key").message());
                }
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn executor(
    address: SocketAddr,
    settings: &ExecutorSettings,
    shuffle: &Path,
    running: &Arc<RunningTasks>,
) -> Result<Executor, String> {
    let shares = settings.shares;
    let stores = Arc::new(ClusterStores::new(settings.files.clone()));
    let shared = rorqual_query::runtime(&shares, &settings.temp, settings.temp_bytes_max).with_object_store_registry(stores);
    let shared = shared.build_arc().map_err(|error| error.to_string())?;
    let base = Arc::new(move |_: &SessionConfig| Ok(Arc::clone(&shared)));
    // All tasks share stores, footers and the folder; each has its part of the memory.
    let policy = Arc::new(move |base: Arc<RuntimeEnv>, _: &SessionConfig, threads: u32| {
        let bytes = shares.operators_bytes / shares.threads as u64 * u64::from(threads.max(1));
        RuntimeEnvBuilder::from_runtime_env(&base).with_memory_pool(operators_pool(bytes)).build_arc()
    });
    let sessions = DefaultSessionRuntimeCache::new(base, policy, 1);
    let trust = settings.trust.clone();
    let config = Arc::new(move || {
        let trust = trust.clone();
        let config = SessionConfig::new_with_ballista().with_spill_compression(SpillCompression::Lz4Frame);
        config
            .with_ballista_use_tls(trust.has_key())
            .with_ballista_override_create_grpc_client_endpoint(Arc::new(move |to| trust.endpoint(&to)))
    });
    let Some(work_dir) = shuffle.to_str() else { return Err(format!("{}: is no UTF-8", shuffle.display())) };
    let unused = Arc::new(|_: &SessionConfig| Ok(Arc::new(RuntimeEnv::default())));
    let engine = Arc::new(TaskEngine::new(DefaultExecutionEngine::new(), shares, running));
    let executor = Executor::new(
        registration(address, settings),
        work_dir,
        unused,
        config,
        Arc::new(functions()),
        Arc::new(LoggingMetricsCollector::default()),
        shares.threads,
        engine,
    );
    Ok(executor.with_session_runtime_cache(Some(Arc::new(sessions))))
}

/// Functions of plans: those of the engine, also of arrays and maps, and ours in place of some.
fn functions() -> BallistaFunctionRegistry {
    let state = SessionStateBuilder::new().with_default_features().build();
    let (trunc, aggregates) = rorqual_query::functions();
    let mut functions = BallistaFunctionRegistry::default();
    functions
        .scalar_functions
        .extend(state.scalar_functions().iter().map(|(name, function)| (name.clone(), Arc::clone(function))));
    functions
        .aggregate_functions
        .extend(state.aggregate_functions().iter().map(|(name, function)| (name.clone(), Arc::clone(function))));
    functions
        .window_functions
        .extend(state.window_functions().iter().map(|(name, function)| (name.clone(), Arc::clone(function))));
    functions.scalar_functions.insert(trunc.name().to_owned(), Arc::new(trunc));
    functions.aggregate_functions.extend(aggregates.map(|function| (function.name().to_owned(), Arc::new(function))));
    functions
}

fn registration(address: SocketAddr, settings: &ExecutorSettings) -> ExecutorRegistration {
    let threads = executor_resource::Resource::Vcores(settings.shares.threads as u32);
    ExecutorRegistration {
        id: new_instance_id(),
        // The engine makes URLs of it.
        host: Some(bracketed(&settings.host)),
        port: address.port().into(),
        grpc_port: address.port().into(),
        specification: Some(ExecutorSpecification { resources: vec![ExecutorResource { resource: Some(threads) }] }),
        os_info: Some(ExecutorOperatingSystemSpecification::default()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    }
}

/// Ends the tasks of the largest job when the results between stages take more than their share of
/// the disk.
async fn keep_bound(settings: &ExecutorSettings, shuffle: &Path, running: &RunningTasks) {
    let full = format!(
        "the executor at {} has no room for rows between the parts of queries: they take more than its --temp-max {}",
        running.name(),
        format_size(settings.temp_bytes_max)
    );
    loop {
        tokio::time::sleep(SHUFFLE_LOOK_EVERY).await;
        if running.is_idle() {
            continue;
        }
        let folder = shuffle.to_owned();
        let jobs = tokio::task::spawn_blocking(move || job_bytes(&folder)).await.unwrap_or_default();
        let sum: u64 = jobs.iter().map(|(_, bytes)| bytes).sum();
        let largest = jobs.into_iter().max_by_key(|(_, bytes)| *bytes);
        if let Some((job, _)) = largest.filter(|_| sum > settings.temp_bytes_max) {
            running.end_job(&job, &full);
        }
    }
}

/// Bytes of the files of each job.
fn job_bytes(shuffle: &Path) -> Vec<(String, u64)> {
    let jobs = std::fs::read_dir(shuffle).into_iter().flatten().flatten();
    jobs.map(|job| (job.file_name().to_string_lossy().into_owned(), folder_bytes(&job.path()))).collect()
}

/// Bytes of all files below a folder.
fn folder_bytes(folder: &Path) -> u64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes += metadata.len(),
                // It is gone meanwhile.
                Err(_) => {}
            }
        }
    }
    bytes
}

/// The scheduler's calls to an executor: tasks that nobody needs, files of jobs that ended.
struct TaskControl {
    executor: Arc<Executor>,
    shuffle: PathBuf,
    running: Arc<RunningTasks>,
}

impl TaskControl {
    /// The folder of a job, if its name is one of a folder.
    fn job(&self, id: &str) -> Option<PathBuf> {
        is_job(id).then(|| self.shuffle.join(id))
    }
}

#[async_trait::async_trait]
impl ExecutorGrpc for TaskControl {
    async fn launch_task(&self, _: Request<LaunchTaskParams>) -> Result<Response<LaunchTaskResult>, Status> {
        Err(Status::unimplemented("executors of rorqual ask for their tasks"))
    }

    async fn launch_multi_task(&self, _: Request<LaunchMultiTaskParams>) -> Result<Response<LaunchMultiTaskResult>, Status> {
        Err(Status::unimplemented("executors of rorqual ask for their tasks"))
    }

    async fn stop_executor(&self, _: Request<StopExecutorParams>) -> Result<Response<StopExecutorResult>, Status> {
        Err(Status::permission_denied("an executor is ended on its own machine"))
    }

    async fn cancel_tasks(&self, request: Request<CancelTasksParams>) -> Result<Response<CancelTasksResult>, Status> {
        let mut cancelled = true;
        for task in request.into_inner().task_infos {
            // Jobs end as a whole here. The engine's scheduler would end tasks of a job that goes
            // on where a stage runs again; ours ends such a job before it hears of that.
            self.running.job_ended(&task.job_id);
            let ended = self.executor.cancel_task(task.job_id.into(), task.stage_id as usize, task.task_id as usize).await;
            cancelled &= ended.unwrap_or(false);
        }
        Ok(Response::new(CancelTasksResult { cancelled }))
    }

    async fn remove_job_data(&self, request: Request<RemoveJobDataParams>) -> Result<Response<RemoveJobDataResult>, Status> {
        let request = request.into_inner();
        let Some(folder) = self.job(&request.job_id) else { return Err(Status::invalid_argument("no job has such a name")) };
        let stages = request.remove_stage_ids.iter().map(|stage| folder.join(stage.to_string()));
        let folders = if request.remove_stage_ids.is_empty() { vec![folder.clone()] } else { stages.collect() };
        for folder in folders {
            // It may be gone, or never have been.
            let _ = tokio::fs::remove_dir_all(folder).await;
        }
        Ok(Response::new(RemoveJobDataResult {}))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::future::{Ready, ready};
    use std::task::{Context, Poll};
    use tonic::body::Body;
    use tonic::codegen::{Service, http};
    use tonic::server::NamedService;
    use tonic::transport::Server;

    /// A scheduler that refuses every call.
    #[derive(Clone)]
    struct Refusing(Status);

    impl NamedService for Refusing {
        const NAME: &'static str = "ballista.protobuf.SchedulerGrpc";
    }

    impl Service<http::Request<Body>> for Refusing {
        type Error = Infallible;
        type Future = Ready<Result<http::Response<Body>, Infallible>>;
        type Response = http::Response<Body>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: http::Request<Body>) -> Self::Future {
            ready(Ok(self.0.clone().into_http()))
        }
    }

    /// A scheduler of another version is no reason to wait.
    #[tokio::test]
    async fn an_executor_that_is_refused_ends_with_the_reason() {
        let refusal = crate::version::check_version(&tonic::metadata::MetadataMap::new()).expect_err("it has no version");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let served = Server::builder().add_service(Refusing(refusal.clone())).serve_with_incoming(TcpIncoming::from(listener));
        let _served = tokio::spawn(served);
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("a URL");
        let reason = watch_scheduler(scheduler_client(endpoint.connect_lazy()), "scheduler", false).await;
        assert_eq!(reason, refusal.message());
    }
}
