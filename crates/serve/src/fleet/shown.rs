//! The session of a fleet as clients see it: its state, its report, and the peers that are missing.

use super::Fleet;
use super::ask::{FleetQuestion, LostPeers};
use super::live_peers::{LivePeer, Roll};
use super::peer::{Peer, PeerFailure};
use crate::explore::live::ServerView;
use crate::explore::reports::capped_json;
use crate::explore::sessions::Sessions;
use crate::limits::{TOP_ROWS, VIEW_ROWS};
use crate::session::SessionState;
use bytes::Bytes;
use rorqual_accesslog::aggregate::LineCounts;
use rorqual_accesslog::report::{
    BUCKETS_DEFAULT, Distinct, InputReport, LogReport, PercentileSet, ReportSamples, RunStats, SCHEMA,
};
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::{Stack, View, ViewResult};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::time::timeout;

/// The peers of an answer.
#[derive(Debug, Clone, Serialize)]
pub(super) struct FleetView {
    /// All peers answered, and all of their rows are in the answer.
    pub(super) complete: bool,
    /// Rows of the peers that did not answer, as far as they are known; they are in no number.
    pub(super) rows_missing: u64,
    pub(super) peers: Vec<PeerView>,
}

/// A peer of an answer.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PeerView {
    name: String,
    /// Rows when last known.
    rows: Option<u64>,
    /// Of the rows of all peers when last known.
    share: Option<f64>,
    /// The reason for which it is not in the answer.
    error: Option<String>,
    /// Time since which it does not answer.
    missing_seconds: Option<f64>,
}

/// The report that was made last, of rows of these generations.
pub(super) struct LatestReport {
    of: Vec<Option<u64>>,
    json: Bytes,
    made: Instant,
    /// Time it took to make.
    cost: Duration,
}

/// Most time of a report that counts for the pause after it: a peer may have hung.
const REPORT_COST_MAX: Duration = Duration::from_secs(3);

/// Part of the time that reports of rows which arrive take at most.
const REPORTS_SHARE: u32 = 10;

impl LatestReport {
    /// True if it is of these rows, or of the same peers and was made a short while ago.
    fn is_good(&self, of: &[Option<u64>]) -> bool {
        let is_of_peers = self.of.iter().map(Option::is_some).eq(of.iter().map(Option::is_some));
        self.of == of || (is_of_peers && self.made.elapsed() < self.cost * REPORTS_SHARE)
    }
}

/// An answer, and the peers of it.
#[derive(Serialize)]
pub(super) struct FleetAnswer<T> {
    #[serde(flatten)]
    pub(super) answer: T,
    pub(super) fleet: FleetView,
}

impl PeerView {
    /// The end of a sentence that begins with its name, in the words of the page.
    fn told(&self) -> Option<String> {
        let error = self.error.as_ref()?;
        if self.missing_seconds.is_none() {
            return Some(error.clone());
        }
        let share = self.share.map(|share| format!("it had {} of all rows", percent(share)));
        Some(format!("is missing ({}): {error}", share.as_deref().unwrap_or("its share is unknown")))
    }
}

impl FleetView {
    /// For people: the peers of which not all rows are there; `None` where there are none.
    pub(super) fn incomplete(&self) -> Option<String> {
        let told: Vec<String> = self.peers.iter().filter_map(|peer| Some(format!("{} {}", peer.name, peer.told()?))).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Marks what was counted without some of the peers.
    pub(super) fn mark(&self, viewed: &mut ViewResult) {
        if self.complete {
            return;
        }
        viewed.exact = false;
        viewed.clients = unsure(viewed.clients);
        for panel in &mut viewed.panels {
            panel.exact = false;
            panel.distinct = unsure(panel.distinct);
            panel.error_max = panel.error_max.saturating_add(self.rows_missing);
        }
        let facets = viewed.facets.iter_mut().map(|facet| &mut facet.panel);
        for panel in facets {
            panel.exact = false;
            panel.distinct = unsure(panel.distinct);
        }
    }
}

/// A number that peers which did not answer may add to.
pub(super) fn unsure(distinct: Distinct) -> Distinct {
    Distinct { exact: false, ..distinct }
}

/// Per cent as the page has them: 100 only of all.
fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.01 {
        return "less than 1 %".to_owned();
    }
    let most = if share >= 1.0 { 100.0 } else { 99.0 };
    format!("{} %", (share * 100.0).floor().min(most))
}

