//! One peer: its state when last known, and requests to it.

use super::address::PeerAddress;
use super::wire::{PartAsk, PartQuestion, PeerStatus, VERSION};
use crate::limits::{PEER_ANSWER_BYTES_MAX, PEER_COLUMNS_MAX, PEER_LOST_FOR, PEER_SESSIONS_MAX};
use crate::setting::PEERS;
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, StatusCode};
use rorqual_crossfilter::fleet::probe_hash;
use serde::Deserialize;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;

/// A peer of a fleet.
pub(crate) struct Peer {
    address: PeerAddress,
    client: Client,
    authorization: HeaderValue,
    state: Mutex<PeerState>,
    /// True while it does not answer: questions to it end then.
    down: watch::Sender<bool>,
}

#[derive(Default)]
struct PeerState {
    /// The session whose rows are shown.
    session: Option<String>,
    /// State when last known.
    status: Option<Arc<PeerStatus>>,
    failure: Option<(String, Instant)>,
    backoff: Option<PeerBackoff>,
}

/// Pause before a peer is asked again that tells its state and gave no part.
struct PeerBackoff {
    why: String,
    /// It is asked again from then on.
    until: Instant,
    pause: Duration,
}

/// The reason for which a peer gave no part.
#[derive(Debug, Clone)]
pub(crate) enum PeerFailure {
    /// There is no such session, or no longer.
    NoSession,
    /// It says so, or does not answer; for people, and without its token.
    Said(String),
    /// It can't answer this question, and may others.
    Refused(String),
}

/// The list of a peer's sessions, as far as it is looked at.
#[derive(Deserialize)]
struct ListedSessions {
    sessions: Vec<ListedSession>,
}

#[derive(Deserialize)]
struct ListedSession {
    id: String,
}

#[derive(Deserialize)]
struct ServerVersion {
    version: String,
}

#[derive(Deserialize)]
struct SaidError {
    error: SaidCode,
}

#[derive(Deserialize)]
struct SaidCode {
    code: String,
}

impl PeerFailure {
    pub(crate) fn said(why: impl Into<String>) -> Self {
        Self::Said(why.into())
    }

    pub(crate) fn message(&self) -> String {
        match self {
            Self::NoSession => "its session is gone".to_owned(),
            Self::Said(why) | Self::Refused(why) => why.clone(),
        }
    }
}

impl Peer {
    pub(crate) fn new(address: PeerAddress, client: Client) -> Result<Self, String> {
        let authorization = HeaderValue::from_str(&format!("Bearer {}", address.token()));
        let mut authorization = authorization.map_err(|_| format!("{PEERS} {}: its token is none", address.name()))?;
        authorization.set_sensitive(true);
        Ok(Self { address, client, authorization, state: Mutex::default(), down: watch::Sender::new(false) })
    }

    pub(crate) fn name(&self) -> &str {
        self.address.name()
    }

    /// Its state when last known.
    pub(crate) fn status(&self) -> Option<Arc<PeerStatus>> {
        self.lock().status.clone()
    }

    /// The reason for which it does not answer, and since when.
    pub(crate) fn failure(&self) -> Option<(String, Instant)> {
        self.lock().failure.clone()
    }

    /// Notes that it answered, or failed.
    pub(crate) fn note(&self, found: Result<&Arc<PeerStatus>, &PeerFailure>) {
        let mut state = self.lock();
        match found {
            Ok(status) => {
                state.status = Some(Arc::clone(status));
                if let Some((why, _)) = state.failure.take() {
                    tracing::info!(peer = self.name(), why, "answers again");
                }
            }
            Err(failure) => {
                let (why, since) = (failure.message(), state.failure.as_ref().map(|(_, since)| *since));
                if since.is_none() {
                    tracing::warn!(peer = self.name(), why, "peer");
                }
                state.failure = Some((why, since.unwrap_or_else(Instant::now)));
            }
        }
        self.down.send_if_modified(|down| std::mem::replace(down, found.is_err()) != found.is_err());
    }

