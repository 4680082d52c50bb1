//! The table of all permits of a server, from which its parts, its sum of memory and its metrics
//! read.

use super::{PermitKind as Kind, PermitPool};
use crate::limits::{
    ANSWER_MADE_BYTES, ANSWERS_MAX, BODIES_MAX, BODY_BYTES, CHECKED_SPARE_BYTES, CONNECTION_BYTES, CONNECTIONS_WIDE,
    DISCARDS_MAX, ENDED_SESSION_BYTES, ENDED_SESSIONS_MAX, EXPORT_BYTES, EXPORTS_MAX, HELD_PLACES, KEEPING_BYTES, MANY_SESSIONS,
    NARROW_BYTES, OWN_PLACES, PUT_BYTES, PUTS_MAX, READ_BYTES, READS_MAX, RENDER_BYTES, REPORT_BYTES_MAX, SESSION_BYTES,
    STORE_ASKS_MAX, STRANGERS_MAX, SYNCS_MAX, TLS_BYTES, TLS_NARROW_BYTES,
};
use crate::setting::{CONNECTIONS, STATE};
use rorqual_pipe::Setting;
use rorqual_pipe::limits::buffer_bytes;
use rorqual_pipe::setting::LINE_MAX;

/// Numbers on which the table depends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AdmissionCounts {
    /// Connections that have shown the token.
    pub(crate) connections: usize,
    pub(crate) sessions: usize,
    pub(crate) renders: usize,
    pub(crate) line_bytes_max: usize,
    /// Connections are encrypted by this server.
    pub(crate) encrypted: bool,
    /// Sessions outlive the server.
    pub(crate) keeps: bool,
    pub(crate) has_store: bool,
}

/// The permits of a server. Those that each session or connection has for itself
/// ([`Kind::NextQuestion`], [`Kind::ConnectionAnswer`]), and the shared workers, whose number comes
/// out of the sum, are made where they are used.
#[derive(Debug, Clone)]
pub(crate) struct Admission {
    rows: Vec<PermitRow>,
}

/// A kind of permits.
#[derive(Debug, Clone)]
struct PermitRow {
    kind: Kind,
    pool: PermitPool,
    /// Memory of each.
    bytes: u64,
    /// Holder of that memory, as the sum names it.
    holder: &'static str,
}

/// The setting that moves the number or the bytes of a kind, where there is one.
fn setting_of(kind: Kind) -> Option<Setting> {
    match kind {
        Kind::Connection => Some(CONNECTIONS),
        Kind::LineStart => Some(LINE_MAX),
        Kind::Save => Some(STATE),
        _ => None,
    }
}

impl Admission {
    pub(crate) fn new(counts: &AdmissionCounts) -> Self {
        let AdmissionCounts { connections, sessions, renders, line_bytes_max, encrypted, keeps, has_store } = *counts;
        let wide = CONNECTIONS_WIDE.min(connections + STRANGERS_MAX);
        let (narrow_tls, wide_tls) = if encrypted { (TLS_NARROW_BYTES, TLS_BYTES - TLS_NARROW_BYTES) } else { (0, 0) };
        let narrow_bytes = NARROW_BYTES + narrow_tls;
        let stored = |count: usize| if has_store { count } else { 0 };
        let rows = [
            (Kind::WideConnection, wide, CONNECTION_BYTES - NARROW_BYTES + wide_tls, "large buffers of connections"),
            (Kind::Stranger, STRANGERS_MAX, narrow_bytes, "connections without the token"),
            (Kind::Connection, connections, narrow_bytes, "connections"),
            (Kind::Test, DISCARDS_MAX, 0, "tests of a connection"),
            (Kind::Render, renders, RENDER_BYTES, "renderings"),
            (Kind::Export, EXPORTS_MAX, EXPORT_BYTES, "exports"),
            (Kind::Put, stored(PUTS_MAX), PUT_BYTES, "puts into the store"),
            (Kind::Read, stored(READS_MAX), if encrypted { READ_BYTES } else { 0 }, "encrypted readers of the store"),
            (Kind::StoreQuestion, stored(STORE_ASKS_MAX), 0, "questions to the store"),
            (Kind::Body, BODIES_MAX, BODY_BYTES, "long questions"),
            (Kind::Room, 1, 0, "making of room"),
            (Kind::Session, sessions, SESSION_BYTES, "x samples, names, the start of a line"),
            (Kind::EndedSession, ENDED_SESSIONS_MAX, ENDED_SESSION_BYTES, "ended sessions"),
            (Kind::Answer, ANSWERS_MAX, REPORT_BYTES_MAX as u64, "answers on their way"),
            (Kind::Query, 1, ANSWER_MADE_BYTES, "answer that is made"),
            (Kind::LineStart, HELD_PLACES.min(sessions), buffer_bytes(line_bytes_max) as u64, "starts of long lines"),
            (Kind::Decoder, decoders(sessions), 0, "decoders of logs"),
            (Kind::Table, 1, 0, "reading of a table"),
            (Kind::Checksum, 1, CHECKED_SPARE_BYTES, "part that is held for its checksum"),
            (Kind::Save, 1, if keeps { KEEPING_BYTES } else { 0 }, "session that is being kept"),
            (Kind::Sync, SYNCS_MAX, 0, "waits for the disk"),
        ];
        let row = |(kind, count, bytes, holder)| PermitRow { kind, pool: PermitPool::new(kind, count), bytes, holder };
        Self { rows: Vec::from(rows.map(row)) }
    }

