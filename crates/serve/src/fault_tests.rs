//! The consumer of uploads, with transports that bring bytes in any pieces and break off anywhere:
//! nothing is lost, nothing comes twice, and every block comes home.

use crate::admission::{Admission, AdmissionCounts};
use crate::explore::export_advice::ExportAdvice;
use crate::explore::sessions::Sessions;
use crate::explore::view_page::ViewPage;
use crate::ingest::transport::{Interruption, TransferEnd, Transport};
use crate::ingest::upload::Intake;
use crate::limits::{FEED_BUFFERS, PACE_TIME};
use crate::session::{LogStores, NewUpload, Session, SessionContext, SessionMemory, SessionState, TableResources};
use crate::state::StateDir;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Formats, RowStoreShare};
use rorqual_crossfilter::RowStore;
use rorqual_crossfilter::limits::{ROWS_BYTES_MIN, STORE_BYTES_MIN, WORK_BYTES_MIN, WORKER_BYTES};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::yield_now;
use tokio::time::advance;

fn settings() -> AnalyzeSettings {
    AnalyzeSettings {
        memory_bytes: 128 << 20,
        threads: Some(1),
        line_bytes_max: 64 << 10,
        span: SpanFilter::default(),
        formats: Formats::default(),
        feed_buffers: FEED_BUFFERS,
        kept: Some(RowStoreShare { what: "rows", worker_bytes: WORKER_BYTES, parts: 1, bytes_min: ROWS_BYTES_MIN }),
        countries: None,
    }
}

/// A session that nobody else has.
pub(crate) fn session(size: Option<u64>, rate_limit: Option<u64>) -> Arc<Session> {
    session_of(size, rate_limit, |rows| RowStore::new(rows).expect("no file is needed"))
}

/// One with such a store for its rows.
pub(crate) fn session_of(
    size: Option<u64>,
    rate_limit: Option<u64>,
    store: impl FnOnce(rorqual_crossfilter::RowStoreSettings) -> Arc<RowStore>,
) -> Arc<Session> {
    one_of(&shared(1), size, rate_limit, store)
}

/// State shared by so many sessions.
pub(crate) fn shared(sessions_max: usize) -> Arc<SessionContext> {
    let admission = admission(sessions_max);
    SessionContext::new(tables(None, &admission), &admission)
}

/// No tables.
fn tables(spill: Option<&(PathBuf, u64)>, admission: &Admission) -> TableResources {
    let shares = settings().shares(0, 1).expect("enough memory");
    let segment_rows = rorqual_crossfilter::limits::segment_rows(shares.tables_bytes);
    TableResources::new(
        SessionMemory { shares, question_bytes: 7 << 20, segment_rows, recorders: 0 },
        None,
        spill,
        None,
        admission,
    )
}

fn admission(sessions: usize) -> Admission {
    Admission::new(&AdmissionCounts { sessions, line_bytes_max: 64 << 10, ..AdmissionCounts::default() })
}

/// One of those that share something, with such a store.
fn one_of(
    shared: &Arc<SessionContext>,
    size: Option<u64>,
    rate_limit: Option<u64>,
    store: impl FnOnce(rorqual_crossfilter::RowStoreSettings) -> Arc<RowStore>,
) -> Arc<Session> {
    let settings = settings();
    let shares = settings.shares(0, 1).expect("enough memory");
    let rows = rorqual_crossfilter::RowStoreSettings::only(shares.tables_bytes, shares.threads);
    let stores = LogStores {
        settings: rows.clone(),
        journal: crate::session::Journal::None,
        folder: None,
        file_bytes_max: 0,
        of_files: false,
        workers: shares.threads,
        counts_numbers: false,
    };
    let store = store(rows);
    let announced = NewUpload::upload("test.log".to_owned(), size).expect("a short name");
    Arc::new(Session::new("id".to_owned(), announced, (settings, stores), shares, (store, None), rate_limit, shared))
}

/// One whose rows have no memory to lend, nor a file to go to.
pub(crate) fn full_session(shared: &Arc<SessionContext>, size: u64) -> Arc<Session> {
    one_of(shared, Some(size), None, |_| {
        RowStore::new(rorqual_crossfilter::RowStoreSettings::new(STORE_BYTES_MIN, WORK_BYTES_MIN, 1)).expect("no file is needed")
    })
}

/// So many sessions, which outlive the server where there is a folder for that.
pub(crate) fn sessions(sessions_max: usize, state: Option<Arc<StateDir>>) -> Arc<Sessions> {
    let admission = admission(sessions_max);
    let spill = state.as_ref().map(|_| (std::env::temp_dir(), 1 << 30));
    let page: ViewPage = |_, _, _| Ok(());
    Arc::new(Sessions::new(
        settings(),
        (tables(spill.as_ref(), &admission), ExportAdvice::default()),
        (spill, state),
        &admission,
        None,
        Duration::MAX,
        page,
    ))
}

