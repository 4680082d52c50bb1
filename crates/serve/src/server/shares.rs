//! The memory of a server, shared out at its start among all that it may do at a time.

use crate::admission::scheduler::{held_places, own_places};
use crate::explore::sessions::SessionMemory;
use crate::limits::{
    ANSWER_MADE_BYTES, ANSWERS_MAX, BODIES_MAX, BODY_BYTES, CHECKED_SPARE_BYTES, CONNECTION_BYTES, CONNECTIONS_WIDE,
    ENDED_SESSION_BYTES, ENDED_SESSIONS_MAX, EXPORT_BYTES, EXPORTS_MAX, KEEPING_BYTES, MEASURED_BYTES_MIN, NARROW_BYTES,
    PROGRAM_BYTES, PUT_BYTES, PUTS_MAX, READ_BYTES, READS_MAX, RENDER_BYTES, REPORT_BYTES_MAX, REPORTS_KEPT_BYTES, SESSION_BYTES,
    STORE_BYTES, STRANGERS_MAX, TLS_BYTES, TLS_NARROW_BYTES,
};
use crate::server::config::Config;
use crate::server::config::StartError;
use rorqual_accesslog::analyze::{AnalysisShares, RowStoreShare};
use rorqual_crossfilter::limits::{
    ROWS_BYTES_MIN, SEGMENT_ROWS_MIN, STORE_BYTES_MIN, THREAD_BYTES, recorder_bytes, segment_rows, work_bytes,
};
use rorqual_pipe::BudgetError;
use rorqual_pipe::limits::buffer_bytes;

/// Shares the memory out among the sessions, after all other holders, and sets the part that each
/// keeps for its rows.
pub(crate) fn allot(config: &mut Config) -> Result<SessionMemory, StartError> {
    // Some shares grow with the memory: the amount that a refusal names has to be enough for them
    // as they are then.
    let mut measured_bytes = config.settings.memory_bytes.max(MEASURED_BYTES_MIN);
    loop {
        match allot_by(config, measured_bytes) {
            Err(error) if error.least_bytes() > measured_bytes => measured_bytes = error.least_bytes(),
            allotted => return allotted.map_err(StartError::Budget),
        }
    }
}

/// The largest segments for which there is memory in their recorders and, some of them, in a
/// session's rows. Where there is too little for any, the least of them is named.
fn allot_by(config: &mut Config, measured_bytes: u64) -> Result<SessionMemory, BudgetError> {
    // More no session gets.
    let most = segment_rows(measured_bytes / config.sessions_max as u64);
    let sizes = std::iter::successors(Some(most), |rows| (*rows > SEGMENT_ROWS_MIN).then(|| (rows / 2).max(SEGMENT_ROWS_MIN)));
    let mut of = |rows: usize| -> Result<SessionMemory, BudgetError> {
        config.settings.kept = Some(kept(config, rows));
        let shares = shares_by(config, measured_bytes)?;
        Ok(SessionMemory { shares, question_bytes: question_bytes(config), segment_rows: rows })
    };
    let mut least: Option<BudgetError> = None;
    for rows in sizes {
        match of(rows) {
            Ok(allotted) if segment_rows(allotted.shares.tables_bytes) >= rows => return Ok(allotted),
            Err(error) if least.as_ref().is_none_or(|least| error.least_bytes() < least.least_bytes()) => least = Some(error),
            _ => {}
        }
    }
    // The smallest are for any store, so that none of them had its recorders.
    of(SEGMENT_ROWS_MIN).map_err(|error| least.unwrap_or(error))
}

