//! A server: its parts, and its life.

pub(crate) mod api;
pub(crate) mod config;
mod descriptors;
mod shares;

use crate::admission::PermitKind;
use crate::explore::sessions::Sessions;
use crate::fleet::Fleet;
use crate::http::acceptor::Acceptor;
use crate::http::auth::{Auth, RequestGate};
use crate::http::connections::Connections;
use crate::http::drain::Drain;
use crate::http::tls::Tls;
use crate::http::token::AccessToken;
use crate::limits::{
    CHECKPOINT_EVERY, ENDED_SESSIONS_MAX, FEED_BUFFERS, HOUSEKEEPING_EVERY, KEEP_TIME_MAX, STRANGER_GRACE, STRANGER_GRACE_REMOTE,
    STRANGERS_MAX, SYNC_EVERY, TABLES_READING_SHARE,
};
use crate::monitor::measures::recorded;
use crate::monitor::vitals;
use crate::render::Renders;
use crate::session::{NewUpload, TableResources, TableSource};
use crate::setting::STATE;
use crate::state::{LogPart, StateDir};
use crate::store::{self, StoreService};
use api::{render_routes, router};
use config::{Config, StartError};
use rorqual_pipe::setting::TEMP_MAX;
use rorqual_pipe::{Input, reason};
use rorqual_store::Store;
use shares::{admission, allot, connections_max, export_advice};
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::time::{Interval, MissedTickBehavior};

/// A server that listens, and answers once it runs.
pub struct Server {
    listener: TcpListener,
    sessions: Arc<Sessions>,
    unrestored: Vec<String>,
    renders: Option<Arc<Renders>>,
    store: Option<Store>,
    gate: Arc<RequestGate>,
    tls: Option<Arc<Tls>>,
    grace: Duration,
    carriers: Vec<Handle>,
}

/// A file of this machine that is opened as a session.
pub struct OwnFile {
    /// Its path, which is the session's name.
    pub path: PathBuf,
    /// Its content.
    pub content: OwnFileContent,
}

/// Content of a file that is opened.
pub enum OwnFileContent {
    /// A log, whose format is found when it is read.
    Log(File),
    /// Several files with their names that are one log.
    Logs(Vec<(String, File)>),
    /// A table, and its file, by which the cache knows it.
    Table(Box<dyn TableSource>, File),
}

/// Reads the files again that a running server was started with.
#[derive(Clone)]
pub struct Reload {
    gate: Arc<RequestGate>,
    tls: Option<Arc<Tls>>,
}

impl Reload {
    /// Takes the token and the certificate that the files have now.
    ///
    /// # Errors
    /// Of each file that is unfit: its former content stays in force.
    pub fn reload(&self) -> Result<(), String> {
        let token = self.gate.guard.token.reread();
        let tls = self.tls.as_ref().map_or(Ok(()), |tls| tls.reload());
        let errors: Vec<String> = [token, tls].into_iter().filter_map(Result::err).collect();
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
    }
}

/// Totals of a server, at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTotals {
    /// Analyses that were made.
    pub sessions: u64,
    /// Bytes they took in, as stored.
    pub stored_bytes: u64,
    /// Worker threads of each.
    pub threads: usize,
    /// Nothing was cut off at the end.
    pub whole: bool,
}