/// Lines of the combined format, each a second later than the one before.
pub(crate) fn log(lines: u64) -> Vec<u8> {
    let line = |number: u64| {
        let (hour, minute, second) = (number / 3_600 % 24, number / 60 % 60, number % 60);
        let (path, status) = (number % 7, [200, 304, 404][(number % 3) as usize]);
        format!(
            "10.0.0.{} - - [02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET /p{path} HTTP/1.1\" {status} {number} \"-\" \"agent\"\n",
            number % 5
        )
    };
    (0..lines).flat_map(|number| line(number).into_bytes()).collect()
}

/// The parts of a session's report that depend on its log alone.
pub(crate) async fn report(session: &Arc<Session>) -> Value {
    let json = session.report().await.expect("a format");
    let mut report: Value = serde_json::from_slice(&json).expect("JSON");
    report["stats"].take();
    report
}

/// Brings `bytes` in pieces, and breaks off when `pieces` of them were brought.
struct BrokenBody<'a> {
    bytes: &'a [u8],
    piece_bytes: usize,
    pieces: usize,
    asked: bool,
}

impl Transport for BrokenBody<'_> {
    async fn ready(&mut self) -> Result<usize, Interruption> {
        if self.pieces == 0 {
            return Err(Interruption::Connection("the fault of this test".to_owned()));
        }
        // Asked again, it is still the same piece.
        if !std::mem::replace(&mut self.asked, true) {
            self.pieces -= 1;
        }
        Ok(self.bytes.len().min(self.piece_bytes))
    }

    fn fill(&mut self, place: &mut [u8]) {
        self.asked = false;
        let (given, rest) = self.bytes.split_at(place.len());
        place.copy_from_slice(given);
        self.bytes = rest;
    }

    fn end(&self) -> TransferEnd {
        TransferEnd::Log
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

/// Sends the missing bytes in pieces, and breaks off after so many.
pub(crate) async fn send(session: &Arc<Session>, bytes: &[u8], piece_bytes: usize, pieces: usize) -> Result<(), String> {
    let offset = session.offset();
    let intake = Intake::claim(Arc::clone(session), offset, None).map_err(|error| error.message().to_owned())?;
    let mut transport = BrokenBody { bytes: &bytes[offset as usize..], piece_bytes, pieces, asked: false };
    intake.take(&mut transport).await.map_err(|error| error.message().to_owned())
}

#[test]
fn an_upload_that_breaks_off_at_every_nth_piece_gives_the_same_report() {
    runtime().block_on(async {
        let log = log(2_000);
        let size = Some(log.len() as u64);
        let whole = session(size, None);
        send(&whole, &log, usize::MAX, usize::MAX).await.expect("nothing is in its way");
        let expected = report(&whole).await;
        assert_eq!(expected["lines"]["parsed"], 2_000);
        assert_eq!(whole.blocks_lent(), 0);
        let piece_bytes = 1_460;
        let pieces = log.len().div_ceil(piece_bytes);
        for nth in 1..=pieces + 1 {
            let broken = session(size, None);
            let sent = send(&broken, &log, piece_bytes, nth).await;
            // The end is a piece of its own.
            assert_eq!(sent.is_ok(), nth > pieces, "{nth}: {sent:?}");
            if sent.is_err() {
                assert_eq!(
                    (broken.state(), broken.offset()),
                    (SessionState::Interrupted, log.len().min(nth * piece_bytes) as u64)
                );
                send(&broken, &log, piece_bytes, usize::MAX).await.expect("nothing is in its way now");
            }
            assert_eq!(report(&broken).await, expected, "{nth}");
            assert_eq!(broken.blocks_lent(), 0, "{nth}: every block comes home");
        }
    });
}

#[test]
fn a_session_survives_more_interruptions_than_it_has_blocks() {
    runtime().block_on(async {
        let log = log(4_000);
        let session = session(Some(log.len() as u64), None);
        let mut interruptions = 0;
        while send(&session, &log, 997, 3).await.is_err() {
            interruptions += 1;
        }
        assert_eq!(interruptions, log.len() / (3 * 997));
        assert_eq!(report(&session).await["lines"]["parsed"], 4_000);
        assert_eq!(session.blocks_lent(), 0);
    });
}

#[test]
fn an_intake_that_is_dropped_leaves_the_session_to_go_on() {
    runtime().block_on(async {
        let log = log(1_000);
        let session = session(None, None);
        drop(Intake::claim(Arc::clone(&session), 0, None).expect("nobody else has it"));
        assert_eq!(session.state(), SessionState::Interrupted);
        send(&session, &log, usize::MAX, usize::MAX).await.expect("nothing is in its way");
        assert_eq!(report(&session).await["lines"]["parsed"], 1_000);
    });
}

#[test]
fn a_last_report_is_the_same_whenever_it_is_made() {
    runtime().block_on(async {
        let log = log(1_000);
        let session = session(Some(log.len() as u64), None);
        send(&session, &log, usize::MAX, usize::MAX).await.expect("nothing is in its way");
        let first = session.report().await.expect("a format");
        session.reports().evict();
        let again = session.report().await.expect("a format");
        assert_ne!(first.as_ptr(), again.as_ptr(), "it was made again");
        assert_eq!(first, again);
        session.retire().await;
        assert!(!session.rows().held());
        session.reports().evict();
        assert_eq!(session.report().await.as_ref(), Some(&first), "it stays when its rows are gone");
    });
}

#[test]
fn at_the_end_of_a_session_its_rows_are_complete() {
    runtime().block_on(async {
        let log = log(1_000);
        let session = session_of(Some(log.len() as u64), None, |rows| {
            let journal = tempfile::tempfile().expect("a folder for temporary files");
            RowStore::with_journal(rows, journal, 1 << 30).expect("an empty file")
        });
        // Rows that may grow are in the head of the checkpoint, which has some hundred bytes of its
        // own.
        let head_bytes = || {
            let store = session.rows().store().expect("nobody takes them");
            store.checkpoint().expect("there is a journal").len()
        };
        let empty = head_bytes();
        send(&session, &log, 10_000, 3).await.expect_err("it breaks off");
        assert!(head_bytes() > 2 * empty, "{} bytes, {empty} without rows", head_bytes());
        send(&session, &log, 10_000, usize::MAX).await.expect("nothing is in its way");
        assert_eq!(head_bytes(), empty);
        assert_eq!(report(&session).await["lines"]["parsed"], 1_000);
    });
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_waits_for_its_turn_is_not_slow() {
    let log = log(1_000);
    let session = session(Some(log.len() as u64), None);
    let turn = session.turns().acquire_shared().await;
    let (sending, bytes) = (Arc::clone(&session), log.clone());
    let upload = tokio::spawn(async move { send(&sending, &bytes, 1_000, usize::MAX).await });
    for _ in 0..10 {
        advance(PACE_TIME / 2).await;
        yield_now().await;
        session.pace().look(session.offset());
    }
    assert!(!session.pace().is_slow(session.offset()), "at byte {}", session.offset());
    drop(turn);
    upload.await.expect("no panic").expect("nothing is in its way");
    assert_eq!(report(&session).await["lines"]["parsed"], 1_000);
}

/// Brings some lines, and from then on a byte whenever it is told to.
struct Trickle {
    bytes: Vec<u8>,
    brought: usize,
    /// A byte is at hand.
    asked: bool,
    told: Arc<Semaphore>,
}

impl Transport for Trickle {
    async fn ready(&mut self) -> Result<usize, Interruption> {
        if self.brought == 0 {
            return Ok(self.bytes.len() / 2);
        }
        if !self.asked {
            self.told.acquire().await.expect("it stays open").forget();
            self.asked = true;
        }
        Ok(1)
    }

    fn fill(&mut self, place: &mut [u8]) {
        self.asked = false;
        place.copy_from_slice(&self.bytes[self.brought..self.brought + place.len()]);
        self.brought += place.len();
    }

    fn end(&self) -> TransferEnd {
        TransferEnd::Log
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_that_only_holds_its_place_gives_way_where_another_waits_for_it() {
    let sessions = sessions(1, None);
    let log = log(1_000);
    let announced = NewUpload::upload("test.log".to_owned(), Some(log.len() as u64)).expect("a short name");
    let session = sessions.create(announced, None).expect("there is room");
    let intake = Intake::claim(Arc::clone(&session), 0, None).expect("nobody else has it");
    let told = Arc::new(Semaphore::new(0));
    let mut trickle = Trickle { bytes: log.clone(), brought: 0, asked: false, told: Arc::clone(&told) };
    let upload = tokio::spawn(async move { intake.take(&mut trickle).await });
    let start = log.len() as u64 / 2;
    // A byte in half a minute.
    for byte in 1..=20 {
        advance(PACE_TIME / 2).await;
        told.add_permits(1);
        while session.offset() < start + byte {
            yield_now().await;
        }
        session.pace().look(session.offset());
    }
    // Nobody is in need of its place.
    assert!(!upload.is_finished());
    drop(sessions.make_room().await);
    let error = upload.await.expect("no panic").expect_err("it gives way");
    assert!(error.message().contains("less than 1024 bytes a second"), "{}", error.message());
    assert!(error.message().contains(&format!("at byte {}", session.offset())), "{}", error.message());
    assert_eq!(session.state(), SessionState::Interrupted);
    // Nothing is lost, and who came back has its minute again.
    drop(sessions.make_room().await);
    send(&session, &log, 1_000, usize::MAX).await.expect("nothing is in its way");
    assert_eq!(report(&session).await["lines"]["parsed"], 1_000);
}
