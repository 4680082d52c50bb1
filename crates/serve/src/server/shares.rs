//! The memory of a server, shared out at its start among all that it may do at a time.

use crate::admission::{Admission, AdmissionCounts, PermitKind};
use crate::explore::export_advice::{AdvisedSettings, ExportAdvice, ExportNeed};
use crate::explore::exports::least_bytes;
use crate::limits::{
    ENDED_SESSIONS_MAX, EXPORT_SHARE, FILE_BYTES, MEASURED_BYTES_MIN, PEER_BYTES, PEER_FILTERS_BYTES, PROGRAM_BYTES,
    REPORTS_KEPT_BYTES, SEGMENT_ROWS_FEWEST, STORE_BYTES, TABLE_RECORDERS_SHARE, TABLES_READING_SHARE,
};
use crate::server::config::{Config, StartError};
use crate::session::{SessionMemory, uploaded_files_max};
use crate::setting::{CONNECTIONS, RENDERS, SESSIONS};
use rorqual_accesslog::analyze::{AnalysisShares, RowStoreShare};
use rorqual_crossfilter::limits::{
    RECORDER_BYTES, ROWS_BYTES_MIN, STORE_BYTES_MIN, TABLE_NUMBERS_BYTES, THREAD_BYTES, recorder_bytes, segment_rows, work_bytes,
};
use rorqual_pipe::BudgetError;
use rorqual_pipe::limits::HELD_FIRST_BYTES_MAX;

/// Shares the memory out among the sessions, after all other holders, and sets the part that each
/// keeps for its rows.
pub(crate) fn allot(config: &mut Config, admission: &Admission) -> Result<SessionMemory, StartError> {
    // Some shares grow with the memory: the amount that a refusal names has to be enough for them
    // as they are then.
    let mut measured_bytes = config.settings.memory_bytes.max(MEASURED_BYTES_MIN);
    loop {
        match allot_by(config, admission, measured_bytes) {
            Err(error) if error.least_bytes() > measured_bytes => measured_bytes = error.least_bytes(),
            allotted => return allotted.map_err(StartError::Budget),
        }
    }
}

/// Most memory that is advised, in MiB.
const ADVISED_MIB_MAX: u64 = 1 << 24;

/// Settings with which exports have room in any session; those of `config` stay as they are.
pub(crate) fn export_advice(config: &mut Config) -> ExportAdvice {
    ExportAdvice {
        text: advised(config, ExportNeed::Text),
        parquet: advised(config, ExportNeed::Parquet),
        lacks_file: config.spill.is_none(),
    }
}

fn advised(config: &mut Config, need: ExportNeed) -> AdvisedSettings {
    let (memory_bytes, sessions) = (config.settings.memory_bytes, config.sessions_max);
    let mut suffices = |memory_bytes: u64, sessions: usize| {
        (config.settings.memory_bytes, config.sessions_max) = (memory_bytes, sessions);
        let admission = admission(config);
        let shares = allot(config, &admission).map(|allotted| allotted.shares);
        shares.is_ok_and(|shares| shares.tables_bytes >= EXPORT_SHARE * least_bytes(need, shares.threads))
    };
    let mut advised = AdvisedSettings::default();
    if !suffices(memory_bytes, sessions) {
        let (mut less, mut enough) = (memory_bytes >> 20, (memory_bytes >> 20).max(1));
        while enough < ADVISED_MIB_MAX && !suffices(enough << 20, sessions) {
            (less, enough) = (enough, 2 * enough);
        }
        while enough - less > 1 {
            let middle = less.midpoint(enough);
            *(if suffices(middle << 20, sessions) { &mut enough } else { &mut less }) = middle;
        }
        let mut fewer = std::iter::successors(Some(sessions / 2), |fewer| Some(fewer / 2)).take_while(|fewer| *fewer > 0);
        let fewer = fewer.find(|fewer| suffices(memory_bytes, *fewer));
        advised = AdvisedSettings { memory_mib: Some(enough), sessions: fewer };
    }
    (config.settings.memory_bytes, config.sessions_max) = (memory_bytes, sessions);
    advised
}

/// The largest segments for which there is memory in their recorders and, some of them, in a
/// session's rows. Where there is too little for any, the least of them is named: smaller ones
/// would save little memory, and a spilled segment takes as much of the rows' memory for few rows
/// as for many.
fn allot_by(config: &mut Config, admission: &Admission, measured_bytes: u64) -> Result<SessionMemory, BudgetError> {
    // More no session gets.
    let most = segment_rows(measured_bytes / config.sessions_max as u64);
    let fewest = segment_rows(rows_bytes_min(config)).min(SEGMENT_ROWS_FEWEST).min(most);
    let sizes = std::iter::successors(Some(most), |rows| (*rows > fewest).then(|| (rows / 2).max(fewest)));
    let mut of = |rows: usize| -> Result<SessionMemory, BudgetError> {
        config.settings.kept = Some(kept(config, rows));
        let shares = shares_by(config, admission, measured_bytes)?;
        let (question_bytes, recorders) = (question_bytes(config), table_recorders(config, measured_bytes));
        Ok(SessionMemory { shares, question_bytes, segment_rows: rows, recorders })
    };
    let mut least: Option<BudgetError> = None;
    for rows in sizes {
        match of(rows) {
            Ok(allotted) if segment_rows(allotted.shares.tables_bytes) >= rows => return Ok(allotted),
            Err(error) if least.as_ref().is_none_or(|least| error.least_bytes() < least.least_bytes()) => least = Some(error),
            _ => {}
        }
    }
    // A store has room for the smallest, so that it was their recorders that had none.
    of(fewest).map_err(|error| least.unwrap_or(error))
}