impl Fleet {
    /// The peers of an answer that those of a roll gave.
    pub(super) fn view(&self, roll: &Roll) -> FleetView {
        let is_live = |place: usize| roll.live.iter().any(|live| live.place == place);
        let rows = |place: usize| {
            let live = roll.live.iter().find(|live| live.place == place).map(|live| live.status.extent.rows.total);
            live.or_else(|| self.peers[place].status().map(|status| status.extent.rows.total))
        };
        let all: u64 = (0..self.peers.len()).filter_map(rows).sum();
        let view = |place: usize| {
            let (peer, rows) = (&self.peers[place], rows(place));
            let missing_seconds = || peer.failure().map_or(0.0, |(_, since)| since.elapsed().as_secs_f64());
            PeerView {
                name: peer.name().to_owned(),
                rows,
                share: rows.filter(|_| all > 0).map(|rows| rows as f64 / all as f64),
                error: self.missing(roll, place),
                missing_seconds: (!is_live(place)).then(missing_seconds),
            }
        };
        let missing = (0..self.peers.len()).filter(|place| !is_live(*place)).filter_map(rows).sum();
        FleetView {
            complete: roll.live.len() == self.peers.len() && roll.is_whole(),
            rows_missing: missing,
            peers: (0..self.peers.len()).map(view).collect(),
        }
    }

    /// The reason for which rows of a peer are not in an answer.
    fn missing(&self, roll: &Roll, place: usize) -> Option<String> {
        if let Some((_, why)) = roll.left_out.iter().find(|(other, _)| *other == place) {
            return Some(why.clone());
        }
        match roll.live.iter().find(|live| live.place == place) {
            Some(live) => live.partial().map(str::to_owned),
            None => Some(self.peers[place].failure().map_or_else(|| "no answer".to_owned(), |(why, _)| why)),
        }
    }

    /// Its name, for people.
    pub(super) fn name(&self) -> String {
        match &self.peers[..] {
            [peer] => peer.name().to_owned(),
            peers => format!("{} peers", peers.len()),
        }
    }

    /// The state of its rows; as peers told last where there is no roll.
    fn state(&self) -> SessionState {
        let states = || self.peers.iter().filter_map(|peer| peer.status().map(|status| status.state));
        let grows = states().any(|state| !state.ended());
        let is_known = states().next().is_some();
        if grows || !is_known { SessionState::Following } else { SessionState::Finished }
    }

    /// Itself as a session.
    pub(crate) fn session(&self) -> Value {
        let known: Vec<_> = self.peers.iter().filter_map(|peer| peer.status()).collect();
        let schema = known.first().map(|status| &status.schema);
        let mut names: Vec<&str> = known.iter().flat_map(|status| &status.schema.own).map(|own| &*own.name).collect();
        names.sort_unstable();
        names.dedup();
        let (is_table, own) = (schema.is_some_and(|schema| schema.is_table), names.len());
        json!({
            "id": self.id,
            "name": self.name(),
            "size": null,
            "state": self.state(),
            "offset": known.iter().map(|status| status.bytes).fold(0u64, u64::saturating_add),
            "rate": 0.0,
            "eta_seconds": null,
            "error": null,
            "follow": null,
            "fingerprint": null,
            "created": self.created.duration_since(UNIX_EPOCH).map_or(0.0, |age| age.as_secs_f64()),
            "expires_seconds": u32::MAX,
            "kept": null,
            "reopened": null,
            "files": null,
            "columns": is_table.then_some(own),
            "own_columns": if is_table { 0 } else { own },
            "fleet": self.known_view(),
        })
    }

    /// The peers as they were when last known.
    fn known_view(&self) -> FleetView {
        self.view(&Roll { live: self.known_live(), schema: Schema::access_log().clone(), left_out: Vec::new() })
    }

    /// The columns of the peers as they were when last known; asks them where nothing is known yet.
    pub(super) async fn known_schema(&self) -> Schema {
        if self.peers.iter().all(|peer| peer.status().is_none() && peer.failure().is_none()) {
            let _turn = self.turn.acquire().await;
            return self.roll().await.schema;
        }
        Roll::new(self.known_live()).schema
    }

    fn known_live(&self) -> Vec<LivePeer> {
        let live = |(place, peer): (usize, &Arc<Peer>)| {
            let status = peer.status().filter(|_| peer.failure().is_none())?;
            Some(LivePeer { place, peer: Arc::clone(peer), status })
        };
        self.peers.iter().enumerate().filter_map(live).collect()
    }

    /// Everything that the page shows of the session with this report, as JSON.
    pub(super) fn live(&self, sessions: &Sessions, report: Option<&Bytes>) -> Bytes {
        let server = serde_json::to_string(&ServerView::new(sessions)).unwrap_or_else(|_| "null".to_owned());
        let report = report.map_or(&b"null"[..], |report| report);
        let head = format!("{{\"session\":{},\"report\":", self.session());
        [head.as_bytes(), report, format!(",\"server\":{server}}}").as_bytes()].concat().into()
    }