    /// Notes that it gave no part: it is missing for a while, though it may tell its state, and the
    /// longer the more often that happens.
    pub(crate) fn lose(&self, failure: &PeerFailure) {
        let mut state = self.lock();
        let (least, most) = PEER_LOST_FOR;
        let last = state.backoff.take().filter(|last| last.until.elapsed() < 2 * most);
        let pause = last.map_or(least, |last| (2 * last.pause).min(most));
        state.backoff = Some(PeerBackoff { why: failure.message(), until: Instant::now() + pause, pause });
        drop(state);
        self.note(Err(failure));
    }

    /// The reason for which it is not asked, though it tells its state.
    pub(crate) fn backoff(&self) -> Option<String> {
        let state = self.lock();
        state.backoff.as_ref().filter(|backoff| Instant::now() < backoff.until).map(|backoff| backoff.why.clone())
    }

    /// Asks for its state.
    pub(crate) async fn probe(&self, seed: u64, within: Duration) -> Result<PeerStatus, PeerFailure> {
        let late = |_elapsed| PeerFailure::said(format!("no answer within {} s", within.as_secs_f64()));
        timeout(within, self.look(seed)).await.map_err(late)?
    }

    async fn look(&self, seed: u64) -> Result<PeerStatus, PeerFailure> {
        let known = self.lock().session.clone();
        if let Some(session) = known {
            let found = self.status_of(&session, seed).await;
            // The peer may have been started anew. Questions that had parts of the old rows end
            // first; the next probe looks for new ones.
            if matches!(found, Err(PeerFailure::NoSession)) {
                self.lock().session = None;
            }
            return found;
        }
        let session = self.find_session().await?;
        let status = self.status_of(&session, seed).await?;
        self.lock().session = Some(session);
        Ok(status)
    }

    async fn status_of(&self, session: &str, seed: u64) -> Result<PeerStatus, PeerFailure> {
        let question = PartQuestion {
            version: VERSION.to_owned(),
            from_us: None,
            to_us: None,
            filter: String::new(),
            columns: Vec::new(),
            generation: 0,
            ask: PartAsk::Status { seed },
        };
        let answer = self.exchange(&part_path(session), Some(&question)).await?;
        let status: PeerStatus = read(&answer)?;
        if status.version != VERSION || status.hash != probe_hash(seed) {
            return Err(PeerFailure::said(format!("is of another version ({}, and this is {VERSION})", shown(&status.version))));
        }
        if !status.extent.is_sound() || status.schema.own.len() > PEER_COLUMNS_MAX {
            return Err(unsound());
        }
        if status.session != session {
            return Err(unsound());
        }
        let (name, format) = (shown(&status.name), status.format.as_deref().map(shown));
        Ok(PeerStatus { name, format, ..status })
    }

    async fn find_session(&self) -> Result<String, PeerFailure> {
        let server: ServerVersion = read(&self.exchange("/api/server", None).await?)?;
        let own = env!("CARGO_PKG_VERSION");
        if server.version != own {
            return Err(PeerFailure::said(format!("is of another version ({}, and this is {own})", shown(&server.version))));
        }
        if let Some(session) = self.address.session() {
            return Ok(session.to_owned());
        }
        let mut listed: ListedSessions = read(&self.exchange("/api/sessions", None).await?)?;
        match listed.sessions.len() {
            0 => Err(PeerFailure::said("has no log")),
            1 => Ok(listed.sessions.remove(0).id).and_then(plain_id),
            count => {
                Err(PeerFailure::said(format!("has {} logs: name one of them, {PEERS} URL/#s=ID", count.min(PEER_SESSIONS_MAX))))
            }
        }
    }

