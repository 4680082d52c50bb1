//! All sessions, and the limits on them.

use crate::admission::scheduler::Scheduler;
use crate::admission::{Admission, PermitGuard, PermitKind, PermitPool};
use crate::explore::export_advice::ExportAdvice;
use crate::explore::view_page::ViewPage;
use crate::fleet::Fleet;
use crate::http::body::BodyPermits;
use crate::http::error::ApiError;
use crate::http::token::random_text;
use crate::limits::{ENDED_SESSIONS_MAX, ID_BYTES, RENDER_BLOCK_BYTES, RENDER_BLOCKS, SYNCS_MAX};
use crate::session::{Journal, LogStores, NewUpload, Session, SessionContext, SessionMemory, TableResources};
use crate::setting::{SESSIONS, STATE};
use crate::state::{CacheSettings, Checkpoints, FileCache, SavedColumns, SavedFormat, SavedViews, StateDir, StoredSession};
use axum::http::StatusCode;
use futures_util::stream::{self, StreamExt};
use rorqual_accesslog::analyze::{AnalysisShares, AnalyzeSettings};
use rorqual_crossfilter::{RowStore, RowStoreSettings};
use rorqual_pipe::reason;
use serde::Serialize;
use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The sessions, oldest first.
pub(crate) struct Sessions {
    all: Mutex<Vec<Arc<Session>>>,
    /// Held while room is made and taken: two uploads at once must not be given the same.
    room: PermitPool,
    settings: AnalyzeSettings,
    shares: AnalysisShares,
    /// Rows of a segment.
    segment_rows: usize,
    /// Most memory of one question beside its threads.
    question_bytes: u64,
    export_advice: ExportAdvice,
    /// Folder for rows that do not fit the memory, and the most bytes of all sessions together.
    pub(super) spill: Option<(PathBuf, u64)>,
    /// Folder in which uploads outlive the server.
    state: Option<Arc<StateDir>>,
    /// Rows of files that the server reads, for the next time that they are opened.
    pub(super) cache: Option<FileCache>,
    sessions_max: usize,
    rate_limit: Option<u64>,
    idle_max: Duration,
    pub(super) made: AtomicU64,
    /// Totals of forgotten sessions.
    forgotten: Mutex<SessionTotals>,
    exports: Arc<BodyPermits>,
    page: ViewPage,
    pub(super) saved_views: SavedViews,
    pub(super) shared: Arc<SessionContext>,
    /// The session that shows logs of other servers.
    fleet: Option<Arc<Fleet>>,
}

impl Sessions {
    pub(crate) fn new(
        settings: AnalyzeSettings,
        (tables, export_advice): (TableResources, ExportAdvice),
        (spill, state): (Option<(PathBuf, u64)>, Option<Arc<StateDir>>),
        admission: &Admission,
        rate_limit: Option<u64>,
        idle_max: Duration,
        page: ViewPage,
    ) -> Self {
        let SessionMemory { shares, question_bytes, segment_rows, .. } = tables.memory();
        Self {
            exports: BodyPermits::new(admission.pool(PermitKind::Export), RENDER_BLOCK_BYTES, RENDER_BLOCKS),
            page,
            saved_views: SavedViews::open(state.clone()),
            all: Mutex::default(),
            room: admission.pool(PermitKind::Room),
            settings,
            shares,
            segment_rows,
            question_bytes,
            export_advice,
            spill,
            state,
            cache: None,
            sessions_max: admission.count(PermitKind::Session),
            rate_limit,
            idle_max,
            made: AtomicU64::new(0),
            forgotten: Mutex::default(),
            shared: SessionContext::new(tables, admission),
            fleet: None,
        }
    }

    /// The same, whose files are kept in a cache.
    pub(crate) fn with_cache(self, settings: Option<CacheSettings>) -> Self {
        Self { cache: settings.map(FileCache::new), ..self }
    }

    /// The same beside a session that shows logs of other servers.
    pub(crate) fn with_fleet(self, fleet: Option<Arc<Fleet>>) -> Self {
        Self { fleet, ..self }
    }

    /// The session that shows logs of other servers.
    pub(crate) fn fleet(&self) -> Option<&Arc<Fleet>> {
        self.fleet.as_ref()
    }