/// With shares that grow with the memory as they are of `measured_bytes`.
fn shares_by(config: &Config, measured_bytes: u64) -> Result<AnalysisShares, BudgetError> {
    let connections = connections_max(config) + STRANGERS_MAX;
    let wide = connections.min(CONNECTIONS_WIDE) as u64;
    let narrow = connections as u64 - wide;
    let (encrypted_wide, encrypted_narrow) = if config.access.tls.is_some() { (wide, narrow) } else { (0, 0) };
    let sessions = config.sessions_max as u64;
    let renders = places(config) as u64;
    let held = held_places(config.sessions_max) as u64;
    let puts = config.store.as_ref().map_or(0, |_| PUTS_MAX as u64);
    let reads = config.store.as_ref().and(config.access.tls.as_ref()).map_or(0, |_| READS_MAX as u64);
    let beside = [
        ("program".to_owned(), PROGRAM_BYTES),
        (format!("{wide} connections with large buffers"), wide * CONNECTION_BYTES),
        (format!("{narrow} connections with small ones (--connections)"), narrow * NARROW_BYTES),
        (format!("TLS of {connections} connections"), encrypted_wide * TLS_BYTES + encrypted_narrow * TLS_NARROW_BYTES),
        (format!("{ANSWERS_MAX} answers on their way"), ANSWERS_MAX as u64 * REPORT_BYTES_MAX as u64),
        (format!("{BODIES_MAX} long questions"), BODIES_MAX as u64 * BODY_BYTES),
        ("an answer that is made".to_owned(), ANSWER_MADE_BYTES),
        ("a part that is held for its checksum".to_owned(), CHECKED_SPARE_BYTES),
        ("latest reports".to_owned(), REPORTS_KEPT_BYTES as u64),
        ("a session that is being kept (--state)".to_owned(), config.state.as_ref().map_or(0, |_| KEEPING_BYTES)),
        ("threads of a question".to_owned(), config.settings.threads_max() as u64 * THREAD_BYTES),
        ("filters of a question, and what it sorts".to_owned(), question_bytes_of(config, measured_bytes)),
        (format!("{sessions} x samples, names, the start of a line"), sessions * SESSION_BYTES),
        (format!("{held} starts of long lines (--line-max)"), held * buffer_bytes(config.settings.line_bytes_max) as u64),
        (format!("{ENDED_SESSIONS_MAX} ended sessions"), ENDED_SESSIONS_MAX as u64 * ENDED_SESSION_BYTES),
        (format!("{renders} renderings"), renders * RENDER_BYTES),
        (format!("{EXPORTS_MAX} exports"), EXPORTS_MAX as u64 * EXPORT_BYTES),
        ("index of the store, and who asks it".to_owned(), config.store.as_ref().map_or(0, |_| STORE_BYTES)),
        (format!("{puts} puts into the store"), puts * PUT_BYTES),
        (format!("{reads} encrypted readers of the store"), reads * READ_BYTES),
        ("templates and their variables".to_owned(), config.rendering.as_ref().map_or(0, |rendering| rendering.given_bytes)),
        ("rows of templates".to_owned(), config.rendering.as_ref().map_or(0, |rendering| rendering.rows_bytes)),
    ];
    let instead = match (sessions > 1, renders > 0) {
        // Fewer that are more than one can need more: they share fewer turns.
        (true, false) => "--sessions 1 or fewer --connections",
        (true, true) => "--sessions 1, fewer --connections or --renders",
        (false, true) => "fewer --connections or --renders",
        (false, false) => "fewer --connections",
    };
    // Permits that uploads share, those to the end of a log, and files that the server reads
    // itself.
    let runs = 1 + own_places(config.sessions_max) + config.reading;
    config.settings.shares_beside(&beside, runs as u64, instead)
}

/// The rows of all sessions, in segments of so many, which share the rest: as much in all as a
/// single store has at least.
fn kept(config: &Config, segment_rows: usize) -> RowStoreShare {
    let parts = config.sessions_max as u64;
    let bytes_min = STORE_BYTES_MIN.max(ROWS_BYTES_MIN / parts);
    RowStoreShare { what: "rows", worker_bytes: recorder_bytes(segment_rows), parts, bytes_min }
}

/// Most memory of one question beside its threads.
fn question_bytes(config: &Config) -> u64 {
    question_bytes_of(config, config.settings.memory_bytes.max(MEASURED_BYTES_MIN))
}

fn question_bytes_of(config: &Config, measured_bytes: u64) -> u64 {
    work_bytes(measured_bytes / config.sessions_max.max(4) as u64, config.settings.threads_max())
}

/// Every rendering has a connection, and the page its own.
pub(crate) fn connections_max(config: &Config) -> usize {
    config.connections_max + places(config)
}

fn places(config: &Config) -> usize {
    config.rendering.as_ref().map_or(0, |rendering| rendering.places)
}