impl Server {
    /// Shares the memory out and starts to listen.
    ///
    /// # Errors
    /// When the memory does not suffice, the port can't be had, the settings are unsafe, or a file
    /// for them is unfit.
    pub async fn bind(mut config: Config) -> Result<Self, StartError> {
        config.settings.feed_buffers = FEED_BUFFERS;
        config.access.check().map_err(StartError::Refused)?;
        let files = descriptors::needed(connections_max(&config) + STRANGERS_MAX, config.sessions_max + ENDED_SESSIONS_MAX);
        descriptors::allow(files + config.files_open as u64, config.connections_max).map_err(StartError::Refused)?;
        let admission = admission(&config);
        let advice = export_advice(&mut config);
        let allotment = allot(&mut config, &admission)?;
        let tls = config.access.tls.clone().map(|(certificate, key)| Tls::new(certificate, key)).transpose();
        let tls = tls.map_err(StartError::Refused)?.map(Arc::new);
        if config.state.is_some() && config.spill.is_none() {
            return Err(StartError::Refused(format!("{STATE} keeps rows in files, of which {TEMP_MAX} 0 allows none")));
        }
        let state = config.state.as_deref().map(StateDir::open).transpose().map_err(StartError::Refused)?;
        let fleet = config.fleet.take().map(Fleet::new).transpose().map_err(StartError::Refused)?.map(Arc::new);
        let address = SocketAddr::new(config.access.bind, config.port);
        let failed = |cause| StartError::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // Behind the port: who finds it taken has changed nothing.
        let token = AccessToken::new(config.access.token_file.clone()).map_err(StartError::Refused)?;
        let guard = Auth::new(token, config.access.names(address), address.port(), config.access.open_probes);
        let patience = if config.access.remote() { STRANGER_GRACE_REMOTE } else { STRANGER_GRACE };
        let connections = Connections::new(&admission, patience);
        let gate = Arc::new(RequestGate { guard, connections, drain: Drain::new(), admission: admission.clone() });
        let grace = config.access.grace;
        recorded();
        let reading_bytes = config.has_tables.then_some(config.settings.memory_bytes / TABLES_READING_SHARE);
        let tables = TableResources::new(allotment, reading_bytes, config.spill.as_ref(), config.table_opener, &admission);
        let cache = config.cache.filter(|_| config.spill.is_some());
        let sessions = Sessions::new(
            config.settings,
            (tables, advice),
            (config.spill, state),
            &admission,
            config.rate_limit,
            config.idle_max,
            config.page,
        );
        let sessions = Arc::new(sessions.with_cache(cache).with_fleet(fleet));
        let restoring = Arc::clone(&sessions);
        let restored = tokio::task::spawn_blocking(move || restoring.restore()).await;
        let unrestored = restored.map_err(|error| StartError::Refused(error.to_string()))?.map_err(StartError::Refused)?;
        let renders =
            config.rendering.map(|rendering| Renders::new(rendering, config.rate_limit, admission.pool(PermitKind::Render)));
        Ok(Self { listener, sessions, unrestored, renders, store: config.store, gate, tls, grace, carriers: config.carriers })
    }