    /// Makes room where all places are taken: ends the session that has waited longest for the rest
    /// of its upload, if there is one; and where rows of ended sessions are in the way, takes those
    /// that nobody has looked at for longest. The room is kept as long as the returned guard is.
    pub(crate) async fn make_room(&self) -> PermitGuard {
        let room = self.room.acquire().await;
        let longest = {
            let all = self.lock();
            let full = open_count(&all) >= self.sessions_max;
            let waiting = all.iter().filter(|_| full).filter_map(|session| Some((session.holds_up_since()?, session)));
            waiting.min_by_key(|(since, _)| *since).map(|(_, session)| Arc::clone(session))
        };
        if longest.is_none() {
            self.interrupt_a_slow_one();
        }
        if let Some(session) = longest {
            // An upload that came back in time keeps its place, and then this one has none.
            if session.give_way() {
                session.ended().await;
            }
        }
        while let Some(session) = self.in_the_way() {
            session.retire().await;
        }
        self.forget_surplus().await;
        room
    }

    /// Of the ended sessions whose rows are in the way of another session's, the one that nobody
    /// has looked at for longest.
    fn in_the_way(&self) -> Option<Arc<Session>> {
        let all = self.lock();
        let held = || all.iter().filter(|session| session.state().ended() && session.rows().held());
        let goes_first = |session: &Arc<Session>| session.state().ended() && !session.rows().held();
        let is_crowded = all.len() >= self.all_max() && !all.iter().any(goes_first);
        if !is_crowded && self.rows_fit(&all, 1) {
            return None;
        }
        held().max_by_key(|session| session.idle()).map(Arc::clone)
    }

    /// True if the memory and the files have room for the rows of `all`, and of `more` sessions
    /// with a whole share each. Rows of ended ones count with their present size; one that has not
    /// ended may take all of its share, also to read a table.
    fn rows_fit(&self, all: &[Arc<Session>], more: u64) -> bool {
        let (share, sessions) = ([self.shares.tables_bytes, self.rows_bytes_max()], self.sessions_max as u64);
        let claim = |session: &Arc<Session>| {
            let claim = session.rows().claim(share)?;
            Some(if session.state().ended() { claim } else { share })
        };
        let claims = all.iter().filter_map(claim);
        let further = share.map(|bytes| bytes.saturating_mul(more));
        let sum = claims.fold(further, |sum, claim| [0, 1].map(|at| sum[at].saturating_add(claim[at])));
        (0..2).all(|at| sum[at] <= share[at].saturating_mul(sessions))
    }

    /// Sessions at a time, the ended ones included.
    fn all_max(&self) -> usize {
        self.sessions_max + ENDED_SESSIONS_MAX
    }

    /// Interrupts a slow upload where all places are taken, so that its place is free soon.
    fn interrupt_a_slow_one(&self) {
        let all = self.lock();
        let full = open_count(&all) >= self.sessions_max;
        let mut slow = all.iter().filter(|session| full && session.uploading() && session.pace().is_slow(session.offset()));
        slow.next().inspect(|session| session.pace().want_place());
    }