    /// Asks for a part, for as long as it answers probes.
    pub(crate) async fn part(&self, question: &PartQuestion, within: Duration) -> Result<Bytes, PeerFailure> {
        let session = self.lock().session.clone().ok_or(PeerFailure::NoSession)?;
        let mut down = self.down.subscribe();
        let late = |_elapsed| PeerFailure::said(format!("no part of the answer within {} s", within.as_secs_f64()));
        let path = part_path(&session);
        tokio::select! {
            biased;
            answer = timeout(within, self.exchange(&path, Some(question))) => answer.map_err(late)?,
            Ok(_) = down.wait_for(|down| *down) => {
                let why = self.failure().map_or_else(|| "no answer".to_owned(), |(why, _)| why);
                Err(PeerFailure::Said(why))
            }
        }
    }

    async fn exchange(&self, path: &str, question: Option<&PartQuestion>) -> Result<Bytes, PeerFailure> {
        let url = self.address.url(path);
        let request = match question {
            Some(question) => {
                let body = serde_json::to_vec(question).map_err(|_| unsound())?;
                self.client.post(url).header(CONTENT_TYPE, "application/json").body(body)
            }
            None => self.client.get(url),
        };
        let sent = request.header(AUTHORIZATION, self.authorization.clone()).send().await;
        let mut response = sent.map_err(|error| failed(&error))?;
        // Put together in their own room, not in one that is doubled again and again.
        let length = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        let mut bytes = Vec::with_capacity(length.min(PEER_ANSWER_BYTES_MAX));
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            if bytes.len() + chunk.len() > PEER_ANSWER_BYTES_MAX {
                return Err(PeerFailure::said(format!("answers more than {PEER_ANSWER_BYTES_MAX} bytes")));
            }
            bytes.extend_from_slice(&chunk);
        }
        match response.status() {
            StatusCode::OK => Ok(bytes.into()),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(PeerFailure::said("refuses the token")),
            status => Err(refusal(status, &bytes)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PeerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn part_path(session: &str) -> String {
    format!("/api/sessions/{session}/part")
}

/// A name that is nothing but one in an address.
fn plain_id(id: String) -> Result<String, PeerFailure> {
    let is_plain = !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { Ok(id) } else { Err(unsound()) }
}

/// Reads JSON of a peer.
pub(crate) fn read<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, PeerFailure> {
    serde_json::from_slice(bytes).map_err(|_| unsound())
}

/// An answer that is none of this program.
pub(crate) fn unsound() -> PeerFailure {
    PeerFailure::said("answers something that is not part of a view")
}

/// A peer's refusal. Its message is foreign: only known codes are told.
fn refusal(status: StatusCode, body: &[u8]) -> PeerFailure {
    let said: Option<SaidError> = serde_json::from_slice(body).ok();
    match said.as_ref().map(|said| &*said.error.code) {
        Some("no_session") => PeerFailure::NoSession,
        Some("rows_gone") => PeerFailure::said("has forgotten the rows of its log"),
        Some("other_version") => PeerFailure::said(format!("is of another version (this is {VERSION})")),
        Some("fleet_cannot") => PeerFailure::said("shows peers itself, and is none"),
        Some("too_long") => PeerFailure::Refused("has a part of the answer that is too long".to_owned()),
        Some("filter_too_large") => PeerFailure::Refused("has too little memory for this filter".to_owned()),
        Some("spilled_rows") => PeerFailure::said("cannot read its rows"),
        _ if status == StatusCode::BAD_REQUEST => PeerFailure::Refused("can't answer this question (status 400)".to_owned()),
        _ => PeerFailure::said(format!("answers with status {}", status.as_u16())),
    }
}

/// The failure of a request. Its address has no token, and its headers are not told.
fn failed(error: &reqwest::Error) -> PeerFailure {
    let mut cause: &dyn Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let verb = if error.is_connect() { "cannot be reached" } else { "broke off" };
    PeerFailure::said(format!("{verb} ({})", shown(&cause.to_string())))
}

/// The beginning of a foreign text, as plain characters.
fn shown(text: &str) -> String {
    text.chars().filter(|one| !one.is_control()).take(120).collect()
}
