//! Operations on threads of their own.

use crate::gate;
use crate::terms::failure_term;
use rorqual_embed::{OperationFailure, RunningOperation};
use rorqual_pipe::Control;
use rustler::{Encoder, Env, LocalPid, Monitor, OwnedEnv, Resource, ResourceArc, Term};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

mod atoms {
    rustler::atoms! { rorqual, item, done, failed }
}

/// Priority of operations, as `nice` has it: the schedulers of the VM, whose timers and processes
/// wait meanwhile, come first.
const PRIORITY: i32 = 5;

/// Operations that have a thread.
static LIVE: AtomicUsize = AtomicUsize::new(0);

/// An operation, as its owner holds it.
pub(crate) struct JobHandle {
    demand: Mutex<Option<Sender<()>>>,
    stop: Arc<JobStop>,
}

/// The stop of an operation, which may come before it has begun.
#[derive(Default)]
pub(crate) struct JobStop {
    is_stopped: AtomicBool,
    control: Mutex<Option<Control>>,
}

impl JobStop {
    /// Joins the control of the operation.
    pub(crate) fn join(&self, control: &Control) {
        *locked(&self.control) = Some(control.clone());
        if self.is_stopped() {
            control.stop();
        }
    }

    /// The operation, whose control is joined.
    pub(crate) fn joined<T>(&self, running: RunningOperation<T>) -> RunningOperation<T> {
        self.join(running.control());
        running
    }

    /// True once nobody wants the operation any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    /// Bytes that the operation has read.
    pub(crate) fn stored_bytes(&self) -> u64 {
        locked(&self.control).as_ref().map_or(0, Control::stored_bytes)
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        if let Some(control) = locked(&self.control).as_ref() {
            control.stop();
        }
    }
}

impl JobHandle {
    fn end(&self) {
        locked(&self.demand).take();
        self.stop.stop();
    }
}

#[rustler::resource_impl]
impl Resource for JobHandle {
    const IMPLEMENTS_DOWN: bool = true;

    fn down<'a>(&'a self, _: Env<'a>, _: LocalPid, _: Monitor) {
        self.end();
    }
}

impl Drop for JobHandle {
    fn drop(&mut self) {
        self.end();
    }
}

/// Asks for one more item.
#[rustler::nif]
fn demand(job: ResourceArc<JobHandle>) -> bool {
    locked(&job.demand).as_ref().is_some_and(|demand| demand.send(()).is_ok())
}

/// Ends an operation.
#[rustler::nif]
fn stop(job: ResourceArc<JobHandle>) -> bool {
    job.end();
    true
}

/// Bytes that an operation has read so far.
#[rustler::nif]
fn progress(job: ResourceArc<JobHandle>) -> u64 {
    job.stop.stored_bytes()
}

/// Number of operations that have a thread.
#[rustler::nif]
fn live() -> usize {
    LIVE.load(Ordering::SeqCst)
}

/// Sets the memory of the node.
#[rustler::nif]
fn configure(node_bytes: u64) -> bool {
    gate::configure(node_bytes);
    true
}

/// Begins an operation for the calling process: `open` makes its items, within `memory_bytes`, and
/// each is sent as `encode` writes it.
pub(crate) fn start<I, T>(
    env: Env<'_>,
    id: u64,
    memory_bytes: u64,
    open: impl FnOnce(&JobStop) -> Result<I, OperationFailure> + Send + 'static,
    encode: impl for<'a> FnMut(Env<'a>, T) -> Term<'a> + Send + 'static,
) -> ResourceArc<JobHandle>
where
    I: Iterator<Item = Result<T, OperationFailure>>,
{
    let (give, take) = channel();
    let (owner, stop) = (env.pid(), Arc::new(JobStop::default()));
    let job = ResourceArc::new(JobHandle { demand: Mutex::new(Some(give)), stop: Arc::clone(&stop) });
    env.monitor(&job, &owner);
    LIVE.fetch_add(1, Ordering::SeqCst);
    let work = move || {
        // Of this thread and of those that it starts. A failure leaves them as they are.
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        let sender = ItemSender { owner, id };
        let worked = catch_unwind(AssertUnwindSafe(|| work(&sender, memory_bytes, &take, &stop, open, encode)));
        let failure = match worked {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure),
            Err(_) => Some(OperationFailure::new("defect", "the operation failed inside; this is a defect of the program")),
        };
        LIVE.fetch_sub(1, Ordering::SeqCst);
        sender.end(failure);
    };
    if let Err(error) = std::thread::Builder::new().name("rorqual".to_owned()).spawn(work) {
        LIVE.fetch_sub(1, Ordering::SeqCst);
        let failure = OperationFailure::new("limit", format!("no thread for the operation: {error}"));
        // A failure to send is one to a process that is gone.
        let _gone = env.send(&owner, (atoms::rorqual(), id, (atoms::failed(), failure_term(env, &failure))));
    }
    job
}

fn work<I, T>(
    sender: &ItemSender,
    memory_bytes: u64,
    demands: &Receiver<()>,
    stop: &JobStop,
    open: impl FnOnce(&JobStop) -> Result<I, OperationFailure>,
    mut encode: impl for<'a> FnMut(Env<'a>, T) -> Term<'a>,
) -> Result<(), OperationFailure>
where
    I: Iterator<Item = Result<T, OperationFailure>>,
{
    let Some(_share) = gate::admit(memory_bytes, || !stop.is_stopped()) else { return Ok(()) };
    if stop.is_stopped() {
        return Ok(());
    }
    let mut items = open(stop)?;
    while demands.recv().is_ok() {
        match items.next() {
            None => return Ok(()),
            Some(item) => {
                let item = item?;
                sender.send(|env| (atoms::item(), encode(env, item)).encode(env));
            }
        }
    }
    Ok(())
}

/// Sends to the owner of an operation.
struct ItemSender {
    owner: LocalPid,
    id: u64,
}

impl ItemSender {
    fn send(&self, message: impl for<'a> FnOnce(Env<'a>) -> Term<'a>) {
        // A failure to send is one to a process that is gone: its operation ends by that.
        let _gone = OwnedEnv::new().send_and_clear(&self.owner, |env| (atoms::rorqual(), self.id, message(env)).encode(env));
    }

    fn end(&self, failure: Option<OperationFailure>) {
        self.send(|env| match failure {
            None => atoms::done().encode(env),
            Some(failure) => (atoms::failed(), failure_term(env, &failure)).encode(env),
        });
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