    /// True if rows have come since the report that was made last.
    pub(super) fn has_news(&self) -> bool {
        let of: Vec<Option<u64>> = self.peers.iter().map(|peer| generation(peer)).collect();
        // One that is being made is no news yet.
        self.report.try_lock().is_ok_and(|report| report.as_ref().is_none_or(|report| report.of != of))
    }

    /// The report of all rows; made anew where rows have come, or peers went.
    pub(super) async fn latest_report(&self) -> Option<Bytes> {
        let of: Vec<Option<u64>> = self.peers.iter().map(|peer| generation(peer)).collect();
        let mut latest = self.report.lock().await;
        if let Some(report) = latest.as_ref().filter(|report| report.is_good(&of)) {
            return Some(report.json.clone());
        }
        let _turn = self.turn.acquire().await.ok()?;
        let made = timeout(self.settings.question_time, self.make_report()).await.ok()??;
        let json = made.json.clone();
        *latest = Some(made);
        Some(json)
    }

    async fn make_report(&self) -> Option<LatestReport> {
        let begun = Instant::now();
        let mut roll = self.roll().await;
        let mut viewed = loop {
            if roll.live.is_empty() {
                return None;
            }
            match self.all_rows(&roll).await {
                Ok(viewed) => break viewed,
                Err(lost) => roll = self.lose(&roll, &lost),
            }
        };
        let fleet = self.view(&roll);
        fleet.mark(&mut viewed);
        let mut report = self.empty_report(fleet.complete && roll.is_ended());
        viewed.put_into(&mut report, roll.zone_seconds());
        for (source, peer) in report.sources.iter_mut().zip(&fleet.peers) {
            source.error = peer.told();
        }
        let cut = |report: &mut LogReport, rows| report.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
        let json = capped_json(&mut report, TOP_ROWS, cut)?;
        // Of the peers that are in it, and no others: one may be back by now.
        let of_place = |place: usize| roll.live.iter().find(|live| live.place == place);
        let generations = (0..self.peers.len()).map(|place| of_place(place).map(|live| live.status.extent.generation));
        let cost = begun.elapsed().min(REPORT_COST_MAX);
        Some(LatestReport { of: generations.collect(), json, made: Instant::now(), cost })
    }

    async fn all_rows(&self, roll: &Roll) -> Result<ViewResult, LostPeers> {
        let question = FleetQuestion { fleet: self, roll, view: View::default() };
        let (sums, generations) = question.sums(BUCKETS_DEFAULT, Stack::Class).await?;
        let panels = question.panels(&generations, VIEW_ROWS).await?;
        Ok(sums.into_result(String::new(), panels, Vec::new()))
    }

    /// The roll without peers that gave no part. They are noted as missing, but for those that
    /// can't answer this question and may others.
    pub(super) fn lose(&self, roll: &Roll, lost: &LostPeers) -> Roll {
        let mut rest = roll.without(&lost.iter().map(|(place, _)| *place).collect::<Vec<_>>());
        for (place, failure) in lost {
            match failure {
                PeerFailure::Refused(why) => rest.left_out.push((*place, why.clone())),
                failure => self.peers[*place].lose(failure),
            }
        }
        self.changed.send_modify(|change| *change += 1);
        rest
    }

    fn empty_report(&self, complete: bool) -> LogReport {
        let source = |place: usize| {
            let (peer, status) = (&self.peers[place], self.peers[place].status());
            InputReport {
                name: peer.name().to_owned(),
                format: status.as_ref().and_then(|status| status.format.clone()),
                guess: None,
                bytes: status.as_ref().map_or(0, |status| status.bytes),
                lines: status.as_ref().map_or(0, |status| status.extent.rows.total),
                error: None,
            }
        };
        let none = || ReportSamples { count: 0, samples: Vec::new() };
        let (seconds, bytes) = (0.0, 0);
        LogReport {
            schema: SCHEMA,
            complete,
            sources: (0..self.peers.len()).map(source).collect(),
            lines: LineCounts::default(),
            rows_dropped: 0,
            bytes_sent: 0,
            time: None,
            histogram: None,
            status: Vec::new(),
            clients: Distinct { distinct: 0, exact: true, error: 0.0 },
            panels: Vec::new(),
            percentiles: PercentileSet { bytes: None, request_time: None, upstream_time: None },
            rejects: none(),
            repairs: none(),
            stats: RunStats { seconds, bytes, bytes_per_second: 0.0, threads: 0, memory_max_bytes: 0, peak_bytes: None },
        }
    }
}

/// The generation of a peer's rows; `None` while it does not answer.
fn generation(peer: &Peer) -> Option<u64> {
    peer.status().filter(|_| peer.failure().is_none()).map(|status| status.extent.generation)
}