    /// The permits of a kind; none where the table has no such row.
    pub(crate) fn pool(&self, kind: Kind) -> PermitPool {
        let row = self.rows.iter().find(|row| row.kind == kind);
        row.map_or_else(|| PermitPool::new(kind, 0), |row| row.pool.clone())
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.pool(kind).count()
    }

    /// Names of the holders of memory, and the bytes of all permits of each.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (String, u64)> {
        let name = |row: &PermitRow| {
            let setting = setting_of(row.kind).map_or_else(String::new, |setting| format!(" ({setting})"));
            format!("{} {}{setting}", row.pool.count(), row.holder)
        };
        self.rows.iter().map(move |row| (name(row), row.bytes_sum()))
    }

    /// Memory of all permits together.
    #[cfg(test)]
    pub(crate) fn bytes_sum(&self) -> u64 {
        self.rows.iter().map(PermitRow::bytes_sum).sum()
    }
}

impl PermitRow {
    fn bytes_sum(&self) -> u64 {
        self.pool.count() as u64 * self.bytes
    }
}

/// Logs that are decoded at a time, each with workers of its own. A single session has the shared
/// ones instead.
fn decoders(sessions: usize) -> usize {
    match sessions {
        0 | 1 => 0,
        2..=MANY_SESSIONS => OWN_PLACES,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    #[test]
    fn the_sum_of_the_table_is_the_one_made_by_hand() {
        let counts = AdmissionCounts { connections: 32, sessions: 2, line_bytes_max: 256 << 10, ..AdmissionCounts::default() };
        // 32 connections with three buffers of 256 KiB and 16 with three of 16 KiB, each with its
        // task; 32 answers and 8 bodies; the answer being made; the part with a checksum; two
        // sessions with the start of a line each; 8 ended ones with their reports; 4 exports.
        let line = buffer_bytes(256 << 10) as u64;
        let body = 3 * crate::limits::JSON_BYTES_MAX as u64;
        let expected = 32 * 800 * KIB
            + 16 * 80 * KIB
            + 32 * 512 * KIB
            + 8 * body
            + 8 * KIB * KIB
            + KIB * KIB
            + 2 * (48 * KIB + line)
            + 8 * (512 + 48) * KIB
            + 4 * 512 * KIB;
        assert_eq!(Admission::new(&counts).bytes_sum(), expected);
        // TLS has its own buffers for each: 2 x 64 KiB of the wide ones, 2 x 16 KiB of the others,
        // and 96 KiB.
        let encrypted = Admission::new(&AdmissionCounts { encrypted: true, ..counts }).bytes_sum();
        assert_eq!(encrypted - expected, 32 * (128 + 96) * KIB + 16 * (32 + 96) * KIB);
        let more = AdmissionCounts { renders: 3, keeps: true, ..counts };
        assert_eq!(Admission::new(&more).bytes_sum() - expected, 3 * RENDER_BYTES + 12 * KIB * KIB);
        let holders: u64 = Admission::new(&counts).holders().map(|(_, bytes)| bytes).sum();
        assert_eq!(holders, expected, "the budget has the same rows");
    }

    #[test]
    fn every_kind_has_its_row_but_those_of_a_session_and_a_connection() {
        let admission = Admission::new(&AdmissionCounts { sessions: 65, has_store: true, ..AdmissionCounts::default() });
        let kinds: Vec<Kind> = admission.rows.iter().map(|row| row.kind).collect();
        assert!(kinds.is_sorted(), "the order of waiting is the table's");
        let elsewhere = [Kind::NextQuestion, Kind::ConnectionAnswer, Kind::Worker];
        assert!(elsewhere.iter().all(|kind| !kinds.contains(kind)));
        assert_eq!(admission.count(Kind::Decoder), 1);
        assert_eq!((admission.count(Kind::LineStart), admission.count(Kind::StoreQuestion)), (32, 8));
    }
}
