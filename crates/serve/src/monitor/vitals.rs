//! Health of the server: for people (`/api/vitals`), for Prometheus (`/metrics`), for service
//! managers (`/healthz`, `/readyz`).

use crate::admission::response_permits::PermitOwner;
use crate::admission::{PermitKind, PermitPool};
use crate::explore::sessions::{SessionTotals, Sessions};
use crate::http::auth::RequestGate;
use crate::http::body::BodyPermits;
use crate::http::connections::ConnectionSlot;
use crate::http::routes::RouteTable;
use crate::monitor::measures::recorded;
use crate::render::Renders;
use crate::session::SessionState;
use axum::extract::{Extension, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::{Json, Router};
use metrics::{counter, gauge};
use rorqual_pipe::stats;
use serde::Serialize;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Of the exposition format of Prometheus.
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Sources of the server's health.
pub(crate) struct Vitals {
    sessions: Arc<Sessions>,
    renders: Option<Arc<Renders>>,
    gate: Arc<RequestGate>,
    started: (Instant, SystemTime),
}

/// Health of the server.
#[derive(Debug, Serialize)]
struct HealthSigns {
    version: &'static str,
    uptime_seconds: f64,
    memory_max_bytes: u64,
    resident_bytes: Option<u64>,
    peak_bytes: Option<u64>,
    open_files: Option<u64>,
    threads: Option<u64>,
    sessions: BySessionState,
    sessions_max: usize,
    #[serde(flatten)]
    taken: SessionTotals,
    connections: ConnectionVitals,
    answers: Use,
    bodies: Use,
    exports: Use,
    renders: Use,
}

#[derive(Debug, Default, Serialize)]
struct BySessionState {
    waiting: usize,
    receiving: usize,
    following: usize,
    interrupted: usize,
    finished: usize,
    cancelled: usize,
    failed: usize,
}

#[derive(Debug, Serialize)]
struct ConnectionVitals {
    known: usize,
    known_max: usize,
    strangers: usize,
    wide: usize,
}

#[derive(Debug, Default, Serialize)]
struct Use {
    taken: usize,
    places: usize,
}

impl Use {
    fn of_permits(permits: &PermitPool) -> Self {
        Self { taken: permits.taken(), places: permits.count() }
    }

    fn of(places: &BodyPermits) -> Self {
        Self { taken: places.taken(), places: places.count() }
    }
}

/// The addresses that tell.
pub(crate) fn routes() -> RouteTable<Arc<Vitals>> {
    RouteTable::new()
        .get("/api/vitals", vitals_json)
        .get("/metrics", exposition)
        .get("/healthz", async || "ok\n")
        .get("/readyz", ready)
}

pub(crate) fn router(sessions: &Arc<Sessions>, renders: Option<&Arc<Renders>>, gate: &Arc<RequestGate>) -> Router {
    let started = (Instant::now(), SystemTime::now());
    let vitals = Vitals { sessions: Arc::clone(sessions), renders: renders.cloned(), gate: Arc::clone(gate), started };
    routes().into_router(Arc::new(vitals))
}

async fn vitals_json(Shared(vitals): Shared<Arc<Vitals>>) -> impl IntoResponse {
    ([(header::CACHE_CONTROL, "no-store")], Json(vitals.signs()))
}

async fn exposition(Shared(vitals): Shared<Arc<Vitals>>, Extension(holder): Extension<PermitOwner>) -> impl IntoResponse {
    let ticket = holder.ticket().await;
    vitals.record(&vitals.signs());
    let text = recorded().render().into_bytes().into_boxed_slice();
    ([(header::CONTENT_TYPE, EXPOSITION), (header::CACHE_CONTROL, "no-store")], ticket.on(text.into()))
}

/// Readiness: a new session would find a place.
async fn ready(Shared(vitals): Shared<Arc<Vitals>>, place: Option<Extension<Arc<ConnectionSlot>>>) -> (StatusCode, &'static str) {
    let (known, known_max, _) = vitals.gate.connections.counts();
    // Who asks with the token has a place himself.
    let others = known - usize::from(place.is_some_and(|Extension(place)| place.is_known()));
    if vitals.gate.drain.ending() || others >= known_max || !vitals.sessions.has_room() {
        return (StatusCode::SERVICE_UNAVAILABLE, "not ready\n");
    }
    (StatusCode::OK, "ready\n")
}

impl Vitals {
    fn signs(&self) -> HealthSigns {
        let (known, known_max, strangers) = self.gate.connections.counts();
        let used = |kind| Use::of_permits(&self.gate.admission.pool(kind));
        let mut sessions = BySessionState::default();
        for session in self.sessions.list() {
            *match session.state() {
                SessionState::Waiting => &mut sessions.waiting,
                SessionState::Receiving => &mut sessions.receiving,
                SessionState::Following => &mut sessions.following,
                SessionState::Interrupted => &mut sessions.interrupted,
                SessionState::Finished => &mut sessions.finished,
                SessionState::Cancelled => &mut sessions.cancelled,
                SessionState::Failed => &mut sessions.failed,
            } += 1;
        }
        HealthSigns {
            version: env!("CARGO_PKG_VERSION"),
            uptime_seconds: self.started.0.elapsed().as_secs_f64(),
            memory_max_bytes: self.sessions.memory_bytes(),
            resident_bytes: stats::resident_bytes(),
            peak_bytes: stats::peak_bytes(),
            open_files: stats::open_files(),
            threads: stats::threads(),
            sessions,
            sessions_max: self.sessions.sessions_max(),
            taken: self.sessions.taken(),
            connections: ConnectionVitals { known, known_max, strangers, wide: self.gate.connections.wide() },
            answers: used(PermitKind::Answer),
            bodies: used(PermitKind::Body),
            exports: Use::of(self.sessions.exports()),
            renders: self.renders.as_ref().map(|renders| Use::of(renders.places())).unwrap_or_default(),
        }
    }

    /// Tells the facade all values that are not counted where they happen.
    fn record(&self, signs: &HealthSigns) {
        let set = |name: &'static str, value: u64| gauge!(name).set(value as f64);
        let started = self.started.1.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        gauge!("rorqual_build_info", "version" => signs.version).set(1.0);
        gauge!("process_start_time_seconds").set(started);
        let told = [
            ("process_resident_memory_bytes", signs.resident_bytes),
            ("process_open_fds", signs.open_files),
            ("process_threads", signs.threads),
            ("rorqual_peak_bytes", signs.peak_bytes),
        ];
        told.into_iter().filter_map(|(name, value)| Some((name, value?))).for_each(|(name, value)| set(name, value));
        set("rorqual_memory_max_bytes", signs.memory_max_bytes);
        set("rorqual_sessions_max", signs.sessions_max as u64);
        set("rorqual_connections_max", signs.connections.known_max as u64);
        let sessions = &signs.sessions;
        record_by(
            "rorqual_sessions",
            "state",
            &[
                ("waiting", sessions.waiting),
                ("receiving", sessions.receiving),
                ("following", sessions.following),
                ("interrupted", sessions.interrupted),
                ("finished", sessions.finished),
                ("cancelled", sessions.cancelled),
                ("failed", sessions.failed),
            ],
        );
        let connections = [("known", signs.connections.known), ("stranger", signs.connections.strangers)];
        record_by("rorqual_connections", "who", &connections);
        let uses =
            [("answers", &signs.answers), ("bodies", &signs.bodies), ("exports", &signs.exports), ("renders", &signs.renders)];
        record_by("rorqual_places", "for", &uses.map(|(what, used)| (what, used.places)));
        record_by("rorqual_places_taken", "for", &uses.map(|(what, used)| (what, used.taken)));
        set("rorqual_connections_wide", signs.connections.wide as u64);
        record_taken(&signs.taken);
    }
}

fn record_by(name: &'static str, label: &'static str, values: &[(&'static str, usize)]) {
    for (kind, value) in values {
        gauge!(name, label => *kind).set(*value as f64);
    }
}

fn record_taken(taken: &SessionTotals) {
    counter!("rorqual_sessions_made_total").absolute(taken.sessions_made);
    counter!("rorqual_received_bytes_total").absolute(taken.received_bytes);
    for (outcome, lines) in
        [("parsed", taken.lines_parsed), ("repaired", taken.lines_repaired), ("rejected", taken.lines_rejected)]
    {
        counter!("rorqual_lines_total", "outcome" => outcome).absolute(lines);
    }
    gauge!("rorqual_receive_bytes_per_second").set(taken.bytes_per_second);
    gauge!("rorqual_spilled_bytes").set(taken.spilled_bytes as f64);
    gauge!("rorqual_pool_bytes").set(taken.pool_bytes as f64);
    gauge!("rorqual_pool_lent_bytes").set(taken.pool_lent_bytes as f64);
}