/// With shares that grow with the memory as they are of `measured_bytes`.
fn shares_by(config: &Config, admission: &Admission, measured_bytes: u64) -> Result<AnalysisShares, BudgetError> {
    let threads = config.settings.threads_max() as u64;
    let holders = [
        ("program", PROGRAM_BYTES),
        ("latest reports", REPORTS_KEPT_BYTES as u64),
        ("threads of a question", threads * THREAD_BYTES),
        ("filters of a question, and what it sorts", question_bytes_of(config, measured_bytes)),
        ("reading of tables (a 4th of all)", if config.has_tables { measured_bytes / TABLES_READING_SHARE } else { 0 }),
        ("rows of a table on their way", table_recorders(config, measured_bytes) as u64 * RECORDER_BYTES),
        ("numbers of a table in a question", if config.has_tables { threads * TABLE_NUMBERS_BYTES } else { 0 }),
        ("files of logs that are several", files_bytes(config)),
        ("unfinished lines of files that are followed", followed_bytes(config)),
        ("index of the store, and who asks it", config.store.as_ref().map_or(0, |_| STORE_BYTES)),
        ("parts of answers of peers", config.fleet.as_ref().map_or(0, |fleet| fleet.peers.len() as u64 * PEER_BYTES)),
        ("filters of a question to peers", config.fleet.as_ref().map_or(0, |_| PEER_FILTERS_BYTES)),
        ("templates and their variables", config.rendering.as_ref().map_or(0, |rendering| rendering.given_bytes)),
        ("rows of templates", config.rendering.as_ref().map_or(0, |rendering| rendering.rows_bytes)),
    ];
    let holders = holders.map(|(holder, bytes)| (holder.to_owned(), bytes));
    let beside: Vec<(String, u64)> = admission.holders().chain(holders).collect();
    let instead = match (config.sessions_max > 1, places(config) > 0) {
        // Fewer that are more than one can need more: they share fewer turns.
        (true, false) => format!("{SESSIONS} 1 or fewer {CONNECTIONS}"),
        (true, true) => format!("{SESSIONS} 1, fewer {CONNECTIONS} or {RENDERS}"),
        (false, true) => format!("fewer {CONNECTIONS} or {RENDERS}"),
        (false, false) => format!("fewer {CONNECTIONS}"),
    };
    // Permits that uploads share, those to the end of a log, and files that the server reads
    // itself.
    let runs = 1 + admission.count(PermitKind::Decoder) + config.reading;
    config.settings.shares_beside(&beside, runs as u64, &instead)
}

/// Recorders of a table that is read, one a thread, in a 16th of the memory; none where none is
/// read apart from the sessions' shares.
fn table_recorders(config: &Config, measured_bytes: u64) -> usize {
    if !config.has_tables {
        return 0;
    }
    let fitting = measured_bytes / TABLE_RECORDERS_SHARE / RECORDER_BYTES;
    config.settings.threads_max().min(fitting as usize).max(1)
}

/// Files that are one log: of uploads, of all sessions that are held, and the server's own.
fn files_bytes(config: &Config) -> u64 {
    let sessions = config.sessions_max + ENDED_SESSIONS_MAX;
    (sessions * uploaded_files_max(config.sessions_max) + config.files_open) as u64 * FILE_BYTES
}

/// The start of a line, or of a log, of each of the files that are followed as one.
fn followed_bytes(config: &Config) -> u64 {
    (config.followed_together * (config.settings.line_bytes_max + HELD_FIRST_BYTES_MAX)) as u64
}

/// The permits of a server with these settings.
pub(crate) fn admission(config: &Config) -> Admission {
    Admission::new(&AdmissionCounts {
        connections: connections_max(config),
        sessions: config.sessions_max,
        renders: places(config),
        line_bytes_max: config.settings.line_bytes_max,
        encrypted: config.access.tls.is_some(),
        keeps: config.state.is_some(),
        has_store: config.store.is_some(),
    })
}

/// The rows of all sessions, in segments of so many, which share the rest: as much in all as a
/// single store has at least.
fn kept(config: &Config, segment_rows: usize) -> RowStoreShare {
    let (parts, bytes_min) = (config.sessions_max as u64, rows_bytes_min(config));
    RowStoreShare { what: "rows", worker_bytes: recorder_bytes(segment_rows), parts, bytes_min }
}

/// Least memory of a session's rows.
fn rows_bytes_min(config: &Config) -> u64 {
    STORE_BYTES_MIN.max(ROWS_BYTES_MIN / config.sessions_max as u64)
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