    /// The address to open, token included.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}/?token={}", self.gate.guard.names.url, self.gate.guard.token.text())
    }

    /// Sessions of the state folder that are not offered again, each with the reason, for people.
    /// Their files are left as they are.
    #[must_use]
    pub fn unrestored(&self) -> &[String] {
        &self.unrestored
    }

    /// Address it listens on.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Handle by which it reads its files again while it runs.
    #[must_use]
    pub fn reloader(&self) -> Reload {
        Reload { gate: Arc::clone(&self.gate), tls: self.tls.clone() }
    }

    /// Opens files of this machine, each as a session, or several as one; they are analysed one
    /// after another while the server runs, where the cache does not have their rows. Returns
    /// sentences about that, for people. Blocks.
    ///
    /// # Errors
    /// When there are more files than sessions may be open, named by the message.
    pub fn open(&self, files: Vec<OwnFile>) -> Result<Vec<String>, String> {
        let (mut queue, mut notes) = (Vec::new(), Vec::new());
        let again =
            |name: &str, file: &File| file.try_clone().map_err(|cause| format!("{name}: cannot open: {}", reason(&cause)));
        for OwnFile { path, content } in files {
            let name = path.to_string_lossy().into_owned();
            let opened = match &content {
                OwnFileContent::Log(file) => self.sessions.create_file(&path, again(&name, file)?, None),
                OwnFileContent::Logs(files) => {
                    let size = |file: &File| file.metadata().map_or(0, |data| data.len());
                    let parts = files.iter().map(|(name, file)| LogPart { name: name.clone(), size: size(file) });
                    self.sessions.create(NewUpload::files(parts.collect()), None).map(|session| (session, None))
                }
                OwnFileContent::Table(table, file) => self.sessions.create_file(&path, again(&name, file)?, Some(&**table)),
            };
            let (session, note) = opened.map_err(|error| format!("{name}: {}", error.message()))?;
            notes.extend(note.map(|note| format!("{name}: {note}")));
            match content {
                // It has no end.
                OwnFileContent::Table(table, _) if table.followed().is_some() => {
                    tokio::task::spawn_blocking(move || session.run_table(table));
                }
                content => queue.push((session, name, content)),
            }
        }
        tokio::task::spawn_blocking(move || {
            for (session, name, content) in queue {
                match content {
                    OwnFileContent::Log(file) => session.run_file(name, file),
                    OwnFileContent::Logs(files) => session.run_files(files),
                    OwnFileContent::Table(table, _) => session.run_table(table),
                }
            }
        });
        Ok(notes)
    }

    /// Reads streams, and files as they grow, each as a session of its own for as long as it goes
    /// on. A file is read from where the cache has it. Returns as [`Server::open`]. Blocks.
    ///
    /// # Errors
    /// As [`Server::open`].
    pub fn follow(&self, inputs: Vec<(PathBuf, Input)>) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        for (path, input) in inputs {
            let name = input.name().to_owned();
            let file = input.followed_file().map_err(|error| error.to_string())?;
            let made = match file {
                Some(file) => self.sessions.create_followed(&path, file),
                None => self.sessions.create(NewUpload::file(name.clone(), None), None).map(|session| (session, None)),
            };
            let (session, note) = made.map_err(|error| format!("{name}: {}", error.message()))?;
            notes.extend(note.map(|note| format!("{name}: {note}")));
            tokio::task::spawn_blocking(move || session.run_following(input, &path));
        }
        Ok(notes)
    }

    /// The same of several that are one log. Blocks.
    ///
    /// # Errors
    /// As [`Server::open`].
    pub fn follow_together(&self, inputs: Vec<Input>) -> Result<(), String> {
        let part = |input: &Input| LogPart { name: input.name().to_owned(), size: 0 };
        let announced = NewUpload::followed(inputs.iter().map(part).collect());
        let name = announced.name.clone();
        let session = self.sessions.create(announced, None).map_err(|error| format!("{name}: {}", error.message()))?;
        tokio::task::spawn_blocking(move || session.run_following_files(inputs));
        Ok(())
    }

    /// Answers until `stop` is done; then lets running requests end within the grace, and stops all
    /// sessions. `end` ends that wait.
    pub async fn run(mut self, stop: impl Future<Output = ()>, end: impl Future<Output = ()>) -> ServerTotals {
        let renders_guard = self.renders.clone().map(|renders| tokio::spawn(renders.guard(self.sessions.memory_bytes())));
        let reception = self.reception();
        let housekeeping = [
            tokio::spawn(keep_house(Arc::clone(&self.sessions))),
            tokio::spawn(keep_watch(Arc::clone(&self.sessions), Arc::clone(&self.gate))),
            tokio::spawn(keep_paused(Arc::clone(&self.sessions))),
            tokio::spawn(keep_synced(Arc::clone(&self.sessions))),
        ];
        let probing = self.sessions.fleet().map(|fleet| tokio::spawn(Arc::clone(fleet).keep_probing()));
        tokio::select! {
            () = reception.accept(&self.listener) => {}
            () = stop => {}
        }
        drop(self.listener);
        let (known, _, _) = self.gate.connections.counts();
        tracing::info!(connections = known, grace_seconds = self.grace.as_secs(), "ending: no new connections");
        let whole = tokio::select! {
            whole = self.gate.drain.finish(&self.sessions, self.grace) => whole,
            () = end => false,
        };
        housekeeping.iter().chain(&probing).for_each(tokio::task::JoinHandle::abort);
        renders_guard.inspect(tokio::task::JoinHandle::abort);
        if self.sessions.keeps() {
            if tokio::time::timeout(KEEP_TIME_MAX, self.sessions.keep_all()).await.is_err() {
                let seconds = KEEP_TIME_MAX.as_secs();
                tracing::warn!(seconds, "not all was kept in time: what was not goes on from its last checkpoint");
            }
        } else {
            self.sessions.cancel_all();
        }
        let (sessions, stored_bytes) = self.sessions.totals();
        tracing::info!(sessions, stored_bytes, whole, "ended");
        ServerTotals { sessions, stored_bytes, threads: self.sessions.threads(), whole }
    }

    /// Acceptor of connections.
    fn reception(&mut self) -> Acceptor {
        let vitals = vitals::router(&self.sessions, self.renders.as_ref(), &self.gate);
        let shelf = self.store.take().map(|store| StoreService::new(store, &self.gate.admission));
        let renders = self.renders.take().map(|renders| render_routes().into_router(renders));
        let beside = [Some(vitals), renders, shelf.map(|shelf| store::routes().into_router(shelf))];
        let router = router(Arc::clone(&self.sessions), beside.into_iter().flatten().collect(), Arc::clone(&self.gate));
        let carriers = std::mem::take(&mut self.carriers);
        Acceptor { gate: Arc::clone(&self.gate), tls: self.tls.take(), router, carriers }
    }

    /// Parts that answer without a socket of the system.
    #[cfg(any(fuzzing, test))]
    pub(crate) fn into_parts(mut self) -> (Acceptor, Arc<Sessions>, Arc<RequestGate>) {
        (self.reception(), self.sessions, self.gate)
    }
}