    /// A new session; a place is made for it where one can be. On a thread that may block, as it
    /// makes files.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        announced: NewUpload,
        format: Option<rorqual_accesslog::format::LogFormat>,
    ) -> Result<Arc<Session>, ApiError> {
        let _room = self.make_room().await;
        let sessions = Arc::clone(self);
        tokio::task::spawn_blocking(move || sessions.create(announced, format)).await.map_err(ApiError::internal)?
    }

    /// A new session, if there is room for one more that runs. Blocks.
    pub(crate) fn create(
        &self,
        announced: NewUpload,
        format: Option<rorqual_accesslog::format::LogFormat>,
    ) -> Result<Arc<Session>, ApiError> {
        self.check_room(&self.lock())?;
        self.add(self.made(announced, format)?)
    }

    /// Adds one that nobody has seen yet, where there is room.
    pub(super) fn add(&self, session: Session) -> Result<Arc<Session>, ApiError> {
        let session = Arc::new(session);
        let mut all = self.lock();
        // Another may have taken the place meanwhile.
        if let Err(full) = self.check_room(&all) {
            drop(all);
            session.forget();
            return Err(full);
        }
        all.push(Arc::clone(&session));
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(session)
    }

    pub(super) fn check_room(&self, all: &[Arc<Session>]) -> Result<(), ApiError> {
        let open = open_count(all);
        if open < self.sessions_max && self.rows_fit(all, 1) {
            return Ok(());
        }
        let message = format!("{open} sessions are open, which is the limit ({SESSIONS}); cancel one, or try again later");
        Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "sessions_full", message).retry_after(5))
    }

    /// One that nobody sees yet, with its files: all others are answered meanwhile, however slow
    /// the disk is.
    fn made(&self, announced: NewUpload, format: Option<rorqual_accesslog::format::LogFormat>) -> Result<Session, ApiError> {
        let id = random_text(ID_BYTES)
            .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", error.to_string()))?;
        let session = self.session(id, announced, format, LogStores::empty)?;
        session.keep_new();
        Ok(session)
    }

    pub(super) fn session<E>(
        &self,
        id: String,
        announced: NewUpload,
        format: Option<rorqual_accesslog::format::LogFormat>,
        store: impl FnOnce(&LogStores) -> Result<Arc<RowStore>, E>,
    ) -> Result<Session, E> {
        let mut settings = self.settings.clone();
        if format.is_some() {
            settings.formats.given = format;
        }
        // A file that the server reads itself can be read again.
        let state = self.state.as_ref().filter(|_| !announced.is_file);
        let journal = match state {
            Some(state) => Journal::Session(Arc::clone(state), id.clone()),
            None => Journal::None,
        };
        let stores = LogStores { of_files: !announced.parts.is_empty(), ..self.stores(journal) };
        let kept = (store(&stores)?, state.map(|state| Checkpoints::new(state, &id)));
        Ok(self.session_with(id, announced, settings, stores, kept))
    }

    /// One whose rows are in that store, and with the stores that may take its place.
    pub(super) fn session_of(&self, id: String, announced: NewUpload, stores: LogStores, store: Arc<RowStore>) -> Session {
        self.session_with(id, announced, self.settings.clone(), stores, (store, None))
    }

    fn session_with(
        &self,
        id: String,
        announced: NewUpload,
        settings: AnalyzeSettings,
        stores: LogStores,
        kept: (Arc<RowStore>, Option<Checkpoints>),
    ) -> Session {
        Session::new(id, announced, (settings, stores), self.shares, kept, self.rate_limit, &self.shared)
    }

    /// Settings for the stores of one session, whose rows are kept in that journal.
    pub(super) fn stores(&self, journal: Journal) -> LogStores {
        let rows = RowStoreSettings {
            countries: self.settings.countries.clone(),
            segment_rows: self.segment_rows,
            ..RowStoreSettings::new(self.shares.tables_bytes, self.question_bytes, self.shares.threads)
        };
        LogStores {
            settings: rows,
            journal,
            folder: self.spill.as_ref().map(|(folder, _)| folder.clone()),
            file_bytes_max: self.rows_bytes_max(),
            of_files: false,
            workers: self.shares.threads,
            counts_numbers: self.shared.counts_numbers(),
        }
    }

    /// Bytes of a session's rows in files.
    pub(super) fn rows_bytes_max(&self) -> u64 {
        self.spill.as_ref().map_or(0, |(_, bytes)| bytes / self.sessions_max as u64)
    }

    /// Offers the sessions again that were kept. Blocks.
    ///
    /// # Errors
    /// A folder that could not be read; each problem with a session is returned for people. The
    /// files are left as they are.
    pub(crate) fn restore(&self) -> Result<Vec<String>, String> {
        let Some(state) = &self.state else { return Ok(Vec::new()) };
        let (mut known, mut wrong) =
            state.sessions().map_err(|cause| format!("{STATE} {}: {}", state.folder(), reason(&cause)))?;
        // Where there are too many, those stay that may go on, and the newest.
        known.sort_by_key(|known| (known.ended, Reverse(known.created)));
        let mut all = Vec::new();
        for known in known {
            let open = open_count(&all);
            let no_place = format!("{}: its session {} found no place ({SESSIONS})", state.folder(), known.id);
            let is_full = all.len() >= self.all_max() || (!known.ended && open >= self.sessions_max);
            if is_full || !self.rows_fit(&all, u64::from(!known.ended)) {
                wrong.push(no_place);
                continue;
            }
            match state.take(&known.id, |found| self.restored(found)) {
                Ok(session) => {
                    if session.state().ended() {
                        session.complete_rows();
                    }
                    all.push(Arc::new(session));
                    // Rows of an ended session take their own size, as before, and not a share.
                    if !self.rows_fit(&all, 0) {
                        wrong.push(no_place);
                        all.pop();
                    }
                }
                Err(why) => wrong.push(why),
            }
        }
        all.sort_by_key(|session| session.created());
        *self.lock() = all;
        Ok(wrong)
    }

    fn restored(&self, found: StoredSession) -> io::Result<Session> {
        let (id, saved) = (found.id.clone(), &found.saved);
        let announced = NewUpload {
            metadata: saved.metadata.clone(),
            fingerprint: saved.fingerprint.clone(),
            parts: saved.parts.as_ref().map(|parts| parts.files.clone()).unwrap_or_default(),
            ..NewUpload::new(saved.name.clone(), saved.size, false)
        };
        let given = saved.given.as_ref().map(SavedFormat::format);
        let lost = || io::Error::other("this version knows its format no longer");
        let format = given.map(|format| format.ok_or_else(lost)).transpose()?;
        if saved.format.as_ref().is_some_and(|format| format.format().is_none()) {
            return Err(lost());
        }
        let journal = found.journal.try_clone()?;
        let own = saved.own.as_ref().map(SavedColumns::columns).map(Arc::new);
        let store = |stores: &LogStores| {
            let store = RowStore::restore(stores.settings_with(own), journal, self.rows_bytes_max(), &found.head)?;
            // Where the later part is not whole, the session goes on from an earlier checkpoint.
            store.verify().map(|()| store)
        };
        Ok(self.session(id, announced, format, store)?.restored(found))
    }

    /// Writes checkpoints of uploads that pause, and of those that could not be kept before.
    pub(crate) async fn keep_paused(&self) {
        for session in self.list() {
            session.keep_later(false).await;
        }
    }

    /// Syncs the checkpoints, of a few sessions at a time.
    pub(crate) async fn sync_all(&self) {
        stream::iter(self.list()).for_each_concurrent(SYNCS_MAX, Session::sync_later).await;
    }

    /// Keeps all that is not kept, for the next server, and has the disk keep it.
    pub(crate) async fn keep_all(&self) {
        for session in self.list() {
            session.keep_later(true).await;
        }
        self.sync_all().await;
    }

    /// True if uploads outlive the server.
    pub(crate) fn keeps(&self) -> bool {
        self.state.is_some()
    }

    pub(crate) fn get(&self, id: &str) -> Result<Arc<Session>, ApiError> {
        let found = self.lock().iter().find(|session| session.id() == id).cloned();
        let session = found.ok_or_else(ApiError::no_session)?;
        session.touch();
        Ok(session)
    }

    /// All sessions, newest first.
    pub(crate) fn list(&self) -> Vec<Arc<Session>> {
        self.lock().iter().rev().cloned().collect()
    }

    /// Stops and forgets a session. Its place is free when its run has ended, and its memory is
    /// back.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), ApiError> {
        let session = self.get(id)?;
        self.discard(&session).await;
        Ok(())
    }

    /// Stops and forgets sessions that nobody has asked for in the idle time.
    pub(crate) async fn forget_idle(&self) {
        let idle = || self.lock().iter().find(|session| session.idle() > self.idle_max).cloned();
        while let Some(session) = idle() {
            self.discard(&session).await;
        }
    }

    /// Forgets the oldest of the ended sessions without rows where they, or all together, are too
    /// many.
    async fn forget_surplus(&self) {
        let surplus = || {
            let all = self.lock();
            let mut ended = all.iter().filter(|session| session.state().ended() && !session.rows().held());
            let is_surplus = all.len() >= self.all_max() || ended.clone().count() > ENDED_SESSIONS_MAX;
            ended.next().filter(|_| is_surplus).cloned()
        };
        while let Some(session) = surplus() {
            self.discard(&session).await;
        }
    }

    /// Stops a session, and forgets it when its memory is back: its place is not free before.
    pub(super) async fn discard(&self, session: &Arc<Session>) {
        session.discard().await;
        let forgotten = self.lock().extract_if(.., |other| Arc::ptr_eq(other, session)).count();
        // Another may have forgotten it meanwhile.
        if forgotten > 0 {
            lock(&self.forgotten).add_past(session);
        }
    }

    /// Sessions made so far, and the bytes that all of them took in.
    pub(crate) fn totals(&self) -> (u64, u64) {
        let taken = self.taken();
        (taken.sessions_made, taken.received_bytes)
    }

    /// Bytes that all sessions have taken in, and memory that they hold.
    pub(crate) fn taken(&self) -> SessionTotals {
        let (all, mut taken) = {
            let all = self.lock();
            (all.clone(), lock(&self.forgotten).clone())
        };
        for session in &all {
            taken.add_past(session);
            taken.add_present(session);
        }
        let (lent, all) = self.shared.turns.pool_bytes();
        (taken.pool_lent_bytes, taken.pool_bytes) = (taken.pool_lent_bytes + lent, all);
        taken.sessions_made = self.made.load(Ordering::Relaxed);
        taken
    }

    /// True if a new session would be given a place.
    pub(crate) fn has_room(&self) -> bool {
        let all = self.lock();
        let running = open_count(&all);
        running < self.sessions_max || all.iter().any(|session| session.holds_up_since().is_some())
    }

    /// Ends a session whose upload broke off in the middle of decoding, where another log waits for
    /// a decoder.
    pub(crate) fn free_own_turns(&self) {
        if self.shared.turns.own_wanted() {
            let all = self.lock();
            let waiting = all.iter().filter(|session| session.has_own_turn());
            let waiting = waiting.filter_map(|session| Some((session.holds_up_since()?, session)));
            if let Some((_, session)) = waiting.min_by_key(|(since, _)| *since) {
                session.give_way();
            }
            let slow = all.iter().filter(|session| session.has_own_turn() && session.pace().is_slow(session.offset()));
            slow.for_each(|session| session.pace().want_place());
        }
    }

    /// Takes the places of uploads that are away, where none was free for the start of a line.
    pub(crate) fn free_held_places(&self) {
        if self.shared.turns.held_wanted() {
            self.list().iter().for_each(|session| session.leave_held());
        }
    }

    /// Scheduler of the sessions' parsing.
    pub(crate) fn turns(&self) -> &Arc<Scheduler> {
        &self.shared.turns
    }

    /// Stops all sessions.
    pub(crate) fn cancel_all(&self) {
        self.lock().iter().for_each(|session| session.cancel());
    }

    /// Places for answers as long as the rows are many.
    pub(crate) fn exports(&self) -> &Arc<BodyPermits> {
        &self.exports
    }

    /// The means to make a page of a view.
    pub(crate) fn page(&self) -> ViewPage {
        self.page
    }

    pub(crate) fn idle_max(&self) -> Duration {
        self.idle_max
    }

    pub(crate) fn sessions_max(&self) -> usize {
        self.sessions_max
    }

    pub(crate) fn threads(&self) -> usize {
        self.shares.threads
    }

    pub(crate) fn export_advice(&self) -> &ExportAdvice {
        &self.export_advice
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.settings.memory_bytes
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Vec<Arc<Session>>> {
        lock(&self.all)
    }
}

/// Sessions that have not ended.
fn open_count(all: &[Arc<Session>]) -> usize {
    all.iter().filter(|session| !session.state().ended()).count()
}

/// Bytes that sessions took in, and memory that they hold now.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct SessionTotals {
    pub(crate) sessions_made: u64,
    /// Bytes as stored.
    pub(crate) received_bytes: u64,
    pub(crate) bytes_per_second: f64,
    pub(crate) lines_parsed: u64,
    pub(crate) lines_repaired: u64,
    pub(crate) lines_rejected: u64,
    pub(crate) spilled_bytes: u64,
    /// Most memory of the blocks of running sessions, and the part that is lent.
    pub(crate) pool_bytes: u64,
    pub(crate) pool_lent_bytes: u64,
}

impl SessionTotals {
    fn add_past(&mut self, session: &Session) {
        let lines = session.lines();
        self.received_bytes += session.received_bytes();
        self.lines_parsed += lines.parsed;
        self.lines_repaired += lines.repaired;
        self.lines_rejected += lines.rejected;
    }

    fn add_present(&mut self, session: &Session) {
        self.pool_lent_bytes += session.pool_lent_bytes();
        self.bytes_per_second += session.rate();
        self.spilled_bytes += session.rows().spilled_bytes();
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::fault_tests::sessions;
    use crate::session::NewUpload;
    use crate::state::StateDir;
    use std::fs::read_dir;

    fn announced() -> NewUpload {
        NewUpload::upload("test.log".to_owned(), None).expect("a short name")
    }

    #[test]
    fn the_files_of_a_session_are_made_while_others_are_answered() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let sessions = sessions(1, Some(StateDir::open(folder.path()).expect("it is empty")));
        let files = || read_dir(folder.path()).expect("it is there").count();
        let before = files();
        {
            // Somebody has the list.
            let all = sessions.lock();
            let made = sessions.made(announced(), None).unwrap_or_else(|error| panic!("{}", error.message()));
            assert_eq!(files(), before + 2, "its rows, and what else is known");
            assert!(all.is_empty());
            made.forget();
        }
        sessions.create(announced(), None).map(drop).unwrap_or_else(|error| panic!("{}", error.message()));
        let refused = sessions.create(announced(), None).err().map(|error| error.code());
        assert_eq!((refused, files()), (Some("sessions_full"), before + 2), "who is refused leaves nothing");
    }
}