/// Work that has to be done again and again; none of it waits for anybody, nor for a disk.
pub(crate) async fn keep_watch(sessions: Arc<Sessions>, gate: Arc<RequestGate>) {
    let mut every = every(HOUSEKEEPING_EVERY);
    loop {
        every.tick().await;
        sessions.list().iter().for_each(|session| session.stop_if_too_dense());
        sessions.free_own_turns();
        sessions.free_held_places();
        for session in sessions.list() {
            session.pace().look(session.offset());
        }
        sessions.turns().rest();
        gate.guard.token.refresh();
        // New values of histograms wait in a list until then.
        recorded().run_upkeep();
    }
}

/// Rounds that have this time between them; one that took longer is not made up for.
fn every(time: Duration) -> Interval {
    let mut every = tokio::time::interval(time);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    every
}

/// Writes the checkpoints of sessions whose uploads pause, one after another.
async fn keep_paused(sessions: Arc<Sessions>) {
    let mut every = every(CHECKPOINT_EVERY);
    loop {
        every.tick().await;
        sessions.keep_paused().await;
    }
}

/// Has the disk keep it, however long that takes.
async fn keep_synced(sessions: Arc<Sessions>) {
    let mut every = every(SYNC_EVERY);
    loop {
        every.tick().await;
        sessions.sync_all().await;
    }
}

/// Forgets sessions, which may take as long as who still looks at them.
async fn keep_house(sessions: Arc<Sessions>) {
    let mut every = every(HOUSEKEEPING_EVERY);
    loop {
        every.tick().await;
        sessions.read_damaged_anew().await;
        sessions.forget_idle().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault_tests::{log, send, sessions};
    use crate::state::content;

    #[tokio::test(start_paused = true)]
    async fn an_upload_that_never_ends_is_kept_and_on_the_disk_before_long() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let sessions = sessions(1, Some(StateDir::open(folder.path()).expect("it is empty")));
        let announced = NewUpload::upload("test.log".to_owned(), None).expect("a short name");
        let session = sessions.create(announced, None).unwrap_or_else(|error| panic!("{}", error.message()));
        send(&session, &log(1_000), 10_000, 2).await.expect_err("it breaks off");
        let files = ["session", "synced"].map(|extension| folder.path().join(session.id()).with_extension(extension));
        let new = content(&files[0]);
        let tasks = [tokio::spawn(keep_paused(Arc::clone(&sessions))), tokio::spawn(keep_synced(Arc::clone(&sessions)))];
        tokio::time::sleep(2 * SYNC_EVERY + CHECKPOINT_EVERY).await;
        let [latest, synced] = files.map(|file| content(&file));
        assert!(latest != new && latest == synced);
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test(start_paused = true)]
    async fn behind_a_round_that_took_long_the_next_has_its_time() {
        let mut rounds = every(CHECKPOINT_EVERY);
        rounds.tick().await;
        tokio::time::advance(100 * CHECKPOINT_EVERY).await;
        rounds.tick().await;
        let late = tokio::time::Instant::now();
        rounds.tick().await;
        assert_eq!(late.elapsed(), CHECKPOINT_EVERY);
    }
}
